/* The vocabulary, from what the file says to what encoding needs: tokens by spelling, merges by
 * pair of ids, special tokens in sorted order, the bytes behind each id. Everything lives in one
 * arena and is never changed again, which is why threads may share it.
 *
 * A file that contradicts itself is refused here, by name of the token or merge, so that encoding
 * has nothing left to doubt: every id in every table is inside the vocabulary. */
#include "text/text.h"

#include <stdlib.h>

enum { MOST_TOKENS = INT32_MAX / 4 };

static uint64_t hash_pair(int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

/* Slots of an open-addressing table for `count` things: a power of two, at most half full. */
static int64_t slots_for(int64_t count)
{
    int64_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

const mw__merge *mw__merge_find(const mw_tokenizer *t, int32_t left, int32_t right)
{
    uint64_t mask = (uint64_t)t->merge_slots - 1;
    for (uint64_t i = hash_pair(left, right);; i++) {
        const mw__merge *merge = &t->merge[i & mask];
        if (merge->left == left && merge->right == right) return merge;
        if (merge->left < 0) return NULL;
    }
}

static bool same(mw_bytes a, mw_bytes b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, (size_t)a.length) == 0);
}

/* The slot of a spelling: its own, or the free one where it would go. */
static int32_t *spelling_slot(const mw_tokenizer *t, mw_bytes spelling)
{
    uint64_t mask = (uint64_t)t->spelling_slots - 1;
    for (uint64_t i = mw__hash(0, spelling.at, (size_t)spelling.length);; i++) {
        int32_t *slot = &t->by_spelling[i & mask];
        if (*slot < 0 || same(t->spelling[*slot], spelling)) return slot;
    }
}

int64_t mw_tokenizer_find(const mw_tokenizer *t, const char *spelling, int64_t length)
{
    return length > 0 ? *spelling_slot(t, (mw_bytes){spelling, length}) : -1;
}

int32_t mw__special_find(const mw_tokenizer *t, const char *at, int64_t size)
{
    int32_t best = -1;
    int64_t low = 0, high = t->nspecial;
    if (size == 0 || !t->begins_special[(uint8_t)at[0]]) return -1;
    /* All of [low, high) begin with the first `depth` bytes; the shortest stand first. */
    for (int64_t depth = 0; low < high; depth++) {
        for (; low < high && t->special[low].spelling.length == depth; low++)
            best = t->special[low].id;
        if (depth == size) break;
        uint8_t byte = (uint8_t)at[depth];
        int64_t bound[2];
        for (int side = 0; side < 2; side++) {
            int64_t from = low, to = high;
            while (from < to) {
                int64_t middle = from + (to - from) / 2;
                int there = (uint8_t)t->special[middle].spelling.at[depth];
                if (there < byte + side)
                    from = middle + 1;
                else
                    to = middle;
            }
            bound[side] = from;
        }
        low = bound[0];
        high = bound[1];
    }
    return best;
}

static bool is_special(const mw_tokenizer *t, int64_t id)
{
    return (t->type[id] == MW_TOKEN_CONTROL || t->type[id] == MW_TOKEN_USER ||
            t->type[id] == MW_TOKEN_UNKNOWN) &&
           t->spelling[id].length > 0;
}

/* The bytes that a token stands for. Special tokens, and any that is not wholly in GPT-2's
 * spelling, stand for their spelling. */
static mw_status find_piece(mw_tokenizer *t, int64_t id)
{
    mw_bytes spelling = t->spelling[id];
    t->piece[id] = spelling;
    if (is_special(t, id) || spelling.length == 0) return MW_OK;
    char *bytes = mw__arena_alloc(&t->arena, (size_t)spelling.length);
    if (!bytes) return MW_NOMEM();
    int64_t length = 0;
    for (int64_t i = 0; i < spelling.length;) {
        uint8_t byte;
        int read = mw__byte_unspell(spelling.at + i, spelling.length - i, &byte);
        if (read == 0) return MW_OK;
        bytes[length++] = (char)byte;
        i += read;
    }
    t->piece[id] = (mw_bytes){bytes, length};
    return MW_OK;
}

