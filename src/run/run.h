/* run: sharded tensors, the eager dispatcher, the one executor, launching. What the files of this
 * module share. A rank's objects are used by its own thread only; types are interned process-wide
 * and immutable. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "comm/comm.h"
#include "ops/args.h"
#include "ops/table.h"
#include "plan/plan.h"

#include <meshwise/tensor.h>
#include <pthread.h>

/* ---- types -------------------------------------------------------------------------------------
 * What two tensors share when a call on one can be reused for the other: mesh, layout (with dtype
 * and shape), local strides. Interned: equal types are one pointer. */
typedef struct mw_ttype {
    mw_mesh *mesh;
    mw_layout layout;            /* canonical */
    int64_t stride[MW_MAX_DIMS]; /* local, in elements; 0 past ndim */
    uint64_t hash;
    struct mw_ttype *next; /* of the same bucket; never changes once published */
} mw_ttype;

/* The one mesh, for the whole process, that is the same as this: a copy made on first use. */
MW_NODISCARD mw_status mw__mesh_intern(const mw_mesh *mesh, mw_mesh **ret);

/* The interned type with the strides of `local`. Lock-free unless new. */
MW_NODISCARD mw_status mw__ttype_get(const mw_mesh *mesh, const mw_layout *layout,
                                     const int64_t *stride, const mw_ttype **ret);

/* ---- tensors -----------------------------------------------------------------------------------
 */
struct mw_tensor {
    const mw_ttype *type;
    mw_storage *storage; /* NULL: no data (fake) */
    mw_view local;       /* this rank's shard: dtype, shape and strides; data into storage */
    int refs;
    bool apart; /* a view whose operand had to be moved: it shares no memory with what it views */
    uint32_t recording;     /* which recording `recorded` is of */
    void *recorded;         /* the recorder's: what stands for it in the program; NULL: nothing */
    char *name;             /* or NULL; owned */
    struct mw_tensor *next; /* free list */
};

/* ---- redistributions, prepared for this rank --------------------------------------------------
 */
typedef struct mw_hop {
    const mw_step *step;
    mw_layout from;               /* the state before */
    mw_view out;                  /* shape of the state after, in the dtype of memory; no data */
    int64_t bytes;                /* of `out` */
    mw_transfer transfer, second; /* of a step that moves; `second` of a two-phase all_reduce */
    bool moves, two_phases;
    bool keeps;         /* mask: this rank keeps the value */
    double factor;      /* scale */
    mw_pulls local;     /* slice: own boxes */
    int64_t recv_bytes; /* received by this rank */
    int64_t *recv_each; /* fake: by every rank; else NULL */
    int account;        /* row of the account this hop was last booked on, or -1 */
} mw_hop;

typedef struct mw_redist {
    uint64_t key[2];
    const mw_ttype *from, *to;
    mw_plan plan;
    mw_hop *hop;      /* [plan.nstep] */
    const char *text; /* "f32[..] -> f32[..]" */
    mw_arena arena;   /* all that it points to */
    struct mw_redist *next;
} mw_redist;

/* ---- calls
 * --------------------------------------------------------------------------------------- A call
 * whose layouts are decided: what must be done to the operands, the kernel, the results' types. An
 * entry of the cache; a compiled program is a list of them. */
typedef struct mw_prepare {
    mw_redist *redist; /* NULL: the operand is right as it is */
    bool contiguous;   /* the view needs a dense operand */
} mw_prepare;

typedef struct mw_call {
    uint64_t hash;
    int nkey;
    const uint64_t *key;
    struct mw_call *next;
    const mw_op *op;
    const char *name; /* "mm" */
    mw_call_args args;
    mw_choice
        choice; /* of which `why`, `moves` and `parts` last; the layouts only while deciding */
    int nin, nout;
    bool plain; /* a kernel, no preparation: the shortest path */
    bool moves; /* some operand is prepared */
    bool in_place;
    bool view;
    bool apart;            /* a view that does not alias its operand, though the schema says so */
    bool parts;            /* op->parts instead of a kernel */
    mw_prepare *prepare;   /* [nin] */
    mw_tensor **ready;     /* [nin] the prepared operands, while the call runs */
    mw_redist *back;       /* in place on a re-placed operand: from there to where it was */
    mw_kernel_call kernel; /* with views whose data is filled in per call */
    mw_view *in, *out;     /* what kernel.in and kernel.out point to */
    const mw_ttype **out_type; /* [nout] */
    int64_t *out_bytes;        /* [nout] */
    int64_t *view_offset;      /* [nout] of a view: bytes into the operand's data */
    const char *dispatch;      /* lines of DTensor's log, or "" */
    const char *text, *result; /* for events and errors */
    mw_arena arena;
} mw_call;

