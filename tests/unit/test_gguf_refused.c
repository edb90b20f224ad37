/* Files that must be refused: each kind of damage, absurd sizes, other formats, and what is no file
 * at all. Each with its sentence, without a leak, and without taking memory that the file does not
 * justify. Then every truncation and many random changes of a good file. */
#include "gguf_writer.h"
#include "io/io.h"

#include <setjmp.h>
#include <sys/stat.h>

#include <cmocka.h>

static char folder[256], path[300];

static const char again[] = "the file is damaged or its download was not finished: fetch it again";

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
    (void)unlink(path);
    return rmdir(folder) == 0 ? 0 : -1;
}

/* `says` holds one %s: the path. hint NULL: none is wanted. */
static void check_error(mw_status status, mw_status code, const char *says, const char *hint)
{
    char wanted[1200];
    const char *at = strstr(says, "%s");
    assert_non_null(at);
    (void)snprintf(wanted, sizeof wanted, "%.*s%s%s", (int)(at - says), says, path, at + 2);
    assert_string_equal(mw_last_error()->says, wanted);
    assert_int_equal(status, code);
    assert_string_equal(mw_last_error()->hint, hint ? hint : "");
}

/* Writes the bytes to a file and opens it; also opens them in memory. Ends the writer. */
static void refuse(gguf_writer *w, const char *says, const char *hint)
{
    mw_fault_allocator fault;
    file_write(path, w->at, w->size);
    for (int memory = 0; memory < 2; memory++) {
        mw_model_file *file = NULL;
        mw_fault_allocator_init(&fault, 0, 0);
        mw_allocator_use(&fault.allocator);
        mw_status status = memory ? mw__model_file_from_memory(w->at, (int64_t)w->size, path, &file)
                                  : mw_model_file_open(path, &file);
        mw_allocator_use(NULL);
        check_error(status, MW_ERR_FORMAT, says, hint);
        assert_null(file);
        assert_int_equal(fault.live, 0);
        if (fault.peak > 64 * 1024) fail_msg("took %lld bytes", (long long)fault.peak);
    }
    writer_done(w);
}

static void test_versions(void **state)
{
    (void)state;
    gguf_writer w = {0};
    put_head(&w, 99, 0, 0);
    refuse(&w, "'%s' has GGUF version 99",
           "versions 2 and 3 can be read: convert the model again with a tool of today");
    put_head(&w, 1, 0, 0);
    refuse(&w, "'%s' has GGUF version 1",
           "versions 2 and 3 can be read: convert the model again with a tool of today");
    put_head(&w, 3u << 24, 0, 0);
    refuse(&w, "'%s' is a big-endian GGUF file", "use the little-endian file of this model");
    put(&w, "GGUF", 4);
    refuse(&w, "'%s' ends inside its header: the version at byte 4 takes 4 bytes, and 0 are left",
           again);
    refuse(&w, "'%s' is empty",
           "the download was not finished, or the disk was full: fetch it again");
}

static void test_absurd_sizes_take_no_memory(void **state)
{
    (void)state;
    const uint64_t huge = 1ull << 60;
    gguf_writer w = {0};
    put_head(&w, 3, huge, 0);
    refuse(&w,
           "'%s' says that its number of tensors is 1152921504606846976, and it has only 24 bytes",
           again);
    put_head(&w, 3, 0, huge);
    refuse(&w, "'%s' says that its number of keys is 1152921504606846976, and it has only 24 bytes",
           again);
    put_head(&w, 3, 0, 1), put_uint(&w, huge, 8), put_zeros(&w, 8);
    refuse(&w,
           "'%s' ends inside its header: a key at byte 32 takes 1152921504606846976 bytes, and 8 "
           "are left",
           again);
    put_head(&w, 3, 0, 1), put_key(&w, "k", 8), put_uint(&w, UINT64_MAX, 8);
    refuse(&w,
           "'%s' ends inside its header: a string at byte 45 takes 18446744073709551615 bytes, "
           "and 0 are left",
           again);
    for (uint32_t type = 0; type <= 8; type += 4) {
        put_head(&w, 3, 0, 1), put_array(&w, "k", type, huge), put_zeros(&w, 16);
        refuse(&w,
               "'%s': key 'k' says that it has 1152921504606846976 elements, and 16 bytes are left "
               "in the file",
               again);
    }
    put_head(&w, 3, 1, 0);
    put_tensor(&w, "t", 2, (const uint64_t[]){1, huge}, 1, 0), put_align(&w, 32);
    refuse(&w, "'%s': tensor 't' has too many elements (a dim of 1152921504606846976)", NULL);
}

