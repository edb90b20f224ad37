/* What a call's text can't be right about: an output's label that the pieces don't have, a value
 * that will be wrong without any error, a cut that is lost though nothing stood in its way. The
 * evidence is meshwise's own choice for the same operands; what the text leaves open (whether
 * operands were moved) is not taken for a fault. */
#include "log/dtensor_replay.h"

enum { CLIFF = 1 << 28 }; /* bytes of one tensor on one rank that are worth a warning */

/* ---- values
 * ------------------------------------------------------------------------------------------ */

static bool partial_out(const dt_call *call, const char *kind)
{
    for (int i = 0; i < call->nout; i++)
        for (int a = 0; a < call->out[i].nplacement; a++) {
            const dt_placement *p = &call->out[i].placement[a];
            bool terms = p->kind == 'P' || (p->kind == 'N' && !kind);
            if (terms && (!kind || strcmp(p->reduce, kind) == 0)) return true;
        }
    return false;
}

/* A whole number that is a position: terms of it combine to nothing. */
static bool index_out(const dt_replay *r)
{
    const char *word = r->call->word;
    if (strcmp(word, "argmax") == 0 || strcmp(word, "argmin") == 0)
        return partial_out(r->call, NULL);
    for (int i = 0; i < r->call->nout && r->call->schema && i < r->call->schema->nresult; i++) {
        const char *name = r->call->schema->result_name[i];
        if (!name || strcmp(name, "indices") != 0) continue;
        for (int a = 0; a < r->call->out[i].nplacement; a++)
            if (r->call->out[i].placement[a].kind == 'P') return true;
    }
    return false;
}

static bool some_empty(const dt_replay *r)
{
    int64_t shape[DT_DIMS];
    for (int rank = 0; rank < r->mesh->nrank; rank++) {
        mw_layout_local_shape(r->mesh, &r->layout[0], rank, shape);
        for (int d = 0; d < r->layout[0].ndim; d++)
            if (shape[d] == 0) return true;
    }
    return false;
}

static void mean_of_uneven(dt_replay *r)
{
    const char *word = r->call->word;
    bool mean = strcmp(word, "mean") == 0;
    if (!mean || !partial_out(r->call, "avg") || !mw__dt_uneven(r->mesh, &r->layout[0])) return;
    mw__problem(r->call->draft, "wrong-value", -1, -1,
                "sum first, then divide by the whole count: P(sum) is right for any sizes",
                "the mean of shards of different sizes (%s) is averaged with equal weights%s",
                mw__dt_locals(r->h, r->mesh, &r->layout[0]),
                some_empty(r) ? "; a rank that holds nothing gives nan" : "");
}

static bool cut(const dt_tensor *t)
{
    for (int a = 0; a < t->nplacement; a++)
        if (t->placement[a].kind == 'S' || t->placement[a].kind == '_') return true;
    return false;
}

static void terms_not_passed(dt_replay *r)
{
    uint32_t terms = 0;
    for (int i = 0; i < r->args.nin; i++)
        terms |= mw__layout_partial_axes(&r->layout[i]);
    bool unmoved = r->call->has_needs || partial_out(r->call, NULL); /* else it doesn't tell */
    bool uncut = r->args.nin == 1 && !cut(r->stated[0]);
    if (!terms || !unmoved || !(r->choice.parts ? uncut : r->choice.moves)) return;
    mw__problem(r->call->draft, "wrong-value", 0,
                r->choice.parts ? -1 : mw__dt_bringing(r, r->choice.in),
                "redistribute the partial operand to Replicate() (or Shard) before the op",
                "an operand is a term of a sum (Partial) and the op does not pass sums through, "
                "yet the text says that nothing was moved%s%s",
                *r->choice.why ? ": " : "", r->choice.why);
}

/* An op that wants a dim whole which is cut, and a result that lies as its operand: moved for the
 * op it would lie elsewhere, so each rank ran it on its own piece. */
static void worked_on_pieces(dt_replay *r)
{
    const dt_call *call = r->call;
    const char *whole = "must be whole";
    bool wants = r->choice.parts || (r->choice.moves && strstr(r->choice.why, whole));
    if (!wants || call->same_as || call->nout < 1 ||
        !mw__dt_same_label(r->stated[0], &call->out[0]))
        return;
    for (int i = 0; i < r->args.nin; i++)
        if (mw__layout_partial_axes(&r->layout[i])) return;
    mw__problem(call->draft, "wrong-value", 0,
                r->choice.parts ? -1 : mw__dt_bringing(r, r->choice.in),
                "redistribute so that the dim is whole first, or work out what its pieces lack (a "
                "maximum, a sum, the totals before each) and combine that",
                "%s works along a dim that is cut, and its result lies as its operand does: each "
                "rank ran it on its own piece, as if that were the whole%s%s",
                call->word, *r->choice.why ? ": " : "", r->choice.why);
}

