/* Good GGUF files: every type of value through every getter, tensors with their shapes, what a
 * program may require of a file, and opening one with each allocation failing in turn. The files
 * are made here. Damaged and foreign ones: test_gguf_refused.c; weights: test_dequantise.c. */
#include "gguf_writer.h"
#include "io/io.h"

#include <setjmp.h>

#include <cmocka.h>

static char folder[256], path[300];

static int make_folder(void **state)
{
    (void)state;
    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/model.gguf", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink(path) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* 15 keys: one of each type, arrays of three kinds; 4 tensors out of order in the data. */
static void write_example(gguf_writer *w, uint32_t version)
{
    put_head(w, version, 4, 15);
    put_key(w, "a.u8", 0), put_uint(w, 200, 1);
    put_key(w, "a.i8", 1), put_uint(w, (uint8_t)-3, 1);
    put_key(w, "a.u16", 2), put_uint(w, 65535, 2);
    put_key(w, "a.i16", 3), put_uint(w, (uint16_t)-300, 2);
    put_key(w, "a.u32", 4), put_uint(w, 4000000000u, 4);
    put_key(w, "a.i32", 5), put_uint(w, (uint32_t)-70000, 4);
    put_key(w, "a.f32", 6), put_f32(w, 1e-5f);
    put_key(w, "a.bool", 7), put_uint(w, 1, 1);
    put_key(w, "a.string", 8), put_string_of(w, "nul\0inside", 10);
    put_key(w, "a.u64", 10), put_uint(w, UINT64_MAX, 8);
    put_key(w, "a.i64", 11), put_uint(w, (uint64_t)INT64_MIN, 8);
    put_key(w, "a.f64", 12), put_uint(w, 0x400921fb54442d18, 8); /* pi */
    put_array(w, "tokens", 8, 3);
    put_string(w, "<s>"), put_string(w, ""), put_string_of(w, "\0\xff", 2);
    put_array(w, "types", 5, 4);
    for (int i = 0; i < 4; i++)
        put_uint(w, (uint32_t)(i - 2), 4);
    put_array(w, "scores", 6, 2);
    put_f32(w, -1.5f), put_f32(w, 0.25f);
    put_tensor(w, "norm", 1, (const uint64_t[]){5}, 0, 64);
    put_tensor(w, "weight", 2, (const uint64_t[]){32, 3}, 3, 0);
    put_tensor(w, "scalar", 0, NULL, 28, 96);
    put_tensor(w, "none", 3, (const uint64_t[]){4, 0, 7}, 1, 128);
    put_align(w, 32);
    for (int i = 0; i < 128; i++)
        put_uint(w, (uint64_t)i, 1);
}

static mw_model_file *open_example(uint32_t version)
{
    gguf_writer w = {0};
    mw_model_file *file = NULL;
    write_example(&w, version);
    file_write(path, w.at, w.size);
    writer_done(&w);
    assert_int_equal(mw_model_file_open(path, &file), MW_OK);
    return file;
}

static void assert_says(mw_status status, mw_status code, const char *says)
{
    assert_int_equal(status, code);
    assert_string_equal(mw_last_error()->says, says);
}

/* The sentence of `format`, in which %s is the path. */
#define ASSERT_SAYS_PATH(call, code, ...)                   \
    do {                                                    \
        char wanted[800];                                   \
        (void)snprintf(wanted, sizeof wanted, __VA_ARGS__); \
        assert_says(call, code, wanted);                    \
    } while (0)

static void test_values_of_every_type(void **state)
{
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        mw_model_file *f = open_example(version);
        assert_string_equal(mw_model_file_format(f), version == 2 ? "GGUF 2" : "GGUF 3");
        assert_string_equal(mw_model_file_path(f), path);
        assert_int_equal(mw_model_file_values(f), 15);
        static const struct {
            const char *key;
            int64_t value;
        } integers[] = {{"a.u8", 200},       {"a.i8", -3},          {"a.u16", 65535},
                        {"a.i16", -300},     {"a.u32", 4000000000}, {"a.i32", -70000},
                        {"a.i64", INT64_MIN}};
        for (int i = 0; i < MW_COUNT(integers); i++) {
            int64_t got = 0;
            double number = 0;
            assert_int_equal(mw_model_file_i64(f, integers[i].key, &got), MW_OK);
            assert_true(got == integers[i].value);
            assert_int_equal(mw_model_file_f64(f, integers[i].key, &number), MW_OK);
            assert_true(number == (double)integers[i].value);
        }
        uint64_t u64 = 0;
        double f64 = 0;
        int truth = 0;
        mw_bytes bytes = {0};
        assert_int_equal(mw_model_file_u64(f, "a.u64", &u64), MW_OK);
        assert_true(u64 == UINT64_MAX);
        assert_int_equal(mw_model_file_f64(f, "a.u64", &f64), MW_OK);
        assert_true(f64 == 0x1p64);
        assert_int_equal(mw_model_file_u64(f, "a.u16", &u64), MW_OK);
        assert_true(u64 == 65535);
        assert_int_equal(mw_model_file_f64(f, "a.f32", &f64), MW_OK);
        assert_true(f64 == (double)1e-5f);
        assert_int_equal(mw_model_file_f64(f, "a.f64", &f64), MW_OK);
        assert_true(f64 == 0x1.921fb54442d18p1);
        assert_int_equal(mw_model_file_bool(f, "a.bool", &truth), MW_OK);
        assert_int_equal(truth, 1);
        assert_int_equal(mw_model_file_string(f, "a.string", &bytes), MW_OK);
        assert_int_equal(bytes.length, 10);
        assert_memory_equal(bytes.at, "nul\0inside", 10);
        mw_model_file_close(f);
    }
}

