/* Redistributions, prepared once per pair of types for this rank and kept in a cache: teams, boxes
 * and sizes are worked out, so that running one (redist_run.c) is posting its transfers. */
#include "run/run.h"

#include <stdio.h>

/* ---- preparing ---------------------------------------------------------------------------------
 */

/* The meshes on which a hop begins and ends: one, unless the plan changes mesh there. */
static const mw_mesh *mesh_before(const mw_redist *r, const mw_hop *hop)
{
    return mw__plan_mesh(&r->plan, (int)(hop - r->hop) - 1);
}

static const mw_mesh *mesh_after(const mw_redist *r, const mw_hop *hop)
{
    return mw__plan_mesh(&r->plan, (int)(hop - r->hop));
}

/* May every term be the value itself? */
static bool same_on_all(unsigned kind)
{
    return kind == MW_REDUCE_AVG || kind == MW_REDUCE_MAX || kind == MW_REDUCE_MIN;
}

/* On every axis of the step over which terms add up, this rank's coordinate is 0: it is the one
 * that keeps the value. */
static bool at_first(const mw_rank *rank, const mw_mesh *mesh, const mw_step *step)
{
    int coord[MW_MESH_AXES];
    mw__mesh_coords(mesh, mw__mesh_own(mesh, rank->index), coord);
    for (int i = 0; i < step->nreduce; i++) {
        const mw_partial *p = &step->reduce[i];
        int unit = mesh->size[p->axis] / (p->major * p->size);
        if (same_on_all(p->kind)) continue;
        if (coord[p->axis] / unit % p->size != 0) return false;
    }
    return true;
}

static uint64_t transfer_hash(const mw_redist *r, int hop, int phase)
{
    uint64_t h = mw__hash((uint64_t)hop * 2 + (uint64_t)phase, &r->from->layout, sizeof(mw_layout));
    h = mw__hash(h, &r->to->layout, sizeof(mw_layout));
    return mw__hash(h, &r->plan.mesh->hash, sizeof(uint64_t));
}

static const char *transfer_text(mw_redist *r, const mw_hop *hop)
{
    mw_str text = {0};
    mw__step_str(mesh_after(r, hop), hop->step, &text);
    mw__str_puts(&text, " of ");
    mw__layout_str(mesh_before(r, hop), &hop->from, &text);
    char *copy =
        text.failed ? NULL : mw__arena_strndup(&r->arena, mw__str_text(&text), text.length);
    mw__str_done(&text);
    return copy;
}

/* The place in the mesh of one of the launch's ranks. */
static int place_of(const mw_mesh *mesh, int world)
{
    int own = mw__mesh_own(mesh, world);
    return mesh->place ? mesh->place[own] : own;
}

/* The ranks of a team by their places in the mesh, the order in which terms are combined; *ret_me
 * is this rank's. */
static mw_status team_in_mesh_order(const mw_mesh *mesh, const mw_team *team, mw_arena *arena,
                                    const int **ret, int *ret_me)
{
    int n = mw__team_size(team), me = mw__team_rank(team, mw__team_me(team));
    int *rank = mw__arena_alloc(arena, (size_t)n * sizeof *rank);
    if (!rank) return MW_NOMEM();
    for (int i = 0; i < n; i++) {
        int r = mw__team_rank(team, i), at = i;
        for (; at > 0 && place_of(mesh, rank[at - 1]) > place_of(mesh, r); at--)
            rank[at] = rank[at - 1];
        rank[at] = r;
    }
    for (int i = 0; i < n; i++)
        if (rank[i] == me) *ret_me = i;
    *ret = rank;
    return MW_OK;
}

/* Two phases over the flat shard: I combine chunk `me` of everybody's terms, then fetch the other
 * chunks from those who combined them. */
