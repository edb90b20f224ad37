/* HLO text, inside: the state of its reader and what its files share. */
#ifndef LOG_HLO_H
#define LOG_HLO_H

#include "log/hlo_text.h"

enum { HLO_NAMES = 4096, HLO_ELEMENTS = 16, HLO_EDGES = 1024 };

/* What is known of a value by its name: as whose all-gather it stands, and how it is cut. */
typedef struct hlo_value {
    uint64_t hash;
    mw_draft *gather;
    int64_t gather_dim, gather_bytes;
    uint64_t gather_groups;
    const char *sharding; /* in the arena; NULL: not known */
    bool stated;          /* or followed through elementwise ops */
} hlo_value;

typedef struct hlo_edge { /* one computation runs another */
    uint64_t caller, callee;
    int64_t times; /* 0: not known */
    int64_t line;
} hlo_edge;

typedef struct hlo_move {
    mw_draft *draft;
    uint64_t computation;
    int64_t bytes; /* of one run */
} hlo_move;

typedef struct hlo_factor {
    uint64_t computation;
    int64_t runs;
    bool called, unknown;
} hlo_factor;

typedef struct hlo_state {
    bool open;            /* inside a module or computation */
    bool spmd;            /* after partitioning: shapes are one device's */
    const char *why;      /* how that is known */
    int64_t partitions;   /* 0: not stated */
    uint64_t computation; /* hash of its name; 0: none */
    int64_t instructions, collectives, shardings;
    mw_draft *head;   /* entry of the module or ENTRY line */
    hlo_value *value; /* [HLO_NAMES], by hash; newer ones replace older ones */
    bool named;       /* something is in there */
    hlo_edge *edge;
    int64_t nedge, cap_edge;
    hlo_move *move;
    int64_t nmove, cap_move;
} hlo_state;

/* One instruction. */
typedef struct hlo_op {
    mw_explain *e;
    hlo_state *s;
    const mw_line *line;
    const char *from; /* "line 7" */
    const char *name; /* without % */
    int name_length;
    const char *opcode;
    int opcode_length;
    const char *operands; /* after the parenthesis */
    const char *attrs;    /* after the closing one */
    bool root, tuple;
    int nelement; /* of the result; the first HLO_ELEMENTS are kept */
    hlo_shape element[HLO_ELEMENTS];
    int64_t element_bytes[HLO_ELEMENTS]; /* nested tuples added up; -1: not known */
    int64_t bytes;
} hlo_op;

bool mw__hlo_is(const hlo_op *op, const char *opcode);
uint64_t mw__hlo_name_hash(const char *name, int64_t length); /* leading % aside */
hlo_value *mw__hlo_value(hlo_state *s, uint64_t hash, bool make);

/* The next operand's name (its type is passed over), or NULL; *at moves on. */
const char *mw__hlo_operand(const char **at, int *ret_length);
const char *mw__hlo_attr(const hlo_op *op, const char *key); /* past `key=`, or NULL */

bool mw__hlo_collective(const hlo_op *op); /* true: it is one, or a part of one */
void mw__hlo_dot(const hlo_op *op);
void mw__hlo_metadata(const hlo_op *op, mw_draft *d);
void mw__hlo_resolve(mw_explain *e, hlo_state *s); /* loops multiply what moved inside them */

#endif
