/* Collectives of HLO: who talks to whom, what each device receives, how often. Printed shapes of
 * collectives are one device's, so bytes follow from them: the algorithm receives (g-1)/g of the
 * result of a gather, (g-1) results of a reduce-scatter, twice (g-1)/g for an all-reduce. */
#include "log/collective.h"
#include "log/hlo.h"

#include <stdio.h>

typedef struct kind {
    const char *opcode, *collective, *words, *formula;
} kind;

static const kind kinds[] = {
    {"all-gather", "all_gather", "all-gather", "(g-1)/g of the result"},
    {"all-reduce", "all_reduce", "all-reduce", "2(g-1)/g of the tensor, in two phases"},
    {"reduce-scatter", "reduce_scatter", "reduce-scatter", "(g-1) times the result"},
    {"all-to-all", "all_to_all", "all-to-all", "(g-1)/g of the tensor"},
    {"ragged-all-to-all", "all_to_all", "all-to-all of ragged parts",
     "nothing in a group of one; else the sizes are data"},
    {"collective-permute", "permute", "permute",
     "the tensor, on devices that another one sends to"},
    {"collective-broadcast", "broadcast", "broadcast",
     "the tensor, on all but the first of a group"},
};

static const kind *kind_of(const hlo_op *op, const char **ret_tail)
{
    const kind *found = NULL;
    for (int i = 0; i < MW_COUNT(kinds); i++) {
        size_t n = strlen(kinds[i].opcode);
        if ((size_t)op->opcode_length < n || memcmp(op->opcode, kinds[i].opcode, n) != 0) continue;
        const char *tail = op->opcode + n;
        if (*tail != '(' && strncmp(tail, "-start(", 7) != 0 && strncmp(tail, "-done(", 6) != 0)
            continue;
        *ret_tail = tail;
        found = &kinds[i];
    }
    return found;
}

/* Bytes of what the collective delivers: of a -start, whose shape has its operands too, the second
 * element. */
static int64_t result_bytes(const hlo_op *op, const kind *k, bool start, hlo_shape *ret_shape)
{
    bool second = start && op->tuple && op->nelement >= 2 && k != &kinds[1];
    *ret_shape = op->element[second ? 1 : 0];
    return second ? op->element_bytes[1] : op->bytes;
}

static int64_t times(int64_t bytes, int64_t by, int64_t over)
{
    int64_t product;
    if (bytes < 0 || mw__mul_size(bytes, by, &product) != MW_OK) {
        mw_error_clear();
        return -1;
    }
    return product / over;
}

static int64_t received(const kind *k, int64_t bytes, int64_t g)
{
    static const mw_collective same[] = {MW_COLLECTIVE_all_gather,     MW_COLLECTIVE_all_reduce,
                                         MW_COLLECTIVE_reduce_scatter, MW_COLLECTIVE_all_to_all,
                                         MW_COLLECTIVE_NONE,           MW_COLLECTIVE_NONE,
                                         MW_COLLECTIVE_broadcast};
    mw_collective c = same[k - kinds];
    if (g == 1) return 0;
    if (g < 1 || bytes < 0 || c == MW_COLLECTIVE_NONE) return -1;
    return mw__collective_received(
        c, c == MW_COLLECTIVE_reduce_scatter ? times(bytes, g, 1) : bytes, g);
}

/* ---- groups ------------------------------------------------------------------------------------
 */

/* The distance of neighbours in every group, or 0 where they differ. */
static int64_t stride_of(const hlo_groups *g)
{
    int64_t stride = 0;
    if (g->uneven || g->size < 2 || g->nid < g->size) return 0;
    for (int64_t i = 0; i + 1 < g->nid; i++) {
        if (i % g->size == g->size - 1) continue;
        int64_t step = g->id[i + 1] - g->id[i];
        if (step < 1 || (stride && step != stride)) return 0;
        stride = step;
    }
    return stride;
}

