/* What tests of the explainer ask of its entries: by event and line, facts by name and a piece of
 * the value, problems by kind. Wording is not looked at. */
#ifndef UNIT_EXPLAIN_CHECK_H
#define UNIT_EXPLAIN_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the above first */
#include <cmocka.h>
#include <meshwise/alloc.h>
#include <meshwise/explain.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "explain_memory.h"

static mw_explain *explain_on(const char *mesh, const char *text)
{
    mw_explain *e = NULL;
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = mesh}, &e), MW_OK);
    assert_int_equal(mw_explain_feed(e, text, (int64_t)strlen(text)), MW_OK);
    assert_int_equal(mw_explain_finish(e), MW_OK);
    return e;
}

/* The first entry of an event that begins in that line. */
static const mw_entry *entry_at(const mw_explain *e, const char *event, int64_t line)
{
    for (int64_t i = 0; i < mw_explain_entries(e); i++) {
        const mw_entry *x = mw_explain_entry(e, i);
        if (strcmp(x->event, event) == 0 && x->first == line) return x;
    }
    fail_msg("no entry %s in line %d", event, (int)line);
    return NULL;
}

static const mw_fact *fact_with(const mw_entry *e, const char *name, const char *part)
{
    for (int i = 0; i < e->nfact; i++)
        if (strcmp(e->fact[i].name, name) == 0 && strstr(e->fact[i].value, part))
            return &e->fact[i];
    return NULL;
}

static void has(const mw_entry *e, const char *name, mw_how how, const char *part)
{
    const mw_fact *fact = fact_with(e, name, part);
    if (!fact) fail_msg("no fact %s with %s in: %s", name, part, e->says);
    assert_int_equal(fact->how, how);
}

static bool has_problem(const mw_entry *e, const char *kind)
{
    for (int i = 0; i < e->nproblem; i++)
        if (strcmp(e->problem[i].kind, kind) == 0) return true;
    return false;
}

static bool names_missing(const mw_explain *e, const char *part)
{
    for (int64_t i = 0; i < mw_explain_missing(e); i++)
        if (strstr(mw_explain_missing_at(e, i), part)) return true;
    return false;
}

#endif
