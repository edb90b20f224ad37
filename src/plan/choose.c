/* Which layouts a call runs with. Per mesh axis the legal choices are: nowhere (replicated), one of
 * the rule's letters, or a partial sum (max, min) that passes through. A combination fixes the
 * layout that every operand must have; the one that is cheapest to reach wins. If some combination
 * moves nothing it is found without a search; otherwise all are tried, operands' prices remembered.
 *
 * Ties go the way DTensor breaks them: what changes no placement, then the first that costs
 * nothing, then the first of the cheapest. A combination that moves something also pays for the
 * reduction that the partial result it leaves will need; one that moves nothing does not. */
#include "plan/choose.h"

#include "ops/rule.h"

enum { MOST_COMBINATIONS = 20000 };

/* ---- prices ---------------------------------------------------------------------------------- */

/* The price of bringing operand i to a layout; remembered. */
static mw_status price(chooser *c, int i, const mw_layout *to, double *ret)
{
    operand_state *s = &c->operand[i];
    *ret = 0;
    if (mw_layout_equal(s->now, to)) return MW_OK;
    for (const known_price *k = s->prices; k; k = k->next)
        if (mw_layout_equal(&k->to, to)) {
            *ret = k->us;
            return MW_OK;
        }
    known_price *k = mw__arena_alloc(c->arena, sizeof *k);
    mw_plan *plan = mw__arena_alloc(c->arena, sizeof *plan);
    if (!k || !plan) return MW_NOMEM();
    MW_TRY(mw__plan_make(c->mesh, s->now, to, c->arena, plan));
    *k = (known_price){*to, plan->time_us, s->prices};
    s->prices = k;
    *ret = plan->time_us;
    return MW_OK;
}

static mw_status total(chooser *c, const mw_layout *in, const mw_layout *out, double *ret,
                       bool *ret_same)
{
    double us = 0;
    bool same = true;
    for (int i = 0; i < c->nin; i++) {
        double one;
        MW_TRY(price(c, i, &in[i], &one));
        if (c->in_place && i == 0) one *= 2; /* there and back */
        us += one;
        same = same && mw_layout_equal(c->operand[i].now, &in[i]);
    }
    for (int k = 0; us > 0 && k < c->rule->nout; k++) {
        if (!out[k].npartial) continue;
        int64_t bytes = mw__layout_largest_shard(c->mesh, &out[k]) *
                        mw_dtype_size(mw__layout_storage_dtype(&out[k]));
        us += mw__step_time(mw__team_count(c->mesh, mw__layout_partial_axes(&out[k])), bytes, 1);
    }
    *ret = us;
    *ret_same = same;
    return MW_OK;
}

/* ---- the search -------------------------------------------------------------------------------
 */

typedef struct best {
    mw_layout *in, *out;
    double us;
    bool found, parts;
} best;

/* What the parts of the op move: a few all_reduces over the axes that split a `^` letter, each of
 * one value per row. 0 where no such letter is split. */
static double price_of_parts(const chooser *c, const option *const *pick)
{
    uint32_t axes = 0;
    int64_t along = 1;
    for (int a = 0; a < c->mesh->naxis; a++) {
        uint64_t at = pick[a] ? mw__letters_of_option(c, a, pick[a]) : 0;
        for (int l = 0; at; l++, at >>= 1)
            if ((at & 1) && c->by_parts[l]) axes |= 1u << a;
    }
    if (!axes) return 0;
    for (int l = 0; l < c->rule->nletter; l++) /* they go together */
        if (c->by_parts[l] && (c->operand[0].letters >> l & 1))
            along *= MW_MAX(1, c->rule->letter[l].size);
    int64_t rows = mw__layout_count(&c->trial_in[0]) / along;
    int64_t bytes = rows * MW_MAX(1, mw_dtype_size((mw_dtype)c->trial_in[0].dtype));
    return c->reductions * mw__step_time(mw__team_count(c->mesh, axes), bytes, 1);
}

