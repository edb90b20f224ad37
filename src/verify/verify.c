/* Verifying one op: its samples, the same with other sizes, what it does in parts, and faults
 * planted into its rule. */
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>

const char *mw_plant_name(mw_plant plant)
{
    static const char *const names[MW_PLANT_KINDS] = {[MW_PLANT_NONE] = "",
#define X(name, text) [MW_PLANT_##name] = text,
                                                      MW_PLANT_MAP(X)
#undef X
    };
    return plant < MW_PLANT_KINDS ? names[plant] : "";
}

const char *mw_finding_name(mw_finding_kind kind)
{
    static const char *const names[MW_FINDING_KINDS] = {
#define X(name, text) [MW_FINDING_##name] = text,
        MW_FINDING_MAP(X)
#undef X
    };
    return kind < MW_FINDING_KINDS ? names[kind] : "";
}

typedef struct verify {
    const mw_op *op;
    const mw_op_info *info;
    const mw_verify_options *options;
    char mesh_text[64];
    mw_mesh *mesh;
    report report;
    mw_verify_result result;
    mw_arena arena;
} verify;

/* ---- findings ------------------------------------------------------------------------------- */

/* Does the text fit a pattern, in which `*` is any text? */
static bool fits_pattern(const char *pattern, const char *end, const char *text)
{
    for (; pattern < end; pattern++, text++) {
        if (*pattern == '*') {
            for (; !fits_pattern(pattern + 1, end, text); text++)
                if (!*text) return false;
            return true;
        }
        if (*pattern != *text) return false;
    }
    return !*text;
}

/* Entries of `refuses` are separated by ";", each a pattern, ": " and the reason. */
const char *mw__refused(const mw_op *op, const char *placements, mw_arena *arena)
{
    const char *at = op->refuses;
    if (!at && op->in_place_of) at = op->in_place_of->refuses;
    while (at && *at) {
        while (*at == ' ')
            at++;
        size_t entry = strcspn(at, ";");
        const char *colon = memmem(at, entry, ": ", 2);
        if (colon && fits_pattern(at, colon, placements))
            return mw__arena_strndup(arena, colon + 2, entry - (size_t)(colon + 2 - at));
        at += entry;
        if (*at == ';') at++;
    }
    return NULL;
}

static mw_status is_new(report *r, mw_finding_kind kind, const char *text, bool *ret)
{
    *ret = false;
    for (const told *t = r->seen[kind]; t; t = t->next)
        if (strcmp(t->text, text) == 0) return MW_OK;
    told *t = mw__arena_alloc(r->arena, sizeof *t);
    if (!t) return MW_NOMEM();
    t->text = mw__arena_strndup(r->arena, text, strlen(text));
    if (!t->text) return MW_NOMEM();
    t->next = r->seen[kind];
    r->seen[kind] = t;
    *ret = true;
    return MW_OK;
}

mw_status mw__report(report *r, const subject *s, mw_finding_kind kind, const char *placements,
                     const char *says)
{
    bool fresh;
    MW_TRY(is_new(r, kind, placements, &fresh));
    if (!fresh) return MW_OK;
    int *count = kind == MW_FINDING_INCORRECT ? &r->result->incorrect
                 : kind == MW_FINDING_MISSING ? &r->result->missing
                                              : &r->result->refused;
    ++*count;
    const mw_verify_finding f = {
        .kind = kind, .op = r->op, .sample = s->text, .placements = placements, .says = says};
    if (r->found) r->found(r->user, &f);
    return MW_OK;
}

/* ---- one call ------------------------------------------------------------------------------- */

typedef struct in_parts {
    verify *v;
    subject *s;
} in_parts;