static void test_values(void **state)
{
    (void)state;
    gguf_writer w = {0};
    put_head(&w, 3, 0, 1), put_key(&w, "k", 13), put_zeros(&w, 8);
    refuse(&w, "'%s': key 'k' has values of type 13, which does not exist",
           "types 0 to 8 and 10 to 12 can be read, alone or in one array");
    put_head(&w, 3, 0, 1), put_array(&w, "k", 77, 0);
    refuse(&w, "'%s': key 'k' has values of type 77, which does not exist",
           "types 0 to 8 and 10 to 12 can be read, alone or in one array");
    put_head(&w, 3, 0, 1), put_array(&w, "k", 9, 1), put_zeros(&w, 64);
    refuse(&w, "'%s': key 'k' has values of type 9, arrays inside an array",
           "types 0 to 8 and 10 to 12 can be read, alone or in one array");
    put_head(&w, 3, 0, 1), put_key(&w, "k", 7), put_uint(&w, 2, 1);
    refuse(&w, "'%s': the bool at byte 37, of key 'k', is 2", NULL);
    put_head(&w, 3, 0, 2);
    put_key(&w, "twice", 0), put_uint(&w, 1, 1), put_key(&w, "twice", 0), put_uint(&w, 1, 1);
    refuse(&w, "'%s' has the key 'twice' twice, as number 1 and number 2", NULL);
    put_head(&w, 3, 0, 1), put_key(&w, "", 0), put_uint(&w, 1, 1);
    refuse(&w, "'%s': a key at byte 24 is no text: ''", NULL);
    put_head(&w, 3, 0, 1), put_string_of(&w, "a\0\x1b[2Jb", 7), put_uint(&w, 0, 4);
    put_uint(&w, 1, 1);
    refuse(&w, "'%s': a key at byte 24 is no text: 'a\\x00\\x1b[2Jb'", NULL);
    char longer[121];
    memset(longer, 'x', sizeof longer);
    longer[0] = '\n';
    put_head(&w, 3, 0, 1), put_string_of(&w, longer, sizeof longer), put_zeros(&w, 8);
    refuse(
        &w,
        "'%s': a key at byte 24 is no text: "
        "'\\x0axxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxx...'",
        NULL);
    put_head(&w, 3, 0, 1), put_key(&w, "general.alignment", 4), put_uint(&w, 48, 4);
    refuse(&w, "'%s': general.alignment is 48, no power of two", NULL);
    put_head(&w, 3, 0, 1), put_key(&w, "general.alignment", 4), put_uint(&w, 0, 4);
    refuse(&w, "'%s': general.alignment is 0, no power of two", NULL);
    put_head(&w, 3, 0, 1), put_key(&w, "general.alignment", 8), put_string(&w, "32");
    refuse(&w, "key 'general.alignment' of '%s' should be an integer and is string", NULL);
}

/* A file with one tensor and 64 bytes of data; the header has 24 + 9 + 4 + 8 ndim + 12 bytes. */
static void one_tensor(gguf_writer *w, uint32_t ndim, const uint64_t *dims, uint32_t type,
                       uint64_t offset)
{
    put_head(w, 3, 1, 0);
    put_tensor(w, "t", ndim, dims, type, offset);
    put_align(w, 32);
    put_zeros(w, 64);
}

#define DIMS(...) ((const uint64_t[]){__VA_ARGS__})

