/* program, inside: its steps and its memory; program.c makes them, program_run.c runs them. */
#ifndef GRAPH_PROGRAM_PARTS_H
#define GRAPH_PROGRAM_PARTS_H

#include "graph/program.h"

typedef enum run_kind {
    RUN_KERNEL, /* call->op's kernel */
    RUN_VIEW,   /* the result's place, where its operand's is not known before the program runs */
    RUN_DENSE,  /* a dense copy of the operand */
    RUN_MOVE,   /* a movement */
    RUN_BEGIN,  /* the first half of one */
    RUN_END     /* the second */
} run_kind;

/* A value's handle, or one that the program makes between two values. */
typedef struct place {
    mw_tensor *handle; /* type and view; data where it is known before the program runs */
    int root;          /* the place whose memory it is; itself where it has its own */
    int slot;          /* of a root that the arena holds; -1: memory from outside */
    int64_t offset;    /* bytes from its operand's first element, of a view */
    int64_t bytes;
    int first, last; /* steps between which a root's memory must last */
    bool held;       /* its storage counts its handle as held */
    uint32_t axes;   /* mesh axes whose ranks read a root's memory, or wrote what is in it */
} place;

typedef struct run_step {
    run_kind kind;
    const mw_node *node;
    mw_call *call;
    mw_redist *redist;
    mw_reason reason;
    int nin, nout;
    int *in, *out; /* places */
    bool waits;    /* peers may still read what it writes */
    bool piece;    /* its result is a piece long: of a chain's inside */
    int fused;     /* steps from this one on run as one loop; 0: it runs alone */
} run_step;

typedef struct slot {
    mw_storage *storage;
    int64_t bytes;
    int free_at; /* while the arena is laid out */
    bool shared; /* peers read it */
    bool result; /* given to the caller: a new one is taken when he still holds it */
} slot;

struct mw_program {
    mw_arena arena;
    const mw_graph *graph;
    run_step *step;
    int nstep, cap_step;
    place *place;
    int64_t nplace, cap_place;
    slot *slot;
    int64_t nslot, cap_slot;
    int *of_value;  /* [graph->nvalue] place, or -1 */
    int *result;    /* [graph->nresult] places */
    int *parameter; /* [ninput] places */
    int ninput;
    const run_step **write; /* [nwrite] steps that write into what may be from outside */
    int nwrite;
    int *loose; /* [nloose] places whose memory is set when it runs, and given up at its end */
    int nloose;
    bool holds;  /* handles and slots are counted as held */
    bool *apart; /* [nresult] by the function a view of an input; here what it views had to be moved
                  */
    int *given;  /* [ngiven] roots whose memory results give to the caller */
    int ngiven;
    int64_t bytes;
    run_step begun; /* while steps are made: a movement that has begun and is not waited for yet */
};

/* A step that pulls from peers. */
static inline bool mw__step_pulls(const run_step *s)
{
    return s->kind == RUN_MOVE || s->kind == RUN_END;
}

/* Finds chains of steps that run as one loop, before places get their memory. */
void mw__program_fuse(mw_program *program, mw_arena *scratch);
MW_NODISCARD mw_status mw__program_run_fused(mw_rank *rank, mw_program *program, run_step *first);

/* Gives every place its memory, resolves views where that is known, and finds the steps that must
 * wait for peers. */
MW_NODISCARD mw_status mw__program_lay_out(mw_rank *rank, mw_program *p);

#endif
