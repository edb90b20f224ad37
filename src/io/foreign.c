/* What a file is that is no GGUF file, from its first bytes. People pass the wrong file of a
 * folder, an unfinished download or an archive far more often than a damaged one, and then want to
 * hear which it is and what to do.
 *
 * To add a format: a row of `formats`, or a test of its own in `recognise` where the bytes don't
 * say it at a fixed place. */
#include "io/io.h"

typedef struct foreign {
    const char *bytes;
    int length;
    const char *what;
    const char *hint;
} foreign;

#define CONVERT "convert it to GGUF"
#define UNPACK  "unpack it and give the .gguf file inside"
#define LOAD    "convert the checkpoint to GGUF"

/* clang-format off */
static const foreign formats[] = {
    {"lmgg", 4, "an old ggml file", "convert it to GGUF: the format has been replaced"},
    {"fmgg", 4, "an old ggml file (ggmf)", "convert it to GGUF: the format has been replaced"},
    {"tjgg", 4, "an old ggml file (ggjt)", "convert it to GGUF: the format has been replaced"},
    {"algg", 4, "an old ggml adapter (ggla)", "give the model's own .gguf file"},
    {"24ka", 4, "a llama2.c checkpoint (version 1 or 2)", CONVERT},
    {"\xcd\xab\x00\x0a", 4, "a distributed-llama model", CONVERT},
    {"\x80\x02", 2, "a Python pickle, perhaps an old PyTorch checkpoint", LOAD},
    {"\x80\x04\x95", 3, "a Python pickle", LOAD},
    {"\x93NUMPY", 6, "a NumPy array", CONVERT},
    {"\x89HDF", 4, "an HDF5 file", CONVERT},
    {"\x1f\x8b", 2, "a gzip archive", UNPACK},
    {"\x28\xb5\x2f\xfd", 4, "a zstd archive", UNPACK},
    {"\xfd" "7zXZ", 5, "an xz archive", UNPACK},
    {"BZh", 3, "a bzip2 archive", UNPACK},
    {"7z\xbc\xaf", 4, "a 7z archive", UNPACK},
    {"\x7f" "ELF", 4, "a program", "give the path of a .gguf file"},
    {"version https://git-lfs", 23, "a Git LFS pointer, not the file that it stands for",
     "fetch the file itself: git lfs pull"},
    {"<!DOCTYPE", 9, "a web page", "the download went wrong: fetch the file itself, not its page"},
    {"<html", 5, "a web page", "the download went wrong: fetch the file itself, not its page"},
};
/* clang-format on */

static uint64_t little(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static bool contains(const uint8_t *bytes, int64_t count, const char *part)
{
    return memmem(bytes, (size_t)count, part, strlen(part)) != NULL;
}

/* A zip archive begins with its first entry: signature, 26 bytes of facts, the name. */
static foreign zip_kind(const uint8_t *first, int64_t count)
{
    int64_t length = count >= 30 ? (int64_t)little(first + 26, 2) : 0;
    length = MW_MAX(MW_MIN(length, count - 30), 0);
    const uint8_t *name = first + MW_MIN(count, 30);
    if (contains(name, length, "data.pkl"))
        return (foreign){.what = "a PyTorch checkpoint (a zip archive)", .hint = LOAD};
    if (contains(name, length, ".npy"))
        return (foreign){.what = "a NumPy archive (.npz)", .hint = CONVERT};
    if (contains(name, length, "archive_format"))
        return (foreign){.what = "a torch.export archive (.pt2)", .hint = LOAD};
    return (foreign){.what = "a zip archive", .hint = UNPACK};
}

/* A safetensors file begins with the length of its JSON header, then the header. */
static bool is_safetensors(const mw__source *source, const uint8_t *first, int64_t count)
{
    if (count < 10 || first[8] != '{') return false;
    uint64_t length = little(first, 8);
    return length >= 2 && length <= (uint64_t)source->size - 8;
}

/* A llama2.c checkpoint of version 0 has no magic: seven sizes, then f32 weights. */
static bool is_llama2c(const uint8_t *first, int64_t count)
{
    if (count < 28) return false;
    int64_t size[7];
    for (int i = 0; i < 7; i++)
        size[i] = (int32_t)little(first + (size_t)i * 4, 4);
    int64_t dim = size[0], layers = size[2], heads = size[3], kv_heads = size[4];
    if (size[5] < 0) size[5] = -size[5];
    for (int i = 0; i < 7; i++)
        if (size[i] <= 0 || size[i] > 1 << 22) return false;
    return layers <= 1024 && heads <= dim && dim % heads == 0 && heads % kv_heads == 0;
}

static foreign recognise(const mw__source *source, const uint8_t *first, int64_t count)
{
    for (int i = 0; i < MW_COUNT(formats); i++)
        if (count >= formats[i].length &&
            memcmp(first, formats[i].bytes, (size_t)formats[i].length) == 0)
            return formats[i];
    if (count >= 4 && memcmp(first, "PK\3\4", 4) == 0) return zip_kind(first, count);
    if (count >= 4 && memcmp(first, "FUGG", 4) == 0)
        return (foreign){.what = "a big-endian GGUF file",
                         .hint = "use the little-endian file of this model"};
    if (is_safetensors(source, first, count))
        return (foreign){.what = "a safetensors file", .hint = CONVERT};
    if (count > 0 && first[0] == '{')
        return (foreign){.what = "a JSON text",
                         .hint = "give the file with the weights, not the one that describes it"};
    if (is_llama2c(first, count))
        return (foreign){.what = "a llama2.c checkpoint (version 0)", .hint = CONVERT};
    return (foreign){.what = NULL, .hint = "give a .gguf file; one begins with the bytes 'GGUF'"};
}

mw_status mw__foreign_fail(const mw__source *source, const uint8_t *first, int64_t count)
{
    foreign found = recognise(source, first, count);
    mw_status status;
    if (found.what) {
        status = MW_FAIL(MW_ERR_FORMAT, "'%s' is not a GGUF file: it seems to be %s", source->path,
                         found.what);
    } else {
        char text[MW__QUOTE];
        status = MW_FAIL(MW_ERR_FORMAT, "'%s' is not a GGUF file: it begins with '%s'",
                         source->path, mw__quote(first, MW_MIN(count, 8), text));
    }
    mw__error_hint("%s", found.hint);
    return status;
}
