/* Merging: the neighbours whose merge is most urgent (of equals, the leftmost) become one symbol,
 * until no neighbours merge. Symbols are a linked list and candidates a heap, so that a piece of n
 * bytes costs n log n however long it is; a candidate whose symbols have changed since is skipped
 * when it comes up. The order is that of looking for the best pair anew each time, which the tests
 * do. */
#include "text/text.h"

void mw__bpe_done(mw__bpe *bpe)
{
    mw__free(bpe->symbol, (size_t)bpe->symbol_cap * sizeof *bpe->symbol);
    mw__free(bpe->heap, (size_t)bpe->heap_cap * sizeof *bpe->heap);
    mw__str_done(&bpe->spelling);
    *bpe = (mw__bpe){0};
}

static bool before(const mw__candidate *a, const mw__candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

/* Adds the merge of the symbols `at` and its right neighbour, where there is one. */
static mw_status push(mw__bpe *bpe, const mw_tokenizer *t, int32_t at)
{
    if (at < 0 || bpe->symbol[at].next < 0) return MW_OK;
    int32_t left = bpe->symbol[at].id, right = bpe->symbol[bpe->symbol[at].next].id;
    const mw__merge *merge = mw__merge_find(t, left, right);
    if (!merge) return MW_OK;
    MW_TRY(mw__grow(&bpe->heap, &bpe->heap_cap, bpe->heap_count + 1, sizeof *bpe->heap));
    mw__candidate new = {merge->rank, at, left, right, merge->id};
    int64_t hole = bpe->heap_count++;
    while (hole > 0 && before(&new, &bpe->heap[(hole - 1) / 2])) {
        bpe->heap[hole] = bpe->heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    bpe->heap[hole] = new;
    return MW_OK;
}

static mw__candidate pop(mw__bpe *bpe)
{
    mw__candidate first = bpe->heap[0], last = bpe->heap[--bpe->heap_count];
    int64_t hole = 0;
    for (;;) {
        int64_t child = 2 * hole + 1;
        if (child >= bpe->heap_count) break;
        if (child + 1 < bpe->heap_count && before(&bpe->heap[child + 1], &bpe->heap[child]))
            child++;
        if (!before(&bpe->heap[child], &last)) break;
        bpe->heap[hole] = bpe->heap[child];
        hole = child;
    }
    bpe->heap[hole] = last;
    return first;
}

static mw_status add_lost(mw_tokens *tokens, int64_t at, uint8_t byte)
{
    MW_TRY(
        mw__grow(&tokens->lost, &tokens->lost_cap, tokens->lost_count + 1, sizeof *tokens->lost));
    tokens->lost[tokens->lost_count++] = (mw_lost_byte){at, byte};
    return MW_OK;
}

/* One symbol per byte that has a token. A lost byte leaves no gap: its neighbours are neighbours.
 */
static mw_status load(mw__bpe *bpe, const mw_tokenizer *t, mw_bytes piece, int64_t at,
                      mw_tokens *tokens, int64_t *ret_count)
{
    int32_t count = 0;
    MW_TRY(mw__grow(&bpe->symbol, &bpe->symbol_cap, piece.length, sizeof *bpe->symbol));
    for (int64_t i = 0; i < piece.length; i++) {
        uint8_t byte = (uint8_t)piece.at[i];
        if (t->byte_id[byte] < 0) {
            MW_TRY(add_lost(tokens, at + i, byte));
            continue;
        }
        bpe->symbol[count] = (mw__symbol){t->byte_id[byte], count - 1, count + 1};
        count++;
    }
    if (count) bpe->symbol[count - 1].next = -1;
    *ret_count = count;
    return MW_OK;
}

static mw_status merge_all(mw__bpe *bpe, const mw_tokenizer *t, int64_t count)
{
    bpe->heap_count = 0;
    for (int32_t i = 0; i + 1 < count; i++)
        MW_TRY(push(bpe, t, i));
    while (bpe->heap_count) {
        mw__candidate best = pop(bpe);
        mw__symbol *left = &bpe->symbol[best.at];
        if (left->id != best.left || left->next < 0) continue;
        mw__symbol *right = &bpe->symbol[left->next];
        if (right->id != best.right) continue;
        left->id = best.id;
        left->next = right->next;
        right->id = -1;
        if (left->next >= 0) bpe->symbol[left->next].prev = best.at;
        MW_TRY(push(bpe, t, left->prev));
        MW_TRY(push(bpe, t, best.at));
    }
    return MW_OK;
}

/* The token that is the whole piece, or -1. */
static mw_status whole(mw__bpe *bpe, const mw_tokenizer *t, mw_bytes piece, int64_t *ret)
{
    *ret = -1;
    if (piece.length > t->longest) return MW_OK;
    mw__str_clear(&bpe->spelling);
    for (int64_t i = 0; i < piece.length; i++) {
        char spelled[2];
        int length = mw__byte_spell((uint8_t)piece.at[i], spelled);
        mw__str_append(&bpe->spelling, spelled, (size_t)length);
    }
    MW_TRY(mw__str_status(&bpe->spelling));
    *ret = mw_tokenizer_find(t, mw__str_text(&bpe->spelling), (int64_t)bpe->spelling.length);
    return MW_OK;
}

mw_status mw__bpe_run(mw__bpe *bpe, const mw_tokenizer *t, mw_bytes piece, int64_t at,
                      mw_tokens *tokens)
{
    int64_t count, id = -1;
    if (mw__pretoken_whole_first(t->pre)) MW_TRY(whole(bpe, t, piece, &id));
    if (id >= 0) {
        MW_TRY(mw__grow(&tokens->ids, &tokens->cap, tokens->count + 1, sizeof *tokens->ids));
        tokens->ids[tokens->count++] = (int32_t)id;
        return MW_OK;
    }
    MW_TRY(load(bpe, t, piece, at, tokens, &count));
    MW_TRY(merge_all(bpe, t, count));
    MW_TRY(mw__grow(&tokens->ids, &tokens->cap, tokens->count + count, sizeof *tokens->ids));
    for (int32_t i = count ? 0 : -1; i >= 0; i = bpe->symbol[i].next)
        tokens->ids[tokens->count++] = bpe->symbol[i].id;
    return MW_OK;
}