/* ---- the rank
 * -------------------------------------------------------------------------------------- */
/* Marks by text, remembered: what `text` on a tensor of type `from` comes to. */
typedef struct mw_known_mark {
    const mw_ttype *from;
    mw_redist *redist;
    char text[112];
} mw_known_mark;

enum { MW_RANK_MARKS = 64 };
enum { MW_RANK_BUCKETS = 4096, MW_RANK_CALLS = 8192, MW_RANK_ACCOUNTS = 512, MW_CHAIN = 16 };

typedef struct mw_account {
    const char *file;
    int line;
    const char *op;
    mw_step_kind kind;
    uint32_t axes;
    bool asked;
    int64_t count, bytes;
} mw_account;

/* Why the movement that is being made is made. */
typedef struct mw_reason {
    const char *op;     /* the op that asked */
    const char *why;    /* "" where asked */
    const char *tensor; /* name of what moves */
    bool asked;
} mw_reason;

typedef struct mw_rank mw_rank;

/* What takes calls down instead of running them: while a rank has one, no op runs and nothing
 * moves. The module graph has it (capture). */
typedef struct mw_recorder mw_recorder;
struct mw_recorder {
    mw_status (*call)(mw_recorder *r, const mw_op *op, const mw_value *args, int nargs,
                      mw_tensor **out, int cap, int *ret_nout);
    /* Places t; `mark`: the handle itself is re-placed and returned, else a new one. */
    mw_status (*place)(mw_recorder *r, mw_tensor *t, mw_mesh *mesh, const mw_layout *to, bool mark,
                       mw_tensor **ret);
    /* A tensor that begins here: with whole data, or (NULL) with zeros. */
    mw_status (*begin)(mw_recorder *r, mw_mesh *mesh, const mw_layout *layout, const void *data,
                       mw_tensor **ret);
    void (*name)(mw_recorder *r, mw_tensor *t, const char *name);
    /* The values of a tensor of ints that constants alone make, in the arena; *ret_count -1: they
     * are known only when the program runs, and *ret_text is what it is called. */
    mw_status (*ints)(mw_recorder *r, mw_tensor *t, mw_arena *arena, const int64_t **ret,
                      int *ret_count, const char **ret_text);
    /* `what` asks for values, or runs what can't be taken down: an error that names who asked. t
     * may be NULL. */
    mw_status (*refuse)(mw_recorder *r, const char *what, const mw_tensor *t);
};

struct mw_rank {
    mw_recorder *recorder; /* NULL: calls run */
    uint32_t recordings;   /* how many there were */
    mw__ctx ctx;
    int index;
    bool failed;    /* alone, and the others were told */
    mw_error first; /* that failure: it stays, whatever collectives say afterwards */
    mw_mesh *mesh;
    mw_comm *comm;
    const mw_launch_options *options;
    bool fake;
    mw_site site; /* of the call being made */
    struct {
        const char *name;
        int64_t first; /* of the scope's tensors in `owned` */
    } chain[MW_CHAIN];
    int nchain, depth; /* depth may exceed what the chain has room for */
    mw_tensor **owned; /* by the open scopes, outermost first */
    int64_t nowned, cap_owned;
    mw_tensor *free_tensors;
    mw_call *calls[MW_RANK_BUCKETS];
    int64_t ncalls;
    int parts; /* ops whose parts run now: their calls must not be forgotten */
    mw_redist *redists[MW_RANK_BUCKETS];
    int64_t nredists;
    mw_known_mark marks[MW_RANK_MARKS];
    mw_arena scratch;        /* of kernels */
    mw_arena plan_scratch;   /* of decisions */
    mw_arena choose_scratch; /* of the choice being worked out */
    mw_account account[MW_RANK_ACCOUNTS];
    int naccount;
    mw_usage usage;
    int64_t *received_by; /* fake: bytes received by every rank; else NULL */
    int64_t events;
    mw_status (*program)(void *user);
    void *user;
    mw_status ended; /* what the program returned */
};

