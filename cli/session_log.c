/* The log of a run: every call and movement, in the form that --log names, to stderr or to files. A
 * line is written by one call, so that lines of ranks, which are threads, stay whole. */
#include "cli/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *log_of(const session *s, int rank)
{
    return s->log ? s->log[s->nlog > 1 ? rank : 0] : stderr;
}

static void log_text(void *user, const mw_event *e)
{
    FILE *to = log_of(user, e->rank);
    if (e->kind == MW_EVENT_CALL)
        (void)fprintf(to, "rank %d #%lld %s -> %s  [%s:%d %s]\n", e->rank, (long long)e->number,
                      e->text, e->result, e->site.file ? e->site.file : "?", e->site.line,
                      e->chain);
    else
        (void)fprintf(
            to,
            "rank %d #%lld move %s: %s -> %s  %lld B (most %lld)  %s by %s%s%s%s%s  [%s:%d %s]\n",
            e->rank, (long long)e->number, e->text, e->from, e->to, (long long)e->recv_bytes,
            (long long)e->recv_bytes_most, e->asked ? "asked" : "UNASKED", e->op,
            e->tensor[0] ? " of " : "", e->tensor, e->why[0] ? ": " : "", e->why,
            e->site.file ? e->site.file : "?", e->site.line, e->chain);
}

static void log_json(void *user, const mw_event *e)
{
    json_t *o = json_pack("{s:s, s:i, s:I, s:s, s:s}", "event", mw_event_kind_name(e->kind), "rank",
                          e->rank, "number", (json_int_t)e->number, "op", e->op, "text", e->text);
    if (o && e->kind == MW_EVENT_CALL)
        (void)json_object_set_new(o, "result", json_string(e->result));
    if (o && e->kind == MW_EVENT_MOVE) {
        json_t *more = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:b}", "tensor", e->tensor,
                                 "from", e->from, "to", e->to, "axes", e->axes, "why", e->why,
                                 "recv_bytes", (json_int_t)e->recv_bytes, "recv_bytes_most",
                                 (json_int_t)e->recv_bytes_most, "asked", e->asked);
        if (more) (void)json_object_update(o, more);
        json_decref(more);
    }
    if (o) (void)json_object_set_new(o, "file", json_string(e->site.file ? e->site.file : ""));
    if (o) (void)json_object_set_new(o, "line", json_integer(e->site.line));
    if (o) (void)json_object_set_new(o, "chain", json_string(e->chain));
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    if (text) (void)fprintf(log_of(user, e->rank), "%s\n", text);
    free(text);
    json_decref(o);
}

/* As DTensor's own log: one process's view, that of rank 0, unless each rank has a file. */
static void log_dispatch(void *user, const mw_event *e)
{
    const session *s = user;
    const char *path = s->args->value[OPT_log_file];
    if (e->rank == 0 || (path && strstr(path, "%r"))) (void)fputs(e->dispatch, log_of(s, e->rank));
}

/* What --log may say. */
static const struct {
    const char *form;
    mw_event_sink sink;
} forms[] = {{"events", log_text}, {"json", log_json}, {"dispatch", log_dispatch}};

/* One file for all ranks: where they are processes, each appends whole lines to what the first has
 * emptied. */
static FILE *open_shared(const session *s, const char *path)
{
    bool mpi = s->args->world && s->args->world->mpi;
    FILE *file = cli_first(s->args) ? fopen(path, "w") : fopen(path, "a");
    if (file && mpi) file = freopen(path, "a", file);
    if (file && mpi) (void)setvbuf(file, NULL, _IOLBF, BUFSIZ);
    return file;
}

/* Opens the log: one file, or with %r in its name one per rank. */
mw_status session_log_open(session *s)
{
    const char *form = s->args->value[OPT_log], *path = s->args->value[OPT_log_file];
    const char *device = s->args->value[OPT_device];
    if (device && (!form || strcmp(form, "dispatch") != 0))
        return mw_error_set(MW_ERR_ARG, "--device needs --log dispatch, whose lines name it");
    if (!form) {
        if (path)
            return mw_error_set(MW_ERR_ARG, "--log-file needs --log events, json or dispatch");
        return MW_OK;
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(form, forms[i].form) == 0) s->launch.sink = forms[i].sink;
    if (!s->launch.sink)
        return mw_error_set(MW_ERR_ARG, "--log %.40s: expected events, json or dispatch", form);
    s->launch.sink_user = s;
    s->launch.dispatch = s->launch.sink == log_dispatch;
    s->launch.device = device;
    if (!path) return MW_OK;
    bool mpi = s->args->world && s->args->world->mpi;
    const char *mark = strstr(path, "%r");
    int n = mark && !mpi ? mw_mesh_ranks(s->mesh) : 1;
    s->log = mw_memory((size_t)n * sizeof *s->log);
    if (!s->log) return mw_last_error()->code;
    s->cap_log = n;
    for (s->nlog = 0; s->nlog < n; s->nlog++) {
        char name[4096];
        int rank = mpi ? s->args->world->rank : s->nlog;
        int length =
            mark ? snprintf(name, sizeof name, "%.*s%d%s", (int)(mark - path), path, rank, mark + 2)
                 : snprintf(name, sizeof name, "%s", path);
        FILE *file = NULL;
        if (length > 0 && length < (int)sizeof name)
            file = mark ? fopen(name, "w") : open_shared(s, name);
        if (!file) return mw_error_set(MW_ERR_IO, "%s: the log can't be written", path);
        s->log[s->nlog] = file;
    }
    return MW_OK;
}

void session_log_close(session *s)
{
    for (int i = 0; i < s->nlog; i++)
        (void)fclose(s->log[i]);
    if (s->log) mw_memory_free(s->log, (size_t)s->cap_log * sizeof *s->log);
}
