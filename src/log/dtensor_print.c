/* What people print beside the logs: placements, specs, the state of view propagation, planner
 * infos. Each says what it is, what is in it, and no more. */
#include "log/dtensor.h"

#include <stdio.h>
#include <stdlib.h>

/* The next tuple or list of placements in long spelling at or after `at`. */
static const char *placements_after(const char *at, dt_tensor *ret, const char **ret_end)
{
    for (; (at = strpbrk(at, "([")) != NULL; at++) {
        const char *p = at + 1;
        bool begins = strncmp(p, "Shard(", 6) == 0 || strncmp(p, "Replicate(", 10) == 0 ||
                      strncmp(p, "Partial(", 8) == 0 || strncmp(p, "_StridedShard(", 14) == 0 ||
                      strncmp(p, "_MaskPartial(", 13) == 0;
        if (!begins) continue;
        char close = *at == '(' ? ')' : ']';
        int open = 0;
        const char *end = at;
        for (; *end && end - at < 400; end++) {
            if (*end == '(' || *end == '[') open++;
            if ((*end == ')' || *end == ']') && --open == 0) break;
        }
        if (*end == close && mw__dt_read_placements(at, end + 1 - at, ret)) {
            *ret_end = end + 1;
            return at;
        }
    }
    return NULL;
}

static mw_py *item_after(const dt_here *h, const char *words)
{
    const char *at = strstr(h->at, words);
    mw_py *node = NULL;
    if (!at) return NULL;
    at += strlen(words);
    at += *at == ' ';
    /* one value: up to the bracket that closes it */
    const char *end = at;
    int open = 0;
    for (; end < h->end; end++) {
        if (*end == '(' || *end == '[') open++;
        if ((*end == ')' || *end == ']') && --open <= 0) {
            end++;
            break;
        }
    }
    if (mw__py_read(at, end, h->scratch, &node) != MW_OK) h->e->failed = true;
    return node;
}

/* ---- propagate_shape_and_sharding
 * --------------------------------------------------------------------- */

static bool propagate_line(const dt_here *h)
{
    const char *at = strstr(h->at, "propagate_shape_and_sharding ");
    if (!at || !strstr(at, "global_input_shape")) return false;
    dt_tensor t = {.nplacement = 0};
    mw_py *p = item_after(h, "input_src_placements"), *shape = item_after(h, "global_input_shape");
    mw_py *sizes = item_after(h, "mesh_sizes");
    if (!p || !shape) return false;
    (void)mw__dt_read_placements(p->at, p->length, &t);
    int n = mw__py_ints(shape, t.shape, DT_DIMS);
    t.shaped = n >= 0;
    t.ndim = MW_MAX(n, 0);
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "view-rule");
    mw_str text = {0};
    mw__dt_tensor_str(&t, &text);
    const char *from = mw__dt_line_from(h, h->first);
    mw__fact(d, "input", MW_HOW_STATED, from, "%s (global shape)", mw__str_text(&text));
    const char *rule = strstr(at, " rule "), *rule_end = strstr(at, " mesh_sizes");
    if (rule && rule_end && rule_end > rule + 6)
        mw__fact(d, "rule", MW_HOW_STATED, from, "%.*s: one item for each output dim",
                 (int)MW_MIN(rule_end - rule - 6, 300), rule + 6);
    if (sizes)
        mw__fact(d, "mesh", MW_HOW_STATED, from, "%.*s", (int)MW_MIN(sizes->length, 60), sizes->at);
    bool strict = strstr(at, "strict_view True") != NULL;
    if (strstr(at, "strict_view"))
        mw__fact(d, "strict_view", MW_HOW_STATED, from, "%s",
                 strict ? "True: the view must not communicate" : "False: it may communicate");
    for (int a = 0; rule && a < t.nplacement; a++) {
        char input[32];
        const char *flatten = strstr(rule, "Flatten(");
        (void)snprintf(input, sizeof input, "InputDim(input_dim=%d)", t.placement[a].dim);
        const char *member = flatten ? strstr(flatten, input) : NULL;
        const char *close = flatten ? strstr(flatten, "))") : NULL;
        if (t.placement[a].kind != 'S' || !member || !close || member > close) continue;
        bool first = strchr(flatten, 'I') == member;
        mw__fact(d, "cut dim in the flatten", MW_HOW_DERIVED, "the rule's order of InputDim",
                 "input dim %d is %s", t.placement[a].dim,
                 first
                     ? "the first that is merged: the merged dim can stay cut"
                     : "not the first that is merged: strided placement, or a refusal in releases "
                       "without it");
    }
    mw__draft_says(d, "A print of the view rule (added by hand, no line of PyTorch): input %s.",
                   mw__str_text(&text));
    mw__dt_done(h, &text);
    return true;
}

