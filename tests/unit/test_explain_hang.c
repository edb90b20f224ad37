/* Hangs and mismatches, as the explainer tells them: who waits, who is behind, who differs, who is
 * not shown; and that nothing is said where there is no evidence. Situations as they are pasted are
 * in tests/cases. */
#include "explain_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the above first */
#include <cmocka.h>
#include <meshwise/alloc.h>
#include <meshwise/explain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mw_explain *explain(const char *text)
{
    mw_explain *e = NULL;
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e), MW_OK);
    assert_int_equal(mw_explain_feed(e, text, (int64_t)strlen(text)), MW_OK);
    assert_int_equal(mw_explain_finish(e), MW_OK);
    return e;
}

static const mw_entry *entry_of(const mw_explain *e, const char *event)
{
    for (int64_t i = 0; i < mw_explain_entries(e); i++)
        if (strcmp(mw_explain_entry(e, i)->event, event) == 0) return mw_explain_entry(e, i);
    return NULL;
}

static const mw_problem *problem(const mw_explain *e, const char *kind)
{
    for (int64_t i = 0; i < mw_explain_entries(e); i++)
        for (int k = 0; k < mw_explain_entry(e, i)->nproblem; k++) {
            const mw_problem *p = &mw_explain_entry(e, i)->problem[k];
            if (!kind || strcmp(p->kind, kind) == 0) return p;
        }
    return NULL;
}

static const char *fact(const mw_entry *e, const char *name)
{
    for (int i = 0; e && i < e->nfact; i++)
        if (strcmp(e->fact[i].name, name) == 0) return e->fact[i].value;
    return "";
}

static int is_missing(const mw_explain *e, const char *words)
{
    for (int64_t i = 0; i < mw_explain_missing(e); i++)
        if (strstr(mw_explain_missing_at(e, i), words)) return 1;
    return 0;
}

/* ---- NCCL's lines, made
 * -------------------------------------------------------------------------- */

typedef struct text {
    char at[200000];
    size_t length;
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->length, sizeof t->at - t->length, format, args);
    va_end(args);
    assert_true(n > 0 && (size_t)n < sizeof t->at - t->length);
    t->length += (size_t)n;
}

static text *nccl(int nranks, unsigned id)
{
    text *t = calloc(1, sizeof *t);
    assert_non_null(t);
    for (int r = 0; id && r < nranks; r++)
        add(t,
            "box%d:%d:%d [%d] NCCL INFO ncclCommInitRank comm 0x%x0 rank %d nranks %d cudaDev %d "
            "nvmlDev %d busId 1000 commId 0x%x - Init START\n",
            r / 2, 700 + r, 900 + r, r % 2, 0x5c + r, r, nranks, r % 2, r % 2, id);
    return t;
}

static void call(text *t, int rank, int nranks, const char *op, int number, int count, int dtype)
{
    add(t,
        "box%d:%d:%d [%d] NCCL INFO %s: opCount %x sendbuff 0x7f%d00 recvbuff 0x7f%d80 count %d "
        "datatype %d op 0 root 0 comm 0x%x0 [nranks=%d] stream 0x60%d\n",
        rank / 2, 700 + rank, 900 + rank, rank % 2, op, number, rank, rank, count, dtype,
        0x5c + rank, nranks, rank);
}

/* An all-reduce of 600 bf16 over 4: two phases bring each 3/4 of its 1200 bytes twice. */
static void counted(void **state)
{
    (void)state;
    text *t = nccl(4, 0xab);
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < 4; r++)
            call(t, r, 4, "AllReduce", i, 600, 9);
    mw_explain *e = explain(t->at);
    const mw_entry *c = entry_of(e, "collective");
    assert_non_null(c);
    assert_int_equal(c->count, 3);
    assert_int_equal(c->ranks, 15);
    assert_int_equal(c->bytes, 1800);
    assert_string_equal(c->collective, "all_reduce");
    assert_null(problem(e, NULL));
    assert_null(entry_of(e, "hang"));
    mw_explain_free(e);
    free(t);
}

