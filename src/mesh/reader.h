/* reader: a cursor over mesh and layout text, shared by the two parsers. */
#ifndef MESH_READER_H
#define MESH_READER_H

#include "base/base.h"

typedef struct mw__reader {
    const char *what; /* "mesh", "layout": the first word of an error */
    const char *text; /* whole text, for the caret */
    const char *at;   /* next character */
} mw__reader;

void mw__reader_space(mw__reader *r);        /* skips white space */
char mw__reader_peek(mw__reader *r);         /* next character after white space */
bool mw__reader_take(mw__reader *r, char c); /* consumes `c`, after white space, if it is next */

/* A non-negative number. `of` says what is expected, for the error; MW_ERR_SHAPE on overflow. */
MW_NODISCARD mw_status mw__reader_int(mw__reader *r, const char *of, int64_t *ret);

/* A bare or quoted name: letters, digits and `_`, or anything between double quotes. `of` as above.
 * Empty and over-long names are errors. */
MW_NODISCARD mw_status mw__reader_name(mw__reader *r, const char *of, int cap, char *ret);

/* An error under `at` that is not about the grammar: the same picture, another code. */
mw_status mw__reader_fail(const mw__reader *r, const char *at, mw_status code, const char *format,
                          ...) MW_PRINTF(4, 5);

/* A name that reads back without quotes. Pure. */
bool mw__name_bare(const char *name);

#endif