static mw_status try_combination(chooser *c, const option *const *pick, best *b, bool *ret_same)
{
    bool same = false;
    double us;
    if (mw__chooser_build(c, pick, c->trial_in, c->trial_out)) {
        MW_TRY(total(c, c->trial_in, c->trial_out, &us, &same));
        double parts = price_of_parts(c, pick);
        us += parts;
        same = same && !(parts > 0);
        if (!b->found || us < b->us) {
            b->found = true;
            b->parts = parts > 0;
            b->us = us;
            mw_layout *in = b->in, *out = b->out; /* the old best is the next trial's room */
            b->in = c->trial_in, b->out = c->trial_out;
            c->trial_in = in, c->trial_out = out;
        }
    }
    *ret_same = same;
    return MW_OK;
}

/* Where too many combinations would have to be tried, an axis keeps to where some operand has it.
 */
static void shorten(const chooser *c, axis_options *o, int axis)
{
    int kept = 0;
    for (int i = 0; i < o->n; i++) {
        bool there = o->at[i].kind != OPT_LETTER;
        for (int k = 0; k < c->nin; k++)
            there =
                there || (mw__letters_with(c, k, axis) & mw__letters_of_option(c, axis, &o->at[i]));
        if (there) o->at[kept++] = o->at[i];
    }
    o->n = kept;
}

static mw_status search(chooser *c, axis_options *options, best *b)
{
    const option *pick[MW_MESH_AXES] = {NULL};
    int at[MW_MESH_AXES] = {0}, naxis = c->mesh->naxis;
    double combinations = 1;
    for (int a = 0; a < naxis; a++)
        if (c->used >> a & 1) combinations *= options[a].n;
    for (int a = 0; a < naxis && combinations > MOST_COMBINATIONS; a++)
        if (c->used >> a & 1) shorten(c, &options[a], a);
    for (;;) {
        for (int a = 0; a < naxis; a++)
            if (c->used >> a & 1) pick[a] = &options[a].at[at[a]];
        bool same;
        MW_TRY(try_combination(c, pick, b, &same));
        int a = naxis - 1;
        for (; a >= 0; a--) {
            if (!(c->used >> a & 1)) continue;
            if (++at[a] < options[a].n) break;
            at[a] = 0;
        }
        if (a < 0) return MW_OK;
    }
}

/* What stands in the way of moving nothing: the first axis on which operands disagree. */
static mw_status say_why(chooser *c, uint32_t odd, const char **ret)
{
    mw_str text = {0};
    for (int a = 0; a < c->mesh->naxis; a++) {
        if (!(odd >> a & 1)) continue;
        if (text.length) mw__str_puts(&text, "; ");
        mw__str_printf(&text, "axis %s:", c->mesh->name[a]);
        for (int i = 0; i < c->nin; i++) {
            const mw_partial *p = mw__partial_on(c->operand[i].now, a);
            uint64_t at = mw__letters_with(c, i, a);
            mw__str_printf(&text, "%s operand %d ", i ? "," : "", i);
            if (p)
                mw__str_printf(&text, "is a partial %s", mw__reduce_name((mw_reduce)p->kind));
            else if (at)
                for (int l = 0, n = 0; l < c->rule->nletter; l++) {
                    if (!(at >> l & 1)) continue;
                    mw__str_printf(&text, "%s%s%s", n++ ? " and " : "splits ",
                                   c->rule->letter[l].name,
                                   c->by_parts[l]     ? ", which must be whole or worked in parts"
                                   : c->splittable[l] ? ""
                                                      : ", which must be whole");
                }
            else
                mw__str_puts(&text, mw__layout_axes(c->operand[i].now) >> a & 1
                                        ? "splits a dim that can't be split here"
                                        : "is whole");
        }
    }
    mw_status status = mw__str_status(&text);
    if (status == MW_OK) {
        *ret = mw__arena_strndup(c->arena, mw__str_text(&text), text.length);
        if (!*ret) status = MW_NOMEM();
    }
    mw__str_done(&text);
    return status;
}

/* The options of each axis in use, and of these the one that leaves all operands as they are.
 * Returns the axes that have none. */
