/* mark_call: mark_sharding called by name, with ids, shapes and specs as arguments. */
#ifndef RUN_MARK_CALL_H
#define RUN_MARK_CALL_H

#include "ops/args.h"
#include "run/run.h"

/* What a call marks, and how. */
typedef struct mw_mark_call {
    int tensor;    /* which of the caller's tensors */
    mw_mesh *mesh; /* interned; NULL: that of the tensor */
    mw_layout layout;
    const char *text; /* not NULL: a layout in any notation on the tensor's mesh, not read yet */
} mw_mark_call;

/* A tensor where ints are wanted: its values, if they are known now. *ret_count -1: they are not,
 * and *ret_text says what it is called ("%ids"). */
typedef mw_status (*mw_known_ints)(void *user, int tensor, mw_arena *arena, const int64_t **ret,
                                   int *ret_count, const char **ret_text);

/* Is it one of the names of marks.def, with or without its namespace? */
bool mw__mark_named(const char *name);

/* Reads a call. `tensors` are the caller's; `launch` is the mesh of all ranks. What is wrong is
 * told by argument name and position, with the declaration. */
MW_NODISCARD mw_status mw__mark_read(const char *name, const mw_given *given, int ngiven,
                                     const mw_meta *tensors, const mw_mesh *launch,
                                     mw_known_ints known, void *user, mw_arena *arena,
                                     mw_mark_call *ret);

#endif
