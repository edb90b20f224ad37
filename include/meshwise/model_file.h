/* Model files: what is in them, before any weight is read.
 *
 * A model file is a list of keys with values (sizes, tokenizer, ...) and a list of named tensors:
 *
 *     "llama.block_count" = 30        "token_embd.weight"  [49152, 576] as Q8_0  at byte 1722112
 *     "tokenizer.ggml.tokens" = [..]  "blk.0.attn_q.weight"  [576, 576] as Q4_1  at byte 31799296
 *
 *     mw_model_file *file;
 *     int64_t layers;
 *     if (mw_model_file_open("model.gguf", &file) != MW_OK) return report(mw_last_error());
 *     if (mw_model_file_i64(file, "llama.block_count", &layers) != MW_OK) ...
 *     mw_model_file_close(file);
 *
 * GGUF, versions 2 and 3, little-endian. Opening reads the header alone and checks all of it: each
 * count, length, type, shape and offset against the file's size. A file is immutable once open: all
 * threads may use it at once. What is borrowed from it lives until it is closed. */
#ifndef MESHWISE_MODEL_FILE_H
#define MESHWISE_MODEL_FILE_H

#include <meshwise/bytes.h>
#include <meshwise/dtype.h>
#include <meshwise/mesh.h>
#include <meshwise/op.h>
#include <meshwise/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mw_model_file mw_model_file;

/* Opens the file at `path`. The caller owns the result. Local.
 * Fails: MW_ERR_IO where there is no readable regular file; MW_ERR_FORMAT where it is not what it
 * should be (another format is named, damage is told with its place); MW_ERR_NOMEM. */
MW_API MW_NODISCARD mw_status mw_model_file_open(const char *path, mw_model_file **ret);

/* NULL is fine. On a thread with the allocator that opened it. Local. */
MW_API void mw_model_file_close(mw_model_file *file);

MW_API const char *mw_model_file_path(const mw_model_file *file);   /* as opened; borrowed */
MW_API const char *mw_model_file_format(const mw_model_file *file); /* "GGUF 3"; borrowed */

/* ---- values -------------------------------------------------------------------------------- */

/* X(name, type code in the file, bytes of one, text) */
#define MW_VALUE_MAP(X)       \
    X(U8, 0, 1, "u8")         \
    X(I8, 1, 1, "i8")         \
    X(U16, 2, 2, "u16")       \
    X(I16, 3, 2, "i16")       \
    X(U32, 4, 4, "u32")       \
    X(I32, 5, 4, "i32")       \
    X(F32, 6, 4, "f32")       \
    X(BOOL, 7, 1, "bool")     \
    X(STRING, 8, 8, "string") \
    X(U64, 10, 8, "u64")      \
    X(I64, 11, 8, "i64")      \
    X(F64, 12, 8, "f64")

typedef enum mw_value_type {
#define X(name, code, bytes, text) MW_VALUE_##name = (code),
    MW_VALUE_MAP(X)
#undef X
} mw_value_type;

MW_API const char *mw_value_type_name(mw_value_type type); /* "u32". Pure */

/* One key with its value: a scalar, or an array of scalars of one type. */
typedef struct mw_model_value {
    const mw_model_file *file;
    const char *key;
    mw_value_type type;
    int is_array;
    int64_t count;   /* elements; 1 for a scalar */
    int64_t at;      /* where the value stands in the header, for the getters */
    int64_t strings; /* likewise */
} mw_model_value;

MW_API int64_t mw_model_file_values(const mw_model_file *file); /* how many. Pure */

/* The value at a place in the file's order (0 <= index < mw_model_file_values), or of a key; NULL
 * where there is none. Borrowed. Pure. */
MW_API const mw_model_value *mw_model_file_value(const mw_model_file *file, int64_t index);
MW_API const mw_model_value *mw_model_file_find(const mw_model_file *file, const char *key);

/* Element `index` of a value (0 for a scalar). Local.
 * i64: of any integer type; f64: of any number type; bool and string: of that type.
 * Fails: MW_ERR_ARG for an index out of range; MW_ERR_FORMAT, naming key and type, for a value of
 * another type or an integer that does not fit. */
MW_API MW_NODISCARD mw_status mw_model_value_i64(const mw_model_value *value, int64_t index,
                                                 int64_t *ret);
MW_API MW_NODISCARD mw_status mw_model_value_u64(const mw_model_value *value, int64_t index,
                                                 uint64_t *ret);
MW_API MW_NODISCARD mw_status mw_model_value_f64(const mw_model_value *value, int64_t index,
                                                 double *ret);