static void test_arrays_by_index(void **state)
{
    (void)state;
    mw_model_file *f = open_example(3);
    const mw_model_value *tokens = NULL, *types = NULL, *scores = NULL;
    assert_int_equal(mw_model_file_array(f, "tokens", MW_VALUE_STRING, &tokens), MW_OK);
    assert_int_equal(tokens->count, 3);
    static const mw_bytes strings[] = {{"<s>", 3}, {"", 0}, {"\0\xff", 2}};
    for (int i = 0; i < 3; i++) {
        mw_bytes got = {0};
        assert_int_equal(mw_model_value_string(tokens, i, &got), MW_OK);
        assert_int_equal(got.length, strings[i].length);
        assert_memory_equal(got.at, strings[i].at, (size_t)got.length);
    }
    assert_int_equal(mw_model_file_array(f, "types", MW_VALUE_I32, &types), MW_OK);
    assert_int_equal(types->count, 4);
    for (int i = 0; i < 4; i++) {
        int64_t got = 9;
        assert_int_equal(mw_model_value_i64(types, i, &got), MW_OK);
        assert_int_equal(got, i - 2);
    }
    assert_int_equal(mw_model_file_array(f, "scores", MW_VALUE_F32, &scores), MW_OK);
    double score = 0;
    assert_int_equal(mw_model_value_f64(scores, 1, &score), MW_OK);
    assert_true(score == 0.25);
    ASSERT_SAYS_PATH(mw_model_value_f64(scores, 2, &score), MW_ERR_ARG,
                     "key 'scores' of '%s' has 2 elements, not one number 2", path);
    ASSERT_SAYS_PATH(mw_model_value_f64(scores, -1, &score), MW_ERR_ARG,
                     "key 'scores' of '%s' has 2 elements, not one number -1", path);
    assert_true(score == 0.25); /* untouched by failures */
    mw_model_file_close(f);
}

static void test_keys_are_listed_in_order(void **state)
{
    (void)state;
    mw_model_file *f = open_example(3);
    const mw_model_value *value = mw_model_file_value(f, 14);
    assert_non_null(value);
    assert_string_equal(value->key, "scores");
    assert_true(value->is_array && value->type == MW_VALUE_F32 && value->count == 2);
    assert_string_equal(mw_value_type_name(value->type), "f32");
    assert_ptr_equal(mw_model_file_find(f, "scores"), value);
    assert_null(mw_model_file_value(f, 15));
    assert_null(mw_model_file_value(f, -1));
    assert_null(mw_model_file_find(f, "score"));
    mw_model_file_close(f);
}

