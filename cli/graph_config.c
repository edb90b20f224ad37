/* meshwise graph config.json: a model that is known by its sizes alone. */
#include "cli/graph.h"

#include <stdio.h>
#include <string.h>

/* ---- the file ---------------------------------------------------------------------------------
 */

static mw_status parse(const graph_state *g, json_t **ret)
{
    char *text;
    int64_t length;
    json_error_t at;
    mw_status status = cli_read_file(g->path, &text, &length);
    if (status != MW_OK) return status;
    *ret = json_loadb(text, (size_t)length, 0, &at);
    mw_memory_free(text, (size_t)length + 1);
    if (!*ret)
        return mw_error_set(MW_ERR_FORMAT, "%s:%d:%d: no JSON: %s", g->path, at.line, at.column,
                            at.text);
    if (json_is_object(*ret)) return MW_OK;
    json_decref(*ret);
    *ret = NULL;
    return mw_error_set(MW_ERR_FORMAT, "%s: expected an object with the fields of a model",
                        g->path);
}

/* ---- what its parts mean for this mesh --------------------------------------------------------
 */

static int64_t axis_size(const graph_state *g, const char *name)
{
    int axis = mw_mesh_axis_find(g->s.mesh, name, (int)strlen(name));
    return axis < 0 ? 0 : mw_mesh_axis_size(g->s.mesh, axis);
}

static void note_heads(graph_state *g, int64_t n)
{
    const decoder_config *c = &g->decoder;
    char text[200];
    long long heads = (long long)c->heads, groups = (long long)c->kv_heads, ranks = (long long)n;
    long long most = (groups + ranks - 1) / ranks, busy = (groups + most - 1) / most;
    if (decoder_heads_over(c, n) == DECODER_HEADS_COPIED && heads % ranks)
        (void)snprintf(text, sizeof text, "%lld query heads over tp=%lld: uneven", heads, ranks);
    else if (decoder_heads_over(c, n) == DECODER_HEADS_COPIED)
        (void)snprintf(text, sizeof text,
                       "%lld query heads over tp=%lld: %lld a rank; %lld kv head%s on %lld ranks "
                       "each",
                       heads, ranks, heads / ranks, groups, groups == 1 ? "" : "s", ranks / groups);
    else if (busy < ranks)
        (void)snprintf(text, sizeof text,
                       "%lld kv groups over tp=%lld: %lld of its ranks have no attention (no head "
                       "is cut)",
                       groups, ranks, ranks - busy);
    else if (groups % ranks)
        (void)snprintf(text, sizeof text,
                       "%lld kv groups over tp=%lld: uneven, %lld to %lld a rank", groups, ranks,
                       groups - most * (busy - 1), most);
    else
        return;
    session_note(&g->s, text);
}

static void note_axes(graph_state *g, bool own_plan)
{
    char text[200];
    int64_t tp = axis_size(g, "tp"), dp = axis_size(g, "dp");
    for (int a = 0; a < mw_mesh_axes(g->s.mesh); a++) {
        const char *name = mw_mesh_axis_name(g->s.mesh, a);
        if (strcmp(name, "tp") == 0 || strcmp(name, "dp") == 0) continue;
        if (mw_mesh_axis_size(g->s.mesh, a) == 1) continue;
        (void)snprintf(text, sizeof text, "axis %s replicates: its ranks all compute the same",
                       name);
        session_note(&g->s, text);
    }
    if (tp == 0 && mw_mesh_ranks(g->s.mesh) > 1)
        session_note(&g->s, "the mesh has no axis tp: no weight is split");
    if (own_plan && tp > 1) note_heads(g, tp);
    if (dp <= 1 || g->batch % dp == 0) return;
    (void)snprintf(text, sizeof text, "%lld sequences over dp=%lld: uneven", (long long)g->batch,
                   (long long)dp);
    session_note(&g->s, text);
}

/* ---- the step ---------------------------------------------------------------------------------
 */

static bool sequence_parallel(const graph_state *g)
{
    static const decoder_role norms[] = {DECODER_ATTN_NORM, DECODER_MLP_NORM, DECODER_NORM};
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++) {
        const char *style =
            decoder_has(&g->decoder, norms[i], false) ? graph_tp_plan_style(g, norms[i]) : NULL;
        if (style && strcmp(style, "sequence_parallel") == 0) return true;
    }
    return false;
}

static mw_status make_step(graph_state *g)
{
    const decoder_config *c = &g->decoder;
    const char *dp = axis_size(g, "dp") ? "@dp" : "";
    const char *tp = axis_size(g, "tp") && sequence_parallel(g) ? "@tp" : "";
    const char *head = graph_tp_plan_style(g, DECODER_HEAD);
    bool cached = !(c->family->switches & DECODER_BOTH_WAYS);
    int64_t positions = cached ? c->context : 0;
    if (!cached && !g->s.args->value[OPT_prompt_length]) g->prompt = c->context;
    mw_status status = MW_OK;
    if (cached) status = cli_int(g->s.args, OPT_context, 1, 1 << 30, &positions);
    if (status != MW_OK) return status;
    if (g->prompt > (cached ? positions : c->context))
        return mw_error_set(MW_ERR_ARG, "--prompt-length %lld: the context has %lld",
                            (long long)g->prompt, (long long)(cached ? positions : c->context));
    long long b = (long long)g->batch, t = (long long)g->prompt;
    (void)snprintf(g->ids, sizeof g->ids, "i64[%lld%s, %lld]", b, dp, t);
    (void)snprintf(g->residual, sizeof g->residual, "[%lld%s, %lld%s, %lld]", b, dp, t, tp,
                   (long long)c->dim);
    (void)snprintf(g->logits, sizeof g->logits, "[%lld%s, %lld, %lld]", b, dp,
                   c->top == DECODER_TOP_MASKED ? t : 1, (long long)c->vocab);
    bool whole =
        head && (strcmp(head, "colwise_rep") == 0 || strcmp(head, "colwise_gather_output") == 0);
    g->step = (decoder_step){g->batch, g->prompt,   positions,
                             g->ids,   g->residual, whole ? g->logits : NULL};
    return MW_OK;
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static mw_status open_plan(graph_state *g)
{
    enum { PLAN = 1 << 14 };
    char *text = mw_memory(PLAN);
    if (!text) return mw_last_error()->code;
    mw_status status = MW_OK;
    bool given = g->s.args->value[OPT_plan] != NULL;
    if (g->nstyle && !given)
        status = graph_tp_plan_text(g, text, PLAN);
    else
        (void)decoder_plan_text(&g->decoder, axis_size(g, "tp"), text, PLAN);
    if (status == MW_OK)
        status = session_plan(&g->s, g->nstyle ? "tp_plan" : "the family's plan", text);
    mw_memory_free(text, PLAN);
    if (status == MW_OK) note_axes(g, !g->nstyle && !given);
    return status;
}

mw_status graph_config_open(graph_state *g)
{
    json_t *root = NULL;
    mw_status status = session_options(&g->s);
    if (status == MW_OK) status = parse(g, &root);
    if (status == MW_OK) status = graph_fields_read(g, root);
    if (status == MW_OK && axis_size(g, "dp")) g->batch = axis_size(g, "dp");
    if (status == MW_OK) status = cli_int(g->s.args, OPT_batch, 1, 1 << 24, &g->batch);
    if (status == MW_OK && !g->s.args->value[OPT_plan]) status = graph_tp_plan_read(g, root);
    json_decref(root);
    if (status == MW_OK) status = make_step(g);
    return status == MW_OK ? open_plan(g) : status;
}
