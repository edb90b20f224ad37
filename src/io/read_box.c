/* Reading a part of a tensor: what one rank holds of it, and no more.
 *
 * The wanted positions are walked as runs: stretches of elements that stand next to each other in
 * the file. With the last dims wanted whole, one range of the dim before them is one run; a shard
 * by columns is a run a row.
 *
 *     dim 0   0 . . . . 1 x x x . 2 x x x .        ranges {1, 2} x {0..3} of [3, 5]: two runs
 *
 * A window of the file, a whole number of blocks, moves along. It is read in one call as long as
 * the gaps between runs cost less than another call, so that narrow columns are not a call each;
 * where gaps are wide they stay on the disk. A run may begin and end inside a block. */
#include "io/io.h"

#include <inttypes.h>

enum {
    WINDOW = 256 << 10, /* bytes; stays in the second-level cache */
    GAP = 4096,         /* unwanted bytes that are read rather than skipped: a page, about a call */
    PIECE = 1024        /* elements that are converted at a time */
};

/* ---- the walk ------------------------------------------------------------------------------ */

typedef struct walk {
    int inner;                   /* runs are ranges of this dim; those after it are whole */
    int64_t pitch[MW_MAX_DIMS];  /* elements from one position to the next */
    mw_range whole[MW_MAX_DIMS]; /* of dims without ranges */
    mw_model_box box;            /* with a range for every dim; a scalar has one dim of 1 */
    int64_t range[MW_MAX_DIMS];  /* which range it is at, never an empty one, */
    int64_t at[MW_MAX_DIMS];     /* and which position in it */
    bool done;
} walk;

static int64_t positions(const mw_model_box *box, int dim)
{
    int64_t count = 0;
    for (int64_t i = 0; i < box->dim[dim].count; i++)
        count += box->dim[dim].range[i].end - box->dim[dim].range[i].first;
    return count;
}

/* Moves dim `dim` to its range `range` or the next that is not empty; false where there is none. */
static bool enter(walk *w, int dim, int64_t range)
{
    const mw_range *list = w->box.dim[dim].range;
    int64_t count = w->box.dim[dim].count;
    while (range < count && list[range].first >= list[range].end)
        range++;
    if (range >= count) return false;
    w->range[dim] = range;
    w->at[dim] = list[range].first;
    return true;
}

/* The box of `w`, and of its copies, points to its `whole`: it must stay where it is. */
static void walk_start(walk *w, const mw_model_tensor *tensor, const mw_model_box *box)
{
    int ndim = MW_MAX(tensor->ndim, 1);
    *w = (walk){.done = false};
    int64_t pitch = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        int64_t size = d < tensor->ndim ? tensor->shape[d] : 1;
        w->pitch[d] = pitch;
        pitch *= size;
        w->whole[d] = (mw_range){0, size};
        w->box.dim[d].range = &w->whole[d];
        w->box.dim[d].count = 1;
        if (box && d < tensor->ndim && box->dim[d].range) w->box.dim[d] = box->dim[d];
    }
    w->inner = ndim - 1;
    while (w->inner > 0 && positions(&w->box, w->inner) == w->whole[w->inner].end)
        w->inner--;
    for (int d = 0; d < ndim; d++)
        if (!enter(w, d, 0)) w->done = true;
}

/* The next run, in elements of the tensor; runs rise and never overlap. */
static bool walk_next(walk *w, int64_t *ret_first, int64_t *ret_end)
{
    if (w->done) return false;
    int64_t base = 0;
    for (int d = 0; d < w->inner; d++)
        base += w->at[d] * w->pitch[d];
    const mw_range *run = &w->box.dim[w->inner].range[w->range[w->inner]];
    *ret_first = base + run->first * w->pitch[w->inner];
    *ret_end = base + run->end * w->pitch[w->inner];
    int d = w->inner;
    bool more = enter(w, d, w->range[d] + 1);
    while (!more && d > 0) {
        (void)enter(w, d, 0);
        d--;
        more = ++w->at[d] < w->box.dim[d].range[w->range[d]].end || enter(w, d, w->range[d] + 1);
    }
    w->done = !more;
    return true;
}

/* ---- the window ---------------------------------------------------------------------------- */

typedef struct window {
    const mw_model_file *file;
    const mw__stored *stored;
    uint8_t *bytes;
    int64_t cap;        /* blocks */
    int64_t first, end; /* blocks that are in it */
} window;

/* Reads block `block` and on: to the end of the run that ends before element `end`, over the runs
 * that follow while the gaps are small, as far as there is room. */
static mw_status window_fill(window *win, int64_t block, int64_t end, walk ahead)
{
    const mw__block_type *type = win->stored->type;
    int64_t last = (end + type->block - 1) / type->block, run_first, run_end;
    while (last - block < win->cap && walk_next(&ahead, &run_first, &run_end)) {
        if ((run_first / type->block - last) * type->bytes >= GAP) break;
        last = (run_end + type->block - 1) / type->block;
    }
    last = MW_MIN(last, block + win->cap);
    MW_TRY(mw__source_read(&win->file->source, win->stored->tensor.offset + block * type->bytes,
                           (last - block) * type->bytes, win->bytes));
    win->first = block;
    win->end = last;
    return MW_OK;
}

/* ---- decoding ------------------------------------------------------------------------------ */

