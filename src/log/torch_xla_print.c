/* Shardings that people print: `x {devices=[8,1]0,1,...}`, and prints of nothing. Only a tensor
 * that was annotated, or came out of a finished program, has one in Python; what the compiler gives
 * to those in between is never seen there. So "" is not "replicated", and what it may become is
 * worked out by the rule of linear, as an assumption. */
#include "log/explain.h"
#include "log/torch_xla.h"
#include "ops/table.h"
#include "plan/plan.h"

enum { LABEL = 80, LAID = 256 };

/* ---- what propagation would give ---------------------------------------------------------------
 */

/* The layout of a sharding, a few elements to each tile; false where it can't be laid out. */
static bool layout_of(const xs_here *h, const char *text, mw_mesh **ret_mesh, mw_layout *ret)
{
    hlo_sharding s;
    int64_t shape[HLO_DIMS];
    if (!mw__hlo_sharding_read(text, &s) || s.kind != HLO_TILES_KIND || s.devices > LAID)
        return false;
    int ndim = s.ntile - s.nsub;
    if (ndim < 1 || ndim > HLO_DIMS) return false;
    for (int i = 0; i < ndim; i++)
        shape[i] = s.devices * 2;
    mw_mesh *mesh = mw__hlo_mesh(h->e, &s, NULL);
    mw_reading *r = mesh ? mw__hlo_reading(h->e, mesh, text, s.length, ndim, shape) : NULL;
    bool good = r && mw_reading_layout(r);
    if (good) {
        *ret = *mw_reading_layout(r);
        ret->dtype = MW_DTYPE_f32;
    }
    mw_reading_free(r);
    if (good)
        *ret_mesh = mesh;
    else
        mw_mesh_unref(mesh);
    return good;
}

static mw_meta meta_of(const mw_layout *l)
{
    mw_meta m = {.dtype = MW_DTYPE_f32, .ndim = l->ndim};
    mw_layout_shape(l, m.shape);
    return m;
}

/* `linear` with a whole weight: where its result lies, and whether anything moves. */
static bool through_linear(const xs_here *h, const mw_mesh *mesh, const mw_layout *x,
                           mw_layout *ret, bool *ret_moves)
{
    const mw_op *op = mw__op_find("linear", 6);
    const mw_op_info *info = op ? mw__op_info_of(op) : NULL;
    int64_t k = mw_layout_size(x, x->ndim - 1), shape[2] = {k, k};
    mw_layout w = mw_layout_replicated(MW_DTYPE_f32, 2, shape);
    mw_meta meta[2] = {meta_of(x), meta_of(&w)};
    const mw_layout *in[2] = {x, &w};
    mw_arg arg[3] = {{.kind = MW_ARG_TENSOR, .first = 0, .count = 1},
                     {.kind = MW_ARG_TENSOR, .first = 1, .count = 1},
                     {.kind = MW_ARG_NONE}};
    mw_call_args call = {.op = op, .narg = 3, .arg = arg, .nin = 2, .in = meta};
    mw_choice choice;
    if (!info || info->schema.narg != 3) return false;
    if (!mw__hlo_done(h->e, mw__choose(mesh, &call, in, &h->e->scratch, &choice))) return false;
    if (choice.parts || choice.nout != 1) return false;
    *ret = choice.out[0];
    *ret_moves = choice.moves;
    return true;
}

static void tell_propagated(const xs_here *h, mw_draft *d)
{
    mw_mesh *mesh = NULL;
    mw_layout x, y;
    bool moves;
    mw_notation_text text = {.text = NULL};
    if (!h->s->print_text || !layout_of(h, h->s->print_text, &mesh, &x)) return;
    bool through = through_linear(h, mesh, &x, &y, &moves);
    uint32_t terms = through ? mw__layout_partial_axes(&y) : 0;
    y.npartial = 0;
    memset(y.partial, 0, sizeof y.partial);
    mw__layout_canonical(mesh, &y);
    if (through && mw__hlo_done(h->e, mw_notation_print(mesh, &y, MW_NOTATION_HLO_V1, &text))) {
        if (text.text)
            mw__fact(
                d, "by propagation", MW_HOW_ASSUMED,
                "the HLO after sharding propagation (XLA_FLAGS=--xla_dump_to=DIR) would settle "
                "it; so would marking it",
                "%s, if it comes from %s by layers like linear with whole weights%s; %s", text.text,
                h->s->print_label, terms ? "" : ", or element by element",
                terms   ? "each device then makes a term of the sum: an all_reduce in forward"
                : moves ? "something moves for it in forward"
                        : "nothing moves for it in forward");
        mw_notation_text_done(&text);
    }
    mw_mesh_unref(mesh);
}

/* ---- lines -------------------------------------------------------------------------------------
 */

static bool label_char(char c)
{
    return mw__spmd_word_char(c) || c == '.' || c == '-' || c == ' ' || c == '[' || c == ']' ||
           c == '(' || c == ')' || c == ',';
}

/* `fc1`, `fc1:`, `fc1 ''`, `fc1: ""`; the label's length, or 0. */
static int empty_print(const char *text)
{
    int n = 0;
    while (mw__spmd_word_char(text[n]) || (n && (text[n] == '.' || text[n] == '-')))
        n++;
    const char *rest = text + n + strspn(text + n, " :=");
    if (n == 0 || n > LABEL) return 0;
    return !*rest || strcmp(rest, "''") == 0 || strcmp(rest, "\"\"") == 0 ? n : 0;
}

