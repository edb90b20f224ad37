/* HLO text, inside: the state of its reader and what its files share. */
#ifndef LOG_HLO_H
#define LOG_HLO_H

#include "log/xla_runs.h"

enum { HLO_NAMES = 4096, HLO_ELEMENTS = 16 };

/* Kinds of names that are kept beside those of values. */
#define HLO_LIMIT  UINT64_C(0x51a7c0de0000) /* how often a loop's condition holds */
#define HLO_INSIDE UINT64_C(0x0dd5eed00000) /* what a computation does with its parameters */

/* What is known of a value, or of a computation, by its name. */
typedef struct hlo_value {
    uint64_t hash;
    mw_draft *gather; /* the all-gather as whose result it stands */
    int64_t gather_dim, gather_bytes, gather_size;
    uint64_t gather_groups;
    hlo_shape shape;      /* of a gather, a parameter, or a conversion */
    const char *sharding; /* in the arena; NULL: not known */
    const char *source;   /* whose sharding it is, where it was followed */
    bool stated;          /* or followed through elementwise ops */
    bool is_constant;
    int64_t constant;
    int parameter;     /* of its computation, from 1, as it is or converted; 0: none */
    int narrowed;      /* bits of an element before a conversion to fewer; 0: none */
    int left, right;   /* of a computation: the parameters that its dot multiplies, from 1 */
    const char *attrs; /* of that dot */
} hlo_value;

/* Where in the program an op comes from: the tables of files and frames before the computations,
 * to which stack_frame_id of an instruction points. */
enum { HLO_NO_TABLE, HLO_FILES, HLO_FUNCTIONS, HLO_LOCATIONS, HLO_FRAMES, HLO_TABLES };

typedef struct hlo_row {
    const char *name;             /* of a file or function */
    int64_t file, function, line; /* of a location */
    int64_t location, parent;     /* of a frame */
} hlo_row;

typedef struct hlo_frames {
    int open; /* the table whose rows are being read */
    struct {
        hlo_row *row; /* the row of id 1 first */
        int64_t n, cap;
    } table[HLO_TABLES];
    bool shifted; /* parents are printed one too high: the outermost frame names itself */
} hlo_frames;

typedef struct hlo_state {
    bool open;            /* inside a module or computation */
    bool spmd;            /* after partitioning: shapes are one device's */
    const char *why;      /* how that is known */
    int64_t partitions;   /* 0: not stated */
    int64_t devices;      /* the most that a sharding since the entry's head speaks of; 0: none */
    uint64_t computation; /* hash of its name; 0: none */
    int64_t instructions, collectives, shardings;
    mw_draft *head;   /* entry of the module or ENTRY line */
    hlo_value *value; /* [HLO_NAMES], by hash; newer ones replace older ones */
    bool named;       /* something is in there */
    bool starved;     /* there was no memory for it */
    xla_runs runs;
    runs_total again; /* of lines that an earlier module had as well, and that are not read again */
    hlo_frames frames;
    bool entry;   /* the computation is the module's entry */
    int64_t last; /* line read last */
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
const char *mw__hlo_word_end(const char *at);                /* past letters, digits, _ . - */
const char *mw__hlo_skip(const char *at);                    /* past spaces, commas, comments */
const char *mw__hlo_attr(const hlo_op *op, const char *key); /* past `key=`, or NULL */

bool mw__hlo_collective(const hlo_op *op); /* true: it is one, or a part of one */
void mw__hlo_dot(const hlo_op *op);
bool mw__hlo_sharding_op(const hlo_op *op); /* true: it has one, which was told */
void mw__hlo_tuple(const hlo_op *op);       /* without a sharding of its own */
void mw__hlo_follow(const hlo_op *op);      /* results that lie as their operands do */
const hlo_value *mw__hlo_nth(const hlo_op *op, int operand); /* known of an operand, from 1 */
void mw__hlo_pass(const hlo_op *op, const hlo_value *from);  /* the result is `from`, converted */
void mw__hlo_dot_inside(const hlo_op *fusion, const hlo_value *computation);
void mw__hlo_metadata(const hlo_op *op, mw_draft *d);

/* Loops, calls and branches: who runs whom. */
void mw__hlo_callees(const hlo_op *op);

/* A line of the tables of files and frames. */
bool mw__hlo_frames_line(mw_explain *e, hlo_frames *f, const mw_line *line);
void mw__hlo_frames_tell(const hlo_frames *f, mw_draft *d, int64_t frame, const char *from);
void mw__hlo_frames_clear(hlo_frames *f);
void mw__hlo_frames_done(hlo_frames *f);

#endif
