/* Errors of DTensor and the tracebacks around them. Of a traceback the frame that raised and the
 * last frame outside PyTorch are kept; of chained exceptions each is told, the outer one with the
 * call that it names. */
#include "log/dtensor.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct error_kind {
    const char *kind, *phrase, *means, *fix;
} error_kind;

static const error_kind kinds[] = {
#define ERROR(kind, phrase, means, fix) {kind, phrase, means, fix},
#include "log/dtensor_errors.def"
#undef ERROR
};

/* ---- tracebacks
 * -------------------------------------------------------------------------------------- */

static const char *keep(const dt_here *h, const char *at, size_t length)
{
    const char *text = mw__arena_strndup(&h->e->arena, at, MW_MIN(length, 200));
    if (!text) h->e->failed = true;
    return text ? text : "";
}

/* `File "x.py", line 3, in f`. */
static bool frame_line(const dt_here *h)
{
    dt_rank *r = h->r;
    if (!mw__dt_starts(h, "File \"")) return false;
    const char *from = h->at + 6, *quote = strchr(from, '"'), *in = strstr(from, ", in ");
    if (!quote || strncmp(quote, "\", line ", 8) != 0) return false;
    const char *number = quote + 8;
    r->trace_file = mw__explain_text(h->e, "%.*s:%d", (int)MW_MIN(quote - from, 200), from,
                                     (int)strtol(number, NULL, 10));
    r->trace_function = in ? keep(h, in + 5, strlen(in + 5)) : "";
    r->trace_code = "";
    static const char *const libraries[] = {"/torch/", "/torch_xla/", "/jax/"};
    bool inside = false;
    for (int i = 0; i < MW_COUNT(libraries); i++) {
        const char *at = strstr(from, libraries[i]);
        inside = inside || (at && at < quote);
    }
    if (!inside) {
        r->user_file = r->trace_file;
        r->user_code = "";
    }
    r->trace_last = h->line->number;
    return true;
}

bool mw__dt_trace_line(const dt_here *h)
{
    dt_rank *r = h->r;
    if (mw__dt_starts(h, "Traceback (most recent call last)")) {
        r->trace_first = r->trace_last = h->line->number;
        r->trace_file = r->user_file = NULL;
        return true;
    }
    if (frame_line(h)) {
        if (!r->trace_first) r->trace_first = h->line->number;
        return true;
    }
    if (mw__dt_starts(h, "The above exception was the direct cause") ||
        mw__dt_starts(h, "During handling of the above exception"))
        return true;
    /* a line of code, or the marks below it */
    if (!r->trace_first || h->line->number > r->trace_last + 2) return false;
    bool marks = strspn(h->at, "^~ ") == strlen(h->at);
    if (!marks && h->line->number != r->trace_last + 1) return false;
    if (!marks && r->trace_file) {
        r->trace_code = keep(h, h->at, strlen(h->at));
        if (r->user_file == r->trace_file) r->user_code = r->trace_code;
    }
    return true;
}

static void tell_trace(const dt_here *h, mw_draft *d)
{
    const dt_rank *r = h->r;
    if (!r->trace_first || !r->trace_file || h->first - r->trace_last > 4) return;
    const char *from = mw__dt_line_from(h, r->trace_last);
    mw__fact(d, "raised in", MW_HOW_STATED, from, "%s, %s%s%s", r->trace_file,
             r->trace_function ? r->trace_function : "",
             r->trace_code && *r->trace_code ? ": " : "", r->trace_code ? r->trace_code : "");
    if (r->user_file)
        mw__fact(d, "last line outside PyTorch", MW_HOW_DERIVED, "the frames before it", "%s%s%s",
                 r->user_file, r->user_code && *r->user_code ? ": " : "",
                 r->user_code ? r->user_code : "");
    else
        mw__missing(h->e,
                    "the line of the program that led to the error in line %lld: the traceback "
                    "shows frames of PyTorch alone",
                    (long long)h->first);
}

/* ---- what a message says
 * ----------------------------------------------------------------------------- */

static const error_kind *kind_of(const char *text)
{
    for (int i = 0; i < MW_COUNT(kinds); i++)
        if (strstr(text, kinds[i].phrase)) return &kinds[i];
    return NULL;
}

