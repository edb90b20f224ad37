/* meshwise exec: what its files share. */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include "cli/cli.h"

/* A result, whole: written by the first rank. */
typedef struct exec_result {
    char layout[512];
    char *text; /* type and values as people read them; NULL without data */
    int64_t text_size;
    mw_dtype dtype;
    int ndim;
    int64_t shape[MW_LAYOUT_DIMS], count;
    double *value;  /* [count]; NULL without data */
    int64_t *whole; /* [count] of an integer dtype, whose values may not fit in a double */
    int64_t cap;    /* of `value` and `whole` */
} exec_result;

typedef struct exec_move {
    int line;
    char op[48], tensor[64], text[160], from[256], to[256], axes[64], why[320];
    int64_t recv_bytes, recv_bytes_all;
    bool asked;
} exec_move;

typedef struct exec_state {
    const cli_args *args;
    mw_graph *graph;
    bool whole; /* this run passes layouts over */
    bool watching;
    int nresult;
    exec_result *result; /* of the run that is made */
    exec_move *move;
    int64_t nmove, cap_move;
    bool lost; /* a movement could not be kept for want of memory */
    mw_usage used;
} exec_state;

/* Prints what a run gave and moved; `check` NULL: not asked for. */
void exec_print(const exec_state *s);
json_t *exec_object(const exec_state *s); /* NULL without memory */

#endif
