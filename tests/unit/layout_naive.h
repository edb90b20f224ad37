/* A naive reading of layouts, to judge the library by: every list of positions is written out,
 * every cut copies chunks. Also random dims. Shares nothing with src/mesh but the struct that holds
 * a dim. */
#ifndef LAYOUT_NAIVE_H
#define LAYOUT_NAIVE_H

#include "mesh/mesh.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAIVE_SIZE = 64, NAIVE_RANKS = 64 };

typedef struct naive_list {
    int n;
    int at[NAIVE_SIZE];
} naive_list;

/* Chunk number i of `parts`, torch.chunk's way. */
static inline naive_list naive_chunk(const naive_list *list, int64_t parts, int64_t i)
{
    naive_list chunk = {0};
    int64_t size = list->n == 0 ? 0 : (list->n + parts - 1) / parts;
    for (int64_t k = i * size; k < (i + 1) * size && k < list->n; k++)
        chunk.at[chunk.n++] = list->at[k];
    return chunk;
}

static inline void naive_cut(const mw_mesh *mesh, const mw_cut *cut, int ncut,
                             const naive_list *list, const int *coord, naive_list *out)
{
    if (ncut == 0) {
        for (int i = 0; i < list->n; i++)
            out->at[out->n++] = list->at[i];
        return;
    }
    if (cut[0].axis < 0) {
        for (int i = 0; i < cut[0].size && i < NAIVE_SIZE; i++) {
            naive_list chunk = naive_chunk(list, cut[0].size, i);
            naive_cut(mesh, cut + 1, ncut - 1, &chunk, coord, out);
        }
        return;
    }
    int64_t index = 0, parts = 1;
    int c = 0;
    do {
        int minor = mw_mesh_axis_size(mesh, cut[c].axis) / cut[c].major / cut[c].size;
        index = index * cut[c].size + coord[cut[c].axis] / minor % cut[c].size;
        parts *= cut[c].size;
        c++;
    } while (c < ncut && cut[c].joint);
    naive_list chunk = naive_chunk(list, parts, index);
    naive_cut(mesh, cut + c, ncut - c, &chunk, coord, out);
}

/* Positions of the dim that the rank at `coord` holds. */
static inline naive_list naive_dim(const mw_mesh *mesh, const mw_dim *dim, const int *coord)
{
    naive_list all = {.n = 1, .at = {0}};
    int c = 0;
    for (int f = 0; f < dim->nfactor; f++) {
        naive_list whole = {0}, own = {0}, product = {0};
        for (int i = 0; i < dim->factor[f]; i++)
            whole.at[whole.n++] = i;
        naive_cut(mesh, dim->cut + c, dim->cuts[f], &whole, coord, &own);
        for (int i = 0; i < all.n; i++)
            for (int j = 0; j < own.n; j++)
                product.at[product.n++] = all.at[i] * (int)dim->factor[f] + own.at[j];
        all = product;
        c += dim->cuts[f];
    }
    return all;
}

/* Owners: bit i of mask[rank] says that the rank holds position i. */
typedef struct naive_owners {
    int nrank;
    uint64_t mask[NAIVE_RANKS];
} naive_owners;

static inline naive_owners naive_owners_of(const mw_mesh *mesh, const mw_dim *dim)
{
    naive_owners owners;
    memset(&owners, 0, sizeof owners);
    owners.nrank = mw_mesh_ranks(mesh);
    for (int r = 0; r < owners.nrank; r++) {
        int coord[MW_MESH_AXES];
        for (int a = 0; a < mw_mesh_axes(mesh); a++)
            coord[a] = mw_mesh_coord(mesh, r, a);
        naive_list list = naive_dim(mesh, dim, coord);
        for (int i = 0; i < list.n; i++)
            owners.mask[r] |= 1ull << list.at[i];
    }
    return owners;
}

static inline bool naive_same(const naive_owners *a, const naive_owners *b)
{
    return a->nrank == b->nrank &&
           memcmp(a->mask, b->mask, (size_t)a->nrank * sizeof *a->mask) == 0;
}

/* ---- random dims --------------------------------------------------------------------------- */

