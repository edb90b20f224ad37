/* The board: groups of ranks, and under each number of a group what its ranks posted there.
 * Bounded: what does not fit is dropped, and that is said. */
#include "log/hang.h"

#include <stdio.h>

/* ---- entries that other lines tell again ------------------------------------------------- */

mw_draft *mw__hang_told(hang_here *h, uint64_t hash)
{
    if (!h->s->kept) return NULL;
    for (uint64_t i = hash % HANG_KEPT;; i = (i + 1) % HANG_KEPT) {
        if (!h->s->kept[i].draft) return NULL;
        if (h->s->kept[i].hash != hash) continue;
        mw__draft_again(h->s->kept[i].draft, h->line);
        return h->s->kept[i].draft;
    }
}

void mw__hang_keep_draft(hang_here *h, uint64_t hash, mw_draft *d)
{
    hang_state *s = h->s;
    if (!d || s->nkept >= HANG_KEPT / 2) return;
    if (!s->kept) s->kept = mw__arena_zalloc(&h->e->arena, HANG_KEPT * sizeof *s->kept);
    if (!s->kept) {
        h->e->failed = true;
        return;
    }
    uint64_t i = hash % HANG_KEPT;
    while (s->kept[i].draft)
        i = (i + 1) % HANG_KEPT;
    s->kept[i].hash = hash;
    s->kept[i].draft = d;
    s->nkept++;
}

/* ---- groups ------------------------------------------------------------------------------ */

const char *mw__hang_word(const hang_group *g)
{
    return g->dumps ? "dump" : g->world ? "rank" : "group rank";
}

static hang_group *new_group(hang_here *h, uint64_t hash, const char *source, const char *name)
{
    hang_state *s = h->s;
    if (s->ngroup == HANG_GROUPS) {
        s->dropped = true;
        return NULL;
    }
    if (mw__grow(&s->group, &s->cap_group, s->ngroup + 1, sizeof *s->group) != MW_OK ||
        mw__grow(&s->group_key, &s->cap_key, s->ngroup + 1, sizeof *s->group_key) != MW_OK) {
        h->e->failed = true;
        return NULL;
    }
    s->group_key[s->ngroup] = hash;
    hang_group *g = &s->group[s->ngroup++];
    *g = (hang_group){.source = source,
                      .name = mw__hang_keep(h, name, (int64_t)strlen(name)),
                      .size = HANG_NONE,
                      .globals = "",
                      .first = h->line->number,
                      .numbered = HANG_NONE};
    return g;
}

hang_group *mw__hang_group(hang_here *h, const char *source, const char *key, const char *name)
{
    hang_state *s = h->s;
    uint64_t hash = mw__hash(mw__hash(7, source, strlen(source)), key, strlen(key));
    hang_group *g = NULL;
    for (int64_t i = s->ngroup; i-- > 0 && !g;) /* the newest are asked for most */
        if (s->group_key[i] == hash) g = &s->group[i];
    if (!g) g = new_group(h, hash, source, name);
    if (g) g->last = MW_MAX(g->last, h->line->number);
    return g;
}

hang_group *mw__hang_pg(hang_here *h)
{
    char name[200] = "a process group that the text does not name", key[120] = "";
    if (h->pg) {
        (void)snprintf(key, sizeof key, "%.100s", h->pg);
        (void)snprintf(name, sizeof name, "group %.60s%s%.80s%s", h->pg,
                       h->pg_desc && h->pg_desc[0] ? " (" : "", h->pg_desc ? h->pg_desc : "",
                       h->pg_desc && h->pg_desc[0] ? ")" : "");
    }
    hang_group *g = mw__hang_group(h, "c10d", key, name);
    if (g) g->ordered = true;
    if (g && h->pg_desc && strcmp(h->pg_desc, "default_pg") == 0) g->world = true;
    return g;
}

/* ---- ranks of a group -------------------------------------------------------------------- */

hang_member *mw__hang_member(hang_here *h, hang_group *g, int64_t rank)
{
    if (!g || rank < 0) return NULL;
    if (rank >= HANG_RANKS) {
        h->s->dropped = true;
        return NULL;
    }
    int64_t had = g->nslot;
    if (mw__grow(&g->member, &g->cap_member, g->nmember + 1, sizeof *g->member) != MW_OK ||
        mw__grow(&g->slot, &g->nslot, rank + 1, sizeof *g->slot) != MW_OK) {
        h->e->failed = true;
        return NULL;
    }
    if (g->nslot > had) memset(g->slot + had, 0, (size_t)(g->nslot - had) * sizeof *g->slot);
    if (g->slot[rank]) return &g->member[g->slot[rank] - 1];
    hang_member *m = &g->member[g->nmember++];
    *m = (hang_member){.rank = (int32_t)rank,
                       .global = g->world ? rank : HANG_NONE,
                       .last = HANG_NONE,
                       .last_op = "",
                       .enqueued = HANG_NONE,
                       .completed = HANG_NONE,
                       .stuck = HANG_NONE,
                       .waited_ms = HANG_NONE,
                       .stuck_op = ""};
    g->slot[rank] = (int32_t)g->nmember;
    return m;
}

