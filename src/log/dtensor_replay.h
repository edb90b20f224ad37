/* replay: one call bound to its declaration, with its operands' layouts and what meshwise chooses
 * for it. Lives in the line's scratch memory. */
#ifndef LOG_DTENSOR_REPLAY_H
#define LOG_DTENSOR_REPLAY_H

#include "log/dtensor.h"

enum { OPERANDS = 64, CHOSEN_RANKS = 128 };

typedef struct dt_replay {
    const dt_here *h;
    dt_call *call;
    const mw_mesh *mesh;
    mw_bound bound;
    mw_call_args args;
    int n;                       /* tensors, in the order of the text */
    dt_tensor *tensor[OPERANDS]; /* as stated, of these */
    mw_meta meta[OPERANDS];
    mw_layout *layout; /* [nin], operand order */
    const mw_layout **in;
    dt_tensor **stated; /* [nin] */
    int *arg_of;        /* [nin]: position in the schema */
    mw_choice choice;
    bool assumed_dtype;
    bool meant; /* an operand is taken as it was likely meant, not as it is labelled */
} dt_replay;

/* false: the call can't be bound, or laid out (nothing need be wrong with the text). */
bool mw__dt_replay_bind(dt_replay *r);
bool mw__dt_replay_lay(dt_replay *r);

const char *mw__dt_layout_text(const dt_replay *r, const mw_layout *l);
const char *mw__dt_placements_of(const dt_replay *r, const mw_layout *l);

/* The cheapest combinations of layouts with which the op runs, with bytes; the result is to lie as
 * `result` (NULL: wherever). */
void mw__dt_tell_ways(dt_replay *r, int axis, const mw_layout *result);

/* What the last move that was asked for saved or cost the call. */
void mw__dt_tell_user(dt_replay *r);

/* Bytes that bring all operands to other layouts; -1: not known. */
int64_t mw__dt_bringing(const dt_replay *r, const mw_layout *to);

/* Labels that can't be true, values that will be wrong, cuts lost. */
void mw__dt_check_values(dt_replay *r);
void mw__dt_check_labels(const dt_here *h, dt_call *call, const mw_mesh *mesh);
bool mw__dt_same_label(const dt_tensor *a, const dt_tensor *b); /* shape and placements */

/* A view whose result is strided: what it holds, and what can be done instead. */
void mw__dt_tell_view(dt_replay *r);

#endif
