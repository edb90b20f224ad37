/* The messages backend: ranks are processes that exchange messages over a transport (transport.h).
 * What its files share.
 *
 *     messages.c           a rank's end and its teams: made and freed; beginning and ending
 * together messages_transfer.c  pack, send, receive, pull messages_wait.c      how a rank waits;
 * heads and words as they come in messages_fail.c      the one failure of a world and how every
 * rank learns of it
 *
 * In a transfer each rank sends one head to every other member of the team, with the boxes that
 * this member pulls packed behind it; what doesn't fit follows as a body, once the head has shown
 * that both sides agree on its size. All heads from one rank to another are one stream, whatever
 * their teams: the next one is always from the peer's next collective with me, so two that differ
 * are a disagreement, found by comparing. A transfer ends only when all heads have come; nobody is
 * ever more than one ahead.
 *
 * Words travel beside that stream. Each rank says once how it ended: well, or with the story of a
 * failure. Who waits long asks where the others are; who waits, too, answers.
 *
 * The boxes are stored and combined by the same code as on threads, in the same order: the bits are
 * the same. */
#ifndef COMM_MESSAGES_H
#define COMM_MESSAGES_H

#include "comm/backend.h"
#include "comm/transport.h"

enum {
    MW_WHAT_BYTES = 200,      /* of a collective's text, the NUL included */
    MW_HEAD_BYTES = 16 << 10, /* of a head with what is packed behind it */
    MW_NOTE_BYTES = 256
};

/* What a head says. Boxes for the receiver, if they fit, stand at MW_HEAD_SIZE. */
typedef struct mw__head {
    uint64_t number; /* of the transfer in its team, from 1 */
    uint64_t team;   /* hash of its ranks */
    uint64_t hash;   /* mw_transfer.hash, with the dtype */
    int64_t bytes;   /* of all boxes for the receiver, behind the head or in the body */
    char what[MW_WHAT_BYTES];
} mw__head;
enum { MW_HEAD_SIZE = 256 }; /* a multiple of every element's alignment */
_Static_assert(sizeof(mw__head) <= MW_HEAD_SIZE, "boxes stand behind the head");

typedef enum mw__word_kind {
    MW_WORD_ENDED,  /* my program has ended well */
    MW_WORD_FAILED, /* with a story: the world has failed */
    MW_WORD_ASK,    /* where are you? */
    MW_WORD_ANSWER  /* waiting, here */
} mw__word_kind;

/* The failure of a world. */
typedef struct mw__story {
    int32_t code;   /* mw_status: MW_ERR_COMM or MW_ERR_TIMEOUT */
    int32_t cause;  /* mw_status of what began it */
    int32_t rank;   /* that is the cause; -1: no single one */
    int32_t silent; /* ranks that do not answer */
    char verb[32];  /* what is said of a rank that needs it: "was waiting for it in" */
    char says[1200];
    char hint[512];
} mw__story;

typedef struct mw__word {
    int32_t kind, rank;
    union {
        mw__story story; /* FAILED */
        struct {
            int32_t goal; /* the rank waited for, or -1 */
            char what[MW_WHAT_BYTES];
        } answer;
    } as;
} mw__word;

_Static_assert(offsetof(mw__word, as.answer) + sizeof(((mw__word *)0)->as.answer) <= MW_NOTE_BYTES,
               "a note holds an answer");

/* What a rank knows of another. Heads are made when they first share a team. */
typedef struct mw__peer {
    char *out, *in;           /* [MW_HEAD_BYTES] a head each; NULL: not yet a member of a team */
    char last[MW_WHAT_BYTES]; /* the last collective it was seen in */
    bool ended;               /* has said how it ended */
    bool answered;            /* the question of this wait */
    int goal;                 /* the rank that it waits for, as it answered; or -1 */
    /* the transfer under way */
    uint64_t round; /* of the end's, in which the rest is set */
    int place;      /* in the team */
    bool come;      /* all it has for me */
    bool here;      /* its head has come */
    bool direct;    /* its boxes go straight to where they belong */
    int boxes_in, boxes_out;
    int sends; /* to it, under way */
    const mw_pull *first_in, *first_out;
    int64_t bytes_in, bytes_out, in_done, out_done;
    int64_t taken; /* elements of its boxes that pulls have used */
    char *body_in; /* where its boxes are, or will be */
    const char *body_out;
    char *pack; /* where the next box for it is packed; NULL: its one box goes as it lies */
} mw__peer;

