/* Collectives of Shardy and StableHLO. Shardy's name axes and print the whole tensor's type:
 * pieces come from out_sharding. StableHLO's name devices and print one device's types; those with
 * a region have their types behind it. */
#include "log/collective.h"
#include "log/mlir.h"

#include <stdio.h>

typedef struct kind {
    const char *name, *collective, *words, *formula;
} kind;

enum { GATHER, REDUCE, SCATTER, EXCHANGE, PERMUTE, BROADCAST, SLICE, KINDS };

static const kind kinds[KINDS] = {
    {"all_gather", "all_gather", "all-gather", "(g-1)/g of the result's piece"},
    {"all_reduce", "all_reduce", "all-reduce", "2(g-1)/g of the piece, in two phases"},
    {"reduce_scatter", "reduce_scatter", "reduce-scatter", "(g-1) times the result's piece"},
    {"all_to_all", "all_to_all", "all-to-all", "(g-1)/g of the piece"},
    {"collective_permute", "permute", "permute",
     "at most the piece: devices that keep theirs receive 0"},
    {"collective_broadcast", "broadcast", "broadcast", "the piece, on all but one of a group"},
    {"all_slice", NULL, "slice", "each device keeps a part of what it holds"},
};

static int kind_at(const char *name)
{
    for (int i = 0; i < KINDS; i++) {
        size_t n = strlen(kinds[i].name);
        if (strncmp(name, kinds[i].name, n) == 0 && (name[n] == ' ' || name[n] == '"')) return i;
    }
    return -1;
}

static int64_t received(int k, int64_t bytes, int64_t g)
{
    static const mw_collective same[KINDS] = {
        [GATHER] = MW_COLLECTIVE_all_gather,
        [REDUCE] = MW_COLLECTIVE_all_reduce,
        [SCATTER] = MW_COLLECTIVE_reduce_scatter,
        [EXCHANGE] = MW_COLLECTIVE_all_to_all,
    };
    if (k == SLICE) return 0;
    if (k == PERMUTE || k == BROADCAST)
        return g == 1 ? 0 : bytes; /* groups are not read for these */
    int64_t whole = bytes;
    if (k == SCATTER && (bytes < 0 || g < 1 || __builtin_mul_overflow(bytes, g, &whole))) return -1;
    return mw__collective_received(same[k], whole, g);
}

typedef struct told {
    int k;
    int64_t bytes, mean;
    bool most; /* bytes are a bound */
} told;

static void tell_bytes(const mlir_here *h, mw_draft *d, const told *t)
{
    if (t->bytes >= 0)
        mw__fact(d, "received per device", MW_HOW_DERIVED, kinds[t->k].formula, "%s%lld B",
                 t->most ? "at most " : "", (long long)t->bytes);
    else
        mw__missing(h->e, "the bytes of the %s in line %lld: type, mesh or groups are not there",
                    kinds[t->k].words, (long long)h->line->number);
}

static const char *said_bytes(const mlir_here *h, const told *t)
{
    const char *text = t->bytes < 0
                           ? ""
                           : mw__explain_text(h->e, ": %s%lld B received per device",
                                              t->most ? "at most " : "", (long long)t->bytes);
    return text ? text : "";
}

/* ---- Shardy's ----------------------------------------------------------------------------------
 */

/* Devices of a group: the product of the axes (or parts, "x":(1)2) named in [at, end). */
static int64_t axes_size(const mw_mesh *mesh, const char *at, const char *end, mw_str *names)
{
    int64_t size = 1;
    while (at < end && (at = memchr(at, '"', (size_t)(end - at))) != NULL) {
        const char *name = at + 1, *close = memchr(name, '"', (size_t)(end - name));
        if (!close) return -1;
        int axis = mw_mesh_axis_find(mesh, name, (int)MW_MIN(close - name, 100));
        if (axis < 0) return -1;
        int64_t part = mw_mesh_axis_size(mesh, axis), pre;
        mw__str_printf(names, "%s%.*s", names->length ? "," : "", (int)MW_MIN(close - name, 100),
                       name);
        at = close + 1;
        if (strncmp(at, ":(", 2) == 0) {
            const char *p = at + 2;
            if (!mw__hlo_int(&p, &pre) || *p++ != ')' || !mw__hlo_int(&p, &part)) return -1;
            mw__str_printf(names, ":(%lld)%lld", (long long)pre, (long long)part);
            at = p;
        }
        if (part < 1 || part > MW_MESH_RANKS || size > MW_MESH_RANKS) return -1;
        size *= part;
    }
    return size;
}

