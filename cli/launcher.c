/* Ranks that a launcher has started: which launcher, where the module is, and that errors which all
 * ranks see alike are told once. The library neither reads the environment nor chooses a backend:
 * that is done here. */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef CLI_MODULE_FOLDER /* from the program's folder, as it is installed */
#define CLI_MODULE_FOLDER "../lib/meshwise/"
#endif

/* What a launcher tells a process in its environment: its number among those that belong together.
 * Open MPI; MPICH and Slurm's pmi2; Slurm's pmix and PRRTE. */
static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

static bool is_launched(int *ret_rank)
{
    for (size_t i = 0; i < sizeof rank_names / sizeof rank_names[0]; i++) {
        const char *text = getenv(rank_names[i]);
        if (!text) continue;
        *ret_rank = (int)strtol(text, NULL, 10);
        return true;
    }
    return false;
}

/* The module beside this program, as a build folder has it, or where an installed one has it. NULL:
 * the library looks for it. */
static const char *find_module(char *path, int size)
{
    static const char *const places[] = {"", CLI_MODULE_FOLDER, "../lib/meshwise/"};
    char program[CLI_PATH];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return NULL;
    program[length] = 0;
    char *slash = strrchr(program, '/');
    if (!slash) return NULL;
    slash[1] = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int n = snprintf(path, (size_t)size, "%s%smeshwise_mpi.so", program, places[i]);
        if (n < size && access(path, R_OK) == 0) return path;
    }
    return NULL;
}

/* The launcher ends all ranks as soon as one has failed, and without MPI they can't wait for each
 * other: the first one, which will tell why, gets a head start. */
static void wait_for_first(const cli_world *world)
{
    if (world->rank != 0) (void)nanosleep(&(struct timespec){0, 300000000}, NULL);
}

void cli_world_join(cli_world *world, const char *backend)
{
    bool launched = is_launched(&world->rank);
    if (backend ? strcmp(backend, "mpi") != 0 : !launched) {
        world->rank = 0;
        return;
    }
    world->mpi = true;
    world->module = find_module(world->path, sizeof world->path);
    if (mw_world_find("mpi", world->module, &world->rank, &world->ranks) != MW_OK) {
        world->error = *mw_last_error();
        mw_error_clear();
        wait_for_first(world);
    }
}

bool cli_first(const cli_args *args)
{
    return !args->world || args->world->rank == 0;
}

/* ---- being told to end --------------------------------------------------------------------- */

/* A launcher ends its ranks by SIGTERM when one of them has died. A rank that waits for that one
 * then says so, which the signal itself would prevent. The second one ends it at once. */
static volatile sig_atomic_t told_to_end;

static void note_signal(int number)
{
    (void)number;
    told_to_end = 1;
}

const volatile int *cli_told_to_end(void)
{
    struct sigaction action = {.sa_flags = (int)SA_RESETHAND};
    action.sa_handler = note_signal;
    (void)sigaction(SIGTERM, &action, NULL);
    return &told_to_end;
}
