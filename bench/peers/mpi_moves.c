/* The collectives of `meshwise bench comm` and `reshard` as an MPI makes them, on the same
 * payloads: what to put beside ours. Not part of the build:
 *
 *     mpicc -O2 bench/peers/mpi_moves.c -o build/mpi_moves
 *     mpirun -n 2 --bind-to core build/mpi_moves
 *     mpirun -n 2 --bind-to core --mca coll_sm_priority 90 build/mpi_moves     its best for small
 * ones
 *
 * Each call is a round of its own between barriers; the slowest rank counts; median and least, in
 * microseconds. Buffers are touched before and reused, results are checked once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 << 20, ROUNDS = 101 };

typedef enum kind { GATHER, SCATTER, REDUCE, SWAP, TILES, KINDS } kind;
static const char *const names[KINDS] = {"all_gather", "reduce_scatter", "all_reduce", "all_to_all",
                                         "S(0) -> S(1)"};

typedef struct job {
    int ranks, me;
    float *from, *to;
    /* of TILES: a square of `side`, cut by rows before and by columns afterwards */
    MPI_Datatype sent, received;
} job;

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void call(const job *j, kind k, int count)
{
    int p = j->ranks, part = count / p;
    int ones[64], sent_at[64], received_at[64];
    MPI_Datatype sent[64], received[64];
    switch (k) {
    case GATHER:
        MPI_Allgather(j->from, part, MPI_FLOAT, j->to, part, MPI_FLOAT, MPI_COMM_WORLD);
        break;
    case SCATTER:
        MPI_Reduce_scatter_block(j->from, j->to, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case REDUCE:
        MPI_Allreduce(j->from, j->to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case SWAP:
        MPI_Alltoall(j->from, part, MPI_FLOAT, j->to, part, MPI_FLOAT, MPI_COMM_WORLD);
        break;
    default: {
        int side = 1;
        while (side * side < count)
            side *= 2;
        for (int r = 0; r < p; r++) {
            ones[r] = 1;
            sent_at[r] = r * (side / p) * 4;
            received_at[r] = r * (side / p) * (side / p) * 4;
            sent[r] = j->sent;
            received[r] = j->received;
        }
        MPI_Alltoallw(j->from, ones, sent_at, sent, j->to, ones, received_at, received,
                      MPI_COMM_WORLD);
    }
    }
}

static void make_types(job *j, int count)
{
    int side = 1;
    while (side * side < count)
        side *= 2;
    int tile = side / j->ranks;
    MPI_Type_vector(tile, tile, side, MPI_FLOAT, &j->sent);
    MPI_Type_contiguous(tile * tile, MPI_FLOAT, &j->received);
    MPI_Type_commit(&j->sent);
    MPI_Type_commit(&j->received);
}

static void measure(job *j, kind k, int bytes)
{
    double seconds[ROUNDS];
    int count = bytes / 4, rounds = bytes > (8 << 20) ? 9 : ROUNDS;
    make_types(j, count);
    for (int round = -2; round < rounds; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double began = MPI_Wtime();
        int calls = bytes > (1 << 18) ? 1 : 50;
        for (int i = 0; i < calls; i++)
            call(j, k, count);
        double mine = (MPI_Wtime() - began) / calls, most;
        MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (round >= 0) seconds[round] = most;
    }
    float want = k == SCATTER || k == REDUCE ? (float)j->ranks : 1;
    if (j->to[0] != want) {
        fprintf(stderr, "%s of %d bytes: got %g, not %g\n", names[k], bytes, j->to[0], want);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Type_free(&j->sent);
    MPI_Type_free(&j->received);
    qsort(seconds, (size_t)rounds, sizeof *seconds, rising);
    if (j->me == 0)
        printf("%-16s %5d %9d %12.2f %12.2f\n", names[k], j->ranks, bytes,
               seconds[rounds / 2] * 1e6, seconds[0] * 1e6);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {16 << 10, 1 << 20, 16 << 20, 64 << 20};
    job j = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &j.me);
    j.from = malloc(MOST);
    j.to = malloc(MOST);
    if (!j.from || !j.to || j.ranks > 64) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < MOST / 4; i++)
        j.from[i] = j.to[i] = 1;
    if (j.me == 0)
        printf("%-16s %5s %9s %12s %12s\n", "", "ranks", "bytes", "median us", "least us");
    for (kind k = GATHER; k < KINDS; k++)
        for (int i = 0; i < 4; i++)
            measure(&j, k, sizes[i]);
    free(j.from);
    free(j.to);
    MPI_Finalize();
    return 0;
}
