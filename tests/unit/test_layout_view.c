/* Views, axes taken away and axes added, against brute force. A view that is granted must keep
 * every element where it is; one that is refused must have no text at all among those that can be
 * listed. */
#include "layout_brute.h"

/* The elements of the flattened tensor that each rank holds. */
static naive_owners flat_owners(const mw_mesh *mesh, const mw_dim *dims, int ndim)
{
    naive_owners all;
    memset(&all, 0, sizeof all);
    all.nrank = mw_mesh_ranks(mesh);
    for (int r = 0; r < all.nrank; r++) {
        uint64_t mask = 1;
        int64_t count = 1;
        for (int d = 0; d < ndim; d++) {
            naive_owners own = naive_owners_of(mesh, &dims[d]);
            int64_t size = mw__dim_size(&dims[d]);
            uint64_t next = 0;
            for (int64_t i = 0; i < count; i++)
                if (mask >> i & 1) next |= own.mask[r] << (i * size);
            mask = next;
            count *= size;
        }
        all.mask[r] = count ? mask : 0;
    }
    return all;
}

static const char *dims_text(const mw_mesh *mesh, const mw_dim *dims, int ndim, char *to)
{
    mw_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.ndim = (uint8_t)ndim;
    for (int d = 0; d < ndim; d++)
        layout.dim[d] = dims[d];
    mw_layout_print(mesh, &layout, to, 512);
    return to;
}

/* ---- stated examples ----------------------------------------------------------------------- */

typedef struct example {
    const char *mesh, *from;
    int nto;
    int64_t to[4];
    const char *result; /* NULL: not free, and `axes` are in the way */
    uint32_t axes;
} example;

#define DOT "\xc2\xb7"

static const example examples[] = {
    {"tp=2", "[2, 4@tp, 16, 4]", 3, {8, 16, 4}, "[2" DOT "4@tp, 16, 4]", 0},
    {"x=2,y=3", "[3@y, 4@x]", 1, {12}, "[12@y,x]", 0},
    {"x=2,y=2", "[3@y, 4@x]", 1, {12}, "[3@y" DOT "4@x]", 0},
    {"x=4,y=3", "[3@y, 4@x]", 1, {12}, "[12@y,x]", 0},
    {"x=4,y=3", "[12@(y,x)]", 2, {3, 4}, "[3@y, 4@x]", 0},
    {"tp=2", "[3@tp" DOT "192, 576]", 3, {3, 192, 576}, "[3@tp, 192, 576]", 0},
    {"tp=2", "[3@tp" DOT "192, 576]", 3, {9, 64, 576}, "[3@tp" DOT "3, 64, 576]", 0},
    {"x=4", "[8@x]", 2, {2, 4}, "[2@x:(1)2, 4@x:(2)2]", 0},
    {"x=4", "[8@x]", 2, {8, 1}, "[8@x, 1]", 0},
    {"x=4", "[8@x]", 2, {1, 8}, "[1, 8@x]", 0},
    {"x=4", "[6@x, 4]", 1, {24}, "[3@x" DOT "8]", 0},
    {"x=4", "[6@x]", 2, {3, 2}, "[3@x, 2]", 0},
    {"x=4", "[6@x]", 2, {2, 3}, NULL, 1},
    {"x=6", "[8@x]", 2, {2, 4}, "[2@x:(1)3, 4@x:(3)2]", 0},
    {"x=3", "[4@x]", 2, {2, 2}, "[2@x, 2]", 0},
    {"x=3", "[5@x, 2]", 2, {2, 5}, NULL, 1},
    {"x=2,y=3", "[6@x,y]", 2, {3, 2}, NULL, 1},
    {"x=2,y=3", "[2@x, 9@y]", 2, {6, 3}, "[6@x,y, 3]", 0},
    {"x=2,y=3", "[4@x, 9@y]", 3, {2, 18, 1}, "[2@x, 2" DOT "9@y, 1]", 0},
    {"x=2,y=3", "[4, 9@y, 5@x]", 2, {12, 15}, "[4" DOT "3@y, 3" DOT "5@x]", 0},
    {"x=2", "[0, 4@x]", 2, {0, 4}, "[0, 4@x]", 0},
    {"x=2", "[0, 4@x]", 1, {0}, "[0]", 0},
    {"x=2", "[1@x, 4]", 1, {4}, "[1@x" DOT "4]", 0},
    {"x=2", "[4, 1@x]", 1, {4}, "[1@x" DOT "4]", 0},
    {"x=2", "[1@x]", 0, {0}, NULL, 1},
    {"x=2", "[1, 1]", 0, {0}, "[]", 0},
    {"x=2", "[]", 2, {1, 1}, "[1, 1]", 0},
    {"x=2", "[10@:3,x]", 2, {10, 1}, "[10@:3,x, 1]", 0},
    {"x=2", "[10@:3,x]", 2, {5, 2}, NULL, 1},
    {"x=2", "[10@:3,x, 2]", 1, {20}, "[10@:3,x" DOT "2]", 0},
};