static mw_status try_parts(void *user, const mw_layout *in)
{
    in_parts *p = user;
    place *at[MOST_TENSORS];
    char says[512] = "";
    bool ok;
    for (int i = 0; i < p->s->call.nin; i++)
        MW_TRY(mw__place_get(p->s, false, i, &in[i], &at[i]));
    MW_TRY(mw__parts_try(p->s, p->v->mesh_text, at, &ok, says, sizeof says));
    p->v->result.combinations++;
    p->v->result.valid += ok;
    if (ok) return MW_OK;
    const char *text = mw__combo_text(p->s, at, NULL);
    if (!text) return MW_NOMEM();
    return mw__report(&p->v->report, p->s, MW_FINDING_INCORRECT, text, says);
}

/* All of one sample. One that is no call is passed over where `may_fail`. */
static mw_status try_sample(verify *v, const char *text, bool missing, bool may_fail)
{
    mw_arena arena, scratch;
    subject *s = mw__alloc(sizeof *s);
    value_set *first;
    if (!s) return MW_NOMEM();
    mw__arena_init(&arena);
    mw__arena_init(&scratch);
    mw_status status =
        mw__subject_make(v->op, text, v->mesh, v->options->seed, &arena, &scratch, s);
    bool call = status == MW_OK;
    if (call) status = mw__values_get(s, 0, &first);
    call = status == MW_OK && call && first->usable;
    if (call) {
        v->result.samples++;
        status = mw__combos_try(s, &v->report, missing);
        mw__arena_clear(&scratch);
        if (status == MW_OK) status = mw__claims_parts(s, try_parts, &(in_parts){v, s});
    } else if (may_fail && status != MW_ERR_NOMEM) {
        status = MW_OK;
    }
    mw__arena_done(&scratch);
    mw__arena_done(&arena);
    mw__free(s, sizeof *s);
    return status;
}

/* The same call with its sizes one larger: even ones become uneven. */
static mw_status try_resized(verify *v, const char *text, int64_t from, int64_t to, bool missing)
{
    int before = v->result.samples;
    for (int lists = 1; lists >= 0; lists--) {
        const char *other = mw__sample_resized(text, from, to, lists == 1, &v->arena);
        if (!other) return MW_NOMEM();
        MW_TRY(try_sample(v, other, missing, true));
        if (v->result.samples > before) return MW_OK;
    }
    return MW_OK;
}

static mw_status try_all(verify *v)
{
    int n = mw__sample_count(v->op->samples);
    bool two = v->mesh->naxis > 1;
    for (int i = 0; i < (two ? MW_MIN(n, 2) : n); i++) {
        const char *text = mw__sample_text(v->op->samples, i, &v->arena);
        if (!text) return MW_NOMEM();
        MW_TRY(try_sample(v, text, true, false));
        if (two) continue;
        MW_TRY(try_resized(v, text, 0, 0, true));
        int64_t sizes[3];
        int nsize = i == 0 ? mw__sample_sizes(text, sizes, MW_COUNT(sizes)) : 0;
        for (int k = 0; k < nsize; k++) /* ranks that hold nothing */
            MW_TRY(try_resized(v, text, sizes[k], 1, false));
    }
    return MW_OK;
}

/* ---- plants --------------------------------------------------------------------------------- */

/* Plants fault number nth into the sample's rule. *ret: it shows. */
static mw_status try_plant(verify *v, const char *text, int nth, bool *ret_more)
{
    mw_arena arena, scratch;
    subject *s = mw__alloc(sizeof *s);
    if (!s) return MW_NOMEM();
    mw__arena_init(&arena);
    mw__arena_init(&scratch);
    *ret_more = false;
    mw_status status =
        mw__subject_make(v->op, text, v->mesh, v->options->seed, &arena, &scratch, s);
    if (status == MW_OK)
        *ret_more = mw__plant(&s->call, v->options->plant, nth, s->claims->rule, v->result.planted,
                              sizeof v->result.planted);
    if (*ret_more) {
        v->result.samples = 1;
        v->result.combinations = v->result.valid = 0;
        status = mw__combos_try(s, &v->report, false);
    }
    mw__arena_done(&scratch);
    mw__arena_done(&arena);
    mw__free(s, sizeof *s);
    return status;
}

