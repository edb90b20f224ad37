/* Statements and reprs of Python that go on over several lines. */
#include "log/python.h"
#include "log/spmd.h"

enum { JOINED_LINES = 64 };

mw_status mw__spmd_join(spmd_joined *j, const mw_line *line, bool begins, size_t most,
                        const char **ret_text, int64_t *ret_first, bool *ret_open, bool *ret_taken)
{
    *ret_open = false;
    *ret_text = line->text;
    *ret_first = line->number;
    if (j->lines) {
        mw__str_putc(&j->text, ' ');
        mw__str_append(&j->text, line->text, (size_t)line->length);
        MW_TRY(mw__str_status(&j->text));
        *ret_text = mw__str_text(&j->text);
        *ret_first = j->first;
        *ret_open = mw__py_open(*ret_text, (int64_t)j->text.length) > 0 &&
                    j->lines < JOINED_LINES && j->text.length < most;
        j->lines = *ret_open ? j->lines + 1 : 0;
        *ret_taken = true;
    } else if (begins && mw__py_open(line->text, line->length) > 0) {
        mw__str_clear(&j->text);
        mw__str_append(&j->text, line->text, (size_t)line->length);
        MW_TRY(mw__str_status(&j->text));
        j->first = line->number;
        j->lines = 1;
        *ret_open = *ret_taken = true;
    }
    return MW_OK;
}

bool mw__spmd_unjoin(spmd_joined *j, mw_line *ret)
{
    if (!j->lines) return false;
    j->lines = 0;
    *ret = (mw_line){.number = j->first,
                     .text = mw__str_text(&j->text),
                     .length = (int64_t)j->text.length,
                     .rank = -1,
                     .raw = ""};
    return true;
}
