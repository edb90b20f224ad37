/* Shortest path over layouts, with the classic collectives as edges. A state says, per dim, which
 * prime parts
 * ("atoms") of mesh axes cut it, major to minor, and which atoms still make it partial. A gather or
 * an all_to_all takes the most minor atoms of a dim; a slice appends a free one; a permute may
 * reach every state whose shards have the same shape, at the price of the whole shard: it goes
 * through one hub per shape, so that there are as many edges as states. (Shardy fixes the order of
 * axes by a permute first; two all_to_alls in the right order often need none.) */
#include "plan/classic.h"

enum { MOST_ATOMS = 12, MOST_STATES = 60000, MOST_ORDERS = 8, KEY = 24 };

typedef struct atom {
    int8_t axis;
    int32_t major, size;
} atom;

/* Atoms of all dims in order, dims separated by END, then those that are partial. */
enum { END = 0x7f };
typedef struct state {
    uint8_t key[KEY];
} state;

typedef struct node {
    state at;
    double cost;
    int32_t before; /* node that leads here, -1 */
    int32_t hash_next;
    bool settled;
    bool hub;
} node;

typedef struct search {
    const mw_mesh *mesh;
    const mw_layout *from, *to;
    mw_arena *arena;
    mw_minimize minimize;
    int ndim;
    int64_t size[MW_LAYOUT_DIMS];
    bool fixed[MW_LAYOUT_DIMS]; /* equal in source and target, and not of plain cuts: left alone */
    int natom;
    atom atoms[MOST_ATOMS];
    int64_t largest; /* elements a shard may have */
    double bytes_each;
    node *nodes;
    int nnode;
    int32_t *bucket;
    int32_t *heap;
    int nheap;
    bool full;
} search;

enum { BUCKETS = 1 << 14 };

/* A state taken apart. */
typedef struct lists {
    int n[MW_LAYOUT_DIMS + 1]; /* the last: partial atoms */
    uint8_t at[MW_LAYOUT_DIMS + 1][MOST_ATOMS];
} lists;

static void unpack(const search *s, const state *key, lists *ret)
{
    memset(ret->n, 0, sizeof ret->n);
    int d = 0;
    for (int i = 0; i < KEY && d <= s->ndim; i++) {
        if (key->key[i] == END)
            d++;
        else
            ret->at[d][ret->n[d]++] = key->key[i];
    }
}

static state pack(const search *s, const lists *l)
{
    state key;
    memset(&key, END, sizeof key);
    int at = 0;
    for (int d = 0; d <= s->ndim; d++) {
        for (int i = 0; i < l->n[d]; i++)
            key.key[at++] = l->at[d][i];
        key.key[at++] = END;
    }
    return key;
}

/* Largest local size of a dim: each atom cuts by torch.chunk's rule. */
static int64_t local_size(const search *s, const lists *l, int d)
{
    int64_t n = s->size[d];
    for (int i = 0; i < l->n[d]; i++) {
        int32_t k = s->atoms[l->at[d][i]].size;
        n = (n + k - 1) / k;
    }
    return n;
}

static int64_t shard(const search *s, const lists *l)
{
    int64_t n = 1;
    for (int d = 0; d < s->ndim; d++)
        n *= local_size(s, l, d);
    return n;
}

/* ---- nodes -------------------------------------------------------------------------------------
 */

static double price(const search *s, double elements, int team)
{
    double bytes = elements * s->bytes_each;
    if (s->minimize == MW_MINIMIZE_BYTES) return bytes + 1e-3 * (team > 1 ? 1 : 0) + 1e-5;
    return team > 1 ? mw__step_time(team, (int64_t)bytes, 1) : 1e-6;
}

static void sift_up(search *s, int at)
{
    while (at > 0 && s->nodes[s->heap[at]].cost < s->nodes[s->heap[(at - 1) / 2]].cost) {
        int32_t other = s->heap[(at - 1) / 2];
        s->heap[(at - 1) / 2] = s->heap[at];
        s->heap[at] = other;
        at = (at - 1) / 2;
    }
}

