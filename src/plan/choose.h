/* choose, inside: the state of one decision. */
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
    uint32_t used; /* axes that some operand has anywhere */
    operand_state *operand;
    bool splittable[MW_RULE_LETTERS], contracted[MW_RULE_LETTERS];
    mw_dim cut[MW_RULE_LETTERS];
    mw_layout *trial_in, *trial_out;
} chooser;

#endif
