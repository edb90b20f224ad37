/* Layouts: text both ways, who holds what against brute force, and what a bad text is told. */
#include "layout_brute.h"

#define DOT "\xc2\xb7"

/* ---- text ---------------------------------------------------------------------------------- */

typedef struct reading {
    const char *text, *printed;
} reading;

static void test_texts_read_and_print(void **state)
{
    (void)state;
    static const reading list[] = {
        {"f32[]", "f32[]"},
        {"[]", "[]"},
        {"f32[16@x, 8]", "f32[16@x, 8]"},
        {" float32 [ 16 @ x , 8 ] ", "f32[16@x, 8]"},
        {"torch.bfloat16[8,8@y]", "bf16[8, 8@y]"},
        {"pred[4]", "bool[4]"},
        {"si64[4]", "i64[4]"},
        {"half[4]", "f16[4]"},
        {"[16@x, 8]", "[16@x, 8]"},
        {"f32[2*8@y, 8]", "f32[2" DOT "8@y, 8]"},
        {"f32[2" DOT "8@y]", "f32[2" DOT "8@y]"},
        {"f32[2\xe2\x8b\x85"
         "8@y]",
         "f32[2" DOT "8@y]"},
        {"f32[16@x,y,8]", "f32[16@x,y, 8]"},
        {"f32[16@x,8@y]", "f32[16@x, 8@y]"},
        {"f32[9@(x,y), 8]", "f32[9@(x,y), 8]"},
        {"f32[10@:3,x]", "f32[10@:3,x]"},
        {"f32[16@y:(1)2, 8@y:(2)2]", "f32[16@y:(1)2, 8@y:(2)2]"},
        {"f32[16@ y : ( 2 ) 2 ]", "f32[16@y:(2)2]"},
        {"f32[16@x?, 8?]", "f32[16@x?, 8?]"},
        {"f32[16@\"data parallel\", 8]", "f32[16@\"data parallel\", 8]"},
        {"f32[16@\"x\", 8]", "f32[16@x, 8]"},
        {"f32[16, 8]{sum:x}", "f32[16, 8]{sum:x}"},
        {"f32[16, 8] { sum : y , x }", "f32[16, 8]{sum:x,y}"},
        {"f32[16]{avg:y,sum:x}", "f32[16]{sum:x,avg:y}"},
        {"f32[16]{sum:y:(1)2,y:(2)2}", "f32[16]{sum:y}"},
        {"f32[16]{sum:y:(1)2,avg:y:(2)2}", "f32[16]{sum:y:(1)2,avg:y:(2)2}"},
        {"f32[16]{max:x,max:y}", "f32[16]{max:x,y}"},
        {"f32[16@x]{prod:y}", "f32[16@x]{prod:y}"},
        {"f32[0, 4@x]", "f32[0, 4@x]"},
        {"f32[0@y, 4@x]", "f32[0, 4@x]"},
        {"f32[4@one]{sum:one}", "f32[4]"},
        {"f32[1*1, 2*3]", "f32[1, 6]"},
    };
    mw_mesh *mesh = mesh_of("x=2,y=4,one=1,\"data parallel\"=3");
    for (int i = 0; i < MW_COUNT(list); i++) {
        mw_layout layout, again;
        char text[256], small[5];
        if (mw_layout_parse(mesh, list[i].text, &layout) != MW_OK)
            fail_msg("%s: %s", list[i].text, mw_last_error()->says);
        int length = mw_layout_print(mesh, &layout, text, (int)sizeof text);
        assert_string_equal(text, list[i].printed);
        assert_int_equal(length, strlen(text));
        assert_int_equal(mw_layout_print(mesh, &layout, small, (int)sizeof small), length);
        assert_int_equal(small[MW_MIN(length, 4)], 0);
        assert_int_equal(mw_layout_parse(mesh, text, &again), MW_OK);
        assert_true(mw_layout_equal(&layout, &again));
        assert_memory_equal(&layout, &again, sizeof layout);
        assert_int_equal(mw__layout_hash(&layout), mw__layout_hash(&again));
        assert_int_equal(mw__layout_check(mesh, &layout), MW_OK);
    }
    mw_mesh_unref(mesh);
}

