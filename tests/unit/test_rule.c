/* Rules: texts are read or refused by column; laid over calls they give letters, dims, shapes and
 * dtypes, or name what does not fit. Each case is an op of its own, added to the table here. */
#include "ops/args.h"
#include "ops/rule.h"
#include "ops/sample.h"
#include "ops/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct rule_case {
    mw_op op;
    const char *sample; /* the call */
    const char *gives;  /* the rule as text, or the error's sentence */
} rule_case;

static void operand_text(const mw_rule *rule, const mw_operand *operand, mw_str *to)
{
    mw__str_putc(to, '[');
    for (int d = 0; d < operand->ndim; d++) {
        if (d) mw__str_putc(to, ' ');
        if (!operand->nletter[d]) mw__str_putc(to, '1');
        for (int i = 0; i < operand->nletter[d]; i++)
            mw__str_printf(to, "%s%s", i ? "." : "", rule->letter[operand->letter[d][i]].name);
    }
    mw__str_putc(to, ']');
}

/* `m=4 k=6! n=5 | 0+[m k] 0+[k n] -> f32[4, 5] [m n]`: `!` not in an output, `+` linear. */
static void rule_text(const mw_rule *rule, mw_str *to)
{
    for (int i = 0; i < rule->nletter; i++) {
        const mw_letter *l = &rule->letter[i];
        mw__str_printf(to, "%s%c=%lld%s ", l->name, " *~^"[l->mark], (long long)l -> size,
                       l -> in_output ? "" : "!");
    }
    mw__str_puts(to, "|");
    for (int i = 0; i < rule->nin; i++) {
        mw__str_printf(to, " %d%s", rule->in[i].term, rule->in[i].linear ? "+" : "");
        operand_text(rule, &rule->in[i], to);
    }
    mw__str_printf(to, " /%d ->", rule->nterm);
    for (int i = 0; i < rule->nout; i++) {
        mw__str_putc(to, ' ');
        mw__meta_str(&rule->out_meta[i], to);
        mw__str_putc(to, ' ');
        operand_text(rule, &rule->out[i], to);
    }
}

static void check_case(const rule_case *c)
{
    mw_arena arena;
    mw_sample sample;
    mw_rule rule = {0};
    mw_str text = {0};
    mw__arena_init(&arena);
    if (mw__op_add(&c->op) != MW_OK) fail_msg("%s", mw_last_error()->says);
    if (mw__sample_read(&c->op, c->sample, 1, &arena, &sample) != MW_OK)
        fail_msg("%s", mw_last_error()->says);
    if (mw__rule_of(&sample.call, &arena, &rule) == MW_OK)
        rule_text(&rule, &text);
    else
        mw__str_puts(&text, mw_last_error()->says);
    if (strcmp(mw__str_text(&text), c->gives) != 0)
        fail_msg("%s of %s\nexpected %s\ngot      %s", c->op.rule ? c->op.rule : c->op.schema,
                 c->sample, c->gives, mw__str_text(&text));
    mw__str_done(&text);
    mw__arena_done(&arena);
}

#define MM(n) \
    "test::r" #n "(Tensor self, Tensor mat2) -> Tensor", .rule = "self[m k], mat2[k n] -> [m n]"
#define ADD(n)                                                               \
    "test::a" #n "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", \
        .rule = "self[...] + other[...] -> [...]", .dtype = MW_OUT_PROMOTE
#define SUM(n)                                                                                     \
    "test::s" #n "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) " \
    "-> Tensor",                                                                                   \
        .rule = "self[... dim:d ...] -> [... ...]", .dtype = MW_OUT_SUM
#define LIN(n)                                                                 \
    "test::l" #n "(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", \
        .rule = "input[... k] weight[n k] + bias?[n] -> [... n]"
#define OP_(...)              \
    {                         \
        .schema = __VA_ARGS__ \
    }

