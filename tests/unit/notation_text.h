/* What the tests of notations share: reading a text, who holds what as a text, printing. */
#ifndef NOTATION_TEXT_H
#define NOTATION_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those first */
#include <cmocka.h>
#include <meshwise/alloc.h>
#include <meshwise/notation.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 8192 };

static inline mw_mesh *mesh_of(const char *text)
{
    mw_mesh *mesh = NULL;
    if (mw_mesh_parse(text, &mesh) != MW_OK) fail_msg("%s: %s", text, mw_last_error()->says);
    return mesh;
}

/* "16,8" as sizes; returns how many. */
static inline int shape_of(const char *text, int64_t *ret)
{
    int n = 0;
    for (char *end; *text; text = end + (*end == ','))
        ret[n++] = strtoll(text, &end, 10);
    return n;
}

static inline mw_reading *read_as(const mw_mesh *mesh, const char *text, int ndim,
                                  const int64_t *shape)
{
    mw_reading *reading = NULL;
    if (mw_notation_read(mesh, text, ndim, shape, MW_DTYPE_f32, &reading) != MW_OK)
        fail_msg("%s: %s", text, mw_last_error()->says);
    return reading;
}

/* The text in a notation into `to`, or the reason why there is none with "!" before it. */
static inline const char *print_as(const mw_reading *reading, mw_notation notation, char *to)
{
    mw_notation_text text;
    assert_int_equal(mw_reading_print(reading, notation, &text), MW_OK);
    (void)snprintf(to, TEXT, "%s%s", text.text ? "" : "!", text.text ? text.text : text.why);
    mw_notation_text_done(&text);
    return to;
}

/* Who holds what: a rank after each `;`, its dims with `x` between them, each as 0-2,5. */
static inline const char *owners_of(const mw_mesh *mesh, const mw_reading *reading, char *to)
{
    int64_t shape[MW_LAYOUT_DIMS];
    int ndim = mw_reading_shape(reading, shape), length = 0;
    to[0] = 0;
    for (int r = 0; r < mw_mesh_ranks(mesh); r++) {
        length += snprintf(to + length, (size_t)(TEXT - length), "%s", r ? ";" : "");
        for (int d = 0; d < ndim; d++) {
            mw_range range[256];
            int64_t n = 0;
            assert_int_equal(mw_reading_ranges(reading, r, d, range, 256, &n), MW_OK);
            assert_in_range(n, 0, 256);
            length += snprintf(to + length, (size_t)(TEXT - length), "%s", d ? "x" : "");
            for (int64_t i = 0; i < n; i++) {
                long long first = range[i].first, last = range[i].end - 1;
                length +=
                    snprintf(to + length, (size_t)(TEXT - length),
                             last > first ? "%s%lld-%lld" : "%s%lld", i ? "," : "", first, last);
            }
        }
        assert_in_range(length, 0, TEXT - 1);
    }
    return to;
}

#endif
