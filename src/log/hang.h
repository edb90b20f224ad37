/* hang: what the reader of hangs and mismatches is made of, one file each:
 *
 *     reader_hang.c    which line is what
 *     hang_text.c      numbers, fields, heads of lines, lists of ranks
 *     hang_board.c     groups of ranks, and who posted which collective under which number
 *     hang_nccl.c      NCCL's debug lines
 *     hang_watchdog.c  ProcessGroupNCCL's watchdog and heartbeat monitor
 *     hang_desync.c    its desync reports
 *     hang_mismatch.c  TORCH_DISTRIBUTED_DEBUG=DETAIL: fingerprints that differ
 *     hang_store.c     monitoredBarrier, gloo, TCPStore, aborted communicators
 *     hang_flight.c    flight recorder: dumps
 *     hang_analysis.c  flight recorder: what its analyzer prints
 *     hang_xla.c       XLA's rendezvous
 *     hang_own.c       meshwise's own failures
 *     hang_tell.c      at the end, per group: who waits for what, who differs, who is not shown
 *
 * Every text that tells something of a rank's place in its sequence of collectives is put on the
 * board; nothing is concluded before the text is over. What is not on the board is missing, never
 * guessed: a rank without a line may be the one that hangs, or its log was not pasted. */
#ifndef LOG_HANG_H
#define LOG_HANG_H

#include "log/explain.h"

enum {
    HANG_GROUPS = 1024,
    HANG_EVENTS = 1 << 16, /* numbers of collectives kept on the board, over all groups */
    HANG_RANKS = 1 << 14,  /* ranks of a group that are told apart */
    HANG_PENDING = 256,
    HANG_WORDS = 8192,
    HANG_KEPT = 4096, /* entries that a line may tell again */
    HANG_FACTS = 64   /* ranks listed one by one */
};
#define HANG_NONE INT64_MIN /* a number that the text does not say */

typedef struct hang_ranks { /* sorted, each once */
    int32_t *at;
    int64_t n, cap;
} hang_ranks;

/* What some ranks posted under one number. "" where the text does not say it. */
typedef struct hang_post hang_post;
struct hang_post {
    const char *op, *shape, *dtype;
    hang_ranks ranks, done; /* done: those of them that finished it */
    int64_t line;
    hang_post *next;
};

typedef struct hang_event {
    int32_t group; /* -1: an empty slot */
    int64_t number;
    hang_post *post;
} hang_event;

/* A rank as its group sees it. */
typedef struct hang_member {
    int32_t rank;
    int64_t global;                       /* HANG_NONE: not said */
    int64_t last, last_line;              /* the largest number that it posted */
    const char *last_op;                  /* or "" */
    int64_t enqueued, completed, status;  /* as its watchdog says, and the line */
    int64_t stuck, stuck_line, waited_ms; /* the collective that it gave up */
    const char *stuck_op;
} hang_member;

typedef struct hang_group {
    const char *source; /* "c10d", "nccl", ... */
    const char *name;   /* "group 0 (default_pg)" */
    bool world;         /* its ranks are the program's */
    bool dumps;         /* its "ranks" are dumps that do not say whose they are, from 1 */
    bool unnamed;       /* NCCL: no id says which communicators belong together */
    bool ambiguous;     /* ... and several may be meant */
    bool unplaced;      /* a process whose rank is not said has posted, too */
    bool ordered;       /* numbers are posted one after the other: who stops early is behind */
    int64_t size;       /* HANG_NONE: not said */
    int64_t size_line;
    const char *globals; /* its ranks in order, as stated; "" */
    int64_t globals_line;
    int64_t first, last; /* lines */
    int64_t numbered;    /* largest number on the board; HANG_NONE */
    hang_member *member;
    int64_t nmember, cap_member;
    int32_t *slot; /* [nslot] of rank: index of its member + 1 */
    int64_t nslot;
} hang_group;

typedef struct hang_comm { /* a communicator of one process */
    int32_t group, rank;   /* rank -1: no INIT line */
} hang_comm;

typedef struct hang_state {
    hang_group *group;
    int64_t ngroup, cap_group;
    uint64_t *group_key;
    int64_t cap_key;
    hang_event *event; /* [HANG_EVENTS * 2], by hash */
    int64_t nevent;
    hang_post *spare;             /* of numbers that left the board */
    bool dropped;                 /* something did not fit on the board */
    mw_lookup comm;               /* hang_comm, by host, process and address */
    struct hang_pending *pending; /* time-outs whose group the next line names */
    struct {
        uint64_t hash;
        mw_draft *draft;
    } * kept; /* [HANG_KEPT] */
    int64_t nkept;
    const char **word; /* [HANG_WORDS]: short texts, each kept once */
    int64_t nword;
    struct hang_dump *dump; /* the one that is being read, or NULL */
    int64_t ndump, brace;   /* the last line that is an opening brace */
    struct hang_analysis *analysis;
    struct hang_xla *xla;
    int64_t desync_line, desync_number; /* of a report that goes on in the next lines; 0: none */
    int64_t watched;  /* the last line that told of a time-out: frames of stacks may follow */
    mw_draft *traced; /* whose stack trace they are, or NULL */
    int64_t heading, heading_line; /* "rank 3" over a dump */
} hang_state;