/* clang-format off */
static const rule_case cases[] = {
    /* letters and terms */
    {OP_(MM(1), .linear_in = MW_ARG(0) | MW_ARG(1)), "f32[4, 6], f32[6, 5]",
     "m =4 k =6! n =5 | 0+[m k] 0+[k n] /1 -> f32[4, 5] [m n]"},
    {OP_(MM(2)), "f32[4, 6], f32[5, 6]",
     "r2: 'self' f32[4, 6] and 'mat2' f32[5, 6] do not agree: dim 1 of 'self' has size 6, dim 0 of "
     "'mat2' has size 5"},
    {OP_(MM(3)), "f32[4, 6], f32[6]", "r3: 'mat2' must have 2 dims, got f32[6]"},
    {OP_(MM(4)), "f32[0, 6], f32[6, 1]", "m =0 k =6! n =1 | 0[m k] 0[k n] /1 -> f32[0, 1] [m n]"},
    {OP_(MM(5), .same_dtype = MW_ARG(0) | MW_ARG(1)), "f32[1, 1], bf16[1, 1]",
     "r5: expected 'self' and 'mat2' to have the same dtype, got f32 and bf16"},
    {OP_(LIN(1), .linear_in = MW_ARG(2)), "f32[2, 3, 6], f32[5, 6], f32[5]",
     "i0 =2 i1 =3 k =6! n =5 | 0[i0 i1 k] 0[n k] 1+[n] /2 -> f32[2, 3, 5] [i0 i1 n]"},
    {OP_(LIN(2)), "f32[6], f32[5, 6]", "k =6! n =5 | 0[k] 0[n k] /1 -> f32[5] [n]"},
    {OP_(LIN(3)), "f32[], f32[5, 6]", "l3: 'input' must have at least 1 dim, got f32[]"},
    {OP_("test::opt(Tensor? a, Tensor b) -> Tensor", .rule = "a?[n] + b[n] -> [n]"), "none, f32[3]",
     "n =3 | 0[n] /1 -> f32[3] [n]"},
    {OP_("test::com(Tensor c, Tensor a, Tensor b) -> Tensor", .rule = "c[...]; a[...] + b[...] -> [...]"),
     "bool[3], f32[3], f32[1]", "i0 =3 | -1[i0] 0[i0] 1[1] /2 -> bool[3] [i0]"},
    /* broadcasting */
    {OP_(ADD(1)), "f32[2, 3, 1], f32[1, 7]",
     "i0 =2 i1 =3 i2 =7 | 0[i0 i1 1] 1[1 i2] /2 -> f32[2, 3, 7] [i0 i1 i2]"},
    {OP_(ADD(2)), "f32[7], f32[5, 1]", "i1 =7 i0 =5 | 0[i1] 1[i0 1] /2 -> f32[5, 7] [i0 i1]"},
    {OP_(ADD(3)), "f32[2, 3], f32[2]",
     "a3: 'self' f32[2, 3] and 'other' f32[2] do not agree: dim 1 of 'self' has size 3, dim 0 of "
     "'other' has size 2"},
    {OP_(ADD(4)), "f32[1, 3], f32[0, 3]", "i0 =0 i1 =3 | 0[1 i1] 1[i0 i1] /2 -> f32[0, 3] [i0 i1]"},
    {OP_(ADD(5)), "f32[1], f32[1]", "i0 =1 | 0[i0] 1[i0] /2 -> f32[1] [i0]"},
    {OP_("test::exp(Tensor self, Tensor a, Tensor b) -> Tensor", .rule = "self<[m n] + a[m k] b[k n] -> [m n]"),
     "f32[5], f32[4, 6], f32[6, 5]",
     "n =5 m =4 k =6! | 0[n] 1[m k] 1[k n] /2 -> f32[4, 5] [m n]"},
    {OP_("test::exp.b(Tensor self, Tensor a, Tensor b) -> Tensor", .rule = "self<[m n] + a[m k] b[k n] -> [m n]"),
     "f32[1, 5], f32[4, 6], f32[6, 5]",
     "m =4 n =5 k =6! | 0[1 n] 1[m k] 1[k n] /2 -> f32[4, 5] [m n]"},
    {OP_("test::exp.c(Tensor self, Tensor a, Tensor b) -> Tensor", .rule = "self<[m n] + a[m k] b[k n] -> [m n]"),
     "f32[3, 5], f32[4, 6], f32[6, 5]",
     "exp: 'a' f32[4, 6] and 'self' f32[3, 5] do not agree: dim 0 of 'a' has size 4, dim 0 of 'self' has size 3"},
    {OP_("test::exp.d(Tensor self, Tensor a) -> Tensor", .rule = "self<[m] + a[m] -> [m]"),
     "f32[3, 5], f32[5]", "exp: 'self' must have at most 1 dim, got f32[3, 5]"},
    /* named dims */
    {OP_(SUM(1)), "f32[2, 3, 4], [-1, 0]", "d0 =2! i1 =3 d2 =4! | 0[d0 i1 d2] /1 -> f32[3] [i1]"},
    {OP_(SUM(2)), "f32[2, 3, 4], [1], true", "i0 =2 d =3! i2 =4 | 0[i0 d i2] /1 -> f32[2, 1, 4] [i0 1 i2]"},
    {OP_(SUM(3)), "f32[2, 3]", "d0 =2! d1 =3! | 0[d0 d1] /1 -> f32[] []"},
    {OP_(SUM(4)), "f32[2, 3], []", "d0 =2! d1 =3! | 0[d0 d1] /1 -> f32[] []"},
    {OP_(SUM(5)), "f32[], [0]", "| 0[] /1 -> f32[] []"},
    {OP_(SUM(6)), "f32[2, 3], [2]", "s6: argument 'dim' (position 1) is 2, expected -2 to 1 for 2 dims"},
    {OP_(SUM(7)), "f32[2, 3], [0, -2]", "s7: dim 0 stands twice in argument 'dim'"},
    {OP_(SUM(8)), "f32[], [1]", "s8: argument 'dim' (position 1) is 1, expected -1 to 0 for 0 dims"},
    {OP_("test::soft(Tensor self, int dim) -> Tensor", .rule = "self[... dim:d^ ...] -> [... d ...]"),
     "f32[2, 3], 0", "d^=2 i1 =3 | 0[d i1] /1 -> f32[2, 3] [d i1]"},
    {OP_("test::sel(Tensor self, int dim, Tensor index) -> Tensor", .rule = "self[... dim:d* ...] index[e] -> [... e ...]"),
     "f32[2, 3], 0, i64[7]", "d*=2! i1 =3 e =7 | 0[d i1] 0[e] /1 -> f32[7, 3] [e i1]"},
    {OP_("test::loss(Tensor self, Tensor target, int dim=1) -> Tensor", .rule = "self[... dim:c* ...] target[...] -> [... ...]"),
     "f32[2, 5, 3], i64[2, 3]", "i0 =2 c*=5! i2 =3 | 0[i0 c i2] 0[i0 i2] /1 -> f32[2, 3] [i0 i2]"},
    {OP_("test::mx(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)", .rule = "self[... dim:d^ ...] -> [... ...], i64[... ...]"),
     "f32[2, 3], -1", "i0 =2 d^=3! | 0[i0 d] /1 -> f32[2] [i0] i64[2] [i0]"},
    /* products */
    {OP_("test::heads(Tensor x, Tensor w) -> Tensor", .rule = "x[t h·d] w[h g] -> [t d g]"), "f32[5, 12], f32[3, 2]",
     "t =5 h =3! d =4 g =2 | 0[t h.d] 0[h g] /1 -> f32[5, 4, 2] [t d g]"},
    {OP_("test::heads.b(Tensor x, Tensor w) -> Tensor", .rule = "x[t h·d] w[h g] -> [t d·g]"), "f32[5, 12], f32[5, 2]",
     "heads: dim 1 of 'x' f32[5, 12] is not a multiple of 5"},
    {OP_("test::heads.c(Tensor x, Tensor w) -> Tensor", .rule = "x[h d h·d] w[d] -> [h·d]"), "f32[2, 3, 7], f32[3]",
     "heads: dim 2 of 'x' f32[2, 3, 7] must have size 6"},
    {OP_("test::heads.d(Tensor x, Tensor w) -> Tensor", .rule = "x[h·d] w[h] -> [h·d 1]"), "f32[6], f32[2]",
     "h =2 d =3 | 0[h.d] 0[h] /1 -> f32[6, 1] [h.d 1]"},
    {OP_("test::heads.e(Tensor x) -> Tensor", .rule = "x[h·d] -> [h d]"), "f32[6]",
     "heads: the rule leaves the sizes in dim 0 of 'x' open"},
    /* lists */
    {OP_("test::list(Tensor[] xs, Tensor y) -> Tensor", .rule = "xs{+[a b]} y[b] -> [a b]"), "{f32[2, 3], f32[2, 3]}, f32[3]",
     "a =2 b =3 | 0[a b] 1[a b] 0[b] /2 -> f32[2, 3] [a b]"},
    {OP_("test::list.b(Tensor[] xs) -> Tensor", .rule = "xs{[a]} -> [a]"), "{f32[2], f32[3]}",
     "list: 'xs' f32[2] and 'xs' f32[3] do not agree: dim 0 of 'xs' has size 2, dim 0 of 'xs' has size 3"},
    /* dtypes */
    {OP_(ADD(10)), "i64[2], f32[2]", "i0 =2 | 0[i0] 1[i0] /2 -> f32[2] [i0]"},
    {OP_(ADD(11)), "f16[2], f32[]", "i0 =2 | 0[i0] 1[] /2 -> f16[2] [i0]"},
    {OP_(ADD(12)), "i32[2], f64[]", "i0 =2 | 0[i0] 1[] /2 -> f64[2] [i0]"},
    {OP_(ADD(13)), "i32[2], f32[2], 0.5", "i0 =2 | 0[i0] 1[i0] /2 -> f32[2] [i0]"},
    {OP_(ADD(14)), "i32[2], i32[2], 0.5", "i0 =2 | 0[i0] 1[i0] /2 -> i32[2] [i0]"},
    {OP_("test::sc(Tensor self, Scalar other) -> Tensor", .rule = "self[...] -> [...]", .dtype = MW_OUT_PROMOTE),
     "i32[2], 0.5", "i0 =2 | 0[i0] /1 -> f32[2] [i0]"},
    {OP_("test::sc.b(Tensor self, Scalar other) -> Tensor", .rule = "self[...] -> [...]", .dtype = MW_OUT_PROMOTE),
     "i32[2], 5", "i0 =2 | 0[i0] /1 -> i32[2] [i0]"},
    {OP_("test::sc.c(Tensor self, Scalar other) -> Tensor", .rule = "self[...] -> [...]", .dtype = MW_OUT_PROMOTE),
     "bool[2], 5", "i0 =2 | 0[i0] /1 -> i64[2] [i0]"},
    {OP_("test::sc.d(Tensor self, Scalar other) -> Tensor", .rule = "self[...] -> [...]", .dtype = MW_OUT_PROMOTE),
     "bf16[2], 5.5", "i0 =2 | 0[i0] /1 -> bf16[2] [i0]"},
    {OP_("test::sc.e(Tensor self, Scalar other) -> Tensor", .rule = "self[...] -> [...]", .dtype = MW_OUT_FLOAT),
     "i64[2], 5", "i0 =2 | 0[i0] /1 -> f32[2] [i0]"},
    {OP_("test::sc.f(Tensor self, Scalar other) -> Tensor", .rule = "self[...] -> [...]", .dtype = MW_OUT_BOOL),
     "i64[2], 5", "i0 =2 | 0[i0] /1 -> bool[2] [i0]"},
    {OP_(SUM(10)), "i32[2], [0]", "d =2! | 0[d] /1 -> i64[] []"},
    {OP_(SUM(11)), "i32[2], [0], false, f16", "d =2! | 0[d] /1 -> f16[] []"},
    {OP_(SUM(12)), "f16[2], dim=[0], dtype=f64", "d =2! | 0[d] /1 -> f64[] []"},
    /* in place */
    {OP_("test::in_(Tensor(a!) self, Tensor other) -> Tensor(a!)", .rule = "self[...] + other[...] -> [...]", .dtype = MW_OUT_PROMOTE),
     "f16[2, 3], f32[3]", "i0 =2 i1 =3 | 0[i0 i1] 1[i1] /2 -> f16[2, 3] [i0 i1]"},
    {OP_("test::in_.b(Tensor(a!) self, Tensor other) -> Tensor(a!)", .rule = "self[...] + other[...] -> [...]", .dtype = MW_OUT_PROMOTE),
     "i64[3], f32[3]", "in_: a result of f32 cannot be written to 'self' of i64"},
    {OP_("test::in_.c(Tensor(a!) self, Tensor other) -> Tensor(a!)", .rule = "self[...] + other[...] -> [...]"),
     "f32[3], f32[2, 3]", "in_: the result f32[2, 3] does not fit 'self' f32[3], which it is written to"},
};
/* clang-format on */