static mw_status check_possible(verify *v, const char *text)
{
    subject *s = mw__arena_alloc(&v->arena, sizeof *s);
    if (!s) return MW_NOMEM();
    MW_TRY(mw__subject_make(v->op, text, v->mesh, 0, &v->arena, &v->arena, s));
    const char *why = mw__plant_hindrance(v->op, v->options->plant, s->claims->rule);
    if (!why) return MW_OK;
    return MW_FAIL(MW_ERR_ARG, "no fault of kind '%s' can be planted into %s: %s",
                   mw_plant_name(v->options->plant), v->result.op, why);
}

static mw_status try_plants(verify *v)
{
    int n = mw__sample_count(v->op->samples);
    mw_status last = MW_OK;
    for (int i = 0; i < n; i++) {
        const char *text = mw__sample_text(v->op->samples, i, &v->arena);
        if (!text) return MW_NOMEM();
        last = check_possible(v, text);
        if (last == MW_ERR_NOMEM) return last;
        bool more = last == MW_OK;
        for (int nth = 0; more; nth++) {
            MW_TRY(try_plant(v, text, nth, &more));
            if (v->result.incorrect) return MW_OK;
        }
    }
    v->result.planted[0] = 0;
    if (last != MW_OK) return last;
    return MW_FAIL(MW_ERR_ARG,
                   "no fault of kind '%s' can be planted into %s: none makes its rule claim "
                   "anything that is wrong",
                   mw_plant_name(v->options->plant), v->result.op);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* "2", "2x2" as the library's mesh. */
static mw_status read_mesh(verify *v)
{
    const char *text = v->options->mesh ? v->options->mesh : "2";
    char *end;
    long first = strtol(text, &end, 10), second = 0;
    bool two = *end == 'x';
    if (two && end > text) second = strtol(end + 1, &end, 10);
    if (*end || end == text || first < 2 || first > 8 || (two && (second < 2 || second > 4))) {
        mw_status status = MW_FAIL(MW_ERR_ARG, "the mesh %.40s can't be verified on", text);
        mw__error_hint("2, 3, ... 8 ranks on one axis, or two axes such as 2x2");
        return status;
    }
    (void)snprintf(v->mesh_text, sizeof v->mesh_text, two ? "x=%ld,y=%ld" : "x=%ld", first, second);
    return mw_mesh_parse(v->mesh_text, &v->mesh);
}

static mw_status run(verify *v)
{
    if (!v->op->samples || !v->op->samples[0])
        return MW_FAIL(MW_ERR_UNSUPPORTED, "%s has no samples to verify it on", v->result.op);
    if (v->options->plant != MW_PLANT_NONE) return try_plants(v);
    return try_all(v);
}

mw_status mw_verify(const char *op, const mw_verify_options *options,
                    void (*found)(void *user, const mw_verify_finding *f), void *user,
                    mw_verify_result *ret)
{
    static const mw_verify_options defaults = {0};
    verify *v = mw__zalloc(sizeof *v);
    if (!v) return MW_NOMEM();
    v->options = options ? options : &defaults;
    mw__arena_init(&v->arena);
    v->report = (report){.arena = &v->arena, .found = found, .user = user, .result = &v->result};
    mw_status status = mw__ctx_get()->rank
                           ? MW_FAIL(MW_ERR_ARG, "mw_verify inside a launched program")
                           : mw__op_named(op, strlen(op), &v->op);
    if (status == MW_OK) status = mw__op_info(v->op, &v->info);
    if (status == MW_OK) {
        (void)snprintf(v->result.op, sizeof v->result.op, "%s", v->info->word);
        v->report.op = v->result.op;
        status = read_mesh(v);
    }
    if (status == MW_OK) status = run(v);
    if (status == MW_OK) {
        *ret = v->result;
        mw_error_clear(); /* combinations that are no call have left theirs */
    }
    if (v->mesh) mw_mesh_unref(v->mesh);
    mw__arena_done(&v->arena);
    mw__free(v, sizeof *v);
    return status;
}
