/* Notations, at random: what is printed reads back as the same layout, what is not printed has no
 * such text, and what is read has the owners that a naive reading gives it. */
#include "notation_text.h"

#include "layout_random.h"

enum { SEED = 20250711 };

static const char *const meshes[] = {"x=2",
                                     "x=4",
                                     "x=2,y=3",
                                     "x=4,y=2",
                                     "x=2,y=2,z=2",
                                     "x=6,y=2",
                                     "x=1,y=4",
                                     "x=2,y=3 ids=[5,0,3,1,4,2]",
                                     "x=4 ids=[2,0,3,1]"};

static mw_mesh *random_mesh(uint64_t *seed)
{
    return mesh_of(meshes[naive_below(seed, MW_COUNT(meshes))]);
}

/* ---- what is printed reads back ------------------------------------------------------------ */

static void check_round(const mw_mesh *mesh, const mw_layout *layout, int *count)
{
    char own[TEXT];
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(layout, shape);
    mw_layout_print(mesh, layout, own, TEXT);
    for (int k = MW_NOTATION_NONE + 1; k < MW_NOTATION_END; k++) {
        mw_notation_text text;
        assert_int_equal(mw_notation_print(mesh, layout, (mw_notation)k, &text), MW_OK);
        if (!text.text) {
            assert_true(text.why[0] != 0);
            continue;
        }
        count[k]++;
        mw_reading *reading = read_as(mesh, text.text, layout->ndim, shape);
        const mw_layout *got = mw_reading_layout(reading);
        if (!got || !mw_layout_equal(got, layout)) {
            char other[TEXT] = "no layout";
            if (got) mw_layout_print(mesh, got, other, TEXT);
            fail_msg("%s as %s: %s, which reads as %s", own, mw_notation_key((mw_notation)k),
                     text.text, other);
        }
        assert_string_equal(mw_reading_why(reading), "");
        mw_reading_free(reading);
        mw_notation_text_done(&text);
    }
}

static void test_what_is_printed_reads_back(void **state)
{
    (void)state;
    uint64_t seed = SEED;
    int count[MW_NOTATION_END] = {0};
    for (int i = 0; i < 3000; i++) {
        int64_t shape[MW_LAYOUT_DIMS];
        mw_mesh *mesh = random_mesh(&seed);
        int ndim = random_shape(&seed, shape);
        mw_layout l = random_layout(mesh, &seed, MW_DTYPE_f32, ndim, shape, 0xff, i % 3 == 0);
        mw_reduce kind = (mw_reduce)(1 + naive_below(&seed, MW_REDUCE_END - 1));
        if (i % 4 == 0) random_partials(mesh, &seed, &l, i % 8 ? MW_REDUCE_SUM : kind, 0xff);
        check_round(mesh, &l, count);
        mw_mesh_unref(mesh);
    }
    for (int k = MW_NOTATION_NONE + 1; k < MW_NOTATION_END; k++) {
        printf("%s: %d of 3000\n", mw_notation_key((mw_notation)k), count[k]);
        assert_true(count[k] > 1000);
    }
}

/* ---- what is not printed has no text ------------------------------------------------------- */

static bool same_dim(const mw_mesh *mesh, const mw_dim *a, const mw_dim *b)
{
    for (int r = 0; r < mw_mesh_ranks(mesh); r++) {
        int coord[MW_MESH_AXES];
        naive_coords(mesh, r, coord);
        naive_list p = naive_dim(mesh, a, coord), q = naive_dim(mesh, b, coord);
        if (p.n != q.n || memcmp(p.at, q.at, (size_t)p.n * sizeof *p.at) != 0) return false;
    }
    return true;
}

/* Whether some list of different axes, as one joint cut, has the dim's owners. */
static bool any_tile(const mw_mesh *mesh, const mw_dim *dim, mw_dim *tile, uint32_t used)
{
    if (same_dim(mesh, dim, tile)) return true;
    for (int a = 0; a < mw_mesh_axes(mesh); a++) {
        if (used >> a & 1) continue;
        mw_cut *cut = &tile->cut[tile->ncut++];
        *cut = (mw_cut){(int16_t)a, tile->ncut > 1, 1, mw_mesh_axis_size(mesh, a)};
        tile->cuts[0]++;
        if (any_tile(mesh, dim, tile, used | 1u << a)) return true;
        tile->ncut--;
        tile->cuts[0]--;
    }
    return false;
}

