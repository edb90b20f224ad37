/* What is told of a combination: its placements, and the element that shows that it is wrong. All
 * texts lie in scratch; NULL means that there is no memory. */
#include "verify/verify.h"

#include <stdio.h>

const char *mw__combo_text(const subject *s, place *const *in, place *const *out)
{
    mw_str text = {0};
    for (int i = 0; i < s->call.nin; i++)
        mw__str_printf(&text, "%s%s", i ? ", " : "", in[i]->text);
    mw__str_puts(&text, s->call.nin ? " -> " : "-> ");
    for (int i = 0; out && i < s->rule.nout; i++)
        mw__str_printf(&text, "%s%s", i ? ", " : "", out[i]->text);
    const char *copy = mw__arena_strndup(s->scratch, mw__str_text(&text), text.length);
    if (text.failed) copy = NULL;
    mw__str_done(&text);
    return copy;
}

static void axis_text(const mw_layout *l, int axis, mw_str *to)
{
    for (int i = 0; i < l->npartial; i++)
        if (l->partial[i].axis == axis) {
            mw__str_printf(to, "P(%s)", mw__reduce_name((mw_reduce)l->partial[i].kind));
            return;
        }
    for (int d = 0; d < l->ndim; d++)
        if (mw__dim_axes(&l->dim[d]) >> axis & 1) {
            mw__str_printf(to, "S(%d)", d);
            return;
        }
    mw__str_putc(to, 'R');
}

const char *mw__combo_axis_text(const subject *s, place *const *in, place *const *out, int axis)
{
    mw_str text = {0};
    for (int i = 0; i < s->call.nin + s->rule.nout; i++) {
        bool first = i == 0 || i == s->call.nin;
        mw__str_puts(&text, i == s->call.nin ? (i ? " -> " : "-> ") : first ? "" : ", ");
        axis_text(i < s->call.nin ? &in[i]->layout : &out[i - s->call.nin]->layout, axis, &text);
    }
    const char *copy = mw__arena_strndup(s->scratch, mw__str_text(&text), text.length);
    if (text.failed) copy = NULL;
    mw__str_done(&text);
    return copy;
}

/* ---- what is wrong ------------------------------------------------------------------------ */

static const char *value_text(mw_dtype dtype, double x, char *to, size_t size)
{
    if (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT)
        (void)snprintf(to, size, "%.6g", x);
    else
        (void)snprintf(to, size, "%.0f", x);
    return to;
}

/* "rank 0 has [1.5, -2, ...] of operand 1": what one rank is given, shortened. */
static void shard_text(const mw_view *v, mw_str *to)
{
    int64_t n = mw__view_count(v), size = mw_dtype_size(v->dtype);
    char number[40];
    mw__str_putc(to, '[');
    for (int64_t i = 0; i < n && i < 4; i++)
        mw__str_printf(to, "%s%s", i ? ", " : "",
                       value_text(v->dtype,
                                  mw__element_get((const char *)v->data + i * size, v->dtype),
                                  number, sizeof number));
    mw__str_puts(to, n > 4 ? ", ...]" : "]");
}

const char *mw__mismatch_text(subject *s, place *const *in, int set, const mismatch *m)
{
    mw_str text = {0};
    char got[40], want[40];
    mw_dtype dtype = s->rule.out_meta[m->result].dtype;
    if (s->rule.nout > 1) mw__str_printf(&text, "result %d, ", m->result);
    mw__str_puts(&text, "element [");
    for (int d = 0; d < s->rule.out_meta[m->result].ndim; d++)
        mw__str_printf(&text, "%s%lld", d ? ", " : "", (long long)m->index[d]);
    mw__str_printf(&text, "] is %s, one rank gives %s", value_text(dtype, m->got, got, sizeof got),
                   value_text(dtype, m->want, want, sizeof want));
    for (int i = 0; i < s->call.nin; i++) {
        mw__str_printf(&text, "; operand %d as %s: ", i, in[i]->text);
        for (int rank = 0; rank < s->mesh->nrank; rank++) {
            mw__str_printf(&text, "%srank %d ", rank ? ", " : "", rank);
            shard_text(&in[i]->shard[set][rank], &text);
        }
    }
    const char *copy = mw__arena_strndup(s->scratch, mw__str_text(&text), text.length);
    if (text.failed) copy = NULL;
    mw__str_done(&text);
    return copy;
}