/* ---- transform infos
 * ----------------------------------------------------------------------------------- */

static bool transform_line(const dt_here *h)
{
    const char *at = strstr(h->at, "TransformInfo(");
    if (!at) return false;
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "plan");
    int n = 0;
    const char *from = mw__dt_line_from(h, h->first);
    const char *better = strstr(h->at, "optimized: ");
    int first = 0; /* of the optimized steps */
    for (; at && n < 48; n++) {
        const char *next = strstr(at + 1, "TransformInfo(");
        bool optimized = better && at > better;
        if (optimized && !first) first = n;
        const char *word = strstr(at, "mesh_dim="), *shape = strstr(at, "logical_shape=");
        dt_tensor t = {.nplacement = 0};
        const char *end, *found = placements_after(at + 14, &t, &end);
        if (found && (!next || found < next) && t.nplacement == 2) {
            mw_str text = {0};
            mw__dt_placements_str(&(dt_tensor){.nplacement = 1, .placement = {t.placement[0]}},
                                  &text);
            mw__str_puts(&text, " -> ");
            mw__dt_placements_str(&(dt_tensor){.nplacement = 1, .placement = {t.placement[1]}},
                                  &text);
            const char *collective = mw__dt_collective(&t.placement[0], &t.placement[1]);
            char name[32];
            (void)snprintf(name, sizeof name, optimized ? "optimized step %d" : "step %d",
                           n - (optimized ? first : 0));
            bool has_shape = shape && (!next || shape < next);
            mw__fact(d, name, MW_HOW_STATED, from, "%s on mesh dim %ld: %s%s%.*s",
                     mw__str_text(&text),
                     word && (!next || word < next) ? strtol(word + 9, NULL, 10) : 0L,
                     collective ? collective : "local", has_shape ? ", logical shape " : "",
                     has_shape ? (int)MW_MIN(strcspn(shape + 14, "]") + 1, 80) : 0,
                     has_shape ? shape + 14 : "");
            mw__dt_done(h, &text);
        }
        at = next;
    }
    mw__draft_says(
        d,
        "A plan of a redistribution, %d step%s as printed; it says what is meant to move, "
        "not that it has.",
        first ? n - first : n, (first ? n - first : n) == 1 ? "" : "s");
    mw__missing(h->e,
                "tensor and mesh of the plan in line %lld: dtype and mesh sizes are not in it",
                (long long)h->first);
    return true;
}

/* ---- DTensor(...) and DTensorSpec(...)
 * ----------------------------------------------------------------- */

