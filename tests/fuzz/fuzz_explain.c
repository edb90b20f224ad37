/* Fuzzes the explainer. The first byte says how the text is cut into pieces; the rest is the text.
 * Whatever it is, it is read without failing, entries have sentences and known lines, facts have
 * names, and reading it in other pieces gives the same entries. */
#include <meshwise/explain.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds) abort();
}

static mw_explain *read_in(const char *text, int64_t length, int64_t piece)
{
    mw_explain *e;
    mw_explain_options options = {.mesh = NULL};
    must(mw_explain_new(&options, &e) == MW_OK);
    for (int64_t at = 0; at < length; at += piece)
        must(mw_explain_feed(e, text + at, length - at < piece ? length - at : piece) == MW_OK);
    must(mw_explain_finish(e) == MW_OK);
    return e;
}

static void check_entry(const mw_entry *e, int64_t lines)
{
    must(e->first >= 1 && e->first <= e->last && e->last <= lines);
    must(e->latest >= e->first && e->latest <= lines && e->count >= 1);
    must(e->says[0] && e->source[0] && e->event[0] && e->bytes >= -1);
    for (int i = 0; i < e->nfact; i++)
        must(e->fact[i].name[0] && e->fact[i].value && e->fact[i].from[0]);
    for (int i = 0; i < e->nproblem; i++)
        must(e->problem[i].kind[0] && e->problem[i].fix);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    const char *text = (const char *)data + 1;
    int64_t length = (int64_t)size - 1;
    mw_explain *whole = read_in(text, length, length ? length : 1);
    int64_t n = mw_explain_entries(whole);
    for (int64_t i = 0; i < n; i++)
        check_entry(mw_explain_entry(whole, i), mw_explain_lines(whole));
    if (data[0] % 8 == 1) {
        mw_explain *pieces = read_in(text, length, 1 + data[0]);
        must(mw_explain_entries(pieces) == n);
        for (int64_t i = 0; i < n; i++)
            must(strcmp(mw_explain_entry(whole, i)->says, mw_explain_entry(pieces, i)->says) == 0);
        mw_explain_free(pieces);
    }
    mw_explain_free(whole);
    return 0;
}
