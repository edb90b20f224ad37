/* Sharded tensors: a program for whole tensors, run by every rank of a mesh.
 *
 *     static mw_status program(void *user)
 *     {
 *         mw_tensor *x = mw_arange(12, MW_DTYPE_f32);              whole on every rank
 *         x = mw_mark_sharding(mw_view(x, MW_INTS(4, 3)), NULL, "[4@x, 3]");
 *         double sum;
 *         return mw_item(mw_sum(x, MW_DTYPE_NONE), &sum);          each rank sums its rows
 *     }
 *
 *     int main(void) { return mw_launch(&(mw_launch_options){.mesh = "x=2"}, program, NULL); }
 *
 * Every rank runs `program`; a tensor handle belongs to its rank's thread. Calls that may move data
 * are Collective: all ranks of the mesh make them in the same order.
 */
#ifndef MESHWISE_TENSOR_H
#define MESHWISE_TENSOR_H

#include <meshwise/log.h>
#include <meshwise/mesh.h>
#include <meshwise/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- launching ------------------------------------------------------------------------------ */

typedef struct mw_launch_options {
    const char *mesh; /* "x=2,y=4"; NULL: axis "tp", one rank, or as many as mpi has */
    /* "threads" (NULL); "mpi": this process is one rank of those that a launcher such as mpirun has
     * started; "fake": one thread, no data, any number of ranks */
    const char *backend;
    const char *module;            /* mpi: file of the module meshwise_mpi.so; NULL: searched for */
    const volatile int *interrupt; /* mpi: a rank that waits gives up once this is not 0; or NULL */
    int strict;                    /* an unasked movement is an error */
    int threads;                   /* threads of a rank; 0: 1 */
    double timeout;                /* seconds to wait for a rank that does not come; 0: 60 */
    int fail_rank;                 /* for tests: rank fail_rank fails alone ... */
    int64_t fail_op;               /* ... in its fail_op-th op call (1-based); 0: never */
    mw_event_sink
        sink; /* gets every event, from the thread of the rank it happened on; may be NULL */
    void *sink_user;
    int dispatch;       /* events carry the lines of DTensor's dispatch log too */
    const char *device; /* the mesh's label there ("xpu"); NULL: "cpu" */
} mw_launch_options;

/* Runs `program(user)` on every rank and waits for all. The error that began a failure is left in
 * the caller's record. Fails: MW_ERR_PARSE, MW_ERR_ARG for mesh or backend; what the program fails
 * with. */
MW_API MW_NODISCARD mw_status mw_launch(const mw_launch_options *options,
                                        mw_status (*program)(void *user), void *user);

/* Connects this process to those that a launcher has started (backend "mpi"; module as above): its
 * rank among them, and how many they are. MPI then lasts until the process ends. Collective over
 * those processes the first time.
 * Fails: MW_ERR_UNSUPPORTED where the module or MPI is not there. */
MW_API MW_NODISCARD mw_status mw_world_find(const char *backend, const char *module, int *ret_rank,
                                            int *ret_ranks);

MW_API int mw_rank_index(void);      /* this rank's number; 0 outside a launch. Local */
MW_API mw_mesh *mw_mesh_world(void); /* the launch's mesh, borrowed; NULL outside. Local */
MW_API int mw_is_fake(void);         /* no data: values cannot be read. Local */

/* All ranks of the launch are here when it returns. Collective. */
MW_API MW_NODISCARD mw_status mw_barrier(void);

/* The `size` bytes of every rank, in order of ranks, on every rank: for what a program knows beside
 * its tensors. Not booked as movement. Fake: only this rank's are there. Collective. */
MW_API MW_NODISCARD mw_status mw_gather_bytes(const void *mine, int64_t size, void *ret_all);

/* ---- life of handles ------------------------------------------------------------------------- */

/* Results of ops belong to the innermost scope and end with it. mw_scope_end hands `keep` (may be
 * NULL) to the scope outside and returns it. `name` shows in the call chain of errors and events.
 * Local. */
MW_API void mw_scope_begin(const char *name);
MW_API mw_tensor *mw_scope_end(mw_tensor *keep);

/* A handle outlives its scopes while somebody holds a reference. NULL is fine. Local. */
MW_API mw_tensor *mw_tensor_ref(mw_tensor *t);
MW_API void mw_tensor_unref(mw_tensor *t);

/* ---- what is known of a tensor. Local ----------------------------------------------------------
 */
MW_API mw_dtype mw_tensor_dtype(const mw_tensor *t);
MW_API int mw_tensor_ndim(const mw_tensor *t);
MW_API int64_t mw_tensor_size(const mw_tensor *t, int dim); /* of the whole; dim may be negative */
MW_API const mw_layout *mw_tensor_layout(const mw_tensor *t); /* borrowed */
MW_API mw_mesh *mw_tensor_mesh(const mw_tensor *t);           /* borrowed */
MW_API int64_t mw_tensor_local_bytes(const mw_tensor *t);     /* of this rank's shard */

