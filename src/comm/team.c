/* Teams: found by their rank list. Each end keeps the teams it has asked for in a small hash table
 * of its own, so that finding one again takes no lock and asks no backend. */
#include "comm/backend.h"

int mw__team_size(const mw_team *team)
{
    return team->count;
}

int mw__team_me(const mw_team *team)
{
    return team->me;
}

int mw__team_rank(const mw_team *team, int index)
{
    return team->rank[index];
}

static size_t team_bytes(int count)
{
    return sizeof(mw_team) + (size_t)count * sizeof(int);
}

/* The place of this rank in the list, after checking the list. */
static mw_status check_ranks(const mw_comm *comm, const int *ranks, int count, int *ret_me)
{
    int me = -1;
    if (count < 1) return MW_FAIL(MW_ERR_ARG, "a team needs at least one rank, got %d", count);
    for (int i = 0; i < count; i++) {
        if (ranks[i] < 0 || ranks[i] >= comm->nrank)
            return MW_FAIL(MW_ERR_ARG, "a team may hold ranks 0 to %d, got rank %d",
                           comm->nrank - 1, ranks[i]);
        if (i > 0 && ranks[i] <= ranks[i - 1])
            return MW_FAIL(MW_ERR_ARG, "a team lists its ranks in rising order, got %d after %d",
                           ranks[i], ranks[i - 1]);
        if (ranks[i] == comm->rank) me = i;
    }
    if (me < 0)
        return MW_FAIL(MW_ERR_ARG, "rank %d asks for a team of %d ranks that it is not in",
                       comm->rank, count);
    *ret_me = me;
    return MW_OK;
}

static mw_status make_team(mw_comm *comm, const int *ranks, int count, uint64_t hash, mw_team **ret)
{
    int me = -1;
    MW_TRY(check_ranks(comm, ranks, count, &me));
    mw_team *team = mw__world_alloc(comm->allocator, team_bytes(count));
    if (!team) return MW_NOMEM();
    *team = (mw_team){.hash = hash, .count = count, .me = me};
    memcpy(team->rank, ranks, (size_t)count * sizeof *ranks);
    mw_status status;
    MW_TRY_GOTO(comm->backend->attach(comm, team), fail);
    mw_team **bucket = &comm->team[hash % MW_TEAM_BUCKETS];
    team->next = *bucket;
    *bucket = team;
    *ret = team;
    return MW_OK;
fail:
    mw__world_free(comm->allocator, team, team_bytes(count));
    return status;
}

mw_status mw__comm_team(mw_comm *comm, const int *ranks, int count, mw_team **ret)
{
    size_t bytes = (size_t)MW_MAX(count, 0) * sizeof *ranks;
    uint64_t hash = mw__hash(0, ranks, bytes);
    for (mw_team *team = comm->team[hash % MW_TEAM_BUCKETS]; team; team = team->next) {
        if (team->hash == hash && team->count == count && memcmp(team->rank, ranks, bytes) == 0) {
            *ret = team;
            return MW_OK;
        }
    }
    return make_team(comm, ranks, count, hash, ret);
}

void mw__teams_free(mw_comm *comm)
{
    for (int i = 0; i < MW_TEAM_BUCKETS; i++) {
        while (comm->team[i]) {
            mw_team *team = comm->team[i];
            comm->team[i] = team->next;
            comm->backend->detach(comm, team);
            mw__world_free(comm->allocator, team, team_bytes(team->count));
        }
    }
}
