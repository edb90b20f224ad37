/* The states of the classic search, and what a rank lacks between two of them.
 *
 * A state says for each dim which atoms cut it, major to minor. The orders that occur in one dim
 * form a trie, so that a state is one number per dim, gathering the most minor atom is a step to
 * the parent and cutting by another one a step to a child. Where all sizes divide, what two orders
 * have in common follows from the tree: all of the smaller shard where one is an ancestor of the
 * other, and for some rank nothing at all where they part. Elsewhere every rank is looked at. */
#include "plan/classic_search.h"

/* ---- sequences ------------------------------------------------------------------------------- */

static int32_t new_seq(space *s, int32_t parent)
{
    if (s->nseq == MOST_SEQS) {
        s->full = true;
        return -1;
    }
    seq *q = &s->seqs[s->nseq];
    memset(q, 0, sizeof *q);
    memset(q->child, 0xff, sizeof q->child);
    q->parent = parent;
    return s->nseq++;
}

int32_t mw__seq_child(space *s, int side_index, int dim, int32_t at, int a)
{
    const side *sd = &s->side[side_index];
    const atom *t = &sd->atoms[a];
    if (t->whole && (t->dim != dim || s->seqs[at].parent >= 0)) return -1;
    if (s->seqs[at].opaque) return -1;
    bool divides = s->seqs[at].even && s->seqs[at].largest % t->size == 0;
    if (a >= sd->nbase && !t->whole && divides) return -1; /* the same as its primes one by one */
    int32_t have = s->seqs[at].child[a];
    if (have >= 0) return have;
    if (s->seqs[at].depth >= MW_DIM_CUTS) return -1;
    int32_t n = new_seq(s, at);
    if (n < 0) return -1;
    const seq *up = &s->seqs[at];
    seq *q = &s->seqs[n];
    q->bits = up->bits | t->bits;
    q->atom = (int8_t)a;
    q->depth = (int8_t)(up->depth + 1);
    q->opaque = t->whole != NULL;
    q->ways = up->ways * t->size;
    q->even = !q->opaque && up->even && up->largest % t->size == 0;
    q->largest = (up->largest + t->size - 1) / t->size;
    if (q->opaque) {
        mw_layout alone = {.ndim = 1, .dim = {*t->whole}};
        q->largest = mw__layout_largest_shard(sd->mesh, &alone);
    }
    s->seqs[at].child[a] = n;
    return n;
}

static bool fill_opaque(space *s, const side *sd, seq *q)
{
    const mw_dim *dim = sd->atoms[q->atom].whole;
    int64_t total = 0;
    q->first = mw__arena_alloc(s->arena, (size_t)(s->nrank + 1) * sizeof *q->first);
    if (!q->first) return false;
    for (int r = 0; r < s->nrank; r++) {
        q->first[r] = total;
        total += mw__dim_ranges(sd->mesh, dim, sd->coord[r], NULL, 0);
    }
    q->first[s->nrank] = total;
    mw_range *range = mw__arena_alloc(s->arena, (size_t)MW_MAX(total, 1) * sizeof *range);
    if (!range) return false;
    for (int r = 0; r < s->nrank; r++)
        (void)mw__dim_ranges(sd->mesh, dim, sd->coord[r], range + q->first[r],
                             q->first[r + 1] - q->first[r]);
    q->range = range;
    return true;
}

/* What each rank holds: its chunk of what it holds of the parent. Positions are whole numbers below
 * 2^53, which doubles hold exactly and compilers handle several at a time. */
