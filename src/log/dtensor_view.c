/* Views whose result DTensor can only say with a strided placement: positions, what each release
 * makes of it, and the way with plain placements. */
#include "log/dtensor_replay.h"

#include <stdio.h>

/* The same view with plain placements: the axis that makes it strided is gathered first. */
static void tell_plain_way(dt_replay *r, int axis)
{
    mw_layout in;
    dt_tensor t = *r->stated[0];
    const char *why, *by = mw__dt_axis_name(r->h, &r->call->mesh, axis);
    if (axis >= t.nplacement || t.placement[axis].kind == 'R') return;
    t.placement[axis] = (dt_placement){.kind = 'R', .order = -1};
    t.dtype = r->args.in[0].dtype;
    const mw_layout *list[1] = {&in};
    mw_choice choice;
    if (!mw__dt_layout(r->h, r->mesh, &t, &in, &why) ||
        mw__dt_failed(r->h, mw__choose(r->mesh, &r->args, list, r->h->scratch, &choice)) ||
        choice.moves)
        return;
    int64_t bytes = mw__dt_moving(r->h, r->mesh, &r->layout[0], &in, NULL);
    int64_t size = mw_dtype_size((mw_dtype)in.dtype);
    int64_t now = mw__layout_largest_shard(r->mesh, &r->layout[0]);
    int64_t then = mw__layout_largest_shard(r->mesh, &in);
    mw__fact(
        r->call->draft, "without strided placement", MW_HOW_DERIVED,
        "the axis replicated, then the same view",
        "gather over mesh axis %s first (%lld elements per rank become %lld): input %s, output "
        "%s",
        by, (long long)now, (long long)then, mw__dt_placements_of(r, &in),
        mw__dt_placements_of(r, &choice.out[0]));
    const mw_entry *entry = mw__draft_entry(r->call->draft);
    if (!entry || strcmp(entry->event, "error") != 0) return;
    const char *fix = mw__explain_text(
        r->h->e,
        "redistribute the input to %s before the view (all-gather over mesh axis %s, %lld elements "
        "received per rank), or use a release with strided placements in views (2.11): output %s, "
        "nothing moves",
        mw__dt_placements_of(r, &in), by, (long long)(bytes < 0 ? then - now : bytes / size),
        mw__dt_placements_of(r, &r->choice.out[0]));
    mw__problem(
        r->call->draft, "view-loses-sharding", r->assumed_dtype ? -1 : bytes, 0, fix ? fix : "",
        "the view merges dims while mesh axis %s cuts one of them that is not the first", by);
}

/* A view whose output needs a strided placement: what it holds, and what each release does. */
void mw__dt_tell_view(dt_replay *r)
{
    dt_tensor t;
    const mw_layout *out = &r->choice.out[0];
    if (!r->call->op || !r->call->op->reshape || r->choice.moves ||
        !mw__dt_unlayout(r->h, r->mesh, out, &t))
        return;
    for (int a = 0; a < t.nplacement; a++) {
        if (t.placement[a].kind != '_') continue;
        int d = t.placement[a].dim;
        mw_str text = {0};
        for (int rank = 0; rank < r->mesh->nrank && rank < 4; rank++) {
            mw_range range[4];
            int64_t n = mw_layout_ranges(r->mesh, out, rank, d, range, 4);
            mw__str_printf(&text, "%srank %d: ", rank ? "; " : "", rank);
            for (int64_t i = 0; i < n && i < 4; i++)
                mw__str_printf(&text, "%s%lld-%lld", i ? "," : "", (long long)range[i].first,
                               (long long)range[i].end - 1);
            if (n > 4) mw__str_puts(&text, ",...");
        }
        char name[48];
        (void)snprintf(name, sizeof name, "positions of output dim %d", d);
        mw__fact(r->call->draft, name, MW_HOW_DERIVED, "the view regroups what each rank holds",
                 "%s", mw__dt_text(r->h, &text));
        mw__dt_done(r->h, &text);
        mw__fact(r->call->draft, "strided placement", MW_HOW_DERIVED,
                 "the view algebra of meshwise's layouts",
                 "_StridedShard(dim=%d, split_factor=%lld): the cut dim is not the first of those "
                 "that are flattened; nothing need move, and no error need come of it",
                 d, (long long)t.placement[a].split);
        mw__fact(r->call->draft, "what releases do", MW_HOW_DERIVED,
                 "PyTorch's view rules by version",
                 "up to 2.7: gather it silently; 2.8: view and _unsafe_view raise \"Attempted to "
                 "flatten sharded dimension\"; 2.9 and 2.10: raise \"Attempted to flatten multiple "
                 "dimensions\"; from 2.11: strided placement, no communication");
        tell_plain_way(r, a);
        return;
    }
}
