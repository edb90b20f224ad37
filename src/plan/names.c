/* Which collective a step is: an exchange that does just what one classic collective does carries
 * that collective's name, and says over which parts of axes it goes. */
#include "plan/plan.h"

/* Parts of axes, sorted, neighbouring parts of one axis as one. */
typedef struct parts {
    mw_cut at[MW_DIM_CUTS];
    int n;
} parts;

static void add_part(parts *p, mw_cut cut)
{
    cut.joint = 0;
    int at = p->n++;
    for (; at > 0 && (p->at[at - 1].axis > cut.axis ||
                      (p->at[at - 1].axis == cut.axis && p->at[at - 1].major > cut.major));
         at--)
        p->at[at] = p->at[at - 1];
    p->at[at] = cut;
}

static void merge_parts(parts *p)
{
    int kept = 0;
    for (int i = 0; i < p->n; i++) {
        mw_cut *last = kept ? &p->at[kept - 1] : NULL;
        if (last && last->axis == p->at[i].axis && last->major * last->size == p->at[i].major)
            last->size *= p->at[i].size;
        else
            p->at[kept++] = p->at[i];
    }
    p->n = kept;
}

static bool same_parts(const parts *a, const parts *b)
{
    for (int i = 0; i < a->n && a->n == b->n; i++)
        if (a->at[i].axis != b->at[i].axis || a->at[i].major != b->at[i].major ||
            a->at[i].size != b->at[i].size)
            return false;
    return a->n == b->n && a->n > 0;
}

static bool plain_cuts(const mw_dim *dim)
{
    if (dim->nfactor > 1) return false;
    for (int i = 0; i < dim->ncut; i++)
        if (dim->cut[i].axis < 0 || dim->cut[i].joint) return false;
    return true;
}

static bool divides(const mw_dim *dim)
{
    int64_t ways = 1;
    for (int i = 0; i < dim->ncut; i++)
        ways *= dim->cut[i].size;
    return mw__dim_size(dim) % ways == 0;
}

static bool same_cut(const mw_cut *a, const mw_cut *b)
{
    return a->axis == b->axis && a->major == b->major && a->size == b->size;
}

/* `less` is `more` without its most minor cuts, of the last of which it may keep the major part
 * where all sizes divide. */
static bool gathered_plain(const mw_dim *more, const mw_dim *less, parts *ret)
{
    int i = 0;
    while (i < less->ncut && i < more->ncut && same_cut(&less->cut[i], &more->cut[i]))
        i++;
    if (i == more->ncut) return false;
    mw_cut cut = more->cut[i];
    if (i < less->ncut) {
        const mw_cut *kept = &less->cut[i];
        bool splits = i + 1 == less->ncut && kept->axis == cut.axis && kept->major == cut.major &&
                      cut.size % kept->size == 0 && divides(more);
        if (!splits) return false;
        cut.major *= kept->size;
        cut.size /= kept->size;
    }
    for (add_part(ret, cut), i++; i < more->ncut; i++)
        add_part(ret, more->cut[i]);
    return true;
}

/* All cuts on `axes` come last in their factor of the dim, none of them jointly with one that
 * stays: then what the ranks of these axes hold is together what they would hold without these
 * cuts. */
static bool cuts_last(const mw_dim *dim, uint32_t axes)
{
    int at = 0;
    for (int f = 0; f < dim->nfactor; f++) {
        bool seen = false;
        for (int i = 0; i < dim->cuts[f]; i++, at++) {
            bool on = dim->cut[at].axis >= 0 && (axes >> dim->cut[at].axis & 1);
            bool breaks_up = on && !seen && dim->cut[at].joint;
            if ((seen && !on) || breaks_up) return false;
            seen = seen || on;
        }
    }
    return true;
}

