/* The explainer: reads what people paste (logs, dumps, errors, warnings of DTensor, XLA, Shardy,
 * torch_xla, JAX, NCCL, meshwise) and says what happened, what moved, what is wrong, and what the
 * text does not tell.
 *
 *     mw_explain *e;
 *     mw_status status = mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e);
 *     if (status == MW_OK) status = mw_explain_feed(e, text, length);  in pieces of any size
 *     if (status == MW_OK) status = mw_explain_finish(e);
 *     for (int64_t i = 0; i < mw_explain_entries(e); i++) puts(mw_explain_entry(e, i)->says);
 *     mw_explain_free(e);
 *
 * Every fact says how it is known: stated in the text, derived (with the derivation), or assumed
 * (with what would settle it). What the text does not say is listed as missing, never invented. The
 * replay goes through meshwise's own layouts, rules and plans. Local: no communication, no clock,
 * no I/O.
 */
#ifndef MESHWISE_EXPLAIN_H
#define MESHWISE_EXPLAIN_H

#include <meshwise/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, word) */
#define MW_HOW_MAP(X)     \
    X(STATED, "stated")   \
    X(DERIVED, "derived") \
    X(ASSUMED, "assumed")

typedef enum mw_how {
#define X(name, word) MW_HOW_##name,
    MW_HOW_MAP(X)
#undef X
        MW_HOW_KINDS
} mw_how;

MW_API const char *mw_how_name(mw_how how); /* Pure */

typedef struct mw_fact {
    const char *name;  /* "normalized_shape", "local shape of output 0", "moved" */
    const char *value; /* "[16]" */
    mw_how how;
    const char *from; /* stated: "line 1"; derived: the derivation; assumed: what would settle it */
} mw_fact;

typedef struct mw_problem {
    const char *kind; /* "view-loses-sharding", "wrong-value", "needless-movement", ... */
    const char *says; /* with its evidence */
    const char
        *fix; /* the smallest change, in the words of the text's own system; "" if none is known */
    int64_t bytes_now, bytes_after; /* received per rank; -1 where not known */
} mw_problem;

/* A tensor that lies on a mesh, for drawings: both texts are read by the library's own parsers. */
typedef struct mw_laid {
    const char *name;   /* "weight", "output 0"; "": the entry's one tensor */
    const char *mesh;   /* "tp=2", as mw_mesh_parse reads it */
    const char *layout; /* "f32[8@tp, 4]", as mw_layout_parse reads it on that mesh */
    mw_how how;
} mw_laid;

/* One thing that the text tells. Lines that tell it again are counted, not repeated. */
typedef struct mw_entry {
    int64_t first, last; /* lines of the text, from 1, where it stands first */
    int64_t count;       /* how often it was told */
    int64_t latest;      /* the last line that told it */
    uint64_t ranks;      /* bit per rank (0..63) whose prefix stood before it; 0: none */
    const char *source;  /* "dtensor", "hlo", "sdy", ... */
    const char *event;   /* "dispatch", "redistribute", "error", "collective", ... */
    const char *says;    /* one sentence that a person understands */
    int weight;          /* how much it matters, for the short answer: larger is more */
    int64_t bytes;       /* moved: received per rank, in all runs; -1: nothing moved or not known */
    int64_t runs;        /* how often it runs where it was told once: loops around it; else 1 */
    const char *collective; /* "all_gather", ...; NULL where nothing moved */
    const char *axis;       /* mesh axis or group; "" */
    const char *op;         /* op in whose course, or for which, it moved; "" */
    const char *direction;  /* "forward", "backward" or "" */
    const mw_fact *fact;
    int nfact;
    const mw_problem *problem;
    int nproblem;
    const mw_laid *laid; /* tensors whose layout the text gives, or lets be known */
    int nlaid;
} mw_entry;

typedef struct mw_explain_options {
    const char *mesh; /* "tp=2": what the text does not say; its facts are marked assumed */
    mw_dtype dtype;   /* likewise */
} mw_explain_options;

typedef struct mw_explain mw_explain;

/* The caller frees it. Fails: MW_ERR_PARSE for a mesh that does not parse, MW_ERR_NOMEM. */
MW_API MW_NODISCARD mw_status mw_explain_new(const mw_explain_options *options, mw_explain **ret);
MW_API void mw_explain_free(mw_explain *explain); /* NULL is fine */

/* Reads on. The bytes need not outlive the call. Fails: MW_ERR_NOMEM. */
MW_API MW_NODISCARD mw_status mw_explain_feed(mw_explain *explain, const char *bytes,
                                              int64_t length);

/* The text is over: what waited for more is decided. */
MW_API MW_NODISCARD mw_status mw_explain_finish(mw_explain *explain);

/* Results, borrowed until the explainer is freed; complete after mw_explain_finish. */
MW_API int64_t mw_explain_entries(const mw_explain *explain);
MW_API const mw_entry *mw_explain_entry(const mw_explain *explain, int64_t index);
MW_API int64_t mw_explain_missing(const mw_explain *explain);
MW_API const char *mw_explain_missing_at(const mw_explain *explain, int64_t index);

/* Lines that nobody could read (blank ones are not counted): how many, and the numbers of the first
 * ones. */
MW_API int64_t mw_explain_unread(const mw_explain *explain);
MW_API int64_t mw_explain_unread_at(const mw_explain *explain,
                                    int64_t index); /* 0 past what is kept */
MW_API int64_t mw_explain_lines(const mw_explain *explain);

#ifdef __cplusplus
}
#endif
#endif