static bool prints(const mw_mesh *mesh, const mw_layout *layout, mw_notation notation)
{
    mw_notation_text text;
    assert_int_equal(mw_notation_print(mesh, layout, notation, &text), MW_OK);
    bool is = text.text != NULL;
    mw_notation_text_done(&text);
    return is;
}

static void test_specs_are_printed_where_there_is_one(void **state)
{
    (void)state;
    uint64_t seed = SEED + 1;
    int with = 0, without = 0;
    for (int i = 0; i < 2500; i++) {
        mw_mesh *mesh = random_mesh(&seed);
        int64_t shape[1] = {naive_below(&seed, 20)};
        mw_layout l = random_layout(mesh, &seed, MW_DTYPE_f32, 1, shape, 0xff, i % 2);
        mw_dim tile = mw__dim_plain(shape[0]);
        bool is = prints(mesh, &l, MW_NOTATION_SPEC), should = any_tile(mesh, &l.dim[0], &tile, 0);
        char own[TEXT];
        mw_layout_print(mesh, &l, own, TEXT);
        if (is != should) fail_msg("%s: a spec is %sprinted", own, is ? "" : "not ");
        with += is;
        without += !is;
        mw_mesh_unref(mesh);
    }
    printf("%d with a spec, %d without\n", with, without);
    assert_true(with > 500 && without > 300);
}

/* ---- placements, naively ------------------------------------------------------------------- */

/* Chunk number `at` of each of `split` chunks, written out. */
static naive_list naive_split(const naive_list *list, int64_t split, int64_t parts, int64_t at)
{
    naive_list out = {0};
    for (int64_t k = 0; k < split && k < NAIVE_SIZE; k++) {
        naive_list piece = naive_chunk(list, split, k), own = naive_chunk(&piece, parts, at);
        for (int i = 0; i < own.n; i++)
            out.at[out.n++] = own.at[i];
    }
    return out;
}

typedef struct naive_placement {
    int dim, split; /* dim -1: replicated */
} naive_placement;

static naive_list naive_placed(const mw_mesh *mesh, const naive_placement *p, int d, int size,
                               const int *coord)
{
    naive_list list = {.n = size};
    for (int i = 0; i < size; i++)
        list.at[i] = i;
    for (int a = 0; a < mw_mesh_axes(mesh); a++)
        if (p[a].dim == d)
            list = naive_split(&list, p[a].split, mw_mesh_axis_size(mesh, a), coord[a]);
    return list;
}

static void placements_text(const mw_mesh *mesh, const naive_placement *p, char *to)
{
    int n = 0;
    for (int a = 0; a < mw_mesh_axes(mesh); a++)
        n += p[a].dim < 0 ? snprintf(to + n, (size_t)(TEXT - n), "R")
             : p[a].split > 1
                 ? snprintf(to + n, (size_t)(TEXT - n), "_S(%d, %d)", p[a].dim, p[a].split)
                 : snprintf(to + n, (size_t)(TEXT - n), "S(%d)", p[a].dim);
}

static bool holds(const mw_reading *reading, int rank, int d, const naive_list *list)
{
    mw_range range[NAIVE_SIZE];
    int64_t n = 0;
    int k = 0;
    assert_int_equal(mw_reading_ranges(reading, rank, d, range, NAIVE_SIZE, &n), MW_OK);
    for (int64_t i = 0; i < n; i++)
        for (int64_t at = range[i].first; at < range[i].end; at++, k++)
            if (k >= list->n || list->at[k] != at) return false;
    return k == list->n;
}

static bool dim_has_owners(const mw_mesh *mesh, const mw_dim *dim, const mw_reading *reading)
{
    for (int r = 0; r < mw_mesh_ranks(mesh); r++) {
        int coord[MW_MESH_AXES];
        naive_coords(mesh, r, coord);
        naive_list list = naive_dim(mesh, dim, coord);
        if (!holds(reading, r, 0, &list)) return false;
    }
    return true;
}

