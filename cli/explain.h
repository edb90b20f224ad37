/* explain: what the command's files share: sums over entries, and the three ways to show them. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "cli/cli.h"

#include <meshwise/explain.h>

/* Movements of one kind: collective, axis, op, direction. */
typedef struct moved_kind {
    const char *collective, *axis, *op, *direction;
    int64_t count, bytes; /* bytes: received per rank, of those that are known */
    int64_t unknown;      /* how many have no bytes */
} moved_kind;

enum { WORST = 3 };

typedef struct explained {
    const mw_explain *e;
    const char *question, *file;
    bool problems_only;
    int64_t movements, bytes, unknown, problems, calls;
    moved_kind *kind;
    int64_t nkind, cap_kind;
    int64_t worst[WORST]; /* entries; -1: none */
} explained;

/* Reads a file, or standard input for "-", to its end, piece by piece; each piece that was read is
 * handed to `also` (may be NULL). Where the writer pauses, `also` is told so by a piece that is
 * NULL, once. */
typedef mw_status (*explain_sink)(void *user, const char *at, int64_t length);
MW_NODISCARD mw_status explain_options(const cli_args *args, mw_explain_options *ret);
MW_NODISCARD mw_status explain_read(const char *path, mw_explain *e, explain_sink also, void *user);

MW_NODISCARD mw_status explain_sum(explained *x);
void explain_done(explained *x);
int explain_json(const cli_args *args, const explained *x);
void explain_short(const explained *x, bool all); /* after --all: without what was told */
void explain_line(const mw_entry *entry);
void explain_moved(const explained *x);          /* what moved in all, a line */
int explain_worst(const explained *x, int most); /* problems, a line each; how many lines */
void explain_problems(const mw_entry *entry);
void explain_entry(const mw_explain *e, const mw_entry *entry); /* with all facts */
void explain_answer(const explained *x);
json_t *explain_answer_json(const explained *x);

/* Questions in words of their own: a mask of what is asked for (0: nothing of it), and the answers:
 * as text; added to an object, false where memory lacks. */
unsigned explain_topics(const char *question);
void explain_topics_text(const explained *x, unsigned asked);
bool explain_topics_json(const explained *x, unsigned asked, json_t *to);
MW_NODISCARD mw_status explain_html(const explained *x, const char *text, int64_t length,
                                    const char *path);

/* Text as a JSON string; what is no UTF-8 is replaced. */
json_t *explain_text(const char *text);

#endif