/* The axis of the mesh given with --mesh that has this size and stride. */
static const char *given_axis(mw_explain *e, const hlo_groups *g, int64_t stride)
{
    const mw_mesh *mesh = mw__explain_mesh(e);
    if (!mesh || !stride || mw_mesh_ranks(mesh) != g->size * g->ngroup) return NULL;
    int64_t inner = mw_mesh_ranks(mesh);
    for (int i = 0; i < mw_mesh_axes(mesh); i++) {
        inner /= mw_mesh_axis_size(mesh, i);
        if (mw_mesh_axis_size(mesh, i) == g->size && inner == stride)
            return mw_mesh_axis_name(mesh, i);
    }
    return NULL;
}

static void tell_stride(const hlo_op *op, mw_draft *d, const hlo_groups *g)
{
    int64_t stride = stride_of(g), n = g->size * g->ngroup;
    if (!stride || !n) return;
    const char *which = stride * g->size == n && stride > 1 ? ": the first (slowest) axis"
                        : stride == 1 && g->ngroup > 1      ? ": the last (fastest) axis"
                        : g->ngroup == 1                    ? ": all devices"
                                                            : ": an axis in the middle";
    mw__fact(d, "mesh axis", MW_HOW_DERIVED, "the distance of neighbours in each group",
             "size %lld, stride %lld of %lld devices%s", (long long)g->size, (long long)stride,
             (long long)n, which);
    const char *axis = given_axis(op->e, g, stride);
    if (axis)
        mw__fact(d, "mesh axis by name", MW_HOW_ASSUMED, "the mesh given with --mesh", "%s", axis);
}

static bool read_groups(const hlo_op *op, hlo_groups *g)
{
    const char *at = mw__hlo_attr(op, "replica_groups");
    g->ngroup = g->size = 0;
    g->axis[0] = 0;
    if (!at || !mw__hlo_groups_read(at, g)) return false;
    if (g->ngroup == 0 && op->s->partitions > 0) {
        g->ngroup = 1;
        g->size = op->s->partitions;
        g->nid = (int)MW_MIN(g->size, HLO_IDS);
        for (int i = 0; i < g->nid; i++)
            g->id[i] = i;
    }
    return true;
}

static const char *axis_text(const hlo_op *op, const hlo_groups *g)
{
    if (g->axis[0]) return mw__explain_text(op->e, "%s", g->axis);
    const char *given = given_axis(op->e, g, stride_of(g));
    if (given) return given;
    mw_str text = {0};
    mw__hlo_groups_str(g, &text);
    const char *all = mw__hlo_keep(op->e, &text);
    return mw__explain_text(op->e, "%.*s%s", 80, all, strlen(all) > 80 ? "..." : "");
}

/* ---- telling -----------------------------------------------------------------------------------
 */

void mw__hlo_metadata(const hlo_op *op, mw_draft *d)
{
    static const char *const keys[] = {"op_name", "source_file", "source_line"};
    const char *frame = mw__hlo_attr(op, "stack_frame_id");
    int64_t id;
    if (frame && mw__hlo_int(&frame, &id)) mw__hlo_frames_tell(&op->s->frames, d, id, op->from);
    for (int i = 0; i < MW_COUNT(keys); i++) {
        const char *at = mw__hlo_attr(op, keys[i]);
        if (!at) continue;
        bool quoted = *at == '"';
        at += quoted;
        int length = (int)MW_MIN(strcspn(at, quoted ? "\"" : " ,}"), 400);
        mw__fact(d, keys[i], MW_HOW_STATED, op->from, "%.*s", length, at);
        if (i > 0) continue;
        char name[401];
        (void)snprintf(name, sizeof name, "%.*s", length, at);
        if (strstr(name, "transpose(")) mw__draft_direction(d, "backward");
        if (strstr(name, "remat") || strstr(name, "checkpoint"))
            mw__fact(d, "recomputed", MW_HOW_ASSUMED,
                     "op_name says remat: the program's checkpointing would settle it",
                     "the value is made again in the backward pass, and this with it");
    }
}