typedef struct hang_here {
    mw_explain *e;
    hang_state *s;
    const mw_line *line;
    const char *at; /* the text behind its heads */
    char from[32];  /* "line 3" */
    /* what the heads say: [PG ID 0 PG GUID 0(default_pg) Rank 3], [Rank 3], [id=2] */
    const char *pg, *pg_desc; /* NULL: not said */
    int64_t pg_rank, id;      /* HANG_NONE */
} hang_here;

/* ---- hang_text.c ------------------------------------------------------------------------- */

void mw__hang_head(hang_here *h);
const char *mw__hang_after(const char *text, const char *words);         /* behind them, or NULL */
bool mw__hang_int(const char **at, int64_t *ret);                        /* reads "-12" or "0x1f" */
bool mw__hang_number(const char *text, const char *words, int64_t *ret); /* behind these words */
bool mw__hang_hex(const char *text, const char *words, uint64_t *ret);
const char *mw__hang_keep(const hang_here *h, const char *at, int64_t length); /* in the arena */
/* `OpType=ALLREDUCE`: what stands behind `name` up to the comma or bracket that ends it; "" */
const char *mw__hang_field(const hang_here *h, const char *at, const char *end, const char *name);
void mw__hang_ranks_add(mw_explain *e, hang_ranks *set, int64_t rank);
bool mw__hang_ranks_has(const hang_ranks *set, int64_t rank);
void mw__hang_ranks_read(const hang_here *h, const char *text, hang_ranks *set); /* "2, 3, 5-7" */
/* "rank 3", "ranks 0-2, 5"; `word` is "rank" or "group rank". In the arena. */
const char *mw__hang_ranks_text(mw_explain *e, const hang_ranks *set, const char *word);
const char *mw__hang_capital(mw_explain *e, const char *text); /* as a sentence begins */
const char *mw__hang_verb(const hang_ranks *set, const char *one, const char *many);

/* ---- hang_board.c ------------------------------------------------------------------------ */

/* The group of this key, made where it is new. NULL: no more fit. */
hang_group *mw__hang_group(hang_here *h, const char *source, const char *key, const char *name);
hang_group *mw__hang_pg(hang_here *h); /* that which the head names, or the unnamed one */
hang_member *mw__hang_member(hang_here *h, hang_group *g, int64_t rank);
void mw__hang_globals(hang_here *h, hang_group *g, const char *list); /* "0, 2, 4" */
typedef struct hang_what {
    const char *op, *shape, *dtype;
    bool done;
} hang_what;
void mw__hang_post(hang_here *h, hang_group *g, int64_t rank, int64_t number, const hang_what *w);
const hang_event *mw__hang_event(const hang_state *s, int64_t group, int64_t number);
/* The entry that was made for `hash`, told again by this line; or NULL: make it, and keep it. */
mw_draft *mw__hang_told(hang_here *h, uint64_t hash);
void mw__hang_keep_draft(hang_here *h, uint64_t hash, mw_draft *d);
const char *mw__hang_word(const hang_group *g); /* "rank" or "group rank" */

/* ---- kinds of lines: each returns true where the line was its own ------------------------ */

bool mw__hang_nccl(hang_here *h);
bool mw__hang_watchdog(hang_here *h);
void mw__hang_pending_flush(hang_here *h);
bool mw__hang_frames(hang_here *h); /* of a stack, behind a time-out */
bool mw__hang_desync(hang_here *h);
bool mw__hang_mismatch(hang_here *h);
bool mw__hang_store(hang_here *h);
bool mw__hang_flight(hang_here *h);
void mw__hang_heading(hang_here *h); /* a short line: over a dump it may say whose it is */
void mw__hang_flight_end(hang_here *h);
void mw__hang_flight_done(hang_state *s);
bool mw__hang_analysis(hang_here *h);
bool mw__hang_inside(const hang_state *s); /* of an analysis: more of it may come */
void mw__hang_analysis_end(hang_here *h);
bool mw__hang_xla_line(hang_here *h);
void mw__hang_xla_end(hang_here *h);
bool mw__hang_own(hang_here *h);

void mw__hang_tell(hang_here *h); /* hang_tell.c */
void mw__hang_tell_xla(hang_here *h, const hang_group *g);

#endif
