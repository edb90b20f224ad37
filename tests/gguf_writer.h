/* Writes GGUF files for tests, good ones and bad ones: the caller says each field in file order, so
 * every field can be wrong. Bytes grow in memory; a file is made from them in a folder of its own.
 */
#ifndef TESTS_GGUF_WRITER_H
#define TESTS_GGUF_WRITER_H

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct gguf_writer {
    uint8_t *at;
    size_t size, cap;
} gguf_writer;

static inline void put(gguf_writer *w, const void *bytes, size_t size)
{
    if (w->size + size > w->cap) {
        w->cap = 2 * (w->size + size);
        w->at = realloc(w->at, w->cap);
        if (!w->at) abort();
    }
    if (size > 0) memcpy(w->at + w->size, bytes, size);
    w->size += size;
}

/* Little-endian, whatever the machine is. */
static inline void put_uint(gguf_writer *w, uint64_t value, int bytes)
{
    uint8_t to[8];
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
    put(w, to, (size_t)bytes);
}

static inline void put_f32(gguf_writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_uint(w, bits, 4);
}

static inline void put_string_of(gguf_writer *w, const char *text, size_t length)
{
    put_uint(w, length, 8);
    put(w, text, length);
}

static inline void put_string(gguf_writer *w, const char *text)
{
    put_string_of(w, text, strlen(text));
}

static inline void put_head(gguf_writer *w, uint32_t version, uint64_t tensors, uint64_t values)
{
    put(w, "GGUF", 4);
    put_uint(w, version, 4);
    put_uint(w, tensors, 8);
    put_uint(w, values, 8);
}

static inline void put_key(gguf_writer *w, const char *key, uint32_t type)
{
    put_string(w, key);
    put_uint(w, type, 4);
}

static inline void put_array(gguf_writer *w, const char *key, uint32_t type, uint64_t count)
{
    put_key(w, key, 9);
    put_uint(w, type, 4);
    put_uint(w, count, 8);
}

/* Dims in the file's order, the fastest first. */
static inline void put_tensor(gguf_writer *w, const char *name, uint32_t ndim, const uint64_t *dims,
                              uint32_t type, uint64_t offset)
{
    put_string(w, name);
    put_uint(w, ndim, 4);
    for (uint32_t i = 0; i < ndim; i++)
        put_uint(w, dims[i], 8);
    put_uint(w, type, 4);
    put_uint(w, offset, 8);
}

static inline void put_align(gguf_writer *w, size_t alignment)
{
    while (w->size % alignment != 0)
        put_uint(w, 0, 1);
}

static inline void put_zeros(gguf_writer *w, size_t count)
{
    while (count-- > 0)
        put_uint(w, 0, 1);
}

static inline void writer_done(gguf_writer *w)
{
    free(w->at);
    *w = (gguf_writer){0};
}

/* A folder for the files of a test, and its end. */
static inline void folder_make(char *to, size_t size)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(to, size, "%s/meshwise-test-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(to)) abort();
}

static inline void file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || (size > 0 && fwrite(bytes, 1, size, file) != size)) abort();
    if (fclose(file) != 0) abort();
}

#endif