static int pop(search *s)
{
    int32_t top = s->heap[0];
    s->heap[0] = s->heap[--s->nheap];
    for (int at = 0;;) {
        int best = at;
        for (int c = 2 * at + 1; c <= 2 * at + 2; c++)
            if (c < s->nheap && s->nodes[s->heap[c]].cost < s->nodes[s->heap[best]].cost) best = c;
        if (best == at) return top;
        int32_t other = s->heap[best];
        s->heap[best] = s->heap[at];
        s->heap[at] = other;
        at = best;
    }
}

/* Reaches a state at a cost. A node may stand in the heap more than once: the first time counts. */
static void reach(search *s, const state *at, bool hub, double cost, int before)
{
    uint64_t hash = mw__hash(hub, at->key, KEY) % BUCKETS;
    int32_t n = s->bucket[hash];
    while (n >= 0 && (s->nodes[n].hub != hub || memcmp(&s->nodes[n].at, at, sizeof *at) != 0))
        n = s->nodes[n].hash_next;
    if (n < 0) {
        if (s->nnode == MOST_STATES) {
            s->full = true;
            return;
        }
        n = s->nnode++;
        s->nodes[n] = (node){*at, cost, before, s->bucket[hash], false, hub};
        s->bucket[hash] = n;
    } else if (s->nodes[n].settled || cost >= s->nodes[n].cost) {
        return;
    } else {
        s->nodes[n].cost = cost;
        s->nodes[n].before = before;
    }
    if (s->nheap == 4 * MOST_STATES) {
        s->full = true;
        return;
    }
    s->heap[s->nheap++] = n;
    sift_up(s, s->nheap - 1);
}

/* ---- edges
 * --------------------------------------------------------------------------------------- */

static bool is_free(const search *s, const lists *l, int a)
{
    for (int d = 0; d <= s->ndim; d++)
        for (int i = 0; i < l->n[d]; i++)
            if (l->at[d][i] == a) return false;
    return true;
}

static int team_of(const search *s, const uint8_t *at, int n)
{
    int team = 1;
    for (int i = 0; i < n; i++)
        team *= s->atoms[at[i]].size;
    return team;
}

static void slices(search *s, const lists *l, double cost, int from)
{
    for (int a = 0; a < s->natom; a++) {
        if (!is_free(s, l, a)) continue;
        for (int d = 0; d < s->ndim; d++) {
            if (s->fixed[d] || local_size(s, l, d) < 2) continue;
            lists next = *l;
            next.at[d][next.n[d]++] = (uint8_t)a;
            state key = pack(s, &next);
            reach(s, &key, false, cost + price(s, 0, 1), from);
        }
    }
}

/* Takes the k most minor atoms off dim d: gathered, or put at the end of another dim. */
static void suffixes(search *s, const lists *l, double cost, int from)
{
    double before = (double)shard(s, l);
    for (int d = 0; d < s->ndim; d++)
        for (int k = 1; k <= l->n[d] && !s->fixed[d]; k++) {
            const uint8_t *moved = &l->at[d][l->n[d] - k];
            int team = team_of(s, moved, k);
            lists next = *l;
            next.n[d] -= k;
            int64_t gathered = shard(s, &next);
            if (gathered <= s->largest) {
                state key = pack(s, &next);
                reach(s, &key, false, cost + price(s, (double)gathered - before, team), from);
            }
            for (int e = 0; e < s->ndim; e++) {
                if (e == d || s->fixed[e]) continue;
                lists other = next;
                memcpy(&other.at[e][other.n[e]], moved, (size_t)k);
                other.n[e] += k;
                double after = (double)shard(s, &other);
                if (after > (double)s->largest) continue;
                state key = pack(s, &other);
                reach(s, &key, false, cost + price(s, after - MW_MIN(before, after) / team, team),
                      from);
            }
        }
}

