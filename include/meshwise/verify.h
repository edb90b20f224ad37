/* Verifying rules: is what an op's rule claims true, and is all that is true claimed?
 *
 *     static void found(void *user, const mw_verify_finding *f)
 *     {
 *         printf("%s: %s: %s\n", f->sample, f->placements, f->says);
 *     }
 *
 *     mw_verify_result result;
 *     mw_verify("mm", &(mw_verify_options){.mesh = "2"}, found, NULL, &result);
 *
 * For each sample of the op, every combination of placements of its operands and results on a mesh
 * axis (R, S(d), P(sum), P(avg), P(max), P(min)) is tried by brute force: the operands are split
 * into shards or terms, the op's own kernel runs on those of each rank, the results are put
 * together and compared with those of one rank, on several sets of values.
 */
#ifndef MESHWISE_VERIFY_H
#define MESHWISE_VERIFY_H

#include <meshwise/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, text): faults that can be planted into a copy of an op's rule, to see that they are
 * found. */
#define MW_PLANT_MAP(X)                                                               \
    X(LETTER, "letter") /* a dim gets another dim's letter, or one of its own */      \
    X(MARK, "mark")     /* a letter that must be whole may be split */                \
    X(FLAG, "flag")     /* a partial passes where the op is not linear or monotone */ \
    X(BIAS, "bias")     /* the terms of a sum count as one: a bias on every rank */

typedef enum mw_plant {
    MW_PLANT_NONE,
#define X(name, text) MW_PLANT_##name,
    MW_PLANT_MAP(X)
#undef X
        MW_PLANT_KINDS
} mw_plant;

MW_API const char *mw_plant_name(mw_plant plant); /* "letter"; "" for NONE. Pure */

typedef struct mw_verify_options { /* all 0: the defaults */
    const char *mesh; /* "2" (NULL), "3", ... : one axis of so many ranks; "2x2": two axes, where
                       * all that is claimed is tried and a sample of what is not */
    mw_plant plant;
    uint64_t seed;
} mw_verify_options;

/* X(name, text) */
#define MW_FINDING_MAP(X)                                                             \
    X(INCORRECT, "incorrect") /* the library would run it, and the result is wrong */ \
    X(MISSING, "missing")     /* right on all values, and the library would not */    \
    X(REFUSED, "refused")     /* the same, and the op's row says why not */

typedef enum mw_finding_kind {
#define X(name, text) MW_FINDING_##name,
    MW_FINDING_MAP(X)
#undef X
        MW_FINDING_KINDS
} mw_finding_kind;

MW_API const char *mw_finding_name(mw_finding_kind kind); /* "incorrect". Pure */

/* Everything is borrowed during the callback. */
typedef struct mw_verify_finding {
    mw_finding_kind kind;
    const char *op;         /* "mm" */
    const char *sample;     /* the call: "f32[4, 6], f32[6, 5]" */
    const char *placements; /* "S(1), S(0) -> R" */
    const char *says;       /* what is wrong, or why it is refused */
} mw_verify_finding;

typedef struct mw_verify_result {
    char op[48];
    int samples; /* calls that were tried: the op's samples and the same with other sizes */
    int64_t combinations, valid;
    int incorrect, missing, refused; /* combinations, each counted once for the op */
    char planted[160];               /* the fault that was planted; "" without */
} mw_verify_result;

/* Verifies the op of that name (as mw_op_call takes it; one that the program has defined, too).
 * Each finding is told to `found` (may be NULL) as it is made.
 * Fails: MW_ERR_ARG for an unknown op, another mesh, or a plant that is not possible in this op,
 * with the reason; MW_ERR_UNSUPPORTED for an op without samples. Not inside a launched program:
 * what an op does in parts is run on ranks of its own. */
MW_API MW_NODISCARD mw_status mw_verify(const char *op, const mw_verify_options *options,
                                        void (*found)(void *user, const mw_verify_finding *f),
                                        void *user, mw_verify_result *ret);

#ifdef __cplusplus
}
#endif
#endif
