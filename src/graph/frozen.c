/* Freezes what a function reads from outside, and keeps the narrow forms of its weights. */
#include "graph/frozen.h"

#include "base/lookup.h"
#include "graph/program_parts.h"
#include "ops/narrow.h"

/* A matrix that was looked at. */
typedef struct weight {
    struct weight *next;
    mw_mat matrix;
    mw_narrow *narrow; /* NULL: none has its values */
} weight;

struct mw_frozen {
    mw_lookup by_matrix; /* weights */
    mw_lookup storages;  /* held, and counted as frozen */
    weight *weight;
    int64_t bytes;
};

mw_status mw__frozen_new(mw_frozen **ret)
{
    *ret = mw__zalloc(sizeof **ret);
    return *ret ? MW_OK : MW_NOMEM();
}

void mw__frozen_free(mw_frozen *f)
{
    if (!f) return;
    while (f->weight) {
        weight *w = f->weight;
        f->weight = w->next;
        mw__narrow_free(w->narrow);
        mw__free(w, sizeof *w);
    }
    for (int64_t i = 0; i < f->storages.cap; i++) {
        if (!f->storages.at[i].hash) continue;
        mw_storage *storage = f->storages.at[i].item;
        storage->frozen--;
        storage->held--;
        mw__storage_unref(storage);
    }
    mw__lookup_done(&f->storages);
    mw__lookup_done(&f->by_matrix);
    mw__free(f, sizeof *f);
}

int64_t mw__frozen_bytes(const mw_frozen *f)
{
    return f->bytes;
}

/* ---- what is frozen ---------------------------------------------------------------------------
 */

static uint64_t hash_of(const mw_storage *storage)
{
    return mw__hash(1, &storage, sizeof storage);
}

static bool is_frozen(const mw_frozen *f, const mw_storage *storage)
{
    for (const mw_found *i = NULL; (i = mw__lookup_next(&f->storages, hash_of(storage), i));)
        if (i->item == storage) return true;
    return false;
}

static mw_storage *storage_of(const mw_node *input)
{
    const mw_tensor *t = input->bound;
    return t ? t->storage : NULL;
}

static bool is_written(const mw_graph *g, const mw_storage *storage)
{
    for (const mw_node *n = g->first; n && n->kind == MW_NODE_INPUT; n = n->next)
        if (storage_of(n) == storage && n->out[0]->mutated) return true;
    return false;
}

static mw_status freeze(mw_frozen *f, mw_storage *storage)
{
    if (is_frozen(f, storage)) return MW_OK;
    mw_found *added = mw__lookup_add(&f->storages, hash_of(storage));
    if (!added) return MW_NOMEM();
    added->item = storage;
    mw__storage_ref(storage);
    storage->frozen++;
    storage->held++;
    return MW_OK;
}

static mw_status freeze_all(mw_frozen *f, const mw_graph *g)
{
    for (const mw_node *n = g->first; n && n->kind == MW_NODE_INPUT; n = n->next)
        if (storage_of(n) && !is_written(g, storage_of(n))) MW_TRY(freeze(f, storage_of(n)));
    return MW_OK;
}

/* ---- weights ----------------------------------------------------------------------------------
 */

static bool same_matrix(const mw_mat *a, const mw_mat *b)
{
    return a->data == b->data && a->dtype == b->dtype && a->rows == b->rows && a->cols == b->cols &&
           a->row_stride == b->row_stride && a->col_stride == b->col_stride;
}

static mw_status narrow_of(mw_frozen *f, const mw_mat *m, const mw_narrow **ret)
{
    uint64_t hash = mw__hash(1, &m->data, sizeof m->data);
    for (const mw_found *i = NULL; (i = mw__lookup_next(&f->by_matrix, hash, i));) {
        const weight *w = i->item;
        *ret = w->narrow;
        if (same_matrix(&w->matrix, m)) return MW_OK;
    }
    weight *w = mw__zalloc(sizeof *w);
    mw_found *added = w ? mw__lookup_add(&f->by_matrix, hash) : NULL;
    if (!added) {
        mw__free(w, sizeof *w);
        return MW_NOMEM();
    }
    w->matrix = *m;
    w->next = f->weight;
    added->item = f->weight = w;
    MW_TRY(mw__narrow_make(m, &w->narrow));
    if (w->narrow) f->bytes += w->narrow->bytes;
    *ret = w->narrow;
    return MW_OK;
}

mw_status mw__program_freeze(mw_program *p, mw_frozen *f)
{
    MW_TRY(freeze_all(f, p->graph));
    for (int i = 0; i < p->nstep; i++) {
        run_step *s = &p->step[i];
        if (s->kind != RUN_KERNEL || !s->call->op->weight) continue;
        for (int k = 0; k < s->nin; k++)
            s->call->in[k].data = p->place[s->in[k]].handle->local.data;
        mw_mat m;
        int operand = s->call->op->weight(&s->call->kernel, &m);
        if (operand < 0) continue;
        const mw_storage *storage = p->place[s->in[operand]].handle->storage;
        if (storage && is_frozen(f, storage)) MW_TRY(narrow_of(f, &m, &s->call->kernel.narrow));
    }
    return MW_OK;
}