static void test_stated_views(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(examples); i++) {
        const example *e = &examples[i];
        mw_mesh *mesh = mesh_of(e->mesh);
        mw_layout from;
        mw_dim to[MW_LAYOUT_DIMS];
        char text[512];
        uint32_t axes = 0;
        assert_int_equal(mw_layout_parse(mesh, e->from, &from), MW_OK);
        bool yes = mw__dims_regroup(mesh, from.dim, from.ndim, e->to, e->nto, to, &axes);
        if (yes != (e->result != NULL)) fail_msg("%s: granted %d", e->from, yes);
        if (yes && strcmp(dims_text(mesh, to, e->nto, text), e->result) != 0)
            fail_msg("%s became %s, not %s", e->from, text, e->result);
        if (!yes) assert_int_equal(axes, e->axes);
        mw_mesh_unref(mesh);
    }
}

/* ---- random views -------------------------------------------------------------------------- */

static const char *const meshes[] = {"x=2",     "x=4",     "x=6",     "x=2,y=3",    "x=4,y=2",
                                     "x=3,y=4", "x=6,y=2", "x=2,y=2", "x=2,y=2,z=3"};

/* Two to four dims of at most 64 elements in all, every axis in at most one of them. */
static int random_dims(const mw_mesh *mesh, uint64_t *seed, int64_t *sizes, mw_dim *dims,
                       naive_counts *counts)
{
    int n = 1 + naive_below(seed, 3);
    uint32_t left = 7;
    int64_t size = 1 + naive_below(seed, 36);
    naive_factors(seed, size, n, sizes);
    for (int d = 0; d < n; d++) {
        uint32_t axes = d == n - 1 ? left : left & (uint32_t)naive_random(seed);
        dims[d] = naive_random_dim(mesh, seed, sizes[d], axes, naive_below(seed, 3) == 0);
        left &= ~mw__dim_axes(&dims[d]);
        naive_count(counts, mesh, &dims[d]);
        if (naive_below(seed, 2)) dims[d] = mw__dim_canonical(mesh, &dims[d]);
    }
    return n;
}

static void test_granted_views_keep_every_element(void **state)
{
    (void)state;
    uint64_t seed = 77;
    naive_counts counts = {0};
    long granted = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        mw_mesh *mesh = mesh_of(meshes[i % MW_COUNT(meshes)]);
        mw_dim from[4], to[4], back[4];
        int64_t sizes[4], view[4], count = 1;
        char a[512], b[512];
        int n = random_dims(mesh, &seed, sizes, from, &counts), nto = 1 + naive_below(&seed, 4);
        for (int d = 0; d < n; d++)
            count *= sizes[d];
        naive_factors(&seed, count, nto, view);
        uint32_t axes = 0;
        if (mw__dims_regroup(mesh, from, n, view, nto, to, &axes)) {
            granted++;
            naive_owners x = flat_owners(mesh, from, n), y = flat_owners(mesh, to, nto);
            for (int d = 0; d < nto; d++)
                assert_int_equal(mw__dim_size(&to[d]), view[d]);
            if (!naive_same(&x, &y))
                fail_msg("%s viewed as %s", dims_text(mesh, from, n, a),
                         dims_text(mesh, to, nto, b));
            for (int d = 0; d < nto; d++) {
                mw_dim again = mw__dim_canonical(mesh, &to[d]);
                assert_memory_equal(&again, &to[d], sizeof again);
            }
            /* the way back is free: this text has the owners */
            if (!mw__dims_regroup(mesh, to, nto, sizes, n, back, NULL))
                fail_msg("%s viewed as %s, but not back", dims_text(mesh, from, n, a),
                         dims_text(mesh, to, nto, b));
        } else {
            refused++;
            assert_true(axes != 0);
            for (int d = 0; d < n; d++)
                from[d] = mw__dim_without(mesh, &from[d], axes);
            assert_true(mw__dims_regroup(mesh, from, n, view, nto, to, NULL));
        }
        mw_mesh_unref(mesh);
    }
    naive_counts_print("views (seed 77)", &counts);
    printf("%ld granted, %ld refused\n", granted, refused);
    assert_true(granted > 5000 && refused > 1000);
}

/* ---- refused views ------------------------------------------------------------------------- */

enum { MOST_SIZE = 16 };

