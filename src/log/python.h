/* python: what Python prints, read into a tree. The readers of DTensor, JAX and NCCL texts build on
 * it.
 *
 *     Spec(f32[2, 16](S(0)R)), [16], None, dim=-1
 *
 * A tolerant reader: it makes of any text whatever it can and never fails but without memory. An
 * item between commas is a value, or a run of values side by side (SEQ: `S(1) on (2, 16)`,
 * `f32[2, 16](R)`). Every node keeps its piece of the source. Time and memory are linear in the
 * text: nesting is read to a fixed depth, and a fixed number of nodes. */
#ifndef LOG_PYTHON_H
#define LOG_PYTHON_H

#include "base/base.h"

typedef enum mw_py_kind {
    MW_PY_INT,
    MW_PY_FLOAT,
    MW_PY_STR,
    MW_PY_NAME, /* dotted and with `::`: aten.mm.default, None, torch.float32 */
    MW_PY_CALL, /* name(...), without a blank before the bracket */
    MW_PY_TUPLE,
    MW_PY_LIST,
    MW_PY_DICT,
    MW_PY_SEQ,
    MW_PY_MARK /* any other character */
} mw_py_kind;

typedef struct mw_py {
    mw_py_kind kind;
    const char *at; /* its piece of the source */
    int64_t length;
    const char *name; /* NAME, CALL: the name; STR: what stands between the quotes */
    int name_length;
    const char *key; /* `key=` before it; NULL: none */
    int key_length;
    int64_t i; /* INT */
    double f;  /* INT, FLOAT */
    struct mw_py *first, *next;
    int count; /* of children */
} mw_py;

/* Reads one item from `at`, to its end or `end`; what follows is not looked at. */
MW_NODISCARD mw_status mw__py_read(const char *at, const char *end, mw_arena *arena, mw_py **ret);

/* Reads items separated by commas, up to a closing bracket or `end`: a TUPLE. */
MW_NODISCARD mw_status mw__py_list(const char *at, const char *end, mw_arena *arena, mw_py **ret);

bool mw__py_is(const mw_py *node, const char *name);         /* NAME or CALL of that name */
bool mw__py_mark(const mw_py *node, char c);                 /* that MARK */
const mw_py *mw__py_child(const mw_py *node, int nth);       /* or NULL */
const mw_py *mw__py_key(const mw_py *node, const char *key); /* the child with that key, or NULL */

/* A list or tuple of ints, or torch.Size([...]), into ret[cap]; their number, or -1 where it is
 * something else. */
int mw__py_ints(const mw_py *node, int64_t *ret, int cap);

/* Brackets that are open at the end of the text (never negative). */
int mw__py_open(const char *text, int64_t length);

#endif
