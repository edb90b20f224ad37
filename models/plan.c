/* Reading a sharding plan, and asking it. */
#include "models/plan.h"

#include <meshwise/alloc.h>
#include <stdio.h>
#include <string.h>

typedef struct rule {
    char *glob; /* NUL-terminated */
    int line;
    mw_layout layout;
} rule;

struct model_plan {
    char *name, *text; /* copies; the globs point into text */
    size_t name_size, text_size;
    rule *rules;
    int n, cap;
    int rest_whole;
};

/* Does the glob match all of the name? A mismatch goes back to the last `*` only, so the time is
 * bounded by the product of the lengths. */
static int matches(const char *glob, const char *name)
{
    const char *star = NULL, *retry = NULL;
    while (*name) {
        if (*glob == '*') {
            star = glob++;
            retry = name;
        } else if (*glob == '?' || *glob == *name) {
            glob++, name++;
        } else if (star) {
            glob = star + 1;
            name = ++retry;
        } else {
            return 0;
        }
    }
    while (*glob == '*')
        glob++;
    return *glob == 0;
}

/* One line, NUL-terminated, without comment: `glob: [dims]`, or nothing. */
static mw_status read_line(model_plan *plan, const mw_mesh *mesh, char *line, int number)
{
    char *comment = strchr(line, '#');
    if (comment) *comment = 0;
    line += strspn(line, " \t\r");
    size_t end = strlen(line);
    while (end > 0 && strchr(" \t\r", line[end - 1]))
        line[--end] = 0;
    if (!*line) return MW_OK;
    char *colon = strchr(line, ':');
    if (!colon)
        return mw_error_set(MW_ERR_PARSE, "%s:%d: expected `glob: [dims]`, found `%.80s`",
                            plan->name, number, line);
    *colon = 0;
    rule *r = &plan->rules[plan->n];
    *r = (rule){.glob = line, .line = number};
    size_t glob_end = strlen(line);
    while (glob_end > 0 && strchr(" \t", line[glob_end - 1]))
        line[--glob_end] = 0;
    char *layout = colon + 1;
    layout += strspn(layout, " \t");
    mw_status status = mw_layout_parse(mesh, layout, &r->layout);
    if (status != MW_OK) {
        char says[sizeof mw_last_error()->says];
        (void)snprintf(says, sizeof says, "%s", mw_last_error()->says);
        return mw_error_set(status, "%s:%d: %s", plan->name, number, says);
    }
    if (r->layout.npartial)
        return mw_error_set(MW_ERR_LAYOUT, "%s:%d: a weight can't be partial: %.80s", plan->name,
                            number, layout);
    plan->n++;
    return MW_OK;
}

static mw_status read_lines(model_plan *plan, const mw_mesh *mesh)
{
    char *line = plan->text;
    for (int number = 1; line; number++) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        mw_status status = read_line(plan, mesh, line, number);
        if (status != MW_OK) return status;
        line = end ? end + 1 : NULL;
    }
    return MW_OK;
}

mw_status model_plan_parse(const mw_mesh *mesh, const char *name, const char *text,
                           model_plan **ret)
{
    model_plan *plan = mw_memory(sizeof *plan);
    if (!plan) return mw_last_error()->code;
    plan->text_size = strlen(text) + 1;
    plan->name_size = strlen(name) + 1;
    plan->cap = 1;
    for (const char *p = text; *p; p++)
        plan->cap += *p == '\n';
    plan->text = mw_memory(plan->text_size);
    plan->name = mw_memory(plan->name_size);
    plan->rules = mw_memory((size_t)plan->cap * sizeof *plan->rules);
    mw_status status = MW_OK;
    if (!plan->text || !plan->name || !plan->rules) {
        status = mw_last_error()->code;
    } else {
        memcpy(plan->text, text, plan->text_size);
        memcpy(plan->name, name, plan->name_size);
        status = read_lines(plan, mesh);
    }
    if (status != MW_OK) {
        model_plan_free(plan);
        return status;
    }
    *ret = plan;
    return MW_OK;
}

void model_plan_free(model_plan *plan)
{
    if (!plan) return;
    mw_memory_free(plan->text, plan->text_size);
    mw_memory_free(plan->name, plan->name_size);
    mw_memory_free(plan->rules, (size_t)plan->cap * sizeof *plan->rules);
    mw_memory_free(plan, sizeof *plan);
}

static const rule *rule_for(const model_plan *plan, const char *name)
{
    for (int i = 0; i < plan->n; i++)
        if (matches(plan->rules[i].glob, name)) return &plan->rules[i];
    return NULL;
}

int model_plan_has(const model_plan *plan, const char *name)
{
    return rule_for(plan, name) != NULL;
}

int model_plan_rules(const model_plan *plan)
{
    return plan->n;
}

const char *model_plan_glob(const model_plan *plan, int index, int *ret_line)
{
    *ret_line = plan->rules[index].line;
    return plan->rules[index].glob;
}

int model_plan_matches(const model_plan *plan, int index, const char *name)
{
    return matches(plan->rules[index].glob, name);
}

void model_plan_rest_whole(model_plan *plan)
{
    plan->rest_whole = 1;
}

mw_status model_plan_layout(const model_plan *plan, const char *name, int ndim,
                            const int64_t *shape, mw_layout *ret)
{
    const rule *r = rule_for(plan, name);
    if (!r && plan->rest_whole) {
        *ret = mw_layout_replicated(MW_DTYPE_NONE, ndim, shape);
        return MW_OK;
    }
    if (!r) {
        mw_status status =
            mw_error_set(MW_ERR_LAYOUT, "%s: no rule matches the tensor %s", plan->name, name);
        mw_error_hint(
            "add a line `%s: [sizes]`; a last rule `*: ...` can't serve tensors of other shapes",
            name);
        return status;
    }
    int same = r->layout.ndim == ndim;
    for (int d = 0; same && d < ndim; d++)
        same = mw_layout_size(&r->layout, d) == shape[d];
    if (!same) {
        char have[128] = "";
        int at = 0;
        for (int d = 0; d < ndim && at < 100; d++)
            at += snprintf(have + at, sizeof have - (size_t)at, "%s%lld", d ? ", " : "",
                           (long long)shape[d]);
        return mw_error_set(MW_ERR_LAYOUT,
                            "%s:%d: the rule for %s has other sizes than the tensor's [%s]",
                            plan->name, r->line, name, have);
    }
    *ret = r->layout;
    return MW_OK;
}
