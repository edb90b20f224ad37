/* PyTorch/XLA: annotations in pasted code, the custom ops that carry them, messages, and printed
 * shardings. A statement may go on over several lines while its brackets are open. */
#include "log/explain.h"
#include "log/torch_xla.h"

enum { JOINED_BYTES = 1 << 16 };

/* ---- messages ----------------------------------------------------------------------------------
 */

static const struct message {
    const char *kind, *phrase, *first, *second, *means, *fix;
} messages[] = {
#define ERROR(kind, phrase, first, second, means, fix) {kind, phrase, first, second, means, fix},
#include "log/torch_xla_errors.def"
#undef ERROR
};

/* The numbers in brackets of a message, in their order: `Number of device IDs (6) must ...`. */
static void tell_numbers(const xs_here *h, mw_draft *d, const struct message *m, const char *at)
{
    const char *names[2] = {m->first, m->second};
    const char *start = strstr(h->text, "Number of ");
    if (!start || start > at) start = at;
    for (int i = 0; i < 2 && *names[i]; i++) {
        int64_t n;
        start = strchr(start, '(');
        if (!start) return;
        start++;
        const char *p = start;
        if (mw__hlo_int(&p, &n))
            mw__fact(d, names[i], MW_HOW_STATED, h->from, "%lld", (long long)n);
    }
}

/* `Existing annotation must be cleared first: {devices=...}`: what it has. */
static void tell_existing(const xs_here *h, mw_draft *d, const char *at)
{
    hlo_sharding s;
    const char *brace = strchr(at, '{');
    if (brace && mw__hlo_sharding_read(brace, &s))
        mw__hlo_tell(h->e, d, "it has", h->from, &s, NULL, false, NULL);
}

static bool claims(const mw_line *line)
{
    for (int i = 0; i < MW_COUNT(messages); i++)
        if (strstr(line->text, messages[i].phrase)) return true;
    return strstr(line->text, "mark_sharding") &&
           strstr(line->text, "Failed running call_function");
}

static bool message_line(const xs_here *h)
{
    for (int i = 0; i < MW_COUNT(messages); i++) {
        const struct message *m = &messages[i];
        const char *at = strstr(h->text, m->phrase);
        if (!at) continue;
        uint64_t hash = mw__hash(6, at, strlen(at));
        if (mw__spmd_again(&h->s->told, hash, h->line)) return true;
        mw_draft *d = mw__draft(h->e, h->line, "torch_xla", "error");
        mw__spmd_tell_once(&h->s->told, hash, d);
        mw__draft_weight(d, 80);
        mw__draft_says(d, "PyTorch/XLA refuses: %s.", m->means);
        mw__fact(d, "message", MW_HOW_STATED, h->from, "%s", mw__xs_keep(h, h->text, 500));
        tell_numbers(h, d, m, at);
        if (strcmp(m->kind, "marked-twice") == 0) tell_existing(h, d, at);
        if (strcmp(m->kind, "not-xla") == 0 && strchr(at, ':'))
            mw__fact(d, "it is", MW_HOW_STATED, h->from, "%s",
                     mw__xs_keep(h, strchr(at, ':') + 1 + strspn(strchr(at, ':') + 1, " "), 60));
        mw__spmd_tell_frame(h->e, d, h->line);
        mw__problem(d, m->kind, -1, -1, m->fix, "%s", m->means);
        return true;
    }
    return false;
}

/* ---- lines -------------------------------------------------------------------------------------
 */

static bool import_line(const char *text)
{
    bool import = strncmp(text, "import ", 7) == 0 || strncmp(text, "from ", 5) == 0;
    return import && strstr(text, "torch_xla");
}

/* A statement that tells of annotations may go on in the next lines. */
static bool may_go_on(const char *text)
{
    static const char *const words[] = {"mark_sharding(", "Mesh(", "np.array(", "torch.randn("};
    for (int i = 0; i < MW_COUNT(words); i++)
        if (strstr(text, words[i])) return !strstr(text, "Failed running") && !strstr(text, "::");
    return false;
}

/* Code without the comment behind it. */
static void cut_comment(char *text)
{
    char quote = 0;
    for (char *p = text; *p; p++) {
        if (quote)
            quote = *p == quote ? 0 : quote;
        else if (*p == '\'' || *p == '"')
            quote = *p;
        else if (*p == '#') {
            *p = 0;
            return;
        }
    }
}

static bool statement(xs_here *h)
{
    char *code = mw__arena_strndup(&h->e->scratch, h->text, strlen(h->text));
    if (!code) {
        h->e->failed = true;
        return false;
    }
    cut_comment(code);
    size_t n = strlen(code);
    while (n && code[n - 1] == ' ')
        code[--n] = 0;
    if (strncmp(code, ">>> ", 4) == 0 || strncmp(code, "... ", 4) == 0) code += 4;
    h->text = code;
    return *code && mw__xs_statement(h);
}

static bool one_line(xs_here *h)
{
    if (import_line(h->text)) return true;
    if (mw__xs_op_line(h) || message_line(h)) return true;
    return (!strstr(h->text, "Tensor ") && statement(h)) || mw__xs_declaration(h) ||
           mw__xs_print_line(h) || mw__xs_words_line(h);
}

static mw_status xs_line(mw_explain *e, void *state, const mw_line *line, bool *ret_taken)
{
    xs_state *s = state;
    xs_here h = {.e = e, .s = s, .line = line};
    bool begins = may_go_on(line->text), open;
    MW_TRY(
        mw__spmd_join(&s->joined, line, begins, JOINED_BYTES, &h.text, &h.first, &open, ret_taken));
    if (open) return MW_OK;
    h.from = mw__spmd_from(e, h.first);
    *ret_taken = one_line(&h) || *ret_taken;
    return e->failed ? MW_NOMEM() : MW_OK;
}

static mw_status xs_end(mw_explain *e, void *state)
{
    xs_state *s = state;
    mw_line line;
    s->op = NULL;
    if (!mw__spmd_unjoin(&s->joined, &line)) return MW_OK;
    xs_here h = {.e = e, .s = s, .line = &line, .text = line.text, .first = line.number};
    h.from = mw__spmd_from(e, h.first);
    (void)one_line(&h);
    return e->failed ? MW_NOMEM() : MW_OK;
}

static void xs_done(void *state)
{
    xs_state *s = state;
    mw__str_done(&s->joined.text);
}

const mw_reader_kind mw_reader_torch_xla = {.name = "torch_xla",
                                            .state_size = sizeof(xs_state),
                                            .line = xs_line,
                                            .end = xs_end,
                                            .done = xs_done,
                                            .claims = claims};
