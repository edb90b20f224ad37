/* The eager dispatcher. A call's key is the op, the types of its operands (pointers: types are
 * interned) and its static arguments; a hit finds the decided call and runs it, without allocating
 * or locking. */
#include "run/run.h"

enum { KEY_WORDS = 640, OPERANDS = 256 };

typedef struct key {
    int n, noperand;
    bool missing;  /* an operand is NULL, or ... */
    bool recorded; /* stands for a value of a program that was captured */
    uint64_t hash;
    uint64_t word[KEY_WORDS];
    mw_tensor *operand[OPERANDS];
} key;

static inline void add_word(key *k, uint64_t word)
{
    k->word[k->n++] = word;
    k->hash = (k->hash ^ word) * 0x9e3779b97f4a7c15u;
    k->hash ^= k->hash >> 32;
}

static inline void add_operand(key *k, mw_tensor *t)
{
    if (MW_UNLIKELY(!t || t->recorded)) {
        k->missing = true;
        k->recorded = t != NULL;
        return;
    }
    add_word(k, (uint64_t)(uintptr_t)t->type);
    k->operand[k->noperand++] = t;
}

static void add_text(key *k, const char *text)
{
    size_t length = strlen(text);
    add_word(k, length);
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, text + at, MW_MIN(length - at, 8));
        add_word(k, word);
    }
}

/* Words that a value may need at most. */
static int64_t room_for(const mw_value *v)
{
    switch ((mw_arg_kind)v->kind) {
    case MW_ARG_TENSORS:
    case MW_ARG_INTS:
        return 1 + v->count;
    case MW_ARG_STR:
        return 3 + (int64_t)(strlen(v->as.s) / 8);
    case MW_ARG_SYMBOL:
        return 3 + (int64_t)(strlen(v->as.s) / 8);
    case MW_ARG_NONE:
    case MW_ARG_TENSOR:
    case MW_ARG_INT:
    case MW_ARG_FLOAT:
    case MW_ARG_BOOL:
    case MW_ARG_DTYPE:
    case MW_ARG_STRS:
        break;
    }
    return 2;
}

static mw_status make_key(key *k, const mw_op *op, const mw_value *args, int nargs)
{
    k->n = k->noperand = 0;
    k->missing = k->recorded = false;
    k->hash = 0;
    add_word(k, (uint64_t)(uintptr_t)op);
    for (int i = 0; i < nargs; i++) {
        const mw_value *v = &args[i];
        int64_t more = v->kind == MW_ARG_TENSORS ? v->count : 1;
        if (MW_UNLIKELY(k->n + room_for(v) > KEY_WORDS || k->noperand + more > OPERANDS))
            return MW_FAIL(MW_ERR_UNSUPPORTED,
                           "a call with more than %d tensors, or lists of more "
                           "than %d numbers",
                           OPERANDS, KEY_WORDS / 2);
        add_word(k, v->kind | (uint64_t)(uint32_t)v->count << 8);
        switch ((mw_arg_kind)v->kind) {
        case MW_ARG_NONE:
        case MW_ARG_STRS:
            break;
        case MW_ARG_TENSOR:
            add_operand(k, v->as.tensor);
            break;
        case MW_ARG_TENSORS:
            for (int j = 0; j < v->count; j++)
                add_operand(k, v->as.tensors[j]);
            break;
        case MW_ARG_INT:
        case MW_ARG_BOOL:
        case MW_ARG_DTYPE:
            add_word(k, (uint64_t)v->as.i);
            break;
        case MW_ARG_FLOAT: {
            uint64_t bits;
            memcpy(&bits, &v->as.f, sizeof bits);
            add_word(k, bits);
            break;
        }
        case MW_ARG_INTS:
            for (int j = 0; j < v->count; j++)
                add_word(k, (uint64_t)v->as.ints[j]);
            break;
        case MW_ARG_STR:
        case MW_ARG_SYMBOL:
            add_text(k, v->as.s);
            break;
        }
    }
    return MW_OK;
}

static void say_where(mw_rank *rank, const mw_op *op, const key *k)
{
    char chain[256];
    const mw_op_info *info = mw__op_info_of(op);
    mw_str text = {0};
    mw__str_printf(&text, "%s(", info ? info->schema.name : "?");
    for (int i = 0; i < k->noperand && i < 8; i++) {
        if (i) mw__str_puts(&text, ", ");
        mw__layout_str(k->operand[i]->type->mesh, &k->operand[i]->type->layout, &text);
    }
    if (k->noperand > 8) mw__str_puts(&text, ", ...");
    mw__str_putc(&text, ')');
    if (rank->site.file)
        mw__str_printf(&text, " at %s:%d", mw__short_file(rank->site.file), rank->site.line);
    if (rank->nchain) mw__str_printf(&text, " in %s", mw__chain_text(rank, chain, sizeof chain));
    mw__error_where("%s", mw__str_text(&text));
    mw__str_done(&text);
}