static const char *op_for(const hlo_op *op)
{
    const char *at = mw__hlo_attr(op, "op_name");
    if (!at || *at != '"') return "";
    const char *text =
        mw__explain_text(op->e, "%.*s", (int)MW_MIN(strcspn(at + 1, "\""), 200), at + 1);
    return text ? text : "";
}

static void tell_shape(const hlo_op *op, mw_draft *d, const hlo_shape *shape, int64_t bytes)
{
    mw_str text = {0};
    mw__hlo_shape_str(shape, &text);
    if (op->tuple && op->nelement > 1) mw__str_printf(&text, " and %d more", op->nelement - 1);
    const char *kept = mw__hlo_keep(op->e, &text);
    mw__fact(d, "local shape after", MW_HOW_STATED, op->from,
             "%s: one device's, as in every collective of HLO", kept);
    if (bytes >= 0)
        mw__fact(d, "bytes after", MW_HOW_DERIVED, "shape times dtype", "%lld B", (long long)bytes);
}

/* Devices that take part are known where the module states them. */
static void tell_permute(const hlo_op *op, mw_draft *d, int64_t bytes, int64_t *ret_bytes,
                         int64_t *ret_mean)
{
    hlo_groups pairs = {.nid = 0};
    const char *at = mw__hlo_attr(op, "source_target_pairs");
    *ret_bytes = -1;
    if (!at || !mw__hlo_groups_read(at, &pairs) || pairs.size != 2) {
        mw__missing(op->e, "who sends to whom in line %lld: no source_target_pairs can be read",
                    (long long)op->line->number);
        return;
    }
    int64_t moved = 0, kept = 0;
    for (int i = 0; i + 1 < pairs.nid; i += 2)
        *(pairs.id[i] == pairs.id[i + 1] ? &kept : &moved) += 1;
    mw__fact(d, "pairs", MW_HOW_STATED, op->from, "%.*s", (int)MW_MIN(pairs.length, 2000), at);
    mw__fact(d, "devices that receive", MW_HOW_DERIVED, "pairs of two different devices",
             "%lld%s; %lld keep their own", (long long)moved,
             pairs.nid == HLO_IDS ? " or more" : "", (long long)kept);
    *ret_bytes = *ret_mean = moved ? bytes : 0;
    int64_t n = op->s->partitions;
    if (!moved || bytes < 0 || n < moved + kept || pairs.nid == HLO_IDS) return;
    mw_str none = {0};
    for (int64_t device = 0; device < MW_MIN(n, HLO_IDS); device++) {
        bool gets = false;
        for (int i = 0; i + 1 < pairs.nid; i += 2)
            gets |= pairs.id[i + 1] == device && pairs.id[i] != device;
        if (!gets) mw__str_printf(&none, "%s%lld", none.length ? "," : "", (long long)device);
    }
    if (none.length && n <= HLO_IDS)
        mw__fact(d, "devices that receive nothing", MW_HOW_DERIVED,
                 "targets of no pair, or of a pair with themselves", "%s", mw__str_text(&none));
    mw__str_done(&none);
    int64_t all = times(bytes, moved, 1);
    *ret_mean = all < 0 ? -1 : all / n;
    if (all >= 0 && *ret_mean != bytes)
        mw__fact(d, "received per device, mean", MW_HOW_DERIVED,
                 "what all devices receive, over their number", "%lld B", (long long)*ret_mean);
}

static void tell_groups(const hlo_op *op, mw_draft *d, const hlo_groups *g)
{
    mw_str text = {0};
    mw__hlo_groups_str(g, &text);
    const char *groups = mw__hlo_keep(op->e, &text);
    mw__fact(d, "groups", MW_HOW_DERIVED, op->from, "%s", groups);
    mw__fact(d, "groups as written", MW_HOW_STATED, op->from, "%.*s", (int)MW_MIN(g->length, 1000),
             g->at);
    mw__fact(d, "group size", MW_HOW_DERIVED, op->from, "%lld, in %lld groups", (long long)g->size,
             (long long)g->ngroup);
    tell_stride(op, d, g);
}