/* A name for events and errors; copied. Returns t. */
MW_API mw_tensor *mw_tensor_name(mw_tensor *t, const char *name);

/* ---- making -------------------------------------------------------------------------------------
 * `mesh` NULL: the launch's mesh. `layout` in any notation (meshwise/notation.h), or "replicated".
 * Several meshes over the same ranks may serve one program: what is placed on another one is said
 * on the launch's, where that can be said. */

/* A tensor of zeros (or, with mw_empty_layout, of anything) that lies as `layout` says. Local. */
MW_API mw_tensor *mw_empty_layout(mw_mesh *mesh, const mw_layout *layout);

/* From the same whole, row-major data on every rank: each takes its part. Local: no communication.
 */
MW_API mw_tensor *mw_from_data_at(mw_site site, mw_dtype dtype, const int64_t *shape, int ndim,
                                  const void *data, mw_mesh *mesh, const char *layout);
#define mw_from_data(...) mw_from_data_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* From this rank's own part, row-major, which is copied: of the shape that `layout` (with all
 * sizes) gives this rank. Fails: MW_ERR_SHAPE, naming both shapes. Local, but a rank on which it
 * fails ends the others' collectives. */
MW_API mw_tensor *mw_from_local_at(mw_site site, mw_dtype dtype, const int64_t *shape, int ndim,
                                   const void *data, mw_mesh *mesh, const char *layout);
#define mw_from_local(...) mw_from_local_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* From whole data that the mesh's first rank alone has; `data` of the others is not looked at. The
 * movement counts as asked for. Collective over the mesh. */
MW_API mw_tensor *mw_distribute_at(mw_site site, mw_dtype dtype, const int64_t *shape, int ndim,
                                   const void *data, mw_mesh *mesh, const char *layout);
#define mw_distribute(...) mw_distribute_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* ---- meshes of fewer ranks ---------------------------------------------------------------------
 * The ranks that share this one's coordinates on all other axes, as a mesh of its own: "tp", or
 * several axes "dp,tp". Tensors on it live on these ranks only, and what is called on them is
 * collective over these ranks; a call that mixes tensors of two meshes is an error. Where such a
 * tensor is placed, mesh NULL is its slice. Here `mesh` NULL:
 * the launch's. The caller owns the result.
 * Fails: MW_ERR_ARG for an axis that the mesh lacks. Local. */
MW_API MW_NODISCARD mw_status mw_mesh_slice(mw_mesh *mesh, const char *axes, mw_mesh **ret);

/* ---- placing
 * -------------------------------------------------------------------------------------
 * mark_sharding re-places the handle: from now on `t` lies as `layout` says; views taken before
 * keep what they had. Moves data only where the layout differs, and that movement counts as asked
 * for. Returns t, NULL on failure (MW_ERR_PARSE, MW_ERR_SHAPE). Collective over the mesh. */
MW_API mw_tensor *mw_mark_sharding_at(mw_site site, mw_tensor *t, mw_mesh *mesh,
                                      const char *layout);
#define mw_mark_sharding(...) mw_mark_sharding_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)
MW_API mw_tensor *mw_mark_layout_at(mw_site site, mw_tensor *t, mw_mesh *mesh,
                                    const mw_layout *layout);
#define mw_mark_layout(...) mw_mark_layout_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* The same, as a new tensor; `t` stays. */
MW_API mw_tensor *mw_redistribute_at(mw_site site, mw_tensor *t, mw_mesh *mesh, const char *layout);
#define mw_redistribute(...) mw_redistribute_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* The whole tensor on every rank, partial terms combined: a new tensor. Collective. */
MW_API mw_tensor *mw_full_tensor_at(mw_site site, mw_tensor *t);
#define mw_full_tensor(...) mw_full_tensor_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* As PyTorch/XLA's: takes the annotation back. Op by op the tensor stays where it lies; in a
 * program that is captured, later uses are free again. Returns t. */
MW_API mw_tensor *mw_clear_sharding_at(mw_site site, mw_tensor *t);
#define mw_clear_sharding(...) mw_clear_sharding_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* How it lies as HLO's text, `{devices=[2,1]0,1}` or `{replicated}`, into `to` of `size` bytes.
 * Fails: MW_ERR_UNSUPPORTED where HLO can't say it, with the reason. Local. */
MW_API MW_NODISCARD mw_status mw_get_sharding(const mw_tensor *t, char *to, int size);

/* A manual region op by op. enable: this rank's shard under `layout` as a tensor of this rank
 * alone, with which any op works locally, whatever the others do (a movement that the layout needs
 * counts as asked for). disable: such tensors of all ranks, which are copied, as the shards of one
 * tensor of `layout`, which states dtype and sizes. Collective, as mark_sharding and from_local. */
MW_API mw_tensor *mw_enable_manual_sharding_at(mw_site site, mw_tensor *t, mw_mesh *mesh,
                                               const char *layout);
