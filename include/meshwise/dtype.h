/* Element types. One row of MW_DTYPE_MAP is all that the library knows of a dtype. */
#ifndef MESHWISE_DTYPE_H
#define MESHWISE_DTYPE_H

#include <meshwise/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, bytes, kind, torch name, other spellings that are read, separated by spaces).
 * Order is promotion order within a kind: the later of two wins (bf16 with f16 gives f32). */
#define MW_DTYPE_MAP(X)                                      \
    X(bool, 1, 1, BOOL, "torch.bool", "b8 pred i1 boolean")  \
    X(u8, 2, 1, INT, "torch.uint8", "uint8 ui8 byte")        \
    X(i8, 3, 1, INT, "torch.int8", "int8 s8 si8 char")       \
    X(i16, 4, 2, INT, "torch.int16", "int16 s16 si16 short") \
    X(i32, 5, 4, INT, "torch.int32", "int32 s32 si32 int")   \
    X(i64, 6, 8, INT, "torch.int64", "int64 s64 si64 long")  \
    X(f16, 7, 2, FLOAT, "torch.float16", "float16 half")     \
    X(bf16, 8, 2, FLOAT, "torch.bfloat16", "bfloat16")       \
    X(f32, 9, 4, FLOAT, "torch.float32", "float32 float")    \
    X(f64, 10, 8, FLOAT, "torch.float64", "float64 double")

typedef enum mw_dtype {
    MW_DTYPE_NONE = 0, /* not stated */
#define X(name, value, bytes, kind, torch, other) MW_DTYPE_##name = (value),
    MW_DTYPE_MAP(X)
#undef X
        MW_DTYPE_END
} mw_dtype;

typedef enum mw_dtype_kind { MW_KIND_BOOL, MW_KIND_INT, MW_KIND_FLOAT } mw_dtype_kind;

/* Pure, all of them; name and size of MW_DTYPE_NONE are "?" and 0. */
MW_API const char *mw_dtype_name(mw_dtype dtype);       /* "f32" */
MW_API const char *mw_dtype_torch_name(mw_dtype dtype); /* "torch.float32" */
MW_API int64_t mw_dtype_size(mw_dtype dtype);           /* bytes of one element */
MW_API mw_dtype_kind mw_dtype_kind_of(mw_dtype dtype);

/* Reads `length` characters as a dtype's name, torch name or other spelling; MW_DTYPE_NONE where it
 * is none. */
MW_API mw_dtype mw_dtype_read(const char *text, int length);

/* The dtype in which an element-wise op of these two computes: torch's rule for tensors of one or
 * more dims. */
MW_API mw_dtype mw_dtype_promote(mw_dtype a, mw_dtype b);

#ifdef __cplusplus
}
#endif
#endif
