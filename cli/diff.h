/* diff: two texts explained, and their movements matched by what they are. */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include "cli/explain.h"

enum { A, B, SIDES };

/* Movements, or problems, of one side. */
typedef struct diff_sum {
    int64_t count, bytes;  /* bytes: received per rank, of those that are known */
    int64_t unknown;       /* how many have no bytes */
    int64_t first, latest; /* lines; 0: none */
} diff_sum;

/* One entry that counts, under the words by which it is matched. */
typedef struct diff_item {
    int side;
    const mw_entry *entry;
    const char *what; /* the collective, or the problem's kind */
    const char *axis, *op, *direction;
    char *place; /* "net/mlp.c:44", "" where the text names none; owned */
    bool moved;  /* else a problem, whose bytes are not summed */
} diff_item;

/* Items that agree in all words but the place: [first, end) of the sorted items. */
typedef struct diff_kind {
    int64_t first, end;
    diff_sum sum[SIDES];
} diff_kind;

/* Kinds, of movements or of problems. */
typedef struct diff_list {
    diff_item *item;
    int64_t nitem, cap_item;
    diff_kind *kind;
    int64_t nkind;
} diff_list;

typedef struct diff {
    const char *path[SIDES];
    explained side[SIDES];
    diff_list moved, problems;
} diff;

/* Collects, sorts and matches. Fails: MW_ERR_NOMEM. */
MW_NODISCARD mw_status diff_match(diff *d);
void diff_done(diff *d);

/* X(name, word). ELSEWHERE: the same sums, at other places of the source. */
#define DIFF_HOW_MAP(X)   \
    X(CAME, "came")       \
    X(WENT, "went")       \
    X(CHANGED, "changed") \
    X(ELSEWHERE, "elsewhere")

typedef enum diff_how {
#define X(name, word) DIFF_##name,
    DIFF_HOW_MAP(X)
#undef X
        DIFF_SAME
} diff_how;

diff_how diff_change(const diff_list *list, const diff_kind *kind);
const char *diff_how_word(diff_how how);

/* The items of one place, [first, ret) of the kind's. */
int64_t diff_place(const diff_list *list, const diff_kind *kind, int64_t first,
                   diff_sum ret[SIDES]);

void diff_text(const diff *d, bool all);
int diff_json(const cli_args *args, const diff *d);

#endif
