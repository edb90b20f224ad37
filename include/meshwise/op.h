/* Calling ops. meshwise/ops.h has one C function per op (made from the op table); this header has
 * what they share, and the boxed call, which takes an op by name and checks the arguments against
 * its schema.
 *
 * Ops are expressions: they take and return tensors. A failure returns NULL, an op given NULL
 * returns NULL, and the first error stays in the rank's record: a program checks once, at its end.
 */
#ifndef MESHWISE_OP_H
#define MESHWISE_OP_H

#include <math.h>
#include <meshwise/dtype.h>
#include <meshwise/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mw_tensor mw_tensor;

/* Where a call stands in the user's program. Macros record it. */
typedef struct mw_site {
    const char *file;
    int line;
    const char *args; /* the text of the arguments */
} mw_site;

static inline mw_site mw_site_make(const char *file, int line, const char *args)
{
    mw_site site;
    site.file = file;
    site.line = line;
    site.args = args;
    return site;
}
#define MW_SITE(args) mw_site_make(__FILE__, __LINE__, args)

/* Arguments that are not there: of `int?` and `float?`. Of other optional kinds it is NULL, or
 * MW_DTYPE_NONE. */
#define MW_NONE_INT   INT64_MIN
#define MW_NONE_FLOAT ((double)NAN)