static void test_tensors(void **state)
{
    (void)state;
    static const char types[] =
        "use a file with tensors of these types: F32, F16, Q4_0, Q4_1, Q5_0, "
        "Q5_1, Q8_0, I8, I16, I32, I64, F64, BF16";
    gguf_writer w = {0};
    one_tensor(&w, 9, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1), 0, 0);
    refuse(&w, "'%s': tensor 't' has 9 dims; 8 is the most", NULL);
    one_tensor(&w, 2, DIMS(1ull << 40, 1ull << 40), 0, 0);
    refuse(&w, "'%s': tensor 't' has too many elements (a dim of 1099511627776)", NULL);
    one_tensor(&w, 1, DIMS(1ull << 63), 24, 0);
    refuse(&w, "'%s': tensor 't' has too many elements (a dim of 9223372036854775808)", NULL);
    one_tensor(&w, 3, DIMS(1ull << 40, 0, 1ull << 40), 0, 0);
    refuse(&w, "'%s': tensor 't' has too many elements (a dim of 1099511627776)", NULL);
    one_tensor(&w, 1, DIMS(4), 99, 0);
    refuse(&w, "'%s': tensor 't' is stored as type 99, which is not known", types);
    one_tensor(&w, 1, DIMS(4), 4, 0); /* withdrawn */
    refuse(&w, "'%s': tensor 't' is stored as type 4, which is not known", types);
    one_tensor(&w, 2, DIMS(48, 2), 2, 0);
    refuse(&w, "'%s': tensor 't' has rows of 48 elements, and Q4_0 has blocks of 32", NULL);
    one_tensor(&w, 0, NULL, 8, 0);
    refuse(&w, "'%s': tensor 't' has rows of 1 elements, and Q8_0 has blocks of 32", NULL);
    one_tensor(&w, 1, DIMS(4), 0, 8);
    refuse(&w, "'%s': tensor 't' begins at byte 8 of the data, not a multiple of the alignment, 32",
           NULL);
    one_tensor(&w, 1, DIMS(4), 0, 1ull << 60);
    refuse(
        &w,
        "'%s': tensor 't' begins at byte 1152921504606846976 of the data, and the whole file has "
        "128",
        again);
    one_tensor(&w, 1, DIMS(17), 0, 0);
    refuse(&w, "'%s': tensor 't' takes 68 bytes from byte 64, and the file has 128", again);
    one_tensor(&w, 1, DIMS(1), 0, 64);
    refuse(&w, "'%s': tensor 't' takes 4 bytes from byte 128, and the file has 128", again);
    one_tensor(&w, 1, DIMS(1), 0, 128);
    refuse(&w, "'%s': tensor 't' takes 4 bytes from byte 192, and the file has 128", again);
    put_head(&w, 3, 2, 0);
    put_tensor(&w, "t", 1, DIMS(4), 0, 0), put_tensor(&w, "t", 1, DIMS(4), 0, 32);
    put_align(&w, 32), put_zeros(&w, 64);
    refuse(&w, "'%s' has the tensor 't' twice, as number 1 and number 2", NULL);
    put_head(&w, 3, 2, 0);
    put_tensor(&w, "long", 1, DIMS(12), 0, 0), put_tensor(&w, "late", 1, DIMS(4), 0, 32);
    put_align(&w, 32), put_zeros(&w, 64);
    refuse(&w,
           "'%s': tensors 'long' and 'late' overlap: one ends at byte 144, the other begins at 128",
           NULL);
    put_head(&w, 3, 2, 0);
    put_tensor(&w, "late", 1, DIMS(4), 0, 32), put_tensor(&w, "long", 1, DIMS(12), 0, 0);
    put_align(&w, 32), put_zeros(&w, 64);
    refuse(&w,
           "'%s': tensors 'long' and 'late' overlap: one ends at byte 144, the other begins at 128",
           NULL);
    /* Between the two stands one whose size is not known. */
    put_head(&w, 3, 3, 0);
    put_tensor(&w, "long", 1, DIMS(12), 0, 0), put_tensor(&w, "unsized", 1, DIMS(64), 40, 32);
    put_tensor(&w, "late", 1, DIMS(4), 0, 32);
    put_align(&w, 32), put_zeros(&w, 64);
    refuse(&w,
           "'%s': tensors 'long' and 'late' overlap: one ends at byte 208, the other begins at 192",
           NULL);
}

