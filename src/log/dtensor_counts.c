/* CommDebugMode's tables. A module's count contains those of the modules inside it: its own part is
 * what its children leave. The table is told when it is over. */
#include "log/dtensor.h"

#include <stdlib.h>

enum { MODULES = 4096, COUNTS = 4096 };

typedef struct module {
    int indent, parent;
    const char *name;
    int64_t line;
} module;

typedef struct count {
    int module, pass;
    const char *what;
    int64_t n, inside, line;
} count;

typedef struct dt_counts {
    bool open;
    module *module;
    int64_t nmodule, cap_module;
    count *count;
    int64_t ncount, cap_count;
    int pass, pass_indent, pass_module;
} dt_counts;

static const char *const passes[] = {"forward", "backward", "recomputed"};

static dt_counts *counts_of(const dt_here *h)
{
    if (h->s->counts) return h->s->counts;
    h->s->counts = mw__arena_zalloc(&h->e->arena, sizeof *h->s->counts);
    if (!h->s->counts)
        h->e->failed = true;
    else
        h->s->counts->pass_module = -1;
    return h->s->counts;
}

void mw__dt_counts_free(dt_counts *c)
{
    if (!c) return;
    mw__free(c->module, (size_t)c->cap_module * sizeof *c->module);
    mw__free(c->count, (size_t)c->cap_count * sizeof *c->count);
}

static void add_module(const dt_here *h, dt_counts *c, const char *name)
{
    if (c->nmodule >= MODULES) return;
    if (mw__grow(&c->module, &c->cap_module, c->nmodule + 1, sizeof *c->module) != MW_OK) {
        h->e->failed = true;
        return;
    }
    int parent = -1;
    for (int64_t i = c->nmodule - 1; i >= 0 && parent < 0; i--)
        if (c->module[i].indent < h->line->indent) parent = (int)i;
    c->module[c->nmodule++] =
        (module){h->line->indent, parent, mw__explain_text(h->e, "%.120s", name), h->first};
    c->pass_module = -1;
}

static int owner(const dt_counts *c, int indent)
{
    for (int64_t i = c->nmodule - 1; i >= 0; i--)
        if (c->module[i].indent < indent) return (int)i;
    return -1;
}

