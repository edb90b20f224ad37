/* args: a call's arguments checked against a schema, and printed. */
#ifndef OPS_ARGS_H
#define OPS_ARGS_H

#include "mesh/mesh.h"
#include "ops/op.h"
#include "ops/schema.h"

/* One argument as it was given: by position (name NULL) or by keyword. `first` and `count` of a
 * tensor or a tensor list count the caller's own tensors, in any order. */
typedef struct mw_given {
    const char *name;
    mw_arg value;
} mw_given;

/* Arguments in schema order. Operand i is the caller's tensor number operand[i]. */
typedef struct mw_bound {
    int narg, nin;
    mw_arg arg[MW_SCHEMA_ARGS];
    int *operand; /* [nin], in the arena */
} mw_bound;

/* Fits `given` to the schema, with defaults. `tensors` (may be NULL) tells what the caller's
 * tensors are, for messages. Texts and ints of the result point into `given`, the schema or the
 * arena. MW_ERR_ARG says which argument does not fit, and shows the declaration. Pure. */
MW_NODISCARD mw_status mw__args_bind(const mw_schema *schema, const mw_given *given, int ngiven,
                                     const mw_meta *tensors, mw_arena *arena, mw_bound *ret);

/* Appends a value as text: `[1, 2]`, `0.5`, `None`, `"x"`, `f32[2, 3]`, `[f32[2], f32[3]]`. */
void mw__arg_str(const mw_arg *arg, const mw_meta *tensors, mw_str *to);
void mw__meta_str(const mw_meta *meta, mw_str *to);

/* Is the value what the argument is when it is not given? Pure. */
bool mw__arg_is_default(const mw_schema_arg *arg, const mw_arg *value);

/* Appends the call: `linear(input: f32[2, 576], weight: f32[3@tp·192, 576], None)`. Operands with a
 * layout (`layout` and its entries may be NULL) print it. Keyword-only arguments that are at their
 * defaults are left out. */
void mw__call_str(const mw_call_args *call, const mw_mesh *mesh, const mw_layout *const *layout,
                  mw_str *to);

#endif