/* `count` weights from weight `skip` of the blocks at `from` on. */
static void quantised_to_f32(const mw__block_type *type, const uint8_t *from, int64_t skip,
                             int64_t count, float *to)
{
    float block[MW__BLOCK_MOST];
    from += skip / type->block * type->bytes;
    skip %= type->block;
    if (skip > 0) {
        int64_t part = MW_MIN(type->block - skip, count);
        mw__blocks_to_f32(type, block, from, 1);
        memcpy(to, block + skip, (size_t)part * sizeof *to);
        from += type->bytes, to += part, count -= part;
    }
    int64_t whole = count / type->block;
    mw__blocks_to_f32(type, to, from, whole);
    from += whole * type->bytes, to += whole * type->block, count -= whole * type->block;
    if (count > 0) {
        mw__blocks_to_f32(type, block, from, 1);
        memcpy(to, block, (size_t)count * sizeof *to);
    }
}

static void decode(const mw__block_type *type, const uint8_t *from, int64_t skip, int64_t count,
                   mw_dtype dtype, void *to)
{
    if (type->dtype != MW_DTYPE_NONE) {
        mw__row_convert(to, dtype, 1, from + skip * type->bytes, type->dtype, 1, count);
        return;
    }
    if (dtype == MW_DTYPE_f32) {
        quantised_to_f32(type, from, skip, count, to);
        return;
    }
    float piece[PIECE];
    for (int64_t i = 0; i < count; i += PIECE) {
        int64_t n = MW_MIN(count - i, PIECE);
        quantised_to_f32(type, from, skip + i, n, piece);
        mw__row_from_f32((char *)to + i * mw_dtype_size(dtype), dtype, piece, n);
    }
}

/* ---- the call ------------------------------------------------------------------------------ */

static mw_status check_dtype(const mw_model_file *file, const mw__stored *stored, mw_dtype dtype)
{
    const mw__block_type *type = stored->type;
    if (!mw__block_type_readable(type)) {
        mw_status status =
            MW_FAIL(MW_ERR_FORMAT, "tensor '%s' of '%s' is stored as %s, which cannot be read yet",
                    stored->tensor.name, file->source.path, type->name);
        mw__block_types_hint();
        return status;
    }
    if (dtype > MW_DTYPE_NONE && dtype < MW_DTYPE_END &&
        (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT || dtype == type->dtype))
        return MW_OK;
    mw_status status =
        MW_FAIL(MW_ERR_ARG, "tensor '%s' of '%s' is stored as %s and cannot be read as %s",
                stored->tensor.name, file->source.path, type->name, mw_dtype_name(dtype));
    mw__error_hint("read it as a float%s%s", type->dtype ? " or as " : "",
                   type->dtype ? mw_dtype_name(type->dtype) : "");
    return status;
}

static mw_status check_box(const mw_model_tensor *tensor, const mw_model_box *box)
{
    for (int d = 0; box && d < tensor->ndim; d++) {
        int64_t from = 0;
        if (!box->dim[d].range) continue;
        for (int64_t i = 0; i < box->dim[d].count; i++) {
            mw_range range = box->dim[d].range[i];
            if (range.first < from || range.end < range.first || range.end > tensor->shape[d])
                return MW_FAIL(MW_ERR_ARG,
                               "range %" PRId64 " of dim %d of tensor '%s', [%" PRId64 ", %" PRId64
                               "), does not rise inside [%" PRId64 ", %" PRId64 ")",
                               i, d, tensor->name, range.first, range.end, from, tensor->shape[d]);
            from = range.end;
        }
    }
    return MW_OK;
}

int64_t mw_model_box_count(const mw_model_tensor *tensor, const mw_model_box *box)
{
    int64_t count = 1;
    for (int d = 0; d < tensor->ndim; d++)
        count *= box && box->dim[d].range ? positions(box, d) : tensor->shape[d];
    return count;
}

static mw_status read_runs(window *win, walk *w, mw_dtype dtype, char *to)
{
    const mw__block_type *type = win->stored->type;
    int64_t first, end, size = mw_dtype_size(dtype);
    while (walk_next(w, &first, &end)) {
        while (first < end) {
            int64_t block = first / type->block;
            if (block < win->first || block >= win->end) MW_TRY(window_fill(win, block, end, *w));
            int64_t count = MW_MIN(end, win->end * type->block) - first;
            decode(type, win->bytes + (block - win->first) * type->bytes,
                   first - block * type->block, count, dtype, to);
            to += count * size;
            first += count;
        }
    }
    return MW_OK;
}

mw_status mw_model_file_read(const mw_model_file *file, const mw_model_tensor *tensor,
                             const mw_model_box *box, mw_dtype dtype, void *to)
{
    const mw__stored *stored = (const mw__stored *)tensor;
    if (!tensor || stored < file->stored || stored >= file->stored + file->nstored)
        return MW_FAIL(MW_ERR_ARG, "the tensor is none of '%s'", file->source.path);
    MW_TRY(check_dtype(file, stored, dtype));
    MW_TRY(check_box(tensor, box));
    walk w;
    walk_start(&w, tensor, box);
    if (w.done) return MW_OK;
    int64_t block = stored->type->bytes, bytes = MW_MIN(WINDOW / block * block, tensor->bytes);
    window win = {.file = file, .stored = stored, .cap = bytes / block};
    win.bytes = mw__alloc((size_t)bytes);
    if (!win.bytes) return MW_NOMEM();
    mw_status status = read_runs(&win, &w, dtype, to);
    mw__free(win.bytes, (size_t)bytes);
    return status;
}
