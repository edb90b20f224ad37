/* The pre-tokenizers: rows of a table. Each pattern of a row cuts every piece that the one before
 * it left, and both what it matches and what lies between are pieces; a piece is matched as a text
 * of its own, so that "not followed by" looks no further than its end. The pieces always join to
 * the text.
 *
 * PCRE2 knows the categories of characters. Its own \s has U+180E, which Unicode took out of
 * White_Space in version 6.3, so the patterns spell that set out. PCRE2 must be given well-formed
 * text: a byte that begins no character is shown to it as U+FFFD, which is what such a byte counts
 * as, in a shadow of the text; offsets are carried back. Its memory comes from our allocator. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/text.h"

#include <pcre2.h>

enum { PATTERNS = 4, HEAD = 16 };

#define WS     \
    "\\t-\\r " \
    "\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define SPACES_BUT_THE_LAST "[" WS "]+(?![^" WS "])"
#define GPT2                                                                                    \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" WS "\\p{L}\\p{N}]+|" SPACES_BUT_THE_LAST \
    "|[" WS "]+"
/* Llama 3 and Qwen 2 differ in how many digits go together. */
#define LLAMA3(digits)                                                              \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^" WS \
    "\\p{L}\\p{N}]+[\\r\\n]*|[" WS "]*[\\r\\n]+|" SPACES_BUT_THE_LAST "|[" WS "]+"

typedef struct row {
    const char *name;  /* as tokenizer.ggml.pre says it */
    const char *other; /* more names of the same rule, separated by spaces */
    const char *pattern[PATTERNS];
    bool whole_first; /* a piece that is a token is that token, whatever the merges say */
    bool adds_bos;    /* where the file says nothing */
} row;

/* To add a pre-tokenizer, add a row: its name and its patterns in the order in which they apply,
 * with WS in a class for \s. A pattern never matches the empty text. */