/* ---- outputs
 * ----------------------------------------------------------------------------------------- */

static bool out_layout(const dt_replay *r, int i, mw_layout *ret)
{
    const dt_call *call = r->call;
    dt_tensor t = {.nplacement = 0};
    const char *why;
    if (i < call->nout)
        t = call->out[i];
    else if (i == 0 && call->placed_out.placed)
        t = call->placed_out;
    if (!t.placed || i >= r->choice.nout) return false;
    const mw_meta *meta = &r->choice.out_meta[i];
    if (!t.shaped) {
        t.shaped = true;
        t.ndim = meta->ndim;
        memcpy(t.shape, meta->shape, sizeof meta->shape);
    }
    t.dtype = (mw_dtype)meta->dtype;
    return mw__dt_layout(r->h, r->mesh, &t, ret, &why);
}

/* Nothing was moved, so the pieces are what the op makes of its operands: does the label say so? */
static void check_label(dt_replay *r, int i, const mw_layout *out)
{
    const mw_layout *is = &r->choice.out[i];
    if (strstr(r->call->word, "zero")) return; /* a sum of zeros is zero: any label is true */
    bool told = r->call->has_needs && !r->call->needs && !r->call->in_tree;
    if (!told || mw__layout_partial_axes(is) == mw__layout_partial_axes(out)) {
        bool same = true;
        int64_t a[DT_DIMS], b[DT_DIMS];
        for (int rank = 0; told && rank < r->mesh->nrank && same; rank++) {
            mw_layout_local_shape(r->mesh, is, rank, a);
            mw_layout_local_shape(r->mesh, out, rank, b);
            same = memcmp(a, b, (size_t)out->ndim * sizeof *a) == 0;
        }
        if (same) return; /* pieces of these sizes: what they hold is not told */
    }
    mw__problem(r->call->draft, "label-cannot-be-true", -1, -1,
                "correct the rule (or the placements given to from_local), or redistribute the "
                "operands first",
                "output %d is labelled %s, but nothing is moved and these operands make %s of it",
                i, mw__dt_placements_of(r, out), mw__dt_placements_of(r, is));
}

static bool same_shape(const mw_layout *a, const mw_layout *b)
{
    int64_t x[MW_LAYOUT_DIMS], y[MW_LAYOUT_DIMS];
    if (a->ndim != b->ndim) return false;
    mw_layout_shape(a, x);
    mw_layout_shape(b, y);
    return memcmp(x, y, (size_t)a->ndim * sizeof *x) == 0;
}

/* Something had to move, and the result is whole where it could be cut: no fault where the whole is
 * wanted next, but a cliff where it is large. */
static void tell_smaller(dt_replay *r, int i, const mw_layout *out, int64_t held, int64_t could)
{
    mw_layout whole = *out;
    if (r->args.nin != 1 || !same_shape(&r->layout[0], out)) return;
    whole.dtype = r->layout[0].dtype; /* one operand, of the result's shape: it was made whole */
    int64_t now = mw__dt_moving(r->h, r->mesh, &r->layout[0], &whole, NULL);
    int64_t after = mw__dt_bringing(r, r->choice.in);
    if (now < 0 || after < 0 || after >= now) return;
    const char *cut = mw__dt_placements_of(r, &r->choice.out[i]);
    mw__fact(
        r->call->draft, "a smaller way", MW_HOW_DERIVED, "meshwise's choice and plans",
        "operand 0 to %s: %lld B received per rank instead of %lld B, output %d %s, %lld B of it "
        "on each rank instead of %lld B; where the whole is needed next it costs the difference",
        mw__dt_placements_of(r, &r->choice.in[0]), (long long)after, (long long)now, i, cut,
        (long long)could, (long long)held);
    if (held >= CLIFF && held >= 2 * could)
        mw__problem(r->call->draft, "memory-cliff", now, after, "leave it cut: see the smaller way",
                    "%s makes its result whole on every rank of an axis: each holds %lld B of it, "
                    "where %lld B would do",
                    r->call->word, (long long)held, (long long)could);
}

