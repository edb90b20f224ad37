/* base: what every module stands on: the thread's context, error record, allocator, arena, text.
 * Knows nothing about tensors. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <limits.h>
#include <meshwise/alloc.h>
#include <meshwise/status.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MW_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define MW_MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MW_MAX(a, b)    ((a) > (b) ? (a) : (b))
#define MW_LIKELY(x)    __builtin_expect(!!(x), 1)
#define MW_UNLIKELY(x)  __builtin_expect(!!(x), 0)

/* ---- the thread's context ------------------------------------------------------------------
 * The library's only mutable state: one thread-local pointer. A thread that belongs to no launched
 * program has a context of its own. `rank` is what the module run hangs there; `pool` what tensor
 * hangs there. */
struct mw_rank;
struct mw__pool;
typedef struct mw__workers mw__workers;
typedef struct mw__ctx {
    mw_error error;
    const mw_allocator *allocator; /* never NULL */
    int64_t allocations;           /* calls that asked for memory, for tests and budgets */
    struct mw__pool *pool;         /* free storages, see tensor/storage.c */
    mw__workers *workers;          /* helper threads of this rank; NULL: none */
    struct mw_rank *rank;          /* NULL outside a launched program */
} mw__ctx;

const mw_allocator *mw__libc_allocator(void);

mw__ctx *mw__ctx_get(void);

/* Makes `ctx` this thread's context (NULL: back to the thread's own) and returns the former. */
mw__ctx *mw__ctx_swap(mw__ctx *ctx);

void mw__ctx_init(mw__ctx *ctx, const mw_allocator *allocator);

/* ---- errors --------------------------------------------------------------------------------
 * `return MW_FAIL(code, "...")` where the error is found, MW_TRY(call) where it passes. */
mw_status mw__fail(const char *function, const char *file, int line, mw_status code,
                   const char *format, ...) MW_PRINTF(5, 6);
void mw__pass(const char *function, const char *file, int line);

/* Adds the advice to, or the place of, the record just made. Later calls replace. */
void mw__error_hint(const char *format, ...) MW_PRINTF(1, 2);
void mw__error_where(const char *format, ...) MW_PRINTF(1, 2);

#define MW_FAIL(code, ...) mw__fail(__func__, __FILE__, __LINE__, code, __VA_ARGS__)
#define MW_NOMEM()         MW_FAIL(MW_ERR_NOMEM, "out of memory")

#define MW_TRY(call)                                \
    do {                                            \
        mw_status mw_try_status_ = (call);          \
        if (MW_UNLIKELY(mw_try_status_ != MW_OK)) { \
            mw__pass(__func__, __FILE__, __LINE__); \
            return mw_try_status_;                  \
        }                                           \
    } while (0)

/* The same for a function that owns something: jumps to its one `fail:` label with `status` set. */
#define MW_TRY_GOTO(call, label)                    \
    do {                                            \
        status = (call);                            \
        if (MW_UNLIKELY(status != MW_OK)) {         \
            mw__pass(__func__, __FILE__, __LINE__); \
            goto label;                             \
        }                                           \
    } while (0)

/* ---- memory --------------------------------------------------------------------------------
 * Everything goes through the context's allocator. Sizes are passed back when freeing. NULL on
 * failure (no record is made: the caller says MW_NOMEM()). Size 0 gives a valid pointer. */
void *mw__alloc(size_t size);
void *mw__zalloc(size_t size); /* zeroed */
void *mw__realloc(void *block, size_t old_size, size_t new_size);
void mw__free(void *block, size_t size); /* NULL is fine */

/* Grows *items (of `item` bytes each) so that it holds at least `need`; *cap in items. */
MW_NODISCARD mw_status mw__grow(void *items, int64_t *cap, int64_t need, size_t item);

/* Checked products and sums of sizes; MW_ERR_SHAPE on overflow. */
MW_NODISCARD mw_status mw__mul_size(int64_t a, int64_t b, int64_t *ret);
MW_NODISCARD mw_status mw__add_size(int64_t a, int64_t b, int64_t *ret);

/* An arena: everything made in it dies with it. */
typedef struct mw__block mw__block;
typedef struct mw_arena {
    mw__block *block; /* newest first */
    const mw_allocator *allocator;
} mw_arena;

void mw__arena_init(mw_arena *arena);
void mw__arena_done(mw_arena *arena);
void mw__arena_clear(mw_arena *arena);                /* keeps one block for reuse */
void *mw__arena_alloc(mw_arena *arena, size_t size);  /* 16-byte aligned; NULL on failure */
void *mw__arena_zalloc(mw_arena *arena, size_t size); /* zeroed */
char *mw__arena_strndup(mw_arena *arena, const char *text, size_t length);
char *mw__arena_printf(mw_arena *arena, const char *format, ...) MW_PRINTF(2, 3);

/* Helper threads of a rank, for large kernels: `threads` - 1 of them. The caller frees them.
 * mw__workers_run calls job(arg, 0 .. jobs - 1), at most one job a thread, and returns when all are
 * done; without workers (NULL) the caller does all. Jobs may allocate; they run in contexts of
 * their own. */
MW_NODISCARD mw_status mw__workers_new(int threads, mw__workers **ret);
void mw__workers_free(mw__workers *workers);         /* NULL is fine */
int mw__workers_threads(const mw__workers *workers); /* 1 without */
void mw__workers_run(mw__workers *workers, void (*job)(void *arg, int index), void *arg, int jobs);

/* ---- text ----------------------------------------------------------------------------------
 * A growing, NUL-terminated string. A failed append sets `failed` and is ignored from then on, so
 * a printer checks once, at its end, with mw__str_status(). `= {0}` is an empty string. */
typedef struct mw_str {
    char *at; /* NULL while empty: use mw__str_text() */
    size_t length, cap;
    bool failed;
} mw_str;

void mw__str_done(mw_str *str);
void mw__str_clear(mw_str *str);
void mw__str_append(mw_str *str, const char *text, size_t length);
void mw__str_puts(mw_str *str, const char *text);
void mw__str_putc(mw_str *str, char c);
void mw__str_printf(mw_str *str, const char *format, ...) MW_PRINTF(2, 3);
void mw__str_vprintf(mw_str *str, const char *format, va_list args) MW_PRINTF(2, 0); /* format.c */
const char *mw__str_text(const mw_str *str); /* "" while empty */
MW_NODISCARD mw_status mw__str_status(const mw_str *str);

/* Hash of bytes (FNV-1a, folded); chain by passing the former result as seed. Pure. */
uint64_t mw__hash(uint64_t seed, const void *bytes, size_t size);

/* A text position in *characters* (UTF-8), 1-based, for messages with a caret. Pure. */
int mw__text_column(const char *text, const char *at);

/* Records a parse error that shows `text` with a caret under `at`; returns MW_ERR_PARSE. */
mw_status mw__parse_fail(const char *what, const char *text, const char *at, const char *format,
                         ...) MW_PRINTF(4, 5);

/* Nearest of `names` (by edit distance, at most 2 edits) to `name`, or NULL: for "did you mean".
 * Pure. */
const char *mw__nearest(const char *name, const char *const *names, int count);

/* Monotonic clock, seconds. */
double mw__now(void);

#endif