/* `*c10d_functional.all_reduce: 1`. */
static bool count_line(const dt_here *h, dt_counts *c)
{
    const char *at = h->at, *colon = strchr(at, ':');
    if (*at != '*' || !colon ||
        (strncmp(at, "*c10d", 5) != 0 && strncmp(at, "*_c10d", 6) != 0 &&
         strncmp(at, "*_dtensor", 9) != 0))
        return false;
    const char *dot = memchr(at, '.', (size_t)(colon - at));
    if (!dot || c->ncount >= COUNTS) return true;
    if (mw__grow(&c->count, &c->cap_count, c->ncount + 1, sizeof *c->count) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    c->count[c->ncount++] =
        (count){.module = c->pass_module,
                .pass = c->pass,
                .n = MW_MAX(0, MW_MIN(strtoll(colon + 1, NULL, 10), INT32_MAX)),
                .what = mw__explain_text(h->e, "%.*s", (int)MW_MIN(colon - dot - 1, 80), dot + 1),
                .line = h->first};
    return true;
}

static bool pass_line(const dt_here *h, dt_counts *c)
{
    static const char *const words[] = {"FORWARD PASS", "BACKWARD PASS",
                                        "ACTIVATION CHECKPOINTING"};
    for (int i = 0; i < MW_COUNT(words); i++) {
        if (strcmp(h->at, words[i]) != 0) continue;
        c->pass = i;
        c->pass_indent = h->line->indent;
        c->pass_module = owner(c, h->line->indent);
        return true;
    }
    return false;
}

bool mw__dt_counts_line(const dt_here *h)
{
    dt_counts *c = counts_of(h);
    if (!c) return false;
    bool module_name = h->at[strspn(h->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789_.-")] == 0;
    bool starts = strcmp(h->at, "Global") == 0;
    if (starts && c->open && h->line->indent == 0) mw__dt_counts_end(h);
    bool taken = starts || pass_line(h, c) || count_line(h, c);
    if (taken && !starts) {
        c->open = true;
    } else if (starts || (c->open && module_name)) {
        c->open = true;
        add_module(h, c, h->at);
        taken = true;
    } else if (c->open) { /* module type, parameters, ops, shapes, shardings */
        taken = *h->at == '*' || mw__dt_starts(h, "shape: ") || mw__dt_starts(h, "sharding: ") ||
                mw__dt_starts(h, "device mesh: ");
    }
    if (taken) mw__explain_once(h->e);
    return taken;
}

/* ---- telling
 * ----------------------------------------------------------------------------------------- */

static void subtract_children(dt_counts *c)
{
    for (int64_t i = 0; i < c->ncount; i++) {
        const count *child = &c->count[i];
        if (child->module < 0) continue;
        int parent = c->module[child->module].parent;
        /* the nearest module above that has such a count */
        for (int64_t k = i - 1; parent >= 0 && k >= 0; k--) {
            count *above = &c->count[k];
            while (parent >= 0 && above->module < parent)
                parent = c->module[parent].parent;
            if (above->module != parent || above->pass != child->pass ||
                strcmp(above->what, child->what) != 0)
                continue;
            above->inside += child->n;
            break;
        }
    }
}

/* all_gather_into_tensor is all_gather: one name for one collective. */
static const char *kind_of(const char *what)
{
    static const char *const kinds[] = {"all_gather", "reduce_scatter", "all_reduce",
                                        "all_to_all", "broadcast",      "scatter"};
    for (int i = 0; i < MW_COUNT(kinds); i++)
        if (strncmp(what, kinds[i], strlen(kinds[i])) == 0) return kinds[i];
    return strcmp(what, "shard_dim_alltoall") == 0 ? "all_to_all" : what;
}

/* The gradient of a gather is scattered and summed, that of a reduce-scatter is gathered: modules
 * that did the one forward are likely to do the other backward. */
static void tell_mirror(const dt_here *h, const dt_counts *c, const count *one, mw_draft *d)
{
    static const char *const pairs[][2] = {{"all_gather", "reduce_scatter"},
                                           {"reduce_scatter", "all_gather"}};
    const char *kind = kind_of(one->what);
    mw_str text = {0};
    for (int k = 0; k < MW_COUNT(pairs); k++)
        for (int64_t i = 0; strcmp(kind, pairs[k][0]) == 0 && i < c->ncount; i++) {
            const count *f = &c->count[i];
            if (f->pass != 0 || f->module < 0 || f->n <= f->inside ||
                c->module[f->module].parent < 0 || strcmp(kind_of(f->what), pairs[k][1]) != 0)
                continue;
            if (text.length < 300)
                mw__str_printf(&text, "%s%s", text.length ? ", " : "", c->module[f->module].name);
        }
    if (text.length)
        mw__fact(d, "likely of", MW_HOW_ASSUMED,
                 "backward mirrors forward; a table that lists the modules' backward passes would "
                 "settle it",
                 "%s", mw__str_text(&text));
    mw__dt_done(h, &text);
}

static void tell_count(const dt_here *h, const dt_counts *c, const count *one)
{
    int64_t own = one->n - one->inside;
    const module *m = one->module >= 0 ? &c->module[one->module] : NULL;
    bool top = !m || m->parent < 0;
    if (own <= 0 && !top) return;
    mw_line line = {.number = one->line, .rank = h->line->rank, .text = "", .raw = ""};
    mw_draft *d = mw__draft(h->e, &line, "dtensor", "count");
    const char *name = m ? m->name : "the table", *from = mw__dt_line_from(h, one->line);
    mw__draft_says(d, "%s, %s: %lld %s%s%s.", name, passes[one->pass], (long long)one->n, one->what,
                   top ? " in all" : " of its own",
                   top && one->inside ? ", those of the modules inside counted in, once" : "");
    mw__fact(d, "module", MW_HOW_STATED, from, "%s", name);
    mw__fact(d, "pass", MW_HOW_STATED, from, "%s", passes[one->pass]);
    mw__fact(d, "collective", MW_HOW_STATED, from, "%s", one->what);
    mw__fact(d, top ? "total" : "count", MW_HOW_STATED, from, "%lld", (long long)one->n);
    mw__fact(d, "own count", MW_HOW_DERIVED, "its count less those of the modules inside it",
             "%lld", (long long)MW_MAX(own, 0));
    mw__draft_direction(d, one->pass == 1 ? "backward" : "forward");
    mw__draft_weight(d, top ? 25 : 10);
    if (top && own > 0 && own == one->n)
        mw__fact(d, "whose", MW_HOW_DERIVED, "no module below it lists them in this pass",
                 "the table does not say which module");
    if (top && own > 0 && one->pass == 1) tell_mirror(h, c, one, d);
    if (own > 0) mw__draft_moved(d, kind_of(one->what), "", name, -1);
    mw_entry *entry = mw__draft_entry(d);
    if (entry && own > 0) entry->count = own;
}

void mw__dt_counts_end(const dt_here *h)
{
    dt_counts *c = h->s->counts;
    if (!c || !c->open) return;
    c->open = false;
    if (c->ncount) {
        subtract_children(c);
        for (int64_t i = 0; i < c->ncount; i++)
            tell_count(h, c, &c->count[i]);
        mw__missing(h->e,
                    "sizes, mesh and placements of the collectives counted in lines %lld to "
                    "%lld: the table counts calls only, bytes are not in it",
                    (long long)c->count[0].line, (long long)c->count[c->ncount - 1].line);
    }
    c->nmodule = c->ncount = 0;
    c->pass_module = -1;
}
