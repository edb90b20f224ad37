/* Status codes and the error record.
 *
 * Every fallible function returns mw_status and writes its result through a `ret_` parameter, which
 * it leaves alone on failure. The sentence that explains a failure is kept in the calling thread's
 * error record: what was asked, what stands in the way, what would work.
 *
 *     mw_mesh *mesh;
 *     if (mw_mesh_parse("tp=0", &mesh) != MW_OK)
 *         fprintf(stderr, "%s\n", mw_last_error()->says);
 */
#ifndef MESHWISE_STATUS_H
#define MESHWISE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MW_NODISCARD       __attribute__((warn_unused_result))
#define MW_PRINTF(fmt, at) __attribute__((format(printf, fmt, at)))
#define MW_API             __attribute__((visibility("default")))
#else
#define MW_NODISCARD
#define MW_PRINTF(fmt, at)
#define MW_API
#endif

/* X(name, value, exit code of the command-line tool, text). A new status is one row here. */
#define MW_STATUS_MAP(X)                                            \
    X(OK, 0, 0, "success")                                          \
    X(ERR_NOMEM, -1, 4, "out of memory")                            \
    X(ERR_ARG, -2, 2, "invalid argument")                           \
    X(ERR_SHAPE, -3, 2, "shapes do not agree")                      \
    X(ERR_LAYOUT, -4, 2, "layout not possible")                     \
    X(ERR_PARSE, -5, 2, "input could not be parsed")                \
    X(ERR_IO, -6, 3, "a file could not be read")                    \
    X(ERR_FORMAT, -7, 3, "a file is not what it should be")         \
    X(ERR_COMM, -8, 4, "a collective failed")                       \
    X(ERR_STRICT, -9, 4, "strict mode refuses an unasked movement") \
    X(ERR_TIMEOUT, -10, 4, "timed out")                             \
    X(ERR_UNSUPPORTED, -11, 2, "not supported")                     \
    X(ERR_INTERNAL, -12, 70, "internal error (please report)")      \
    X(ERR_RANK, -13, 4, "a rank failed")

typedef enum mw_status {
#define X(name, value, exit, text) MW_##name = (value),
    MW_STATUS_MAP(X)
#undef X
} mw_status;

/* One place that a failure passed through: innermost first. */
typedef struct mw_frame {
    const char *function;
    const char *file;
    int line;
} mw_frame;

enum { MW_ERROR_FRAMES = 16 };

/* The last failure of this thread (of this rank, in a launched program). Fixed size: recording an
 * error never allocates. */
typedef struct mw_error {
    mw_status code;
    char says[1536]; /* what was asked and what stands in the way */
    char where[512]; /* the op call and call chain, or file and position; "" if not known */
    char hint[512];  /* what would work; "" if nothing better is known */
    mw_frame frame[MW_ERROR_FRAMES];
    int nframe;
} mw_error;

/* "out of memory" and so on. Pure. */
MW_API const char *mw_status_text(mw_status code);

/* "ERR_NOMEM", "ERR_LAYOUT", ...: the status' name. Pure. */
MW_API const char *mw_status_name(mw_status code);

/* The exit code that the command-line tool gives for a status. Pure. */
MW_API int mw_status_exit(mw_status code);

/* This thread's record; code MW_OK where nothing has failed. Borrowed. Local. */
MW_API const mw_error *mw_last_error(void);

/* Records an error and returns `code`: for programs that want their own failures told like the
 * library's. Local. */
MW_API mw_status mw_error_set(mw_status code, const char *format, ...) MW_PRINTF(2, 3);

/* Adds what would work to the record just made. Local. */
MW_API void mw_error_hint(const char *format, ...) MW_PRINTF(1, 2);

/* Forgets the record. Local. */
MW_API void mw_error_clear(void);

#ifdef __cplusplus
}
#endif
#endif