/* `less` is `more` gathered over the parts that are returned. */
static bool gathered(const mw_mesh *mesh, const mw_dim *more, const mw_dim *less, parts *ret)
{
    ret->n = 0;
    bool plain = plain_cuts(more) && plain_cuts(less);
    uint32_t lost = mw__dim_axes(more) & ~mw__dim_axes(less);
    if (plain && !gathered_plain(more, less, ret)) return false;
    if (!plain) {
        mw_dim without = mw__dim_without(mesh, more, lost);
        bool all = mw__dim_whole(less) || (cuts_last(more, lost) && mw__dim_equal(&without, less));
        if (!lost || !all) return false;
        for (int i = 0; i < more->ncut; i++)
            if (more->cut[i].axis >= 0 && (lost >> more->cut[i].axis & 1))
                add_part(ret, more->cut[i]);
    }
    merge_parts(ret);
    return true;
}

static void set_parts(mw_step *step, const parts *p)
{
    step->axes = 0;
    step->npart = MW_MIN(p->n, MW_STEP_PARTS);
    for (int i = 0; i < step->npart; i++) {
        step->part[i] = p->at[i];
        step->axes |= 1u << p->at[i].axis;
    }
}

static bool same_ways(const mw_dim *a, const mw_dim *b)
{
    int64_t ways = 1;
    for (int i = 0; i < a->ncut; i++)
        ways *= a->cut[i].size;
    for (int i = 0; i < b->ncut; i++) {
        if (ways % b->cut[i].size != 0) return false;
        ways /= b->cut[i].size;
    }
    return ways == 1;
}

/* Does every rank get one other rank's shard (or keep its own)? */
static mw_status one_peer_each(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                               mw_arena *arena, bool *ret)
{
    *ret = false;
    bool even = true; /* then chunks match, and need not be looked at */
    for (int d = 0; d < from->ndim && even; d++) {
        const mw_dim *a = &from->dim[d], *b = &to->dim[d];
        even = mw__dim_equal(a, b) ||
               (plain_cuts(a) && plain_cuts(b) && divides(a) && divides(b) && same_ways(a, b));
    }
    *ret = even;
    if (even) return MW_OK;
    for (int r = 0; r < mesh->nrank; r++)
        if (mw__layout_local_count(mesh, from, r) != mw__layout_local_count(mesh, to, r))
            return MW_OK;
    for (int r = 0; r < mesh->nrank; r++) {
        mw_pulls pulls;
        MW_TRY(mw__pulls_make(mesh, from, to, NULL, 0, r, arena, &pulls));
        for (int i = 1; i < pulls.npull; i++)
            if (pulls.pull[i].peer != pulls.pull[0].peer) return MW_OK;
    }
    *ret = true;
    return MW_OK;
}

mw_status mw__step_name_move(const mw_mesh *mesh, const mw_layout *from, int64_t largest,
                             mw_arena *arena, mw_step *step)
{
    const mw_layout *to = &step->to;
    int changed[MW_LAYOUT_DIMS], n = 0;
    for (int d = 0; d < from->ndim; d++) {
        if (mw__dim_equal(&from->dim[d], &to->dim[d])) continue;
        changed[n++] = d;
        step->axes |= mw__dim_axes(&from->dim[d]) | mw__dim_axes(&to->dim[d]);
    }
    step->kind = MW_STEP_exchange;
    if (n == 1) step->dim = changed[0];
    if (largest == 0) {
        step->kind = MW_STEP_slice;
        return MW_OK;
    }
    for (int i = 0; i < n && n <= 2; i++) {
        int d = changed[i], other = changed[n - 1 - i];
        parts lost, gained;
        if (!gathered(mesh, &from->dim[d], &to->dim[d], &lost)) continue;
        if (n == 2 && (!gathered(mesh, &to->dim[other], &from->dim[other], &gained) ||
                       !same_parts(&lost, &gained)))
            continue;
        step->kind = n == 1 ? MW_STEP_all_gather : MW_STEP_all_to_all;
        step->dim = d;
        if (n == 2) step->to_dim = other;
        set_parts(step, &lost);
        return MW_OK;
    }
    bool one;
    MW_TRY(one_peer_each(mesh, from, to, arena, &one));
    if (one) step->kind = MW_STEP_permute;
    return MW_OK;
}
