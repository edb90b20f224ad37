/* The placements that `meshwise ops` prints, read back from their words and given to the chooser of
 * run-time calls: each must run as it stands, and give what was printed. For a few ops the rows are
 * known by heart. */
#include "ops/sample.h"
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROWS = 64 };

typedef struct rows {
    int n;
    char text[ROWS][256];
} rows;

static void add_words(char *to, size_t size, const char *const *words, int n)
{
    for (int i = 0; i < n; i++) {
        size_t at = strlen(to);
        (void)snprintf(to + at, size - at, "%s%s", at ? " " : "", words[i]);
    }
}

static void keep(void *user, const mw_op_placement *row)
{
    rows *r = user;
    assert_true(r->n < ROWS);
    char *to = r->text[r->n++];
    *to = 0;
    add_words(to, sizeof r->text[0], row->in, row->nin);
    add_words(to, sizeof r->text[0], (const char *const[]){"->"}, 1);
    add_words(to, sizeof r->text[0], row->out, row->nout);
}

static const struct {
    const char *op;
    const char *row[12];
} known[] = {
    {"mm",
     {"R R -> R", "S(0) R -> S(0)", "S(1) S(0) -> P(sum)", "R S(1) -> S(1)", "P(sum) R -> P(sum)",
      "R P(sum) -> P(sum)"}},
    {"add",
     {"R R -> R", "S(0) S(0) -> S(0)", "S(1) S(1) -> S(1)", "P(sum) P(sum) -> P(sum)",
      "P(max) R -> P(max)", "R P(max) -> P(max)", "P(min) R -> P(min)", "R P(min) -> P(min)"}},
    {"mul",
     {"R R -> R", "S(0) S(0) -> S(0)", "S(1) S(1) -> S(1)", "P(sum) R -> P(sum)",
      "R P(sum) -> P(sum)"}},
    {"sin", {"R -> R", "S(0) -> S(0)", "S(1) -> S(1)"}},
    {"exp", {"R -> R", "S(0) -> S(0)", "S(1) -> S(1)", "P(max) -> P(max)", "P(min) -> P(min)"}},
    {"t",
     {"R -> R", "S(0) -> S(1)", "S(1) -> S(0)", "P(sum) -> P(sum)", "P(max) -> P(max)",
      "P(min) -> P(min)"}},
    {"sum", {"R -> R", "S(0) -> P(sum)", "S(1) -> P(sum)", "P(sum) -> P(sum)"}},
    {"amax", {"R -> R", "S(0) -> S(0)", "S(1) -> P(max)", "P(max) -> P(max)"}},
    {"cat",
     {"R R -> R", "S(0) S(0) -> _S(0, 2)", "S(1) S(1) -> S(1)", "P(sum) P(sum) -> P(sum)",
      "P(max) R -> P(max)", "R P(max) -> P(max)", "P(min) R -> P(min)", "R P(min) -> P(min)"}},
};

static void test_known_ops_have_the_rows_of_the_literature(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(known); i++) {
        const mw_op *op;
        rows r = {0};
        assert_int_equal(mw_op_find(known[i].op, &op), MW_OK);
        assert_int_equal(mw_op_placements(op, keep, &r), MW_OK);
        for (int k = 0; k < r.n || known[i].row[k]; k++) {
            if (k >= r.n || !known[i].row[k] || strcmp(r.text[k], known[i].row[k]) != 0)
                fail_msg("%s, row %d: %s, expected %s", known[i].op, k,
                         k < r.n ? r.text[k] : "none", known[i].row[k] ? known[i].row[k] : "none");
        }
    }
}

/* ---- read back ------------------------------------------------------------------------------ */

typedef struct checker {
    mw_mesh *mesh;
    mw_arena arena;
    const char *name;
    const mw_call_args *call;
    int rows, strided, partial;
} checker;

/* The layout of a tensor under one word; false where the word is a layout's own text. */
static bool read_word(const checker *c, const char *word, const mw_meta *meta, mw_layout *ret)
{
    char kind[8], text[64];
    int dim = -1;
    long long chunks = 0;
    *ret = mw_layout_replicated(meta->dtype, meta->ndim, meta->shape);
    if (strcmp(word, "R") == 0) return true;
    if (word[0] == 'P') {
        size_t n = strcspn(word + 2, ")");
        assert_true(n < sizeof kind);
        memcpy(kind, word + 2, n);
        kind[n] = 0;
        (void)snprintf(text, sizeof text, "[1]{%s:x}", kind);
    } else if (word[0] == 'S') {
        dim = (int)strtol(word + 2, NULL, 10);
        (void)snprintf(text, sizeof text, "[%lld@x]", (long long)meta->shape[dim]);
    } else if (word[0] == '_') {
        char *end;
        dim = (int)strtol(word + 3, &end, 10);
        chunks = strtoll(end + 1, NULL, 10);
        (void)snprintf(text, sizeof text, "[%lld@:%lld,x]", (long long)meta->shape[dim], chunks);
    } else {
        return false;
    }
    mw_layout one;
    assert_int_equal(mw_layout_parse(c->mesh, text, &one), MW_OK);
    if (dim >= 0) ret->dim[dim] = one.dim[0];
    ret->npartial = one.npartial;
    memcpy(ret->partial, one.partial, sizeof one.partial);
    return true;
}

