/* The chat template. A Jinja interpreter would be a second language in the library; what models of
 * this size carry is the ChatML family, which writes each turn as
 *
 *     <|im_start|>role \n content <|im_end|> \n
 *
 * It is recognised by its turns in the template's text and by its markers in the vocabulary. The
 * default system message is taken from the template where it stands there as a literal. Any other
 * template is refused: a wrong turn format gives fluent nonsense, which is worse than an error. */
#include "text/text.h"

static const char OPEN[] = "<|im_start|>", CLOSE[] = "<|im_end|>";

enum { OPEN_LENGTH = sizeof OPEN - 1, CLOSE_LENGTH = sizeof CLOSE - 1 };

/* The first place of `word` in [at, end), or NULL. */
static const char *find(const char *at, const char *end, const char *word)
{
    return at < end ? memmem(at, (size_t)(end - at), word, strlen(word)) : NULL;
}

/* True where a line break, written as itself or as an escape, stands within the next `within`
 * bytes. */
static bool breaks_soon(const char *at, const char *end, int64_t within)
{
    end = MW_MIN(end, at + MW_MIN(within, end - at));
    return find(at, end, "\n") || find(at, end, "\\n");
}

/* A turn opens with the role and a line break: '<|im_start|>' + message['role'] + '\n',
 * message.role, or the name of a role itself; and a line break follows its end. Families that put
 * another marker there are not this one. */
static bool is_chatml(const char *at, const char *end)
{
    static const char *const roles[] = {"role", "user", "assistant", "system"};
    bool opens = false, closes = false;
    for (const char *p = at; (p = find(p, end, OPEN)) && !opens; p += OPEN_LENGTH) {
        const char *after = p + OPEN_LENGTH, *near = MW_MIN(end, after + MW_MIN(40, end - after));
        for (int i = 0; i < MW_COUNT(roles) && !opens; i++) {
            const char *role = find(after, near, roles[i]);
            if (role) opens = breaks_soon(role + strlen(roles[i]), end, 12);
        }
    }
    for (const char *p = at; (p = find(p, end, CLOSE)) && !closes; p += CLOSE_LENGTH)
        closes = breaks_soon(p + CLOSE_LENGTH, end, 10);
    return opens && closes && !find(at, end, "<|im_sep|>");
}

/* Appends the literal that begins at `at` up to CLOSE to `ret`; false where it ends before: there
 * is an expression in between. Inside quotes, escapes mean what they mean in Jinja. */
static bool read_literal(const char *at, const char *end, char quote, mw_str *ret)
{
    const char *close = find(at, end, CLOSE);
    for (; close && at < close; at++) {
        bool code =
            at[0] == '{' && (at[1] == '{' || at[1] == '%'); /* CLOSE follows: at[1] is there */
        if (quote ? *at == quote : code) return false;
        static const char escapes[] =
            "n\nt\tr\r\\\\''\"\""; /* pairs: what is written, what it is */
        const char *escape = NULL;
        for (int i = 0; quote && *at == '\\' && escapes[i] && !escape; i += 2)
            if (at[1] == escapes[i]) escape = &escapes[i + 1];
        mw__str_putc(ret, escape ? *escape : *at);
        at += escape != NULL;
    }
    return close;
}

/* The default system message is the first system turn that is written out in full. */
static bool find_system(const char *text, const char *end, mw_str *ret)
{
    static const char turn[] = "<|im_start|>system";
    for (const char *p = text; (p = find(p, end, turn));) {
        char quote = p > text && (p[-1] == '\'' || p[-1] == '"') ? p[-1] : 0;
        p += sizeof turn - 1;
        mw__str_clear(ret);
        bool escaped = quote && end - p > 1 && p[0] == '\\' && p[1] == 'n';
        if (!escaped && (p == end || *p != '\n')) continue;
        if (read_literal(p + (escaped ? 2 : 1), end, quote, ret)) return true;
    }
    return false;
}

mw_status mw__chat_read(mw_tokenizer *t, mw_bytes text)
{
    if (!text.at || text.length <= 0) return MW_OK;
    const char *end = text.at + text.length;
    t->chat.given = true;
    t->chat.known = is_chatml(text.at, end) && mw_tokenizer_find(t, OPEN, OPEN_LENGTH) >= 0 &&
                    mw_tokenizer_find(t, CLOSE, CLOSE_LENGTH) >= 0;
    if (!t->chat.known) return MW_OK;
    mw_str system = {0};
    bool found = find_system(text.at, end, &system);
    mw_status status = mw__str_status(&system);
    if (status == MW_OK && found) {
        char *copy = mw__arena_strndup(&t->arena, mw__str_text(&system), system.length);
        t->chat.system = (mw_bytes){copy, (int64_t)system.length};
        if (!copy) status = MW_NOMEM();
    }
    mw__str_done(&system);
    return status;
}

mw_bytes mw_chat_default_system(const mw_tokenizer *t)
{
    return t->chat.system;
}

static void add_turn(mw__sink *sink, const char *role, mw_bytes content)
{
    mw__sink_add(sink, OPEN, OPEN_LENGTH);
    mw__sink_add(sink, role, (int64_t)strlen(role));
    mw__sink_add(sink, "\n", 1);
    mw__sink_add(sink, content.at, content.length);
    mw__sink_add(sink, CLOSE, CLOSE_LENGTH);
    mw__sink_add(sink, "\n", 1);
}

static mw_status check_template(const mw_tokenizer *t)
{
    mw_status status = MW_OK;
    if (!t->chat.given)
        status = MW_FAIL(MW_ERR_UNSUPPORTED, "the model file has no chat template");
    else if (!t->chat.known)
        status =
            MW_FAIL(MW_ERR_UNSUPPORTED,
                    "the model file's chat template is not of the ChatML family, the one that is "
                    "known: turns between <|im_start|> and <|im_end|>");
    if (status != MW_OK)
        mw__error_hint("--prompt works: write the turns out as the model was trained on them");
    return status;
}

mw_status mw_chat_render(const mw_tokenizer *t, const mw_turn *turns, int count, int open_reply,
                         char *to, int64_t size, int64_t *ret_length)
{
    mw__sink sink;
    mw__sink_init(&sink, to, size);
    MW_TRY(check_template(t));
    for (int i = 0; i < count; i++)
        if (!turns[i].role || !turns[i].role[0])
            return MW_FAIL(MW_ERR_ARG, "turn %d of %d has no role (turns are counted from 0)", i,
                           count);
    bool own = count > 0 && strcmp(turns[0].role, "system") == 0;
    if (!own && t->chat.system.at) add_turn(&sink, "system", t->chat.system);
    for (int i = 0; i < count; i++)
        add_turn(&sink, turns[i].role, turns[i].content);
    if (open_reply) {
        mw__sink_add(&sink, OPEN, OPEN_LENGTH);
        mw__sink_add(&sink, "assistant\n", 10);
    }
    mw__sink_add(&sink, "", 0);
    *ret_length = sink.length;
    return MW_OK;
}
