/* Notations against the systems that they come from: what JAX and PyTorch print, and who holds what
 * by their own code, as recorded in tests/data/notations.def. */
#include "notation_text.h"

typedef struct jax_row {
    const char *mesh, *shape, *spec, *hlo, *sdy, *owners;
} jax_row;

typedef struct torch_row {
    const char *mesh, *shape, *letters, *repr, *owners;
} torch_row;

#define GOLDEN_TORCH(...)
#define GOLDEN_JAX(...) {__VA_ARGS__},
static const jax_row jax_rows[] = {
#include "data/notations.def"
};
#undef GOLDEN_JAX
#undef GOLDEN_TORCH
#define GOLDEN_JAX(...)
#define GOLDEN_TORCH(...) {__VA_ARGS__},
static const torch_row torch_rows[] = {
#include "data/notations.def"
};

enum {
    JAX_ROWS = sizeof jax_rows / sizeof jax_rows[0],
    TORCH_ROWS = sizeof torch_rows / sizeof torch_rows[0]
};

static void same_layout(const mw_mesh *mesh, const char *text, const jax_row *row,
                        const mw_reading *wanted)
{
    int64_t shape[MW_LAYOUT_DIMS];
    char got[TEXT], want[TEXT];
    mw_reading *reading = read_as(mesh, text, shape_of(row->shape, shape), shape);
    assert_non_null(mw_reading_layout(reading));
    assert_string_equal(print_as(reading, MW_NOTATION_LAYOUT, got),
                        print_as(wanted, MW_NOTATION_LAYOUT, want));
    mw_reading_free(reading);
}

static void test_jax_specs_become_the_hlo_and_shardy_that_jax_prints(void **state)
{
    (void)state;
    int partial = 0;
    for (int i = 0; i < JAX_ROWS; i++) {
        const jax_row *row = &jax_rows[i];
        int64_t shape[MW_LAYOUT_DIMS];
        char text[TEXT], sdy[TEXT];
        mw_mesh *mesh = mesh_of(row->mesh);
        mw_reading *reading = read_as(mesh, row->spec, shape_of(row->shape, shape), shape);
        assert_string_equal(print_as(reading, MW_NOTATION_HLO_V2, text), row->hlo);
        same_layout(mesh, row->hlo, row, reading);
        same_layout(mesh, print_as(reading, MW_NOTATION_HLO_V1, text), row, reading);
        same_layout(mesh, print_as(reading, MW_NOTATION_SPEC, text), row, reading);
        if (row->owners[0]) {
            assert_string_equal(owners_of(mesh, reading, text), row->owners);
            (void)snprintf(sdy, sizeof sdy, "<@mesh, %s>", row->sdy);
            /* axes of size 1 cut nothing, and are not said */
            if (!strstr(sdy, "\"one\""))
                assert_string_equal(print_as(reading, MW_NOTATION_SDY, text), sdy);
            same_layout(mesh, row->sdy, row, reading);
            same_layout(mesh, sdy, row, reading);
        } else {
            partial++;
        }
        mw_reading_free(reading);
        mw_mesh_unref(mesh);
    }
    assert_true(JAX_ROWS > 50 && partial > 5);
}

static void test_placements_hold_what_pytorch_splits(void **state)
{
    (void)state;
    int strided = 0, unsayable = 0;
    for (int i = 0; i < TORCH_ROWS; i++) {
        const torch_row *row = &torch_rows[i];
        int64_t shape[MW_LAYOUT_DIMS];
        int ndim = shape_of(row->shape, shape);
        char got[TEXT], text[TEXT], again_text[TEXT];
        mw_mesh *mesh = mesh_of(row->mesh);
        mw_reading *reading = read_as(mesh, row->letters, ndim, shape);
        mw_reading *repr = read_as(mesh, row->repr, ndim, shape);
        owners_of(mesh, reading, got);
        if (strcmp(got, row->owners) != 0)
            fail_msg("%s of %s on %s: %s, not %s", row->letters, row->shape, row->mesh, got,
                     row->owners);
        assert_string_equal(owners_of(mesh, repr, got), row->owners);
        print_as(reading, MW_NOTATION_DTENSOR, text);
        if (text[0] == '!') fail_msg("%s of %s: %s", row->letters, row->shape, text);
        mw_reading *again = read_as(mesh, text, ndim, shape);
        assert_string_equal(owners_of(mesh, again, got), row->owners);
        if (mw_reading_layout(reading))
            assert_true(mw_layout_equal(mw_reading_layout(reading), mw_reading_layout(again)));
        else
            assert_string_equal(print_as(again, MW_NOTATION_DTENSOR, again_text), text);
        unsayable += !mw_reading_layout(reading);
        strided += strstr(row->letters, "_S") != NULL;
        mw_reading_free(again);
        mw_reading_free(repr);
        mw_reading_free(reading);
        mw_mesh_unref(mesh);
    }
    printf("%d rows of PyTorch, %d strided, %d of no layout\n", TORCH_ROWS, strided, unsayable);
    assert_true(TORCH_ROWS > 80 && strided > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jax_specs_become_the_hlo_and_shardy_that_jax_prints),
        cmocka_unit_test(test_placements_hold_what_pytorch_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