static void test_getters_name_key_and_type(void **state)
{
    (void)state;
    mw_model_file *f = open_example(3);
    int64_t i64 = 77;
    uint64_t u64 = 77;
    double f64 = 77;
    int truth = 77;
    mw_bytes bytes = {0};
    const mw_model_value *array = NULL;
    ASSERT_SAYS_PATH(mw_model_file_i64(f, "a.u64", &i64), MW_ERR_FORMAT,
                     "key 'a.u64' of '%s' is 18446744073709551615, too large for an int64", path);
    ASSERT_SAYS_PATH(mw_model_file_u64(f, "a.i16", &u64), MW_ERR_FORMAT,
                     "key 'a.i16' of '%s' is -300 and should not be negative", path);
    ASSERT_SAYS_PATH(mw_model_file_i64(f, "a.f32", &i64), MW_ERR_FORMAT,
                     "key 'a.f32' of '%s' should be an integer and is f32", path);
    ASSERT_SAYS_PATH(mw_model_file_u64(f, "a.bool", &u64), MW_ERR_FORMAT,
                     "key 'a.bool' of '%s' should be an integer and is bool", path);
    ASSERT_SAYS_PATH(mw_model_file_f64(f, "a.string", &f64), MW_ERR_FORMAT,
                     "key 'a.string' of '%s' should be a number and is string", path);
    ASSERT_SAYS_PATH(mw_model_file_bool(f, "a.u8", &truth), MW_ERR_FORMAT,
                     "key 'a.u8' of '%s' should be a bool and is u8", path);
    ASSERT_SAYS_PATH(mw_model_file_string(f, "tokens", &bytes), MW_ERR_FORMAT,
                     "key 'tokens' of '%s' should be a string and is an array of string", path);
    ASSERT_SAYS_PATH(mw_model_file_array(f, "types", MW_VALUE_F32, &array), MW_ERR_FORMAT,
                     "key 'types' of '%s' should be an array of f32 and is an array of i32", path);
    ASSERT_SAYS_PATH(mw_model_file_array(f, "a.i32", MW_VALUE_I32, &array), MW_ERR_FORMAT,
                     "key 'a.i32' of '%s' should be an array of i32 and is i32", path);
    ASSERT_SAYS_PATH(mw_model_file_i64(f, "a.u33", &i64), MW_ERR_FORMAT, "'%s' has no key 'a.u33'",
                     path);
    assert_string_equal(mw_last_error()->hint, "it has 'a.u32'");
    ASSERT_SAYS_PATH(mw_model_file_i64(f, "llama.block_count", &i64), MW_ERR_FORMAT,
                     "'%s' has no key 'llama.block_count'", path);
    assert_string_equal(mw_last_error()->hint,
                        "it has 15 keys, of other names: is it a model of this kind?");
    assert_true(i64 == 77 && u64 == 77 && f64 == 77.0 && truth == 77 && !bytes.at && !array);
    mw_model_file_close(f);
}

static void test_tensors_have_shapes_out_first(void **state)
{
    (void)state;
    mw_model_file *f = open_example(3);
    assert_int_equal(mw_model_file_tensors(f), 4);
    const mw_model_tensor *norm = mw_model_file_tensor(f, 0);
    const mw_model_tensor *weight = mw_model_file_tensor_find(f, "weight");
    const mw_model_tensor *scalar = mw_model_file_tensor_find(f, "scalar");
    const mw_model_tensor *none = mw_model_file_tensor(f, 3);
    assert_string_equal(norm->name, "norm");
    assert_true(norm->ndim == 1 && norm->shape[0] == 5 && norm->bytes == 20);
    assert_string_equal(weight->type, "Q4_1");
    assert_true(weight->ndim == 2 && weight->shape[0] == 3 && weight->shape[1] == 32);
    assert_true(weight->bytes == 60 && norm->offset == weight->offset + 64);
    assert_true(weight->offset % 32 == 0 && scalar->offset == weight->offset + 96);
    assert_true(scalar->ndim == 0 && scalar->bytes == 8);
    assert_true(none->ndim == 3 && none->shape[0] == 7 && none->shape[1] == 0);
    assert_true(none->shape[2] == 4 && none->bytes == 0);
    assert_null(mw_model_file_tensor(f, 4));
    assert_null(mw_model_file_tensor(f, -1));
    assert_null(mw_model_file_tensor_find(f, "Weight"));
    mw_model_file_close(f);
}