static void calls_give_their_rules(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(cases); i++)
        check_case(&cases[i]);
}

static void bad_text_is_named_by_its_column(void **state)
{
    (void)state;
    static const char schema_text[] =
        "test::x(Tensor a, Tensor b, Tensor[] c, Tensor? e, int dim, bool flag) -> Tensor";
    static const struct {
        const char *rule, *says;
    } bad[] = {
        {"", "expected an operand's name at column 1"},
        {"q[n] -> [n]", "no Tensor argument 'q' in the schema at column 1"},
        {"dim[n] -> [n]", "no Tensor argument 'dim'"},
        {"a[n] a[n] -> [n]", "operand 'a' twice at column 6"},
        {"a[n*] b[n^] -> [n]", "letter 'n' with two different marks"},
        {"a[n -> [n]", "expected a letter, '...', '1' or ']' at column 5"},
        {"a[abcdef] -> [n]", "a letter's name is too long"},
        {"a[h·i·j·k·l] -> [h]", "more than 4 letters in a dim"},
        {"a{[n]} -> [n]", "'a' is written otherwise in the schema"},
        {"c[n] -> [n]", "'c' is written otherwise"},
        {"e[n] -> [n]", "'e' is written otherwise"},
        {"a[flag:d] -> [d]", "argument 'flag' holds no dims"},
        {"a[what:d] -> [d]", "no argument 'what' in the schema"},
        {"a[... n ...] -> [n]", "a plain dim between"},
        {"a[n] -> [m]", "letter 'm' stands in no operand"},
        {"a[n] b[n] c{[n]} e?[n] -> [...]", "'...' in an output and in no operand"},
        {"a[n] -> [n]", "operand 'b' lacks"},
        {"a[n] b[n] c{[n]} e?[n] -> [n] x", "text after the end"},
        {"a[n] b[n] c{[n]} e?[n] -> q9[n]", "unknown dtype 'q9'"},
        {"a[n] + b[n]; c{[n]} -> [n]", "';' after the first term"},
        {"a<[...] -> [n]", "'<' and '...' or named dims do not go together"},
        {"a[n] b[n]", "expected an operand's name"},
    };
    mw_schema schema;
    assert_int_equal(mw__schema_parse(schema_text, &schema), MW_OK);
    for (int i = 0; i < MW_COUNT(bad); i++) {
        mw_rule_text text;
        assert_int_equal(mw__rule_text_parse(&schema, bad[i].rule, &text), MW_ERR_PARSE);
        if (!strstr(mw_last_error()->says, bad[i].says))
            fail_msg("%s\nsays: %s\nnot:  %s", bad[i].rule, mw_last_error()->says, bad[i].says);
    }
}

