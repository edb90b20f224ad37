/* ops: the op table. An op is one word in ops.def and one `const mw_op` beside its kernel; all that
 * anybody needs to know about ops is read from here.
 *
 *     const mw_op mw_op_mm = {
 *         .schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
 *         .rule = "self[m k], mat2[k n] -> [m n]",
 *         .doc = "Matrix product of two matrices.",
 *         .reduce = MW_REDUCE_SUM,
 *         .linear_in = MW_ARG(0) | MW_ARG(1),
 *         .kernel = mm_kernel,
 *         .samples = "f32[4, 6], f32[6, 5]; f64[1, 3], f64[3, 2]",
 *     };
 *
 * Rules are Pure. Kernels see one rank's shards only, and are told where these lie in the whole. */
#ifndef OPS_OP_H
#define OPS_OP_H

#include "base/base.h"
#include "mesh/mesh.h"
#include "tensor/tensor.h"

#include <meshwise/op.h>

/* ---- a call's arguments, in schema order ---------------------------------------------------
 * Tensors are operands, numbered through all arguments: an argument of kind TENSOR or TENSORS is
 * `count` operands from `first`. NONE is an optional argument that is not there. */
typedef struct mw_arg {
    uint8_t kind;
    int first, count;        /* TENSOR, TENSORS: operands; INTS, STRS: how many */
    int64_t i;               /* INT, BOOL, DTYPE */
    double f;                /* FLOAT */
    const int64_t *ints;     /* INTS */
    const char *s;           /* STR */
    const char *const *strs; /* STRS */
} mw_arg;

/* What is known of a tensor without its data. Shapes are global. */
typedef struct mw_meta {
    mw_dtype dtype;
    int ndim;
    int64_t shape[MW_MAX_DIMS];
} mw_meta;

struct mw_op;
struct mw_interp;
struct mw_mat;
struct mw_narrow;
typedef struct mw_call_args {
    const struct mw_op *op;
    int narg;
    const mw_arg *arg; /* [narg] in schema order */
    int nin;
    const mw_meta *in; /* [nin] operands */
} mw_call_args;

/* Static arguments by position, with what they are when absent (NONE). A Scalar may be INT, BOOL or
 * FLOAT: _float reads all three. */
int64_t mw__arg_int(const mw_call_args *call, int pos, int64_t absent);
double mw__arg_float(const mw_call_args *call, int pos, double absent);
bool mw__arg_bool(const mw_call_args *call, int pos, bool absent);
mw_dtype mw__arg_dtype(const mw_call_args *call, int pos, mw_dtype absent);
/* The operand of a TENSOR argument, or -1 where it is absent. */
int mw__arg_operand(const mw_call_args *call, int pos);
/* A dim argument made non-negative; MW_ERR_SHAPE names op, argument and range. ndim 0 counts as 1.
 */
MW_NODISCARD mw_status mw__arg_dim(const mw_call_args *call, int pos, int ndim, int *ret);

/* ---- the rule of one call ------------------------------------------------------------------
 * Letters (factors) with sizes, and which dims of which operand are made of them. A dim is a
 * product of letters, major to minor; a dim without letters has size 1 and cannot be split. */
typedef enum mw_mark {
    MW_MARK_FREE,       /* may be split */
    MW_MARK_WHOLE,      /* `*`: must be whole on a rank */
    MW_MARK_NEIGHBOURS, /* `~`: could be split with a halo */
    MW_MARK_PARTS       /* `^`: may be split because the op names its parts */
} mw_mark;

enum { MW_DIM_LETTERS = 4, MW_RULE_LETTERS = 40 };

typedef struct mw_letter {
    char name[8];
    uint8_t mark;
    uint8_t in_output; /* some output has it; otherwise splitting it leaves a partial result */
    int64_t size;
} mw_letter;

typedef struct mw_operand {
    int8_t ndim;
    int8_t term;     /* which product of the sum it belongs to; -1: common to all (`cond;`) */
    uint8_t linear;  /* a partial sum may pass through it */
    int8_t monotone; /* P(max) and P(min) may: +1 as they are, -1 in each other's place */
    uint8_t unread;  /* only its shape counts: it may lie in any way */
    uint8_t nletter[MW_MAX_DIMS];
    uint8_t letter[MW_MAX_DIMS][MW_DIM_LETTERS];
} mw_operand;

typedef struct mw_rule {
    int nletter, nin, nout, nterm;
    mw_letter letter[MW_RULE_LETTERS];
    mw_operand *in;    /* [nin], in the arena */
    mw_operand *out;   /* [nout] */
    mw_meta *out_meta; /* [nout]: dtype and global shape of each output */
    mw_reduce reduce; /* what a letter that vanishes makes of the outputs; NONE: it must be whole */
    int8_t monotone;  /* that of the operands with a term that `factors` has not set */
    uint8_t joint;    /* MW_JOINT mask: maxima (minima) of several terms at once pass */
} mw_rule;

#define MW_JOINT(kind)   (1u << (kind))
#define MW_JOINT_EXTREME (MW_JOINT(MW_REDUCE_MAX) | MW_JOINT(MW_REDUCE_MIN))

/* What a factory's or an element-wise op's result dtype is. */
typedef enum mw_out_dtype {
    MW_OUT_FIRST,   /* that of the first operand */
    MW_OUT_PROMOTE, /* torch's promotion over all operands and Scalars */
    MW_OUT_FLOAT,   /* the same, and integers become f32 */
    MW_OUT_SUM,     /* argument `dtype`, else i64 for integers and bool, else as FIRST */
    MW_OUT_BOOL,
    MW_OUT_INDEX, /* i64 */
    MW_OUT_ARG    /* argument `dtype`; absent: as FIRST, or f32 where there are no operands */
} mw_out_dtype;