/* Under one number another op, another count, another dtype: each a problem of its own kind. */
static void differing(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        int count, dtype;
        const char *kind;
    } row[] = {{"AllGather", 64, 7, "diverged-control-flow"},
               {"AllReduce", 63, 7, "uneven-inputs"},
               {"AllReduce", 64, 6, "dtype-mismatch"}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++)
        for (int odd = 0; odd < 3; odd++) {
            text *t = nccl(3, 0x77);
            for (int i = 0; i < 30; i++)
                for (int r = 0; r < 3; r++)
                    if (i == 17 && r == odd)
                        call(t, r, 3, row[k].op, i, row[k].count, row[k].dtype);
                    else
                        call(t, r, 3, "AllReduce", i, 64, 7);
            mw_explain *e = explain(t->at);
            const mw_entry *h = entry_of(e, "hang");
            assert_non_null(problem(e, row[k].kind));
            assert_string_equal(fact(h, "first difference"), "number 17");
            assert_int_equal(h->nproblem, 1);
            char name[60];
            (void)snprintf(name, sizeof name, "group rank %d posted", odd);
            assert_non_null(strstr(fact(h, name), row[k].op));
            mw_explain_free(e);
            free(t);
        }
}

/* Rank 2 stops at number 9 while the others go on for long. If they do not, it may be the text's
 * end. */
static void stopped(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        text *t = nccl(4, 0x5);
        int last = more ? 30 : 10;
        for (int i = 0; i < last; i++)
            for (int r = 0; r < 4; r++)
                if (r != 2 || i <= 8) call(t, r, 4, "ReduceScatter", i, 128, 7);
        mw_explain *e = explain(t->at);
        const mw_problem *p = problem(e, "rank-behind");
        assert_int_equal(p != NULL, more);
        assert_int_equal(is_missing(e, "would have gone on"), !more);
        if (p) assert_non_null(strstr(p->says, "roup rank 2 has not issued number 9"));
        mw_explain_free(e);
        free(t);
    }
}

/* Communicators of one size in one process, and no id: nobody says which belong together. */
static void unnamed(void **state)
{
    (void)state;
    text *t = nccl(2, 0);
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < 4; i++)
            add(t,
                "[rank0]:box:70:71 [0] NCCL INFO %s: opCount %x sendbuff 0x1 recvbuff 0x2 count 8 "
                "datatype 7 "
                "op 0 root 0 comm 0x%d00 [nranks=2] stream 0x3\n",
                c ? "AllGather" : "AllReduce", i, c + 1);
    mw_explain *e = explain(t->at);
    assert_null(problem(e, NULL));
    assert_true(is_missing(e, "belong together"));
    mw_explain_free(e);
    free(t);
}

/* ---- the watchdog
 * -------------------------------------------------------------------------------- */

static void timeout_of(text *t, int rank, int number, const char *op, int elements)
{
    add(t,
        "[rank%d]:[E412 07:11:09.%d ProcessGroupNCCL.cpp:629] [Rank %d] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=%d, NumelOut=%d, "
        "Timeout(ms)=90000) "
        "ran for 9001%d milliseconds before timing out.\n"
        "[rank%d]:[E412 07:11:09.%d ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank "
        "%d] "
        " failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, "
        "last "
        "completed work: %d\n",
        rank, 100 + rank, rank, number, op, elements, elements, rank, rank, 200 + rank, rank,
        number, number + 1, number - 1);
}

static void dump_signal(text *t, int rank, int enqueued, int completed)
{
    add(t,
        "[rank%d]:[E412 07:11:10.5 ProcessGroupNCCL.cpp:670] [PG ID 0 PG GUID 0(default_pg) Rank "
        "%d] "
        "Received a dump signal due to a collective timeout from rank 0 and we will try our best "
        "to dump "
        "the debug info. Last enqueued NCCL work: %d, last completed NCCL work: %d.\n",
        rank, rank, enqueued, completed);
}

static void watchdog(void **state)
{
    (void)state;
    text *t = calloc(1, sizeof *t);
    assert_non_null(t);
    timeout_of(t, 0, 52, "ALLREDUCE", 96);
    timeout_of(t, 1, 52, "ALLREDUCE", 96);
    timeout_of(t, 3, 52, "ALLREDUCE", 96);
    mw_explain *e = explain(t->at); /* who is not shown may be the one, or was not pasted */
    const mw_entry *h = entry_of(e, "hang");
    assert_non_null(problem(e, "rank-silent"));
    assert_string_equal(fact(h, "not shown"), "rank 2");
    assert_true(is_missing(e, "how many ranks"));
    assert_int_equal(entry_of(e, "timeout")->count, 1);
    assert_int_equal(entry_of(e, "timeout")->ranks, 11);
    mw_explain_free(e);

    dump_signal(t, 2, 51, 51);
    e = explain(t->at); /* now rank 2 says that it did not come */
    const mw_problem *p = problem(e, "rank-behind");
    assert_non_null(p);
    assert_non_null(strstr(p->says, "ank 2 has not issued number 52"));
    assert_null(problem(e, "rank-silent"));
    mw_explain_free(e);
    free(t);

    t = calloc(1, sizeof *t);
    assert_non_null(t);
    timeout_of(t, 0, 52, "ALLREDUCE", 96);
    timeout_of(t, 1, 52, "BROADCAST", 96);
    e = explain(t->at);
    assert_non_null(problem(e, "diverged-control-flow"));
    mw_explain_free(e);
    free(t);
}

