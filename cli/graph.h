/* meshwise graph: what its files share. */
#ifndef CLI_GRAPH_H
#define CLI_GRAPH_H

#include "cli/session.h"

enum { GRAPH_PASSES = 32 };

typedef struct graph_pass {
    const char *name;
    double seconds;
    int64_t nodes;
} graph_pass;

typedef struct graph_state {
    session s;
    int64_t prompt; /* tokens of the step that is shown */
    bool open_rest; /* what the plan does not name is propagation's to decide */
    int captured;   /* nodes */
    graph_pass pass[GRAPH_PASSES];
    int npass;
    double seconds; /* capture and passes */
    bool printed;   /* --print-after has printed */
    json_t *object; /* the results, made while the program is there */
} graph_state;

/* Everything that is told of the program, as the object that --json prints. NULL without memory. */
json_t *graph_object(const graph_state *g, mw_graph *graph);

/* graph_export.c: how the parameters lie in the words of the system that --to names. */
MW_NODISCARD mw_status graph_export_check(const char *system);
json_t *graph_export(const graph_state *g, const mw_graph *graph, const char *system);
void graph_export_print(json_t *object);

/* The same for people. */
void graph_print(const graph_state *g);

#endif
