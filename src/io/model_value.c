/* The values of a model file, read out of the header when asked for. Integers of every width come
 * as int64 or uint64, checked; numbers come as double; nothing else is converted. */
#include "io/io.h"

#include <inttypes.h>

const char *mw_value_type_name(mw_value_type type)
{
    switch (type) {
#define X(name, code, bytes, text) \
    case MW_VALUE_##name:          \
        return text;
        MW_VALUE_MAP(X)
#undef X
    }
    return "?";
}

static int type_bytes(mw_value_type type)
{
    switch (type) {
#define X(name, code, bytes, text) \
    case MW_VALUE_##name:          \
        return bytes;
        MW_VALUE_MAP(X)
#undef X
    }
    return 0;
}

static const char *path_of(const mw_model_value *value)
{
    return value->file->source.path;
}

static mw_status check_index(const mw_model_value *value, int64_t index)
{
    if (index >= 0 && index < value->count) return MW_OK;
    return MW_FAIL(MW_ERR_ARG, "key '%s' of '%s' has %" PRId64 " elements, not one number %" PRId64,
                   value->key, path_of(value), value->count, index);
}

static mw_status type_fail(const mw_model_value *value, const char *wanted)
{
    return MW_FAIL(MW_ERR_FORMAT, "key '%s' of '%s' should be %s and is %s%s", value->key,
                   path_of(value), wanted, value->is_array ? "an array of " : "",
                   mw_value_type_name(value->type));
}

/* The bits of element `index`, little-endian in the file. */
static uint64_t bits_of(const mw_model_value *value, int64_t index)
{
    int bytes = type_bytes(value->type);
    const uint8_t *at = value->file->head + value->at + index * bytes;
    uint64_t bits = 0;
    for (int i = bytes - 1; i >= 0; i--)
        bits = bits << 8 | at[i];
    return bits;
}

/* An integer element in its sign and bits: negative ones as int64, the others as uint64. False
 * where the type is none. */
static bool integer_of(const mw_model_value *value, int64_t index, bool *ret_negative,
                       uint64_t *ret_bits)
{
    uint64_t bits = bits_of(value, index);
    switch (value->type) {
    case MW_VALUE_U8:
    case MW_VALUE_U16:
    case MW_VALUE_U32:
    case MW_VALUE_U64:
        break;
    case MW_VALUE_I8:
        bits = (uint64_t)(int8_t)bits;
        break;
    case MW_VALUE_I16:
        bits = (uint64_t)(int16_t)bits;
        break;
    case MW_VALUE_I32:
        bits = (uint64_t)(int32_t)bits;
        break;
    case MW_VALUE_I64:
        break;
    case MW_VALUE_F32:
    case MW_VALUE_F64:
    case MW_VALUE_BOOL:
    case MW_VALUE_STRING:
    default:
        return false;
    }
    bool is_signed = value->type == MW_VALUE_I8 || value->type == MW_VALUE_I16 ||
                     value->type == MW_VALUE_I32 || value->type == MW_VALUE_I64;
    *ret_negative = is_signed && bits >> 63;
    *ret_bits = bits;
    return true;
}

mw_status mw_model_value_i64(const mw_model_value *value, int64_t index, int64_t *ret)
{
    bool negative;
    uint64_t bits;
    MW_TRY(check_index(value, index));
    if (!integer_of(value, index, &negative, &bits)) return type_fail(value, "an integer");
    if (!negative && bits > INT64_MAX)
        return MW_FAIL(MW_ERR_FORMAT, "key '%s' of '%s' is %" PRIu64 ", too large for an int64",
                       value->key, path_of(value), bits);
    *ret = (int64_t)bits;
    return MW_OK;
}

mw_status mw_model_value_u64(const mw_model_value *value, int64_t index, uint64_t *ret)
{
    bool negative;
    uint64_t bits;
    MW_TRY(check_index(value, index));
    if (!integer_of(value, index, &negative, &bits)) return type_fail(value, "an integer");
    if (negative)
        return MW_FAIL(MW_ERR_FORMAT, "key '%s' of '%s' is %" PRId64 " and should not be negative",
                       value->key, path_of(value), (int64_t)bits);
    *ret = bits;
    return MW_OK;
}

