/* Meshes: text both ways, places of ranks, and what a bad text is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mesh/mesh.h"

#include <stdio.h>

static mw_mesh *mesh_of(const char *text)
{
    mw_mesh *mesh = NULL;
    assert_int_equal(mw_mesh_parse(text, &mesh), MW_OK);
    return mesh;
}

static void test_first_axis_is_slowest(void **state)
{
    (void)state;
    mw_mesh *mesh = mesh_of("x=2,y=4");
    assert_int_equal(mw_mesh_ranks(mesh), 8);
    assert_int_equal(mw_mesh_axes(mesh), 2);
    assert_string_equal(mw_mesh_axis_name(mesh, 0), "x");
    assert_int_equal(mw_mesh_axis_size(mesh, 1), 4);
    assert_int_equal(mw_mesh_axis_find(mesh, "y?", 1), 1);
    assert_int_equal(mw_mesh_axis_find(mesh, "yy", 2), -1);
    for (int rank = 0; rank < 8; rank++) {
        int coord[MW_MESH_AXES];
        mw__mesh_coords(mesh, rank, coord);
        assert_int_equal(coord[0], rank / 4);
        assert_int_equal(coord[1], rank % 4);
        assert_int_equal(mw_mesh_coord(mesh, rank, 1), rank % 4);
        assert_int_equal(mw_mesh_rank_at(mesh, coord), rank);
    }
    mw_mesh_unref(mesh);
}

static void test_ids_place_the_ranks(void **state)
{
    (void)state;
    static const int ids[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    mw_mesh *mesh = mesh_of("x=2, y=4 ids=[0,4,1,5, 2,6,3,7]");
    for (int place = 0; place < 8; place++) {
        int coord[2] = {place / 4, place % 4}, back[MW_MESH_AXES];
        assert_int_equal(mw_mesh_rank_at(mesh, coord), ids[place]);
        mw__mesh_coords(mesh, ids[place], back);
        assert_memory_equal(coord, back, sizeof coord);
        assert_int_equal(mw_mesh_coord(mesh, ids[place], 0), coord[0]);
    }
    char text[64];
    assert_int_equal(mw_mesh_print(mesh, text, (int)sizeof text), 29);
    assert_string_equal(text, "x=2,y=4 ids=[0,4,1,5,2,6,3,7]");
    mw_mesh_unref(mesh);
}

static void test_printed_meshes_read_back_the_same(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "tp=1",
        "x=2,y=4",
        "a=2,b=2,c=2,d=2,e=2,f=2",
        "\"data parallel\"=3,tp=2",
        "x=65536",
        "x=2,y=2 ids=[3,2,1,0]",
    };
    for (int i = 0; i < MW_COUNT(texts); i++) {
        mw_mesh *mesh = mesh_of(texts[i]);
        char text[128], part[8];
        int length = mw_mesh_print(mesh, text, (int)sizeof text);
        assert_string_equal(text, texts[i]);
        assert_int_equal(length, strlen(texts[i]));
        assert_int_equal(mw_mesh_print(mesh, part, (int)sizeof part), length);
        assert_int_equal(strncmp(part, text, sizeof part - 1), 0);
        assert_int_equal(part[7] * (length >= 7), 0);
        assert_int_equal(mw_mesh_print(mesh, NULL, 0), length);
        mw_mesh *again = mesh_of(text);
        assert_true(mw_mesh_same(mesh, again));
        mw_mesh_unref(again);
        mw_mesh_unref(mesh);
    }
}

static void test_meshes_differ_by_name_size_and_order(void **state)
{
    (void)state;
    static const char *const texts[] = {"x=2,y=4",
                                        "x=4,y=2",
                                        "x=2,z=4",
                                        "x=8",
                                        "x=2,y=2,z=2",
                                        "x=2,y=4 ids=[0,4,1,5,2,6,3,7]",
                                        "x=2,y=4 ids=[0,4,1,5,2,6,7,3]"};
    for (int i = 0; i < MW_COUNT(texts); i++)
        for (int j = 0; j < MW_COUNT(texts); j++) {
            mw_mesh *a = mesh_of(texts[i]), *b = mesh_of(texts[j]);
            assert_int_equal(mw_mesh_same(a, b), i == j);
            mw_mesh_unref(a);
            mw_mesh_unref(b);
        }
    mw_mesh *a = mesh_of("x=2,y=4"), *b = mesh_of("x=2,y=4 ids=[0,1,2,3,4,5,6,7]");
    assert_true(mw_mesh_same(a, b));
    assert_ptr_equal(mw_mesh_ref(a), a);
    mw_mesh_unref(a);
    assert_int_equal(mw_mesh_ranks(a), 8);
    mw_mesh_unref(a);
    mw_mesh_unref(b);
    mw_mesh_unref(NULL);
}

typedef struct bad_mesh {
    const char *text;
    mw_status code;
    const char *says;
    int column; /* where the caret stands */
} bad_mesh;