/* Bytes of rank 0's piece, the largest. */
int64_t mw__mlir_piece(const mlir_here *h, const mw_mesh *mesh, const char *sharding,
                       const hlo_shape *shape)
{
    const char *end = mw__mlir_close(sharding);
    if (!end || shape->ndim < 0 || !shape->bits) return -1;
    mw_reading *r = mw__hlo_reading(h->e, mesh, sharding, end - sharding, shape->ndim, shape->dim);
    if (!r) return -1;
    int64_t count = 1;
    for (int d = 0; d < shape->ndim && count >= 0; d++) {
        mw_range range;
        int64_t n = 0;
        if (mw_reading_ranges(r, 0, d, &range, 1, &n) != MW_OK || n > 1 ||
            mw__mul_size(count, n ? range.end - range.first : 0, &count) != MW_OK)
            count = -1;
    }
    mw_error_clear();
    mw_reading_free(r);
    return count < 0 || count > INT64_C(1) << 50 ? -1 : (count * shape->bits + 7) / 8;
}

/* How many devices of the mesh hold another piece after a permute than before: they receive one. -1
 * where the shardings can't be laid out. */
static int64_t movers(const mlir_here *h, const mw_mesh *mesh, const char *before,
                      const char *after, const hlo_shape *shape)
{
    const char *ends[2] = {mw__mlir_close(before), mw__mlir_close(after)};
    if (!ends[0] || !ends[1] || shape->ndim < 0 || mw_mesh_ranks(mesh) > 4096) return -1;
    mw_reading *was =
        mw__hlo_reading(h->e, mesh, before, ends[0] - before, shape->ndim, shape->dim);
    mw_reading *is = mw__hlo_reading(h->e, mesh, after, ends[1] - after, shape->ndim, shape->dim);
    int64_t moved = was && is ? 0 : -1;
    for (int r = 0; r < mw_mesh_ranks(mesh) && moved >= 0; r++) {
        bool same = true;
        for (int d = 0; d < shape->ndim && moved >= 0; d++) {
            mw_range a = {0, 0}, b = {0, 0};
            int64_t n = 0, m = 0;
            if (mw_reading_ranges(was, r, d, &a, 1, &n) != MW_OK ||
                mw_reading_ranges(is, r, d, &b, 1, &m) != MW_OK || n > 1 || m > 1)
                moved = -1;
            else
                same &= n == m && a.first == b.first && a.end == b.end;
        }
        if (moved >= 0 && !same) moved++;
    }
    mw_error_clear();
    mw_reading_free(was);
    mw_reading_free(is);
    return moved;
}

static void permute(const mlir_here *h, mw_draft *d, const mw_mesh *mesh, const char *sharding,
                    const hlo_shape *shape, told *t)
{
    const mlir_value *from = mw__mlir_operand(h, 0);
    int64_t moved =
        mesh && from && from->sharding ? movers(h, mesh, from->sharding, sharding, shape) : -1;
    t->most = moved < 0;
    if (moved < 0 || t->bytes < 0) return;
    int64_t ranks = mw_mesh_ranks(mesh);
    t->mean = t->bytes / ranks * moved + t->bytes % ranks * moved / ranks;
    if (!moved) t->bytes = 0;
    mw__fact(d, "devices that receive", MW_HOW_DERIVED,
             "their piece after the permute is another than before", "%lld of %lld",
             (long long)moved, (long long)ranks);
    if (t->mean != t->bytes)
        mw__fact(d, "received per device, mean", MW_HOW_DERIVED,
                 "what all devices receive, over their number", "%lld B", (long long)t->mean);
}

/* What made the operand; for a sum, that is what left terms behind. */
static const char *cause(const mlir_here *h, mw_draft *d, int k)
{
    const mlir_value *from = mw__mlir_operand(h, 0);
    if (!from || !from->op) return "";
    bool sum = k == REDUCE || k == SCATTER;
    mw__fact(d, sum ? "terms left by" : "operand made by", MW_HOW_STATED, h->from,
             "%s in line %lld", from->op, (long long)from->line);
    if (from->sharding && !sum) mw__fact(d, "from", MW_HOW_STATED, h->from, "%s", from->sharding);
    return sum ? from->op : "";
}

