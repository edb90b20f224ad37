/* What an op does in parts where a `^` letter is split: a program in ops, that talks between ranks.
 * It is run on threads, on the layouts under which it would be chosen, however little would be won
 * by it, and its results are gathered and compared with those of one rank. */
#include "run/run.h"
#include "verify/verify.h"

#include <stdio.h>

typedef struct trial {
    subject *s;
    place *const *in;
    bool right;
    mismatch wrong;
} trial;

static mw_status make_operand(const trial *t, int i, mw_tensor **ret)
{
    const mw_view *whole = &t->s->set[0].in[i];
    mw_str text = {0};
    mw__layout_str(t->s->mesh, &t->in[i]->layout, &text);
    mw_status status = mw__str_status(&text);
    if (status == MW_OK) {
        char none[8];
        *ret = mw_from_data(whole->dtype, whole->shape, whole->ndim,
                            whole->data ? whole->data : none, NULL, mw__str_text(&text));
        if (!*ret) status = mw_last_error()->code;
    }
    mw__str_done(&text);
    return status;
}

static mw_status compare(trial *t, mw_tensor *got, int nth)
{
    int64_t count = mw__view_count(&t->s->set[0].out[nth]);
    size_t size = (size_t)(count + 1) * sizeof(double);
    double *data = mw__alloc(size);
    mismatch wrong;
    if (!data) return MW_NOMEM();
    mw_status status = mw_read(got, MW_DTYPE_f64, data, count * (int64_t)sizeof *data);
    if (status == MW_OK && mw_rank_index() == 0 && t->right) {
        t->right = mw__values_same(t->s, nth, 0, false, data, 0, &wrong);
        if (!t->right) t->wrong = wrong;
    }
    mw__free(data, size);
    return status;
}

static mw_status program(void *user)
{
    trial *t = user;
    mw_tensor *in[MOST_TENSORS], *out[MOST_TENSORS] = {NULL};
    for (int i = 0; i < t->s->call.nin; i++)
        MW_TRY(make_operand(t, i, &in[i]));
    MW_TRY(mw__parts_run(mw__rank_get(), t->s->info->word, &t->s->call, t->s->rule.nout, in, out));
    for (int i = 0; i < t->s->rule.nout; i++)
        MW_TRY(compare(t, out[i], i));
    return MW_OK;
}

mw_status mw__parts_try(subject *s, const char *mesh, place *const *in, bool *ret_right, char *says,
                        size_t size)
{
    trial t = {.s = s, .in = in, .right = true};
    value_set *v;
    MW_TRY(mw__values_get(s, 0, &v));
    *ret_right = true;
    if (!v->usable) return MW_OK;
    mw_status status = mw_launch(&(mw_launch_options){.mesh = mesh}, program, &t);
    if (status == MW_ERR_NOMEM) return status;
    *ret_right = status == MW_OK && t.right;
    if (status != MW_OK)
        (void)snprintf(says, size, "its parts fail: %s", mw_last_error()->says);
    else if (!t.right)
        (void)snprintf(says, size, "its parts give %.6g in result %d where one rank gives %.6g",
                       t.wrong.got, t.wrong.result, t.wrong.want);
    return MW_OK;
}
