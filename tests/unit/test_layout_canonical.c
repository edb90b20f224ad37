/* Canonical layouts against brute force: equal owners if and only if equal text, and the text is
 * the least of its class. The judges are layout_naive.h and layout_brute.h. */
#include "layout_brute.h"

/* ---- one text per class -------------------------------------------------------------------- */

static void check_class(const mw_mesh *mesh, classes *seen, const mw_dim *raw)
{
    char before[256], after[256], other[256];
    naive_owners owners = naive_owners_of(mesh, raw);
    mw_dim canonical = mw__dim_canonical(mesh, raw);
    naive_owners kept = naive_owners_of(mesh, &canonical);
    text_of(mesh, raw, before, 256);
    text_of(mesh, &canonical, after, 256);
    if (!naive_same(&owners, &kept)) fail_msg("%s became %s: other owners", before, after);
    mw_dim again = mw__dim_canonical(mesh, &canonical);
    if (!mw__dim_equal(&again, &canonical) || memcmp(&again, &canonical, sizeof again) != 0)
        fail_msg("%s became %s, which became %s", before, after, text_of(mesh, &again, other, 256));
    bool fresh;
    class_row *row = classes_find(seen, &owners, mw__dim_size(raw), &fresh);
    if (fresh) row->dim = canonical;
    if (!mw__dim_equal(&row->dim, &canonical))
        fail_msg("%s became %s, but its owners have the text %s", before, after,
                 text_of(mesh, &row->dim, other, 256));
    char layout_text[300], printed[300];
    mw_layout layout;
    (void)snprintf(layout_text, sizeof layout_text, "f32[%s]", before);
    assert_int_equal(mw_layout_parse(mesh, layout_text, &layout), MW_OK);
    assert_memory_equal(&layout.dim[0], &canonical, sizeof canonical);
    mw_layout_print(mesh, &layout, printed, (int)sizeof printed);
    mw_layout reread;
    assert_int_equal(mw_layout_parse(mesh, printed, &reread), MW_OK);
    assert_memory_equal(&reread, &layout, sizeof layout);
}

static void test_equal_owners_have_one_text_and_one_text_has_equal_owners(void **state)
{
    (void)state;
    static const char *const meshes[] = {"x=2",         "x=4",         "x=6",     "x=2,y=3",
                                         "x=4,y=2",     "x=3,y=4",     "x=6,y=2", "x=1,y=2,z=3",
                                         "x=2,y=2,z=2", "x=2,y=3,z=4", "x=8,y=2"};
    naive_counts counts = {0};
    uint64_t seed = 20240501;
    long classes_met = 0;
    for (int m = 0; m < MW_COUNT(meshes); m++) {
        mw_mesh *mesh = mesh_of(meshes[m]);
        classes seen;
        classes_init(&seen, 1 << 14);
        for (int i = 0; i < 2500; i++) {
            mw_dim dim = naive_random_dim(mesh, &seed, naive_below(&seed, 25), 7, i % 2);
            naive_count(&counts, mesh, &dim);
            check_class(mesh, &seen, &dim);
        }
        classes_met += seen.nrow;
        classes_done(&seen);
        mw_mesh_unref(mesh);
    }
    naive_counts_print("one text per class (seed 20240501)", &counts);
    printf("%ld classes\n", classes_met);
    assert_true(counts.joint > 1000 && counts.local > 1000 && counts.sub > 1000);
    assert_true(counts.uneven > 1000 && counts.plain > 1000);
}

/* ---- the least text ------------------------------------------------------------------------ */