/* A list of ints as two arguments: mw_permute(x, MW_INTS(1, 0)). */
#ifndef __cplusplus
#define MW_INTS(...) \
    (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#endif

/* Kinds of argument. */
typedef enum mw_arg_kind {
    MW_ARG_NONE,
    MW_ARG_TENSOR,
    MW_ARG_TENSORS,
    MW_ARG_INT,
    MW_ARG_INTS,
    MW_ARG_FLOAT,
    MW_ARG_BOOL,
    MW_ARG_DTYPE,
    MW_ARG_STR,
    MW_ARG_STRS,
    MW_ARG_SYMBOL /* a value known only at run time, printed as `s`; no op takes one */
} mw_arg_kind;

/* An argument of a boxed call. `name` NULL: by position. */
typedef struct mw_value {
    const char *name;
    uint8_t kind; /* mw_arg_kind */
    int count;    /* of tensors, ints, strs */
    union {
        mw_tensor *tensor;
        mw_tensor *const *tensors;
        int64_t i; /* INT, BOOL, DTYPE */
        double f;
        const int64_t *ints;
        const char *s;
        const char *const *strs;
    } as;
} mw_value;

/* Calls the op named `name` ("mm", "aten::add.Tensor", "aten.mm.default"). Results go to
 * ret_out[0 .. *ret_nout), at most `cap` of them, owned by the current scope.
 * Fails: MW_ERR_ARG names the argument, its position, what was given and the declaration; and all
 * that the op fails with. Collective over the operands' mesh. */
MW_API MW_NODISCARD mw_status mw_op_call_at(mw_site site, const char *name, const mw_value *args,
                                            int nargs, mw_tensor **ret_out, int cap, int *ret_nout);
#define mw_op_call(...) mw_op_call_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* Makes the same call, then runs its kernel alone `times` times more on the same operands, into the
 * same results: no look-up, no layouts, no memory. *ret_seconds is what these took: the price of
 * the op without its dispatcher, for benchmarks; 0 work for a view, which has no kernel. Results
 * belong to the current scope. Fails: as mw_op_call; MW_ERR_ARG for a call that moves data, writes
 * an operand, or has no data (fake). */
MW_API MW_NODISCARD mw_status mw_op_repeat_at(mw_site site, const char *name, const mw_value *args,
                                              int nargs, int64_t times, double *ret_seconds);
#define mw_op_repeat(...) mw_op_repeat_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* ---- ops of one's own -------------------------------------------------------------------------
 * A rank's part of a tensor, as plain strided memory. Strides are in elements. */
typedef struct mw_local {
    void *data; /* element [0, 0, ...]; may be NULL where there are no elements */
    mw_dtype dtype;
    int ndim;
    int64_t shape[8], stride[8];
} mw_local;

/* What a kernel is given: operands and results of one rank. Results are dense, their shapes follow
 * from the rule; a size may be 0. Sizes come from here, never from arguments, which are global. */
typedef struct mw_kernel {
    int nin, nout;
    const mw_local *in, *out;
    const void *call;
} mw_kernel;

/* A static argument of the call by its position in the schema; `absent` where it is None. */
MW_API int64_t mw_kernel_int(const mw_kernel *kernel, int position, int64_t absent);
MW_API double mw_kernel_float(const mw_kernel *kernel, int position, double absent);

typedef enum mw_result_dtype {
    MW_RESULT_FIRST,   /* that of the first operand */
    MW_RESULT_PROMOTE, /* torch's promotion over all operands and Scalars */
    MW_RESULT_FLOAT,   /* the same, and integers become f32 */
    MW_RESULT_BOOL,
    MW_RESULT_INDEX /* i64 */
} mw_result_dtype;

/* Everything is copied. `linear` is a mask: bit i says that a partial sum may pass through argument
 * i, if all other operands of its term are whole. See docs/adding-an-op.md for rules and samples.
 *
 *     mw_op_define(&(mw_op_definition){
 *         .schema = "mine::scale_rows(Tensor self, Tensor by) -> Tensor",
 *         .rule = "self[m n] by[m] -> [m n]",
 *         .doc = "Multiplies each row by a number.",
 *         .linear = 1 << 0 | 1 << 1,
 *         .samples = "f32[4, 6], f32[4]",
 *         .kernel = scale_rows,
 *     });
 */
typedef struct mw_op_definition {
    const char *schema, *rule, *doc;
    const char *samples; /* calls to verify it on; NULL: it can't be verified */
    const char *refuses; /* placements that are right and not offered, with reasons; or NULL */
    unsigned linear;
    int monotone; /* +1: maxima and minima pass; -1: and change places */
    int sums;     /* a letter that the results lack leaves a partial sum; else it must be whole */
    mw_result_dtype dtype;
    mw_status (*kernel)(const mw_kernel *kernel);
} mw_op_definition;

/* Adds an op for the life of the process: mw_op_call knows it by name, mw_verify verifies it. From
 * any thread; all processes of a launch must do it before they call it.
 * Fails: MW_ERR_PARSE with column and caret for schema and rule; MW_ERR_ARG for a name that is
 * taken. */
MW_API MW_NODISCARD mw_status mw_op_define(const mw_op_definition *definition);

/* ---- what there is to call ------------------------------------------------------------------ */

/* An op of the table, or one that was added. Lives as long as the process. */
typedef struct mw_op mw_op;

MW_API int mw_op_count(void);            /* of the table. Pure */
MW_API const mw_op *mw_op_at(int index); /* in the order of the docs; 0 <= index < count. Pure */

/* The op of a name, as mw_op_call takes it. Fails: MW_ERR_ARG with the nearest name. Pure. */
MW_API MW_NODISCARD mw_status mw_op_find(const char *name, const mw_op **ret);

/* What the table says of an op. Texts are borrowed and never go away. */
typedef struct mw_op_text {
    const char *word;   /* "add_scalar": that of the C function */
    char aten[112];     /* "aten::add.Scalar" */
    const char *schema; /* ATen's declaration */
    const char *rule; /* factors: "self[m k], mat2[k n] -> [m n]"; "" where only code can say it */
    const char *doc;  /* one sentence */
    const char *refuses; /* placements refused on purpose, with the reason; "" mostly */
} mw_op_text;
MW_API MW_NODISCARD mw_status mw_op_describe(const mw_op *op, mw_op_text *ret); /* Pure */

/* How one mesh axis may lie on the operands of a call and then lies on its results, in DTensor's
 * words: "R", "S(0)", "_S(0, 2)", "P(sum)". A layout that these can't say is given as text.
 * Borrowed during `row`. */
typedef struct mw_op_placement {
    int nin, nout;
    const char *const *in, *const *out;
} mw_op_placement;

/* Tells `row` every placement that runs without moving anything, for a call of the op's first
 * sample: what the dispatcher itself would accept. (P(avg) is left out: it is P(sum) after a free
 * division; so is splitting a `^` letter, whose parts reduce.) Fails: MW_ERR_NOMEM. Pure but for
 * `row`. */
MW_API MW_NODISCARD mw_status mw_op_placements(
    const mw_op *op, void (*row)(void *user, const mw_op_placement *placement), void *user);

#ifdef __cplusplus
}
#endif
#endif
