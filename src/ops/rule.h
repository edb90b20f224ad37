/* rule: an op's factor text, read once, and made concrete for one call.
 *
 *     rule    = [ operands ";" ] term { "+" term } "->" output { "," output } ;
 *     term    = operand { [ "," ] operand } ;                   a product
 *     operand = name [ "?" ] [ "<" ] ( "[" dims "]" | "{" [ "+" ] "[" dims "]" "}" ) ;
 *     output  = [ dtype ] ( "[" dims "]" ) ;
 *     dim     = letter [ mark ] { "·" letter [ mark ] } | "..." | name ":" letter [ mark ] | "1" ;
 *     mark    = "*" | "~" | "^" ;
 *
 * `?` an operand that may be absent; `<` it is expanded to these dims (leading ones may lack, any
 * may be 1), as addmm's self; `{...}` every tensor of a list, with `+` each a term of its own.
 * `...` any dims, broadcast right-aligned between operands. `dim:d` the dims that argument `dim`
 * names (int, int list, None: all). In an output, a named letter that lacks takes its dims away, or
 * leaves size 1 where the call's `keepdim` is true; another letter between two `...` takes the
 * named dim's place. */
#ifndef OPS_RULE_H
#define OPS_RULE_H

#include "ops/op.h"
#include "ops/schema.h"

/* The rule of one call: letters, operands, results' dtypes and shapes. Arrays lie in the arena.
 * MW_ERR_SHAPE and MW_ERR_ARG say which arguments do not fit, and why. Pure. */
MW_NODISCARD mw_status mw__rule_of(const mw_call_args *call, mw_arena *arena, mw_rule *ret);

/* ---- for `factors` overrides ---------------------------------------------------------------
 * Before `factors` is called the rule has nin and nout, operands without letters (in[i].ndim is the
 * tensor's, term 0, linear and unread as declared, monotone 0: as the rule's), reduce, monotone and
 * joint as declared, and the results' dtypes.
 * Afterwards mw__rule_of works out in_output and the results' shapes from the letters, and checks
 * that the letters of each operand multiply to its shape. So an override adds letters, puts them on
 * dims, and sets out[i].ndim. */

/* A new letter; its number. Past the capacity mw__rule_of fails, so callers needn't look. */
int mw__rule_letter(mw_rule *rule, const char *name, int64_t size, mw_mark mark);

/* The same with the name numbered: `d` and 2 give `d2`. */
int mw__rule_letter_nth(mw_rule *rule, const char *name, int nth, int64_t size, mw_mark mark);

/* Appends a letter to dim `dim` of the operand (major to minor). */
void mw__rule_put(mw_operand *operand, int dim, int letter);

/* Appends a dim to an output and puts a letter on it (letter -1: a dim of size 1). */
void mw__rule_push(mw_operand *out, int letter);

/* A letter for each dim of the operand, named `name` and the number; returns the first's number.
 * Letters of dim d is first + d. */
int mw__rule_letters(mw_rule *rule, mw_operand *operand, const mw_meta *meta, const char *name,
                     mw_mark mark);

/* Gives dims [to_dim, to_dim + n) of `to` the letters of dims [from_dim, from_dim + n) of `from`.
 */
void mw__rule_copy(mw_operand *to, int to_dim, const mw_operand *from, int from_dim, int n);

/* Broadcasts operands in[first .. first + n) right-aligned, by new letters named `name0`, ...:
 * puts the letters on their leading dims (all but the last `keep`) and, where `out` is given, on
 * appended dims of it. *ret_n (may be NULL): how many dims. MW_ERR_SHAPE where they do not agree.
 */
MW_NODISCARD mw_status mw__rule_broadcast(const mw_call_args *call, mw_rule *rule, int first, int n,
                                          int keep, const char *name, mw_operand *out, int *ret_n);

/* Lays the op's rule text over the call, for an override that only changes some flags afterwards.
 */
MW_NODISCARD mw_status mw__rule_default(const mw_call_args *call, mw_rule *rule);

/* The dtype in which the call computes: torch's promotion over its tensors (those with dims before
 * those without) and its Scalars (those with a numeric default, such as alpha=1, and keyword-only
 * ones do not take part). Pure. */
mw_dtype mw__rule_promote(const mw_call_args *call, const mw_schema *schema);

/* ---- the text, read ------------------------------------------------------------------------ */

enum { MW_TEXT_LETTERS = 24, MW_TEXT_IN = 8, MW_TEXT_OUT = 6 };

typedef enum mw_text_dim_kind {
    MW_TEXT_PLAIN, /* a product of letters; none: size 1 */
    MW_TEXT_DOTS,
    MW_TEXT_NAMED /* the dims that argument `named` of the rule names */
} mw_text_dim_kind;

typedef struct mw_text_dim {
    uint8_t kind, nletter;
    uint8_t letter[MW_DIM_LETTERS];
} mw_text_dim;

typedef struct mw_text_operand {
    int8_t arg; /* schema position; outputs: -1 */
    int8_t term;
    bool optional, expand, list, spread;
    bool dots, named;           /* has such dims */
    uint8_t dtype;              /* outputs: stated dtype, or 0 */
    uint8_t ndim, nplain, lead; /* items; plain ones; plain ones before the first flexible one */
    mw_text_dim dim[MW_MAX_DIMS + 2];
} mw_text_operand;

typedef struct mw_text_letter {
    char name[6];
    uint8_t mark;
    bool named;
} mw_text_letter;

typedef struct mw_rule_text {
    uint8_t nletter, nin, nout, nterm;
    int8_t named;   /* schema position of the argument that names dims, or -1 */
    int8_t keepdim; /* that of `keepdim`, or -1 */
    mw_text_letter letter[MW_TEXT_LETTERS];
    mw_text_operand in[MW_TEXT_IN];
    mw_text_operand out[MW_TEXT_OUT];
} mw_rule_text;

/* Reads a rule's text against its op's schema. MW_ERR_PARSE with column and caret. Pure. */
MW_NODISCARD mw_status mw__rule_text_parse(const mw_schema *schema, const char *text,
                                           mw_rule_text *ret);

#endif