static mw_status prepare_chunks(mw_redist *r, mw_hop *hop, int64_t count, bool serves)
{
    int n = mw__team_size(hop->transfer.team), me = 0;
    const int *team = NULL;
    MW_TRY(team_in_mesh_order(r->plan.mesh, hop->transfer.team, &r->arena, &team, &me));
    int64_t chunk = (count + n - 1) / n;
    mw_pull *pull = mw__arena_zalloc(&r->arena, (size_t)(2 * n) * sizeof *pull);
    if (!pull) return MW_NOMEM();
    int64_t first = MW_MIN(count, me * chunk), mine = MW_MIN(count, first + chunk) - first;
    mw_pull *gather = pull + n;
    int ngather = 0, nreader = 0;
    for (int i = 0; i < n; i++) {
        mw_pull box = {.peer = team[i], .ndim = 1, .from = first, .to = first, .size = {mine}};
        box.from_stride[0] = box.to_stride[0] = 1;
        pull[i] = box;
        pull[i].reduce = (uint8_t)(i ? hop->step->reduce[0].kind : MW_REDUCE_NONE);
        int64_t at = MW_MIN(count, i * chunk), length = MW_MIN(count, at + chunk) - at;
        if (i == me) continue;
        if (length > 0) nreader++; /* they read my terms of their chunk */
        box.from = box.to = at;
        box.size[0] = length;
        if (length > 0) gather[ngather++] = box;
    }
    hop->transfer.pull = pull;
    hop->transfer.npull = mine > 0 ? n : 0;
    hop->transfer.nreader = nreader;
    hop->second = hop->transfer;
    hop->second.hash = transfer_hash(r, (int)(hop - r->hop), 1);
    hop->second.pull = gather;
    hop->second.npull = ngather;
    hop->second.nreader = mine > 0 ? n - 1 : 0;
    int64_t size = mw_dtype_size(hop->transfer.dtype);
    hop->recv_bytes = ((n - 1) * mine + count - mine) * size;
    return serves ? mw__serve_chunks(r, hop, team, n, me, count) : MW_OK;
}

static mw_status received_by_each(mw_rank *rank, mw_redist *r, mw_hop *hop)
{
    const mw_mesh *mesh = r->plan.mesh;
    hop->recv_each = mw__arena_zalloc(&r->arena, (size_t)mesh->nrank * sizeof(int64_t));
    if (!hop->recv_each) return MW_NOMEM();
    for (int q = 0; q < mesh->nrank; q++) {
        if (hop->two_phases) {
            int n = mw__team_size(hop->transfer.team);
            int coord[MW_MESH_AXES], me = 0;
            mw__mesh_coords(mesh, q, coord);
            for (int a = 0; a < mesh->naxis; a++)
                if (hop->step->axes >> a & 1) me = me * mesh->size[a] + coord[a];
            int64_t count = mw__layout_local_count(mesh, &hop->step->to, q),
                    chunk = (count + n - 1) / n;
            int64_t mine = MW_MIN(count, (me + 1) * chunk) - MW_MIN(count, me * chunk);
            hop->recv_each[q] =
                ((n - 1) * mine + count - mine) * mw_dtype_size(hop->transfer.dtype);
            continue;
        }
        mw_pulls pulls;
        mw__arena_clear(&rank->plan_scratch);
        MW_TRY(mw__pulls_make(mesh, &hop->from, &hop->step->to, hop->step->reduce,
                              hop->step->nreduce, q, &rank->plan_scratch, &pulls));
        hop->recv_each[q] = pulls.received * mw_dtype_size(hop->transfer.dtype);
    }
    return MW_OK;
}

/* The launch's ranks that the mesh's are, rising; the peers of pulls likewise. */
static void team_in_world(const mw_mesh *mesh, int *ranks, int n)
{
    for (int i = 0; i < n; i++) {
        int world = mw__mesh_world(mesh, ranks[i]), at = i;
        for (; at > 0 && ranks[at - 1] > world; at--)
            ranks[at] = ranks[at - 1];
        ranks[at] = world;
    }
}