static void test_a_layout_inside_a_longer_text(void **state)
{
    (void)state;
    mw_mesh *mesh = mesh_of("x=2");
    const char *text = "from f32[4@x]{sum:y} to", *at = text + 5;
    mw_layout layout;
    assert_int_equal(mw__layout_read(mesh, text, &at, &layout), MW_ERR_PARSE);
    assert_non_null(strstr(mw_last_error()->says, "at column 19"));
    assert_ptr_equal(at, text + 5);
    text = "from f32[4@x] to";
    at = text + 4;
    assert_int_equal(mw__layout_read(mesh, text, &at, &layout), MW_OK);
    assert_string_equal(at, " to");
    mw_mesh_unref(mesh);
}

static void test_a_very_long_layout_prints_whole(void **state)
{
    (void)state;
    mw_mesh *mesh = mesh_of("x=2");
    mw_layout layout = {.ndim = MW_LAYOUT_DIMS};
    for (int d = 0; d < MW_LAYOUT_DIMS; d++) {
        layout.dim[d].nfactor = MW_DIM_FACTORS;
        for (int f = 0; f < MW_DIM_FACTORS; f++)
            layout.dim[d].factor[f] = 1000000007;
    }
    char text[2048];
    mw_str str = {0};
    int length = mw_layout_print(mesh, &layout, text, (int)sizeof text);
    mw__layout_str(mesh, &layout, &str);
    assert_int_equal(str.length, length);
    assert_string_equal(mw__str_text(&str), text);
    mw__str_done(&str);
    mw_mesh_unref(mesh);
}

/* ---- errors -------------------------------------------------------------------------------- */

typedef struct bad_layout {
    const char *text;
    mw_status code;
    const char *says;
    int column;
    const char *hint; /* part of it; NULL: none asked for */
} bad_layout;

static const bad_layout bad_layouts[] = {
    {"", MW_ERR_PARSE, "expected '['", 1, NULL},
    {"f32", MW_ERR_PARSE, "expected '['", 4, NULL},
    {"f33[4]", MW_ERR_PARSE, "no dtype 'f33'", 1, "did you mean f32"},
    {"tensor[4]", MW_ERR_PARSE, "no dtype 'tensor'", 1, "f32[16@x, 8]"},
    {"f32[4", MW_ERR_PARSE, "expected ',' or ']'", 6, NULL},
    {"f32[4,]", MW_ERR_PARSE, "expected a size", 7, NULL},
    {"f32[x]", MW_ERR_PARSE, "expected a size", 5, NULL},
    {"f32[-4]", MW_ERR_PARSE, "negative", 5, NULL},
    {"f32[4@]", MW_ERR_PARSE, "expected an axis", 7, NULL},
    {"f32[4@z, 8]", MW_ERR_PARSE, "the mesh has no axis 'z'", 7, "x=2,y=4"},
    {"f32[4@data, 8]", MW_ERR_PARSE, "the mesh has no axis 'data'", 7, "did you mean 'date'"},
    {"f32[2" DOT "4@zz]", MW_ERR_PARSE, "no axis 'zz'", 9, NULL},
    {"f32[4@x, 8@x]", MW_ERR_PARSE, "axis 'x' is used twice", 12, "at most one place"},
    {"f32[4@x,x]", MW_ERR_PARSE, "axis 'x' is used twice", 9, NULL},
    {"f32[4@x]{sum:x}", MW_ERR_PARSE, "axis 'x' is used twice", 14, NULL},
    {"f32[4@y, 8@y:(1)2]", MW_ERR_PARSE, "axis 'y' is used twice", 12, NULL},
    {"f32[4@y:(1)2, 8@y:(1)2]", MW_ERR_PARSE, "parts (1)2 and (1)2 of axis 'y' overlap", 17, NULL},
    {"f32[4@date:(1)2, 8@date:(3)2]", MW_ERR_PARSE, "overlap", 20, NULL},
    {"f32[4@y:(3)2]", MW_ERR_PARSE, "part (3)2 does not fit axis 'y' of size 4", 8, "divide"},
    {"f32[4@y:(0)2]", MW_ERR_PARSE, "does not fit", 8, NULL},
    {"f32[4@y:2]", MW_ERR_PARSE, "part of an axis", 8, NULL},
    {"f32[4@y:(1]", MW_ERR_PARSE, "expected ')'", 11, NULL},
    {"f32[4@(x]", MW_ERR_PARSE, "between axes", 9, NULL},
    {"f32[4@(x,:2)]", MW_ERR_PARSE, "expected an axis", 10, NULL},
    {"f32[4@:0,x]", MW_ERR_PARSE, "1 to 2147483647 chunks", 7, NULL},
    {"f32[4@:,x]", MW_ERR_PARSE, "number of local chunks", 8, NULL},
    {"f32[4?, y]", MW_ERR_PARSE, "expected a size", 9, NULL},
    {"f32[4]{sum:x,max:y}", MW_ERR_PARSE, "partial sum and partial max do not commute", 14,
     "sum and avg"},
    {"f32[4]{sun:x}", MW_ERR_PARSE, "no kind of partial 'sun'", 8, "did you mean sum"},
    {"f32[4]{}", MW_ERR_PARSE, "expected a kind of partial", 8, NULL},
    {"f32[4]{sum}", MW_ERR_PARSE, "expected ':'", 11, NULL},
    {"f32[4]{sum:x", MW_ERR_PARSE, "after a partial", 13, NULL},
    {"f32[4] x", MW_ERR_PARSE, "expected the end", 8, NULL},
    {"f32[1,1,1,1,1,1,1,1,1]", MW_ERR_PARSE, "at most 8 dims", 21, NULL},
    {"f32[1*1*1*1*1*1*1*1*1]", MW_ERR_PARSE, "at most 8 factors", 21, NULL},
    {"f32[8@:2,:2,:2,:2,:2,:2,:2,:2,:2,:2,:2,:2,:2]", MW_ERR_PARSE, "at most 12 cuts", 43, NULL},
    {"f32[99999999999999999999]", MW_ERR_SHAPE, "does not fit in 64 bits", 5, NULL},
    {"f32[4294967296*4294967296]", MW_ERR_SHAPE, "size of the dim", 16, NULL},
    {"f32[4294967296, 4294967296]", MW_ERR_SHAPE, "number of elements", 5, NULL},
};