static void wait_for_user(const mlir_here *h, mw_draft *d)
{
    const char *name = h->text;
    mlir_value *v = mw__mlir_value(h->s, mw__mlir_value_name(&name), true);
    if (!v) return;
    const mlir_value *from = mw__mlir_operand(h, 0);
    v->waits = d;
    v->line = h->line->number;
    v->summed = from ? from->summed : 0;
}

static void count(const mlir_here *h, mw_draft *d, const told *t)
{
    h->s->collectives++;
    mw__runs_move(h->e, &h->s->runs, d, mw__mlir_computation(h->s), false, t->bytes, t->mean);
}

bool mw__mlir_sdy_collective(const mlir_here *h)
{
    const char *at = strstr(h->text, " = sdy.");
    told t = {.k = at ? kind_at(at + 7) : -1, .mean = -1};
    int k = t.k;
    if (k < 0) return false;
    const char *axes = at + 7 + strlen(kinds[k].name);
    const char *end = axes + strcspn(axes, "%");
    const char *out = strstr(h->text, "out_sharding=<");
    const char *sharding = out ? out + 13 : NULL;
    const mw_mesh *mesh = sharding ? mw__mlir_mesh(h, sharding) : NULL;
    mw_draft *d = mw__draft(h->e, h->line, "sdy", "collective");
    hlo_shape shape = {.bits = 0};
    mw_str names = {0};
    bool typed = mw__mlir_type(h->text, 0, &shape);
    int64_t group = mesh && k != PERMUTE ? axes_size(mesh, axes, end, &names) : -1;
    int64_t piece = mesh && typed ? mw__mlir_piece(h, mesh, sharding, &shape) : -1;
    t.mean = t.bytes = received(k, piece, group);
    const char *axis = mw__hlo_keep(h->e, &names);
    const char *name;
    int length = mw__mlir_name(h->text, &name);
    if (k != PERMUTE)
        mw__fact(d, "axes", MW_HOW_STATED, h->from, "%.*s", (int)MW_MIN(end - axes, 300), axes);
    if (group > 0 && k != PERMUTE)
        mw__fact(d, "group size", MW_HOW_DERIVED, "sizes of the axes on the mesh", "%lld",
                 (long long)group);
    if (typed)
        mw__fact(d, "type", MW_HOW_STATED, h->from, "the whole tensor's: %lld elements of %s",
                 (long long)shape.count, shape.dtype);
    if (piece >= 0)
        mw__fact(d, "bytes of the result's piece", MW_HOW_DERIVED, "type cut by out_sharding",
                 "%lld B", (long long)piece);
    if (sharding)
        mw__fact(d, "out_sharding", MW_HOW_STATED, h->from, "%.*s",
                 (int)MW_MIN(strcspn(sharding, ">"), 1000) + 1, sharding);
    if (k == PERMUTE) permute(h, d, mesh, sharding, &shape, &t);
    const char *op = cause(h, d, k);
    if (kinds[k].collective) mw__draft_moved(d, kinds[k].collective, axis, op, t.bytes);
    mw__draft_says(d, "%.*s: one %s%s%s%s.", length, name, kinds[k].words, *axis ? " over " : "",
                   axis, k == SLICE ? ", which moves nothing" : said_bytes(h, &t));
    tell_bytes(h, d, &t);
    if (sharding && !mesh)
        mw__missing(h->e, "the mesh of line %lld: its sdy.mesh is not in the text",
                    (long long)h->line->number);
    mw__draft_weight(d, k == SLICE ? 5 : 30);
    if (k == SLICE) return true;
    wait_for_user(h, d);
    count(h, d, &t);
    return true;
}

/* ---- StableHLO's -------------------------------------------------------------------------------
 */