/* Fails where a reading of one dim has no layout, though one of many random ones has its owners. */
static void must_have_none(const mw_mesh *mesh, uint64_t *seed, const mw_reading *reading,
                           const char *text)
{
    int64_t shape[MW_LAYOUT_DIMS];
    if (mw_reading_layout(reading) || mw_reading_shape(reading, shape) != 1) return;
    for (int i = 0; i < 300; i++) {
        mw_dim dim = naive_random_dim(mesh, seed, shape[0], 0xff, i % 2);
        if (!dim_has_owners(mesh, &dim, reading)) continue;
        mw_layout l = mw_layout_replicated(MW_DTYPE_f32, 1, shape);
        char own[TEXT];
        l.dim[0] = dim;
        mw_layout_print(mesh, &l, own, TEXT);
        fail_msg("%s of %d is %s, which was not found", text, (int)shape[0], own);
    }
}

static void test_placements_hold_what_a_naive_reading_says(void **state)
{
    (void)state;
    uint64_t seed = SEED + 2;
    int unsayable = 0, joined = 0;
    for (int i = 0; i < 3000; i++) {
        naive_placement p[MW_MESH_AXES];
        char text[TEXT];
        mw_mesh *mesh = random_mesh(&seed);
        int64_t shape[2] = {naive_below(&seed, 20), naive_below(&seed, 20)};
        int ndim = 1 + naive_below(&seed, 2), strided = 0, on_first = 0;
        for (int a = 0; a < mw_mesh_axes(mesh); a++) {
            int kind = naive_below(&seed, 4);
            p[a] = (naive_placement){kind == 3 ? -1 : naive_below(&seed, ndim),
                                     kind == 0 ? 2 + naive_below(&seed, 4) : 1};
            strided += p[a].split > 1 && p[a].dim == 0;
            on_first += p[a].dim == 0;
        }
        placements_text(mesh, p, text);
        mw_reading *reading = read_as(mesh, text, ndim, shape);
        for (int r = 0; r < mw_mesh_ranks(mesh); r++)
            for (int d = 0; d < ndim; d++) {
                int coord[MW_MESH_AXES];
                naive_coords(mesh, r, coord);
                naive_list want = naive_placed(mesh, p, d, (int)shape[d], coord);
                if (!holds(reading, r, d, &want))
                    fail_msg("%s of %d on %d ranks: rank %d", text, (int)shape[d],
                             mw_mesh_ranks(mesh), r);
            }
        joined += strided && on_first > 1;
        must_have_none(mesh, &seed, reading, text);
        unsayable += !mw_reading_layout(reading);
        mw_reading_free(reading);
        mw_mesh_unref(mesh);
    }
    printf("%d joined lists, %d readings without a layout\n", joined, unsayable);
    assert_true(joined > 200 && unsayable > 20);
}

/* ---- tile assignments, naively ------------------------------------------------------------- */

/* A random factorisation of n into `count` numbers. */
static void random_tiles(uint64_t *seed, int n, int count, int *ret)
{
    for (int i = 0; i < count; i++)
        ret[i] = 1;
    for (int p = 2; n > 1;) {
        if (n % p != 0) {
            p++;
            continue;
        }
        ret[naive_below(seed, count)] *= p;
        n /= p;
    }
}

static void check_tiles(const mw_mesh *mesh, const char *text, const int *tile, const int *list,
                        int copies, const int64_t *shape, int ndim, mw_reading *reading)
{
    for (int k = 0; k < mw_mesh_ranks(mesh); k++) {
        int place = k / copies;
        for (int d = ndim - 1; d >= 0; d--) {
            naive_list whole = {.n = (int)shape[d]};
            for (int i = 0; i < whole.n; i++)
                whole.at[i] = i;
            naive_list want = naive_chunk(&whole, tile[d], place % tile[d]);
            place /= tile[d];
            if (!holds(reading, list[k], d, &want))
                fail_msg("%s: rank %d, dim %d", text, list[k], d);
        }
    }
}

