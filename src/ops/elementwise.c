/* The driver of element-wise ops: rows where they can be read as they are, chunks through the stack
 * where they can't. */
#include "ops/elementwise.h"

#include "tensor/nest.h"

enum { CHUNK = 256 }; /* elements: 2 KiB a buffer */

/* How one view meets its row: its dtype and the inner stride as they are in memory. */
typedef struct side {
    mw_dtype memory, row;
    int64_t stride; /* of the innermost dim, in elements */
    bool direct;    /* the row may use the memory itself */
} side;

mw_dtype mw__class_of(mw_dtype dtype)
{
    if (dtype == MW_DTYPE_f64) return MW_DTYPE_f64;
    return mw_dtype_kind_of(dtype) == MW_KIND_FLOAT ? MW_DTYPE_f32 : MW_DTYPE_i64;
}

bool mw__dtype_widens(mw_dtype from, mw_dtype to)
{
    if (from == to) return true;
    if (mw_dtype_kind_of(from) != MW_KIND_FLOAT) return false;
    return to == MW_DTYPE_f64 || (to == MW_DTYPE_f32 && from != MW_DTYPE_f64);
}

static mw__row pick_build(const mw__row_builds *builds)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return builds->avx2;
#endif
    return builds->any;
}

mw__row mw__family_row(const mw__family *family, mw_dtype class_dtype)
{
    if (class_dtype == MW_DTYPE_f32) return pick_build(&family->f32);
    return class_dtype == MW_DTYPE_f64 ? family->f64 : family->i64;
}

void mw__scalars_set(mw__scalars *scalars, int nth, mw_dtype class_dtype, const mw_call_args *call,
                     int pos, int64_t absent)
{
    const mw_arg *arg = &call->arg[pos];
    mw_arg given = arg->kind == MW_ARG_NONE ? (mw_arg){.kind = MW_ARG_INT, .i = absent} : *arg;
    bool is_float = given.kind == MW_ARG_FLOAT;
    if (class_dtype == MW_DTYPE_f32) {
        scalars->f32[nth] = is_float ? (float)given.f : (float)given.i;
    } else if (class_dtype == MW_DTYPE_f64) {
        scalars->f64[nth] = is_float ? given.f : (double)given.i;
    } else if (is_float) {
        mw__row_convert(&scalars->i64[nth], MW_DTYPE_i64, 1, &given.f, MW_DTYPE_f64, 1, 1);
    } else {
        scalars->i64[nth] = given.i;
    }
}

void mw__scalars_sign(mw__scalars *scalars, int nth, mw_dtype class_dtype, int sign)
{
    if (class_dtype == MW_DTYPE_f32)
        scalars->f32[nth] *= (float)sign;
    else if (class_dtype == MW_DTYPE_f64)
        scalars->f64[nth] *= sign;
    else
        scalars->i64[nth] = MW__MUL_I64(scalars->i64[nth], sign);
}

void mw__scalars_fold(mw__scalars *scalars, mw_dtype class_dtype)
{
    if (class_dtype == MW_DTYPE_f32)
        scalars->f32[0] *= scalars->f32[1];
    else if (class_dtype == MW_DTYPE_f64)
        scalars->f64[0] *= scalars->f64[1];
    else
        scalars->i64[0] = MW__MUL_I64(scalars->i64[0], scalars->i64[1]);
}

/* One chunk of an input as its row wants it: the memory itself, or a copy in `buffer`. */
static const void *take(const side *s, const char *at, int64_t n, void *buffer)
{
    if (s->direct) return at;
    mw__row_convert(buffer, s->row, 1, at, s->memory, s->stride, s->stride == 0 ? 1 : n);
    return buffer;
}

static void run_row(const mw__map *map, const side *sides, char *const *at, int64_t n)
{
    _Alignas(64) char buffer[MW_MAP_INPUTS + 1][CHUNK * 8];
    const side *to = &sides[0];
    int64_t step[MW_MAP_INPUTS], to_bytes = mw_dtype_size(to->memory);
    for (int64_t i = 0; i < n; i += CHUNK) {
        const void *in[MW_MAP_INPUTS];
        int64_t m = MW_MIN(n - i, CHUNK);
        for (int v = 0; v < map->nin; v++) {
            const side *s = &sides[v + 1];
            step[v] = s->stride != 0;
            in[v] = take(s, at[v + 1] + i * s->stride * mw_dtype_size(s->memory), m, buffer[v]);
        }
        char *out = at[0] + i * to->stride * to_bytes;
        map->row(to->direct ? out : buffer[MW_MAP_INPUTS], in, step, m, &map->scalars);
        if (!to->direct)
            mw__row_convert(out, to->memory, to->stride, buffer[MW_MAP_INPUTS], to->row, 1, m);
    }
}

void mw__map_run(const mw__map *map, const mw_view *out, const mw_view *in)
{
    const mw_view *views[MW_MAP_INPUTS + 1] = {out};
    side sides[MW_MAP_INPUTS + 1];
    mw__nest nest;
    for (int v = 0; v < map->nin; v++)
        views[v + 1] = &in[v];
    if (!mw__nest_init(&nest, views, map->nin + 1)) return;
    bool all_direct = true, in_place = false;
    int64_t n = nest.size[nest.ndim - 1];
    for (int v = 0; v <= map->nin; v++) {
        mw_dtype row = v == 0 ? map->out : map->in[v - 1];
        int64_t stride = nest.row_stride[v];
        bool direct = views[v]->dtype == row && (stride == 1 || n == 1 || (stride == 0 && v > 0));
        sides[v] = (side){views[v]->dtype, row, stride, direct};
        in_place = in_place || (v > 0 && views[v]->data == out->data);
        all_direct = all_direct && direct;
    }
    if (in_place) sides[0].direct = all_direct = false;
    int64_t step[MW_MAP_INPUTS] = {0};
    for (int v = 0; v < map->nin; v++)
        step[v] = sides[v + 1].stride != 0;
    do {
        const void *at[MW_MAP_INPUTS] = {NULL};
        for (int v = 0; v < map->nin; v++)
            at[v] = nest.at[v + 1];
        if (all_direct)
            map->row(nest.at[0], at, step, n, &map->scalars);
        else
            run_row(map, sides, nest.at, n);
    } while (mw__nest_next(&nest));
}

mw_status mw__family_run(const mw_kernel_call *k, const mw__family *family,
                         const mw__scalars *scalars)
{
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    mw__map map = {.row = mw__family_row(family, class_dtype), .nin = k->nin, .out = class_dtype};
    if (!map.row)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "this op has no kernel for %s",
                       mw_dtype_name(k->out[0].dtype));
    for (int v = 0; v < k->nin; v++)
        map.in[v] = class_dtype;
    if (scalars) map.scalars = *scalars;
    mw__map_run(&map, &k->out[0], k->in);
    return MW_OK;
}
