/* The other side of pulls: the boxes of my buffer that the other ranks of a team pull, each rank's
 * in its own order. Wanted by backends where the sender acts. They are worked out by making every
 * peer's pulls and keeping those from me, so the two sides can't come to differ. */
#include "run/run.h"

typedef struct list {
    mw_pull *at;
    int n, cap;
} list;

/* In the arena: a doubled copy, the old one dies with the arena. */
static mw_status push(list *l, const mw_pull *box, int peer, mw_arena *arena)
{
    if (l->n == l->cap) {
        int cap = l->cap ? l->cap * 2 : 8;
        mw_pull *moved = mw__arena_alloc(arena, (size_t)cap * sizeof *moved);
        if (!moved) return MW_NOMEM();
        if (l->n) memcpy(moved, l->at, (size_t)l->n * sizeof *moved);
        l->at = moved;
        l->cap = cap;
    }
    l->at[l->n] = *box;
    l->at[l->n++].peer = peer;
    return MW_OK;
}

mw_status mw__serve_pulls(mw_rank *rank, mw_redist *r, mw_hop *hop)
{
    const mw_team *team = hop->transfer.team;
    const mw_mesh *mesh = r->plan.mesh;
    int me = mw__mesh_own(mesh, rank->index);
    list l = {0};
    for (int i = 0; i < mw__team_size(team); i++) {
        int peer = mw__team_rank(team, i);
        mw_pulls theirs;
        if (peer == rank->index) continue;
        mw__arena_clear(&rank->plan_scratch);
        MW_TRY(mw__pulls_make(mesh, &hop->from, &hop->step->to, hop->step->reduce,
                              hop->step->nreduce, mw__mesh_own(mesh, peer), &rank->plan_scratch,
                              &theirs));
        for (int k = 0; k < theirs.npull; k++)
            if (theirs.pull[k].peer == me) MW_TRY(push(&l, &theirs.pull[k], peer, &r->arena));
    }
    mw__arena_clear(&rank->plan_scratch);
    hop->transfer.serve = l.at;
    hop->transfer.nserve = l.n;
    return MW_OK;
}

mw_status mw__serve_chunks(mw_redist *r, mw_hop *hop, const int *team, int n, int me, int64_t count)
{
    int64_t chunk = (count + n - 1) / n;
    list first = {0}, second = {0};
    for (int i = 0; i < n; i++) {
        int64_t at[2] = {MW_MIN(count, i * chunk), MW_MIN(count, me * chunk)};
        mw_pull box = {.ndim = 1, .from_stride = {1}, .to_stride = {1}};
        for (int phase = 0; phase < 2 && i != me; phase++) {
            box.from = box.to = at[phase];
            box.size[0] = MW_MIN(count, at[phase] + chunk) - at[phase];
            if (box.size[0] > 0) MW_TRY(push(phase ? &second : &first, &box, team[i], &r->arena));
        }
    }
    hop->transfer.serve = first.at;
    hop->transfer.nserve = first.n;
    hop->second.serve = second.at;
    hop->second.nserve = second.n;
    return MW_OK;
}