static void peers_in_world(const mw_mesh *mesh, mw_pulls *pulls)
{
    for (int i = 0; i < pulls->npull; i++)
        pulls->pull[i].peer = mw__mesh_world(mesh, pulls->pull[i].peer);
}

static mw_status prepare_transfer(mw_rank *rank, mw_redist *r, mw_hop *hop)
{
    const mw_mesh *mesh = mesh_before(r, hop), *to_mesh = mesh_after(r, hop);
    const mw_step *step = hop->step;
    uint32_t axes = mesh == to_mesh ? step->axes : (uint32_t)((1u << mesh->naxis) - 1);
    int *ranks = mw__arena_alloc(&r->arena, (size_t)mw__team_count(mesh, axes) * sizeof *ranks);
    hop->transfer.what = transfer_text(r, hop);
    if (!ranks || !hop->transfer.what) return MW_NOMEM();
    int me = mw__mesh_own(mesh, rank->index), n = mw__team_ranks(mesh, axes, me, ranks);
    team_in_world(mesh, ranks, n);
    MW_TRY(mw__comm_team(rank->comm, ranks, n, &hop->transfer.team));
    hop->transfer.hash = transfer_hash(r, (int)(hop - r->hop), 0);
    hop->transfer.dtype = mw__layout_storage_dtype(&hop->from);
    bool serves = mw__comm_serves(rank->comm);
    hop->two_phases = step->kind == MW_STEP_all_reduce &&
                      mw__all_reduce_in_two_phases(mesh, step->reduce, step->nreduce);
    if (hop->two_phases) {
        MW_TRY(prepare_chunks(r, hop, mw__layout_local_count(mesh, &step->to, me), serves));
    } else {
        mw_pulls pulls;
        MW_TRY(mw__pulls_between(mesh, &hop->from, to_mesh, &step->to, step->reduce, step->nreduce,
                                 me, &r->arena, &pulls));
        peers_in_world(mesh, &pulls);
        hop->transfer.pull = pulls.pull;
        hop->transfer.npull = pulls.npull;
        hop->recv_bytes = pulls.received * mw_dtype_size(hop->transfer.dtype);
        MW_TRY(mw__readers_between(mesh, &hop->from, to_mesh, &step->to, step->reduce,
                                   step->nreduce, me, &r->arena, &hop->transfer.nreader));
        if (serves) MW_TRY(mw__serve_pulls(rank, r, hop));
    }
    return rank->fake ? received_by_each(rank, r, hop) : MW_OK;
}

static mw_status prepare_hop(mw_rank *rank, mw_redist *r, mw_hop *hop)
{
    const mw_step *step = hop->step;
    hop->account = -1;
    hop->moves = mw__step_moves(step->kind) && step->recv_bytes_total > 0;
    mw__local_view(rank, mesh_after(r, hop), &step->to, &hop->out);
    hop->bytes = mw__view_count(&hop->out) * mw_dtype_size(hop->out.dtype);
    hop->factor = 1;
    if (step->kind == MW_STEP_scale)
        for (int i = 0; i < step->nreduce; i++)
            hop->factor /= step->reduce[i].size;
    hop->keeps = at_first(rank, mesh_after(r, hop), step);
    if (step->kind == MW_STEP_mask || step->kind == MW_STEP_scale) return MW_OK;
    if (hop->moves) return prepare_transfer(rank, r, hop);
    return mw__pulls_between(
        mesh_before(r, hop), &hop->from, mesh_after(r, hop), &step->to, step->reduce, step->nreduce,
        mw__mesh_own(mesh_before(r, hop), rank->index), &r->arena, &hop->local);
}