void mw__hang_globals(hang_here *h, hang_group *g, const char *list)
{
    if (!g || g->globals[0] || !*list) return;
    g->globals = mw__hang_keep(h, list, (int64_t)strlen(list));
    g->globals_line = h->line->number;
    int64_t rank = 0, global;
    for (const char *at = g->globals; *at; rank++) {
        at += strspn(at, " [,(");
        if (!mw__hang_int(&at, &global)) break;
        if (rank < HANG_RANKS && rank != global) g->world = false;
    }
    if (g->size == HANG_NONE && rank > 0) {
        g->size = rank;
        g->size_line = h->line->number;
    }
}

/* ---- what was posted --------------------------------------------------------------------- */

enum { SLOTS = HANG_EVENTS * 2 };

static hang_event *event_at(const hang_state *s, int64_t group, int64_t number)
{
    int64_t key[2] = {group, number};
    for (uint64_t i = mw__hash(3, key, sizeof key) % SLOTS;; i = (i + 1) % SLOTS) {
        hang_event *v = &s->event[i];
        if (v->group < 0 || (v->group == group && v->number == number)) return v;
    }
}

const hang_event *mw__hang_event(const hang_state *s, int64_t group, int64_t number)
{
    const hang_event *v = s->event ? event_at(s, group, number) : NULL;
    return v && v->group >= 0 ? v : NULL;
}

static mw_status new_table(hang_state *s)
{
    s->event = mw__alloc(SLOTS * sizeof *s->event);
    if (!s->event) return MW_NOMEM();
    for (int64_t i = 0; i < SLOTS; i++)
        s->event[i] = (hang_event){.group = -1};
    s->nevent = 0;
    return MW_OK;
}

/* Keeps of each group the newest numbers, and those under which ranks posted different things. */
static mw_status thin(hang_state *s)
{
    hang_event *old = s->event;
    int64_t newest = HANG_EVENTS / 4 / MW_MAX(s->ngroup, 1);
    if (new_table(s) != MW_OK) {
        s->event = old;
        return MW_ERR_NOMEM;
    }
    for (int64_t i = 0; i < SLOTS; i++) {
        hang_event *v = &old[i];
        if (v->group < 0) continue;
        bool differ = v->post && v->post->next && s->nevent < HANG_EVENTS / 2;
        if (differ || v->number > s->group[v->group].numbered - newest) {
            *event_at(s, v->group, v->number) = *v;
            s->nevent++;
            continue;
        }
        for (hang_post *p = v->post, *next; p; p = next) {
            next = p->next;
            p->next = s->spare;
            s->spare = p;
        }
    }
    mw__free(old, SLOTS * sizeof *old);
    return MW_OK;
}

static hang_event *add_event(hang_here *h, int64_t group, int64_t number)
{
    hang_state *s = h->s;
    if ((!s->event && new_table(s) != MW_OK) || (s->nevent == HANG_EVENTS && thin(s) != MW_OK)) {
        h->e->failed = true;
        return NULL;
    }
    hang_event *v = event_at(s, group, number);
    if (v->group >= 0) return v;
    if (s->nevent == HANG_EVENTS) {
        s->dropped = true;
        return NULL;
    }
    s->nevent++;
    *v = (hang_event){(int32_t)group, number, NULL};
    return v;
}

/* Texts agree where one of them does not say it. */
static bool same(const char *a, const char *b)
{
    return !*a || !*b || strcmp(a, b) == 0;
}

static hang_post *find_post(hang_here *h, hang_event *v, const hang_what *w)
{
    enum { DIFFERENT = 64 };
    int n = 0;
    for (hang_post *p = v->post; p; p = p->next, n++) {
        if (!same(p->op, w->op) || !same(p->shape, w->shape) || !same(p->dtype, w->dtype)) continue;
        if (!*p->op) p->op = w->op;
        if (!*p->shape) p->shape = w->shape;
        if (!*p->dtype) p->dtype = w->dtype;
        return p;
    }
    if (n == DIFFERENT) return NULL;
    hang_post *p = h->s->spare, **end = &v->post;
    if (p)
        h->s->spare = p->next;
    else
        p = mw__arena_zalloc(&h->e->arena, sizeof *p);
    if (!p) {
        h->e->failed = true;
        return NULL;
    }
    while (*end)
        end = &(*end)->next;
    p->ranks.n = p->done.n = 0; /* a spare one keeps its room */
    p->op = w->op;
    p->shape = w->shape;
    p->dtype = w->dtype;
    p->line = h->line->number;
    p->next = NULL;
    return *end = p;
}

void mw__hang_post(hang_here *h, hang_group *g, int64_t rank, int64_t number, const hang_what *w)
{
    hang_member *m = mw__hang_member(h, g, rank);
    if (!m) return;
    if (m->last == HANG_NONE || number >= m->last || !g->ordered) {
        m->last = number;
        m->last_line = h->line->number;
        m->last_op = w->op;
    }
    g->numbered = MW_MAX(g->numbered, number);
    hang_event *v = add_event(h, g - h->s->group, number);
    hang_post *p = v ? find_post(h, v, w) : NULL;
    if (!p) return;
    mw__hang_ranks_add(h->e, &p->ranks, rank);
    if (w->done) mw__hang_ranks_add(h->e, &p->done, rank);
}