/* ---- kernels -------------------------------------------------------------------------------
 * A kernel reads views of the local shards in `in` (operand order) and fills the views in `out`,
 * which it may assume contiguous, not overlapping the inputs, and of the right dtype and local
 * shape (any size may be 0). In-place ops: out[0] is in[0], any strides. Absent optional operands
 * have no view: use mw__arg_operand. Sizes come from the views, never from size arguments, which
 * are global. `scratch` is cleared after the call. A kernel that needs global positions asks
 * mw__kernel_ranges; out-of-range data is MW_ERR_ARG with a sentence. */
typedef struct mw_kernel_call {
    const mw_call_args *call;
    int nin, nout;
    const mw_view *in;
    const mw_view *out;
    const mw_mesh *mesh;                /* NULL: one rank */
    const int *coord;                   /* this rank's coordinates on the mesh */
    const mw_layout *const *in_layout;  /* [nin]; NULL entries or a NULL mesh: whole */
    const mw_layout *const *out_layout; /* [nout] */
    mw_arena *scratch;
    const struct mw_narrow *narrow; /* the matrix of the op's `weight` in fewer bytes, or NULL */
} mw_kernel_call;

/* Global positions that this rank holds of dim `dim` of a tensor with `layout` (NULL: whole, of
 * `size`), as ranges in the scratch arena. */
MW_NODISCARD mw_status mw__kernel_ranges(const mw_kernel_call *k, const mw_layout *layout, int dim,
                                         int64_t size, const mw_range **ret, int64_t *ret_count);

/* ---- the op itself ------------------------------------------------------------------------- */
#define MW_ARG(n) (1u << (n))

typedef struct mw_op {
    const char *schema; /* ATen's own text: names, types, defaults, aliasing */
    const char *rule;   /* the factor text; NULL or for the reader only where `factors` is given */
    const char *doc;    /* one sentence, ends in a full stop */
    unsigned linear_in; /* MW_ARG mask: linear in that argument, within its term of the rule */
    mw_reduce reduce;
    int8_t monotone;      /* +1: P(max) and P(min) pass; -1: and change places; 0: no */
    unsigned monotone_in; /* MW_ARG mask: through which arguments; 0: all */
    uint8_t joint;        /* MW_JOINT mask, see mw_rule */
    unsigned unread;      /* MW_ARG mask of tensors of which only shape and dtype count */
    mw_out_dtype dtype;
    unsigned same_dtype; /* MW_ARG mask of tensors that must agree in dtype, as torch demands */
    bool
        borders; /* dims that change their size keep their order (slice, pad, cat): cut alike before
                    and after, only what lies at borders moves. Propagation alone reads this */

    /* The op of which this one writes the result to its first operand: rule, flags and kernel are
     * that one's. */
    const struct mw_op *in_place_of;

    mw_status (*kernel)(const mw_kernel_call *k);

    /* The operand whose matrix the kernel reads once in this call, at the speed of memory, or -1;
     * ret: the matrix, whose rows the kernel multiplies with the rows of the other. Where its
     * values stay what they are, a compiled program gives it to the kernel in fewer bytes
     * (narrow.h). */
    int (*weight)(const mw_kernel_call *k, struct mw_mat *ret);

    /* An op whose result aliases its first operand has a view instead of a kernel: strides and data
     * of `out`, whose local shape is set, from `in`. MW_ERR_UNSUPPORTED: these strides need a copy
     * first (the caller makes the operand contiguous and asks again). nth: which output. */
    mw_status (*view)(const mw_call_args *call, int nth, const mw_view *in, mw_view *out);

    /* Overrides of what is read off schema and rule. `factors` fills letters and operands of a rule
     * whose arrays are made (nin, and nout as the schema or `nout` says). */
    mw_status (*factors)(const mw_call_args *call, mw_arena *arena, mw_rule *rule);
    int (*nout)(const mw_call_args *call); /* of ops that return Tensor[] */

    /* What to do where a letter marked `^` is split: a small program in ops whose intermediate
     * results are small, instead of gathering the operand. `reductions`: how many small all_reduces
     * it makes, for its price. Operands come as the tensors of the interpreter, results go to
     * ret_out. */
    mw_status (*parts)(struct mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                       mw_tensor **ret_out);
    int reductions;

    /* A reshape: the layout goes through mw__dims_regroup instead of letters; gives the out shape.
     */
    mw_status (*reshape)(const mw_call_args *call, mw_meta *ret_out);

    /* Inputs for the generic tests, as text: samples separated by `;`, arguments by `,`, in schema
     * order: `f32[4, 6]` (normal), `f32[3]>0` (positive), `i64[5]<10` (0..9), `{f32[2], f32[3]}`,
     * `3`, `0.5`, `[1, 2]`, `true`, `none`, `f16` (a dtype). See ops/sample.h. */
    const char *samples;

    const char *refuses; /* placements refused on purpose, with the reason; NULL mostly */
} mw_op;

typedef enum mw_op_id {
#define OP(name) MW_OP_##name,
#include "ops/ops.def"
#undef OP
    MW_OP_COUNT
} mw_op_id;

const mw_op *mw__op_at(mw_op_id id);
const char *mw__op_word(mw_op_id id); /* the word in ops.def */

#endif