/* Which strides the text's factors end at, as a set of bits: a view can cut there. */
static uint64_t strides_of(const mw_dim *dim)
{
    uint64_t set = 0;
    int64_t stride = 1;
    for (int f = dim->nfactor - 1; f >= 0; f--) {
        set |= 1ull << stride;
        stride *= dim->factor[f];
    }
    return set | 1ull << stride;
}

static void keep_strides(brute *b)
{
    naive_owners owners = naive_owners_of(b->mesh, &b->dim);
    bool fresh;
    class_row *row = classes_find(b->user, &owners, mw__dim_size(&b->dim), &fresh);
    if (fresh) row->dim = b->dim;
    uint64_t set = strides_of(&b->dim);
    for (int i = 0; i < row->nstrides; i++)
        if ((row->strides[i] & set) == set) return;
    row->strides = realloc(row->strides, (size_t)(row->nstrides + 1) * sizeof *row->strides);
    assert_non_null(row->strides);
    row->strides[row->nstrides++] = set;
}

static void check_views(const mw_mesh *mesh, const class_row *row, long *granted, long *refused)
{
    int64_t size = row->size;
    for (int64_t a = 1; a <= size; a++)
        for (int64_t b = 1; b <= size / a; b++) {
            if (size % a != 0 || size / a % b != 0) continue;
            int64_t view[3] = {a, b, size / a / b};
            uint64_t need = 1ull << view[2] | 1ull << (view[1] * view[2]);
            bool expected = false;
            for (int i = 0; i < row->nstrides; i++)
                expected = expected || (row->strides[i] & need) == need;
            mw_dim to[3];
            char text[512];
            bool yes = mw__dims_regroup(mesh, &row->dim, 1, view, 3, to, NULL);
            if (expected && !yes)
                fail_msg("%s as [%d, %d, %d] is refused, though some text has it",
                         dims_text(mesh, &row->dim, 1, text), (int)a, (int)b, (int)view[2]);
            if (yes)
                ++*granted;
            else
                ++*refused;
        }
}

static void test_refused_views_have_no_text(void **state)
{
    (void)state;
    static const struct {
        const char *mesh;
        int n;
        int32_t part[3][3];
        int factors, local, most;
    } sets[] = {
        {"x=2", 1, {{0, 1, 2}}, 5, 1, 16},
        {"x=3", 1, {{0, 1, 3}}, 5, 1, 16},
        {"x=4", 1, {{0, 1, 4}}, 5, 0, 16},
        {"x=4", 2, {{0, 1, 2}, {0, 2, 2}}, 5, 0, 16},
        {"x=6", 1, {{0, 1, 6}}, 5, 0, 16},
        {"x=6", 2, {{0, 1, 2}, {0, 2, 3}}, 5, 0, 12},
        {"x=6", 2, {{0, 1, 3}, {0, 3, 2}}, 5, 0, 12},
        {"x=2,y=2", 2, {{0, 1, 2}, {1, 1, 2}}, 5, 0, 16},
        {"x=2,y=3", 2, {{0, 1, 2}, {1, 1, 3}}, 5, 0, 16},
        {"x=4,y=2", 2, {{0, 1, 4}, {1, 1, 2}}, 4, 0, 12},
        {"x=4,y=2", 3, {{0, 1, 2}, {0, 2, 2}, {1, 1, 2}}, 4, 0, 8},
    };
    long granted = 0, refused = 0, texts = 0;
    for (int size = 1; size <= MOST_SIZE; size++)
        for (int i = 0; i < MW_COUNT(sets);) {
            mw_mesh *mesh = mesh_of(sets[i].mesh);
            classes seen;
            classes_init(&seen, 1 << 12);
            int first = i;
            for (; i < MW_COUNT(sets) && strcmp(sets[i].mesh, sets[first].mesh) == 0; i++) {
                if (size > sets[i].most) continue;
                brute b = {.mesh = mesh, .user = &seen, .keep = keep_strides, .npart = sets[i].n};
                b.most_factors = sets[i].factors;
                b.most_local = sets[i].local;
                brute_run(&b, sets[i].part, size);
                texts += b.texts;
            }
            for (int r = 0; r < seen.nrow; r++)
                check_views(mesh, &seen.row[r], &granted, &refused);
            classes_done(&seen);
            mw_mesh_unref(mesh);
        }
    printf("all views of small dims: %ld granted, %ld refused; judged by %ld texts\n", granted,
           refused, texts);
    assert_true(granted > 1000 && refused > 1000);
}

/* ---- axes taken away and added ------------------------------------------------------------- */

