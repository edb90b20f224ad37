/* Events: what a program did, as it did it. */
#ifndef MESHWISE_LOG_H
#define MESHWISE_LOG_H

#include <meshwise/mesh.h>
#include <meshwise/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, text) */
#define MW_EVENT_MAP(X) \
    X(CALL, "call")     \
    X(MOVE, "move")

typedef enum mw_event_kind {
#define X(name, text) MW_EVENT_##name,
    MW_EVENT_MAP(X)
#undef X
        MW_EVENT_KINDS
} mw_event_kind;

/* Everything is borrowed for the time of the sink's call. */
typedef struct mw_event {
    mw_event_kind kind;
    int rank;
    int64_t number;        /* of this rank's events */
    const char *op;        /* the op that ran, or for which the movement was made */
    const char *text;      /* CALL: the call with its arguments' types; MOVE: "all_reduce tp sum" */
    const char *result;    /* CALL: the results' types */
    const char *tensor;    /* MOVE: name of what moved, or "" */
    const char *from, *to; /* MOVE: types before and after the step */
    const char *axes;      /* MOVE */
    const char *why;       /* MOVE: what made it necessary; "" where it was asked for */
    int64_t recv_bytes;    /* MOVE: received by this rank */
    int64_t recv_bytes_most; /* MOVE: by the rank that receives most */
    int64_t recv_bytes_all;  /* MOVE: by all ranks together */
    int asked;
    const char *
        dispatch; /* the lines that DTensor's log would have; "" unless the launch asked for them */
    mw_site site;
    const char *chain; /* names of the open scopes: "llama/blk.3" */
} mw_event;

typedef void (*mw_event_sink)(void *user, const mw_event *event);

MW_API const char *mw_event_kind_name(mw_event_kind kind); /* Pure */

#ifdef __cplusplus
}
#endif
#endif