static void test_what_a_program_requires(void **state)
{
    (void)state;
    mw_model_file *f = open_example(3);
    const mw_model_tensor *tensor = NULL;
    const int64_t right[] = {3, 32}, any[] = {-1, 32}, wrong[] = {32, -1};
    assert_int_equal(mw_model_file_require(f, "weight", 2, right, &tensor), MW_OK);
    assert_ptr_equal(tensor, mw_model_file_tensor(f, 1));
    assert_int_equal(mw_model_file_require(f, "weight", 2, any, NULL), MW_OK);
    assert_int_equal(mw_model_file_require(f, "scalar", 0, NULL, NULL), MW_OK);
    ASSERT_SAYS_PATH(mw_model_file_require(f, "weight", 2, wrong, &tensor), MW_ERR_FORMAT,
                     "tensor 'weight' of '%s' should be [32, any] and is [3, 32]", path);
    ASSERT_SAYS_PATH(mw_model_file_require(f, "norm", 2, right, &tensor), MW_ERR_FORMAT,
                     "tensor 'norm' of '%s' should be [3, 32] and is [5]", path);
    ASSERT_SAYS_PATH(mw_model_file_require(f, "weigth", 2, right, &tensor), MW_ERR_FORMAT,
                     "'%s' has no tensor 'weigth'", path);
    assert_string_equal(mw_last_error()->hint, "it has 'weight'");
    ASSERT_SAYS_PATH(mw_model_file_require(f, "token_embd.weight", 2, right, &tensor),
                     MW_ERR_FORMAT, "'%s' has no tensor 'token_embd.weight'", path);
    assert_string_equal(mw_last_error()->hint,
                        "it has 4 tensors, of other names: is it a model of this kind?");
    assert_says(mw_model_file_require(f, "norm", 9, right, &tensor), MW_ERR_ARG,
                "tensor 'norm' cannot have 9 dims; 8 is the most");
    mw_model_file_close(f);
}

/* Long enough that it comes in several steps, with names enough to fill the maps. */
static void test_a_long_header(void **state)
{
    (void)state;
    enum { KEYS = 300, TENSORS = 1000, TOKENS = 100000 };
    gguf_writer w = {0};
    mw_model_file *f = NULL;
    char name[40];
    put_head(&w, 3, TENSORS, KEYS + 1);
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(name, sizeof name, "key.%d", i);
        put_key(&w, name, 4), put_uint(&w, (uint64_t)i, 4);
    }
    put_array(&w, "tokens", 8, TOKENS);
    for (int i = 0; i < TOKENS; i++) {
        int length = snprintf(name, sizeof name, "token number %d of the vocabulary", i);
        put_string_of(&w, name, (size_t)length);
    }
    for (int i = 0; i < TENSORS; i++) {
        (void)snprintf(name, sizeof name, "blk.%d.weight", i);
        put_tensor(&w, name, 1, (const uint64_t[]){8}, 0, (uint64_t)(TENSORS - 1 - i) * 32);
    }
    put_align(&w, 32);
    put_zeros(&w, (size_t)TENSORS * 32);
    file_write(path, w.at, w.size);
    writer_done(&w);
    assert_int_equal(mw_model_file_open(path, &f), MW_OK);
    for (int i = 0; i < KEYS; i++) {
        int64_t got = -1;
        (void)snprintf(name, sizeof name, "key.%d", i);
        assert_int_equal(mw_model_file_i64(f, name, &got), MW_OK);
        assert_int_equal(got, i);
    }
    const mw_model_value *tokens = NULL;
    assert_int_equal(mw_model_file_array(f, "tokens", MW_VALUE_STRING, &tokens), MW_OK);
    for (int i = 0; i < TOKENS; i += 997) {
        mw_bytes got = {0};
        int length = snprintf(name, sizeof name, "token number %d of the vocabulary", i);
        assert_int_equal(mw_model_value_string(tokens, i, &got), MW_OK);
        assert_int_equal(got.length, length);
        assert_memory_equal(got.at, name, (size_t)length);
    }
    for (int i = 0; i < TENSORS; i++) {
        (void)snprintf(name, sizeof name, "blk.%d.weight", i);
        assert_ptr_equal(mw_model_file_tensor_find(f, name), mw_model_file_tensor(f, i));
    }
    mw_model_file_close(f);
}

