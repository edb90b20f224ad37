/* All texts of small dims, and tables of classes of equal owners: brute force to judge the
 * canonical form and the views by. */
#ifndef LAYOUT_BRUTE_H
#define LAYOUT_BRUTE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "layout_naive.h"

static inline mw_mesh *mesh_of(const char *text)
{
    mw_mesh *mesh = NULL;
    assert_int_equal(mw_mesh_parse(text, &mesh), MW_OK);
    return mesh;
}

static inline const char *text_of(const mw_mesh *mesh, const mw_dim *dim, char *to, int size)
{
    mw_str str = {0};
    mw__dim_str(mesh, dim, &str);
    assert_int_equal(mw__str_status(&str), MW_OK);
    (void)snprintf(to, (size_t)size, "%s", mw__str_text(&str));
    mw__str_done(&str);
    return to;
}

/* ---- classes: owners to the one text that stands for them ---------------------------------- */

typedef struct class_row {
    naive_owners owners;
    int64_t size;
    mw_dim dim;
    uint64_t *strides; /* for views: the sets of strides that texts of this class have */
    int nstrides;
} class_row;

typedef struct classes {
    class_row *row;
    int *slot; /* 1 + row, 0: empty */
    int nrow, nslot;
} classes;

static inline void classes_init(classes *c, int nslot)
{
    c->nslot = nslot;
    c->nrow = 0;
    c->slot = calloc((size_t)nslot, sizeof *c->slot);
    c->row = malloc((size_t)nslot / 2 * sizeof *c->row);
    assert_non_null(c->slot);
    assert_non_null(c->row);
}

static inline void classes_done(classes *c)
{
    for (int r = 0; r < c->nrow; r++)
        free(c->row[r].strides);
    free(c->slot);
    free(c->row);
}

/* The row of these owners; a new one (with *ret_new) for new owners. */
static inline class_row *classes_find(classes *c, const naive_owners *owners, int64_t size,
                                      bool *ret_new)
{
    uint64_t h = mw__hash((uint64_t)size, owners->mask, sizeof owners->mask);
    int at = (int)(h % (uint64_t)c->nslot);
    *ret_new = false;
    for (; c->slot[at]; at = (at + 1) % c->nslot) {
        class_row *row = &c->row[c->slot[at] - 1];
        if (row->size == size && naive_same(&row->owners, owners)) return row;
    }
    assert_true(c->nrow < c->nslot / 2);
    class_row *row = &c->row[c->nrow++];
    c->slot[at] = c->nrow;
    memset(row, 0, sizeof *row);
    row->owners = *owners;
    row->size = size;
    *ret_new = true;
    return row;
}

/* ---- all texts ----------------------------------------------------------------------------- */

typedef struct brute {
    const mw_mesh *mesh;
    int most_factors, most_local;
    void (*keep)(struct brute *b);
    void *user;
    mw_dim dim;
    mw_cut part[8]; /* to be placed, as they are */
    int npart;
    int local;
    long texts;
} brute;

static inline void brute_fill(brute *b, int64_t left);

static inline void brute_cut(brute *b, int64_t left, mw_cut cut)
{
    int f = b->dim.nfactor - 1;
    if (b->dim.ncut == 6) return;
    b->dim.cut[b->dim.ncut++] = cut;
    b->dim.cuts[f]++;
    brute_fill(b, left);
    b->dim.ncut--;
    b->dim.cuts[f]--;
    memset(&b->dim.cut[b->dim.ncut], 0, sizeof cut);
}

static inline void brute_factor(brute *b, int64_t left)
{
    for (int64_t size = 1; size <= left; size++) {
        if (left % size != 0) continue;
        b->dim.factor[b->dim.nfactor++] = size;
        brute_fill(b, left / size);
        b->dim.factor[--b->dim.nfactor] = 0;
    }
}

/* Every way to go on: end the factor, another axis plain or joint, a local cut. */
static inline void brute_fill(brute *b, int64_t left)
{
    int f = b->dim.nfactor - 1;
    if (left == 1 && b->npart == 0) {
        b->texts++;
        b->keep(b);
    }
    if (b->dim.nfactor < b->most_factors) brute_factor(b, left);
    for (int i = 0; i < b->npart; i++) {
        mw_cut cut = b->part[i];
        b->part[i] = b->part[--b->npart];
        brute_cut(b, left, cut);
        if (b->dim.cuts[f] && b->dim.cut[b->dim.ncut - 1].axis >= 0) {
            cut.joint = 1;
            brute_cut(b, left, cut);
            cut.joint = 0;
        }
        b->part[b->npart++] = b->part[i];
        b->part[i] = cut;
    }
    if (b->local == b->most_local) return;
    b->local++;
    for (int k = 2; k < b->dim.factor[f]; k++) {
        mw_cut cut;
        memset(&cut, 0, sizeof cut);
        cut.axis = MW_CUT_LOCAL, cut.major = 1, cut.size = k;
        brute_cut(b, left, cut);
    }
    b->local--;
}

/* All texts of the size that place the b->npart parts {axis, major, size}. */
static inline void brute_run(brute *b, const int32_t (*part)[3], int64_t size)
{
    memset(&b->dim, 0, sizeof b->dim);
    memset(b->part, 0, sizeof b->part);
    for (int i = 0; i < b->npart; i++) {
        b->part[i].axis = (int16_t)part[i][0];
        b->part[i].major = part[i][1];
        b->part[i].size = part[i][2];
    }
    brute_factor(b, size);
}

#endif
