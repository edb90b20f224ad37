/* Convolutions that could not be replayed (no mesh is known): the shape of the result is worked
 * out from the arguments, and its placement only where no piece needs its neighbour's edge, that is
 * where the batch or the output channels are cut and nothing else. */
#include "log/dtensor_replay.h"

typedef struct conv {
    const dt_tensor *x, *w;
    const int64_t *stride, *padding, *dilation;
    int nd; /* dims that the kernel moves along */
} conv;

static const int64_t *ints_at(const dt_call *call, int position, int nd)
{
    const dt_value *v = position < call->narg ? &call->arg[position] : NULL;
    return v && v->kind == DT_INTS && v->count == nd ? v->ints : NULL;
}

/* aten::convolution(input, weight, bias, stride, padding, dilation, transposed, ..., groups) */
static bool read_conv(const dt_call *call, conv *to)
{
    if (strcmp(call->word, "convolution") != 0 || call->narg < 9 ||
        call->arg[0].kind != DT_TENSOR || call->arg[1].kind != DT_TENSOR ||
        call->arg[6].kind != DT_BOOL || call->arg[6].i)
        return false;
    to->x = &call->arg[0].tensor[0];
    to->w = &call->arg[1].tensor[0];
    to->nd = to->x->ndim - 2;
    to->stride = ints_at(call, 3, to->nd);
    to->padding = ints_at(call, 4, to->nd);
    to->dilation = ints_at(call, 5, to->nd);
    return to->x->shaped && to->w->shaped && to->nd > 0 && to->w->ndim == to->x->ndim &&
           to->stride && to->padding && to->dilation;
}

static bool shape_of(const conv *c, dt_tensor *out)
{
    *out = (dt_tensor){.shaped = true, .ndim = c->x->ndim, .dtype = c->x->dtype};
    out->shape[0] = c->x->shape[0];
    out->shape[1] = c->w->shape[0];
    for (int i = 0; i < c->nd; i++) {
        int64_t reach, padded, n;
        if (c->stride[i] < 1 || c->padding[i] < 0 || c->dilation[i] < 1 || c->w->shape[2 + i] < 1 ||
            __builtin_mul_overflow(c->dilation[i], c->w->shape[2 + i] - 1, &reach) ||
            __builtin_mul_overflow(c->padding[i], 2, &padded) ||
            __builtin_add_overflow(padded, c->x->shape[2 + i], &n) || n - 1 < reach)
            return false;
        out->shape[2 + i] = (n - 1 - reach) / c->stride[i] + 1;
    }
    return true;
}

/* Each axis: all whole, the batch cut, or output channels (of weight and bias) cut. */
static bool placed(const dt_call *call, const conv *c, dt_tensor *out)
{
    const dt_tensor *b = call->arg[2].kind == DT_TENSOR ? &call->arg[2].tensor[0] : NULL;
    int n = c->x->nplacement;
    if (n < 1 || c->w->nplacement != n || (b && b->nplacement != n)) return false;
    for (int a = 0; a < n; a++) {
        const dt_placement *x = &c->x->placement[a], *w = &c->w->placement[a];
        dt_placement whole = {.kind = 'R', .order = -1, .split = 1};
        bool bias_whole = !b || b->placement[a].kind == 'R';
        bool bias_cut = !b || (b->placement[a].kind == 'S' && b->placement[a].dim == 0);
        bool batch = x->kind == 'S' && x->dim == 0 && w->kind == 'R' && bias_whole;
        bool channels = x->kind == 'R' && w->kind == 'S' && w->dim == 0 && bias_cut &&
                        call->arg[8].kind == DT_INT && call->arg[8].i == 1;
        if (!batch && !channels && (x->kind != 'R' || w->kind != 'R' || !bias_whole)) return false;
        out->placement[a] = whole;
        if (batch || channels) {
            out->placement[a].kind = 'S';
            out->placement[a].dim = batch ? 0 : 1;
        }
    }
    out->placed = true;
    out->nplacement = n;
    return true;
}

void mw__dt_tell_conv(const dt_here *h, dt_call *call, const mw_mesh *mesh)
{
    conv c;
    dt_tensor out;
    mw_layout l;
    const char *why;
    if (call->has_out || !read_conv(call, &c) || !shape_of(&c, &out)) return;
    bool known = placed(call, &c, &out);
    mw_str text = {0};
    mw__dt_tensor_str(&out, &text);
    mw__fact(call->draft, "output 0 by the op's shapes", MW_HOW_DERIVED,
             known ? "sizes by stride, padding and dilation; nothing but batch or output channels "
                     "is cut, so nothing need move"
                   : "sizes by stride, padding and dilation",
             "%s", mw__str_text(&text));
    mw__dt_done(h, &text);
    if (!known || !mesh || out.nplacement != mesh->naxis) return;
    if (!out.dtype) out.dtype = MW_DTYPE_f32; /* sizes alone are told */
    if (mw__dt_layout(h, mesh, &out, &l, &why))
        mw__fact(call->draft, "local shape of output 0", MW_HOW_DERIVED, "the derived output, cut",
                 "%s", mw__dt_locals(h, mesh, &l));
}