static uint32_t natural_options(chooser *c, axis_options *options, const option **ret)
{
    uint32_t odd = 0;
    for (int a = 0; a < c->mesh->naxis; a++) {
        ret[a] = NULL;
        if (!(c->used >> a & 1)) continue;
        mw__chooser_options(c, a, &options[a]);
        for (int i = 0; i < options[a].n; i++)
            if (mw__option_natural(c, a, &options[a].at[i])) ret[a] = &options[a].at[i];
        if (!ret[a]) odd |= 1u << a;
    }
    return odd;
}

static mw_status choose_by_letters(chooser *c, const mw_layout *const *in, mw_choice *ret)
{
    MW_TRY(mw__chooser_prepare(c, in));
    size_t nin = (size_t)MW_MAX(c->nin, 1), nout = (size_t)MW_MAX(c->rule->nout, 1);
    mw_layout *all = mw__arena_alloc(c->arena, 2 * (nin + nout) * sizeof *all);
    if (!all) return MW_NOMEM();
    best b = {.in = all, .out = all + nin};
    c->trial_in = all + nin + nout, c->trial_out = c->trial_in + nin;
    axis_options *options = mw__arena_alloc(c->arena, MW_MESH_AXES * sizeof *options);
    if (!options) return MW_NOMEM();
    const option *natural[MW_MESH_AXES];
    uint32_t odd = natural_options(c, options, natural);
    bool same = false;
    if (!odd) MW_TRY(try_combination(c, natural, &b, &same));
    if (!same) {
        b.found = false;
        MW_TRY(search(c, options, &b));
        MW_TRY(say_why(c, odd ? odd : c->used, &ret->why));
    }
    if (!b.found) return MW_FAIL(MW_ERR_INTERNAL, "no layout was found for a call of an op");
    *ret = (mw_choice){.in = b.in,
                       .out = b.out,
                       .out_meta = c->rule->out_meta,
                       .nin = c->nin,
                       .nout = c->rule->nout,
                       .time_us = b.us,
                       .moves = !same,
                       .parts = b.parts,
                       .why = same ? "" : ret->why};
    return MW_OK;
}

static bool as_they_are(const chooser *c, const mw_layout *in)
{
    for (int i = 0; i < c->nin; i++)
        if (!mw_layout_equal(c->operand[i].now, &in[i])) return false;
    return true;
}

mw_status mw__chooser_natural(chooser *c, const mw_layout *const *in, bool *ret_natural,
                              const mw_layout **ret_out, bool *ret_parts)
{
    const option *pick[MW_MESH_AXES];
    size_t nin = (size_t)MW_MAX(c->nin, 1), nout = (size_t)MW_MAX(c->rule->nout, 1);
    if (!c->trial_in) {
        c->trial_in = mw__arena_alloc(c->arena, (nin + nout) * sizeof *c->trial_in);
        if (!c->trial_in) return MW_NOMEM();
        c->trial_out = c->trial_in + nin;
    }
    c->used = 0;
    MW_TRY(mw__chooser_prepare(c, in));
    axis_options *options = mw__arena_alloc(c->arena, MW_MESH_AXES * sizeof *options);
    if (!options) return MW_NOMEM();
    *ret_natural = !natural_options(c, options, pick) &&
                   mw__chooser_build(c, pick, c->trial_in, c->trial_out) &&
                   as_they_are(c, c->trial_in);
    *ret_parts = *ret_natural && price_of_parts(c, pick) > 0;
    *ret_out = c->trial_out;
    if (!*ret_parts) return MW_OK;
    mw_choice choice = {.why = ""}; /* parts are not free: is it them that the choice takes? */
    mw_layout *in_room = c->trial_in, *out_room = c->trial_out;
    c->used = 0;
    MW_TRY(choose_by_letters(c, in, &choice));
    *ret_natural = *ret_parts = choice.parts && as_they_are(c, choice.in);
    c->trial_in = in_room, c->trial_out = out_room;
    return MW_OK;
}

