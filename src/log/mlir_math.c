/* Ops whose meaning hangs on how their operands are cut: a gather whose operand and indices share
 * an axis, and a sum over devices that is divided by their number. */
#include "log/collective.h"
#include "log/mlir.h"

/* ---- gathers -----------------------------------------------------------------------------------
 */

/* The numbers of `key = [0, 1]`. */
static int numbers(const char *text, const char *key, int64_t *to, int cap)
{
    const char *at = strstr(text, key);
    int n = 0;
    if (!at) return 0;
    at += strlen(key);
    if (strncmp(at, " = [", 4) != 0) return 0;
    for (at += 4; *at && *at != ']' && n < cap; n++) {
        at += strspn(at, ", ");
        if (!mw__hlo_int(&at, &to[n])) return n;
    }
    return n;
}

/* Axes that cut dim `dim` of a sharding `<@mesh, [{"x"}, {}]>`: [*ret_at, returned end). */
static const char *axes_of(const char *sharding, int64_t dim, const char **ret_at)
{
    const char *at = strchr(sharding, '[');
    for (int64_t i = 0; at; i++) {
        at = strchr(at, '{');
        const char *end = at ? strchr(at, '}') : NULL;
        if (!end) return NULL;
        *ret_at = at;
        if (i == dim) return end;
        at = end;
    }
    return NULL;
}

/* The first axis that stands in both ranges, quoted. */
static int common(const char *a, const char *a_end, const char *b, const char *b_end,
                  const char **ret)
{
    for (const char *p = a; p < a_end && (p = memchr(p, '"', (size_t)(a_end - p))) != NULL;) {
        const char *close = memchr(p + 1, '"', (size_t)(a_end - p - 1));
        if (!close) return 0;
        int n = (int)(close + 1 - p);
        for (const char *q = b; q + n <= b_end; q++)
            if (memcmp(p, q, (size_t)n) == 0) {
                *ret = p;
                return n;
            }
        p = close + 1;
    }
    return 0;
}

typedef struct lookup {
    const mlir_value *operand, *indices;
    int64_t dim, batch; /* the indexed dim, and the dim of the indices that shares its axis */
    const char *axis;   /* quoted */
    int length;
} lookup;

static bool shared_axis(const mlir_here *h, lookup *ret)
{
    int64_t map[HLO_DIMS], vector;
    const char *key = strstr(h->text, "index_vector_dim = ");
    if (!key) return false;
    key += strlen("index_vector_dim = ");
    int n = numbers(h->text, "start_index_map", map, HLO_DIMS);
    if (!n || !mw__hlo_int(&key, &vector)) return false;
    for (int i = 0; i < n; i++) {
        const char *a, *a_end = axes_of(ret->operand->sharding, map[i], &a);
        for (int64_t b = 0; a_end && b < ret->indices->type.ndim; b++) {
            const char *c, *c_end = axes_of(ret->indices->sharding, b, &c);
            if (b == vector || !c_end) continue;
            ret->length = common(a, a_end, c, c_end, &ret->axis);
            ret->dim = map[i];
            ret->batch = b;
            if (ret->length) return true;
        }
    }
    return false;
}

static int64_t gathered(int64_t piece, int64_t group)
{
    int64_t all;
    if (piece < 0 || mw__mul_size(piece, group, &all) != MW_OK) {
        mw_error_clear();
        return -1;
    }
    return mw__collective_received(MW_COLLECTIVE_all_gather, all, group);
}

/* Looking up what one owns and adding up needs the same indices on all devices of the axis that
 * cuts the indexed dim; these have different ones. One of the two must be gathered first. */