#define mw_enable_manual_sharding(...) \
    mw_enable_manual_sharding_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)
MW_API mw_tensor *mw_disable_manual_sharding_at(mw_site site, mw_tensor *t, mw_mesh *mesh,
                                                const char *layout);
#define mw_disable_manual_sharding(...) \
    mw_disable_manual_sharding_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* A manual region: every operand is brought to the layout that in_layouts names for it (NULL: it
 * stays), `region` reads this rank's shards and fills its shards of new tensors, which lie as
 * out_layouts say ("f32[4@x, 6]", with dtype and sizes). Movements count as asked for. `region`
 * must not call anything collective; where it fails on one rank, all ranks end. Results belong to
 * the current scope. Without data (fake) it is not called. Collective over the operands' mesh. */
MW_API MW_NODISCARD mw_status mw_local_map_at(mw_site site, mw_tensor *const *operands,
                                              const char *const *in_layouts, int noperands,
                                              const char *const *out_layouts, int nresults,
                                              mw_status (*region)(void *user, const mw_local *in,
                                                                  const mw_local *out),
                                              void *user, mw_tensor **ret);
#define mw_local_map(...) mw_local_map_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* ---- reading
 * -------------------------------------------------------------------------------------- */

/* The shard of this rank, row-major, borrowed until the next op on `t`; *ret_count elements. Local.
 */
MW_API MW_NODISCARD mw_status mw_local_data(mw_tensor *t, void **ret_data, int64_t *ret_count);

/* The same with dtype, shape and strides, as it lies: nothing is copied. Of a partial tensor it is
 * this rank's term. Local. */
MW_API MW_NODISCARD mw_status mw_to_local(mw_tensor *t, mw_local *ret);

/* The whole tensor, row-major, into `to` of `size` bytes, converted to `dtype`. Collective. */
MW_API MW_NODISCARD mw_status mw_read_at(mw_site site, mw_tensor *t, mw_dtype dtype, void *to,
                                         int64_t size);
#define mw_read(...) mw_read_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* The value of a tensor of one element. Collective. */
MW_API MW_NODISCARD mw_status mw_item_at(mw_site site, mw_tensor *t, double *ret);
#define mw_item(...) mw_item_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* Type and values as text, into `to` of `size` bytes (NUL-terminated); *ret_length is what all of
 * it would take. Collective. */
MW_API MW_NODISCARD mw_status mw_format_at(mw_site site, mw_tensor *t, char *to, int64_t size,
                                           int64_t *ret_length);
#define mw_format(...) mw_format_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* The tensor's type and every rank's shard: its rank, coordinates, ranges of positions and values,
 * terms of a partial tensor named as such; as mw_format. Collective over its mesh. */
MW_API MW_NODISCARD mw_status mw_format_shards_at(mw_site site, mw_tensor *t, char *to,
                                                  int64_t size, int64_t *ret_length);
#define mw_format_shards(...) mw_format_shards_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* ---- sampling
 * -------------------------------------------------------------------------------------- */

typedef struct mw_sampler {
    double temperature;  /* 0: the largest logit */
    int top_k;           /* sample among the largest k; 0: among all */
    uint64_t seed, step; /* the noise of an element depends on these and its global index only */
} mw_sampler;

/* Draws an index from logits [V] or [1, V], which may be sharded: never gathered; each rank offers
 * its best, pairs of value and index are exchanged. Where `top` is > 0 the largest `top` logits and
 * their indices come along, largest first. Counts as asked for (the sample is read). Collective. */
MW_API MW_NODISCARD mw_status mw_sample_at(mw_site site, mw_tensor *logits,
                                           const mw_sampler *sampler, int top, int64_t *ret_index,
                                           int64_t *ret_top_index, double *ret_top_value);
#define mw_sample(...) mw_sample_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* ---- accounts. Local
 * ---------------------------------------------------------------------------------- */

typedef struct mw_usage {
    int64_t collectives;            /* calls that moved something */
    int64_t bytes_received;         /* by this rank */
    int64_t bytes_unasked;          /* those nobody asked for (fake: of all ranks together) */
    int64_t live_bytes, peak_bytes; /* of this rank's tensors */
    int64_t allocations;            /* requests for memory */
    int64_t calls, misses;          /* ops called; calls whose layouts had to be decided anew */
} mw_usage;
MW_API mw_usage mw_usage_get(void);

/* Bytes that rank `index` has received: known of this rank, and on the fake backend of all. */
MW_API int64_t mw_usage_received(int index);

/* One line of the account of movements. */
typedef struct mw_cause {
    char cause[160];  /* "mark_sharding models/llama.c:120" */
    const char *kind; /* "all_reduce" */
    char axes[64];
    int64_t count, bytes_received;
    int asked;
} mw_cause;
/* Up to `cap` rows, in order of first appearance; returns how many there are. */
MW_API int mw_causes_get(mw_cause *ret, int cap);

#ifdef __cplusplus
}
#endif
#endif