static const bad_mesh bad_meshes[] = {
    {"", MW_ERR_PARSE, "expected an axis", 1},
    {"tp", MW_ERR_PARSE, "expected '='", 3},
    {"tp=", MW_ERR_PARSE, "expected a size", 4},
    {"tp=0", MW_ERR_ARG, "axis 'tp' has a size below 1", 4},
    {"tp=-1", MW_ERR_ARG, "axis 'tp' has a size below 1", 4},
    {"tp=x", MW_ERR_PARSE, "expected a size", 4},
    {"tp=1000000", MW_ERR_ARG, "at most 65536 ranks", 4},
    {"tp=99999999999999999999999", MW_ERR_ARG, "at most 65536 ranks", 4},
    {"x=256,y=257", MW_ERR_ARG, "at most 65536 ranks", 9},
    {"x=2,x=4", MW_ERR_ARG, "axis 'x' is there twice", 5},
    {"x=2,", MW_ERR_PARSE, "expected an axis", 5},
    {"x=2 y=4", MW_ERR_PARSE, "expected ','", 5},
    {"4=x", MW_ERR_PARSE, "expected an axis", 1},
    {"\"x=2", MW_ERR_PARSE, "no end", 1},
    {"\"\"=2", MW_ERR_PARSE, "expected an axis", 1},
    {"a=1,b=1,c=1,d=1,e=1,f=1,g=1", MW_ERR_ARG, "at most 6 axes", 25},
    {"an_axis_with_a_name_of_33_letters=2", MW_ERR_PARSE, "longer than 31", 1},
    {"x=2,y=2 ids=[0,1,2]", MW_ERR_ARG, "3 ranks, the mesh has 4", 14},
    {"x=2,y=2 ids=[0,1,2,3,4]", MW_ERR_ARG, "more than the mesh's 4", 22},
    {"x=2,y=2 ids=[0,1,1,2]", MW_ERR_ARG, "not a permutation: rank 1 is there twice", 18},
    {"x=2,y=2 ids=[0,1,2,4]", MW_ERR_ARG, "not a permutation: rank 4", 20},
    {"x=2,y=2 ids=[0,1,2,3", MW_ERR_PARSE, "expected ',' or ']'", 21},
    {"x=2,y=2 ids=0", MW_ERR_PARSE, "ids=[", 13},
    {"x=2 ids=[0,1] z", MW_ERR_PARSE, "the end", 15},
    {"\xc3\xa9=2", MW_ERR_PARSE, "expected an axis", 1},
    {"\"\xc3\xa9\"=2,\xc3\xa9=3", MW_ERR_PARSE, "expected an axis", 7},
};

static void test_bad_meshes_say_where_and_why(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(bad_meshes); i++) {
        const bad_mesh *bad = &bad_meshes[i];
        mw_mesh *mesh = (mw_mesh *)state;
        mw_status status = mw_mesh_parse(bad->text, &mesh);
        const char *says = mw_last_error()->says, *caret = strrchr(says, '\n');
        if (status != bad->code || !strstr(says, bad->says))
            fail_msg("'%s' gives %d: %s", bad->text, status, says);
        assert_int_equal(mw_last_error()->code, bad->code);
        assert_ptr_equal(mesh, (mw_mesh *)state);
        char column[32];
        (void)snprintf(column, sizeof column, "at column %d", bad->column);
        if (!strstr(says, column)) fail_msg("'%s': no %s in: %s", bad->text, column, says);
        assert_non_null(caret);
        assert_int_equal(strlen(caret + 1), bad->column + 2);
        assert_int_equal(caret[strlen(caret) - 1], '^');
    }
}

/* Every allocation failed once: an error, nothing lost. */
static void test_reading_a_mesh_survives_no_memory(void **state)
{
    (void)state;
    int fails = 0;
    for (int64_t nth = 1;; nth++) {
        mw_fault_allocator fault;
        mw_fault_allocator_init(&fault, nth, 0);
        mw_allocator_use(&fault.allocator);
        mw_mesh *mesh = NULL;
        mw_status status = mw_mesh_parse("x=2,y=2 ids=[3,2,1,0]", &mesh);
        mw_allocator_use(NULL);
        mw_mesh_unref(mesh); /* gives back through the allocator that made it */
        assert_int_equal(fault.live, 0);
        if (status == MW_OK) break;
        assert_int_equal(status, MW_ERR_NOMEM);
        fails++;
    }
    assert_int_equal(fails, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_axis_is_slowest),
        cmocka_unit_test(test_ids_place_the_ranks),
        cmocka_unit_test(test_printed_meshes_read_back_the_same),
        cmocka_unit_test(test_meshes_differ_by_name_size_and_order),
        cmocka_unit_test(test_bad_meshes_say_where_and_why),
        cmocka_unit_test(test_reading_a_mesh_survives_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
