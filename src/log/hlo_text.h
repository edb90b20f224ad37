/* XLA's texts, for the readers of warnings, HLO and StableHLO: shapes, shardings and device groups,
 * read with bounds, and said in words. What a sharding means comes from the notation reader of
 * mesh, what a change of it costs from the planner: this file holds no rule of its own. */
#ifndef LOG_HLO_TEXT_H
#define LOG_HLO_TEXT_H

#include "log/log.h"

#include <meshwise/notation.h>

enum { HLO_DIMS = 8, HLO_TILES = 12, HLO_IDS = 256 };

/* `f32[16,4]{1,0:T(8,128)}`, `tensor<16x4xf32>`. */
typedef struct hlo_shape {
    char dtype[16];
    int bits; /* of an element; 0: not known */
    int ndim; /* -1: more dims than are kept */
    int64_t dim[HLO_DIMS];
    int64_t count; /* elements; -1: not known or too many */
    int64_t bytes; /* -1 likewise */
} hlo_shape;

typedef enum hlo_kind {
    HLO_ODD, /* braces, but none of the below */
    HLO_REPLICATED,
    HLO_MANUAL,
    HLO_MAXIMAL,
    HLO_UNKNOWN,
    HLO_UNREDUCED,
    HLO_TILES_KIND,
    HLO_TUPLE
} hlo_kind;

/* `{devices=[2,1,4]<=[8] last_tile_dim_replicate}` */
typedef struct hlo_sharding {
    hlo_kind kind;
    const char *at; /* of the opening brace */
    int64_t length;
    int ntile, nsub; /* all numbers of devices=[...]; how many of them, last, cut no dim */
    int64_t tile[HLO_TILES];
    int64_t devices; /* their product; 0 where the text names none */
    bool list;       /* V1: the devices one by one */
    bool named;      /* V3: axes of a mesh that it states itself */
    int64_t terms,
        manual; /* V3: devices that hold terms of a sum, or what the program cut; else 1 */
} hlo_sharding;

/* Device groups of a collective. */
typedef struct hlo_groups {
    int64_t ngroup, size; /* 0: not known (size: of the largest) */
    const char *at;
    int64_t length;
    int nid; /* ids of the first groups that fit */
    int64_t id[HLO_IDS];
    bool uneven;
    char axis[64]; /* name, where the text has it */
} hlo_groups;

/* Past the bracket that closes the one at `at`, or NULL. Quotes are skipped. */
const char *mw__hlo_close(const char *at);
bool mw__hlo_int(const char **at, int64_t *ret); /* digits; false without or above 10^15 */
int mw__hlo_bits(const char *name, int64_t length);

/* Reads at *at and moves past it, layout braces included. */
bool mw__hlo_shape_read(const char **at, hlo_shape *ret);
bool mw__hlo_tensor_read(const char **at, hlo_shape *ret); /* tensor<2x3xf32> */
bool mw__hlo_sharding_read(const char *at, hlo_sharding *ret);
bool mw__hlo_v3_read(const char *at, hlo_sharding *ret);       /* {mesh[a=2,b=4], [{a}, {b}]} */
bool mw__hlo_v3_sdy(const hlo_sharding *sharding, mw_str *to); /* the same in Shardy's words */
bool mw__hlo_quoted(const char **at, const char **ret_name, int *ret_length); /* quotes or none */
/* The ids of `device_ids=(...)` before `stop`; *ret_n 0 where there are none. False: unreadable. */
bool mw__hlo_device_ids(const char *at, const char *stop, int64_t *id, int *ret_n);
bool mw__hlo_groups_read(const char *at, hlo_groups *ret); /* after `replica_groups=` */
void mw__hlo_groups_str(const hlo_groups *groups, mw_str *to);
void mw__hlo_shape_str(const hlo_shape *shape, mw_str *to);

/* ---- words (hlo_words.c) ---- */

/* "dim 0 in 4, dim 1 whole, 2 copies of each piece" */
void mw__hlo_sharding_str(const hlo_sharding *sharding, mw_str *to);

/* A mesh on which both shardings (b may be NULL) are cuts of whole axes where there is one, else
 * one axis of all devices; NULL where there is none. The caller unrefs. */
mw_mesh *mw__hlo_mesh(mw_explain *e, const hlo_sharding *a, const hlo_sharding *b);

/* Reads a sharding of a shape; NULL (no error is left) where it can't be. */
mw_reading *mw__hlo_reading(mw_explain *e, const mw_mesh *mesh, const char *text, int64_t length,
                            int ndim, const int64_t *shape);

mw_reading *mw__hlo_sharding_reading(mw_explain *e, const mw_mesh *mesh,
                                     const hlo_sharding *sharding, int ndim, const int64_t *shape);

/* Facts of one sharding: words, mesh, spec, pieces and their devices, local shape. `label` stands
 * before their names. shape NULL: not known. `local`: the shape is one device's piece. */
void mw__hlo_tell(mw_explain *e, mw_draft *d, const char *label, const char *from,
                  const hlo_sharding *sharding, const hlo_shape *shape, bool local,
                  const mw_mesh *mesh);

/* Facts of a reading: as above, for any notation. */
void mw__hlo_tell_reading(mw_explain *e, mw_draft *d, const char *label, const mw_mesh *mesh,
                          const mw_reading *reading, int bits);
void mw__hlo_str_shape(int ndim, const int64_t *dim, mw_str *to); /* [2,3] */
const char *mw__hlo_keep(mw_explain *e, mw_str *text);            /* into the arena; frees it */

/* ---- the same again (hlo_memo.c) ---- */

/* The key of a sharding's text with the shape (or NULL), the mesh and the stage that it is read
 * for. */
uint64_t mw__hlo_key(const char *text, int64_t length, const hlo_shape *shape, uint64_t mesh,
                     bool local);
/* Tells again what was kept under the key; false where nothing was. */
bool mw__hlo_told_before(mw_explain *e, mw_draft *d, uint64_t key);
/* Keeps the draft's facts from the `first` on; only where nothing is laid out in the draft later.
 */
void mw__hlo_tell_again(mw_explain *e, mw_draft *d, uint64_t key, int first);

/* True where it went well; else the error is forgotten: the text is told without what it would have
 * added. Lack of memory is not: feeding will say it. */
bool mw__hlo_done(mw_explain *e, mw_status status);

#endif