static void test_a_header_beyond_all_models(void **state)
{
    (void)state;
    gguf_writer w = {0};
    put_head(&w, 3, 0, 1), put_array(&w, "k", 0, 300 << 20);
    file_write(path, w.at, w.size);
    writer_done(&w);
    assert_int_equal(truncate(path, 400 << 20), 0); /* a hole: takes no room on the disk */
    mw_model_file *file = NULL;
    check_error(mw_model_file_open(path, &file), MW_ERR_FORMAT,
                "the header of '%s' is longer than 256 MiB", NULL);
}

typedef struct foreign_case {
    const char *bytes;
    size_t length;
    const char *what;
    const char *hint;
} foreign_case;

#define BYTES(text) text, sizeof text - 1

static void test_other_formats_are_recognised(void **state)
{
    (void)state;
    static const char convert[] = "convert it to GGUF";
    static const char unpack[] = "unpack it and give the .gguf file inside";
    static const char load[] = "convert the checkpoint to GGUF";
    static const char old[] = "convert it to GGUF: the format has been replaced";
    static const char page[] = "the download went wrong: fetch the file itself, not its page";
    static const foreign_case cases[] = {
        {BYTES("\x0e\0\0\0\0\0\0\0{\"a\":{        }"), "a safetensors file", convert},
        {BYTES("lmgg\0\0\0\0"), "an old ggml file", old},
        {BYTES("fmgg\1\0\0\0"), "an old ggml file (ggmf)", old},
        {BYTES("tjgg\3\0\0\0"), "an old ggml file (ggjt)", old},
        {BYTES("algg\1\0\0\0"), "an old ggml adapter (ggla)", "give the model's own .gguf file"},
        {BYTES("FUGG\0\0\0\3"), "a big-endian GGUF file",
         "use the little-endian file of this model"},
        {BYTES("24ka\1\0\0\0"), "a llama2.c checkpoint (version 1 or 2)", convert},
        {BYTES("\x40\0\0\0\xac\0\0\0\5\0\0\0\x08\0\0\0\4\0\0\0\0\2\0\0\0\2\0\0"),
         "a llama2.c checkpoint (version 0)", convert},
        {BYTES("\xcd\xab\0\x0a\0\0\0\0"), "a distributed-llama model", convert},
        {BYTES("PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0archive/data.pkl"),
         "a PyTorch checkpoint (a zip archive)", load},
        {BYTES("PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0e\0\0\0archive_format"),
         "a torch.export archive (.pt2)", load},
        {BYTES("PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0w.npy"),
         "a NumPy archive (.npz)", convert},
        {BYTES("PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0m.gguf"),
         "a zip archive", unpack},
        {BYTES("PK\3\4"), "a zip archive", unpack},
        {BYTES("\x80\x02}q"), "a Python pickle, perhaps an old PyTorch checkpoint", load},
        {BYTES("\x80\x04\x95\0\0"), "a Python pickle", load},
        {BYTES("\x93NUMPY\1\0"), "a NumPy array", convert},
        {BYTES("\x89HDF\r\n\x1a\n"), "an HDF5 file", convert},
        {BYTES("\x1f\x8b\x08"), "a gzip archive", unpack},
        {BYTES("\x28\xb5\x2f\xfd"), "a zstd archive", unpack},
        {BYTES("\xfd\x37zXZ"), "an xz archive", unpack},
        {BYTES("BZh9"), "a bzip2 archive", unpack},
        {BYTES("7z\xbc\xaf\x27\x1c"), "a 7z archive", unpack},
        {BYTES("\x7f\x45LF\2"), "a program", "give the path of a .gguf file"},
        {BYTES("version https://git-lfs.github.com/spec/v1\n"),
         "a Git LFS pointer, not the file that it stands for",
         "fetch the file itself: git lfs pull"},
        {BYTES("<!DOCTYPE html>"), "a web page", page},
        {BYTES("<html>"), "a web page", page},
        {BYTES("{\n \"architectures\": ["), "a JSON text",
         "give the file with the weights, not the one that describes it"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        gguf_writer w = {0};
        char says[200];
        put(&w, cases[i].bytes, cases[i].length);
        (void)snprintf(says, sizeof says, "'%%s' is not a GGUF file: it seems to be %s",
                       cases[i].what);
        refuse(&w, says, cases[i].hint);
    }
    static const char own[] = "give a .gguf file; one begins with the bytes 'GGUF'";
    gguf_writer w = {0};
    put(&w, "GGU", 3);
    refuse(&w, "'%s' is not a GGUF file: it begins with 'GGU'", own);
    put(&w, "\x01\x02words and more", 16);
    refuse(&w, "'%s' is not a GGUF file: it begins with '\\x01\\x02words '", own);
    /* A length of header that the file does not have, sizes that no checkpoint has. */
    put(&w, "\xff\xff\0\0\0\0\0\0{\"a\":{}}", 16);
    refuse(&w, "'%s' is not a GGUF file: it begins with '\\xff\\xff\\x00\\x00\\x00\\x00\\x00\\x00'",
           own);
    put(&w, "\x40\0\0\0\xac\0\0\0\5\0\0\0\x07\0\0\0\4\0\0\0\0\2\0\0\0\2\0\0", 28);
    refuse(&w, "'%s' is not a GGUF file: it begins with '@\\x00\\x00\\x00\\xac\\x00\\x00\\x00'",
           own);
}

static void test_what_is_no_file(void **state)
{
    (void)state;
    mw_model_file *file = NULL;
    char saved[300];
    memcpy(saved, path, sizeof saved);
    (void)unlink(path);
    static const char wanted[] = "check the path; wanted is a model file, such as model.gguf";
    check_error(mw_model_file_open(path, &file), MW_ERR_IO,
                "cannot open '%s': No such file or directory", wanted);
    static const char at_any[] =
        "save the model to a file and give its path: ranks read their parts "
        "at any place in it";
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)alarm(20); /* a FIFO without a writer must not be waited for */
    check_error(mw_model_file_open(path, &file), MW_ERR_IO,
                "cannot read '%s': it is a FIFO, not a regular file", at_any);
    (void)alarm(0);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s", folder);
    check_error(mw_model_file_open(path, &file), MW_ERR_IO,
                "cannot read '%s': it is a directory, not a regular file",
                "give the path of the .gguf file itself");
    (void)snprintf(path, sizeof path, "/dev/null");
    check_error(mw_model_file_open(path, &file), MW_ERR_IO,
                "cannot read '%s': it is a device, not a regular file", at_any);
    memcpy(path, saved, sizeof path);
    file_write(path, "GGUF", 4);
    size_t length = strlen(path);
    memcpy(path + length, "/x", 3);
    check_error(mw_model_file_open(path, &file), MW_ERR_IO, "cannot open '%s': Not a directory",
                wanted);
    path[length] = 0;
    if (geteuid() != 0) {
        assert_int_equal(chmod(path, 0), 0);
        check_error(mw_model_file_open(path, &file), MW_ERR_IO,
                    "cannot open '%s': Permission denied",
                    "make the file readable for this user (chmod +r)");
    }
    assert_null(file);
}

