/* Where shardings came from, as Shardy prints it for debugging: the origin of each axis of a value,
 * and the steps of propagation, each with the operand or result that handed an axis on.
 *
 *     sdy.sharding_origins = [{x = "input: 0", y = "constraint_1"}]
 *     sdy.propagation_edges = <[{step-4 = [{"y" = operand-0 -> [operand-1, result-0]}]}]> */
#include "log/mlir.h"

#include <stdio.h>

/* "input: 0" in words. */
static const char *origin(const char *at, size_t n, char *to, size_t size)
{
    static const struct {
        const char *word, *says;
    } kinds[] = {{"self", "written on this value"},
                 {"input: ", "argument "},
                 {"output: ", "result "},
                 {"constraint_", "sharding constraint "},
                 {"mc_", "manual computation "}};
    for (int i = 0; i < MW_COUNT(kinds); i++) {
        size_t length = strlen(kinds[i].word);
        if (n < length || memcmp(at, kinds[i].word, length) != 0) continue;
        const char *tail = i == 1 || i == 2 ? " of the function" : "";
        (void)snprintf(to, size, "%s%.*s%s", kinds[i].says, i ? (int)MW_MIN(n - length, 60) : 0,
                       at + length, tail);
        return to;
    }
    (void)snprintf(to, size, "%.*s", (int)MW_MIN(n, 80), at);
    return to;
}

/* Whose dictionary stands at `at`: an argument of the function's head, a result of it, or of the
 * op. */
static void bearer(const mlir_here *h, const char *at, int index, char *to, size_t size)
{
    const char *arrow = strstr(h->text, ") -> "), *name = at;
    if (*h->text == '%' && strncmp(h->text, "%arg", 4) != 0) {
        (void)snprintf(to, size, "result %d", index);
        return;
    }
    if (arrow && arrow < at) {
        (void)snprintf(to, size, "a result of the function");
        return;
    }
    while (name > h->text && *name != '%')
        name--;
    (void)snprintf(to, size, "%.*s", (int)MW_MIN(strcspn(name, ": "), 60), name);
}

/* `{x = "input: 0", "y" = "self"}`; returns past it. */
static const char *one_value(const mlir_here *h, mw_draft *d, const char *at, int index)
{
    const char *end = strchr(at, '}');
    char whose[80];
    if (!end) return NULL;
    bearer(h, at, index, whose, sizeof whose);
    for (at++; at < end;) {
        at += strspn(at, ", \"");
        size_t n = strcspn(at, "=,}");
        const char *name = at, *quote = at + n;
        if (*quote != '=' || quote >= end) break;
        while (n && (name[n - 1] == ' ' || name[n - 1] == '"'))
            n--;
        quote = strchr(quote, '"');
        const char *close = quote ? strchr(quote + 1, '"') : NULL;
        if (!close || close > end) break;
        char words[160];
        const char *fact =
            mw__explain_text(h->e, "axis %.*s of %s comes from", (int)MW_MIN(n, 80), name, whose);
        mw__fact(d, fact ? fact : "", MW_HOW_STATED, h->from, "%s",
                 origin(quote + 1, (size_t)(close - quote - 1), words, sizeof words));
        at = close + 1;
    }
    return end + 1;
}

static mw_draft *begin(const mlir_here *h)
{
    const char *name;
    int n = mw__mlir_name(h->text, &name);
    mw_draft *d = mw__draft(h->e, h->line, "sdy", "origins");
    mw__draft_says(d, "Where the axes of %.*s came from.", n ? n : 22,
                   n ? name : "the values of the line");
    return d;
}

static mw_draft *origins(const mlir_here *h)
{
    mw_draft *d = NULL;
    const char *at = h->text;
    for (int i = 0; i < MLIR_MARKS && (at = strstr(at, "sdy.sharding_origins = ")) != NULL; i++) {
        at += strlen("sdy.sharding_origins = ");
        bool list = *at == '[';
        at += list;
        if (!d) d = begin(h);
        for (int k = 0; k < MLIR_MARKS && at && *at == '{'; k++) {
            const char *next = one_value(h, d, at, k);
            if (!next) return d;
            at = next + strspn(next, ", ");
            if (!list) break;
        }
    }
    return d;
}

/* `{"d" = operand-0 -> [result-0]}, ...` up to `]}`: one step. */
static const char *one_step(const mlir_here *h, mw_draft *d, const char *at)
{
    int64_t step;
    at += strlen("{step-");
    if (!mw__hlo_int(&at, &step)) return NULL;
    at = strchr(at, '[');
    if (!at) return NULL;
    at++;
    for (int i = 0; i < MLIR_MARKS && *at == '{'; i++) {
        const char *end = strchr(at, '}'), *arrow = strstr(at, " -> [");
        const char *equals = strstr(at, " = ");
        if (!end || !arrow || !equals || equals > arrow || arrow > end) return NULL;
        const char *close = strchr(arrow, ']');
        if (!close || close > end) return NULL;
        const char *axis = at + 1 + (at[1] == '"');
        const char *axis_end = equals - (equals[-1] == '"');
        const char *name = mw__explain_text(h->e, "step %lld, axis %.*s", (long long)step,
                                            (int)MW_MIN(MW_MAX(axis_end - axis, 0), 100), axis);
        mw__fact(d, name ? name : "", MW_HOW_STATED, h->from, "%.*s handed it to %.*s",
                 (int)MW_MIN(arrow - equals - 3, 60), equals + 3,
                 (int)MW_MIN(close - arrow - 5, 300), arrow + 5);
        at = end + 1 + strspn(end + 1, ", ");
    }
    return *at == ']' ? at + 1 : NULL;
}

void mw__mlir_origins(const mlir_here *h)
{
    if (!strstr(h->text, "sdy.")) return;
    mw_draft *d = origins(h);
    const char *at = strstr(h->text, "sdy.propagation_edges");
    for (int i = 0; i < MLIR_MARKS && at; i++) {
        const char *step = strstr(at, "{step-");
        for (int k = 0; k < 1000 && step; k++) {
            if (!d) d = begin(h);
            const char *end = one_step(h, d, step);
            if (!end || *end != '}') break;
            step = end + 1 + strspn(end + 1, ", ");
            if (strncmp(step, "{step-", 6) != 0) break;
        }
        at = strstr(at + 1, "sdy.propagation_edges");
    }
}