/* Reductions: one run of partial atoms (of one axis) at a time, or all. */
static void reductions(search *s, const lists *l, double cost, int from)
{
    int p = s->ndim, n = l->n[p];
    for (int first = 0; first < n; first++)
        for (int end = first + 1; end <= n; end++) {
            lists next = *l;
            int k = end - first, team = team_of(s, &l->at[p][first], k);
            memmove(&next.at[p][first], &next.at[p][end], (size_t)(n - end));
            next.n[p] -= k;
            double whole = (double)shard(s, l);
            double all = team == 2 ? whole : 2 * whole * (team - 1) / team;
            state key = pack(s, &next);
            reach(s, &key, false, cost + price(s, all, team), from);
            for (int d = 0; d < s->ndim; d++) {
                if (s->fixed[d]) continue;
                lists cut = next;
                memcpy(&cut.at[d][cut.n[d]], &l->at[p][first], (size_t)k);
                cut.n[d] += k;
                key = pack(s, &cut);
                reach(s, &key, false, cost + price(s, (double)shard(s, &cut) * (team - 1), team),
                      from);
            }
        }
}

/* The hub of all states whose shards have this shape (and these partial atoms). */
static state hub_of(const search *s, const lists *l)
{
    state key;
    memset(&key, 0, sizeof key);
    int at = 0;
    for (int d = 0; d < s->ndim && at + 2 <= KEY; d++) {
        int ways = team_of(s, l->at[d], l->n[d]);
        key.key[at++] = (uint8_t)(ways & 0xff);
        key.key[at++] = (uint8_t)(ways >> 8);
    }
    for (int i = 0; i < l->n[s->ndim] && at < KEY; i++)
        key.key[at++] = (uint8_t)(0x80 | l->at[s->ndim][i]);
    return key;
}

/* From a hub: every arrangement of atoms whose counts of chunks per dim are `ways`. */
static void spread(search *s, lists *l, const int *ways, int d, int have, unsigned used,
                   double cost, int from)
{
    while (d < s->ndim && have == ways[d])
        d++, have = 1;
    if (d == s->ndim) {
        state key = pack(s, l);
        reach(s, &key, false, cost, from);
        return;
    }
    if (s->fixed[d]) return;
    for (int a = 0; a < s->natom && !s->full; a++) {
        if (used >> a & 1 || ways[d] % (have * s->atoms[a].size) != 0) continue;
        l->at[d][l->n[d]++] = (uint8_t)a;
        spread(s, l, ways, d, have * s->atoms[a].size, used | 1u << a, cost, from);
        l->n[d]--;
    }
}

static void leave_hub(search *s, int from)
{
    lists now, l = {.n = {0}};
    int ways[MW_LAYOUT_DIMS];
    unsigned used = 0;
    unpack(s, &s->nodes[s->nodes[from].before].at, &now);
    for (int d = 0; d < s->ndim; d++)
        ways[d] = team_of(s, now.at[d], now.n[d]);
    l.n[s->ndim] = now.n[s->ndim];
    memcpy(l.at[s->ndim], now.at[s->ndim], MOST_ATOMS);
    for (int i = 0; i < now.n[s->ndim]; i++)
        used |= 1u << now.at[s->ndim][i];
    spread(s, &l, ways, 0, 1, used, s->nodes[from].cost, from);
}

static void expand(search *s, int from)
{
    double cost = s->nodes[from].cost;
    if (s->nodes[from].hub) {
        leave_hub(s, from);
        return;
    }
    lists l;
    unpack(s, &s->nodes[from].at, &l);
    slices(s, &l, cost, from);
    suffixes(s, &l, cost, from);
    reductions(s, &l, cost, from);
    state hub = hub_of(s, &l);
    int team = 1;
    for (int d = 0; d < s->ndim; d++)
        team *= team_of(s, l.at[d], l.n[d]);
    if (team > 1) reach(s, &hub, true, cost + price(s, (double)shard(s, &l), team), from);
}

/* ---- from layouts to atoms and back
 * ---------------------------------------------------------------- */

