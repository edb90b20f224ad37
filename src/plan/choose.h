/* choose, inside: the state of one decision, and its parts: choose.c searches with them,
 * placements.c lists what they allow. */
#ifndef PLAN_CHOOSE_H
#define PLAN_CHOOSE_H

#include "ops/table.h"
#include "plan/plan.h"

enum { MOST_OPERANDS = 256 };

typedef struct known_price {
    mw_layout to;
    double us;
    struct known_price *next;
} known_price;

typedef struct operand_state {
    const mw_layout *now;
    uint64_t letters;  /* bit per letter that it has */
    mw_dim *by_letter; /* how each of these is cut now */
    known_price *prices;
} operand_state;

/* What one mesh axis may do. */
typedef enum option_kind {
    OPT_WHOLE,  /* replicates everything */
    OPT_LETTER, /* cuts a letter */
    OPT_PASS,   /* stays partial through the op */
    OPT_COPY    /* cuts several letters by its parts, as one operand has it */
} option_kind;

typedef struct option {
    option_kind kind;
    int letter, operand;
    unsigned reduce; /* the result is partial so; 0: it isn't */
} option;

typedef struct axis_options {
    int n;
    option at[MW_RULE_LETTERS + 8];
} axis_options;

typedef struct chooser {
    const mw_mesh *mesh;
    mw_rule *rule;
    mw_arena *arena;
    int nin;
    bool is_view, in_place;
    bool minor_first; /* axes that cut a letter anew do so in the mesh's order backwards */
    uint32_t used;    /* axes that some operand has anywhere */
    operand_state *operand;
    bool splittable[MW_RULE_LETTERS], contracted[MW_RULE_LETTERS];
    bool by_parts[MW_RULE_LETTERS]; /* splitting it means running the op's parts */
    int reductions;                 /* that these make */
    mw_layout *trial_in, *trial_out;
    mw_dim cut[MW_RULE_LETTERS]; /* of the combination being built; not cleared, it is large */
} chooser;

/* A chooser for a call, with its rule; then how its operands lie (of the shapes that the call has).
 * In the arena. */
MW_NODISCARD mw_status mw__chooser_new(const mw_mesh *mesh, const mw_call_args *call,
                                       mw_arena *arena, chooser **ret);
MW_NODISCARD mw_status mw__chooser_prepare(chooser *c, const mw_layout *const *in);

/* What the axis may do in this call, operands lying as they do. */
void mw__chooser_options(chooser *c, int axis, axis_options *ret);

/* Letters (a bit each) of operand i that the axis cuts now; that the option lets it cut. */
uint64_t mw__letters_with(const chooser *c, int i, int axis);
uint64_t mw__letters_of_option(const chooser *c, int axis, const option *o);
const mw_partial *mw__partial_on(const mw_layout *l, int axis);

/* Does the option leave every operand as it is, on this axis? */
bool mw__option_natural(const chooser *c, int axis, const option *o);

/* In which way operand i takes part when the axis makes the result partial: 's' it holds a split
 * letter, 'p' it stays partial, 'm' it becomes partial by a mask, 'r' it is whole. In every term
 * one operand carries; false where a term has none that could. `letter` -1: no letter is split. */
bool mw__carriers(const chooser *c, int axis, int letter, unsigned kind, char *ret_role);

/* The layouts that one option per axis (NULL: the axis does nothing) makes of all operands and
 * results. False where no text can say them. */
bool mw__chooser_build(chooser *c, const option *const *pick, mw_layout *in, mw_layout *out);

/* Would the choice leave operands that lie so as they are? If so, its results (borrowed until the
 * next call) and whether the op's parts make them. The chooser forgets what it was prepared for. */
MW_NODISCARD mw_status mw__chooser_natural(chooser *c, const mw_layout *const *in,
                                           bool *ret_natural, const mw_layout **ret_out,
                                           bool *ret_parts);

#endif