/* The op could have run on the dim that is cut, combining a few numbers a row; the text has the
 * whole row on every rank. */
static void tell_parts(dt_replay *r, const mw_layout *out)
{
    const dt_tensor *t = r->stated[0];
    const dt_value *dim = NULL;
    for (int i = 0; i < r->call->narg; i++) {
        const char *name = mw__dt_arg_name(r->call, i);
        if (name && strcmp(name, "dim") == 0 && r->call->arg[i].kind == DT_INT)
            dim = &r->call->arg[i];
    }
    if (r->args.nin != 1 || !dim || !same_shape(&r->layout[0], out) || mw__layout_partial_axes(out))
        return;
    int64_t d = dim->i < 0 ? dim->i + t->ndim : dim->i;
    if (d < 0 || d >= t->ndim || t->shape[d] < 1) return;
    for (int a = 0; a < t->nplacement; a++) {
        const dt_placement *p = &t->placement[a];
        dt_placement whole = {.kind = 'R', .order = -1, .split = 1};
        if (p->kind != 'S' || (p->dim < 0 ? p->dim + t->ndim : p->dim) != d ||
            mw__layout_largest_shard(r->mesh, out) <=
                mw__layout_largest_shard(r->mesh, &r->layout[0]))
            continue;
        dt_tensor one = *t;
        one.dtype = r->args.in[0].dtype;
        int64_t bytes = mw__dt_bytes(&one);
        mw_how how = r->assumed_dtype ? MW_HOW_ASSUMED : MW_HOW_DERIVED;
        if (bytes >= 0)
            mw__fact(
                r->call->draft, "in parts", how,
                "meshwise's rule: the op's parts run on the cut dim",
                "nothing so large need move: each all-reduce of one number a row (a maximum, a "
                "sum) is of %lld B, and the result stays cut",
                (long long)(bytes / t->shape[d]));
        mw__dt_other_ways(r->h, r->call->draft, r->mesh, &one, a, &whole, how,
                          "the result is whole, so the operand was made whole");
        return;
    }
}

static void check_output(dt_replay *r, int i)
{
    mw_layout out;
    dt_call *call = r->call;
    if (!out_layout(r, i, &out)) return;
    if (r->choice.parts) {
        tell_parts(r, &out);
        return;
    }
    if (mw_layout_equal(&out, &r->choice.out[i])) return;
    int64_t size = mw_dtype_size((mw_dtype)out.dtype);
    int64_t held = mw__layout_largest_shard(r->mesh, &out);
    int64_t could = mw__layout_largest_shard(r->mesh, &r->choice.out[i]);
    if (!r->choice.moves && call->has_needs && !call->needs && !call->in_tree) {
        check_label(r, i, &out);
        return;
    }
    if (held <= could || r->choice.out[i].npartial) return;
    if (r->choice.moves) {
        tell_smaller(r, i, &out, held * size, could * size);
        return;
    }
    int64_t now = mw__dt_moving(r->h, r->mesh, &r->choice.out[i], &out, NULL);
    const char *fix = mw__explain_text(r->h->e, "keep output %d at %s", i,
                                       mw__dt_placements_of(r, &r->choice.out[i]));
    mw__problem(call->draft, "sharding-lost", now, 0, fix ? fix : "",
                "output %d comes out as %s although the operands allow %s without moving anything: "
                "each rank holds %lld B instead of %lld B",
                i, mw__dt_placements_of(r, &out), mw__dt_placements_of(r, &r->choice.out[i]),
                (long long)(held * size), (long long)(could * size));
}

void mw__dt_check_values(dt_replay *r)
{
    dt_call *call = r->call;
    bool told = call->has_out || call->placed_out.placed;
    if (r->args.nin < 1 || !told) return;
    if (!call->needs && call->has_out) {
        mean_of_uneven(r);
        if (index_out(r))
            mw__problem(call->draft, "wrong-value", -1, -1,
                        "redistribute so that the reduced dim is whole first, or combine (value, "
                        "index) pairs",
                        "each rank's index counts from its own piece; combining such indices gives "
                        "a position that means nothing");
        terms_not_passed(r);
        worked_on_pieces(r);
    }
    for (int i = 0; i < r->choice.nout && i < DT_OUT; i++)
        check_output(r, i);
}