static bool repr_line(const dt_here *h)
{
    const char *at = strstr(h->at, "DTensor(local_tensor="), *spec = strstr(h->at, "DTensorSpec(");
    if (!at && !spec) return false;
    mw_py *node;
    if (mw__py_read(at ? at : spec, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    const mw_py *n = node->kind == MW_PY_SEQ ? node->first : node;
    dt_tensor t = {.nplacement = 0};
    const mw_py *mesh = mw__py_key(n, "device_mesh"), *p = mw__py_key(n, "placements");
    if (!mesh) mesh = mw__py_key(n, "mesh");
    (void)mw__dt_read_mesh(mesh, &t.mesh);
    if (p) (void)mw__dt_read_placements(p->at, p->length, &t);
    (void)mw__dt_read_meta(mw__py_key(n, "tensor_meta"), &t);
    if (!t.placed) return false;
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "tensor");
    const char *from = mw__dt_line_from(h, h->first);
    mw_str text = {0}, places = {0};
    mw__dt_placements_str(&t, &places);
    mw__dt_mesh_str(&t.mesh, &text);
    mw__fact(d, "placements", MW_HOW_STATED, from, "%s", mw__str_text(&places));
    if (t.mesh.naxis) {
        mw__fact(d, "mesh", MW_HOW_STATED, from, "(%s)", mw__str_text(&text));
        t.mesh.line = h->first;
        h->s->last_mesh = t.mesh;
    }
    if (at)
        mw__fact(d, "values", MW_HOW_DERIVED, "repr prints the local tensor",
                 "those of one rank's piece, not of the whole");
    mw_layout l;
    const char *why;
    const mw_mesh *made = mw__dt_mesh_of(h, &t.mesh);
    if (t.shaped && mw__dt_layout(h, made, &t, &l, &why))
        mw__fact(d, "local shape", MW_HOW_DERIVED, "the global shape, cut as the placements say",
                 "%s", mw__dt_locals(h, made, &l));
    mw__draft_says(d, "A DTensor placed %s%s%s.", mw__str_text(&places),
                   t.mesh.naxis ? " on mesh " : "", mw__str_text(&text));
    mw__dt_done(h, &text);
    mw__dt_done(h, &places);
    return true;
}

/* ---- placements among other words
 * ---------------------------------------------------------------------- */

static bool placements_line(const dt_here *h)
{
    dt_tensor a = {.nplacement = 0}, b = {.nplacement = 0};
    const char *end, *first = placements_after(h->at, &a, &end), *second = NULL;
    if (!first) return false;
    second = placements_after(end, &b, &end);
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "print");
    mw_str x = {0}, y = {0};
    const char *from = mw__dt_line_from(h, h->first);
    mw__dt_placements_str(&a, &x);
    mw__fact(d, second ? "from" : "placements", MW_HOW_STATED, from, "%s", mw__str_text(&x));
    if (!second) {
        mw__draft_says(d, "A print of placements: %s.", mw__str_text(&x));
    } else {
        mw__dt_placements_str(&b, &y);
        const char *text = mw__explain_text(h->e, "%.80s", h->at);
        h->s->said = (dt_said){h->first, a, b, text ? text : ""};
        mw__fact(d, "to", MW_HOW_STATED, from, "%s", mw__str_text(&y));
        bool same_but_sign = a.nplacement == b.nplacement, moves = false;
        for (int i = 0; i < a.nplacement && i < b.nplacement; i++) {
            bool both = a.placement[i].kind == 'S' && b.placement[i].kind == 'S';
            same_but_sign =
                same_but_sign && both && (a.placement[i].dim < 0) != (b.placement[i].dim < 0);
            moves = moves || mw__dt_collective(&a.placement[i], &b.placement[i]);
        }
        if (same_but_sign)
            mw__fact(d, "same placement", MW_HOW_DERIVED, "a negative dim counts from the end",
                     "S(%d) and S(%d) are one placement of a tensor of %d dims: nothing moves then",
                     a.placement[0].dim, b.placement[0].dim,
                     MW_MAX(a.placement[0].dim, b.placement[0].dim) -
                         MW_MIN(a.placement[0].dim, b.placement[0].dim));
        mw__draft_says(d, "A print: from %s to %s%s.", mw__str_text(&x), mw__str_text(&y),
                       same_but_sign ? ", which can be one and the same"
                       : moves       ? ""
                                     : ", which moves nothing");
    }
    mw__dt_done(h, &x);
    mw__dt_done(h, &y);
    return true;
}

/* ---- modules
 * ------------------------------------------------------------------------------------------- */

/* `(emb): Embedding(100, 16)`, `Linear(in_features=16, out_features=100, bias=True)`. */
static bool module_line(const dt_here *h)
{
    const char *at = strstr(h->at, "Embedding("), *linear = strstr(h->at, "Linear(in_features=");
    char *end;
    int64_t size[2];
    if (linear) {
        const char *out = strstr(linear, "out_features=");
        if (!out) return false;
        size[1] = strtoll(linear + 19, NULL, 10);
        size[0] = strtoll(out + 13, NULL, 10);
    } else if (at && (at == h->at || at[-1] == ' ') && at[10] >= '0' && at[10] <= '9') {
        size[0] = strtoll(at + 10, &end, 10);
        if (strncmp(end, ", ", 2) != 0) return false;
        size[1] = strtoll(end + 2, NULL, 10);
    } else {
        return false;
    }
    if (size[0] < 1 || size[1] < 1 || size[0] > INT32_MAX || size[1] > INT32_MAX) return false;
    h->s->module[h->s->nmodule++ % DT_MODULES] =
        (dt_module){.size = {size[0], size[1]}, .line = h->first};
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "print");
    mw__fact(d, "weight", MW_HOW_DERIVED, "how PyTorch prints the module", "[%lld, %lld]",
             (long long)size[0], (long long)size[1]);
    mw__draft_says(d, "A print of a module whose weight has shape [%lld, %lld].",
                   (long long)size[0], (long long)size[1]);
    mw__explain_once(h->e);
    return true;
}

bool mw__dt_print_line(const dt_here *h)
{
    return propagate_line(h) || transform_line(h) || repr_line(h) || module_line(h) ||
           placements_line(h);
}