static mw_status read_tokens(mw_tokenizer *t, const mw_vocab_source *source)
{
    size_t count = (size_t)source->ntokens;
    t->count = source->ntokens;
    t->spelling_slots = slots_for(t->count);
    t->spelling = mw__arena_alloc(&t->arena, count * sizeof *t->spelling);
    t->piece = mw__arena_alloc(&t->arena, count * sizeof *t->piece);
    t->type = mw__arena_alloc(&t->arena, count);
    t->by_spelling = mw__arena_alloc(&t->arena, (size_t)t->spelling_slots * sizeof *t->by_spelling);
    if (!t->spelling || !t->piece || !t->type || !t->by_spelling) return MW_NOMEM();
    memset(t->by_spelling, 0xff, (size_t)t->spelling_slots * sizeof *t->by_spelling);
    for (int64_t id = 0; id < t->count; id++) {
        mw_bytes given = source->tokens[id];
        int32_t type = source->types ? source->types[id] : MW_TOKEN_NORMAL;
        if (type < 0 || type > MW_TOKEN_BYTE)
            return MW_FAIL(MW_ERR_FORMAT,
                           "token %lld of the vocabulary has the type %d; types are 0 to %d",
                           (long long)id, (int)type, MW_TOKEN_BYTE);
        char *copy =
            mw__arena_strndup(&t->arena, given.length ? given.at : "", (size_t)given.length);
        if (!copy) return MW_NOMEM();
        t->spelling[id] = (mw_bytes){copy, given.length};
        t->type[id] = (uint8_t)type;
        MW_TRY(find_piece(t, id));
        t->longest = MW_MAX(t->longest, t->piece[id].length);
        /* Of two tokens spelled alike the later one is found, as other programs have it. */
        if (given.length) *spelling_slot(t, t->spelling[id]) = (int32_t)id;
    }
    return MW_OK;
}

static mw_status find_bytes(mw_tokenizer *t)
{
    int have = 0;
    for (int byte = 0; byte < 256; byte++) {
        char spelled[2];
        int length = mw__byte_spell((uint8_t)byte, spelled);
        t->byte_id[byte] = (int32_t)mw_tokenizer_find(t, spelled, length);
        have += t->byte_id[byte] >= 0;
    }
    if (have) return MW_OK;
    return MW_FAIL(MW_ERR_FORMAT,
                   "the vocabulary of %lld tokens has no token for any single byte, so "
                   "it is not a byte-level one",
                   (long long)t->count);
}

