/* The tables that stand before the computations of a module and say where in the program an op
 * comes from: names of files and functions, places in them, and frames, each with the frame that
 * called it. An instruction's stack_frame_id is a row of the last. */
#include "log/hlo.h"

enum { ROWS = 1 << 20, TOLD_FRAMES = 6 };

static const char *const heads[HLO_TABLES] = {
    [HLO_FILES] = "FileNames",
    [HLO_FUNCTIONS] = "FunctionNames",
    [HLO_LOCATIONS] = "FileLocations",
    [HLO_FRAMES] = "StackFrames",
};

static int64_t number(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    int64_t n = 0;
    if (!at) return 0;
    at += strlen(key);
    return mw__hlo_int(&at, &n) ? n : 0;
}

static bool read_row(mw_explain *e, int table, const char *at, hlo_row *ret)
{
    *ret = (hlo_row){.name = NULL};
    if (table == HLO_FILES || table == HLO_FUNCTIONS) {
        size_t n = strlen(at);
        if (n < 2 || *at != '"' || at[n - 1] != '"') return false;
        ret->name = mw__explain_text(e, "%.*s", (int)MW_MIN(n - 2, 1000), at + 1);
        return true;
    }
    if (*at != '{') return false;
    ret->file = number(at, "file_name_id=");
    ret->function = number(at, "function_name_id=");
    ret->line = number(at, " line=");
    ret->location = number(at, "file_location_id=");
    ret->parent = number(at, "parent_frame_id=");
    return true;
}

bool mw__hlo_frames_line(mw_explain *e, hlo_frames *f, const mw_line *line)
{
    for (int t = HLO_FILES; t < HLO_TABLES; t++)
        if (strcmp(line->text, heads[t]) == 0) {
            f->open = t;
            f->table[t].n = 0;
            return true;
        }
    const char *at = line->text;
    int64_t id;
    hlo_row row;
    if (!f->open || !mw__hlo_int(&at, &id) || *at++ != ' ' || !read_row(e, f->open, at, &row)) {
        f->open = HLO_NO_TABLE;
        return false;
    }
    int64_t *n = &f->table[f->open].n;
    if (id != *n + 1 || id > ROWS) return true; /* rows are numbered from 1 */
    if (!mw__hlo_done(e,
                      mw__grow(&f->table[f->open].row, &f->table[f->open].cap, *n + 1, sizeof row)))
        return true;
    f->table[f->open].row[(*n)++] = row;
    if (f->open == HLO_FRAMES && id == 1) f->shifted = row.parent == 1;
    return true;
}

static const hlo_row *row_of(const hlo_frames *f, int table, int64_t id)
{
    return id >= 1 && id <= f->table[table].n ? &f->table[table].row[id - 1] : NULL;
}

static const hlo_row *place_of(const hlo_frames *f, const hlo_row *frame, const char **ret_file,
                               const char **ret_function)
{
    const hlo_row *place = row_of(f, HLO_LOCATIONS, frame->location);
    const hlo_row *file = place ? row_of(f, HLO_FILES, place->file) : NULL;
    const hlo_row *function = place ? row_of(f, HLO_FUNCTIONS, place->function) : NULL;
    *ret_file = file ? file->name : NULL;
    *ret_function = function && function->name ? function->name : "";
    return *ret_file ? place : NULL;
}

void mw__hlo_frames_tell(const hlo_frames *f, mw_draft *d, int64_t id, const char *from)
{
    const char *file, *function;
    const hlo_row *frame = row_of(f, HLO_FRAMES, id);
    const hlo_row *place = frame ? place_of(f, frame, &file, &function) : NULL;
    if (!place) return;
    mw__fact(d, "source_file", MW_HOW_STATED, from, "%s", file);
    mw__fact(d, "source_line", MW_HOW_STATED, from, "%lld", (long long)place->line);
    if (*function) mw__fact(d, "function", MW_HOW_STATED, from, "%s", function);
    mw_str callers = {0};
    for (int i = 0; i < TOLD_FRAMES; i++) {
        int64_t up = frame->parent - (f->shifted ? 1 : 0);
        if (up >= id) break; /* frames follow their callers: a cycle is none */
        id = up;
        frame = row_of(f, HLO_FRAMES, id);
        place = frame ? place_of(f, frame, &file, &function) : NULL;
        if (!place) break;
        mw__str_printf(&callers, "%s%s:%lld %s", callers.length ? ", " : "", file,
                       (long long)place->line, function);
    }
    if (callers.length)
        mw__fact(d, "called from", MW_HOW_STATED, from, "%s", mw__str_text(&callers));
    mw__str_done(&callers);
}

void mw__hlo_frames_clear(hlo_frames *f)
{
    f->open = HLO_NO_TABLE;
    f->shifted = false;
    for (int t = 0; t < HLO_TABLES; t++)
        f->table[t].n = 0;
}

void mw__hlo_frames_done(hlo_frames *f)
{
    for (int t = 0; t < HLO_TABLES; t++)
        mw__free(f->table[t].row, (size_t)f->table[t].cap * sizeof *f->table[t].row);
}