static void test_bad_layouts_say_where_and_why(void **state)
{
    (void)state;
    mw_mesh *mesh = mesh_of("x=2,y=4,date=12");
    for (int i = 0; i < MW_COUNT(bad_layouts); i++) {
        const bad_layout *bad = &bad_layouts[i];
        mw_layout layout, before;
        memset(&layout, 7, sizeof layout);
        before = layout;
        mw_status status = mw_layout_parse(mesh, bad->text, &layout);
        const char *says = mw_last_error()->says, *caret = strrchr(says, '\n');
        char column[32];
        (void)snprintf(column, sizeof column, "at column %d\n", bad->column);
        if (status != bad->code || !strstr(says, bad->says) || !strstr(says, column))
            fail_msg("'%s' gives %d: %s", bad->text, status, says);
        if (bad->hint && !strstr(mw_last_error()->hint, bad->hint))
            fail_msg("'%s' gives the hint: %s", bad->text, mw_last_error()->hint);
        assert_memory_equal(&layout, &before, sizeof layout);
        assert_non_null(caret);
        assert_int_equal(strlen(caret + 1), bad->column + 2);
        assert_int_equal(caret[strlen(caret) - 1], '^');
    }
    mw_mesh_unref(mesh);
}

static void test_check_refuses_what_text_cannot_say(void **state)
{
    (void)state;
    mw_mesh *mesh = mesh_of("x=2,y=4");
    mw_layout good, bad;
    assert_int_equal(mw_layout_parse(mesh, "f32[8@x, 8]{sum:y}", &good), MW_OK);
    assert_int_equal(mw__layout_check(mesh, &good), MW_OK);
    bad = good, bad.partial[0].axis = 0, bad.partial[0].size = 2;
    assert_int_equal(mw__layout_check(mesh, &bad), MW_ERR_LAYOUT);
    bad = good, bad.partial[0].kind = 77;
    assert_int_equal(mw__layout_check(mesh, &bad), MW_ERR_LAYOUT);
    bad = good, bad.dim[0].cut[0].axis = 5;
    assert_int_equal(mw__layout_check(mesh, &bad), MW_ERR_LAYOUT);
    bad = good, bad.dim[0].cut[0].size = 3;
    assert_int_equal(mw__layout_check(mesh, &bad), MW_ERR_LAYOUT);
    bad = good, bad.dim[0].ncut = 0;
    assert_int_equal(mw__layout_check(mesh, &bad), MW_ERR_LAYOUT);
    bad = good, bad.dim[1].factor[0] = -1;
    assert_int_equal(mw__layout_check(mesh, &bad), MW_ERR_LAYOUT);
    bad = good, bad.ndim = 9;
    assert_int_equal(mw__layout_check(mesh, &bad), MW_ERR_LAYOUT);
    mw_mesh_unref(mesh);
}

/* ---- who holds what ------------------------------------------------------------------------ */