void mw__mlir_gather(const mlir_here *h)
{
    if (!strstr(h->text, "stablehlo.gather")) return;
    lookup x = {.operand = mw__mlir_operand(h, 0), .indices = mw__mlir_operand(h, 1)};
    if (!x.operand || !x.indices || !x.operand->sharding || !x.indices->sharding ||
        x.indices->type.ndim < 1 || !shared_axis(h, &x))
        return;
    const mw_mesh *mesh = mw__mlir_mesh(h, x.operand->sharding);
    int axis = mesh ? mw_mesh_axis_find(mesh, x.axis + 1, x.length - 2) : -1;
    if (axis < 0) return;
    int64_t g = mw_mesh_axis_size(mesh, axis);
    if (g < 2) return;
    int64_t operand = gathered(mw__mlir_piece(h, mesh, x.operand->sharding, &x.operand->type), g);
    int64_t indices = gathered(mw__mlir_piece(h, mesh, x.indices->sharding, &x.indices->type), g);
    mw_draft *d = mw__draft(h->e, h->line, "sdy", "gather");
    mw__draft_says(
        d,
        "A gather whose operand is cut along the indexed dim %lld, and whose indices are "
        "cut along their dim %lld, by the same axis %.*s.",
        (long long)x.dim, (long long)x.batch, x.length, x.axis);
    mw__fact(d, "operand", MW_HOW_STATED, h->from, "%s", x.operand->sharding);
    mw__fact(d, "indices", MW_HOW_STATED, h->from, "%s", x.indices->sharding);
    if (operand >= 0)
        mw__fact(d, "received per device to gather the operand", MW_HOW_DERIVED,
                 "(g-1) pieces of the operand", "%lld B of %lld B", (long long)operand,
                 (long long)(operand / (g - 1) * g));
    if (indices >= 0)
        mw__fact(d, "received per device to gather the indices", MW_HOW_DERIVED,
                 "(g-1) pieces of the indices", "%lld B of %lld B", (long long)indices,
                 (long long)(indices / (g - 1) * g));
    bool first = operand < 0 || indices < 0 || operand <= indices;
    mw__fact(d, "sharding of the result", MW_HOW_DERIVED,
             "the result's batch dims are those of the indices",
             "cut by %.*s as the indices are, once the operand is whole along that axis", x.length,
             x.axis);
    const char *fix =
        mw__explain_text(h->e, "all-gather the %s over %.*s first, then look up locally",
                         first ? "operand" : "indices", x.length, x.axis);
    mw__problem(d, "axis-overlap", first ? indices : operand, first ? operand : indices,
                fix ? fix : "",
                "One axis can't be both: to look up what a device owns and add up over %.*s, its "
                "devices need the same indices, and these differ along it.",
                x.length, x.axis);
    mw__draft_weight(d, 70);
}

/* ---- means -------------------------------------------------------------------------------------
 */

static bool sums(const char *text)
{
    return strstr(text, "stablehlo.reduce(") && strstr(text, "applies stablehlo.add");
}

/* Elements that `stablehlo.reduce(%arg1 init: %c) applies stablehlo.add across dimensions = [0, 1]`
 * adds up on each device. */
static int64_t summed(const mlir_here *h)
{
    int64_t dim[HLO_DIMS], count = 1;
    int n = numbers(h->text, "across dimensions", dim, HLO_DIMS);
    hlo_shape shape;
    const char *types = strstr(h->text, " : (");
    if (!types || !n) return 0;
    types += 4;
    if (!mw__hlo_tensor_read(&types, &shape)) return 0;
    for (int i = 0; i < n; i++)
        if (dim[i] >= shape.ndim || mw__mul_size(count, shape.dim[dim[i]], &count) != MW_OK) {
            mw_error_clear();
            return 0;
        }
    return count;
}

void mw__mlir_mean(const mlir_here *h)
{
    const char *at = h->text;
    uint64_t name = mw__mlir_value_name(&at);
    if (sums(h->text)) {
        mlir_value *v = mw__mlir_value(h->s, name, false);
        if (v) v->summed = summed(h);
        return;
    }
    if (!strstr(h->text, " = stablehlo.divide %")) return;
    const mlir_value *sum = mw__mlir_operand(h, 0), *by = mw__mlir_operand(h, 1);
    if (!sum || !by || sum->group < 2 || !by->is_constant || by->constant != sum->group) return;
    mw_draft *d = mw__draft(h->e, h->line, "stablehlo", "mean");
    mw__draft_says(d,
                   "The sum over %lld devices is divided by %lld: the mean over devices of what "
                   "each of them had.",
                   (long long)sum->group, (long long)sum->group);
    mw__fact(d, "all-reduce", MW_HOW_STATED, h->from, "that of line %lld", (long long)sum->line);
    if (sum->summed > 1)
        mw__fact(d, "not the mean of the elements", MW_HOW_DERIVED,
                 "each device had the sum of its elements",
                 "each device had the sum of %lld elements: their mean would be divided by %lld "
                 "as well",
                 (long long)sum->summed, (long long)sum->summed);
    mw__draft_weight(d, 25);
}