/* This thread's rank, or NULL with an error that says that no program has been launched here. */
mw_rank *mw__rank_get(void);

/* ---- tensor.c ---- */
/* A new handle of the current scope. local and storage are the caller's to set. */
MW_NODISCARD mw_status mw__tensor_new(mw_rank *rank, mw_tensor **ret);
/* A handle of nobody's scope, for temporaries: freed by mw__tensor_drop. */
MW_NODISCARD mw_status mw__tensor_make(mw_rank *rank, mw_tensor **ret);
void mw__tensor_drop(mw_rank *rank, mw_tensor *t); /* gives up one reference */
/* Memory for t->local, whose dtype and shape are set (contiguous); none when fake. */
MW_NODISCARD mw_status mw__tensor_fill(mw_rank *rank, mw_tensor *t, int64_t bytes);
/* The view that this rank's shard of `layout` has: dtype of memory, local shape, dense strides. */
void mw__local_view(const mw_rank *rank, const mw_mesh *mesh, const mw_layout *layout,
                    mw_view *ret);
/* Another handle, of the current scope, on the same memory. */
MW_NODISCARD mw_status mw__tensor_again(mw_rank *rank, const mw_tensor *t, mw_tensor **ret);
/* A dense copy where t's local strides are not dense; else another reference to t. Temporary. */
MW_NODISCARD mw_status mw__tensor_dense(mw_rank *rank, mw_tensor *t, mw_tensor **ret);
const char *mw__chain_text(const mw_rank *rank, char *to, int size);

/* ---- place.c ---- */
/* The layout that `text` ("replicated" too) says of a tensor like t. */
MW_NODISCARD mw_status mw__layout_for(mw_mesh *mesh, const mw_tensor *t, const char *text,
                                      mw_layout *ret);

/* The handle takes over what `from` holds, whose reference it uses up. */
void mw__tensor_rebind(mw_rank *rank, mw_tensor *t, mw_tensor *from);

/* Where the layout can be said on the launch's own mesh, of the same ranks, it is: tensors that
 * programs place on several meshes can then meet in one op. */
void mw__home_layout(const mw_rank *rank, mw_mesh **mesh, mw_layout *layout);

/* Re-places the handle: from now on it lies on `mesh` (the same ranks) as `to`, a canonical layout,
 * says. Collective. */
MW_NODISCARD mw_status mw__tensor_replace(mw_rank *rank, mw_tensor *t, mw_mesh *mesh,
                                          const mw_layout *to, const mw_reason *reason);

/* ---- read.c ---- */
void mw__format_view(const mw_view *view, mw_str *to); /* values, and a line's end */

/* ---- redist.c ---- */
MW_NODISCARD mw_status mw__redist_get(mw_rank *rank, const mw_ttype *from, const mw_layout *to,
                                      mw_redist **ret);
/* One that runs a given plan; the caller's to free, not of the cache. */
MW_NODISCARD mw_status mw__redist_planned(mw_rank *rank, const mw_ttype *from, const mw_plan *plan,
                                          mw_mesh *to_mesh, const mw_layout *to, mw_redist **ret);
void mw__redist_free(mw_redist *redist); /* NULL is fine */
/* Runs it: a new temporary tensor. Collective over the mesh. */
MW_NODISCARD mw_status mw__redist_run(mw_rank *rank, mw_redist *redist, mw_tensor *t,
                                      const mw_reason *reason, mw_tensor **ret);
/* The same into a tensor whose memory is there, dense and of the type that it ends in; the plan has
 * at least one step. */
MW_NODISCARD mw_status mw__redist_run_into(mw_rank *rank, mw_redist *redist, mw_tensor *t,
                                           const mw_reason *reason, mw_tensor *into);
/* The same in two halves, for a redistribution that is one collective from `t` as it lies
 * (mw__redist_halves): the rank may compute between them, and must leave `t` and `into` alone. */
bool mw__redist_moves(const mw_redist *redist); /* talks to other ranks */
bool mw__redist_halves(const mw_redist *redist, const mw_tensor *t);
MW_NODISCARD mw_status mw__redist_begin(mw_rank *rank, mw_redist *redist, const mw_tensor *t,
                                        const mw_reason *reason, const mw_tensor *into);
