/* --passes and --print-after, for every command that has them. */
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 64 };

typedef struct pass_list {
    const char *name[MOST];
    int n;
} pass_list;

static int find(const char *name, size_t length)
{
    for (int i = 0; i < mw_pass_count(); i++)
        if (strlen(mw_pass_name(i)) == length && memcmp(mw_pass_name(i), name, length) == 0)
            return i;
    return -1;
}

static mw_status unknown(const char *option, const char *name, int length)
{
    const char *names[MOST];
    char given[48], list[256] = "";
    int n = 0;
    for (; n < mw_pass_count() && n < MOST; n++) {
        names[n] = mw_pass_name(n);
        size_t at = strlen(list);
        (void)snprintf(list + at, sizeof list - at, "%s%s", n ? ", " : "", names[n]);
    }
    (void)snprintf(given, sizeof given, "%.*s", length, name);
    mw_status status = mw_error_set(MW_ERR_ARG, "%s: no pass '%s'", option, given);
    const char *near = mw_nearest_name(given, names, n);
    if (near)
        mw_error_hint("did you mean %s? There are %s", near, list);
    else
        mw_error_hint("there are %s", list);
    return status;
}

static mw_status read_list(const char *text, pass_list *ret)
{
    ret->n = 0;
    while (*text) {
        size_t n = strcspn(text, ", ");
        int at = find(text, n);
        if (n == 3 && strncmp(text, "all", n) == 0)
            for (int i = 0; i < mw_pass_count() && ret->n < MOST; i++)
                ret->name[ret->n++] = mw_pass_name(i);
        else if (n && at < 0)
            return unknown("--passes", text, (int)n);
        else if (n && ret->n < MOST)
            ret->name[ret->n++] = mw_pass_name(at);
        text += n;
        text += strspn(text, ", ");
    }
    return MW_OK;
}

/* Will the pass to print after run? */
static mw_status check_after(const pass_list *list, const char *after)
{
    if (!after) return MW_OK;
    if (find(after, strlen(after)) < 0) return unknown("--print-after", after, (int)strlen(after));
    for (int i = 0; i < list->n; i++)
        if (strcmp(list->name[i], after) == 0) return MW_OK;
    mw_status status =
        mw_error_set(MW_ERR_ARG, "--print-after %s: it is not among the passes that run", after);
    mw_error_hint("name it in --passes too, or leave --passes out: then all run");
    return status;
}

mw_status cli_print_graph(mw_graph *graph)
{
    const char *text = mw_graph_text(graph);
    if (!text) return mw_error_set(MW_ERR_NOMEM, "out of memory");
    (void)fputs(text, stdout);
    return MW_OK;
}

mw_status cli_passes(mw_graph *graph, const cli_args *args, cli_pass_ran *ran, void *user)
{
    const char *after = args->value[OPT_print_after], *text = args->value[OPT_passes];
    pass_list list;
    bool captured = after && ran && strcmp(after, "capture") == 0;
    mw_status status = read_list(text ? text : "all", &list);
    if (status == MW_OK && !captured) status = check_after(&list, after);
    if (status == MW_OK && captured) status = cli_print_graph(graph);
    for (int i = 0; i < list.n && status == MW_OK; i++) {
        double began = session_now();
        status = mw_graph_pass(graph, list.name[i]);
        if (status == MW_OK && ran) ran(user, graph, list.name[i], session_now() - began);
        if (status == MW_OK && after && strcmp(after, list.name[i]) == 0)
            status = cli_print_graph(graph);
    }
    return status;
}
