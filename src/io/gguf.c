/* The header of a GGUF file: magic, version, counts, then keys with values, then the tensors'
 * names, shapes, types and offsets, then, at the next multiple of the alignment, the data.
 *
 * Nothing in a file is believed. A count or length is compared with the bytes that are left before
 * anything is allocated for it, so that memory stays in proportion to what the file really holds;
 * the header comes in as the parser reaches it. Places in it are kept as offsets, because it moves
 * while it grows. */
#include "io/io.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    FIRST_READ = 64,          /* enough to tell what a file is */
    STEP = 1 << 20,           /* least that is read at once after that */
    HEAD_MOST = 256 << 20,    /* no model comes near: vocabularies take a few MiB */
    VALUE_LEAST = 8 + 4 + 1,  /* bytes of the smallest key with value, */
    TENSOR_LEAST = 8 + 4 + 8, /* and of the smallest tensor */
    ALIGNMENT_USUAL = 32      /* where "general.alignment" is not given */
};

typedef struct parser {
    mw_model_file *file;
    const mw__source *source;
    int64_t at; /* next byte of the header */
} parser;

static uint64_t little(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static int64_t left(const parser *p)
{
    return p->source->size - p->at;
}

static mw_status truncated(const parser *p, uint64_t size, const char *what)
{
    mw_status status = MW_FAIL(MW_ERR_FORMAT,
                               "'%s' ends inside its header: %s at byte %" PRId64 " takes %" PRIu64
                               " bytes, and %" PRId64 " are left",
                               p->source->path, what, p->at, size, left(p));
    mw__error_hint("the file is damaged or its download was not finished: fetch it again");
    return status;
}

/* Brings the header in up to byte `end` (inside the file). */
static mw_status load(parser *p, int64_t end)
{
    mw_model_file *file = p->file;
    if (end > HEAD_MOST) {
        return MW_FAIL(MW_ERR_FORMAT, "the header of '%s' is longer than %d MiB", p->source->path,
                       HEAD_MOST >> 20);
    }
    if (end <= file->head_size) return MW_OK;
    int64_t want = MW_MIN(MW_MAX(end, file->head_size + STEP), p->source->size);
    MW_TRY(mw__grow(&file->head, &file->head_cap, want, 1));
    MW_TRY(mw__source_read(p->source, file->head_size, want - file->head_size,
                           file->head + file->head_size));
    file->head_size = want;
    return MW_OK;
}

/* The next `size` bytes; *ret_at is their place in the header. */
static mw_status take(parser *p, uint64_t size, const char *what, int64_t *ret_at)
{
    if (size > (uint64_t)left(p)) return truncated(p, size, what);
    MW_TRY(load(p, p->at + (int64_t)size));
    *ret_at = p->at;
    p->at += (int64_t)size;
    return MW_OK;
}

static mw_status take_number(parser *p, int bytes, const char *what, uint64_t *ret)
{
    int64_t at = 0;
    MW_TRY(take(p, (uint64_t)bytes, what, &at));
    *ret = little(p->file->head + at, bytes);
    return MW_OK;
}

/* A string: its length, its bytes. *ret_at is the place of the length. */
static mw_status take_string(parser *p, const char *what, int64_t *ret_at)
{
    uint64_t length = 0;
    int64_t start = p->at, at;
    MW_TRY(take_number(p, 8, what, &length));
    MW_TRY(take(p, length, what, &at));
    *ret_at = start;
    return MW_OK;
}

/* A key or a tensor's name, as text in the arena. */
static mw_status take_name(parser *p, const char *what, const char **ret)
{
    int64_t at = 0;
    MW_TRY(take_string(p, what, &at));
    const char *bytes = (const char *)p->file->head + at + 8;
    size_t length = (size_t)(p->at - at - 8);
    bool text = length > 0;
    for (size_t i = 0; i < length; i++)
        if ((uint8_t)bytes[i] < 0x20 || bytes[i] == 0x7f) text = false;
    if (!text) {
        char quote[MW__QUOTE];
        return MW_FAIL(MW_ERR_FORMAT, "'%s': %s at byte %" PRId64 " is no text: '%s'",
                       p->source->path, what, at, mw__quote(bytes, (int64_t)length, quote));
    }
    const char *copy = mw__arena_strndup(&p->file->arena, bytes, length);
    if (!copy) return MW_NOMEM();
    *ret = copy;
    return MW_OK;
}

/* ---- values -------------------------------------------------------------------------------- */

static int value_bytes(uint64_t type)
{
    switch (type) {
#define X(name, code, bytes, text) \
    case (code):                   \
        return (bytes);
        MW_VALUE_MAP(X)
#undef X
    default:
        return 0;
    }
}

static mw_status check_bools(const parser *p, const mw_model_value *value)
{
    for (int64_t i = 0; i < value->count; i++) {
        int byte = p->file->head[value->at + i];
        if (byte > 1)
            return MW_FAIL(MW_ERR_FORMAT, "'%s': the bool at byte %" PRId64 ", of key '%s', is %d",
                           p->source->path, value->at + i, value->key, byte);
    }
    return MW_OK;
}

/* The strings of an array, and where each of them stands. */
static mw_status take_strings(parser *p, mw_model_value *value)
{
    mw_model_file *file = p->file;
    value->strings = file->nstring;
    for (int64_t i = 0; i < value->count; i++) {
        int64_t at;
        MW_TRY(take_string(p, "a string of an array", &at));
        MW_TRY(mw__grow(&file->string, &file->string_cap, file->nstring + 1, sizeof *file->string));
        file->string[file->nstring++] = (uint32_t)at; /* below HEAD_MOST */
    }
    return MW_OK;
}

static mw_status check_type(const parser *p, const char *key, uint64_t type, uint64_t *ret_bytes)
{
    int bytes = value_bytes(type);
    if (bytes > 0) {
        *ret_bytes = (uint64_t)bytes;
        return MW_OK;
    }
    mw_status status =
        MW_FAIL(MW_ERR_FORMAT, "'%s': key '%s' has values of type %" PRIu64 "%s", p->source->path,
                key, type, type == 9 ? ", arrays inside an array" : ", which does not exist");
    mw__error_hint("types 0 to 8 and 10 to 12 can be read, alone or in one array");
    return status;
}

static mw_status take_array(parser *p, mw_model_value *value)
{
    uint64_t type = 0, count = 0, bytes = 1;
    MW_TRY(take_number(p, 4, "the type of an array", &type));
    MW_TRY(check_type(p, value->key, type, &bytes));
    MW_TRY(take_number(p, 8, "the length of an array", &count));
    if (count > (uint64_t)left(p) / bytes) {
        mw_status status = MW_FAIL(MW_ERR_FORMAT,
                                   "'%s': key '%s' says that it has %" PRIu64
                                   " elements, and %" PRId64 " bytes are left in the file",
                                   p->source->path, value->key, count, left(p));
        mw__error_hint("the file is damaged or its download was not finished: fetch it again");
        return status;
    }
    value->type = (mw_value_type)type;
    value->is_array = 1;
    value->count = (int64_t)count;
    value->at = p->at;
    if (type == MW_VALUE_STRING) return take_strings(p, value);
    return take(p, count * bytes, "an array", &value->at);
}

static mw_status take_value(parser *p)
{
    mw_model_file *file = p->file;
    mw_model_value value = {.file = file, .count = 1};
    uint64_t type = 0, bytes = 1;
    MW_TRY(take_name(p, "a key", &value.key));
    MW_TRY(take_number(p, 4, "the type of a value", &type));
    if (type == 9) {
        MW_TRY(take_array(p, &value));
    } else {
        MW_TRY(check_type(p, value.key, type, &bytes));
        value.type = (mw_value_type)type;
        if (type == MW_VALUE_STRING)
            MW_TRY(take_string(p, "a string", &value.at));
        else
            MW_TRY(take(p, bytes, "a value", &value.at));
    }
    if (value.type == MW_VALUE_BOOL) MW_TRY(check_bools(p, &value));
    MW_TRY(mw__grow(&file->value, &file->value_cap, file->nvalue + 1, sizeof value));
    file->value[file->nvalue++] = value;
    return MW_OK;
}

/* ---- tensors ------------------------------------------------------------------------------- */

/* Sizes, fastest first in the file; the product of those that are not 0 must be a valid size. */
static mw_status take_shape(parser *p, mw_model_tensor *tensor)
{
    uint64_t ndim;
    MW_TRY(take_number(p, 4, "the number of dims of a tensor", &ndim));
    if (ndim > MW_MAX_DIMS)
        return MW_FAIL(MW_ERR_FORMAT, "'%s': tensor '%s' has %" PRIu64 " dims; %d is the most",
                       p->source->path, tensor->name, ndim, MW_MAX_DIMS);
    tensor->ndim = (int)ndim;
    int64_t product = 8; /* no type has more bytes an element */
    for (int i = 0; i < tensor->ndim; i++) {
        uint64_t size;
        MW_TRY(take_number(p, 8, "the shape of a tensor", &size));
        if (size > INT64_MAX || __builtin_mul_overflow(product, size ? (int64_t)size : 1, &product))
            return MW_FAIL(MW_ERR_FORMAT,
                           "'%s': tensor '%s' has too many elements (a dim of %" PRIu64 ")",
                           p->source->path, tensor->name, size);
        tensor->shape[tensor->ndim - 1 - i] = (int64_t)size;
    }
    return MW_OK;
}

static mw_status set_type(const parser *p, mw__stored *stored, uint64_t code)
{
    mw_model_tensor *tensor = &stored->tensor;
    stored->type = mw__block_type_find((uint32_t)code);
    if (!stored->type) {
        mw_status status = MW_FAIL(
            MW_ERR_FORMAT, "'%s': tensor '%s' is stored as type %" PRIu64 ", which is not known",
            p->source->path, tensor->name, code);
        mw__block_types_hint();
        return status;
    }
    tensor->type = stored->type->name;
    tensor->bytes = -1;
    int block = stored->type->block;
    if (block == 0) return MW_OK;
    int64_t last = tensor->ndim ? tensor->shape[tensor->ndim - 1] : 1, count = 1;
    if (last % block != 0)
        return MW_FAIL(MW_ERR_FORMAT,
                       "'%s': tensor '%s' has rows of %" PRId64
                       " elements, and %s has blocks of %d",
                       p->source->path, tensor->name, last, tensor->type, block);
    for (int i = 0; i < tensor->ndim; i++)
        count *= tensor->shape[i];
    tensor->bytes = count / block * stored->type->bytes;
    return MW_OK;
}

static mw_status take_tensor(parser *p)
{
    mw_model_file *file = p->file;
    mw__stored stored = {.type = NULL};
    uint64_t type, offset;
    MW_TRY(take_name(p, "the name of a tensor", &stored.tensor.name));
    MW_TRY(take_shape(p, &stored.tensor));
    MW_TRY(take_number(p, 4, "the type of a tensor", &type));
    MW_TRY(set_type(p, &stored, type));
    MW_TRY(take_number(p, 8, "the offset of a tensor", &offset));
    if (offset > (uint64_t)p->source->size) {
        mw_status status = MW_FAIL(MW_ERR_FORMAT,
                                   "'%s': tensor '%s' begins at byte %" PRIu64
                                   " of the data, and the whole file has %" PRId64,
                                   p->source->path, stored.tensor.name, offset, p->source->size);
        mw__error_hint("the file is damaged or its download was not finished: fetch it again");
        return status;
    }
    stored.tensor.offset =
        (int64_t)offset; /* in the data; place_tensors makes it one in the file */
    MW_TRY(mw__grow(&file->stored, &file->stored_cap, file->nstored + 1, sizeof stored));
    file->stored[file->nstored++] = stored;
    return MW_OK;
}

static mw_status alignment_of(const mw_model_file *file, int64_t *ret)
{
    const mw_model_value *value = mw_model_file_find(file, "general.alignment");
    int64_t alignment = ALIGNMENT_USUAL;
    if (value) MW_TRY(mw_model_file_i64(file, value->key, &alignment));
    if (alignment <= 0 || (alignment & (alignment - 1)) != 0 || alignment > INT32_MAX)
        return MW_FAIL(MW_ERR_FORMAT, "'%s': general.alignment is %" PRId64 ", no power of two",
                       file->source.path, alignment);
    *ret = alignment;
    return MW_OK;
}

static mw_status place_tensor(const mw_model_file *file, mw_model_tensor *tensor, int64_t start,
                              int64_t alignment)
{
    if (tensor->offset % alignment != 0)
        return MW_FAIL(MW_ERR_FORMAT,
                       "'%s': tensor '%s' begins at byte %" PRId64
                       " of the data, not a multiple of the alignment, %" PRId64,
                       file->source.path, tensor->name, tensor->offset, alignment);
    int64_t bytes = MW_MAX(tensor->bytes, 0), room = MW_MAX(file->source.size - start, 0);
    if (bytes > 0 && bytes > room - tensor->offset) {
        mw_status status = MW_FAIL(MW_ERR_FORMAT,
                                   "'%s': tensor '%s' takes %" PRId64 " bytes from byte %" PRId64
                                   ", and the file has %" PRId64,
                                   file->source.path, tensor->name, bytes, start + tensor->offset,
                                   file->source.size);
        mw__error_hint("the file is damaged or its download was not finished: fetch it again");
        return status;
    }
    tensor->offset += start;
    return MW_OK;
}

/* A tensor's bytes, [first, end) in the file. */
typedef struct extent {
    int64_t first, end;
    const char *name;
} extent;

static int by_offset(const void *a, const void *b)
{
    const extent *one = a, *other = b;
    if (one->first != other->first) return one->first < other->first ? -1 : 1;
    return (one->end > other->end) - (one->end < other->end);
}

/* Tensors without bytes, or of a type whose size is not known, cannot overlap. */
static mw_status check_overlap(mw_model_file *file)
{
    size_t count = 0;
    extent *order = mw__arena_alloc(&file->arena, (size_t)file->nstored * sizeof *order);
    if (!order) return MW_NOMEM();
    bool sorted = true;
    for (int64_t i = 0; i < file->nstored; i++) {
        const mw_model_tensor *t = &file->stored[i].tensor;
        if (t->bytes <= 0) continue;
        order[count++] = (extent){t->offset, t->offset + t->bytes, t->name};
        if (count > 1 && by_offset(&order[count - 2], &order[count - 1]) > 0) sorted = false;
    }
    if (!sorted) qsort(order, count, sizeof *order, by_offset);
    for (size_t i = 1; i < count; i++) {
        const extent *a = &order[i - 1], *b = &order[i];
        if (b->first < a->end)
            return MW_FAIL(MW_ERR_FORMAT,
                           "'%s': tensors '%s' and '%s' overlap: one ends at byte %" PRId64
                           ", the other begins at %" PRId64,
                           file->source.path, a->name, b->name, a->end, b->first);
    }
    return MW_OK;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static mw_status check_start(parser *p)
{
    mw_model_file *file = p->file;
    int64_t first = MW_MIN(p->source->size, FIRST_READ);
    if (first == 0) {
        mw_status status = MW_FAIL(MW_ERR_FORMAT, "'%s' is empty", p->source->path);
        mw__error_hint("the download was not finished, or the disk was full: fetch it again");
        return status;
    }
    MW_TRY(load(p, first));
    if (first < 4 || memcmp(file->head, "GGUF", 4) != 0)
        return mw__foreign_fail(p->source, file->head, first);
    p->at = 4;
    uint64_t version;
    MW_TRY(take_number(p, 4, "the version", &version));
    if (version == 2 || version == 3) {
        file->format = version == 2 ? "GGUF 2" : "GGUF 3";
        return MW_OK;
    }
    if (version > 0 && (version & 0xffffff) == 0) {
        mw_status status =
            MW_FAIL(MW_ERR_FORMAT, "'%s' is a big-endian GGUF file", p->source->path);
        mw__error_hint("use the little-endian file of this model");
        return status;
    }
    mw_status status =
        MW_FAIL(MW_ERR_FORMAT, "'%s' has GGUF version %" PRIu64, p->source->path, version);
    mw__error_hint("versions 2 and 3 can be read: convert the model again with a tool of today");
    return status;
}

static mw_status take_count(parser *p, const char *what, int64_t least, int64_t *ret)
{
    uint64_t count;
    MW_TRY(take_number(p, 8, what, &count));
    if (count > (uint64_t)(p->source->size / least)) {
        mw_status status = MW_FAIL(
            MW_ERR_FORMAT, "'%s' says that %s is %" PRIu64 ", and it has only %" PRId64 " bytes",
            p->source->path, what, count, p->source->size);
        mw__error_hint("the file is damaged or its download was not finished: fetch it again");
        return status;
    }
    *ret = (int64_t)count;
    return MW_OK;
}

/* Gives back what was read beyond the header. */
static mw_status trim(parser *p)
{
    mw_model_file *file = p->file;
    if (p->source->fd < 0) return MW_OK;
    uint8_t *head = mw__realloc(file->head, (size_t)file->head_cap, (size_t)p->at);
    if (!head) return MW_NOMEM();
    file->head = head;
    file->head_size = file->head_cap = p->at;
    return MW_OK;
}

mw_status mw__gguf_parse(mw_model_file *file)
{
    parser p = {.file = file, .source = &file->source};
    int64_t tensors = 0, values = 0, alignment = ALIGNMENT_USUAL;
    MW_TRY(check_start(&p));
    MW_TRY(take_count(&p, "its number of tensors", TENSOR_LEAST, &tensors));
    MW_TRY(take_count(&p, "its number of keys", VALUE_LEAST, &values));
    for (int64_t i = 0; i < values; i++)
        MW_TRY(take_value(&p));
    for (int64_t i = 0; i < tensors; i++)
        MW_TRY(take_tensor(&p));
    MW_TRY(trim(&p));
    MW_TRY(mw__model_file_index(file));
    MW_TRY(alignment_of(file, &alignment));
    int64_t start = (p.at + alignment - 1) / alignment * alignment;
    for (int64_t i = 0; i < tensors; i++)
        MW_TRY(place_tensor(file, &file->stored[i].tensor, start, alignment));
    return check_overlap(file);
}