static int by_spelling(const void *a, const void *b)
{
    const mw__special *left = a, *right = b;
    int64_t shared = MW_MIN(left->spelling.length, right->spelling.length);
    int order = memcmp(left->spelling.at, right->spelling.at, (size_t)shared);
    if (order) return order;
    if (left->spelling.length != right->spelling.length)
        return left->spelling.length < right->spelling.length ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

static mw_status find_specials(mw_tokenizer *t)
{
    int64_t count = 0;
    for (int64_t id = 0; id < t->count; id++)
        count += is_special(t, id);
    t->special = mw__arena_alloc(&t->arena, (size_t)count * sizeof *t->special);
    if (!t->special) return MW_NOMEM();
    for (int64_t id = 0; id < t->count; id++) {
        if (!is_special(t, id)) continue;
        t->special[t->nspecial++] = (mw__special){t->spelling[id], (int32_t)id};
        t->begins_special[(uint8_t)t->spelling[id].at[0]] = true;
    }
    qsort(t->special, (size_t)count, sizeof *t->special, by_spelling);
    return MW_OK;
}

/* The id of one part of a merge, or an error that shows the merge. */
static mw_status part_id(const mw_tokenizer *t, int64_t nth, mw_bytes merge, mw_bytes part,
                         int32_t *ret)
{
    int64_t id = mw_tokenizer_find(t, part.at, part.length);
    char shown[MW__QUOTE], missing[MW__QUOTE];
    if (id < 0)
        return MW_FAIL(MW_ERR_FORMAT,
                       "merge %lld, '%s', needs the token '%s', which the vocabulary of %lld "
                       "tokens lacks",
                       (long long)nth, mw__text_quote(merge, shown), mw__text_quote(part, missing),
                       (long long)t->count);
    *ret = (int32_t)id;
    return MW_OK;
}

static mw_status read_merge(mw_tokenizer *t, int64_t nth, mw_bytes merge, mw_str *joined)
{
    const char *space =
        merge.length > 1 ? memchr(merge.at + 1, ' ', (size_t)merge.length - 1) : NULL;
    char shown[MW__QUOTE];
    int64_t left_length = space ? space - merge.at : 0;
    mw_bytes left = {merge.at, left_length},
             right = {space ? space + 1 : NULL, merge.length - left_length - 1};
    if (!space || right.length == 0)
        return MW_FAIL(MW_ERR_FORMAT, "merge %lld, '%s', is not two tokens with a space between",
                       (long long)nth, mw__text_quote(merge, shown));
    mw__merge new = {.rank = (int32_t)nth};
    MW_TRY(part_id(t, nth, merge, left, &new.left));
    MW_TRY(part_id(t, nth, merge, right, &new.right));
    mw__str_clear(joined);
    mw__str_append(joined, left.at, (size_t)left.length);
    mw__str_append(joined, right.at, (size_t)right.length);
    MW_TRY(mw__str_status(joined));
    MW_TRY(part_id(t, nth, merge, (mw_bytes){joined->at, (int64_t)joined->length}, &new.id));
    uint64_t mask = (uint64_t)t->merge_slots - 1, i = hash_pair(new.left, new.right);
    while (t->merge[i & mask].left >= 0) {
        const mw__merge *there = &t->merge[i & mask];
        if (there->left == new.left && there->right == new.right)
            return MW_OK; /* the first counts */
        i++;
    }
    t->merge[i & mask] = new;
    return MW_OK;
}

static mw_status read_merges(mw_tokenizer *t, const mw_vocab_source *source)
{
    mw_status status = MW_OK;
    mw_str joined = {0};
    t->merge_slots = slots_for(source->nmerges);
    t->merge = mw__arena_alloc(&t->arena, (size_t)t->merge_slots * sizeof *t->merge);
    if (!t->merge) return MW_NOMEM();
    for (int64_t i = 0; i < t->merge_slots; i++)
        t->merge[i].left = -1;
    for (int64_t i = 0; i < source->nmerges && status == MW_OK; i++)
        status = read_merge(t, i, source->merges[i], &joined);
    mw__str_done(&joined);
    return status;
}

static mw_status check_id(const char *what, int64_t id, int64_t count)
{
    if (id >= -1 && id < count) return MW_OK;
    return MW_FAIL(MW_ERR_FORMAT, "the %s id %lld is not in the vocabulary of %lld tokens", what,
                   (long long)id, (long long)count);
}

static mw_status check_source(const mw_vocab_source *source)
{
    if (!source->model || strcmp(source->model, "gpt2") != 0) {
        const char *name = source->model ? source->model : "";
        char shown[MW__QUOTE];
        mw_status status =
            MW_FAIL(MW_ERR_UNSUPPORTED,
                    "the file's tokenizer is of the kind '%s'; the kind that is read is "
                    "'gpt2', byte-level BPE",
                    mw__text_quote((mw_bytes){name, (int64_t)strlen(name)}, shown));
        mw__error_hint("token ids can be given as they are, with --ids");
        return status;
    }
    if (source->ntokens < 1 || source->ntokens > MOST_TOKENS || source->nmerges < 0 ||
        source->nmerges > MOST_TOKENS)
        return MW_FAIL(MW_ERR_FORMAT, "a vocabulary of %lld tokens and %lld merges cannot be used",
                       (long long)source->ntokens, (long long)source->nmerges);
    MW_TRY(check_id("bos", source->bos_id, source->ntokens));
    MW_TRY(check_id("eos", source->eos_id, source->ntokens));
    MW_TRY(check_id("eot", source->eot_id, source->ntokens));
    if (source->add_bos > 0 && source->bos_id < 0)
        return MW_FAIL(MW_ERR_FORMAT,
                       "the file asks for a bos token before each text and names none");
    return MW_OK;
}

static mw_status fill(mw_tokenizer *t, const mw_vocab_source *source)
{
    MW_TRY(check_source(source));
    MW_TRY(mw__pretoken_new(source->pre, &t->pre));
    MW_TRY(read_tokens(t, source));
    MW_TRY(find_bytes(t));
    MW_TRY(find_specials(t));
    MW_TRY(read_merges(t, source));
    MW_TRY(mw__chat_read(t, source->chat_template));
    t->bos = source->bos_id;
    t->eos = source->eos_id;
    t->eot = source->eot_id;
    if (t->eot < 0 && t->chat.known) t->eot = mw_tokenizer_find(t, "<|im_end|>", 10);
    bool by_rule = mw__pretoken_adds_bos(t->pre) && t->bos >= 0;
    t->add_bos = source->add_bos < 0 ? by_rule : source->add_bos > 0;
    return MW_OK;
}

mw_status mw_tokenizer_new(const mw_vocab_source *source, mw_tokenizer **ret)
{
    mw_status status;
    mw_arena arena;
    if (!source || !ret)
        return MW_FAIL(MW_ERR_ARG, "mw_tokenizer_new needs a source and a place for the result");
    mw__arena_init(&arena);
    mw_tokenizer *t = mw__arena_zalloc(&arena, sizeof *t);
    if (!t) return MW_NOMEM();
    t->arena = arena;
    MW_TRY_GOTO(fill(t, source), fail);
    *ret = t;
    return MW_OK;
fail:
    mw_tokenizer_free(t);
    return status;
}

void mw_tokenizer_free(mw_tokenizer *t)
{
    if (!t) return;
    mw__pretoken_free(t->pre);
    mw_arena arena = t->arena; /* which holds t */
    mw__arena_done(&arena);
}