static void check_rank(const mw_mesh *mesh, const mw_dim *dim, int rank)
{
    int coord[MW_MESH_AXES];
    char text[256];
    mw__mesh_coords(mesh, rank, coord);
    naive_list list = naive_dim(mesh, dim, coord);
    mw_range range[NAIVE_SIZE], few[2];
    int64_t n = mw__dim_ranges(mesh, dim, coord, range, NAIVE_SIZE);
    int at = 0;
    bool same = mw__dim_local_size(mesh, dim, coord) == list.n;
    for (int64_t i = 0; i < n && same; i++) {
        same = i == 0 || range[i].first > range[i - 1].end; /* rising, and maximal */
        for (int64_t p = range[i].first; p < range[i].end && same; p++)
            same = at < list.n && list.at[at++] == p;
    }
    same = same && at == list.n;
    if (!same) fail_msg("%s: rank %d holds something else", text_of(mesh, dim, text, 256), rank);
    assert_int_equal(mw__dim_ranges(mesh, dim, coord, few, 2), n);
    assert_memory_equal(few, range, (size_t)MW_MIN(n, 2) * sizeof *few);
    assert_int_equal(mw__dim_ranges(mesh, dim, coord, NULL, 0), n);
}

static void test_owners_are_those_of_brute_force(void **state)
{
    (void)state;
    static const char *const meshes[] = {"x=2",     "x=6",     "x=2,y=3", "x=4,y=2",
                                         "x=3,y=4", "x=6,y=2", "x=1,y=4", "x=2,y=3,z=4"};
    uint64_t seed = 11;
    naive_counts counts = {0};
    for (int i = 0; i < 16000; i++) {
        mw_mesh *mesh = mesh_of(meshes[i % MW_COUNT(meshes)]);
        mw_layout layout;
        memset(&layout, 0, sizeof layout);
        layout.ndim = 1;
        layout.dim[0] = naive_random_dim(mesh, &seed, naive_below(&seed, 25), 7, i % 2);
        naive_count(&counts, mesh, &layout.dim[0]);
        int64_t largest = 0, shape;
        for (int r = 0; r < mw_mesh_ranks(mesh); r++) {
            check_rank(mesh, &layout.dim[0], r);
            mw_layout_local_shape(mesh, &layout, r, &shape);
            largest = MW_MAX(largest, shape);
        }
        assert_int_equal(mw__layout_largest_shard(mesh, &layout), largest);
        mw_mesh_unref(mesh);
    }
    naive_counts_print("owners (seed 11)", &counts);
    assert_true(counts.plain > 1000 && counts.joint > 1000 && counts.local > 1000);
    assert_true(counts.sub > 1000 && counts.uneven > 1000);
}

static void test_stated_owners(void **state)
{
    (void)state;
    mw_mesh *mesh = mesh_of("x=2,y=3,z=4");
    static const struct {
        const char *text;
        int axis, sizes[4];
    } list[] = {
        {"[6@z]", 2, {2, 2, 2, 0}},          {"[9@z]", 2, {3, 3, 3, 0}},
        {"[1@z]", 2, {1, 0, 0, 0}},          {"[9@x]", 0, {5, 4, -1, 0}},
        {"[3@x*192]", 0, {384, 192, -1, 0}}, {"[10@:3,x]", 0, {5, 5, -1, 0}},
        {"[0]", 0, {0, 0, -1, 0}},
    };
    for (int i = 0; i < MW_COUNT(list); i++) {
        mw_layout layout;
        assert_int_equal(mw_layout_parse(mesh, list[i].text, &layout), MW_OK);
        for (int c = 0; c < 4 && list[i].sizes[c] >= 0; c++) {
            int coord[MW_MESH_AXES] = {0};
            if (c >= mw_mesh_axis_size(mesh, list[i].axis)) break;
            coord[list[i].axis] = c;
            assert_int_equal(mw__dim_local_size(mesh, &layout.dim[0], coord), list[i].sizes[c]);
        }
    }
    mw_mesh_unref(mesh);
}