/* The order of texts, written down once more. */
static int naive_order(const mw_dim *a, const mw_dim *b)
{
    const mw_dim *dim[2] = {a, b};
    long key[2][5 + MW_DIM_FACTORS + 3 * MW_DIM_CUTS];
    memset(key, 0, sizeof key);
    for (int i = 0; i < 2; i++) {
        long *k = key[i];
        k[1] = dim[i]->nfactor;
        for (int c = 0; c < dim[i]->ncut; c++) {
            const mw_cut *cut = &dim[i]->cut[c];
            bool next_joint = c + 1 < dim[i]->ncut && dim[i]->cut[c + 1].joint;
            k[0] += cut->axis < 0;
            k[2] += next_joint && !cut->joint;
            k[3] += !cut->joint;
            k[4] += cut->axis >= 0;
            long *at = &k[5 + MW_DIM_FACTORS + 3 * c];
            at[0] = cut->axis < 0 ? MW_MESH_AXES : cut->axis;
            at[1] = cut->axis < 0 ? 0 : cut->major;
            at[2] = cut->size;
        }
        for (int f = 0; f < dim[i]->nfactor; f++)
            k[5 + f] = (long)dim[i]->factor[f];
    }
    for (int i = 0; i < MW_COUNT(key[0]); i++)
        if (key[0][i] != key[1][i]) return key[0][i] < key[1][i] ? -1 : 1;
    return 0;
}

static void keep_least(brute *b)
{
    naive_owners owners = naive_owners_of(b->mesh, &b->dim);
    bool fresh;
    class_row *row = classes_find(b->user, &owners, mw__dim_size(&b->dim), &fresh);
    if (fresh || naive_order(&b->dim, &row->dim) < 0) row->dim = b->dim;
}

typedef struct part_set {
    const char *mesh;
    int n;
    int32_t part[4][3]; /* axis, major, size */
    int factors, local, most;
} part_set;

static void check_least(const mw_mesh *mesh, const class_row *row)
{
    char least[256], got[256];
    mw_dim canonical = mw__dim_canonical(mesh, &row->dim);
    if (naive_order(&canonical, &row->dim) > 0)
        fail_msg("size %d: %s became %s", (int)row->size, text_of(mesh, &row->dim, least, 256),
                 text_of(mesh, &canonical, got, 256));
}

static void test_canonical_text_is_the_least_of_its_class(void **state)
{
    (void)state;
    static const part_set sets[] = {
        {"x=2", 1, {{0, 1, 2}}, 4, 2, 16},
        {"x=3", 1, {{0, 1, 3}}, 3, 2, 16},
        {"x=4", 1, {{0, 1, 4}}, 3, 1, 16},
        {"x=4", 2, {{0, 1, 2}, {0, 2, 2}}, 3, 1, 16},
        {"x=6", 1, {{0, 1, 6}}, 3, 1, 18},
        {"x=6", 2, {{0, 1, 2}, {0, 2, 3}}, 3, 0, 18},
        {"x=6", 2, {{0, 1, 3}, {0, 3, 2}}, 3, 0, 18},
        {"x=2,y=2", 2, {{0, 1, 2}, {1, 1, 2}}, 3, 1, 16},
        {"x=2,y=3", 2, {{0, 1, 2}, {1, 1, 3}}, 3, 1, 16},
        {"x=4,y=2", 2, {{0, 1, 4}, {1, 1, 2}}, 3, 0, 18},
        {"x=4,y=2", 3, {{0, 1, 2}, {0, 2, 2}, {1, 1, 2}}, 3, 0, 12},
        {"x=2,y=2,z=2", 3, {{0, 1, 2}, {1, 1, 2}, {2, 1, 2}}, 3, 0, 12},
        {"x=2,y=3,z=2", 3, {{0, 1, 2}, {1, 1, 3}, {2, 1, 2}}, 2, 0, 14},
    };
    long texts = 0, rows = 0;
    for (int size = 1; size <= 18; size++) {
        for (int i = 0; i < MW_COUNT(sets);) {
            /* sets of one mesh and size make one table of classes */
            mw_mesh *mesh = mesh_of(sets[i].mesh);
            classes best;
            classes_init(&best, 1 << 13);
            int first = i;
            for (; i < MW_COUNT(sets) && strcmp(sets[i].mesh, sets[first].mesh) == 0; i++) {
                if (size > sets[i].most) continue;
                brute b = {.mesh = mesh, .user = &best, .keep = keep_least};
                b.most_factors = sets[i].factors;
                b.most_local = sets[i].local;
                b.npart = sets[i].n;
                brute_run(&b, sets[i].part, size);
                texts += b.texts;
            }
            for (int r = 0; r < best.nrow; r++)
                check_least(mesh, &best.row[r]);
            rows += best.nrow;
            classes_done(&best);
            mw_mesh_unref(mesh);
        }
    }
    printf("least text: %ld texts in %ld classes\n", texts, rows);
    assert_true(texts > 50000 && rows > 1000);
}

