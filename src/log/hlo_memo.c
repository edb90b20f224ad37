/* A dump says the same sharding of the same shape thousands of times. What was derived of it once
 * is told again: the facts' texts are shared, so that a long dump costs an array for each value and
 * no reading. */
#include "log/explain.h"
#include "log/hlo_text.h"

enum { MEMOS = 1024, MEMO_FACTS = 64 };

struct hlo_memo {
    uint64_t key;
    const mw_fact *fact;
    mw_laid *laid;
    int nfact, nlaid;
};

bool mw__hlo_told_before(mw_explain *e, mw_draft *d, uint64_t key)
{
    const struct hlo_memo *m = e->memo ? &e->memo[key % MEMOS] : NULL;
    if (!d || !m || m->key != key || d->entry.nlaid) return false;
    int64_t n = d->entry.nfact + m->nfact;
    if (!mw__hlo_done(e, mw__grow(&d->fact, &d->cap_fact, n, sizeof *d->fact))) return true;
    memcpy(d->fact + d->entry.nfact, m->fact, (size_t)m->nfact * sizeof *d->fact);
    d->entry.nfact = (int)n;
    d->entry.fact = d->fact;
    d->laid = m->laid;
    d->entry.laid = m->laid;
    d->entry.nlaid = m->nlaid;
    return true;
}

void mw__hlo_tell_again(mw_explain *e, mw_draft *d, uint64_t key, int first)
{
    int n = d ? d->entry.nfact - first : 0;
    if (n < 1 || n > MEMO_FACTS) return;
    if (!e->memo) e->memo = mw__arena_zalloc(&e->arena, MEMOS * sizeof *e->memo);
    mw_fact *kept = e->memo ? mw__arena_alloc(&e->arena, (size_t)n * sizeof *kept) : NULL;
    if (!kept) {
        e->failed = true;
        return;
    }
    memcpy(kept, d->fact + first, (size_t)n * sizeof *kept);
    e->memo[key % MEMOS] = (struct hlo_memo){key, kept, d->laid, n, d->entry.nlaid};
}

uint64_t mw__hlo_key(const char *text, int64_t length, const hlo_shape *shape, uint64_t mesh,
                     bool local)
{
    uint64_t key = mw__hash(local ? 17 : 19, text, (size_t)length);
    if (shape && shape->ndim >= 0) {
        key = mw__hash(key, shape->dim, (size_t)shape->ndim * sizeof *shape->dim);
        key = mw__hash(key, &shape->bits, sizeof shape->bits);
    }
    return mw__hash(key, &mesh, sizeof mesh) | 1;
}
