/* ir_parse, inside: the reader's state, shared by its files. */
#ifndef GRAPH_IR_PARSE_H
#define GRAPH_IR_PARSE_H

#include "graph/graph.h"
#include "ops/args.h"

enum { IR_DEPTH = 24, IR_ARGS = 64, IR_NAME = 128 };

typedef struct ir_name {
    const char *name;
    mw_ssa *value;
} ir_name;

typedef struct ir_parser {
    const char *text, *at;
    const char *file;    /* in the graph's arena, or NULL */
    const char *counted; /* lines before this are counted in `line` */
    int line;
    mw_mesh *given; /* that of the caller, or NULL */
    mw_graph *graph;
    mw_arena scratch;
    ir_name *name; /* what %name means now; an open hash table */
    int64_t nname, cap_name;
    int depth;
} ir_parser;

/* A value in an argument list: a static one, or a tensor, or a list of tensors. */
typedef struct ir_value {
    mw_arg arg; /* TENSOR, TENSORS: first counts `tensor` */
    mw_ssa **tensor;
    bool nested;      /* a list that is no argument by itself: data */
    const char *data; /* where that list begins */
} ir_value;

typedef struct ir_args {
    int n, ntensor;
    mw_given given[IR_ARGS];
    const char *at[IR_ARGS];
    mw_ssa *tensor[4 * IR_ARGS];
} ir_args;

/* The error shows the line and points at `at`. */
mw_status ir_fail(const ir_parser *p, const char *at, const char *format, ...) MW_PRINTF(3, 4);
/* Puts line and column before what a call on the text at `at` has just failed with. */
mw_status ir_failed_at(const ir_parser *p, const char *at, mw_status status);

void ir_space(ir_parser *p);
bool ir_take(ir_parser *p, const char *word); /* a sign, or a whole word */
bool ir_sees(ir_parser *p, const char *word);
mw_status ir_expect(ir_parser *p, const char *word);
/* A name ([A-Za-z_0-9.:]+ as `more` allows) into `to`; false where none begins here. */
bool ir_word(ir_parser *p, const char *more, char *to);
mw_status ir_int(ir_parser *p, int64_t *ret);

mw_status ir_define(ir_parser *p, const char *name, mw_ssa *value);
mw_ssa *ir_lookup(const ir_parser *p, const char *name);

/* ir_expr.c: an expression into `ret`, its results, at most `cap`. */
mw_status ir_expr(ir_parser *p, mw_ssa **ret, int cap, int *ret_n);
/* ir_const.c: `tensor(...)`, `randn(...)`, `rand(...)` after the word, or a bare list. */
mw_status ir_const(ir_parser *p, const char *word, mw_ssa **ret);
mw_status ir_literal(ir_parser *p, mw_ssa **ret);

#endif