static void keep_gather(const hlo_op *op, mw_draft *d, int64_t dim, int64_t bytes,
                        const hlo_groups *g)
{
    hlo_value *v = mw__hlo_value(op->s, mw__hlo_name_hash(op->name, op->name_length), true);
    if (!v) return;
    v->gather = d;
    v->gather_dim = dim;
    v->gather_bytes = bytes;
    v->gather_size = g->size;
    v->shape = op->element[op->tuple && op->nelement > 1 ? 1 : 0];
    v->gather_groups =
        mw__hash((uint64_t)g->size, g->id, (size_t)MW_MIN(g->nid, HLO_IDS) * sizeof *g->id);
}

static void tell_moved(const hlo_op *op, mw_draft *d, const kind *k, int64_t bytes, int64_t dim,
                       const hlo_groups *g)
{
    const char *axis = k == &kinds[5] ? "pairs" : g->size ? axis_text(op, g) : "";
    mw__draft_moved(d, k->collective, axis ? axis : "", op_for(op), bytes);
    char along[32] = "", each[64] = "", groups[64] = "";
    if (dim >= 0) (void)snprintf(along, sizeof along, " along dim %lld", (long long)dim);
    if (bytes >= 0)
        (void)snprintf(each, sizeof each, ": %lld B received per device", (long long)bytes);
    if (g->size)
        (void)snprintf(groups, sizeof groups, " in %lld group%s of %lld devices",
                       (long long)g->ngroup, g->ngroup == 1 ? "" : "s", (long long)g->size);
    mw__draft_says(d, "%.*s: one %s%s%s%s.", op->name_length, op->name, k->words, along, groups,
                   each);
    if (bytes >= 0)
        mw__fact(d, "received per device", MW_HOW_DERIVED, k->formula, "%lld B", (long long)bytes);
    else
        mw__missing(op->e,
                    "the bytes of the %s in line %lld: its shape, dtype or group size is not there",
                    k->words, (long long)op->line->number);
}

/* Several tensors in one collective: what the compiler combined, or the parts of an all-to-all. */
static void tell_parts(const hlo_op *op, mw_draft *d, const kind *k, bool start)
{
    if (!op->tuple || op->nelement < 2 || start) return;
    if (k == &kinds[3])
        mw__fact(d, "parts", MW_HOW_DERIVED, "the elements of its result",
                 "%d, one from each device of the group; the dims that are cut and joined are in "
                 "the ops around it",
                 op->nelement);
    else
        mw__fact(d, "tensors combined", MW_HOW_DERIVED, "the elements of its result",
                 "%d in one collective", op->nelement);
}

/* What is made again can be kept instead: memory for traffic. */
static void tell_kept(const hlo_op *op, mw_draft *d, int64_t bytes, int64_t after)
{
    const char *at = mw__hlo_attr(op, "op_name");
    char name[401];
    if (!at || bytes < 0 || after < 0) return;
    (void)snprintf(name, sizeof name, "%.400s", at);
    name[strcspn(name + 1, "\"") + 1] = 0;
    if (!strstr(name, "remat") && !strstr(name, "checkpoint")) return;
    mw__fact(d, "keeping it instead", MW_HOW_DERIVED, "bytes after, and bytes received",
             "%lld B of memory for each that is kept, and %lld B less received for each time that "
             "it is made again",
             (long long)after, (long long)bytes);
}

/* `{1,0:T(8,128)(2,1)}` behind a shape. */
static void tell_tiling(const hlo_op *op, mw_draft *d)
{
    const char *at = strchr(op->name, '='), *tiling = at ? strstr(at, ":T(") : NULL;
    if (!tiling || tiling > op->opcode) return;
    while (tiling > at && *tiling != '{')
        tiling--;
    const char *end = mw__hlo_close(tiling);
    if (*tiling == '{' && end)
        mw__fact(d, "layout in memory", MW_HOW_STATED, op->from,
                 "%.*s: the order of dims and tiles in one device's memory, no sharding",
                 (int)MW_MIN(end - tiling, 80), tiling);
}

