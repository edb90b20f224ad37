/* verify: the rules of ops against brute force. What the files of this module share.
 *
 * A subject is one call of an op (a sample) on a mesh that nobody runs: all ranks' shards are made
 * here, one after the other, and the op's kernel runs on each. Nothing of the rule is used to
 * decide what is right: only whole operands, owners of elements, and one-rank results. */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "ops/sample.h"
#include "ops/table.h"
#include "plan/choose.h"

#include <meshwise/verify.h>

enum {
    SETS_SURE = 5,   /* sets of values on which what is right must be right */
    SETS_MOST = 120, /* and what is right without being claimed: chance is left no room */
    MOST_TENSORS = 24
};

/* A tensor's layout, with all that trying it needs. */
typedef struct place {
    mw_layout layout;
    const char *text;   /* "S(0)" */
    mw_view *local;     /* [nrank] dtype of memory and shape; no data */
    int64_t **position; /* [nrank * ndim] global positions of what a rank holds */
    mw_view **shard;    /* [SETS_MOST] of an operand: [nrank] its data; NULL until asked for */
    struct place *next;
} place;

typedef struct value_set {
    bool made, usable; /* not usable: the op refuses these values */
    const mw_view *in; /* [nin] whole */
    mw_view *out;      /* [nout] what one rank gives */
    double *largest;   /* [nout] absolute value */
} value_set;

/* What running one combination gave; kept while the operands' placements stay. */
typedef struct ran {
    const place *in[MOST_TENSORS], *out[MOST_TENSORS];
    bool done, failed;
    char why[256];
    mw_view *result; /* [nrank * nout] */
} ran;

typedef struct subject {
    const mw_op *op;
    const mw_op_info *info;
    const char *text; /* the sample */
    const mw_mesh *mesh;
    mw_arena *arena;   /* as long as the subject */
    mw_arena *scratch; /* as long as one combination of operands' placements */
    uint64_t seed;
    mw_call_args call;
    mw_rule rule;
    size_t slack; /* bytes around every shard that belong to nobody */
    value_set set[SETS_MOST];
    place *in[MOST_TENSORS], *out[MOST_TENSORS];
    ran run[SETS_MOST];
    chooser *claims; /* holds the rule from which claims are made: perhaps a planted one */
    bool generic;    /* no dim of size 0 or 1, no tensor without dims: nothing coincides */
} subject;

/* One call of the op, from a sample's text. MW_ERR_ARG and MW_ERR_SHAPE where it is none. */
MW_NODISCARD mw_status mw__subject_make(const mw_op *op, const char *text, const mw_mesh *mesh,
                                        uint64_t seed, mw_arena *arena, mw_arena *scratch,
                                        subject *ret);

/* The place of a layout of operand (or, with `out`, result) number nth. */
MW_NODISCARD mw_status mw__place_get(subject *s, bool out, int nth, const mw_layout *layout,
                                     place **ret);

/* ---- values.c ------------------------------------------------------------------------------- */

MW_NODISCARD mw_status mw__values_get(subject *s, int set, value_set **ret);

bool mw__place_sums(const place *p); /* partial, and its terms are added */

/* Does the set hold NaN and infinities, with which sums and products of terms differ from those of
 * wholes? */
bool mw__values_strange(int set);

/* The operand's shards on all ranks: cut, or a term of the whole that is not its identity. */
MW_NODISCARD mw_status mw__shards_get(subject *s, int operand, place *p, int set,
                                      const mw_view **ret);

/* The first element that is not what one rank gives. */
typedef struct mismatch {
    int result, rank;
    int64_t index[MW_MAX_DIMS];
    double got, want;
} mismatch;

/* Puts result `nth` together from all ranks' shards of it, and compares. */
MW_NODISCARD mw_status mw__values_agree(subject *s, int nth, const place *p, const ran *r, int set,
                                        bool *ret_right, mismatch *ret);

/* The same for a whole result as it is; `finite`: what isn't finite on one rank may be anything. */
bool mw__values_same(const subject *s, int nth, int set, bool finite, const double *got, int rank,
                     mismatch *ret);

/* ---- trial.c -------------------------------------------------------------------------------- */

/* Forgets what was run; before operands are placed otherwise. */
void mw__trial_reset(subject *s);