mw_status mw_model_value_f64(const mw_model_value *value, int64_t index, double *ret)
{
    bool negative;
    uint64_t bits;
    MW_TRY(check_index(value, index));
    if (value->type == MW_VALUE_F64) {
        bits = bits_of(value, index);
        memcpy(ret, &bits, sizeof bits);
    } else if (value->type == MW_VALUE_F32) {
        uint32_t low = (uint32_t)bits_of(value, index);
        float number;
        memcpy(&number, &low, sizeof low);
        *ret = (double)number;
    } else if (integer_of(value, index, &negative, &bits)) {
        *ret = negative ? (double)(int64_t)bits : (double)bits;
    } else {
        return type_fail(value, "a number");
    }
    return MW_OK;
}

mw_status mw_model_value_bool(const mw_model_value *value, int64_t index, int *ret)
{
    MW_TRY(check_index(value, index));
    if (value->type != MW_VALUE_BOOL) return type_fail(value, "a bool");
    *ret = (int)bits_of(value, index);
    return MW_OK;
}

mw_status mw_model_value_string(const mw_model_value *value, int64_t index, mw_bytes *ret)
{
    MW_TRY(check_index(value, index));
    if (value->type != MW_VALUE_STRING) return type_fail(value, "a string");
    const mw_model_file *file = value->file;
    int64_t place = value->is_array ? file->string[value->strings + index] : value->at;
    int64_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | file->head[place + i];
    *ret = (mw_bytes){(const char *)file->head + place + 8, length};
    return MW_OK;
}

/* ---- by key -------------------------------------------------------------------------------- */

static mw_status missing(const mw_model_file *file, const char *key)
{
    mw_status status = MW_FAIL(MW_ERR_FORMAT, "'%s' has no key '%s'", file->source.path, key);
    const char *near = mw__nearest(key, file->key, (int)file->nvalue);
    if (near)
        mw__error_hint("it has '%s'", near);
    else
        mw__error_hint("it has %" PRId64 " keys, of other names: is it a model of this kind?",
                       file->nvalue);
    return status;
}

/* The scalar of a key, or NULL and why. */
static const mw_model_value *scalar(const mw_model_file *file, const char *key, const char *wanted,
                                    mw_status *ret_status)
{
    const mw_model_value *value = mw_model_file_find(file, key);
    if (value && !value->is_array) return value;
    *ret_status = value ? type_fail(value, wanted) : missing(file, key);
    return NULL;
}

mw_status mw_model_file_i64(const mw_model_file *file, const char *key, int64_t *ret)
{
    mw_status status = MW_OK;
    const mw_model_value *value = scalar(file, key, "an integer", &status);
    return value ? mw_model_value_i64(value, 0, ret) : status;
}

mw_status mw_model_file_u64(const mw_model_file *file, const char *key, uint64_t *ret)
{
    mw_status status = MW_OK;
    const mw_model_value *value = scalar(file, key, "an integer", &status);
    return value ? mw_model_value_u64(value, 0, ret) : status;
}

mw_status mw_model_file_f64(const mw_model_file *file, const char *key, double *ret)
{
    mw_status status = MW_OK;
    const mw_model_value *value = scalar(file, key, "a number", &status);
    return value ? mw_model_value_f64(value, 0, ret) : status;
}

mw_status mw_model_file_bool(const mw_model_file *file, const char *key, int *ret)
{
    mw_status status = MW_OK;
    const mw_model_value *value = scalar(file, key, "a bool", &status);
    return value ? mw_model_value_bool(value, 0, ret) : status;
}

mw_status mw_model_file_string(const mw_model_file *file, const char *key, mw_bytes *ret)
{
    mw_status status = MW_OK;
    const mw_model_value *value = scalar(file, key, "a string", &status);
    return value ? mw_model_value_string(value, 0, ret) : status;
}

mw_status mw_model_file_array(const mw_model_file *file, const char *key, mw_value_type type,
                              const mw_model_value **ret)
{
    const mw_model_value *value = mw_model_file_find(file, key);
    if (!value) return missing(file, key);
    if (!value->is_array || value->type != type)
        return MW_FAIL(MW_ERR_FORMAT, "key '%s' of '%s' should be an array of %s and is %s%s", key,
                       file->source.path, mw_value_type_name(type),
                       value->is_array ? "an array of " : "", mw_value_type_name(value->type));
    *ret = value;
    return MW_OK;
}
