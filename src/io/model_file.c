/* A model file as an object: opening, closing, and finding keys and tensors by name. Immutable once
 * open, so every rank of a program may read it at once. */
#include "io/io.h"

#include <inttypes.h>
#include <stdio.h>

void mw_model_file_close(mw_model_file *file)
{
    if (!file) return;
    if (file->source.fd >= 0) mw__free(file->head, (size_t)file->head_cap);
    mw__source_close(&file->source);
    mw__free(file->value, (size_t)file->value_cap * sizeof *file->value);
    mw__free(file->string, (size_t)file->string_cap * sizeof *file->string);
    mw__free(file->stored, (size_t)file->stored_cap * sizeof *file->stored);
    mw__arena_done(&file->arena);
    mw__free(file, sizeof *file);
}

/* Takes the source over, also on failure. */
static mw_status open_source(mw__source source, mw_model_file **ret)
{
    mw_status status;
    mw_model_file *file = mw__zalloc(sizeof *file);
    if (!file) {
        status = MW_NOMEM(); /* before the path of the source may go */
        mw__source_close(&source);
        return status;
    }
    mw__arena_init(&file->arena);
    file->source = source;
    if (source.fd < 0) {
        file->head = (uint8_t *)(uintptr_t)source.bytes; /* never written to */
        file->head_size = source.size;
    }
    file->source.path = mw__arena_strndup(&file->arena, source.path, strlen(source.path));
    if (!file->source.path) {
        status = MW_NOMEM();
        goto fail;
    }
    MW_TRY_GOTO(mw__gguf_parse(file), fail);
    *ret = file;
    return MW_OK;
fail:
    mw_model_file_close(file);
    return status;
}

mw_status mw_model_file_open(const char *path, mw_model_file **ret)
{
    if (!path || !ret) return MW_FAIL(MW_ERR_ARG, "mw_model_file_open needs a path and a place");
    mw__source source;
    MW_TRY(mw__source_open(path, &source));
    MW_TRY(open_source(source, ret));
    return MW_OK;
}

mw_status mw__model_file_from_memory(const void *bytes, int64_t size, const char *path,
                                     mw_model_file **ret)
{
    mw__source source = {.path = path, .bytes = bytes, .size = size, .fd = -1};
    MW_TRY(open_source(source, ret));
    return MW_OK;
}

const char *mw_model_file_path(const mw_model_file *file)
{
    return file->source.path;
}

const char *mw_model_file_format(const mw_model_file *file)
{
    return file->format;
}

/* ---- names --------------------------------------------------------------------------------- */

static int64_t map_find(const mw__name_map *map, const char *const *names, const char *name)
{
    if (!map->slot) return -1;
    uint32_t at = (uint32_t)mw__hash(0, name, strlen(name)) & map->mask;
    for (; map->slot[at]; at = (at + 1) & map->mask)
        if (strcmp(names[map->slot[at] - 1], name) == 0) return (int64_t)map->slot[at] - 1;
    return -1;
}

/* Adds names[place]; returns the place of the same name where there is one already, else -1. */
static int64_t map_add(mw__name_map *map, const char *const *names, int64_t place)
{
    const char *name = names[place];
    uint32_t at = (uint32_t)mw__hash(0, name, strlen(name)) & map->mask;
    for (; map->slot[at]; at = (at + 1) & map->mask)
        if (strcmp(names[map->slot[at] - 1], name) == 0) return (int64_t)map->slot[at] - 1;
    map->slot[at] = (uint32_t)place + 1;
    return -1;
}

/* Room for `count` names at most half full. Counts are below the header's size, 2^28. */
static mw_status map_init(mw_arena *arena, mw__name_map *map, int64_t count)
{
    uint32_t size = 8;
    while (size < 2 * count)
        size *= 2;
    map->slot = mw__arena_zalloc(arena, size * sizeof *map->slot);
    if (!map->slot) return MW_NOMEM();
    map->mask = size - 1;
    return MW_OK;
}

static mw_status index_names(mw_model_file *file, mw__name_map *map, const char *const *names,
                             int64_t count, const char *what)
{
    MW_TRY(map_init(&file->arena, map, count));
    for (int64_t i = 0; i < count; i++) {
        int64_t before = map_add(map, names, i);
        if (before >= 0)
            return MW_FAIL(MW_ERR_FORMAT,
                           "'%s' has the %s '%s' twice, as number %" PRId64 " and number %" PRId64,
                           file->source.path, what, names[i], before + 1, i + 1);
    }
    return MW_OK;
}