static void test_a_file_that_shrinks_is_an_error(void **state)
{
    (void)state;
    gguf_writer w = {0};
    mw_model_file *file = NULL;
    float to[16] = {0};
    (void)unlink(path);
    one_tensor(&w, 1, DIMS(16), 0, 0);
    file_write(path, w.at, w.size);
    writer_done(&w);
    assert_int_equal(mw_model_file_open(path, &file), MW_OK);
    assert_int_equal(truncate(path, 100), 0);
    check_error(mw_model_file_read(file, mw_model_file_tensor(file, 0), NULL, MW_DTYPE_f32, to),
                MW_ERR_IO, "'%s' ends at byte 100; it had 128 bytes when it was opened",
                "do not overwrite a model file in use; write a new one and rename it");
    mw_model_file_close(file);
}

/* A good file of many kinds of field, for the two tests below. */
static void write_good(gguf_writer *w)
{
    put_head(w, 3, 3, 5);
    put_key(w, "general.alignment", 4), put_uint(w, 32, 4);
    put_key(w, "name", 8), put_string(w, "good");
    put_array(w, "tokens", 8, 2), put_string(w, "a"), put_string(w, "bc");
    put_array(w, "flags", 7, 3), put_uint(w, 0x010001, 3);
    put_key(w, "eps", 6), put_f32(w, 1e-5f);
    put_tensor(w, "a", 2, DIMS(32, 2), 3, 0);
    put_tensor(w, "b", 1, DIMS(6), 0, 64);
    put_tensor(w, "c", 1, DIMS(32), 8, 96);
    put_align(w, 32);
    put_zeros(w, 96 + 34);
}