/* What the redistribution's plan, which is there, comes to for this rank. */
static mw_status prepare_hops(mw_rank *rank, mw_redist *r, const mw_ttype *from, mw_mesh *to_mesh,
                              const mw_layout *to)
{
    int64_t dense[MW_MAX_DIMS];
    mw_view view;
    mw__local_view(rank, to_mesh, to, &view);
    memcpy(dense, view.stride, sizeof dense);
    MW_TRY(mw__ttype_get(to_mesh, to, dense, &r->to));
    r->from = from;
    mw_str text = {0};
    mw__layout_str(from->mesh, &from->layout, &text);
    mw__str_puts(&text, " to ");
    mw__layout_str(to_mesh, to, &text);
    if (!text.failed) r->text = mw__arena_strndup(&r->arena, mw__str_text(&text), text.length);
    mw__str_done(&text);
    if (!r->text) return MW_NOMEM();
    r->hop = mw__arena_zalloc(&r->arena, (size_t)(r->plan.nstep + 1) * sizeof *r->hop);
    if (!r->hop) return MW_NOMEM();
    mw_layout state = from->layout;
    for (int i = 0; i < r->plan.nstep; i++) {
        mw_hop *hop = &r->hop[i];
        hop->step = &r->plan.step[i];
        hop->from = state;
        MW_TRY(prepare_hop(rank, r, hop));
        state = hop->step->to;
    }
    return MW_OK;
}

static mw_status prepare(mw_rank *rank, mw_redist *r, const mw_ttype *from, const mw_layout *to)
{
    mw__arena_clear(&rank->plan_scratch);
    MW_TRY(mw__plan_make(from->mesh, &from->layout, to, &rank->plan_scratch, &r->plan));
    return prepare_hops(rank, r, from, from->mesh, to);
}

void mw__redist_free(mw_redist *r)
{
    if (!r) return;
    mw__arena_done(&r->arena);
    mw__free(r, sizeof *r);
}

void mw__redist_forget(mw_rank *rank)
{
    for (int b = 0; b < MW_RANK_BUCKETS; b++)
        while (rank->redists[b]) {
            mw_redist *r = rank->redists[b];
            rank->redists[b] = r->next;
            mw__redist_free(r);
        }
    rank->nredists = 0;
}

static uint64_t layout_hash(const mw_layout *l)
{
    uint64_t h = mw__hash(1, l, offsetof(mw_layout, dim));
    h = mw__hash(h, l->dim, l->ndim * sizeof l->dim[0]);
    return mw__hash(h, l->partial, l->npartial * sizeof l->partial[0]);
}

mw_status mw__redist_get(mw_rank *rank, const mw_ttype *from, const mw_layout *to, mw_redist **ret)
{
    uint64_t hash = (uint64_t)(uintptr_t)from * 0x9e3779b97f4a7c15u ^ layout_hash(to);
    mw_redist **at = &rank->redists[hash % MW_RANK_BUCKETS];
    for (mw_redist *r = *at; r; r = r->next)
        if (r->from == from && mw_layout_equal(&r->to->layout, to)) {
            *ret = r;
            return MW_OK;
        }
    mw_redist *r = mw__zalloc(sizeof *r);
    if (!r) return MW_NOMEM();
    mw__arena_init(&r->arena);
    mw_status status = prepare(rank, r, from, to);
    if (status != MW_OK) {
        mw__redist_free(r);
        return status;
    }
    r->next = *at;
    *at = r;
    rank->nredists++;
    *ret = r;
    return MW_OK;
}

mw_status mw__redist_planned(mw_rank *rank, const mw_ttype *from, const mw_plan *plan,
                             mw_mesh *to_mesh, const mw_layout *to, mw_redist **ret)
{
    mw_redist *r = mw__zalloc(sizeof *r);
    if (!r) return MW_NOMEM();
    mw__arena_init(&r->arena);
    r->plan = *plan;
    mw_status status = prepare_hops(rank, r, from, to_mesh, to);
    if (status != MW_OK) {
        mw__redist_free(r);
        return status;
    }
    *ret = r;
    return MW_OK;
}