/* ---- stated examples ----------------------------------------------------------------------- */

typedef struct spelling {
    const char *mesh, *text, *canonical;
} spelling;

static void test_spellings_reach_their_canonical_text(void **state)
{
    (void)state;
    static const spelling list[] = {
        {"x=2,y=4", "f32[16@(x,y), 8]", "f32[16@x,y, 8]"},
        {"x=2,y=4", "f32[16@y:(1)2,y:(2)2]", "f32[16@y]"},
        {"x=4", "[9@x:(1)2,x:(2)2]", "[9@x:(1)2,x:(2)2]"},
        {"x=4", "[9@x]", "[9@x]"},
        {"x=2,y=4",
         "[2@x\xc2\xb7"
         "8@y]",
         "[16@x,y]"},
        {"x=2,y=4", "[16@x,:2,y]",
         "[4@x\xc2\xb7"
         "4@y]"},
        {"x=4", "[6@x*2]",
         "[3@x\xc2\xb7"
         "4]"},
        {"x=1,y=2", "[5@x,y]{sum:x}", "[5@y]"},
        {"x=2", "[0@x, 1@x]", NULL},
        {"x=2", "[0@x, 4]", "[0, 4]"},
        {"x=2", "[1@x]", "[1@x]"},
        {"x=2,y=3", "[10@(x,y)]", "[10@(x,y)]"},
        {"x=2", "[10@:3,x]", "[10@:3,x]"},
        {"x=2", "[10@x,:3]", "[10@x]"},
        {"x=2", "[10@:1,x]", "[10@x]"},
        {"tp=2",
         "[3@tp\xe2\x8b\x85"
         "192, 576]",
         "[3@tp\xc2\xb7"
         "192, 576]"},
    };
    for (int i = 0; i < MW_COUNT(list); i++) {
        mw_mesh *mesh = mesh_of(list[i].mesh);
        mw_layout layout;
        char text[256];
        mw_status status = mw_layout_parse(mesh, list[i].text, &layout);
        if (!list[i].canonical) {
            assert_int_equal(status, MW_ERR_PARSE);
        } else {
            assert_int_equal(status, MW_OK);
            mw_layout_print(mesh, &layout, text, (int)sizeof text);
            assert_string_equal(text, list[i].canonical);
        }
        mw_mesh_unref(mesh);
    }
}

/* Sizes and meshes too large to enumerate: an answer, and soon. */
static void test_large_sizes_end(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"x=2", "[1000000000\xc2\xb7"
                "3@x]"},
        {"x=7", "[1000000007@x]"},
        {"x=256,y=256", "[999999937@(x,y)]"},
        {"x=256,y=256", "[1000003@(x,y)\xc2\xb7"
                        "2]"},
        {"x=256,y=256", "[720720@x*720719@y]"},
        {"x=65536", "[9@x:(1)256*9*9@x:(256)256]"},
        {"a=2,b=3,c=2,d=3", "[5040@(a,b)*11@(c,d)]"},
        {"x=2,y=3", "[1000001@:1000,x,:7,y]"},
        {"a=2,b=2,c=2,d=2,e=2,f=4", "[3@a,(b,c)*5@(d,e)*7@f]"},
        {"a=2,b=2,c=2,d=2,e=2,f=8", "[1@f,e,d,c,b,a]"},
    };
    for (int i = 0; i < MW_COUNT(texts); i++) {
        mw_mesh *mesh = mesh_of(texts[i][0]);
        mw_layout layout;
        char text[256];
        double start = mw__now();
        assert_int_equal(mw_layout_parse(mesh, texts[i][1], &layout), MW_OK);
        double took = mw__now() - start;
        mw_layout_print(mesh, &layout, text, (int)sizeof text);
        printf("%-40s %-40s %9.1f us\n", texts[i][1], text, took * 1e6);
        assert_true(took < 5);
        mw_mesh_unref(mesh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings_reach_their_canonical_text),
        cmocka_unit_test(test_equal_owners_have_one_text_and_one_text_has_equal_owners),
        cmocka_unit_test(test_canonical_text_is_the_least_of_its_class),
        cmocka_unit_test(test_large_sizes_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