static mw_status open_all(const uint8_t *bytes, size_t size, int64_t *ret_peak)
{
    mw_fault_allocator fault;
    mw_model_file *file = NULL;
    mw_fault_allocator_init(&fault, 0, 0);
    mw_allocator_use(&fault.allocator);
    mw_error_clear();
    /* An exact copy, so that a sanitizer sees a read beyond the end. */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    if (size > 0) memcpy(copy, bytes, size);
    mw_status status = mw__model_file_from_memory(copy, (int64_t)size, "memory", &file);
    for (int64_t i = 0; status == MW_OK && i < mw_model_file_tensors(file); i++) {
        float to[64];
        const mw_model_tensor *tensor = mw_model_file_tensor(file, i);
        if (mw_model_box_count(tensor, NULL) > 64) continue;
        mw_status read = mw_model_file_read(file, tensor, NULL, MW_DTYPE_f32, to);
        if (read != MW_OK) assert_int_equal(read, MW_ERR_FORMAT); /* a type that can't be read */
    }
    mw_model_file_close(file);
    free(copy);
    mw_allocator_use(NULL);
    assert_int_equal(fault.live, 0);
    *ret_peak = fault.peak;
    return status;
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    gguf_writer w = {0};
    int64_t peak;
    write_good(&w);
    assert_int_equal(open_all(w.at, w.size, &peak), MW_OK);
    for (size_t size = 0; size < w.size; size++) {
        assert_int_equal(open_all(w.at, size, &peak), MW_ERR_FORMAT);
        assert_true(mw_last_error()->says[0]);
    }
    writer_done(&w);
}

static void test_random_damage_never_takes_memory(void **state)
{
    (void)state;
    uint64_t seed = 20240611;
    print_message("seed %llu\n", (unsigned long long)seed);
    gguf_writer w = {0};
    int refused = 0;
    write_good(&w);
    for (int round = 0; round < 20000; round++) {
        uint8_t saved[8];
        size_t place[8];
        int changes = 1 + round % 8;
        int64_t peak;
        for (int i = 0; i < changes; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            place[i] = (seed >> 33) % w.size;
            saved[i] = w.at[place[i]];
            w.at[place[i]] =
                (uint8_t)(round & 1 ? seed >> 25 : w.at[place[i]] ^ 1u << (seed >> 61));
        }
        mw_status status = open_all(w.at, w.size, &peak);
        if (status != MW_OK) {
            refused++;
            assert_int_equal(status, MW_ERR_FORMAT);
            assert_true(mw_last_error()->says[0]);
        }
        assert_true(peak < 64 * 1024);
        for (int i = changes - 1; i >= 0; i--)
            w.at[place[i]] = saved[i];
    }
    assert_true(refused > 1000 && refused < 20000);
    writer_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_absurd_sizes_take_no_memory),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_a_header_beyond_all_models),
        cmocka_unit_test(test_other_formats_are_recognised),
        cmocka_unit_test(test_what_is_no_file),
        cmocka_unit_test(test_a_file_that_shrinks_is_an_error),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_random_damage_never_takes_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
