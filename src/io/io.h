/* io: model files. The header of a file is read and checked once, when it is opened; weights are
 * read later, by each rank for itself, the blocks that it needs and no others.
 *
 *     source          bytes of a file (pread) or of memory, every read checked against the size
 *     gguf            the header: values and tensors into a mw_model_file
 *     block           the stored types: block size, bytes, and blocks to f32
 *     read_box        ranges of a tensor into a row-major buffer
 */
#ifndef IO_IO_H
#define IO_IO_H

#include "base/base.h"
#include "tensor/tensor.h"

#include <meshwise/model_file.h>

/* ---- sources ------------------------------------------------------------------------------- */

/* Where bytes come from: `fd` >= 0, or memory that somebody else keeps alive. */
typedef struct mw__source {
    const char *path; /* for messages */
    const uint8_t *bytes;
    int64_t size; /* when it was opened */
    int fd;
} mw__source;

/* A regular file for reading. Fails: MW_ERR_IO with what stands there instead. */
MW_NODISCARD mw_status mw__source_open(const char *path, mw__source *ret);
void mw__source_close(mw__source *source);

/* The bytes [offset, offset + size), which must lie inside the size. Any thread. Fails: MW_ERR_IO
 * (the file has become shorter, the disk does not answer). */
MW_NODISCARD mw_status mw__source_read(const mw__source *source, int64_t offset, int64_t size,
                                       void *to);

/* Bytes of a file as text for a message: escapes what is not printable ASCII, ends in "..." where
 * `to` is too short. Returns `to`. Pure. */
enum { MW__QUOTE = 100 };
const char *mw__quote(const void *bytes, int64_t length, char to[MW__QUOTE]);

/* Says that the source is no GGUF file, and what it seems to be from its first bytes. */
mw_status mw__foreign_fail(const mw__source *source, const uint8_t *first, int64_t count);

/* ---- stored types -------------------------------------------------------------------------- */

/* How a tensor is stored: blocks of `block` elements along the last dim, `bytes` each. */
typedef struct mw__block_type {
    const char *name;
    uint32_t code; /* in GGUF */
    int block;     /* 0: not known */
    int bytes;
    mw_dtype dtype; /* of a plain type (block 1) that can be read */
    /* Of a quantised type that can be read: the portable definition, and the same bits faster on a
     * processor with AVX2 (NULL: there is none). */
    void (*portable)(float *to, const uint8_t *from, int64_t blocks);
    void (*avx2)(float *to, const uint8_t *from, int64_t blocks);
} mw__block_type;

enum { MW__BLOCK_MOST = 32 }; /* elements of the largest block that can be read */

const mw__block_type *mw__block_type_find(uint32_t code); /* NULL: no such type */
bool mw__block_type_readable(const mw__block_type *type);
void mw__block_types_hint(void); /* the hint that lists what can be read */
void mw__blocks_to_f32(const mw__block_type *type, float *to, const uint8_t *from, int64_t blocks);

#if defined(__x86_64__) && defined(__GNUC__)
#define MW__AVX2 1 /* the compiler can make AVX2 code; the processor is asked at run time */
#else
#define MW__AVX2 0
#endif
void mw__q4_0_avx2(float *to, const uint8_t *from, int64_t blocks);
void mw__q4_1_avx2(float *to, const uint8_t *from, int64_t blocks);
void mw__q5_0_avx2(float *to, const uint8_t *from, int64_t blocks);
void mw__q5_1_avx2(float *to, const uint8_t *from, int64_t blocks);
void mw__q8_0_avx2(float *to, const uint8_t *from, int64_t blocks);

/* ---- the file ------------------------------------------------------------------------------ */

typedef struct mw__stored {
    mw_model_tensor tensor; /* first: a public pointer is a pointer to this */
    const mw__block_type *type;
} mw__stored;

/* Names to places: open addressing, places + 1, 0 is free. */
typedef struct mw__name_map {
    uint32_t *slot;
    uint32_t mask;
} mw__name_map;

struct mw_model_file {
    mw__source source;
    mw_arena arena; /* path, keys, names, maps */
    const char *format;

    uint8_t *head; /* the header's bytes; of a memory source, its own bytes */
    int64_t head_size, head_cap;

    mw_model_value *value;
    int64_t nvalue, value_cap;
    uint32_t *string; /* where each string of an array stands in the header */
    int64_t nstring, string_cap;
    mw__stored *stored;
    int64_t nstored, stored_cap;

    const char **key, **name; /* of values and of tensors, in order: for mw__nearest */
    mw__name_map keys, names;
};

/* Reads the header into a file that has its source and nothing else. */
MW_NODISCARD mw_status mw__gguf_parse(mw_model_file *file);

/* A model file in memory, which must outlive it. `path` is for messages. */
MW_NODISCARD mw_status mw__model_file_from_memory(const void *bytes, int64_t size, const char *path,
                                                  mw_model_file **ret);

/* Lists the keys and names and maps them. Fails: MW_ERR_FORMAT for one that is there twice. */
MW_NODISCARD mw_status mw__model_file_index(mw_model_file *file);

#endif