mw_status mw__rank_failed(mw_rank *rank, mw_status status)
{
    if (MW_LIKELY(status == MW_OK)) return MW_OK;
    if (!rank->failed) {
        rank->failed = true;
        rank->first = *mw_last_error();
        mw__comm_fail(rank->comm, &rank->first);
        return status;
    }
    if (status != MW_ERR_COMM) return status;
    rank->ctx.error = rank->first; /* what comes after is its echo */
    return rank->first.code;
}

void mw__call_free(mw_call *call)
{
    if (!call) return;
    mw__arena_done(&call->arena);
    mw__free(call, sizeof *call);
}

void mw__calls_forget(mw_rank *rank)
{
    for (int b = 0; b < MW_RANK_BUCKETS; b++)
        while (rank->calls[b]) {
            mw_call *call = rank->calls[b];
            rank->calls[b] = call->next;
            mw__call_free(call);
        }
    rank->ncalls = 0;
    memset(rank->marks, 0, sizeof rank->marks);
    mw__redist_forget(rank); /* only calls and the current operation point to them */
}

static mw_status new_call(mw_rank *rank, const mw_op *op, const mw_value *args, int nargs,
                          const key *k, mw_call **ret)
{
    if (rank->ncalls >= MW_RANK_CALLS && !rank->parts) mw__calls_forget(rank);
    mw_call *call;
    MW_TRY(mw__call_decide(rank, op, args, nargs, k->operand, k->noperand, &call));
    uint64_t *words = mw__arena_alloc(&call->arena, (size_t)k->n * sizeof *words);
    if (!words) {
        mw__call_free(call);
        return MW_NOMEM();
    }
    memcpy(words, k->word, (size_t)k->n * sizeof *words);
    call->key = words;
    call->nkey = k->n;
    call->hash = k->hash;
    call->next = rank->calls[k->hash % MW_RANK_BUCKETS];
    rank->calls[k->hash % MW_RANK_BUCKETS] = call;
    rank->ncalls++;
    rank->usage.misses++;
    *ret = call;
    return MW_OK;
}

mw_status mw__injected_failure(mw_rank *rank)
{
    return MW_FAIL(MW_ERR_RANK, "injected failure of rank %d in its op call %lld", rank->index,
                   (long long)rank->options->fail_op);
}

mw_status mw__dispatch(mw_rank *rank, const mw_op *op, const mw_value *args, int nargs,
                       mw_tensor **out, int cap, int *ret_nout)
{
    key k;
    if (MW_UNLIKELY(rank->recorder != NULL))
        return rank->recorder->call(rank->recorder, op, args, nargs, out, cap, ret_nout);
    MW_TRY(make_key(&k, op, args, nargs));
    if (MW_UNLIKELY(k.missing)) {
        if (rank->ctx.error.code != MW_OK) return rank->ctx.error.code; /* the first error stays */
        const mw_op_info *info = mw__op_info_of(op);
        if (k.recorded)
            return MW_FAIL(MW_ERR_ARG,
                           "%s: an operand was made while a program was captured: it "
                           "stands for a value of that program and has none itself",
                           info ? info->schema.name : "?");
        return MW_FAIL(MW_ERR_ARG, "%s: an operand is NULL", info ? info->schema.name : "?");
    }
    mw_call *call = rank->calls[k.hash % MW_RANK_BUCKETS];
    while (call && (call->hash != k.hash || call->nkey != k.n ||
                    memcmp(call->key, k.word, (size_t)k.n * sizeof(uint64_t)) != 0))
        call = call->next;
    if (MW_UNLIKELY(!call)) {
        mw_status status = new_call(rank, op, args, nargs, &k, &call);
        if (status != MW_OK) {
            say_where(rank, op, &k);
            return status == MW_ERR_NOMEM ? mw__rank_failed(rank, status) : status;
        }
    }
    if (MW_UNLIKELY(call->nout > cap))
        return MW_FAIL(MW_ERR_ARG, "%s gives %d tensors, and there is room for %d", call->name,
                       call->nout, cap);
    mw_status status = call->in_place ? mw__writable(call->name, k.operand[0]) : MW_OK;
    if (MW_UNLIKELY(status != MW_OK)) { /* on every rank, and nothing has been done yet */
        say_where(rank, op, &k);
        return status;
    }
    if (MW_UNLIKELY(++rank->usage.calls == rank->options->fail_op &&
                    rank->index == rank->options->fail_rank))
        status = mw__injected_failure(rank);
    if (MW_LIKELY(status == MW_OK)) status = mw__call_run(rank, call, k.operand, out);
    if (MW_UNLIKELY(status != MW_OK)) {
        say_where(rank, op, &k);
        return status == MW_ERR_STRICT ? status : mw__rank_failed(rank, status);
    }
    *ret_nout = call->nout;
    return MW_OK;
}

mw_tensor *mw__call_op(mw_site site, const mw_op *op, const mw_value *args, int nargs)
{
    mw_rank *rank = mw__rank_get();
    if (MW_UNLIKELY(!rank)) return NULL;
    rank->site = site;
    mw_tensor *out[1];
    int n;
    return MW_LIKELY(mw__dispatch(rank, op, args, nargs, out, 1, &n) == MW_OK) ? out[0] : NULL;
}
