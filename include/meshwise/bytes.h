/* A run of bytes that somebody else owns: may hold NUL, is not NUL-terminated. */
#ifndef MESHWISE_BYTES_H
#define MESHWISE_BYTES_H

#include <stdint.h>

typedef struct mw_bytes {
    const char *at;
    int64_t length;
} mw_bytes;

#endif