/* Counts that no list could hold. */
static void test_large_dims_are_counted_not_visited(void **state)
{
    (void)state;
    mw_mesh *mesh = mesh_of("x=2,y=3 ids=[5,4,3,2,1,0]");
    mw_layout layout;
    mw_range range[3];
    assert_int_equal(mw_layout_parse(mesh, "[1000000000*2@x, 999999999@:7,y]", &layout), MW_OK);
    int64_t shape[2];
    mw_layout_local_shape(mesh, &layout, 0, shape); /* rank 0 is at x 1, y 2 */
    assert_int_equal(shape[0], 1000000000);
    assert_int_equal(mw_layout_ranges(mesh, &layout, 0, 0, range, 3), 1000000000);
    assert_int_equal(range[0].first, 1);
    assert_int_equal(range[2].end, 6);
    assert_int_equal(mw_layout_ranges(mesh, &layout, 0, 1, range, 3), 7);
    assert_int_equal(range[0].first, 2 * 47619048);
    int64_t sum = 0;
    for (int rank = 0; rank < 3; rank++) {
        mw_layout_local_shape(mesh, &layout, rank, shape);
        sum += shape[1];
    }
    assert_int_equal(sum, 999999999);
    assert_int_equal(mw__layout_local_count(mesh, &layout, 0), shape[0] * 333333329);
    mw_mesh_unref(mesh);
}

/* ---- values -------------------------------------------------------------------------------- */

static void test_small_questions(void **state)
{
    (void)state;
    mw_mesh *mesh = mesh_of("x=2,y=4");
    mw_layout layout, other;
    int64_t shape[MW_LAYOUT_DIMS];
    assert_int_equal(mw_layout_parse(mesh, "bf16[2*8@y, 3, 0?]{sum:x}", &layout), MW_OK);
    mw_layout_shape(&layout, shape);
    assert_int_equal(shape[0], 16);
    assert_int_equal(mw_layout_size(&layout, 2), 0);
    assert_int_equal(mw__layout_count(&layout), 0);
    assert_int_equal(mw__layout_axes(&layout), 2);
    assert_int_equal(mw__layout_partial_axes(&layout), 1);
    assert_false(mw__dim_whole(&layout.dim[0]));
    assert_true(mw__dim_whole(&layout.dim[1]));
    assert_int_equal(mw__layout_storage_dtype(&layout), MW_DTYPE_f32);
    assert_int_equal(mw_layout_parse(mesh, "bf16[4]{max:x}", &other), MW_OK);
    assert_int_equal(mw__layout_storage_dtype(&other), MW_DTYPE_bf16);
    assert_int_equal(mw_layout_parse(mesh, "i64[4]{sum:x}", &other), MW_OK);
    assert_int_equal(mw__layout_storage_dtype(&other), MW_DTYPE_i64);
    assert_string_equal(mw__reduce_name(MW_REDUCE_MAX), "max");
    assert_true(mw__reduce_identity(MW_REDUCE_MIN) > 1e308);
    assert_true(1 / mw__reduce_identity(MW_REDUCE_SUM) < 0);
    mw_layout plain = mw_layout_replicated(MW_DTYPE_i64, 1, (int64_t[]){4});
    assert_int_equal(mw_layout_parse(mesh, "i64[4]", &other), MW_OK);
    assert_true(mw_layout_equal(&plain, &other));
    assert_memory_equal(&plain, &other, sizeof plain);
    mw_mesh_unref(mesh);
}

static void test_unequal_layouts_are_unequal(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "f32[16@x]",   "f32[16@y]",      "f32[16]",        "bf16[16@x]",         "f32[16@x,y]",
        "f32[16@y,x]", "f32[2*8@x]",     "f32[16, 1]",     "f32[16]{sum:x}",     "f32[16]{avg:x}",
        "[16@x]",      "f32[16@y:(1)2]", "f32[16@y:(2)2]", "f32[16]{sum:y:(1)2}"};
    mw_mesh *mesh = mesh_of("x=2,y=4");
    for (int i = 0; i < MW_COUNT(texts); i++)
        for (int j = 0; j < MW_COUNT(texts); j++) {
            mw_layout a, b;
            assert_int_equal(mw_layout_parse(mesh, texts[i], &a), MW_OK);
            assert_int_equal(mw_layout_parse(mesh, texts[j], &b), MW_OK);
            assert_int_equal(mw_layout_equal(&a, &b), i == j);
            assert_int_equal(mw__layout_hash(&a) == mw__layout_hash(&b), i == j);
        }
    mw_mesh_unref(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_read_and_print),
        cmocka_unit_test(test_a_layout_inside_a_longer_text),
        cmocka_unit_test(test_a_very_long_layout_prints_whole),
        cmocka_unit_test(test_bad_layouts_say_where_and_why),
        cmocka_unit_test(test_check_refuses_what_text_cannot_say),
        cmocka_unit_test(test_owners_are_those_of_brute_force),
        cmocka_unit_test(test_stated_owners),
        cmocka_unit_test(test_large_dims_are_counted_not_visited),
        cmocka_unit_test(test_small_questions),
        cmocka_unit_test(test_unequal_layouts_are_unequal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
