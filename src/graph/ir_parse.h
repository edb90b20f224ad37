/* ir_parse, inside: the reader's state, shared by its files. */
#ifndef GRAPH_IR_PARSE_H
#define GRAPH_IR_PARSE_H

#include "base/lookup.h"
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
    mw_lookup names; /* in scratch; ir_name: what %name means now */
    int depth;
    bool open_scalar; /* the type that was read last is `f32[]?`: nothing is asked for */
    mw_dtype literal; /* of data that states none: what its type says; NONE: by how it is written */
} ir_parser;

/* What an operator stands between: a number or a value. */
typedef struct ir_operand {
    bool number;
    mw_arg arg;    /* a number */
    mw_ssa *value; /* else */
} ir_operand;

typedef struct ir_args {
    int n, ntensor;
    bool places; /* of a call that places a tensor: texts in other notations need no quotes */
    mw_given given[IR_ARGS];
    const char *at[IR_ARGS];
    mw_ssa *tensor[4 * IR_ARGS];
} ir_args;

/* The error shows the line and points at `at`. */
mw_status ir_fail(const ir_parser *p, const char *at, const char *format, ...) MW_PRINTF(3, 4);
/* Puts line and column before what a call on the text at `at` has just failed with. */
mw_status ir_failed_at(const ir_parser *p, const char *at, mw_status status);

/* The line that `at` stands in, and its number. */
const char *ir_line_of(const ir_parser *p, const char *at, int *ret_number);
bool ir_is_letter(char c); /* or '_' */
bool ir_is_digit(char c);

void ir_space(ir_parser *p);
bool ir_take(ir_parser *p, const char *word); /* a sign, or a whole word */
bool ir_sees(ir_parser *p, const char *word);
mw_status ir_expect(ir_parser *p, const char *word);
/* A name ([A-Za-z_0-9.:]+ as `more` allows) into `to`; false where none begins here. */
bool ir_word(ir_parser *p, const char *more, char *to);
mw_status ir_int(ir_parser *p, int64_t *ret);

mw_status ir_define(ir_parser *p, const char *name, mw_ssa *value);
mw_ssa *ir_lookup(const ir_parser *p, const char *name);

/* ir_type.c: `mesh` after its word; a type; the same on a value whose dtype and shape are known. */
mw_status ir_mesh(ir_parser *p);
mw_status ir_type(ir_parser *p, mw_mesh **ret_mesh, mw_layout *ret, uint8_t *priority);
mw_status ir_state_type(ir_parser *p, mw_ssa *v);
/* Does the type that was just read ask for nothing? */
bool ir_says_nothing(const ir_parser *p, const mw_layout *l);

/* ir_expr.c: an expression into `ret`, its results, at most `cap`. ir_operands: the same or a
 * number; with `ret` NULL one value, in ret_one. */
mw_status ir_expr(ir_parser *p, mw_ssa **ret, int cap, int *ret_n);
mw_status ir_operands(ir_parser *p, ir_operand *ret_one, mw_ssa **ret, int cap, int *ret_n);
/* A value, with methods, indices and the like behind it; no operators between values. */
mw_status ir_postfix(ir_parser *p, ir_operand *ret_one, mw_ssa **ret, int cap, int *ret_n);

/* ir_infix.c: an operator between two operands (numbers are worked out). */
mw_status ir_infix(ir_parser *p, int least, ir_operand *ret_one, mw_ssa **ret, int cap, int *ret_n);

/* ir_index.c: what stands in the brackets behind a value. */
mw_status ir_index(ir_parser *p, mw_ssa *self, mw_ssa **ret);

/* ir_args.c: "(", arguments, ")" behind those that `args` has already. */
mw_status ir_args_read(ir_parser *p, ir_args *args);
mw_status ir_add_tensor(ir_parser *p, ir_args *args, mw_ssa *v);
mw_status ir_number(ir_parser *p, mw_arg *ret);
bool ir_starts_number(const char *at);

/* ir_call.c: a call of an op, a mark or a movement, by its word. */
mw_status ir_call(ir_parser *p, const char *word, const char *at, ir_args *args, mw_ssa **ret,
                  int cap, int *ret_n);
bool ir_call_places(const char *word); /* its arguments say where */
/* An op of which the first `n` arguments are these: one result. */
mw_status ir_call_with(ir_parser *p, const char *word, const char *at, const ir_operand *x, int n,
                       mw_ssa **ret);

/* ir_words.c: other words for a call. The arguments are put as the op has them; NULL: none. `nth`
 * counts the ways in which a word may be meant. */
const char *ir_other_word(const char *word, int nth, ir_args *args);
/* Without `torch.`, `F.` and the like before it. */
const char *ir_plain_word(const char *word);

/* ir_const.c: `tensor(...)`, `randn(...)`, `rand(...)` after the word, or a bare list. */
mw_status ir_const(ir_parser *p, const char *word, mw_ssa **ret);
mw_status ir_literal(ir_parser *p, mw_ssa **ret);
/* Behind the data that begins here; NULL where it does not end, or none begins. */
const char *ir_data_end(const char *at);

#endif