static void test_tile_assignments_hold_what_a_naive_reading_says(void **state)
{
    (void)state;
    uint64_t seed = SEED + 3;
    int unsayable = 0, sayable = 0;
    for (int i = 0; i < 2500; i++) {
        mw_mesh *mesh = random_mesh(&seed);
        int64_t shape[2] = {naive_below(&seed, 20), 1 + naive_below(&seed, 20)};
        int tile[3], list[64], n = mw_mesh_ranks(mesh), length, ndim = 1 + naive_below(&seed, 2);
        random_tiles(&seed, n, ndim + 1, tile);
        for (int k = 0; k < n; k++)
            list[k] = k;
        for (int k = n - 1; k > 0 && i % 2; k--) {
            int other = naive_below(&seed, k + 1), kept = list[k];
            list[k] = list[other];
            list[other] = kept;
        }
        char text[TEXT], again_text[TEXT];
        length = snprintf(text, TEXT, "{devices=[%d", tile[0]);
        for (int d = 1; d <= ndim; d++)
            length += snprintf(text + length, (size_t)(TEXT - length), ",%d", tile[d]);
        for (int k = 0; k < n; k++)
            length +=
                snprintf(text + length, (size_t)(TEXT - length), "%s%d", k ? "," : "]", list[k]);
        (void)snprintf(text + length, (size_t)(TEXT - length), " last_tile_dim_replicate}");
        mw_reading *reading = read_as(mesh, text, ndim, shape);
        check_tiles(mesh, text, tile, list, tile[ndim], shape, ndim, reading);
        must_have_none(mesh, &seed, reading, text);
        mw_reading *again =
            read_as(mesh, print_as(reading, MW_NOTATION_HLO_V1, again_text), ndim, shape);
        char want[TEXT], got[TEXT];
        assert_string_equal(owners_of(mesh, again, got), owners_of(mesh, reading, want));
        unsayable += !mw_reading_layout(reading);
        sayable += mw_reading_layout(reading) != NULL;
        mw_reading_free(again);
        mw_reading_free(reading);
        mw_mesh_unref(mesh);
    }
    printf("%d with a layout, %d without\n", sayable, unsayable);
    assert_true(sayable > 500 && unsayable > 200);
}

/* Every order of the axes of a mesh, as an iota with a transpose, is some layout. */
static void test_transposes_of_the_mesh_have_layouts(void **state)
{
    (void)state;
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const layouts[6] = {"f32[24@(x,y), 8@z]", "f32[24@(x,z), 8@y]",
                                           "f32[24@(y,x), 8@z]", "f32[24@(y,z), 8@x]",
                                           "f32[24@(z,x), 8@y]", "f32[24@(z,y), 8@x]"};
    mw_mesh *mesh = mesh_of("x=2,y=3,z=4");
    const int size[3] = {2, 3, 4};
    const int64_t shape[] = {24, 8};
    for (int i = 0; i < 6; i++) {
        const int *o = order[i];
        char text[TEXT];
        mw_layout wanted;
        (void)snprintf(text, TEXT, "{devices=[%d,%d]<=[2,3,4]T(%d,%d,%d)}", size[o[0]] * size[o[1]],
                       size[o[2]], o[0], o[1], o[2]);
        mw_reading *reading = read_as(mesh, text, 2, shape);
        assert_int_equal(mw_layout_parse(mesh, layouts[i], &wanted), MW_OK);
        assert_non_null(mw_reading_layout(reading));
        assert_true(mw_layout_equal(mw_reading_layout(reading), &wanted));
        mw_reading_free(reading);
    }
    mw_mesh_unref(mesh);
}

int main(void)
{
    printf("seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_printed_reads_back),
        cmocka_unit_test(test_specs_are_printed_where_there_is_one),
        cmocka_unit_test(test_placements_hold_what_a_naive_reading_says),
        cmocka_unit_test(test_tile_assignments_hold_what_a_naive_reading_says),
        cmocka_unit_test(test_transposes_of_the_mesh_have_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
