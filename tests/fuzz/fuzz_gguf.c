/* Fuzzes the reader of GGUF files, from memory: the header, every value, and a part of every tensor
 * that is small enough. What does not open must leave a sentence; what opens must hold together:
 * its keys and names are found, its tensors lie inside the file, a part is that part of the whole.
 */
#include "io/io.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 4096 }; /* elements of a tensor that is read */

static void must(int holds)
{
    if (!holds) abort();
}

static void check_value(const mw_model_file *file, const mw_model_value *value)
{
    must(mw_model_file_find(file, value->key) == value);
    must(value->count >= 0 && mw_value_type_name(value->type)[0] != '?');
    for (int64_t i = 0; i < value->count && i < MOST; i++) {
        int64_t i64 = 0;
        uint64_t u64 = 0;
        double f64;
        mw_bytes bytes;
        int truth, got_i64 = mw_model_value_i64(value, i, &i64) == MW_OK;
        int got_u64 = mw_model_value_u64(value, i, &u64) == MW_OK;
        must(!got_i64 || !got_u64 || (uint64_t)i64 == u64);
        must((mw_model_value_string(value, i, &bytes) == MW_OK) ==
             (value->type == MW_VALUE_STRING));
        must((mw_model_value_bool(value, i, &truth) == MW_OK) == (value->type == MW_VALUE_BOOL));
        must((mw_model_value_f64(value, i, &f64) == MW_OK) ==
             (value->type != MW_VALUE_STRING && value->type != MW_VALUE_BOOL));
        must(value->type != MW_VALUE_STRING || bytes.length >= 0);
        for (int64_t k = 0; value->type == MW_VALUE_STRING && k < bytes.length; k++)
            (void)*(const volatile char *)&bytes.at[k]; /* there, or the sanitizer says */
    }
}

/* Every second position of the last dim, against the whole. */
static void check_tensor(const mw_model_file *file, const mw_model_tensor *tensor, int64_t size)
{
    static float whole[MOST], part[MOST];
    static mw_range ranges[MOST];
    must(mw_model_file_tensor_find(file, tensor->name) == tensor);
    must(tensor->ndim >= 0 && tensor->ndim <= MW_LAYOUT_DIMS);
    must(tensor->bytes <= 0 || (tensor->offset >= 0 && tensor->offset <= size - tensor->bytes));
    int64_t count = mw_model_box_count(tensor, NULL);
    if (count > MOST || tensor->ndim == 0) return;
    mw_status status = mw_model_file_read(file, tensor, NULL, MW_DTYPE_f32, whole);
    must(status == MW_OK || status == MW_ERR_FORMAT);
    if (status != MW_OK || count == 0) return;
    int64_t last = tensor->shape[tensor->ndim - 1], n = 0;
    for (int64_t at = 0; at < last; at += 2)
        ranges[n++] = (mw_range){at, at + 1};
    mw_model_box box = {.dim = {{NULL, 0}}};
    box.dim[tensor->ndim - 1].range = ranges;
    box.dim[tensor->ndim - 1].count = n;
    must(mw_model_box_count(tensor, &box) == count / last * n);
    must(mw_model_file_read(file, tensor, &box, MW_DTYPE_f32, part) == MW_OK);
    for (int64_t i = 0; i < count / last * n; i++)
        must(memcmp(&part[i], &whole[i / n * last + i % n * 2], sizeof *part) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mw_model_file *file = NULL;
    mw_error_clear();
    if (mw__model_file_from_memory(data, (int64_t)size, "input", &file) != MW_OK) {
        must(!file && mw_last_error()->says[0] != '\0');
        return 0;
    }
    for (int64_t i = 0; i < mw_model_file_values(file); i++)
        check_value(file, mw_model_file_value(file, i));
    for (int64_t i = 0; i < mw_model_file_tensors(file); i++)
        check_tensor(file, mw_model_file_tensor(file, i), (int64_t)size);
    mw_model_file_close(file);
    return 0;
}
