/* A model about to run on a mesh: what run and eval share. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"
#include "models/llama.h"

enum { SESSION_NOTES = 12, SESSION_CAUSES = 256 };

/* What one rank used, loading excluded. */
typedef struct rank_report {
    int64_t weight_bytes, peak_bytes, collectives, bytes_received, bytes_unasked;
    int64_t rss; /* of its process */
    mw_cause cause[SESSION_CAUSES];
    char kind[SESSION_CAUSES][24]; /* cause[i].kind, which is no pointer of another process */
    int ncause;
} rank_report;

typedef struct session {
    const cli_args *args;
    cli_model model;
    llama_config config;
    mw_mesh *mesh;
    model_plan *plan;
    mw_dtype dtype;
    mw_launch_options launch;
    char mesh_text[512];
    char note[SESSION_NOTES][200]; /* what the user should know about this mesh */
    int nnote;
    FILE **log; /* one, or one per rank */
    int nlog, cap_log;
    double started;
    bool progress;
    rank_report *rank; /* [ranks] */
} session;

/* Opens everything that the options name. On failure the error is reported: returns an exit code,
 * else -1. */
int session_open(const cli_args *args, const char *path, session *ret);
void session_close(session *s);

/* Parts of session_open, for models that are no file: backend, mesh and dtype; the plan of --plan
 * or, without it, the text `own`, which messages call `name`; something that the user should know.
 */
MW_NODISCARD mw_status session_options(session *s);
MW_NODISCARD mw_status session_plan(session *s, const char *name, const char *own);
void session_note(session *s, const char *text);

/* Opens what --log and --log-file ask for, as the launch's sink; closes its files. */
MW_NODISCARD mw_status session_log_open(session *s);
void session_log_close(session *s);

/* Launches the program, if `ready` is MW_OK; else fails with the error just recorded. Where ranks
 * are processes, none begins unless all are ready, and what all of them say is said once. */
MW_NODISCARD mw_status session_launch(session *s, mw_status ready, mw_status (*program)(void *user),
                                      void *user);

/* Loads the model on this rank: called by the launched program. `positions` as llama_open. */
MW_NODISCARD mw_status session_load(session *s, int64_t positions, llama **ret);

/* Writes this rank's report: usage since `since`. Collective: afterwards the first rank has all. */
MW_NODISCARD mw_status session_report(session *s, const llama *model, const mw_usage *since);

/* The objects "comm" and "memory" of the results; NULL without memory. */
json_t *session_comm(const session *s);
json_t *session_memory(const session *s);
json_t *session_mesh(const session *s);
json_t *session_notes(const session *s);

/* Bytes as a JSON string; what is not UTF-8 becomes U+FFFD. */
json_t *json_text(const char *at, int64_t length);

double session_now(void); /* seconds, monotonic */

#endif