static bool fill_held(space *s, const side *sd, int32_t at)
{
    seq *q = &s->seqs[at];
    if (q->lo || q->range) return true;
    if (q->opaque) return fill_opaque(s, sd, q);
    if (q->parent >= 0 && !fill_held(s, sd, q->parent)) return false;
    double *lo = mw__arena_alloc(s->arena, (size_t)(2 * s->nrank) * sizeof *lo);
    if (!lo) return false;
    double *hi = lo + s->nrank;
    const seq *up = q->parent >= 0 ? &s->seqs[q->parent] : NULL;
    const atom *t = &sd->atoms[q->atom];
    int unit = up ? sd->mesh->size[t->axis] / (t->major * t->size) : 1;
    for (int r = 0; r < s->nrank; r++) {
        if (!up) {
            lo[r] = 0;
            hi[r] = (double)q->largest;
            continue;
        }
        int64_t n = (int64_t)(up->hi[r] - up->lo[r]), c = (n + t->size - 1) / t->size;
        int64_t i = sd->coord[r][t->axis] / unit % t->size;
        lo[r] = up->lo[r] + (double)MW_MIN(n, i * c);
        hi[r] = up->lo[r] + (double)MW_MIN(n, (i + 1) * c);
    }
    q->lo = lo;
    q->hi = hi;
    return true;
}

/* ---- between two states ------------------------------------------------------------------------
 */

double mw__state_shard(const space *s, const state *at)
{
    double n = 1;
    for (int d = 0; d < s->ndim; d++)
        n *= (double)s->seqs[at->seq[d]].largest;
    return n;
}

uint32_t mw__state_bits(const space *s, const state *at)
{
    uint32_t bits = s->side[at->side].busy;
    for (int d = 0; d < s->ndim; d++)
        bits |= s->seqs[at->seq[d]].bits;
    for (int i = 0; i < s->from->npartial && at->side == 0; i++)
        if (at->partial >> i & 1) bits |= s->partial_bits[i];
    return bits;
}

static bool is_above(const space *s, int32_t above, int32_t below)
{
    while (s->seqs[below].depth > s->seqs[above].depth)
        below = s->seqs[below].parent;
    return above == below;
}

/* All sizes divide: no rank needs a look. */
static bool moved_evenly(const space *s, const state *a, const state *b, double *ret)
{
    double target = 1, both = 1;
    bool apart = false;
    for (int d = 0; d < s->ndim; d++) {
        const seq *p = &s->seqs[a->seq[d]], *q = &s->seqs[b->seq[d]];
        if ((!p->even || !q->even) && !(s->coarse && !p->opaque && !q->opaque)) return false;
        target *= (double)q->largest;
        both *= (double)MW_MIN(p->largest, q->largest);
        apart = apart || !(p->depth < q->depth ? is_above(s, a->seq[d], b->seq[d])
                                               : is_above(s, b->seq[d], a->seq[d]));
    }
    *ret = apart ? target : target - both;
    return true;
}

/* Multiplies in, for every rank, the positions of a dim that it must have and that it has already.
 */
static void count_plain(const seq *p, const seq *q, int n, double *restrict target,
                        double *restrict both)
{
    const double *alo = p->lo, *ahi = p->hi, *blo = q->lo, *bhi = q->hi;
    for (int r = 0; r < n; r++) {
        double first = alo[r] > blo[r] ? alo[r] : blo[r], end = ahi[r] < bhi[r] ? ahi[r] : bhi[r];
        double common = end - first;
        target[r] *= bhi[r] - blo[r];
        both[r] *= common > 0 ? common : 0;
    }
}

/* Rank r's list as ranges; a plain one is put into `one`. */
static int64_t list_of(const seq *q, int r, mw_range *one, const mw_range **ret)
{
    if (q->opaque) {
        *ret = q->range + q->first[r];
        return q->first[r + 1] - q->first[r];
    }
    *one = (mw_range){(int64_t)q->lo[r], (int64_t)q->hi[r]};
    *ret = one;
    return 1;
}

static void count_lists(const seq *p, const seq *q, int n, double *target, double *both)
{
    for (int r = 0; r < n; r++) {
        mw_range one[2];
        const mw_range *a, *b;
        int64_t na = list_of(p, r, &one[0], &a), nb = list_of(q, r, &one[1], &b);
        int64_t common = 0, all = 0;
        for (int64_t j = 0; j < nb; j++)
            all += b[j].end - b[j].first;
        for (int64_t i = 0, j = 0; i < na && j < nb;) {
            int64_t first = MW_MAX(a[i].first, b[j].first), end = MW_MIN(a[i].end, b[j].end);
            if (first < end) common += end - first;
            if (a[i].end <= b[j].end)
                i++;
            else
                j++;
        }
        target[r] *= (double)all;
        both[r] *= (double)common;
    }
}