/* The sharding in the line and its label; false where the line is something else. */
static bool find_print(const char *text, const char **ret_at, int *ret_label)
{
    static const char *const kinds[] = {"{devices=", "{replicated}", "{manual}", "{maximal",
                                        "{unknown}"};
    const char *at = NULL;
    for (int i = 0; i < MW_COUNT(kinds); i++) {
        const char *found = strstr(text, kinds[i]);
        if (found && (!at || found < at)) at = found;
    }
    if (!at || at - text > LABEL) return false;
    int label = (int)(at - text);
    while (label && strchr(" :='\"", text[label - 1]))
        label--;
    for (int i = 0; i < label; i++)
        if (!label_char(text[i])) return false;
    const char *close = mw__hlo_close(at);
    if (close && strncmp(close, " (showing up to", 15) == 0) close = "";
    if (!close || strspn(close, " '\",)") != strlen(close)) return false;
    *ret_at = at;
    *ret_label = label;
    return true;
}

/* Sizes in the label: `x torch.Size([8, 4])`, `x (8, 4)`. */
static bool label_shape(const xs_here *h, const char *text, int length, hlo_shape *ret)
{
    const char *open = memchr(text, '(', (size_t)length);
    int64_t ints[HLO_DIMS];
    mw_py *node = NULL;
    if (!open || !mw__hlo_done(h->e, mw__py_read(open, text + length, &h->e->scratch, &node)))
        return false;
    if (node->kind == MW_PY_TUPLE && node->count == 1 && node->first->kind == MW_PY_LIST)
        node = node->first;
    int n = mw__py_ints(node, ints, HLO_DIMS);
    if (n < 0) return false;
    *ret = (hlo_shape){.ndim = n};
    memcpy(ret->dim, ints, sizeof ret->dim);
    return true;
}

static void tell_print(const xs_here *h, const char *at, int label)
{
    hlo_sharding s;
    hlo_shape shape;
    mw_str words = {0};
    const char *name = label ? mw__xs_keep(h, h->text, (int64_t)strcspn(h->text, " :=(")) : "";
    if (label && (int)strlen(name) > label) name = mw__xs_keep(h, h->text, label);
    mw_draft *d = mw__draft(h->e, h->line, "torch_xla", "sharding");
    if (!mw__hlo_sharding_read(at, &s)) return;
    mw__hlo_sharding_str(&s, &words);
    const char *kept = mw__hlo_keep(h->e, &words);
    mw__draft_says(d, "%s%sis sharded: %s.", *name ? name : "A tensor", *name ? " " : " ", kept);
    mw__draft_weight(d, 10);
    if (*name) mw__fact(d, "tensor", MW_HOW_STATED, h->from, "%s", name);
    bool sized = label && label_shape(h, h->text, label, &shape);
    mw__hlo_tell(h->e, d, "", h->from, &s, sized ? &shape : NULL, false, NULL);
    if (!sized && s.kind == HLO_TILES_KIND)
        mw__missing(h->e, "the shape of %s in line %lld: local shapes need it",
                    *name ? name : "the tensor", (long long)h->first);
    h->s->print_line = h->line->number;
    h->s->print_label = *name ? name : "it";
    h->s->print_text = mw__xs_keep(h, s.at, s.length);
}

static void tell_empty(const xs_here *h, int n)
{
    mw_draft *d = mw__draft(h->e, h->line, "torch_xla", "sharding");
    const char *name = mw__xs_keep(h, h->text, n);
    mw__draft_says(
        d,
        "%s has no annotation of its own: its sharding is unknown here until the compiler "
        "has propagated one; that is not the same as replicated.",
        name);
    mw__draft_weight(d, 15);
    mw__fact(d, "tensor", MW_HOW_STATED, h->from, "%s", name);
    mw__fact(d, "sharding", MW_HOW_STATED, h->from, "\"\" (nothing is printed)");
    mw__fact(d, "meaning", MW_HOW_DERIVED,
             "annotations stand on tensors that were marked; a lazy tensor in between gets its "
             "sharding inside the compiler, which Python never shows",
             "unknown until propagated; not replicated, and not \"nothing is sharded\"");
    tell_propagated(h, d);
    mw__missing(h->e,
                "the sharding of %s: it is given inside the compiler; the HLO after propagation "
                "would show it, or marking the tensor",
                name);
    h->s->print_line = h->line->number;
}

bool mw__xs_print_line(const xs_here *h)
{
    const char *at;
    int label;
    if (strchr(h->text, '%') || strstr(h->text, "sdy.") || strstr(h->text, "mhlo.")) return false;
    if (find_print(h->text, &at, &label)) {
        hlo_sharding s;
        if (!mw__hlo_sharding_read(at, &s) || s.kind == HLO_ODD) return false;
        tell_print(h, at, label);
        return true;
    }
    int n = empty_print(h->text);
    bool next = h->s->print_line && h->line->number - h->s->print_line == 1;
    if (!n || !next) return false;
    tell_empty(h, n);
    return true;
}