static void test_an_alignment_of_its_own(void **state)
{
    (void)state;
    for (uint32_t alignment = 1; alignment <= 4096; alignment *= 64) {
        gguf_writer w = {0};
        mw_model_file *f = NULL;
        put_head(&w, 3, 2, 1);
        put_key(&w, "general.alignment", 4), put_uint(&w, alignment, 4);
        put_tensor(&w, "a", 1, (const uint64_t[]){1}, 24, 0);
        put_tensor(&w, "b", 1, (const uint64_t[]){3}, 0, alignment);
        put_align(&w, alignment);
        size_t start = w.size;
        put_uint(&w, 42, 1), put_align(&w, alignment);
        put_f32(&w, 1), put_f32(&w, 2), put_f32(&w, 3);
        float got[3] = {0};
        assert_int_equal(mw__model_file_from_memory(w.at, (int64_t)w.size, "memory", &f), MW_OK);
        assert_int_equal(mw_model_file_tensor(f, 1)->offset, start + alignment);
        assert_int_equal(mw_model_file_read(f, mw_model_file_tensor(f, 1), NULL, MW_DTYPE_f32, got),
                         MW_OK);
        assert_true(got[0] == 1 && got[1] == 2 && got[2] == 3);
        mw_model_file_close(f);
        writer_done(&w);
    }
}

static mw_status open_and_read(void)
{
    mw_model_file *f = NULL;
    float to[96];
    MW_TRY(mw_model_file_open(path, &f));
    mw_status status = mw_model_file_read(f, mw_model_file_tensor(f, 1), NULL, MW_DTYPE_f32, to);
    mw_model_file_close(f);
    return status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    mw_model_file_close(open_example(3));
    mw_fault_allocator fault;
    int64_t fail_at = 0;
    mw_status status;
    do {
        mw_fault_allocator_init(&fault, ++fail_at, 0);
        mw_allocator_use(&fault.allocator);
        status = open_and_read();
        mw_allocator_use(NULL);
        assert_int_equal(fault.live, 0);
        if (status != MW_OK) assert_says(status, MW_ERR_NOMEM, "out of memory");
    } while (status != MW_OK);
    assert_true(fail_at > 8 && fault.count < fail_at);
}

static void test_closing_nothing_is_fine(void **state)
{
    (void)state;
    mw_model_file_close(NULL);
    mw_model_file *f = NULL;
    assert_says(mw_model_file_open(NULL, &f), MW_ERR_ARG,
                "mw_model_file_open needs a path and a place");
    assert_null(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_every_type),
        cmocka_unit_test(test_arrays_by_index),
        cmocka_unit_test(test_keys_are_listed_in_order),
        cmocka_unit_test(test_getters_name_key_and_type),
        cmocka_unit_test(test_tensors_have_shapes_out_first),
        cmocka_unit_test(test_what_a_program_requires),
        cmocka_unit_test(test_a_long_header),
        cmocka_unit_test(test_an_alignment_of_its_own),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_closing_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