/* ---- overrides ------------------------------------------------------------------------------ */

static mw_status bmm_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    mw_operand *out = &rule->out[0];
    MW_TRY(mw__rule_broadcast(call, rule, 0, 2, 1, "b", out, NULL));
    int n = mw__rule_letter(rule, "n", call->in[0].shape[call->in[0].ndim - 1], MW_MARK_WHOLE);
    for (int i = 0; i < 2; i++)
        mw__rule_put(&rule->in[i], rule->in[i].ndim - 1, n);
    mw__rule_push(out, n);
    return MW_OK;
}

static mw_status wrong_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    mw__rule_letters(rule, &rule->in[0], &call->in[0], "x", MW_MARK_FREE);
    mw__rule_copy(&rule->out[0], 0, &rule->in[0], 0, call->in[0].ndim);
    rule->out[0].ndim = rule->in[0].ndim;
    rule->letter[0].size = 1;
    return MW_OK;
}

static mw_status greedy_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    (void)call;
    for (int i = 0; i <= MW_RULE_LETTERS; i++)
        (void)mw__rule_letter_nth(rule, "x", i, 1, MW_MARK_FREE);
    return MW_OK;
}

static mw_status flat(const mw_call_args *call, mw_meta *ret)
{
    ret->ndim = 1;
    ret->shape[0] = call->in[0].shape[0] * call->in[0].shape[1];
    return MW_OK;
}