static bool plain_cuts(const mw_dim *dim)
{
    if (dim->nfactor > 1) return false;
    for (int i = 0; i < dim->ncut; i++)
        if (dim->cut[i].axis < 0 || dim->cut[i].joint) return false;
    return true;
}

/* Appends the atoms of one part of an axis; false where it does not begin and end at atoms. */
static bool append_part(const search *s, int axis, int32_t major, int32_t size, uint8_t *at, int *n)
{
    int32_t next = major, end = major * size;
    for (int a = 0; a < s->natom && next < end; a++) {
        if (s->atoms[a].axis != axis || s->atoms[a].major != next) continue;
        at[(*n)++] = (uint8_t)a;
        next *= s->atoms[a].size;
    }
    return next == end;
}

static bool to_lists(const search *s, const mw_layout *l, const mw_layout *target, lists *ret)
{
    *ret = (lists){.n = {0}};
    for (int d = 0; d < s->ndim; d++) {
        if (s->fixed[d]) continue;
        for (int i = 0; i < l->dim[d].ncut; i++) {
            const mw_cut *c = &l->dim[d].cut[i];
            if (!append_part(s, c->axis, c->major, c->size, ret->at[d], &ret->n[d])) return false;
        }
    }
    for (int i = 0; i < l->npartial; i++) {
        const mw_partial *p = &l->partial[i];
        bool stays = false;
        for (int j = 0; j < target->npartial; j++)
            stays = stays || memcmp(&target->partial[j], p, sizeof *p) == 0;
        if (!stays &&
            !append_part(s, p->axis, p->major, p->size, ret->at[s->ndim], &ret->n[s->ndim]))
            return false;
    }
    return true;
}

static bool to_layout(const search *s, const state *at, mw_layout *ret)
{
    lists l;
    unpack(s, at, &l);
    *ret = (mw_layout){.dtype = s->from->dtype, .ndim = s->from->ndim};
    for (int d = 0; d < s->ndim; d++) {
        if (s->fixed[d]) {
            ret->dim[d] = s->from->dim[d];
            continue;
        }
        mw_dim *dim = &ret->dim[d];
        *dim = mw__dim_plain(s->size[d]);
        if (l.n[d] > MW_DIM_CUTS || !dim->nfactor) return l.n[d] == 0;
        for (int i = 0; i < l.n[d]; i++) {
            const atom *a = &s->atoms[l.at[d][i]];
            dim->cut[dim->ncut++] = (mw_cut){a->axis, 0, a->major, a->size};
        }
        dim->cuts[0] = dim->ncut;
    }
    for (int i = 0; i < s->from->npartial; i++) { /* those not yet reduced, and those that stay */
        const mw_partial *p = &s->from->partial[i];
        bool there = false;
        for (int j = 0; j < l.n[s->ndim]; j++) {
            const atom *a = &s->atoms[l.at[s->ndim][j]];
            there = there ||
                    (a->axis == p->axis && a->major >= p->major && a->major < p->major * p->size);
        }
        for (int j = 0; j < s->to->npartial; j++)
            there = there || memcmp(&s->to->partial[j], p, sizeof *p) == 0;
        if (there) ret->partial[ret->npartial++] = *p;
    }
    mw__layout_canonical(s->mesh, ret);
    return true;
}

/* ---- the search
 * ------------------------------------------------------------------------------------ */

static mw_status run(search *s, const state *start, const state *goal, int *ret_goal)
{
    *ret_goal = -1;
    s->nnode = s->nheap = 0;
    s->full = false;
    memset(s->bucket, 0xff, BUCKETS * sizeof *s->bucket);
    reach(s, start, false, 0, -1);
    while (s->nheap > 0) {
        int n = pop(s);
        if (s->nodes[n].settled) continue;
        s->nodes[n].settled = true;
        if (!s->nodes[n].hub && memcmp(&s->nodes[n].at, goal, sizeof *goal) == 0) {
            *ret_goal = n;
            return MW_OK;
        }
        if (!s->full) expand(s, n);
    }
    return MW_OK;
}