MW_NODISCARD mw_status mw__redist_end(mw_rank *rank, mw_redist *redist, const mw_tensor *t,
                                      const mw_reason *reason, const mw_tensor *into);
void mw__redist_forget(mw_rank *rank);

/* ---- serve.c ---- */
/* Sets what the hop's transfers serve. */
MW_NODISCARD mw_status mw__serve_pulls(mw_rank *rank, mw_redist *redist, mw_hop *hop);
/* Of a two-phase all_reduce over `count` elements; `team` in the order of the chunks, n ranks. */
MW_NODISCARD mw_status mw__serve_chunks(mw_redist *redist, mw_hop *hop, const int *team, int n,
                                        int me, int64_t count);

/* ---- world.c ---- */
MW_NODISCARD mw_status mw__world_team(mw_comm *comm, mw_team **ret); /* of all ranks */
/* This process' end of the world that a launcher has started, once all ranks are there with the
 * same mesh. */
MW_NODISCARD mw_status mw__world_join(const mw_launch_options *options, const mw_mesh *mesh,
                                      mw_comm **ret_comm);

/* ---- account.c ---- */
/* The last folder and the name of a source file: what errors, events and rows show. */
const char *mw__short_file(const char *file);
MW_NODISCARD mw_status mw__account_move(mw_rank *rank, mw_redist *redist, mw_hop *hop,
                                        const mw_reason *reason);
void mw__account_call(mw_rank *rank, mw_call *call);
MW_NODISCARD mw_status mw__strict_check(mw_rank *rank, const mw_redist *redist,
                                        const mw_reason *reason);

/* ---- dispatch.c, decide.c ---- */
/* A value as an argument; its tensors, if any, are numbered from *first on, which moves past them.
 */
mw_arg mw__arg_of(const mw_value *v, int *first);
/* Values for the schema's arguments, in its order, as they are bound: ret[nargs]. Tensors are
 * numbered through all arguments. */
void mw__given_of(const mw_schema *schema, const mw_value *args, int nargs, mw_given *ret);
/* And back: an argument of a bound call as a value, its tensors out of `operand`. */
mw_value mw__value_of(const mw_arg *a, mw_tensor *const *operand);
mw_meta mw__tensor_meta(const mw_tensor *t);
/* An op call with values for the schema's arguments, in its order: results into out[], *ret_nout of
 * them. */
MW_NODISCARD mw_status mw__dispatch(mw_rank *rank, const mw_op *op, const mw_value *args, int nargs,
                                    mw_tensor **out, int cap, int *ret_nout);
MW_NODISCARD mw_status mw__call_decide(mw_rank *rank, const mw_op *op, const mw_value *args,
                                       int nargs, mw_tensor *const *operand, int nin,
                                       mw_call **ret);
MW_NODISCARD mw_status mw__call_run(mw_rank *rank, mw_call *call, mw_tensor *const *operand,
                                    mw_tensor **out);
void mw__call_free(mw_call *call); /* of mw__call_decide's; NULL is fine */
void mw__calls_forget(mw_rank *rank);
/* What a rank that was told to fail in its op call number usage.calls fails with. */
mw_status mw__injected_failure(mw_rank *rank);
/* The parts of an op whose `^` letter its operands split: its results into out[nout]. */
MW_NODISCARD mw_status mw__parts_run(mw_rank *rank, const char *name, const mw_call_args *args,
                                     int nout, mw_tensor *const *operand, mw_tensor **out);

/* The wrappers of meshwise/ops.h end here: one tensor out, or NULL. */
mw_tensor *mw__call_op(mw_site site, const mw_op *op, const mw_value *args, int nargs);

/* May the op write into `t`? Not into a view that had to be moved (MW_ERR_LAYOUT), nor into what a
 * compiled function has frozen (MW_ERR_ARG). */
MW_NODISCARD mw_status mw__writable(const char *op, const mw_tensor *t);

/* What one rank alone has seen fail (memory, a kernel): the others are told. Returns `status`;
 * where a collective fails because this rank has failed before, that first failure, and records it.
 */
mw_status mw__rank_failed(mw_rank *rank, mw_status status);

#endif