/* A number that was never set is no number: it concludes nothing. */
static void never_set(void **state)
{
    (void)state;
    mw_explain *e =
        explain("[rank2]:[E ProcessGroupNCCL.cpp:1537] [PG 0 Rank 2] Timeout at NCCL work: 1, last "
                "enqueued NCCL work: 1, last completed NCCL work: 76280750235782912.\n");
    assert_non_null(strstr(entry_of(e, "status")->says, "never set"));
    assert_null(problem(e, "rank-behind"));
    mw_explain_free(e);
}

/* ---- dumps
 * --------------------------------------------------------------------------------------- */

static void record(text *t, int number, const char *op, const char *size, const char *how)
{
    add(t,
        "{\"record_id\": %d, \"process_group\": [\"0\", \"default_pg\"], \"collective_seq_id\": "
        "%d, "
        "\"profiling_name\": \"nccl:%s\", \"input_sizes\": [[%s]], \"input_dtypes\": [\"Float\"], "
        "\"output_sizes\": [[%s]], \"state\": \"%s\", \"frames\": [{\"name\": \"f\", \"line\": "
        "3}]}",
        number, number, op, size, size, how);
}

static void dump(text *t, int rank, int last, const char *op, const char *size)
{
    add(t, "/tmp/nccl_trace_rank_%d\n{\"version\": \"2.5\", \"entries\": [", rank);
    for (int i = 1; i < last; i++) {
        record(t, i, "all_reduce", "12, 2", "completed");
        add(t, ",\n ");
    }
    record(t, last, op, size, "started");
    add(t, "],\n \"pg_config\": {\"0\": {\"name\": \"0\", \"desc\": \"default_pg\", \"ranks\": "
           "\"[0, 1, 2]\"}}}\n");
}

static void flight(void **state)
{
    (void)state;
    text *t = calloc(1, sizeof *t);
    assert_non_null(t);
    dump(t, 0, 6, "all_reduce", "12, 2");
    dump(t, 2, 6, "all_gather_into_tensor", "7");
    mw_explain *e = explain(t->at);
    const mw_entry *d = entry_of(e, "dump"), *h = entry_of(e, "hang");
    assert_string_equal(fact(d, "collectives recorded"), "6");
    assert_string_equal(fact(d, "rank"), "0");
    assert_non_null(
        strstr(fact(d, "started, not completed"), "number 6, all_reduce of [[12, 2]] Float"));
    assert_non_null(problem(e, "diverged-control-flow"));
    assert_string_equal(fact(h, "not shown"), "rank 1");
    assert_string_equal(fact(h, "ranks in the group"), "3");
    mw_explain_free(e);
    t->length = 0;
    dump(t, 0, 6, "all_reduce", "12, 2"); /* all the same: no rank is to blame */
    dump(t, 1, 6, "all_reduce", "12, 2");
    dump(t, 2, 6, "all_reduce", "12, 2");
    e = explain(t->at);
    assert_non_null(problem(e, "collective-timeout"));
    assert_null(problem(e, "diverged-control-flow"));
    assert_null(problem(e, "rank-behind"));
    mw_explain_free(e);
    free(t);
}

/* ---- XLA
 * ----------------------------------------------------------------------------------------- */

static void rendezvous(void **state)
{
    (void)state;
    static const char stuck[] =
        "E0101 10:00:00.0 12 rendezvous.cc:31] This thread has been waiting for "
        "`first call to collective operation 7; run_id=3` for 20 seconds and may be stuck. "
        "Expected 6 threads to join the rendezvous, but only 5 of them arrived on time.\n";
    static const char fine[] =
        "E0101 10:00:09.0 12 rendezvous.cc:40] Thread is unstuck! Warning above was a "
        "false-positive. Perhaps the timeout is too short.\n";
    char both[2000];
    mw_explain *e = explain(stuck);
    assert_non_null(problem(e, "rank-behind"));
    assert_string_equal(fact(entry_of(e, "wait"), "arrived"), "5 threads");
    mw_explain_free(e);
    (void)snprintf(both, sizeof both, "%s%s", stuck, fine);
    e = explain(both); /* it was only slow */
    assert_null(problem(e, NULL));
    assert_non_null(entry_of(e, "resumed"));
    mw_explain_free(e);
}

