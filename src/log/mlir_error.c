/* Errors of what reads or partitions such texts. */
#include "log/mlir.h"

static bool error_line(const mlir_here *h)
{
    const char *at = strstr(h->text, "error: 'sdy.");
    if (!at) return false;
    mw_draft *d = mw__draft(h->e, h->line, "sdy", "error");
    mw__draft_says(d, "Shardy refuses an op: %.300s.", at + 7);
    mw__fact(d, "error", MW_HOW_STATED, h->from, "%.500s", at + 7);
    if (strstr(at, "overlaps with operand dimension sharding"))
        mw__fact(d, "meaning", MW_HOW_DERIVED, "an axis cuts a dim or is reduced over, not both",
                 "that axis already cuts the operand, so its devices hold different rows and no "
                 "terms of one sum: gather the operand over it first");
    mw__draft_weight(d, 80);
    return true;
}

/* `Check failed: product == localAxisSize (4 vs. 2)`: an importer that wants one axis for each dim.
 */
static bool check_line(const mlir_here *h)
{
    const char *at = strstr(h->text, "Check failed: product == localAxisSize (");
    int64_t product, size;
    if (!at) return false;
    const char *p = strchr(at, '(') + 1;
    if (!mw__hlo_int(&p, &product) || strncmp(p, " vs. ", 5) != 0) return false;
    p += 5;
    if (!mw__hlo_int(&p, &size)) return false;
    mw_draft *d = mw__draft(h->e, h->line, "sdy", "error");
    mw__draft_says(d,
                   "An importer of shardings stops: a dim is cut in %lld, the mesh axis that it "
                   "took for it has %lld.",
                   (long long)product, (long long)size);
    mw__fact(d, "error", MW_HOW_STATED, h->from, "%.300s", at);
    for (int i = 0; i < h->s->ntiles; i++)
        for (int k = 0; k < h->s->tiles[i].ndim; k++)
            if (h->s->tiles[i].tile[k] == product)
                mw__fact(d, "dim", MW_HOW_DERIVED, "shardings above it with so many pieces",
                         "dim %d of the sharding in line %lld has %lld pieces", k,
                         (long long)h->s->tiles[i].line, (long long)product);
    if (size > 1 && product > size && product % size == 0)
        mw__fact(d, "meaning", MW_HOW_ASSUMED,
                 "the sharding that it was reading: its pieces, laid out, show which axes cut the "
                 "dim",
                 "the dim is cut by several axes at once, %lld = %lld x %lld: such a sharding is "
                 "valid, and an importer that wants one axis for each dim can't hold it",
                 (long long)product, (long long)size, (long long)(product / size));
    mw__draft_weight(d, 80);
    return true;
}

bool mw__mlir_error(const mlir_here *h)
{
    return error_line(h) || check_line(h);
}