static const row rows[] = {
    {.name = "default",
     .other = "",
     .pattern = {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {.name = "gpt-2", .other = "gpt2 phi-2 olmo", .pattern = {GPT2}},
    {.name = "smollm",
     .other = "starcoder refact command-r codeshell",
     .pattern = {"\\p{N}", GPT2}},
    {.name = "llama-bpe",
     .other = "llama3 llama-v3",
     .pattern = {LLAMA3("\\p{N}{1,3}")},
     .whole_first = true,
     .adds_bos = true},
    {.name = "qwen2", .other = "deepseek-r1-qwen", .pattern = {LLAMA3("\\p{N}")}},
};

struct mw__pretoken {
    const row *row;
    const mw_allocator *allocator;
    pcre2_general_context *general;
    pcre2_match_context *limits;
    pcre2_code *code[PATTERNS];
    int count;
};

struct mw__splitter {
    const mw__pretoken *pretoken;
    pcre2_match_data *match;
    mw_str shadow;
    /* of the run at hand */
    const char *text; /* the caller's */
    int64_t length, done;
    bool shadowed;
    mw__piece_fn emit;
    void *user;
};

/* PCRE2 frees without saying the size, so it is kept in front of the block. */
static void *pcre_alloc(PCRE2_SIZE size, void *user)
{
    const mw_allocator *allocator = user;
    if (size > SIZE_MAX - HEAD) return NULL;
    size_t whole = size + HEAD;
    mw__ctx_get()->allocations++;
    char *block = allocator->resize(allocator->user, NULL, 0, whole);
    if (!block) return NULL;
    memcpy(block, &whole, sizeof whole);
    return block + HEAD;
}

static void pcre_free(void *at, void *user)
{
    const mw_allocator *allocator = user;
    if (!at) return;
    char *block = (char *)at - HEAD;
    size_t whole;
    memcpy(&whole, block, sizeof whole);
    (void)allocator->resize(allocator->user, block, whole, 0);
}

/* True where `name` is one of the words of `list`. */
static bool has_word(const char *list, const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || strchr(name, ' ')) return false;
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return true;
    return false;
}

static mw_status find_row(const char *name, const row **ret)
{
    const char *names[MW_COUNT(rows)];
    char known[512] = "";
    size_t used = 0;
    for (int i = 0; i < MW_COUNT(rows); i++) {
        if (strcmp(rows[i].name, name) == 0 || has_word(rows[i].other, name)) {
            *ret = &rows[i];
            return MW_OK;
        }
        names[i] = rows[i].name;
        size_t length = strlen(names[i]);
        if (used + length + 3 > sizeof known) continue;
        if (used) known[used++] = ',', known[used++] = ' ';
        memcpy(known + used, names[i], length + 1);
        used += length;
    }
    char quoted[MW__QUOTE];
    mw_status status =
        MW_FAIL(MW_ERR_UNSUPPORTED, "the pre-tokenizer '%s' is not known; known are %s",
                mw__text_quote((mw_bytes){name, (int64_t)strlen(name)}, quoted), known);
    const char *nearest = mw__nearest(name, names, MW_COUNT(names));
    if (nearest)
        mw__error_hint("did the file mean '%s'?", nearest);
    else
        mw__error_hint("token ids can be given as they are, with --ids");
    return status;
}

static mw_status compile(mw__pretoken *p)
{
    p->general =
        pcre2_general_context_create(pcre_alloc, pcre_free, (void *)(uintptr_t)p->allocator);
    p->limits = p->general ? pcre2_match_context_create(p->general) : NULL;
    if (!p->limits) return MW_NOMEM();
    /* Its default would give up inside a run of ten million spaces. The patterns cost time in
     * proportion to the text, which has fewer bytes than this. */
    (void)pcre2_set_match_limit(p->limits, UINT32_MAX);
    pcre2_compile_context *context = pcre2_compile_context_create(p->general);
    if (!context) return MW_NOMEM();
    mw_status status = MW_OK;
    while (status == MW_OK && p->count < PATTERNS && p->row->pattern[p->count]) {
        int error = 0;
        PCRE2_SIZE where = 0;
        pcre2_code *code =
            pcre2_compile((PCRE2_SPTR)p->row->pattern[p->count], PCRE2_ZERO_TERMINATED,
                          PCRE2_UTF | PCRE2_UCP, &error, &where, context);
        if (code)
            p->code[p->count++] = code;
        else if (error == PCRE2_ERROR_HEAP_FAILED)
            status = MW_NOMEM();
        else
            status =
                MW_FAIL(MW_ERR_INTERNAL, "pattern %d of the pre-tokenizer '%s' is wrong at %lld",
                        p->count, p->row->name, (long long)where);
    }
    pcre2_compile_context_free(context);
    return status;
}

mw_status mw__pretoken_new(const char *name, mw__pretoken **ret)
{
    mw_status status;
    const row *found;
    MW_TRY(find_row(name ? name : "default", &found));
    mw__pretoken *p = mw__zalloc(sizeof *p);
    if (!p) return MW_NOMEM();
    p->row = found;
    p->allocator = mw__ctx_get()->allocator;
    MW_TRY_GOTO(compile(p), fail);
    *ret = p;
    return MW_OK;
fail:
    mw__pretoken_free(p);
    return status;
}

void mw__pretoken_free(mw__pretoken *p)
{
    if (!p) return;
    for (int i = 0; i < p->count; i++)
        pcre2_code_free(p->code[i]);
    pcre2_match_context_free(p->limits);
    pcre2_general_context_free(p->general);
    (void)p->allocator->resize(p->allocator->user, p, sizeof *p, 0);
}

const char *mw__pretoken_name(const mw__pretoken *p)
{
    return p->row->name;
}

bool mw__pretoken_whole_first(const mw__pretoken *p)
{
    return p->row->whole_first;
}

bool mw__pretoken_adds_bos(const mw__pretoken *p)
{
    return p->row->adds_bos;
}

mw_status mw__splitter_new(const mw__pretoken *pretoken, mw__splitter **ret)
{
    mw__splitter *s = mw__zalloc(sizeof *s);
    if (!s) return MW_NOMEM();
    s->pretoken = pretoken;
    s->match = pcre2_match_data_create(1, pretoken->general);
    if (!s->match) {
        mw__splitter_free(s);
        return MW_NOMEM();
    }
    *ret = s;
    return MW_OK;
}

void mw__splitter_free(mw__splitter *s)
{
    if (!s) return;
    pcre2_match_data_free(s->match);
    mw__str_done(&s->shadow);
    mw__free(s, sizeof *s);
}

/* The piece is the next `length` bytes of the subject: hands on the bytes of the text behind them.
 */
static mw_status emit_piece(mw__splitter *s, int64_t length)
{
    int64_t from = s->done;
    if (!s->shadowed) {
        s->done += length;
    } else {
        while (length > 0) {
            int n = mw__utf8_length(s->text + s->done, s->length - s->done);
            s->done += n > 0 ? n : 1;
            length -= n > 0 ? n : 3; /* U+FFFD has three bytes */
        }
    }
    return s->emit(s->user, s->text + from, s->done - from);
}

/* Cuts one piece by the patterns from `nth` on. */
static mw_status split(mw__splitter *s, int nth, const char *piece, int64_t length)
{
    if (length == 0) return MW_OK;
    if (nth == s->pretoken->count) return emit_piece(s, length);
    PCRE2_SIZE at = 0, size = (PCRE2_SIZE)length;
    while (at < size) {
        int found = pcre2_match(s->pretoken->code[nth], (PCRE2_SPTR)piece, size, at,
                                PCRE2_NO_UTF_CHECK, s->match, s->pretoken->limits);
        if (found == PCRE2_ERROR_NOMEMORY || found == PCRE2_ERROR_HEAPLIMIT) return MW_NOMEM();
        if (found < 0 && found != PCRE2_ERROR_NOMATCH)
            return MW_FAIL(MW_ERR_INTERNAL, "PCRE2 gave up on the text with error %d", found);
        PCRE2_SIZE begin = size, end = size;
        if (found > 0) {
            /* Copied, because the next pattern overwrites them. */
            begin = pcre2_get_ovector_pointer(s->match)[0];
            end = pcre2_get_ovector_pointer(s->match)[1];
        }
        MW_TRY(split(s, nth + 1, piece + at, (int64_t)(begin - at)));
        MW_TRY(split(s, nth + 1, piece + begin, (int64_t)(end - begin)));
        at = end;
    }
    return MW_OK;
}

/* Fills the shadow if the text needs one; returns what PCRE2 is to see. */
static mw_status subject_of(mw__splitter *s, const char **ret, int64_t *ret_length)
{
    int64_t good = 0;
    *ret = s->text;
    *ret_length = s->length;
    s->shadowed = false;
    mw__str_clear(&s->shadow);
    for (int64_t at = 0; at < s->length;) {
        int n = mw__utf8_length(s->text + at, s->length - at);
        if (n <= 0) {
            mw__str_append(&s->shadow, s->text + good, (size_t)(at - good));
            mw__str_puts(&s->shadow, "\xef\xbf\xbd");
            good = at + 1;
            s->shadowed = true;
        }
        at += n > 0 ? n : 1;
    }
    if (!s->shadowed) return MW_OK;
    mw__str_append(&s->shadow, s->text + good, (size_t)(s->length - good));
    *ret = s->shadow.at;
    *ret_length = (int64_t)s->shadow.length;
    return mw__str_status(&s->shadow);
}

mw_status mw__splitter_run(mw__splitter *s, const char *text, int64_t length, mw__piece_fn emit,
                           void *user)
{
    const char *subject;
    int64_t size;
    s->text = text;
    s->length = length;
    s->done = 0;
    s->emit = emit;
    s->user = user;
    MW_TRY(subject_of(s, &subject, &size));
    return split(s, 0, subject, size);
}