static void overrides_fill_the_rule_and_are_checked(void **state)
{
    (void)state;
    static const rule_case own[] = {
        {{.schema = "test::own(Tensor a, Tensor b) -> Tensor", .factors = bmm_factors},
         "f32[2, 1, 5], f32[3, 5]",
         "b0 =2 b1 =3 n*=5 | 0[b0 1 n] 0[b1 n] /1 -> f32[2, 3, 5] [b0 b1 n]"},
        {{.schema = "test::own.b(Tensor a, Tensor b) -> Tensor", .factors = bmm_factors},
         "f32[2, 4, 5], f32[3, 5]",
         "own: 'a' f32[2, 4, 5] and 'b' f32[3, 5] do not broadcast"},
        {{.schema = "test::own.c(Tensor a) -> Tensor", .factors = wrong_factors},
         "f32[2]",
         "own: the letters of 'a' do not give its shape"},
        {{.schema = "test::own.d(Tensor a) -> Tensor", .factors = greedy_factors},
         "f32[2]",
         "own: needs 41 factors, at most 40 are possible"},
        {{.schema = "test::own.e(Tensor a) -> Tensor", .reshape = flat},
         "f16[2, 3]",
         "| 0[1 1] /1 -> f16[6] [1]"},
        {{.schema = "test::own.f(Tensor a) -> Tensor"},
         "f16[2, 3]",
         "own: the op has no rule text that can be read"},
    };
    for (int i = 0; i < MW_COUNT(own); i++)
        check_case(&own[i]);
}

