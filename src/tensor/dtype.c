/* The dtype table and what follows from it. */
#include "tensor/tensor.h"

typedef struct dtype_row {
    const char *name, *torch, *other;
    int64_t size;
    mw_dtype_kind kind;
} dtype_row;

static const dtype_row rows[MW_DTYPE_END] = {[MW_DTYPE_NONE] = {"?", "?", "", 0, MW_KIND_FLOAT},
#define X(name, value, bytes, kind, torch, other) \
    [MW_DTYPE_##name] = {#name, torch, other, bytes, MW_KIND_##kind},
                                             MW_DTYPE_MAP(X)
#undef X
};

static const dtype_row *row_of(mw_dtype dtype)
{
    return &rows[dtype > MW_DTYPE_NONE && dtype < MW_DTYPE_END ? dtype : MW_DTYPE_NONE];
}

const char *mw_dtype_name(mw_dtype dtype)
{
    return row_of(dtype)->name;
}

const char *mw_dtype_torch_name(mw_dtype dtype)
{
    return row_of(dtype)->torch;
}

int64_t mw_dtype_size(mw_dtype dtype)
{
    return row_of(dtype)->size;
}

mw_dtype_kind mw_dtype_kind_of(mw_dtype dtype)
{
    return row_of(dtype)->kind;
}

static bool is_word(const char *word, const char *text, int length)
{
    return (int)strlen(word) == length && memcmp(word, text, (size_t)length) == 0;
}

static bool in_words(const char *words, const char *text, int length)
{
    while (*words) {
        int n = (int)strcspn(words, " ");
        if (n == length && memcmp(words, text, (size_t)n) == 0) return true;
        words += n + (words[n] == ' ');
    }
    return false;
}

mw_dtype mw_dtype_read(const char *text, int length)
{
    if (length <= 0) return MW_DTYPE_NONE;
    for (int d = MW_DTYPE_NONE + 1; d < MW_DTYPE_END; d++)
        if (is_word(rows[d].name, text, length) || is_word(rows[d].torch, text, length) ||
            in_words(rows[d].other, text, length))
            return (mw_dtype)d;
    return MW_DTYPE_NONE;
}

mw_dtype mw_dtype_promote(mw_dtype a, mw_dtype b)
{
    if (a == b || b == MW_DTYPE_NONE) return a;
    if (a == MW_DTYPE_NONE) return b;
    mw_dtype low = MW_MIN(a, b), high = MW_MAX(a, b);
    if (row_of(low)->kind == row_of(high)->kind) {
        if (low == MW_DTYPE_f16 && high == MW_DTYPE_bf16) return MW_DTYPE_f32;
        if (low == MW_DTYPE_u8 && high == MW_DTYPE_i8) return MW_DTYPE_i16;
    }
    return high;
}
