/* Weights: each stored type against its definition, the fast code against the portable one in every
 * bit, and any box of any tensor as any dtype against the same elements of the whole. Files are
 * made here from random bits. */
#include "gguf_writer.h"
#include "io/io.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>

#include <cmocka.h>

enum { SEED = 77001 };

static uint64_t random_state;

static uint32_t random_bits(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

static int64_t random_below(int64_t n)
{
    return n > 0 ? (int64_t)(random_bits() % (uint64_t)n) : 0;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool same(float a, float b)
{
    return bits_of(a) == bits_of(b) || (isnan(a) && isnan(b));
}

/* ---- blocks -------------------------------------------------------------------------------- */

static float half(const uint8_t *at)
{
    return mw__f16_to_f32((uint16_t)(at[0] | at[1] << 8));
}

static int nibble(const uint8_t *bytes, int i)
{
    return i < 16 ? bytes[i] & 15 : bytes[i - 16] >> 4;
}

static int bit(const uint8_t *bytes, int i)
{
    return bytes[i / 8] >> i % 8 & 1;
}

/* Weight i of a block, straight from the description of the format. */
static float defined(const mw__block_type *type, const uint8_t *b, int i)
{
    volatile float product; /* rounded before anything is added */
    switch (type->code) {
    case 2:
        return half(b) * (float)(nibble(b + 2, i) - 8);
    case 3:
        product = half(b) * (float)nibble(b + 4, i);
        return product + half(b + 2);
    case 6:
        return half(b) * (float)(nibble(b + 6, i) + 16 * bit(b + 2, i) - 16);
    case 7:
        product = half(b) * (float)(nibble(b + 8, i) + 16 * bit(b + 4, i));
        return product + half(b + 2);
    case 8:
        return half(b) * (float)(b[2 + i] < 128 ? b[2 + i] : b[2 + i] - 256);
    default:
        fail_msg("no definition of %s", type->name);
        return 0;
    }
}

static const uint32_t quantised[] = {2, 3, 6, 7, 8};

static void test_blocks_are_as_defined(void **state)
{
    (void)state;
    enum { BLOCKS = 400 };
    static uint8_t bytes[BLOCKS * 34];
    static float portable[BLOCKS * 32], fast[BLOCKS * 32];
    random_state = SEED;
    print_message("seed %d\n", SEED);
    for (int k = 0; k < MW_COUNT(quantised); k++) {
        const mw__block_type *type = mw__block_type_find(quantised[k]);
        assert_true(type && type->block == 32 && type->portable);
        for (int64_t i = 0; i < BLOCKS * type->bytes; i++)
            bytes[i] = (uint8_t)random_bits();
        /* Random scales are infinite or NaN now and then; see that they are. */
        bytes[0] = 0, bytes[1] = 0x7c;
        bytes[type->bytes] = 1, bytes[type->bytes + 1] = 0xfe;
        type->portable(portable, bytes, BLOCKS);
        mw__blocks_to_f32(type, fast, bytes, BLOCKS);
        for (int64_t i = 0; i < BLOCKS * 32; i++) {
            float want = defined(type, bytes + i / 32 * type->bytes, (int)(i % 32));
            if (!same(portable[i], want))
                fail_msg("%s weight %lld: %a, not %a", type->name, (long long)i,
                         (double)portable[i], (double)want);
            if (!same(fast[i], portable[i]))
                fail_msg("%s weight %lld: fast %a, portable %a", type->name, (long long)i,
                         (double)fast[i], (double)portable[i]);
        }
    }
}

static void test_fast_blocks_stay_inside(void **state)
{
    (void)state;
    random_state = SEED;
    for (int k = 0; k < MW_COUNT(quantised); k++) {
        const mw__block_type *type = mw__block_type_find(quantised[k]);
        for (int64_t blocks = 0; blocks < 5; blocks++) {
            /* Exactly as long as they must be: a sanitizer sees a byte too much. */
            uint8_t *bytes = malloc((size_t)(blocks * type->bytes + 1));
            float *to = malloc((size_t)(blocks * 32 + 1) * sizeof *to);
            assert_true(bytes && to);
            memset(bytes, 0x3c, (size_t)(blocks * type->bytes));
            to[blocks * 32] = -5;
            mw__blocks_to_f32(type, to, bytes, blocks);
            assert_true(to[blocks * 32] == -5);
            for (int64_t i = 0; i < blocks * 32; i++)
                assert_true(same(to[i], defined(type, bytes, (int)(i % 32))));
            free(bytes);
            free(to);
        }
    }
}

/* ---- boxes --------------------------------------------------------------------------------- */

/* One tensor of random bits in memory; scales and floats of moderate size. */
typedef struct stored {
    gguf_writer w;
    mw_model_file *file;
    const mw_model_tensor *tensor;
    int64_t count;
} stored;

static void put_random(gguf_writer *w, const mw__block_type *type)
{
    switch (type->dtype) {
    case MW_DTYPE_f64: {
        double value = ((double)random_bits() - 0x1p31) / (1 + (double)random_bits());
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        put_uint(w, bits, 8);
        return;
    }
    case MW_DTYPE_f32:
        put_f32(w, ((float)random_bits() - 0x1p31f) / (1 + (float)random_bits()));
        return;
    case MW_DTYPE_f16:
    case MW_DTYPE_bf16: /* exponent bits 10...: finite in both */
        put_uint(w, random_bits() & 0xbfff, 2);
        return;
    default:
        for (int i = 0; i < type->bytes; i++)
            put_uint(w, random_bits() & (i == 1 || i == 3 ? 0xbf : 0xff), 1);
    }
}

static stored make_stored(uint32_t code, int ndim, const int64_t *shape)
{
    stored s = {.count = 1};
    const mw__block_type *type = mw__block_type_find(code);
    uint64_t dims[MW_MAX_DIMS];
    for (int d = 0; d < ndim; d++) {
        s.count *= shape[d];
        dims[ndim - 1 - d] = (uint64_t)shape[d];
    }
    put_head(&s.w, 3, 1, 0);
    put_tensor(&s.w, "t", (uint32_t)ndim, dims, code, 0);
    put_align(&s.w, 32);
    for (int64_t i = 0; i < s.count / type->block; i++)
        put_random(&s.w, type);
    assert_int_equal(mw__model_file_from_memory(s.w.at, (int64_t)s.w.size, "memory", &s.file),
                     MW_OK);
    s.tensor = mw_model_file_tensor(s.file, 0);
    return s;
}

static void stored_done(stored *s)
{
    mw_model_file_close(s->file);
    writer_done(&s->w);
}

enum { RANGES = 6 };

/* Up to RANGES random ranges of a dim, some empty, some touching; now and then the whole dim. */
static int64_t random_ranges(int64_t size, mw_range *to)
{
    int64_t count = 0, at = 0;
    if (random_below(4) == 0) {
        to[0] = (mw_range){0, size};
        return 1;
    }
    for (int64_t want = 1 + random_below(RANGES); count < want && at <= size; count++) {
        int64_t first = at + random_below(size - at + 1) / (1 + random_below(4));
        int64_t end = first + random_below(size - first + 1) / (1 + random_below(3));
        to[count] = (mw_range){first, end};
        at = end;
    }
    return count;
}

static bool inside(const mw_model_box *box, int dim, int64_t at)
{
    if (!box->dim[dim].range) return true;
    for (int64_t i = 0; i < box->dim[dim].count; i++)
        if (at >= box->dim[dim].range[i].first && at < box->dim[dim].range[i].end) return true;
    return false;
}

/* Element by element: those of the whole whose every position is in the box, in order. */
static void check_box(const stored *s, const mw_model_box *box, mw_dtype dtype, const char *whole)
{
    int64_t size = mw_dtype_size(dtype), count = mw_model_box_count(s->tensor, box), n = 0;
    char *got = malloc((size_t)(count * size + 1));
    assert_non_null(got);
    got[count * size] = 0x55;
    if (mw_model_file_read(s->file, s->tensor, box, dtype, got) != MW_OK)
        fail_msg("%s", mw_last_error()->says);
    assert_int_equal(got[count * size], 0x55);
    for (int64_t i = 0; i < s->count; i++) {
        int64_t rest = i;
        bool wanted = true;
        for (int d = s->tensor->ndim - 1; d >= 0; d--) {
            wanted = wanted && inside(box, d, rest % s->tensor->shape[d]);
            rest /= s->tensor->shape[d];
        }
        if (!wanted) continue;
        if (n >= count || memcmp(got + n * size, whole + i * size, (size_t)size) != 0)
            fail_msg("%s as %s: element %lld of the box is not element %lld of the whole",
                     s->tensor->type, mw_dtype_name(dtype), (long long)n, (long long)i);
        n++;
    }
    assert_int_equal(n, count);
    free(got);
}

static const uint32_t readable[] = {0, 1, 2, 3, 6, 7, 8, 24, 25, 26, 27, 28, 30};
static const mw_dtype floats[] = {MW_DTYPE_f32, MW_DTYPE_bf16, MW_DTYPE_f16, MW_DTYPE_f64};

static void check_boxes(uint32_t code, int ndim, const int64_t *shape, int boxes)
{
    stored s = make_stored(code, ndim, shape);
    char *whole = malloc((size_t)s.count * 8 + 1);
    assert_non_null(whole);
    for (int k = 0; k < MW_COUNT(floats); k++) {
        assert_int_equal(mw_model_file_read(s.file, s.tensor, NULL, floats[k], whole), MW_OK);
        for (int b = 0; b < boxes; b++) {
            mw_model_box box = {0};
            mw_range ranges[MW_MAX_DIMS][RANGES];
            for (int d = 0; d < ndim; d++) {
                if (random_below(4) == 0) continue;
                box.dim[d].range = ranges[d];
                box.dim[d].count = random_ranges(shape[d], ranges[d]);
            }
            check_box(&s, &box, floats[k], whole);
        }
    }
    free(whole);
    stored_done(&s);
}

static void test_any_box_is_that_part_of_the_whole(void **state)
{
    (void)state;
    random_state = SEED;
    print_message("seed %d\n", SEED);
    for (int k = 0; k < MW_COUNT(readable); k++) {
        check_boxes(readable[k], 1, (const int64_t[]){320}, 20);
        check_boxes(readable[k], 2, (const int64_t[]){7, 96}, 30);
        check_boxes(readable[k], 3, (const int64_t[]){3, 4, 64}, 30);
        check_boxes(readable[k], 5, (const int64_t[]){2, 1, 3, 2, 32}, 20);
        check_boxes(readable[k], 2, (const int64_t[]){0, 64}, 2);
    }
    check_boxes(0, 0, NULL, 1);
}

static void check_long(const stored *s, mw_dtype dtype)
{
    const int64_t *shape = s->tensor->shape;
    char *whole = malloc((size_t)(s->count * mw_dtype_size(dtype)));
    assert_non_null(whole);
    assert_int_equal(mw_model_file_read(s->file, s->tensor, NULL, dtype, whole), MW_OK);
    mw_range rows[] = {{0, 1}, {1, shape[0]}}, halves[] = {{9, shape[1] / 2 + 5}};
    mw_range ends[] = {{0, 33}, {shape[1] - 31, shape[1]}};
    mw_model_box box = {.dim = {{rows, 2}, {halves, 1}}};
    check_box(s, &box, dtype, whole);
    box.dim[1].range = ends, box.dim[1].count = 2;
    check_box(s, &box, dtype, whole);
    /* The whole came in windows and pieces, and rows one by one do not. */
    for (int64_t row = 0; row < shape[0]; row += 1 + shape[0] / 8) {
        mw_range one = {row, row + 1};
        box = (mw_model_box){.dim = {{&one, 1}}};
        check_box(s, &box, dtype, whole);
    }
    free(whole);
}

/* Larger than the window, with narrow columns (read over the gaps) and wide gaps (skipped). */
static void test_boxes_larger_than_the_window(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{40, 8192}, {3000, 96}, {2, 300000}};
    random_state = SEED + 1;
    for (int k = 0; k < MW_COUNT(shapes); k++) {
        for (uint32_t code = 0; code <= 3; code += 3) {
            stored s = make_stored(code, 2, shapes[k]);
            check_long(&s, MW_DTYPE_f32);
            check_long(&s, MW_DTYPE_bf16);
            stored_done(&s);
        }
    }
}

/* The whole itself, against the definition: every type as every float dtype. */
static void test_the_whole_is_as_defined(void **state)
{
    (void)state;
    enum { ROWS = 3, COLUMNS = 2400, COUNT = ROWS * COLUMNS };
    random_state = SEED + 2;
    for (int k = 0; k < MW_COUNT(readable); k++) {
        const mw__block_type *type = mw__block_type_find(readable[k]);
        stored s = make_stored(readable[k], 2, (const int64_t[]){ROWS, COLUMNS});
        const uint8_t *bytes = s.w.at + s.tensor->offset;
        static float f32[COUNT];
        static double f64[COUNT];
        static uint16_t bf16[COUNT], f16[COUNT];
        assert_int_equal(mw_model_file_read(s.file, s.tensor, NULL, MW_DTYPE_f32, f32), MW_OK);
        assert_int_equal(mw_model_file_read(s.file, s.tensor, NULL, MW_DTYPE_f64, f64), MW_OK);
        assert_int_equal(mw_model_file_read(s.file, s.tensor, NULL, MW_DTYPE_bf16, bf16), MW_OK);
        assert_int_equal(mw_model_file_read(s.file, s.tensor, NULL, MW_DTYPE_f16, f16), MW_OK);
        for (int i = 0; i < COUNT; i++) {
            double want = 0;
            if (type->dtype == MW_DTYPE_NONE) {
                want = (double)defined(type, bytes + i / 32 * type->bytes, i % 32);
            } else {
                _Alignas(8) uint8_t element[8];
                memcpy(element, bytes + i * type->bytes, (size_t)type->bytes);
                want = mw__element_get(element, type->dtype);
            }
            assert_true(f64[i] == want || type->dtype == MW_DTYPE_i64);
            assert_true(same(f32[i], (float)want) || type->dtype == MW_DTYPE_i64);
            assert_int_equal(bf16[i], mw__f32_to_bf16(f32[i]));
            assert_int_equal(f16[i], mw__f32_to_f16(f32[i]));
        }
        stored_done(&s);
    }
}

static void test_integers_as_they_are(void **state)
{
    (void)state;
    random_state = SEED + 3;
    static const struct {
        uint32_t code;
        mw_dtype dtype;
    } cases[] = {{24, MW_DTYPE_i8}, {25, MW_DTYPE_i16}, {26, MW_DTYPE_i32}, {27, MW_DTYPE_i64}};
    for (int k = 0; k < MW_COUNT(cases); k++) {
        stored s = make_stored(cases[k].code, 1, (const int64_t[]){50});
        int64_t got[50];
        mw_range range = {7, 45};
        mw_model_box box = {.dim = {{&range, 1}}};
        assert_int_equal(mw_model_file_read(s.file, s.tensor, &box, cases[k].dtype, got), MW_OK);
        int64_t size = mw_dtype_size(cases[k].dtype);
        assert_memory_equal(got, s.w.at + s.tensor->offset + 7 * size, (size_t)(38 * size));
        stored_done(&s);
    }
}

/* ---- what is refused ----------------------------------------------------------------------- */

static void assert_says(mw_status status, mw_status code, const char *says, const char *hint)
{
    assert_int_equal(status, code);
    assert_string_equal(mw_last_error()->says, says);
    assert_string_equal(mw_last_error()->hint, hint);
}

static void test_ranges_that_do_not_fit(void **state)
{
    (void)state;
    random_state = SEED;
    stored s = make_stored(0, 2, (const int64_t[]){4, 6});
    float to[24] = {0};
    mw_range ranges[] = {{0, 2}, {1, 3}};
    mw_model_box box = {.dim = {{ranges, 2}}};
    assert_says(mw_model_file_read(s.file, s.tensor, &box, MW_DTYPE_f32, to), MW_ERR_ARG,
                "range 1 of dim 0 of tensor 't', [1, 3), does not rise inside [2, 4)", "");
    ranges[1] = (mw_range){3, 5};
    assert_says(mw_model_file_read(s.file, s.tensor, &box, MW_DTYPE_f32, to), MW_ERR_ARG,
                "range 1 of dim 0 of tensor 't', [3, 5), does not rise inside [2, 4)", "");
    ranges[1] = (mw_range){3, 2};
    assert_says(mw_model_file_read(s.file, s.tensor, &box, MW_DTYPE_f32, to), MW_ERR_ARG,
                "range 1 of dim 0 of tensor 't', [3, 2), does not rise inside [2, 4)", "");
    ranges[0] = (mw_range){-1, 1};
    assert_says(mw_model_file_read(s.file, s.tensor, &box, MW_DTYPE_f32, to), MW_ERR_ARG,
                "range 0 of dim 0 of tensor 't', [-1, 1), does not rise inside [0, 4)", "");
    box = (mw_model_box){.dim = {{ranges, 0}}};
    assert_int_equal(mw_model_box_count(s.tensor, &box), 0);
    assert_int_equal(mw_model_file_read(s.file, s.tensor, &box, MW_DTYPE_f32, NULL), MW_OK);
    stored other = make_stored(0, 1, (const int64_t[]){4});
    assert_says(mw_model_file_read(s.file, other.tensor, NULL, MW_DTYPE_f32, to), MW_ERR_ARG,
                "the tensor is none of 'memory'", "");
    assert_says(mw_model_file_read(s.file, NULL, NULL, MW_DTYPE_f32, to), MW_ERR_ARG,
                "the tensor is none of 'memory'", "");
    stored_done(&other);
    stored_done(&s);
}

static void test_dtypes_that_do_not_fit(void **state)
{
    (void)state;
    random_state = SEED;
    int64_t to[32];
    stored s = make_stored(3, 1, (const int64_t[]){32});
    assert_says(mw_model_file_read(s.file, s.tensor, NULL, MW_DTYPE_i8, to), MW_ERR_ARG,
                "tensor 't' of 'memory' is stored as Q4_1 and cannot be read as i8",
                "read it as a float");
    assert_says(mw_model_file_read(s.file, s.tensor, NULL, MW_DTYPE_NONE, to), MW_ERR_ARG,
                "tensor 't' of 'memory' is stored as Q4_1 and cannot be read as ?",
                "read it as a float");
    stored_done(&s);
    s = make_stored(26, 1, (const int64_t[]){32});
    assert_says(mw_model_file_read(s.file, s.tensor, NULL, MW_DTYPE_i64, to), MW_ERR_ARG,
                "tensor 't' of 'memory' is stored as I32 and cannot be read as i64",
                "read it as a float or as i32");
    stored_done(&s);
}

static void test_types_that_are_only_known_by_name(void **state)
{
    (void)state;
    static const char types[] =
        "use a file with tensors of these types: F32, F16, Q4_0, Q4_1, Q5_0, "
        "Q5_1, Q8_0, I8, I16, I32, I64, F64, BF16";
    static const char says[] = "tensor 'k' of 'memory' is stored as Q4_K, which cannot be read yet";
    gguf_writer w = {0};
    mw_model_file *file = NULL;
    float to[256];
    put_head(&w, 3, 2, 0);
    put_tensor(&w, "k", 1, (const uint64_t[]){256}, 12, 0);
    put_tensor(&w, "unsized", 1, (const uint64_t[]){64}, 40, 160);
    put_align(&w, 32), put_zeros(&w, 200);
    assert_int_equal(mw__model_file_from_memory(w.at, (int64_t)w.size, "memory", &file), MW_OK);
    const mw_model_tensor *k = mw_model_file_tensor(file, 0),
                          *unsized = mw_model_file_tensor(file, 1);
    assert_int_equal(k->bytes, 144);
    assert_string_equal(unsized->type, "NVFP4");
    assert_int_equal(unsized->bytes, -1);
    assert_says(mw_model_file_read(file, k, NULL, MW_DTYPE_f32, to), MW_ERR_FORMAT, says, types);
    assert_says(mw_model_file_require(file, "k", 1, (const int64_t[]){256}, NULL), MW_ERR_FORMAT,
                says, types);
    mw_model_file_close(file);
    writer_done(&w);
}

/* ---- together ------------------------------------------------------------------------------ */

typedef struct reader {
    const mw_model_file *file;
    mw_status status;
    float to[64 * 48];
} reader;

static void *read_columns(void *argument)
{
    reader *r = argument;
    mw_range range = {7, 55};
    mw_model_box box = {.dim = {{NULL, 0}, {&range, 1}}};
    r->status = MW_OK;
    for (int i = 0; i < 50 && r->status == MW_OK; i++)
        r->status = mw_model_file_read(r->file, mw_model_file_tensor_find(r->file, "t"), &box,
                                       MW_DTYPE_f32, r->to);
    return NULL;
}

static void test_threads_read_one_file_at_once(void **state)
{
    (void)state;
    static reader readers[4];
    pthread_t threads[4];
    char folder[256], path[300];
    mw_model_file *file = NULL;
    random_state = SEED + 4;
    stored s = make_stored(8, 2, (const int64_t[]){64, 64});
    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/model.gguf", folder);
    file_write(path, s.w.at, s.w.size);
    assert_int_equal(mw_model_file_open(path, &file), MW_OK);
    for (int i = 0; i < 4; i++) {
        readers[i].file = file;
        assert_int_equal(pthread_create(&threads[i], NULL, read_columns, &readers[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(readers[i].status, MW_OK);
        for (int e = 0; e < 64 * 48; e++) {
            int weight = e / 48 * 64 + e % 48 + 7;
            const uint8_t *block = s.w.at + s.tensor->offset + weight / 32 * 34;
            assert_true(
                same(readers[i].to[e], defined(mw__block_type_find(8), block, weight % 32)));
        }
    }
    mw_model_file_close(file);
    stored_done(&s);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_as_defined),
        cmocka_unit_test(test_fast_blocks_stay_inside),
        cmocka_unit_test(test_any_box_is_that_part_of_the_whole),
        cmocka_unit_test(test_boxes_larger_than_the_window),
        cmocka_unit_test(test_the_whole_is_as_defined),
        cmocka_unit_test(test_integers_as_they_are),
        cmocka_unit_test(test_ranges_that_do_not_fit),
        cmocka_unit_test(test_dtypes_that_do_not_fit),
        cmocka_unit_test(test_types_that_are_only_known_by_name),
        cmocka_unit_test(test_threads_read_one_file_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