MW_API MW_NODISCARD mw_status mw_model_value_bool(const mw_model_value *value, int64_t index,
                                                  int *ret);
MW_API MW_NODISCARD mw_status mw_model_value_string(const mw_model_value *value, int64_t index,
                                                    mw_bytes *ret);

/* The value of a key that must be there. Local.
 * Fails: MW_ERR_FORMAT where the key is missing (with the nearest key), is an array (the scalar
 * forms) or a scalar (the array form), or has another type. */
MW_API MW_NODISCARD mw_status mw_model_file_i64(const mw_model_file *file, const char *key,
                                                int64_t *ret);
MW_API MW_NODISCARD mw_status mw_model_file_u64(const mw_model_file *file, const char *key,
                                                uint64_t *ret);
MW_API MW_NODISCARD mw_status mw_model_file_f64(const mw_model_file *file, const char *key,
                                                double *ret);
MW_API MW_NODISCARD mw_status mw_model_file_bool(const mw_model_file *file, const char *key,
                                                 int *ret);
MW_API MW_NODISCARD mw_status mw_model_file_string(const mw_model_file *file, const char *key,
                                                   mw_bytes *ret);
MW_API MW_NODISCARD mw_status mw_model_file_array(const mw_model_file *file, const char *key,
                                                  mw_value_type type, const mw_model_value **ret);

/* ---- tensors ------------------------------------------------------------------------------- */

/* One stored tensor. The shape is row-major, the last dim fastest: a weight of `linear` is
 * [out, in]. (GGUF itself writes the fastest first.) */
typedef struct mw_model_tensor {
    const char *name;
    const char *type; /* as stored: "F32", "Q4_1", ... */
    int ndim;
    int64_t shape[MW_LAYOUT_DIMS];
    int64_t offset; /* of its first byte in the file */
    int64_t bytes;  /* in the file; -1 where the type's size is not known */
} mw_model_tensor;

MW_API int64_t mw_model_file_tensors(const mw_model_file *file); /* how many. Pure */

/* The tensor at a place in the file's order, or of a name; NULL where there is none. Borrowed.
 * Pure. */
MW_API const mw_model_tensor *mw_model_file_tensor(const mw_model_file *file, int64_t index);
MW_API const mw_model_tensor *mw_model_file_tensor_find(const mw_model_file *file,
                                                        const char *name);

/* The tensor of a name that must be there, with `ndim` dims of these sizes (-1: any) and of a type
 * that can be read. *ret may be borrowed until the file is closed. Local.
 * Fails: MW_ERR_FORMAT naming the file, the tensor, and what was wanted and found. */
MW_API MW_NODISCARD mw_status mw_model_file_require(const mw_model_file *file, const char *name,
                                                    int ndim, const int64_t *shape,
                                                    const mw_model_tensor **ret);

/* ---- reading ------------------------------------------------------------------------------- */

/* The part of a tensor that is the product of these positions: per dim `count` ranges, rising and
 * apart, as mw_layout_ranges gives them. A NULL `range` is the whole dim, `= {0}` the whole tensor.
 */
typedef struct mw_model_box {
    struct {
        const mw_range *range;
        int64_t count;
    } dim[MW_LAYOUT_DIMS];
} mw_model_box;

/* Elements of the box: the product of what it takes of each dim. The box must fit. Pure. */
MW_API int64_t mw_model_box_count(const mw_model_tensor *tensor, const mw_model_box *box);

/* Reads the box (NULL: all) of a tensor of this file, as `dtype`, row-major without gaps into `to`,
 * which has room for mw_model_box_count elements. Only the blocks that hold wanted elements are
 * used. A quantised weight is d * q (+ m) in f32: one multiplication, one addition; from there, and
 * from every other float, to the nearest of `dtype`. An integer dtype must be the stored one.
 * Local. Fails: MW_ERR_ARG (a range outside the dim or not rising, a dtype that is not possible),
 * MW_ERR_FORMAT (a stored type that can't be read), MW_ERR_IO (the file got shorter), MW_ERR_NOMEM.
 */
MW_API MW_NODISCARD mw_status mw_model_file_read(const mw_model_file *file,
                                                 const mw_model_tensor *tensor,
                                                 const mw_model_box *box, mw_dtype dtype, void *to);

/* The stored tensor `name` as a tensor of the running program, named so, that lies as `layout` says
 * (its shape must be the stored one, its dtype a float): each rank reads its own shard only. NULL
 * on failure. Local: no communication. */
MW_API mw_tensor *mw_model_file_load(const mw_model_file *file, const char *name, mw_mesh *mesh,
                                     const mw_layout *layout);

#ifdef __cplusplus
}
#endif
#endif