/* A buffer that only grows, so that a warm program allocates nothing. */
typedef struct mw__scratch {
    char *at;
    size_t size;
} mw__scratch;

/* One rank's end. Request numbers: 0 receives words; 3 i + 1 to 3 i + 3 are head out, body out and
 * in of the team's member i; from `words` on one farewell, then one note, for each rank. */
typedef struct mw__messages_end {
    mw_comm base;
    mw__transport *transport;
    void *block;
    size_t bytes;
    int words, nrequest;
    int *done;      /* [nrequest] */
    mw__peer *peer; /* [nrank] */
    mw__word word;  /* the one being received */
    mw__word farewell;
    bool said_farewell;
    int farewells;               /* under way */
    char (*note)[MW_NOTE_BYTES]; /* [nrank] the last short word to each */
    bool *note_out;              /* [nrank] it may be under way */
    mw__scratch in, out;
    uint64_t round;            /* of transfers of this end */
    mw_team *team;             /* of the transfer under way, or NULL */
    mw__head mine;             /* the head that it sends for it */
    int due_in, due_out;       /* peers that have not come; sends under way */
    char where[MW_WHAT_BYTES]; /* what this rank is in, or was last */
    int goal;                  /* the rank that it waits for, or -1 */
    int spins;                 /* looks before a waiting rank gives way */
    double yield_until, sleep_part, timeout;
    const volatile int *interrupt;
    bool failed, stuck; /* stuck: the transport still uses bytes of ours */
    mw__story story;
} mw__messages_end;

/* An end of the transport's world. Its failure is the transport's until the process ends. */
MW_NODISCARD mw_status mw__comm_messages_new(mw__transport *transport,
                                             const mw_comm_options *options, mw_comm **ret_comm);

/* ---- waiting ------------------------------------------------------------------------------- */
typedef struct mw__wait {
    int looks;
    double since; /* first look at the clock */
    bool asked;
} mw__wait;

/* Lets requests get on and takes in what has come. Returns how much; -1: the world has failed. */
int mw__messages_look(mw__messages_end *me);

/* Gets ready for the next word. False: the world has failed. */
bool mw__messages_listen(mw__messages_end *me);

/* The same between two looks at what is waited for, giving way ever longer. `goal`: the rank waited
 * for. */
bool mw__messages_pause(mw__messages_end *me, mw__wait *wait, int goal);

/* ---- failing ------------------------------------------------------------------------------- */
/* All of them make the story, unless there is one, and send it to every rank. */
void mw__messages_poison_failed(mw__messages_end *me, const mw_error *error);
void mw__messages_poison_disagree(mw__messages_end *me, const mw__head *theirs, int rank);
void mw__messages_poison_timeout(mw__messages_end *me, int goal, double waited);
void mw__messages_poison_ended(mw__messages_end *me, int rank);
void mw__messages_poison_told_to_end(mw__messages_end *me, int goal);
void mw__messages_poison_transport(mw__messages_end *me, const char *says);
void mw__messages_adopt(mw__messages_end *me, const mw__story *story);

/* After a failure: takes back what is under way, so that this rank's buffers may be freed. */
void mw__messages_settle(mw__messages_end *me);

/* Makes this rank's error record out of the world's failure. `team` may be NULL. */
mw_status mw__messages_tell(mw__messages_end *me, const mw_team *team, const char *what);

/* Says to all other ranks how this one ends. Once. */
void mw__messages_farewell(mw__messages_end *me, mw__word_kind kind);

/* ---- transfers ----------------------------------------------------------------------------- */
mw_status mw__messages_transfer(mw_comm *comm, const mw_transfer *transfer);
mw_status mw__messages_begin(mw_comm *comm, const mw_transfer *transfer);
mw_status mw__messages_end_of(mw_comm *comm, const mw_transfer *transfer);
mw_status mw__messages_barrier(mw_comm *comm, mw_team *team, const char *what);
mw_status mw__messages_wait_readers(mw_comm *comm, const mw_storage *storage);

/* Takes in a request that has ended: `part` 0 head out, 1 body out, 2 in, of the team's member.
 * False: the world has failed. */
bool mw__messages_ended(mw__messages_end *me, int member, int part);

#endif