/* `SomeError: `, at the start; its length, with the blank; 0: none. */
static size_t error_word(const char *at)
{
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    bool named = n > 5 && n < 120 &&
                 (strncmp(at + n - 5, "Error", 5) == 0 ||
                  (n > 9 && strncmp(at + n - 9, "Exception", 9) == 0) ||
                  (n > 7 && strncmp(at + n - 7, "Warning", 7) == 0));
    if (!named) return 0;
    if (at[n] == ':') return n + 1 + strspn(at + n + 1, " ");
    return at[n] ? 0 : n;
}

/* The op that a message names: the first dotted aten name. */
static void named_op(const dt_here *h, mw_draft *d, const error_kind *kind)
{
    const char *at = strstr(h->at, "aten.");
    if (!at) at = strstr(h->at, "aten::");
    if (!at) {
        if (strstr(h->at, "Spec(") == NULL)
            mw__missing(h->e,
                        "op, shapes and mesh of the error in line %lld: the message names none, "
                        "so no sizes can be given",
                        (long long)h->first);
        return;
    }
    size_t n = strcspn(at, " :(!,\"')");
    if (at[n] == ':' && at[n + 1] == ':') n += 2 + strcspn(at + n + 2, " :(!,\"')");
    while (n && at[n - 1] == '.')
        n--;
    const char *name = keep(h, at, n);
    mw__fact(d, "op", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%s", name);
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->op = name;
    if (strcmp(kind->kind, "no-strategy") != 0) return;
    const mw_op *op = mw__op_find(name, strlen(name));
    if (op)
        mw__fact(d, "meshwise's rule", MW_HOW_DERIVED, "meshwise's op table has the op", "%s",
                 op->rule ? op->rule : "a view or a rule of its own");
    static const char *const composite[] = {
        "matmul",      "linear",          "layer_norm",
        "einsum",      "dropout",         "scaled_dot_product_attention",
        "softmax.int", "log_softmax.int", "conv2d",
        "conv1d",      "conv3d",          "rms_norm",
        "reshape",     "flatten",         "group_norm",
        "batch_norm",  "chunk",           "type_as",
        "contiguous"};
    for (int i = 0; i < MW_COUNT(composite); i++) {
        size_t k = strlen(composite[i]);
        const char *rest = name + 5 + (name[5] == ':');
        if (strncmp(rest, composite[i], k) != 0 || (rest[k] && rest[k] != '.')) continue;
        mw__fact(
            d, "composite op", MW_HOW_DERIVED, "ATen declares it CompositeImplicitAutograd",
            "%s is made of other ops; normally it is taken apart (matmul into mm, bmm or a view "
            "and mm) before DTensor sees it. Under torch.inference_mode() that step is left out "
            "and DTensor meets the op itself: torch.no_grad() instead avoids it, as do releases "
            "that decompose in dispatch",
            composite[i]);
    }
}

static void number_after(const dt_here *h, mw_draft *d, const char *words, const char *name)
{
    const char *at = strstr(h->at, words);
    if (!at) return;
    at += strlen(words);
    size_t n = strspn(at, "0123456789");
    if (n && n < 19)
        mw__fact(d, name, MW_HOW_STATED, mw__dt_line_from(h, h->first), "%.*s", (int)n, at);
}

static void numbers(const dt_here *h, mw_draft *d)
{
    number_after(h, d, "flatten sharded dimension ", "place within the merged dims");
    number_after(h, d, "with dimension ", "tensor dim");
    number_after(h, d, "tensor: dimension ", "tensor dim");
    number_after(h, d, "output dimension ", "output dim");
    number_after(h, d, "unevenly sharded dimension ", "tensor dim");
    number_after(h, d, "evenly divisible by mesh dimension ", "mesh dim");
    number_after(h, d, "split the sharded dimension ", "tensor dim");
    number_after(h, d, "split_factor=", "split factor");
    const char *size = strstr(h->at, "(size ");
    if (size) number_after(h, d, "(size ", "size");
    const char *mesh = size ? strstr(size + 1, "(size ") : NULL;
    if (mesh)
        mw__fact(d, "size of the mesh dim", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%d",
                 (int)strtol(mesh + 6, NULL, 10));
}

/* Meshes that a message shows, by name and size. */
static void meshes(const dt_here *h, mw_draft *d)
{
    int n = 0;
    for (const char *at = h->at; n < 4 && (at = strstr(at, "DeviceMesh(")) != NULL; at++, n++) {
        mw_py *node;
        dt_mesh m;
        if (mw__py_read(at, h->end, h->scratch, &node) != MW_OK) {
            h->e->failed = true;
            return;
        }
        const mw_py *call = node->kind == MW_PY_SEQ ? node->first : node;
        if (!mw__dt_read_mesh(call, &m)) continue;
        mw_str text = {0};
        mw__dt_mesh_str(&m, &text);
        char name[24];
        (void)snprintf(name, sizeof name, "mesh %d", n);
        mw__fact(d, name, MW_HOW_STATED, mw__dt_line_from(h, h->first), "(%s) of %s",
                 mw__str_text(&text), m.device[0] ? m.device : "devices that are not named");
        mw__dt_done(h, &text);
    }
}

/* `While redistributing from (S(0), S(0)) to (R, R), 2 sequential all_gather operations ...`. */
static void sequence_of(const dt_here *h, mw_draft *d)
{
    const char *at = strstr(h->at, "While redistributing from ");
    const char *to = at ? strstr(at, " to ") : NULL, *word = to ? strstr(to, " sequential ") : NULL;
    const char *from = mw__dt_line_from(h, h->first), *comma = word;
    if (!word) return;
    while (comma > to && comma[-1] >= '0' && comma[-1] <= '9')
        comma--;
    long n = strtol(comma, NULL, 10);
    while (comma > to + 4 && (comma[-1] == ' ' || comma[-1] == ','))
        comma--;
    at += 26;
    mw__fact(d, "from", MW_HOW_STATED, from, "%.*s", (int)MW_MIN(to - at, 120), at);
    mw__fact(d, "to", MW_HOW_STATED, from, "%.*s", (int)MW_MIN(comma - to - 4, 120), to + 4);
    mw__fact(d, "collectives, one after another", MW_HOW_STATED, from, "%ld", n);
    mw__fact(d, "collective", MW_HOW_STATED, from, "%.*s", (int)MW_MIN(strcspn(word + 12, " "), 40),
             word + 12);
    if ((word = strstr(word, "flatten mesh dimensions [")) != NULL)
        mw__fact(d, "mesh dims to join", MW_HOW_STATED, from, "%.*s",
                 (int)MW_MIN(strcspn(word + 25, "]"), 120), word + 25);
    mw__missing(h->e,
                "the tensor of the warning in line %lld: neither shape nor dtype is in it, so no "
                "bytes can be given",
                (long long)h->first);
}

static void add_kind(const dt_here *h, mw_draft *d, const error_kind *kind)
{
    mw__fact(d, "meaning", MW_HOW_DERIVED, "what PyTorch raises this for", "%s", kind->means);
    mw__problem(d, kind->kind, -1, -1, kind->fix, "%s", kind->means);
    named_op(h, d, kind);
    numbers(h, d);
    meshes(h, d);
    if (strcmp(kind->kind, "suboptimal-plan") == 0) sequence_of(h, d);
}

/* ---- lines
 * ------------------------------------------------------------------------------------------- */

/* An assertion or look-up that failed inside PyTorch: is it the sharding? */
static void library_fault(const dt_here *h, const dt_call *call, mw_draft *d)
{
    const dt_rank *r = h->r;
    bool whole = call->narg > 0, none = false;
    int64_t ranks = call->mesh.naxis ? 1 : 0;
    for (int i = 0; i < call->mesh.naxis; i++)
        ranks *= call->mesh.size[i];
    for (int i = 0; i < call->narg; i++) {
        none = none || call->arg[i].kind == DT_NONE;
        for (int k = 0; call->arg[i].tensor && k < call->arg[i].count; k++)
            for (int a = 0; a < call->arg[i].tensor[k].nplacement; a++)
                whole = whole && call->arg[i].tensor[k].placement[a].kind == 'R';
    }
    bool asserted = r->trace_code && strncmp(r->trace_code, "assert", 6) == 0;
    if (!asserted || !r->trace_file || !strstr(r->trace_file, "torch/distributed/")) return;
    const char *more = none && strstr(r->trace_code, "isinstance")
                           ? " The assert wants a tensor where the call passes None."
                           : "";
    mw__problem(
        d, "library-bug", -1, -1,
        none ? "pass a tensor where the call has None (a zero bias), keep this module out of "
               "the parallel plan, or use a release in which it is mended"
             : "use another release, or keep this module out of the parallel plan",
        "an assert inside PyTorch's own rule failed (%s).%s%s", r->trace_code, more,
        whole || ranks == 1
            ? " Every operand is whole on every rank, so no sharding of yours can be the cause."
            : "");
}

/* `Sharding propagation failed for X`, `... on op X.` */
static bool failed_call(const dt_here *h)
{
    static const char *const words[] = {
        "Sharding propagation failed for ", "Sharding propagation failed on op ",
        "Implicit redistribution occurred for ", "ExplicitRedistributionContext was active for "};
    const char *at = NULL;
    for (int i = 0; i < MW_COUNT(words) && !at; i++)
        if ((at = strstr(h->at, words[i])) != NULL) at += strlen(words[i]);
    if (!at) return false;
    mw_py *node;
    if (mw__py_read(at, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    dt_call *call = mw__dt_read_call(h, node, false);
    if (!call) return false;
    mw__dt_rank_flush(h);
    mw__dt_call_begin(h, call, "error");
    h->r->call = call;
    mw__dt_call_tell(h, call);
    mw_draft *d = call->draft;
    const error_kind *kind = kind_of(h->at);
    if (kind) {
        mw__fact(d, "meaning", MW_HOW_DERIVED, "what PyTorch raises this for", "%s", kind->means);
        mw__problem(d, kind->kind, -1, -1, kind->fix, "%s", kind->means);
        numbers(h, d);
    }
    tell_trace(h, d);
    library_fault(h, call, d);
    mw__draft_weight(d, 60);
    h->r->last_error = d;
    h->r->last_error_line = h->line->number;
    const mw_entry *entry = mw__draft_entry(d);
    if (entry)
        mw__draft_says(d, "%s: %s",
                       strstr(h->at, "Implicit redistribution")
                           ? "A call would move an operand that nobody asked to move"
                           : "DTensor could not place the result of a call",
                       entry->says);
    return true;
}

/* `Error: ...` below `Sharding propagation failed on op ...`: the rule's own words. */
static bool cause_line(const dt_here *h)
{
    dt_rank *r = h->r;
    if (!mw__dt_starts(h, "Error: ") || !r->last_error || h->line->number != r->last_error_line + 1)
        return false;
    mw__fact(r->last_error, "cause", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%.300s",
             h->at + 7);
    const error_kind *kind = kind_of(h->at);
    if (kind) add_kind(h, r->last_error, kind);
    mw__draft_last(r->last_error, h->line->number);
    mw__explain_once(h->e);
    return true;
}

bool mw__dt_error_line(const dt_here *h)
{
    if (cause_line(h)) return true;
    size_t word = error_word(h->at);
    bool about = word || h->first != h->line->number || h->line->indent < 4 ||
                 strstr(h->at, "Error") || strstr(h->at, "warn");
    if (!about || (h->r->trace_first && h->line->number == h->r->trace_last + 1 && !word &&
                   h->line->indent > 0))
        return false;
    if (failed_call(h)) return true;
    const error_kind *kind = kind_of(h->at);
    if (kind && strcmp(kind->phrase, "sequential") == 0 && !strstr(h->at, "While redistributing"))
        kind = NULL;
    if (kind && strcmp(kind->kind, "not-supported") == 0 && !strstr(h->at, "DTensor") &&
        !strstr(h->at, "redistribute"))
        kind = NULL;
    if (!kind && !(word && h->r->trace_first && h->line->number - h->r->trace_last < 4))
        return false;
    mw__dt_rank_flush(h);
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "error");
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->first = h->first;
    const char *name = word ? keep(h, h->at, strcspn(h->at, ":")) : "message";
    mw__draft_weight(d, kind ? 55 : 15);
    mw__draft_says(d, "%s: %s%s", name, kind ? kind->means : "raised", kind ? "." : ".");
    if (word) mw__fact(d, "raised", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%s", name);
    if (h->at[word])
        mw__fact(d, "message", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%.300s",
                 h->at + word);
    if (kind) add_kind(h, d, kind);
    tell_trace(h, d);
    return true;
}
