/* schema: ATen's declaration of an op as a value: names, types, defaults, aliasing.
 *
 *     aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
 *
 * A plain struct without pointers, so that it can be made anywhere without allocating, and copied.
 */
#ifndef OPS_SCHEMA_H
#define OPS_SCHEMA_H

#include "ops/op.h"

enum {
    MW_SCHEMA_ARGS = 16,
    MW_SCHEMA_RESULTS = 8,
    MW_SCHEMA_NAME = 40,  /* bytes of a name, with its NUL */
    MW_SCHEMA_INTS = 4,   /* ints of a default list */
    MW_SCHEMA_STRING = 24 /* bytes of a default string, with its NUL */
};

/* X(enumerator, word). The types that have a meaning here; the others are read and take None only,
 * or an int or str that nobody looks at. */
#define MW_TYPE_MAP(X)               \
    X(TENSOR, "Tensor")              \
    X(INT, "int")                    \
    X(SYMINT, "SymInt")              \
    X(FLOAT, "float")                \
    X(BOOL, "bool")                  \
    X(SCALAR, "Scalar")              \
    X(DTYPE, "ScalarType")           \
    X(STR, "str")                    \
    X(MEMORY_FORMAT, "MemoryFormat") \
    X(LAYOUT, "Layout")              \
    X(DEVICE, "Device")              \
    X(GENERATOR, "Generator")

typedef enum mw_type_base {
#define X(name, word) MW_TYPE_##name,
    MW_TYPE_MAP(X)
#undef X
        MW_TYPE_END
} mw_type_base;

typedef struct mw_type {
    uint8_t base;          /* mw_type_base */
    bool list;             /* T[] */
    bool optional;         /* T?, T[]? */
    bool element_optional; /* T?[] */
    bool written;          /* (a!) */
    bool spreads;          /* (a -> *): the results are views of it */
    char alias;            /* the letter in (a), or 0 */
    int8_t count;          /* T[2]: 2; T[]: 0 */
} mw_type;

typedef struct mw_schema_arg {
    char name[MW_SCHEMA_NAME];
    mw_type type;
    bool kwarg_only;
    bool has_default;
    mw_arg absent;                /* the default; its `ints` and `s` are not set: see */
    int64_t ints[MW_SCHEMA_INTS]; /* mw__schema_default */
    char text[MW_SCHEMA_STRING];
} mw_schema_arg;

typedef struct mw_schema {
    char space[16]; /* "aten" */
    char name[MW_SCHEMA_NAME];
    char overload[MW_SCHEMA_NAME]; /* "" where there is none */
    int narg, nresult;
    mw_schema_arg arg[MW_SCHEMA_ARGS];
    mw_type result[MW_SCHEMA_RESULTS];
    char result_name[MW_SCHEMA_RESULTS][MW_SCHEMA_NAME]; /* "" where not named */
} mw_schema;

/* Reads a declaration. MW_ERR_PARSE with column and caret. Pure. */
MW_NODISCARD mw_status mw__schema_parse(const char *text, mw_schema *ret);

/* Appends the declaration as ATen prints it; what mw__schema_parse reads. Pure. */
void mw__schema_str(const mw_schema *schema, mw_str *to);
void mw__type_str(const mw_type *type, mw_str *to);

/* Position of the argument of that name, or -1. Pure. */
int mw__schema_find(const mw_schema *schema, const char *name, size_t length);

/* The default of an argument that has one; lists and strings point into the schema. Pure. */
mw_arg mw__schema_default(const mw_schema_arg *arg);

/* The shortest text that reads back as `value`, with a point or an exponent. Pure. */
void mw__float_str(double value, mw_str *to);

#endif
