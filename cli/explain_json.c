/* What was explained as one JSON object. */
#include "cli/explain.h"

#include "cli/session.h"
#include <string.h>

json_t *explain_text(const char *text)
{
    return json_text(text, (int64_t)strlen(text));
}

static bool set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static bool append(json_t *list, json_t *value)
{
    return json_array_append_new(list, value) == 0;
}

static json_t *known(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static json_t *facts_json(const mw_entry *e)
{
    json_t *list = json_array();
    bool made = list != NULL;
    for (int i = 0; made && i < e->nfact; i++) {
        const mw_fact *f = &e->fact[i];
        made = append(list, json_pack("{s:o, s:o, s:s, s:o}", "name", explain_text(f->name),
                                      "value", explain_text(f->value), "how", mw_how_name(f->how),
                                      "from", explain_text(f->from)));
    }
    if (made) return list;
    json_decref(list);
    return NULL;
}

static json_t *problems_json(const mw_entry *e)
{
    json_t *list = json_array();
    bool made = list != NULL;
    for (int i = 0; made && i < e->nproblem; i++) {
        const mw_problem *p = &e->problem[i];
        made =
            append(list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", p->kind, "says",
                                   explain_text(p->says), "fix", explain_text(p->fix), "bytes_now",
                                   known(p->bytes_now), "bytes_after", known(p->bytes_after)));
    }
    if (made) return list;
    json_decref(list);
    return NULL;
}

static json_t *ranks_json(const mw_entry *e)
{
    json_t *list = json_array();
    for (int r = 0; list && r < 64; r++)
        if (e->ranks >> r & 1 && !append(list, json_integer(r))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *laid_json(const mw_entry *e)
{
    json_t *list = json_array();
    bool made = list != NULL;
    for (int i = 0; made && i < e->nlaid; i++) {
        const mw_laid *t = &e->laid[i];
        made = append(list, json_pack("{s:o, s:o, s:o, s:s}", "name", explain_text(t->name), "mesh",
                                      explain_text(t->mesh), "layout", explain_text(t->layout),
                                      "how", mw_how_name(t->how)));
    }
    if (made) return list;
    json_decref(list);
    return NULL;
}

static json_t *entry_json(const mw_entry *e)
{
    json_t *o = json_pack("{s:[I, I], s:s, s:s, s:o, s:I, s:I, s:o, s:o, s:o}", "lines",
                          (json_int_t)e->first, (json_int_t)e->last, "source", e->source, "event",
                          e->event, "says", explain_text(e->says), "count", (json_int_t)e->count,
                          "latest", (json_int_t)e->latest, "ranks", ranks_json(e), "facts",
                          facts_json(e), "problems", problems_json(e));
    bool made = o != NULL;
    if (made && e->nlaid) made = set(o, "tensors", laid_json(e));
    if (made && e->op[0]) made = set(o, "op", explain_text(e->op));
    if (made && e->direction[0]) made = set(o, "direction", explain_text(e->direction));
    if (made && e->collective)
        made = set(o, "collective", explain_text(e->collective)) &&
               set(o, "axis", explain_text(e->axis)) && set(o, "bytes", known(e->bytes)) &&
               set(o, "runs", json_integer(e->runs));
    if (made) return o;
    json_decref(o);
    return NULL;
}

static json_t *kinds_json(const explained *x)
{
    json_t *list = json_array();
    bool made = list != NULL;
    for (int64_t i = 0; made && i < x->nkind; i++) {
        const moved_kind *k = &x->kind[i];
        made = append(list, json_pack("{s:o, s:o, s:o, s:o, s:I, s:o, s:I}", "collective",
                                      explain_text(k->collective), "axis", explain_text(k->axis),
                                      "op", explain_text(k->op), "direction",
                                      explain_text(k->direction), "count", (json_int_t)k->count,
                                      "bytes", known(k->unknown == k->count ? -1 : k->bytes),
                                      "without_bytes", (json_int_t)k->unknown));
    }
    if (made) return list;
    json_decref(list);
    return NULL;
}

static json_t *worst_json(const explained *x)
{
    json_t *list = json_array();
    bool made = list != NULL;
    for (int i = 0; made && i < WORST && x->worst[i] >= 0; i++)
        made = append(list, json_integer(x->worst[i]));
    if (made) return list;
    json_decref(list);
    return NULL;
}

static json_t *summary_json(const explained *x)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "lines",
                     (json_int_t)mw_explain_lines(x->e), "unread",
                     (json_int_t)mw_explain_unread(x->e), "calls", (json_int_t)x->calls,
                     "movements", (json_int_t)x->movements, "bytes", (json_int_t)x->bytes,
                     "movements_without_bytes", (json_int_t)x->unknown, "problems",
                     (json_int_t)x->problems, "by", kinds_json(x), "worst", worst_json(x));
}

int explain_json(const cli_args *args, const explained *x)
{
    json_t *o = json_object(), *entries = json_array(), *missing = json_array(),
           *unread = json_array();
    bool made = o && entries && missing && unread && set(o, "schema", json_integer(1));
    for (int64_t i = 0; made && i < mw_explain_entries(x->e); i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        if (!x->problems_only || e->nproblem) made = append(entries, entry_json(e));
    }
    for (int64_t i = 0; made && i < mw_explain_missing(x->e); i++)
        made = append(missing, explain_text(mw_explain_missing_at(x->e, i)));
    for (int64_t i = 0, n; made && (n = mw_explain_unread_at(x->e, i)) != 0; i++)
        made = append(unread, json_integer(n));
    made = made && json_object_set(o, "entries", entries) == 0 &&
           set(o, "summary", summary_json(x)) && json_object_set(o, "missing", missing) == 0 &&
           json_object_set(o, "unread", unread) == 0;
    if (made && x->question) made = set(o, "answer", explain_answer_json(x));
    json_decref(entries);
    json_decref(missing);
    json_decref(unread);
    if (made) return cli_print(args, o, 0);
    json_decref(o);
    return cli_print(args, NULL, 0);
}