static void test_without_drops_just_these_cuts(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < 4000; i++) {
        mw_mesh *mesh = mesh_of(meshes[3 + i % 6]);
        mw_dim dim = naive_random_dim(mesh, &seed, 1 + naive_below(&seed, 24), 7, i % 3 == 0);
        uint32_t mask = 1 + (uint32_t)naive_below(&seed, 7);
        mw_dim got = mw__dim_without(mesh, &dim, mask);
        assert_int_equal(mw__dim_axes(&got) & mask, 0);
        /* a rank of a mesh on which these axes have size 1 holds the same */
        mw_dim left = dim;
        for (int c = 0; c < left.ncut; c++)
            if (left.cut[c].axis >= 0 && mask >> left.cut[c].axis & 1) left.cut[c].size = 1;
        naive_owners x = naive_owners_of(mesh, &left), y = naive_owners_of(mesh, &got);
        assert_true(naive_same(&x, &y));
        mw_mesh_unref(mesh);
    }
}

/* One factor: each rank's list is chunked as it stands. */
static void test_append_chunks_what_each_rank_holds(void **state)
{
    (void)state;
    uint64_t seed = 9;
    long in_order = 0, others = 0;
    for (int i = 0; i < 6000; i++) {
        mw_mesh *mesh = mesh_of(meshes[3 + i % 6]);
        int size = 1 + naive_below(&seed, 24);
        mw_dim dim = naive_random_dim(mesh, &seed, size, 1, false);
        dim = mw__dim_canonical(mesh, &dim);
        mw_dim got = dim;
        int parts = mw_mesh_axis_size(mesh, 1);
        assert_true(mw__dim_append(mesh, &got, 1, 1, parts));
        assert_int_equal(mw__dim_size(&got), size);
        /* every position has one owner in each class of ranks: nothing is lost or doubled */
        bool same = true;
        for (int r = 0; r < mw_mesh_ranks(mesh); r++) {
            int coord[MW_MESH_AXES] = {0};
            mw__mesh_coords(mesh, r, coord);
            naive_list before = naive_dim(mesh, &dim, coord), after = naive_dim(mesh, &got, coord);
            naive_list chunk = naive_chunk(&before, parts, coord[1]);
            same = same && chunk.n == after.n &&
                   memcmp(chunk.at, after.at, (size_t)chunk.n * sizeof *chunk.at) == 0;
            int all = 0;
            for (coord[1] = 0; coord[1] < parts; coord[1]++)
                all += naive_dim(mesh, &got, coord).n;
            assert_int_equal(all, before.n);
        }
        if (same)
            in_order++;
        else
            others++;
        if (dim.nfactor == 1) assert_true(same);
        mw_mesh_unref(mesh);
    }
    printf("append: %ld chunk the list as it stands, %ld have no such text\n", in_order, others);
    assert_true(in_order > 4000);
}

static void test_append_examples(void **state)
{
    (void)state;
    static const char *const list[][3] = {
        {"x=2,y=4", "[16]", "[16@x]"},
        {"x=2,y=4", "[16@y]", "[16@y,x]"},
        {"x=2,y=4", "[2" DOT "8@y]", "[16@x,y]"},
        {"x=2,y=4", "[6" DOT "8@y]", "[6@x" DOT "8@y]"},
        {"x=2,y=4", "[3@y" DOT "6]", "[18@(y,x)]"},
        {"x=2,y=2", "[3@y" DOT "6]", "[3@y" DOT "6@x]"},
        {"x=2,y=4", "[10@y]", "[10@y,x]"},
        {"x=4,y=4", "[2" DOT "8@y]", "[16@x:(1)2,y,x:(2)2]"},
        {"x=2,y=2", "[3@y" DOT "192]", "[3@y" DOT "192@x]"},
        {"x=2,y=2", "[1]", "[1@x]"},
    };
    for (int i = 0; i < MW_COUNT(list); i++) {
        mw_mesh *mesh = mesh_of(list[i][0]);
        mw_layout layout;
        char text[512];
        assert_int_equal(mw_layout_parse(mesh, list[i][1], &layout), MW_OK);
        assert_true(mw__dim_append(mesh, &layout.dim[0], 0, 1, mw_mesh_axis_size(mesh, 0)));
        assert_string_equal(dims_text(mesh, layout.dim, 1, text), list[i][2]);
        assert_false(mw__dim_append(mesh, &layout.dim[0], 0, 1, mw_mesh_axis_size(mesh, 0)));
        mw_mesh_unref(mesh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stated_views),
        cmocka_unit_test(test_granted_views_keep_every_element),
        cmocka_unit_test(test_refused_views_have_no_text),
        cmocka_unit_test(test_without_drops_just_these_cuts),
        cmocka_unit_test(test_append_chunks_what_each_rank_holds),
        cmocka_unit_test(test_append_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