/* A conversion to fewer bits before it moves is worth its share of the bytes. */
static void tell_narrowed(const hlo_op *op, mw_draft *d, int64_t bytes)
{
    const hlo_value *v = mw__hlo_nth(op, 1);
    int bits = op->element[0].bits;
    if (!v || v->narrowed <= bits || bits < 1 || bytes < 0) return;
    int64_t wide = times(bytes, v->narrowed, bits);
    if (wide >= 0)
        mw__fact(d, "converted before it moves", MW_HOW_DERIVED,
                 "the convert that makes its operand",
                 "from %d to %d bits an element: %lld B instead of %lld B", v->narrowed, bits,
                 (long long)bytes, (long long)wide);
}

/* Groups of one device, and not even of every device: what they hold is not brought together. */
static void check_lone(const hlo_op *op, mw_draft *d, const kind *k, const hlo_groups *g,
                       int64_t after)
{
    int64_t n = MW_MAX(op->s->partitions, op->s->devices);
    if (g->size != 1 || g->uneven || n <= g->ngroup) return;
    mw__problem(d, "lone-groups", 0, received(k, after, n),
                "name the devices that hold pieces or terms of one value in one group: all of them "
                "are replica_groups=[1,n]<=[n]",
                "The groups have one device each and name %lld of %lld devices: nothing is "
                "exchanged, and each device keeps what it had alone%s.",
                (long long)g->ngroup, (long long)n,
                strstr(k->collective, "reduce") ? ", a term of the sum at most" : "");
}

bool mw__hlo_collective(const hlo_op *op)
{
    const char *tail = NULL;
    const kind *k = kind_of(op, &tail);
    if (!k) return false;
    if (strncmp(tail, "-done", 5) == 0) return true; /* told at its start */
    bool start = *tail == '-';
    if (start && mw__hlo_attr(op, "calls")) return true; /* told in the computation that it calls */
    mw_draft *d = mw__draft(op->e, op->line, "hlo", "collective");
    if (!d) return true;
    hlo_shape shape;
    hlo_groups groups = {.nid = 0};
    int64_t after = result_bytes(op, k, start, &shape), bytes, mean = -1, dim = -1;
    const char *dims = mw__hlo_attr(op, "dimensions");
    if (dims && *dims == '{') {
        dims++;
        if (!mw__hlo_int(&dims, &dim)) dim = -1;
    }
    tell_shape(op, d, &shape, after);
    bool grouped = read_groups(op, &groups);
    if (grouped && groups.size) tell_groups(op, d, &groups);
    if (k == &kinds[5])
        tell_permute(op, d, after, &bytes, &mean);
    else
        mean = bytes = groups.uneven ? -1 : received(k, after, groups.size);
    if (k != &kinds[5] && !groups.size)
        mw__missing(op->e, "the groups of the %s in line %lld, or how many devices there are",
                    k->words, (long long)op->line->number);
    if (start)
        mw__fact(d, "asynchronous", MW_HOW_STATED, op->from,
                 "begins here, ends at its -done: one collective");
    tell_moved(op, d, k, bytes, dim, &groups);
    mw__hlo_metadata(op, d);
    mw__draft_weight(d, 30);
    op->s->collectives++;
    if (grouped) check_lone(op, d, k, &groups, after);
    tell_parts(op, d, k, start);
    tell_narrowed(op, d, bytes);
    tell_kept(op, d, bytes, after);
    tell_tiling(op, d);
    mw__runs_move(op->e, &op->s->runs, d, op->s->computation, op->s->entry, bytes, mean);
    if (k == &kinds[0]) keep_gather(op, d, dim, bytes, &groups);
    return true;
}