/* A reshape: free if the owners regroup; otherwise the axes in the way are gathered. */
static mw_status choose_reshape(chooser *c, const mw_layout *in, mw_choice *ret)
{
    mw_layout *both = mw__arena_alloc(c->arena, 2 * sizeof *both);
    if (!both) return MW_NOMEM();
    mw_layout *from = &both[0], *to = &both[1];
    const mw_meta *out = &c->rule->out_meta[0];
    *from = *in;
    for (int d = 0; d < from->ndim; d++)
        from->dim[d].open = 0;
    *to = (mw_layout){.dtype = (uint8_t)out->dtype, .ndim = (uint8_t)out->ndim};
    *ret = (mw_choice){
        .in = from, .out = to, .out_meta = c->rule->out_meta, .nin = 1, .nout = 1, .why = ""};
    uint32_t in_the_way = 0;
    while (!mw__dims_regroup(c->mesh, from->dim, from->ndim, out->shape, out->ndim, to->dim,
                             &in_the_way)) {
        if (!(in_the_way & mw__layout_axes(from))) in_the_way = mw__layout_axes(from);
        if (!in_the_way) return MW_FAIL(MW_ERR_INTERNAL, "a whole tensor could not be reshaped");
        for (int d = 0; d < from->ndim; d++)
            from->dim[d] = mw__dim_without(c->mesh, &from->dim[d], in_the_way);
        ret->moves = true;
        mw_str axes = {0};
        mw__axes_str(c->mesh, in_the_way, &axes);
        ret->why = mw__arena_printf(c->arena, "the new dims cut through what %s holds",
                                    mw__str_text(&axes));
        bool whole = ret->why && !axes.failed;
        mw__str_done(&axes);
        if (!whole) return MW_NOMEM();
    }
    to->npartial = from->npartial;
    memcpy(to->partial, from->partial, sizeof to->partial);
    mw_plan *plan = mw__arena_alloc(c->arena, sizeof *plan);
    if (!plan) return MW_NOMEM();
    MW_TRY(mw__plan_make(c->mesh, in, from, c->arena, plan));
    ret->time_us = plan->time_us;
    return MW_OK;
}

mw_status mw__chooser_new(const mw_mesh *mesh, const mw_call_args *call, mw_arena *arena,
                          chooser **ret)
{
    mw_rule *rule = mw__arena_zalloc(arena, sizeof *rule);
    chooser *c = mw__arena_alloc(arena, sizeof *c);
    if (!rule || !c) return MW_NOMEM();
    memset(c, 0, offsetof(chooser, cut));
    MW_TRY(mw__rule_of(call, arena, rule));
    const mw_op_info *info;
    MW_TRY(mw__op_info(call->op, &info));
    if (call->nin > MOST_OPERANDS)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "%s of %d tensors: at most %d at once",
                       info->schema.name, call->nin, MOST_OPERANDS);
    c->mesh = mesh, c->rule = rule, c->arena = arena, c->nin = call->nin;
    c->is_view = call->op->view != NULL;
    c->reductions = call->op->parts ? call->op->reductions : 0;
    c->in_place = info->schema.narg > 0 && info->schema.arg[0].type.written;
    *ret = c;
    return MW_OK;
}

mw_status mw__choose(const mw_mesh *mesh, const mw_call_args *call, const mw_layout *const *in,
                     mw_arena *arena, mw_choice *ret)
{
    chooser *c;
    MW_TRY(mw__chooser_new(mesh, call, arena, &c));
    if (call->op->reshape) return choose_reshape(c, in[0], ret);
    return choose_by_letters(c, in, ret);
}

mw_status mw__choose_why(const mw_mesh *mesh, const mw_call_args *call, const mw_layout *const *in,
                         mw_arena *arena, const char **ret)
{
    if (call->op->reshape) {
        mw_choice choice;
        MW_TRY(mw__choose(mesh, call, in, arena, &choice));
        *ret = choice.why;
        return MW_OK;
    }
    chooser *c;
    MW_TRY(mw__chooser_new(mesh, call, arena, &c));
    MW_TRY(mw__chooser_prepare(c, in));
    axis_options *options = mw__arena_alloc(arena, MW_MESH_AXES * sizeof *options);
    if (!options) return MW_NOMEM();
    const option *pick[MW_MESH_AXES];
    uint32_t odd = natural_options(c, options, pick);
    *ret = "";
    return odd ? say_why(c, odd, ret) : MW_OK;
}