/* The steps of a path, hubs left out: each is named and counted from its two layouts. */
static mw_status steps_of(search *s, int goal, mw_plan *ret, bool *ret_fits)
{
    int path[64], n = 0;
    for (int at = goal; at >= 0 && n < 64; at = s->nodes[at].before)
        if (!s->nodes[at].hub) path[n++] = at;
    *ret_fits = n - 1 <= MW_PLAN_STEPS;
    mw__plan_start(s->mesh, s->from, ret);
    for (int i = n - 2; i >= 0 && *ret_fits; i--) {
        mw_layout next;
        if (!to_layout(s, &s->nodes[path[i]].at, &next))
            *ret_fits = false;
        else
            MW_TRY(mw__plan_add(ret, &next, s->arena));
    }
    return MW_OK;
}

/* Prime sizes in which axis `axis` may be split, in the nth order (0 ...); false past the last.
 * Orders matter for axes with different primes: 6 is 2 then 3, or 3 then 2. */
static bool primes_in_order(int32_t size, int nth, int32_t *ret, int *ret_n)
{
    int n = 0;
    for (int32_t p = 2; p <= size; p++)
        for (; size % p == 0; size /= p)
            ret[n++] = p;
    *ret_n = n;
    for (; nth > 0; nth--) { /* next permutation */
        int i = n - 2;
        while (i >= 0 && ret[i] >= ret[i + 1])
            i--;
        if (i < 0) return false;
        int j = n - 1;
        while (ret[j] <= ret[i])
            j--;
        int32_t swap = ret[i];
        ret[i] = ret[j], ret[j] = swap;
        for (int a = i + 1, b = n - 1; a < b; a++, b--)
            swap = ret[a], ret[a] = ret[b], ret[b] = swap;
    }
    return true;
}

static bool make_atoms(search *s, uint32_t axes, const int *order)
{
    s->natom = 0;
    for (int x = 0; x < s->mesh->naxis; x++) {
        int32_t primes[32], major = 1;
        int n;
        if (!(axes >> x & 1)) continue;
        if (!primes_in_order(s->mesh->size[x], order[x], primes, &n)) return false;
        if (s->natom + n > MOST_ATOMS) return false;
        for (int i = 0; i < n; i++) {
            s->atoms[s->natom++] = (atom){(int8_t)x, major, primes[i]};
            major *= primes[i];
        }
    }
    return true;
}

static bool usable(search *s, uint32_t *ret_axes)
{
    uint32_t axes = 0;
    for (int d = 0; d < s->ndim; d++) {
        const mw_dim *a = &s->from->dim[d], *b = &s->to->dim[d];
        s->size[d] = mw__dim_size(a);
        s->fixed[d] = mw__dim_equal(a, b) && !plain_cuts(a);
        if (s->fixed[d]) continue;
        if (!plain_cuts(a) || !plain_cuts(b)) return false;
        axes |= mw__dim_axes(a) | mw__dim_axes(b);
    }
    for (int i = 0; i < s->from->npartial; i++) {
        const mw_partial *p = &s->from->partial[i];
        if (p->kind == MW_REDUCE_AVG) return false;
        axes |= 1u << p->axis;
    }
    for (int j = 0; j < s->to->npartial; j++) { /* a mask would have to be made: not searched */
        bool had = false;
        for (int i = 0; i < s->from->npartial; i++)
            had = had || memcmp(&s->from->partial[i], &s->to->partial[j], sizeof(mw_partial)) == 0;
        if (!had) return false;
    }
    *ret_axes = axes;
    return true;
}

static mw_status allocate(search *s)
{
    s->nodes = mw__arena_alloc(s->arena, MOST_STATES * sizeof *s->nodes);
    s->bucket = mw__arena_alloc(s->arena, BUCKETS * sizeof *s->bucket);
    s->heap = mw__arena_alloc(s->arena, 4 * MOST_STATES * sizeof *s->heap);
    return s->nodes && s->bucket && s->heap ? MW_OK : MW_NOMEM();
}