/* Pairs of two different devices receive; the mean is over all devices that the pairs name. */
static void pairs(mw_draft *d, const hlo_groups *g, told *t)
{
    int64_t moved = 0, devices = 0;
    if (g->size != 2 || g->nid == HLO_IDS || t->bytes < 0) {
        t->most = true;
        return;
    }
    for (int i = 0; i + 1 < g->nid; i += 2) {
        moved += g->id[i] != g->id[i + 1];
        devices = MW_MAX(devices, MW_MAX(g->id[i], g->id[i + 1]) + 1);
    }
    if (!moved) t->bytes = 0;
    t->mean = -1;
    mw__fact(d, "devices that receive", MW_HOW_DERIVED, "pairs of two different devices",
             "%lld of at least %lld", (long long)moved, (long long)devices);
    if (moved == devices) t->mean = t->bytes;
}

static void tell_types(const mlir_here *h, mw_draft *d, int k, const hlo_groups *groups,
                       int64_t group)
{
    hlo_shape shape = {.bits = 0};
    mw_str text = {0};
    told t = {.k = k, .bytes = -1, .mean = -1};
    if (mw__mlir_type(h->text, 0, &shape)) t.mean = t.bytes = received(k, shape.bytes, group);
    mw__hlo_shape_str(&shape, &text);
    const char *printed = mw__hlo_keep(h->e, &text);
    if (shape.dtype[0])
        mw__fact(d, "local shape after", MW_HOW_STATED, h->from,
                 "%s: one device's piece, as in every stablehlo collective", printed);
    if (k == PERMUTE && groups) pairs(d, groups, &t);
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->bytes = t.bytes;
    const char *said =
        group > 0 ? mw__explain_text(h->e, " in groups of %lld devices", (long long)group) : "";
    mw__draft_says(d, "One %s%s%s.", kinds[k].words, said ? said : "", said_bytes(h, &t));
    tell_bytes(h, d, &t);
    count(h, d, &t);
}

bool mw__mlir_collective(const mlir_here *h)
{
    const char *at = strstr(h->text, "stablehlo.");
    for (; at && kind_at(at + 10) < 0; at = strstr(at + 1, "stablehlo."))
        ;
    int k = at ? kind_at(at + 10) : -1;
    if (k < 0 || k == SLICE) return false;
    hlo_groups groups = {.nid = 0};
    const char *word = k == PERMUTE ? "source_target_pairs = dense<" : "replica_groups = dense<";
    const char *list = strstr(at, word);
    mw_draft *d = mw__draft(h->e, h->line, "stablehlo", "collective");
    bool read = list && mw__hlo_groups_read(list + strlen(word), &groups);
    int64_t group = read && !groups.uneven && groups.size ? groups.size : -1;
    mw_str text = {0};
    mw__hlo_groups_str(&groups, &text);
    const char *printed = read ? mw__hlo_keep(h->e, &text) : "";
    mw__str_done(&text);
    mw__draft_moved(d, kinds[k].collective, printed, "the program's own call", -1);
    mw__draft_weight(d, 30);
    if (read) mw__fact(d, k == PERMUTE ? "pairs" : "groups", MW_HOW_STATED, h->from, "%s", printed);
    if (k == PERMUTE) group = -1;
    (void)cause(h, d, k);
    wait_for_user(h, d);
    if (k == REDUCE || k == SCATTER) { /* a region follows, unless the line has the types */
        size_t n = strlen(h->text);
        if (n && (h->text[n - 1] == '{' || h->text[n - 1] == '(')) {
            const char *name = h->text;
            mw__explain_once(h->e);
            mw__draft_says(d, "One %s.", kinds[k].words);
            h->s->pending = d;
            h->s->pending_kind = k;
            h->s->pending_group = group;
            h->s->pending_name = mw__mlir_value_name(&name);
            return true;
        }
    }
    tell_types(h, d, k, &groups, group);
    return true;
}

bool mw__mlir_region_end(const mlir_here *h)
{
    mw_draft *d = h->s->pending;
    if (!d || strncmp(h->text, "})", 2) != 0) return false;
    mw__explain_once(h->e);
    mw__draft_last(d, h->line->number);
    tell_types(h, d, h->s->pending_kind, NULL, h->s->pending_group);
    mlir_value *v = mw__mlir_value(h->s, h->s->pending_name, false);
    if (v) v->group = h->s->pending_kind == REDUCE ? h->s->pending_group : 0;
    h->s->pending = NULL;
    return true;
}