double mw__state_moved(space *s, const state *a, const state *b)
{
    double most = 0;
    if (a->side == b->side && moved_evenly(s, a, b, &most)) return most;
    s->looks += s->nrank;
    double *target = s->scratch, *both = target + s->nrank;
    for (int r = 0; r < s->nrank; r++)
        target[r] = both[r] = 1;
    for (int d = 0; d < s->ndim; d++) {
        if (!fill_held(s, &s->side[a->side], a->seq[d]) ||
            !fill_held(s, &s->side[b->side], b->seq[d])) {
            s->no_memory = true;
            return 0;
        }
        const seq *p = &s->seqs[a->seq[d]], *q = &s->seqs[b->seq[d]];
        if (p->opaque || q->opaque)
            count_lists(p, q, s->nrank, target, both);
        else
            count_plain(p, q, s->nrank, target, both);
    }
    for (int r = 0; r < s->nrank; r++)
        most = MW_MAX(most, target[r] - both[r]);
    return most;
}

/* ---- layouts -----------------------------------------------------------------------------------
 */

void mw__state_layout(const space *s, const state *at, mw_layout *ret)
{
    const side *sd = &s->side[at->side];
    memset(ret, 0, sizeof *ret);
    ret->dtype = s->from->dtype;
    ret->ndim = (uint8_t)s->ndim;
    for (int d = 0; d < s->ndim; d++) {
        const seq *q = &s->seqs[at->seq[d]];
        if (s->fixed[d]) {
            ret->dim[d] = s->from->dim[d];
            continue;
        }
        ret->dim[d] =
            q->opaque ? *sd->atoms[q->atom].whole : mw__dim_plain(s->seqs[sd->root[d]].largest);
        if (q->opaque || q->depth == 0) continue;
        mw_dim *dim = &ret->dim[d];
        if (!dim->nfactor) { /* size 1: a factor to carry the cuts */
            dim->nfactor = 1;
            dim->factor[0] = 1;
        }
        dim->ncut = dim->cuts[0] = (uint8_t)q->depth;
        for (int i = q->depth - 1; i >= 0; i--, q = &s->seqs[q->parent]) {
            const atom *t = &sd->atoms[q->atom];
            memset(&dim->cut[i], 0, sizeof dim->cut[i]);
            dim->cut[i].axis = (int16_t)t->axis;
            dim->cut[i].major = t->major;
            dim->cut[i].size = t->size;
        }
    }
    for (int i = 0; i < s->from->npartial; i++)
        if (at->partial >> i & 1) ret->partial[ret->npartial++] = s->from->partial[i];
    mw__layout_canonical(sd->mesh, ret);
}

static bool plain_cuts(const mw_dim *dim)
{
    if (dim->nfactor > 1) return false;
    for (int i = 0; i < dim->ncut; i++)
        if (dim->cut[i].axis < 0 || dim->cut[i].joint) return false;
    return true;
}

/* The bits of one part of an axis; false where it does not begin and end at atoms. */
static bool part_bits(const side *sd, int axis, int32_t major, int32_t size, uint32_t *ret)
{
    int32_t next = major, end = major * size;
    for (int a = 0; a < sd->nbase && next < end; a++) {
        if (sd->atoms[a].axis != axis || sd->atoms[a].major != next) continue;
        *ret |= sd->atoms[a].bits;
        next *= sd->atoms[a].size;
    }
    return next == end;
}

static bool dim_bits(const side *sd, const mw_dim *dim, uint32_t *ret)
{
    for (int i = 0; i < dim->ncut; i++) {
        const mw_cut *c = &dim->cut[i];
        if (c->axis >= 0 && !part_bits(sd, c->axis, c->major, c->size, ret)) return false;
    }
    return true;
}

