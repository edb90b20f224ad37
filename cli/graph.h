/* meshwise graph: what its files share. */
#ifndef CLI_GRAPH_H
#define CLI_GRAPH_H

#include "cli/session.h"
#include "models/decoder.h"

enum { GRAPH_PASSES = 32, GRAPH_RANKS = 64, GRAPH_STYLES = 64 };

typedef struct graph_pass {
    const char *name;
    double seconds;
    int64_t nodes;
} graph_pass;

/* Parameters whose names differ in numbers alone (of all layers) and that lie alike. */
typedef struct graph_group {
    char key[128];  /* the name with `*` for each number */
    char name[128]; /* of the first */
    mw_layout layout;
    const mw_mesh *mesh; /* the session's */
    bool stated, bound;
    int64_t count;
    int64_t most;               /* bytes of one on the rank that has most */
    int64_t bytes[GRAPH_RANKS]; /* of one, on the first ranks */
} graph_group;

/* What tp_plan says of one module. */
typedef struct graph_style {
    char module[112]; /* as the checkpoint has it, `*` for numbers */
    char style[40];
} graph_style;

typedef struct graph_state {
    session s;
    const char *path;
    bool is_config; /* a config.json: `decoder` holds, and no file is open */
    decoder_config decoder;
    decoder_step step;
    char ids[160], residual[160], logits[160]; /* texts of `step` */
    graph_style style[GRAPH_STYLES];           /* of tp_plan */
    int nstyle;
    int64_t batch, prompt; /* sequences; tokens of each in the step that is shown */
    bool open_rest;        /* what the plan does not name is propagation's to decide */
    int captured;          /* nodes */
    graph_pass pass[GRAPH_PASSES];
    int npass;
    double seconds;     /* capture and passes */
    bool printed;       /* --print-after has printed */
    graph_group *group; /* [ngroup] of the parameters, made while the program is there */
    int ngroup, cap_group;
    int *group_of; /* [nparameter] */
    int nparameter;
    int64_t *total; /* [ranks]: bytes of all parameters */
    json_t *object; /* the results, likewise */
} graph_state;

/* graph_config.c: reads config.json, checks that its sizes fit, and opens mesh and plan for it.
 * Fails: MW_ERR_FORMAT, naming the field. */
MW_NODISCARD mw_status graph_config_open(graph_state *g);
/* graph_fields.c: the sizes alone; `tp_plan` (borrowed from root) is what it says of sharding. */
MW_NODISCARD mw_status graph_fields_read(graph_state *g, json_t *root);

/* graph_tp_plan.c: tp_plan of Transformers, read and written. */
MW_NODISCARD mw_status graph_tp_plan_read(graph_state *g, json_t *root);
MW_NODISCARD mw_status graph_tp_plan_text(graph_state *g, char *to, int size);
const char *graph_tp_plan_style(const graph_state *g, decoder_role role); /* or NULL */
json_t *graph_tp_plan_object(const graph_state *g);
int graph_tp_plan_print(json_t *object);

/* graph_groups.c */
MW_NODISCARD mw_status graph_groups_make(graph_state *g, const mw_graph *graph);
void graph_groups_free(graph_state *g);
void graph_key(const char *name, char *to, size_t size);
/* The tensor of the model whose name has this key. False: none. */
bool graph_tensor_find(const graph_state *g, const char *key, decoder_tensor *ret);
bool graph_is_weight(const char *name);
/* How the weights lie, as a page that --plan reads. */
json_t *graph_page(const graph_state *g, const mw_graph *graph);
/* What several ranks hold the same of, and why. */
json_t *graph_copies(const graph_state *g);

/* graph_show.c: everything that is told of the program, as the object that --json prints. NULL
 * without memory. */
json_t *graph_object(const graph_state *g, mw_graph *graph);
void graph_print(const graph_state *g); /* the same for people */

/* graph_export.c: how the parameters lie in the words of the system that --to names. */
MW_NODISCARD mw_status graph_export_check(const char *system);
json_t *graph_export(const graph_state *g, const mw_graph *graph, const char *system);
int graph_export_print(json_t *object); /* 0, or an exit code */

/* graph_draw.c: the program as a drawing of dot, as a page. */
MW_NODISCARD mw_status graph_draw_dot(const graph_state *g, const mw_graph *graph,
                                      const char *path);
MW_NODISCARD mw_status graph_draw_html(const graph_state *g, mw_graph *graph, const char *path);

#endif
