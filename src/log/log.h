/* log: reading foreign logs and texts. What the readers of this module share.
 *
 *     bytes --lines.c--> lines --clean.c--> cleaned lines --readers--> entries, facts, problems
 *
 * A line is cleaned of what stands around it (colours, rank and host prefixes, timestamps,
 * typographic quotes, HTML entities, Markdown) and offered to the readers in the order of
 * readers.def until one takes it. A reader makes entries. A line that was told before (same cleaned
 * text, same reader, nothing in between that would change its meaning) is counted without being
 * read again, so that a long log costs a hash a line. */
#ifndef LOG_LOG_H
#define LOG_LOG_H

#include "base/base.h"
#include "mesh/mesh.h"
#include "ops/op.h"

#include <meshwise/explain.h>

/* One line as a reader sees it. */
typedef struct mw_line {
    int64_t number;
    const char *text; /* cleaned, NUL-terminated */
    int64_t length;
    const char *raw;  /* as it stood, without the newline */
    int rank;         /* of the prefix, or -1 */
    const char *file; /* source file of a log prefix ("torch/nn/functional.py"), or NULL */
    int file_line;
    int indent; /* spaces before the text, after prefixes */
} mw_line;

typedef struct mw_reader_kind mw_reader_kind;

struct mw_reader_kind {
    const char *name;
    size_t state_size; /* zeroed state of this reader, handed to the calls below */
    /* Takes the line (*ret_taken) or leaves it to others. Fails only without memory. */
    mw_status (*line)(mw_explain *e, void *state, const mw_line *line, bool *ret_taken);
    /* The text is over, or (NULL where the reader waits for nothing) another reader took a line. */
    mw_status (*end)(mw_explain *e, void *state);
    /* The text is over, whoever took the last line; NULL where `end` is enough. */
    mw_status (*finish)(mw_explain *e, void *state);
    /* A line that this reader took means the same whenever it comes after the same two lines of its
     * rank: it is counted then and not read again. `again` (may be NULL) is told so, with the
     * entries that it made. */
    bool repeats;
    void (*again)(mw_explain *e, void *state, const mw_line *line, int64_t first, int64_t end);
    void (*done)(void *state); /* frees what is not in an arena; may be NULL */
    /* The line is this reader's whichever reader took the one before it; may be NULL. Of messages
     * below tracebacks, whose frames look alike whatever raised. */
    bool (*claims)(const mw_line *line);
};

/* ---- making entries ---------------------------------------------------------------------------
 * Texts are copied into the explainer's arena. All of these may fail without memory: the explainer
 * remembers it, and feeding returns MW_ERR_NOMEM. */
typedef struct mw_draft mw_draft; /* an entry being made */

mw_draft *mw__draft(mw_explain *e, const mw_line *line, const char *source, const char *event);
void mw__draft_last(mw_draft *d, int64_t last); /* its last line, where it has several */
void mw__draft_says(mw_draft *d, const char *format, ...) MW_PRINTF(2, 3);
void mw__draft_moved(mw_draft *d, const char *collective, const char *axis, const char *op,
                     int64_t bytes);
void mw__draft_direction(mw_draft *d, const char *direction);
void mw__draft_weight(mw_draft *d, int weight);
void mw__fact(mw_draft *d, const char *name, mw_how how, const char *from, const char *format, ...)
    MW_PRINTF(5, 6);
void mw__problem(mw_draft *d, const char *kind, int64_t bytes_now, int64_t bytes_after,
                 const char *fix, const char *format, ...) MW_PRINTF(6, 7);
/* A tensor's layout, for drawings. Some of an entry are kept. */
void mw__draft_laid(mw_draft *d, const char *name, const mw_mesh *mesh, const mw_layout *layout,
                    mw_how how);
mw_entry *mw__draft_entry(mw_draft *d); /* the entry so far, for readers that add to it later */
void mw__draft_again(mw_draft *d, const mw_line *line); /* another line tells the same */

/* The text does not say this; each sentence is listed once, and some thousand of them. */
void mw__missing(mw_explain *e, const char *format, ...) MW_PRINTF(2, 3);

char *mw__explain_text(mw_explain *e, const char *format, ...) MW_PRINTF(2, 3); /* in its arena */
mw_arena *mw__explain_arena(mw_explain *e);
mw_arena *mw__explain_scratch(mw_explain *e); /* cleared before each line */

/* The line being read is to be read again when it comes again: its meaning hangs on more than the
 * two lines before it. */
void mw__explain_once(mw_explain *e);
const mw_explain_options *mw__explain_options(const mw_explain *e);
const mw_mesh *mw__explain_mesh(const mw_explain *e); /* that of the options, or NULL */

/* ---- cleaning ---------------------------------------------------------------------------------
 */

/* Cleans `raw` of `length` bytes into `to` (a growing string, cleared first). */
void mw__line_clean(const char *raw, int64_t length, mw_str *to, mw_line *ret);

#endif