static void check_row(void *user, const mw_op_placement *row)
{
    checker *c = user;
    const mw_layout *in[16];
    mw_layout layouts[16], out;
    mw_choice choice;
    assert_int_equal(row->nin, c->call->nin);
    assert_true(row->nin <= MW_COUNT(in));
    c->rows++;
    for (int i = 0; i < row->nin; i++) {
        assert_true(read_word(c, row->in[i], &c->call->in[i], &layouts[i]));
        in[i] = &layouts[i];
        c->strided += row->in[i][0] == '_';
        c->partial += row->in[i][0] == 'P';
    }
    if (row->nin == 0) return; /* what nothing places is whole */
    bool whole = true; /* from whole operands the chooser makes a whole result, though a split one
                          is legal */
    for (int i = 0; i < row->nin; i++)
        whole = whole && row->in[i][0] == 'R';
    for (int i = 0; i < row->nout; i++)
        if (whole && row->out[i][0] != 'R') return;
    assert_int_equal(mw__choose(c->mesh, c->call, in, &c->arena, &choice), MW_OK);
    if (choice.moves) fail_msg("%s: %s ... moves: %s", c->name, row->in[0], choice.why);
    assert_int_equal(row->nout, choice.nout);
    for (int i = 0; i < row->nout; i++) {
        c->strided += row->out[i][0] == '_';
        if (!read_word(c, row->out[i], &choice.out_meta[i], &out)) continue;
        if (!mw_layout_equal(&out, &choice.out[i]))
            fail_msg("%s: %s -> %s is not what the chooser gives", c->name, row->in[0],
                     row->out[i]);
    }
}

static void test_every_row_runs_as_it_stands(void **state)
{
    (void)state;
    checker c = {0};
    assert_int_equal(mw_mesh_parse("x=2", &c.mesh), MW_OK);
    for (int i = 0; i < mw_op_count(); i++) {
        const mw_op *op = mw_op_at(i);
        mw_op_text text;
        mw_sample sample;
        mw__arena_init(&c.arena);
        assert_int_equal(mw_op_describe(op, &text), MW_OK);
        assert_int_equal(mw__sample_make(op, 0, 0, &c.arena, &sample), MW_OK);
        c.name = text.word;
        c.call = &sample.call;
        int before = c.rows;
        assert_int_equal(mw_op_placements(op, check_row, &c), MW_OK);
        if (c.rows == before) fail_msg("%s has no placement at all", c.name);
        mw__arena_done(&c.arena);
    }
    print_message("%d rows of %d ops, %d partial operands, %d strided\n", c.rows, mw_op_count(),
                  c.partial, c.strided);
    assert_true(c.rows > 2 * mw_op_count() && c.partial > 20 && c.strided > 0);
    mw_mesh_unref(c.mesh);
}

/* No placement that runs is left out: each operand of an op of two alone, and both, in every word.
 */
static void test_no_row_of_a_product_is_missing(void **state)
{
    (void)state;
    static const char *const words[] = {"R", "S(0)", "S(1)", "P(sum)", "P(max)", "P(min)"};
    const mw_op *op;
    mw_sample sample;
    rows listed = {0};
    checker c = {.name = "mm"};
    int legal = 0;
    mw__arena_init(&c.arena);
    assert_int_equal(mw_mesh_parse("x=2", &c.mesh), MW_OK);
    assert_int_equal(mw_op_find("aten::mm", &op), MW_OK);
    assert_int_equal(mw__sample_make(op, 0, 0, &c.arena, &sample), MW_OK);
    assert_int_equal(mw_op_placements(op, keep, &listed), MW_OK);
    for (int a = 0; a < MW_COUNT(words); a++)
        for (int b = 0; b < MW_COUNT(words); b++) {
            mw_layout left, right;
            mw_choice choice;
            assert_true(read_word(&c, words[a], &sample.call.in[0], &left));
            assert_true(read_word(&c, words[b], &sample.call.in[1], &right));
            const mw_layout *in[] = {&left, &right};
            if (mw__choose(c.mesh, &sample.call, in, &c.arena, &choice) == MW_OK && !choice.moves)
                legal++;
        }
    assert_int_equal(legal, listed.n);
    mw__arena_done(&c.arena);
    mw_mesh_unref(c.mesh);
}

static void test_unknown_ops_are_told_with_the_nearest(void **state)
{
    (void)state;
    const mw_op *op = NULL;
    assert_int_equal(mw_op_find("sofmax", &op), MW_ERR_ARG);
    assert_string_equal(mw_last_error()->says, "unknown op 'sofmax'");
    assert_non_null(strstr(mw_last_error()->hint, "softmax"));
    assert_null(op);
    assert_null(mw_op_at(-1));
    assert_null(mw_op_at(mw_op_count()));
    assert_int_equal(mw_op_placements(NULL, keep, NULL), MW_ERR_ARG);
    mw_op_text text;
    assert_int_equal(mw_op_describe(NULL, &text), MW_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_ops_have_the_rows_of_the_literature),
        cmocka_unit_test(test_every_row_runs_as_it_stands),
        cmocka_unit_test(test_no_row_of_a_product_is_missing),
        cmocka_unit_test(test_unknown_ops_are_told_with_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
