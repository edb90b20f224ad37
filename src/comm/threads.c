/* The threads backend's world: all its ends in one block, made at once, and teams made on first use
 * under the world's lock. After that no lock is taken on any path that doesn't fail. */
#include "comm/threads.h"

#include <sched.h>
#include <unistd.h>

static size_t round_up(size_t size)
{
    return (size + MW_CACHE_LINE - 1) / MW_CACHE_LINE * MW_CACHE_LINE;
}

static char *first_line(void *block)
{
    return (char *)block + (round_up((uintptr_t)block) - (uintptr_t)block);
}

/* ---- teams --------------------------------------------------------------------------------- */

static mw__threads_team *new_team(const mw__threads_world *world, const mw_team *team)
{
    size_t head = round_up(sizeof(mw__threads_team));
    size_t slots = (size_t)team->count * 2 * sizeof(mw__slot);
    size_t ranks = (size_t)team->count * sizeof(int);
    size_t bytes = MW_CACHE_LINE + head + slots + ranks + (size_t)world->nrank * sizeof(int);
    char *block = mw__world_alloc(world->allocator, bytes);
    if (!block) return NULL;
    char *at = first_line(block);
    mw__threads_team *made = (mw__threads_team *)at;
    *made = (mw__threads_team){.block = block, .bytes = bytes, .count = team->count};
    made->slot = (mw__slot(*)[2])(at + head);
    memset(at + head, 0, slots);
    made->rank = (int *)(at + head + slots);
    memcpy(made->rank, team->rank, ranks);
    made->index = (int *)(at + head + slots + ranks);
    for (int r = 0; r < world->nrank; r++)
        made->index[r] = -1;
    for (int i = 0; i < team->count; i++)
        made->index[team->rank[i]] = i;
    return made;
}

/* The shared team of these ranks: found in the world's list, or made. NULL without memory. */
static mw__threads_team *find_team(mw__threads_world *world, const mw_team *team)
{
    size_t ranks = (size_t)team->count * sizeof(int);
    (void)pthread_mutex_lock(&world->lock);
    mw__threads_team *found = world->teams;
    while (found && (found->count != team->count || memcmp(found->rank, team->rank, ranks) != 0))
        found = found->next;
    if (!found) {
        found = new_team(world, team);
        if (found) {
            found->next = world->teams;
            world->teams = found;
        }
    }
    (void)pthread_mutex_unlock(&world->lock);
    return found;
}

static size_t member_bytes(const mw_team *team)
{
    return sizeof(mw__threads_member) + (size_t)team->count * sizeof(uint64_t);
}

static mw_status threads_attach(mw_comm *comm, mw_team *team)
{
    mw__threads_end *me = (mw__threads_end *)comm;
    mw__threads_member *member = mw__world_alloc(comm->allocator, member_bytes(team));
    if (!member) return MW_NOMEM();
    memset(member, 0, member_bytes(team));
    member->team = find_team(me->world, team);
    if (!member->team) {
        mw__world_free(comm->allocator, member, member_bytes(team));
        return MW_NOMEM();
    }
    team->backend = member;
    return MW_OK;
}

static void threads_detach(mw_comm *comm, mw_team *team)
{
    mw__world_free(comm->allocator, team->backend, member_bytes(team));
}

/* ---- ends ---------------------------------------------------------------------------------- */

static void threads_fail(mw_comm *comm, const mw_error *error)
{
    mw__threads_end *me = (mw__threads_end *)comm;
    mw__threads_poison_failed(me, error);
    mw__threads_settle(me);
}

static void threads_leave(mw_comm *comm)
{
    __atomic_store_n(&((mw__threads_end *)comm)->left, 1, __ATOMIC_RELEASE);
}

static void threads_world_free(mw_comm *comm)
{
    mw__threads_world *world = ((mw__threads_end *)comm)->world;
    const mw_allocator *allocator = world->allocator;
    for (int r = 0; r < world->nrank; r++)
        mw__teams_free(&world->end[r].base);
    while (world->teams) {
        mw__threads_team *team = world->teams;
        world->teams = team->next;
        mw__world_free(allocator, team->block, team->bytes);
    }
    (void)pthread_mutex_destroy(&world->lock);
    mw__world_free(allocator, world->block, world->bytes);
}

static const mw__backend threads_backend = {
    .name = "threads",
    .fake = false,
    .transfer = mw__threads_transfer,
    .begin = mw__threads_begin,
    .end = mw__threads_end_of,
    .barrier = mw__threads_barrier,
    .wait_readers = mw__threads_wait_readers,
    .fail = threads_fail,
    .leave = threads_leave,
    .attach = threads_attach,
    .detach = threads_detach,
    .world_free = threads_world_free,
};

/* Cores that this process may use. */
static int count_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return MW_MAX(CPU_COUNT(&set), 1);
    return (int)MW_MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L);
}

/* Ranks with a core each look for about 10 us before they let others run; ranks that share a core
 * look just long enough to catch a peer that is at this moment coming on another core. */
static void set_patience(mw__threads_world *world, const mw_comm_options *options)
{
    double timeout = options ? options->timeout : 0;
    int cores = options && options->cores > 0 ? options->cores : count_cores();
    bool own_core = world->nrank <= cores;
    world->timeout = timeout > 0 ? timeout : 60;
    world->spins = own_core ? 400 : 5;
    world->yield_until = own_core ? 20e-3 : 2e-3;
    world->sleep_part = own_core ? 1.0 / 64 : 1.0 / 16;
}

mw_status mw__comm_threads_new(int nrank, const mw_comm_options *options, mw_comm **ret_comm)
{
    if (nrank < 1 || nrank > MW_MESH_RANKS)
        return MW_FAIL(MW_ERR_ARG, "a world has 1 to %d ranks, got %d", MW_MESH_RANKS, nrank);
    const mw_allocator *allocator = mw__ctx_get()->allocator;
    size_t head = round_up(sizeof(mw__threads_world));
    size_t bytes = MW_CACHE_LINE + head + (size_t)nrank * sizeof(mw__threads_end);
    char *block = mw__world_alloc(allocator, bytes);
    if (!block) return MW_NOMEM();
    memset(block, 0, bytes);
    char *at = first_line(block);
    mw__threads_world *world = (mw__threads_world *)at;
    world->block = block;
    world->bytes = bytes;
    world->allocator = allocator;
    world->nrank = nrank;
    world->end = (mw__threads_end *)(at + head);
    set_patience(world, options);
    if (pthread_mutex_init(&world->lock, NULL) != 0) {
        mw__world_free(allocator, block, bytes);
        return MW_NOMEM();
    }
    for (int r = 0; r < nrank; r++) {
        mw__threads_end *end = &world->end[r];
        end->world = world;
        end->base.backend = &threads_backend;
        end->base.allocator = allocator;
        end->base.rank = r;
        end->base.nrank = nrank;
        ret_comm[r] = &end->base;
    }
    return MW_OK;
}