mw_status mw__model_file_index(mw_model_file *file)
{
    file->key = mw__arena_alloc(&file->arena, (size_t)file->nvalue * sizeof *file->key);
    file->name = mw__arena_alloc(&file->arena, (size_t)file->nstored * sizeof *file->name);
    if (!file->key || !file->name) return MW_NOMEM();
    for (int64_t i = 0; i < file->nvalue; i++)
        file->key[i] = file->value[i].key;
    for (int64_t i = 0; i < file->nstored; i++)
        file->name[i] = file->stored[i].tensor.name;
    MW_TRY(index_names(file, &file->keys, file->key, file->nvalue, "key"));
    return index_names(file, &file->names, file->name, file->nstored, "tensor");
}

int64_t mw_model_file_values(const mw_model_file *file)
{
    return file->nvalue;
}

const mw_model_value *mw_model_file_value(const mw_model_file *file, int64_t index)
{
    return index >= 0 && index < file->nvalue ? &file->value[index] : NULL;
}

const mw_model_value *mw_model_file_find(const mw_model_file *file, const char *key)
{
    return mw_model_file_value(file, map_find(&file->keys, file->key, key));
}

int64_t mw_model_file_tensors(const mw_model_file *file)
{
    return file->nstored;
}

const mw_model_tensor *mw_model_file_tensor(const mw_model_file *file, int64_t index)
{
    return index >= 0 && index < file->nstored ? &file->stored[index].tensor : NULL;
}

const mw_model_tensor *mw_model_file_tensor_find(const mw_model_file *file, const char *name)
{
    return mw_model_file_tensor(file, map_find(&file->names, file->name, name));
}

/* ---- requirements -------------------------------------------------------------------------- */

enum { SHAPE_TEXT = 256 };

/* `[576, any]`, in characters that always suffice for MW_MAX_DIMS sizes. */
static const char *shape_text(int ndim, const int64_t *shape, char to[SHAPE_TEXT])
{
    size_t at = 0;
    to[at++] = '[';
    for (int i = 0; i < MW_MIN(ndim, MW_MAX_DIMS); i++) {
        const char *comma = i ? ", " : "";
        int length = shape[i] < 0
                         ? snprintf(to + at, SHAPE_TEXT - at, "%sany", comma)
                         : snprintf(to + at, SHAPE_TEXT - at, "%s%" PRId64, comma, shape[i]);
        at += (size_t)length;
    }
    to[at++] = ']';
    to[at] = 0;
    return to;
}

mw_status mw_model_file_require(const mw_model_file *file, const char *name, int ndim,
                                const int64_t *shape, const mw_model_tensor **ret)
{
    if (ndim < 0 || ndim > MW_MAX_DIMS)
        return MW_FAIL(MW_ERR_ARG, "tensor '%s' cannot have %d dims; %d is the most", name, ndim,
                       MW_MAX_DIMS);
    const mw_model_tensor *tensor = mw_model_file_tensor_find(file, name);
    if (!tensor) {
        mw_status status =
            MW_FAIL(MW_ERR_FORMAT, "'%s' has no tensor '%s'", file->source.path, name);
        const char *near = mw__nearest(name, file->name, (int)file->nstored);
        if (near)
            mw__error_hint("it has '%s'", near);
        else
            mw__error_hint("it has %" PRId64
                           " tensors, of other names: is it a model of this kind?",
                           file->nstored);
        return status;
    }
    bool same = tensor->ndim == ndim;
    for (int i = 0; same && i < ndim; i++)
        same = shape[i] < 0 || shape[i] == tensor->shape[i];
    if (!same) {
        char wanted[SHAPE_TEXT], found[SHAPE_TEXT];
        return MW_FAIL(MW_ERR_FORMAT, "tensor '%s' of '%s' should be %s and is %s", name,
                       file->source.path, shape_text(ndim, shape, wanted),
                       shape_text(tensor->ndim, tensor->shape, found));
    }
    if (!mw__block_type_readable(((const mw__stored *)tensor)->type)) {
        mw_status status = MW_FAIL(MW_ERR_FORMAT,
                                   "tensor '%s' of '%s' is stored as %s, which cannot "
                                   "be read yet",
                                   name, file->source.path, tensor->type);
        mw__block_types_hint();
        return status;
    }
    if (ret) *ret = tensor;
    return MW_OK;
}