static inline uint64_t naive_random(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int naive_below(uint64_t *seed, int n)
{
    return (int)(naive_random(seed) % (uint64_t)n);
}

/* How many of each kind of cut a test has met. */
typedef struct naive_counts {
    long plain, joint, local, sub, uneven, texts;
} naive_counts;

static inline void naive_count(naive_counts *counts, const mw_mesh *mesh, const mw_dim *dim)
{
    counts->texts++;
    int c = 0;
    bool uneven = false;
    for (int f = 0; f < dim->nfactor; f++) {
        int64_t left = dim->factor[f];
        for (int end = c + dim->cuts[f]; c < end; c++) {
            const mw_cut *cut = &dim->cut[c];
            uneven = uneven || left % cut->size != 0;
            left = left / cut->size;
            if (cut->axis < 0)
                counts->local++;
            else if (cut->joint)
                counts->joint++;
            else if (cut->size != mw_mesh_axis_size(mesh, cut->axis))
                counts->sub++;
            else
                counts->plain++;
        }
    }
    counts->uneven += uneven;
}

static inline void naive_counts_print(const char *test, const naive_counts *c)
{
    printf("%s: %ld texts, %ld uneven; cuts: %ld plain, %ld joint, %ld local, %ld sub-axes\n", test,
           c->texts, c->uneven, c->plain, c->joint, c->local, c->sub);
}

/* `size` as a product of `n` factors, 1 included. */
static inline void naive_factors(uint64_t *seed, int64_t size, int n, int64_t *ret_factor)
{
    for (int f = 0; f < n - 1; f++) {
        int64_t divisor = 1 + naive_below(seed, size > 0 ? (int)size : 1);
        while (size > 0 && size % divisor != 0)
            divisor--;
        ret_factor[f] = divisor;
        size /= divisor;
    }
    ret_factor[n - 1] = size;
}

/* A dim of the size with up to 3 factors; each axis of the mask in it with even chance, whole or in
 * parts, plain or joint with its neighbour, and a local cut now and then. Not tidy, on purpose. */
static inline mw_dim naive_random_dim(const mw_mesh *mesh, uint64_t *seed, int64_t size,
                                      uint32_t axes, bool local)
{
    mw_dim dim;
    mw_cut part[MW_DIM_CUTS];
    int npart = 0;
    memset(&dim, 0, sizeof dim);
    memset(part, 0, sizeof part);
    dim.nfactor = (uint8_t)(1 + naive_below(seed, 3));
    naive_factors(seed, size, dim.nfactor, dim.factor);
    for (int a = 0; a < mw_mesh_axes(mesh); a++) {
        int whole = mw_mesh_axis_size(mesh, a), before = 1;
        if (!(axes >> a & 1) || naive_below(seed, 2)) continue;
        while (before < whole || whole == 1) {
            int piece = whole / before;
            if (naive_below(seed, 3) == 0) do
                    piece = 1 + naive_below(seed, whole / before);
                while (whole / before % piece != 0);
            part[npart].axis = (int16_t)a;
            part[npart].major = before;
            part[npart++].size = piece;
            before *= piece;
            if (piece == 1 || naive_below(seed, 5) == 0) break;
        }
    }
    for (int i = npart - 1; i > 0; i--) {
        int j = naive_below(seed, i + 1);
        mw_cut swap = part[i];
        part[i] = part[j], part[j] = swap;
    }
    int next = 0;
    for (int f = 0; f < dim.nfactor; f++) {
        int end = f == dim.nfactor - 1 ? npart : next + naive_below(seed, npart - next + 1);
        for (bool first = true; next < end || (local && dim.ncut < 8 && !naive_below(seed, 8));
             first = false) {
            mw_cut *cut = &dim.cut[dim.ncut];
            bool is_local = next == end || (local && dim.ncut < 8 && !naive_below(seed, 5));
            if (is_local) {
                cut->axis = MW_CUT_LOCAL, cut->major = 1, cut->size = 1 + naive_below(seed, 5);
            } else {
                *cut = part[next++];
                cut->joint = !first && cut[-1].axis >= 0 && naive_below(seed, 3) == 0;
            }
            dim.ncut++;
            dim.cuts[f]++;
        }
    }
    return dim;
}

#endif