static bool cheaper(mw_minimize minimize, const mw_plan *a, const mw_plan *b)
{
    if (minimize == MW_MINIMIZE_TIME) return a->time_us < b->time_us;
    if (a->recv_bytes != b->recv_bytes) return a->recv_bytes < b->recv_bytes;
    if (a->recv_bytes_total != b->recv_bytes_total)
        return a->recv_bytes_total < b->recv_bytes_total;
    return a->time_us < b->time_us;
}

/* One search per way of splitting the axes into primes. */
static mw_status search_orders(search *s, uint32_t axes, mw_plan *best, bool *ret_found)
{
    int order[MW_MESH_AXES] = {0}, tried = 0;
    mw_plan *plan = mw__arena_alloc(s->arena, sizeof *plan);
    if (!plan) return MW_NOMEM();
    while (tried < MOST_ORDERS) {
        lists from, to;
        if (make_atoms(s, axes, order)) {
            tried++;
            if (to_lists(s, s->from, s->to, &from) && to_lists(s, s->to, s->to, &to)) {
                state start = pack(s, &from), goal = pack(s, &to);
                int end;
                bool fits = false;
                MW_TRY(run(s, &start, &goal, &end));
                if (end >= 0) MW_TRY(steps_of(s, end, plan, &fits));
                if (fits && (!*ret_found || cheaper(s->minimize, plan, best))) {
                    *best = *plan;
                    *ret_found = true;
                }
            }
        }
        int x = 0; /* the next combination of orders */
        for (; x < s->mesh->naxis; x++) {
            int32_t primes[32];
            int n;
            if (!(axes >> x & 1)) continue;
            if (primes_in_order(s->mesh->size[x], ++order[x], primes, &n)) break;
            order[x] = 0;
        }
        if (x == s->mesh->naxis) break;
    }
    return MW_OK;
}

/* Gathers what changes, then slices. */
static mw_status gather_and_slice(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                                  mw_arena *arena, mw_plan *ret)
{
    mw_layout middle = *from;
    for (int d = 0; d < from->ndim; d++)
        if (!mw__dim_equal(&from->dim[d], &to->dim[d]))
            middle.dim[d] = mw__dim_plain(mw__dim_size(&from->dim[d]));
    middle.npartial = 0;
    memset(middle.partial, 0, sizeof middle.partial);
    for (int i = 0; i < from->npartial; i++)
        for (int j = 0; j < to->npartial; j++)
            if (memcmp(&from->partial[i], &to->partial[j], sizeof(mw_partial)) == 0)
                middle.partial[middle.npartial++] = from->partial[i];
    mw__plan_start(mesh, from, ret);
    MW_TRY(mw__plan_add(ret, &middle, arena));
    return mw__plan_add(ret, to, arena);
}

mw_status mw__plan_classic(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                           mw_minimize minimize, mw_arena *arena, mw_plan *ret, bool *ret_exact)
{
    search *s = mw__arena_zalloc(arena, sizeof *s);
    if (!s) return MW_NOMEM();
    MW_TRY(mw__plan_check_pair(mesh, from, to));
    s->mesh = mesh, s->from = from, s->to = to, s->arena = arena, s->minimize = minimize;
    s->ndim = from->ndim;
    s->bytes_each = (double)MW_MAX(1, mw_dtype_size(mw__layout_storage_dtype(from)));
    s->largest = MW_MAX(mw__layout_largest_shard(mesh, from), mw__layout_largest_shard(mesh, to));
    uint32_t axes;
    bool found = false;
    if (usable(s, &axes)) {
        MW_TRY(allocate(s));
        MW_TRY(search_orders(s, axes, ret, &found));
    }
    *ret_exact = found && !s->full;
    return found ? MW_OK : gather_and_slice(mesh, from, to, arena, ret);
}