bool mw__primes_in_order(int32_t size, int nth, int32_t *ret, int *ret_n)
{
    int n = 0;
    for (int32_t p = 2; p <= size; p++)
        for (; size % p == 0; size /= p)
            ret[n++] = p;
    *ret_n = n;
    for (; nth > 0; nth--) { /* the next permutation */
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

static bool is_wanted(const space *s, const side *sd, const atom *t)
{
    for (int e = 0; e < 2; e++)
        for (int d = 0; sd->ends[e] && d < s->ndim; d++)
            for (int i = 0; i < sd->ends[e]->dim[d].ncut; i++) {
                const mw_cut *c = &sd->ends[e]->dim[d].cut[i];
                if (c->axis == t->axis && c->major == t->major && c->size == t->size) return true;
            }
    return false;
}

/* Runs of primes of one axis: those that source and target have, then others while there is room.
 */
static bool make_parts(space *s, side *sd)
{
    for (int wanted = 1; wanted >= 0; wanted--)
        for (int a = 0; a < sd->nbase; a++) {
            atom t = sd->atoms[a];
            for (int b = a + 1; b < sd->nbase && sd->atoms[b].axis == t.axis; b++) {
                t.size *= sd->atoms[b].size;
                t.bits |= sd->atoms[b].bits;
                if (is_wanted(s, sd, &t) != (wanted == 1)) continue;
                if (wanted && sd->natom == MOST_ATOMS) return false;
                if (sd->natom < MOST_ATOMS - 4) sd->atoms[sd->natom++] = t;
            }
        }
    return true;
}

static bool make_atoms(space *s, side *sd, uint32_t axes, const int *order)
{
    sd->natom = 0;
    for (int x = 0; x < sd->mesh->naxis; x++) {
        int32_t primes[32], major = 1;
        int n;
        if (!(axes >> x & 1)) continue;
        if (!mw__primes_in_order(sd->mesh->size[x], order[x], primes, &n)) return false;
        if (sd->natom + n > MOST_ATOMS) return false;
        for (int i = 0; i < n; i++, major *= primes[i - 1]) {
            sd->atoms[sd->natom] =
                (atom){.bits = 1u << sd->natom, .axis = x, .major = major, .size = primes[i]};
            sd->natom++;
        }
    }
    sd->nbase = sd->natom;
    if (!make_parts(s, sd)) return false;
    sd->npart = sd->natom;
    for (int e = 0; e < 2; e++) /* dims whose cuts are not plain, as one atom each */
        for (int d = 0; sd->ends[e] && d < s->ndim; d++) {
            const mw_dim *dim = &sd->ends[e]->dim[d];
            if (s->fixed[d] || plain_cuts(dim)) continue;
            if (e == 1 && sd->ends[0] && mw__dim_equal(dim, &sd->ends[0]->dim[d])) continue;
            if (sd->natom == MOST_ATOMS) return false;
            atom *t = &sd->atoms[sd->natom++];
            *t = (atom){.axis = -1, .size = 1, .whole = dim, .dim = d};
            if (!dim_bits(sd, dim, &t->bits)) return false;
            for (int a = 0; a < sd->nbase; a++)
                if (t->bits & sd->atoms[a].bits) t->size *= sd->atoms[a].size;
        }
    return true;
}

int32_t mw__seq_cut(space *s, int side_index, int dim, int32_t at, int32_t axis, int32_t major,
                    int32_t size)
{
    const side *sd = &s->side[side_index];
    for (int a = sd->nbase; a < sd->npart; a++) {
        const atom *t = &sd->atoms[a];
        if (t->axis != axis || t->major != major || t->size != size) continue;
        int32_t child = mw__seq_child(s, side_index, dim, at, a);
        if (child >= 0) return child;
    }
    int32_t next = major;
    for (int a = 0; a < sd->nbase && at >= 0 && next < major * size; a++) {
        if (sd->atoms[a].axis != axis || sd->atoms[a].major != next) continue;
        at = mw__seq_child(s, side_index, dim, at, a);
        next *= sd->atoms[a].size;
    }
    return next == major * size ? at : -1;
}

static bool to_state(space *s, int side_index, const mw_layout *l, state *ret)
{
    const side *sd = &s->side[side_index];
    memset(ret, 0, sizeof *ret);
    ret->side = (uint8_t)side_index;
    for (int d = 0; d < s->ndim; d++) {
        int32_t at = sd->root[d];
        const mw_dim *dim = &l->dim[d];
        if (!s->fixed[d] && !plain_cuts(dim)) {
            for (int a = sd->npart; a < sd->natom; a++)
                if (sd->atoms[a].dim == d && mw__dim_equal(sd->atoms[a].whole, dim))
                    at = mw__seq_child(s, side_index, d, at, a);
        } else if (!s->fixed[d]) {
            for (int i = 0; i < dim->ncut && at >= 0; i++)
                at = mw__seq_cut(s, side_index, d, at, dim->cut[i].axis, dim->cut[i].major,
                                 dim->cut[i].size);
        }
        if (at < 0) return false;
        ret->seq[d] = at;
    }
    return true;
}

/* The ranks that differ on axes that matter (of one mesh), or all (of two). */
static mw_status make_ranks(space *s, const uint32_t *axes)
{
    const mw_mesh *mesh = s->side[0].mesh;
    s->nrank = s->nside == 2 ? mesh->nrank : mw__team_count(mesh, axes[0]);
    s->coarse = s->nrank > MOST_RANKS && s->nside == 1;
    for (int i = 0; i < s->nside; i++) {
        s->side[i].coord = mw__arena_zalloc(s->arena, (size_t)s->nrank * sizeof *s->side[i].coord);
        if (!s->side[i].coord) return MW_NOMEM();
    }
    s->scratch = mw__arena_alloc(s->arena, (size_t)(2 * s->nrank) * sizeof *s->scratch);
    if (!s->scratch) return MW_NOMEM();
    for (int r = 0; r < s->nrank && s->nside == 2; r++) {
        mw__mesh_coords(mesh, r, s->side[0].coord[r]);
        mw__mesh_coords(s->side[1].mesh, r, s->side[1].coord[r]);
    }
    for (int r = 0; r < s->nrank && s->nside == 1; r++)
        for (int x = mesh->naxis - 1, rest = r; x >= 0; x--) {
            if (!(axes[0] >> x & 1)) continue;
            s->side[0].coord[r][x] = rest % mesh->size[x];
            rest /= mesh->size[x];
        }
    return MW_OK;
}

/* Parts of axes that must not be used: those of fixed dims, of partials that stay or are made. */
static bool mark_busy(space *s, side *sd, int e)
{
    const mw_layout *l = sd->ends[e];
    for (int d = 0; l && d < s->ndim; d++)
        if (s->fixed[d] && !dim_bits(sd, &l->dim[d], &sd->busy)) return false;
    return true;
}

mw_status mw__space_make(space *s, const uint32_t *axes, int order[2][MW_MESH_AXES],
                         state *ret_from, state *ret_to, bool *ret_ok)
{
    *ret_ok = false;
    s->nseq = 0;
    s->full = false;
    s->ndim = s->from->ndim;
    MW_TRY(make_ranks(s, axes));
    for (int i = 0; i < s->nside; i++) {
        side *sd = &s->side[i];
        sd->busy = 0;
        if (!make_atoms(s, sd, axes[i], order[i])) return MW_OK;
        for (int d = 0; d < s->ndim; d++) {
            sd->root[d] = new_seq(s, -1);
            if (sd->root[d] < 0) return MW_OK;
            seq *q = &s->seqs[sd->root[d]];
            q->even = true;
            q->ways = 1;
            mw_layout alone = {.ndim = 1, .dim = {s->from->dim[d]}};
            q->largest = s->fixed[d] ? mw__layout_largest_shard(sd->mesh, &alone)
                                     : mw__dim_size(&s->from->dim[d]);
        }
        if (!mark_busy(s, sd, 0) || !mark_busy(s, sd, 1)) return MW_OK;
    }
    for (int i = 0; i < s->from->npartial; i++) {
        const mw_partial *p = &s->from->partial[i];
        s->partial_bits[i] = 0;
        if (!part_bits(&s->side[0], p->axis, p->major, p->size, &s->partial_bits[i])) return MW_OK;
    }
    *ret_ok = to_state(s, 0, s->from, ret_from) && to_state(s, s->nside - 1, s->to, ret_to);
    ret_from->partial = (uint8_t)((1u << s->from->npartial) - 1);
    ret_to->partial = s->kept;
    return MW_OK;
}