/* ---- lack of memory, hostile texts
 * ----------------------------------------------------------------- */

static void no_memory(void **state)
{
    (void)state;
    text *t = nccl(2, 9);
    call(t, 0, 2, "AllReduce", 0, 4, 7);
    call(t, 1, 2, "AllGather", 0, 4, 7);
    timeout_of(t, 0, 3, "ALLREDUCE", 6);
    dump_signal(t, 1, 2, 2);
    dump(t, 1, 3, "broadcast", "5");
    add(t, "Detected mismatch between collectives on ranks. Rank 0 is running collective: "
           "CollectiveFingerPrint(SequenceNumber=4, OpType=ALLREDUCE, TensorShape=[3], "
           "TensorDtypes=Float), but "
           "Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=4OpType=BARRIER).\n"
           "Not all ranks joining collective, sequence number: 5\nmissing ranks: {1}\n"
           "This thread has been waiting for `x` for 20 seconds and may be stuck. Expected 2 "
           "threads to join "
           "the rendezvous, but only 1 of them arrived on time.\n"
           "ranks disagree about the collective: rank 0 is in a, rank 1 is in b\n");
    assert_true(allocations_told(t->at) > 20);
    free(t);
}

/* More than the board holds: linear, bounded, and the end of the text counts. */
static void long_log(void **state)
{
    (void)state;
    enum { CALLS = 150000 };
    mw_explain *e = NULL;
    mw_fault_allocator memory;
    int64_t half = 0;
    mw_fault_allocator_init(&memory, 0, 0);
    mw_allocator_use(&memory.allocator);
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e), MW_OK);
    text *t = nccl(2, 0x31);
    assert_int_equal(mw_explain_feed(e, t->at, (int64_t)t->length), MW_OK);
    for (int i = 0; i < CALLS; i++) {
        t->length = 0;
        call(t, 0, 2, "AllReduce", i, 50, 7);
        call(t, 1, 2, i == CALLS - 2 ? "Broadcast" : "AllReduce", i, 50, 7);
        assert_int_equal(mw_explain_feed(e, t->at, (int64_t)t->length), MW_OK);
        if (i == CALLS / 2) half = memory.live;
    }
    assert_int_equal(mw_explain_finish(e), MW_OK);
    assert_true(memory.live < half + (1 << 20));
    assert_non_null(problem(e, "diverged-control-flow"));
    char number[40];
    (void)snprintf(number, sizeof number, "number %d", CALLS - 2);
    assert_string_equal(fact(entry_of(e, "hang"), "first difference"), number);
    mw_explain_free(e);
    mw_allocator_use(NULL);
    assert_int_equal(memory.live, 0);
    free(t);
}

static void hostile(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "{\"entries\": [{\"collective_seq_id\": ",
        "[rank0]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=",
        "Detected mismatch between collectives on ranks. Rank 0 is running ",
        "x:1:2 [0] NCCL INFO AllReduce: opCount ",
        "Ranks 1, 2 failed to pass monitoredBarrier in ",
        "ranks disagree about the collective: ",
        "This thread has been waiting for `RendezvousKey{"};
    static const char *const bodies[] = {"[",
                                         "(",
                                         "\"'",
                                         "{",
                                         "99999999999999999999,",
                                         "rank 1 is in ",
                                         "Rank 1 CollectiveFingerPrint(",
                                         "1, "};
    enum { LENGTH = 200000 };
    char *at = malloc(LENGTH + 200);
    assert_non_null(at);
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
            size_t n = strlen(heads[h]), each = strlen(bodies[b]);
            memcpy(at, heads[h], n);
            for (; n < LENGTH; n += each)
                memcpy(at + n, bodies[b], each);
            at[n] = 0;
            mw_explain *e = explain(at);
            assert_int_equal(mw_explain_lines(e), 1);
            mw_explain_free(e);
        }
    free(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted),  cmocka_unit_test(differing),  cmocka_unit_test(stopped),
        cmocka_unit_test(unnamed),  cmocka_unit_test(watchdog),   cmocka_unit_test(never_set),
        cmocka_unit_test(flight),   cmocka_unit_test(rendezvous), cmocka_unit_test(no_memory),
        cmocka_unit_test(long_log), cmocka_unit_test(hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