/* The operand that result `nth` is written to, or -1. */
int mw__trial_written(const subject *s, int nth);

/* Runs the op on every rank's shards. A kernel that fails is a result, too. */
MW_NODISCARD mw_status mw__trial_run(subject *s, place *const *in, place *const *out, int set,
                                     const ran **ret);

/* Do the ranks' shards of these operands make a call whose results have the shapes of `out`?
 * Size arguments are global and are put right first. */
bool mw__trial_fits(subject *s, place *const *in, place *const *out);

/* The shapes of results that such a call has: rank `rank`, nout of them. False where it is none. */
bool mw__trial_shapes(subject *s, place *const *in, place *const *out, int rank, mw_meta *ret);

/* ---- claims.c ------------------------------------------------------------------------------- */

typedef struct claim {
    mw_layout *out; /* [nout] */
    struct claim *next;
} claim;

/* What the library offers for operands that lie like this, without moving anything. In scratch. */
MW_NODISCARD mw_status mw__claims_get(subject *s, place *const *in, claim **ret);

/* Calls `tell` with every combination of operands' layouts that some claim is made for and that is
 * made of the rule's options; duplicates included. */
MW_NODISCARD mw_status mw__claims_list(subject *s,
                                       mw_status (*tell)(void *user, const mw_layout *in),
                                       void *user);

/* The layouts of operands under which a letter marked `^` is split, all else whole. */
MW_NODISCARD mw_status mw__claims_parts(subject *s,
                                        mw_status (*tell)(void *user, const mw_layout *in),
                                        void *user);

/* ---- plant.c -------------------------------------------------------------------------------- */

/* Plants fault number nth of its kind into the rule. False where there is none; `says` what. */
bool mw__plant(const mw_call_args *call, mw_plant kind, int nth, mw_rule *rule, char *says,
               size_t size);

/* Why a kind is not possible in this op at all, or NULL. */
const char *mw__plant_hindrance(const mw_op *op, mw_plant kind, const mw_rule *rule);

/* ---- parts.c -------------------------------------------------------------------------------- */

/* Runs the op's parts, its operands lying so, on thread ranks. *ret_right: they give what one rank
 * gives; else `says` tells what not. */
MW_NODISCARD mw_status mw__parts_try(subject *s, const char *mesh, place *const *in,
                                     bool *ret_right, char *says, size_t size);

/* ---- variant.c ------------------------------------------------------------------------------ */

/* The nth sample of a text, as a text of its own; NULL: no memory. */
const char *mw__sample_text(const char *samples, int nth, mw_arena *arena);

/* The same call with other sizes: each size `from` in the shapes of tensors (0: each above 1)
 * becomes `to` (0: itself and 1). `lists`: numbers in lists of ints, too. */
const char *mw__sample_resized(const char *sample, int64_t from, int64_t to, bool lists,
                               mw_arena *arena);

/* The distinct sizes above 1 in a sample's shapes; returns how many. */
int mw__sample_sizes(const char *sample, int64_t *ret, int cap);

/* ---- report --------------------------------------------------------------------------------- */

typedef struct told {
    const char *text;
    struct told *next;
} told;

typedef struct report {
    const char *op;
    mw_arena *arena;
    told *seen[MW_FINDING_KINDS];
    void (*found)(void *user, const mw_verify_finding *f);
    void *user;
    mw_verify_result *result;
} report;

/* combos.c: all combinations of one subject. `missing`: what is right and not claimed is told. */
MW_NODISCARD mw_status mw__combos_try(subject *s, report *r, bool missing);

/* The reason for which the op refuses placements on one axis on purpose, or NULL. */
const char *mw__refused(const mw_op *op, const char *placements, mw_arena *arena);

/* Tells a finding, unless the same was told of another sample. */
MW_NODISCARD mw_status mw__report(report *r, const subject *s, mw_finding_kind kind,
                                  const char *placements, const char *says);

/* ---- text.c: in scratch; NULL: no memory --------------------------------------------------- */

const char *mw__mismatch_text(subject *s, place *const *in, int set, const mismatch *m);

/* "S(1), S(0) -> R" */
const char *mw__combo_text(const subject *s, place *const *in, place *const *out);
/* The same of one axis alone: what lies on others is left out. */
const char *mw__combo_axis_text(const subject *s, place *const *in, place *const *out, int axis);

#endif