static void out_of_memory_is_an_error_and_nothing_leaks(void **state)
{
    (void)state;
    static const mw_op op = {.schema = "test::torture(Tensor self, Tensor mat2) -> Tensor",
                             .rule = "self[m k], mat2[k n] -> [m n]"};
    assert_int_equal(mw__op_add(&op), MW_OK);
    for (int64_t at = 1;; at++) {
        mw_fault_allocator fault;
        mw_arena arena;
        mw_sample sample;
        mw_rule rule;
        mw_fault_allocator_init(&fault, at, 0);
        mw_allocator_use(&fault.allocator);
        mw__arena_init(&arena);
        mw_status status = mw__sample_read(&op, "f32[300, 6], f32[6, 500]", 1, &arena, &sample);
        if (status == MW_OK) status = mw__rule_of(&sample.call, &arena, &rule);
        mw__arena_done(&arena);
        mw_allocator_use(NULL);
        assert_int_equal(fault.live, 0);
        if (fault.count < at) {
            assert_int_equal(status, MW_OK);
            assert_true(at > 1);
            break;
        }
        assert_int_equal(status, MW_ERR_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_give_their_rules),
        cmocka_unit_test(bad_text_is_named_by_its_column),
        cmocka_unit_test(overrides_fill_the_rule_and_are_checked),
        cmocka_unit_test(out_of_memory_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
