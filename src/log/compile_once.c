/* One movement is printed by every stage that a program goes through (Dynamo, AOTAutograd,
 * inductor) and by every rank. It is counted where it is told first; a later stage tells it again,
 * and where a later stage does without it (several made into one, or none) it no longer counts.
 *
 * Movements of one compilation and direction form a chain in the order of the text; a later graph
 * is matched along it by kind and bytes. */
#include "log/compile.h"

enum { SEARCHED = 1024 };

struct cp_moved {
    mw_draft *draft;
    mw_collective kind;
    int64_t bytes; /* that go in; -1: not known */
    bool place;
    cp_stage stage;
    uint64_t ranks[CP_STAGES]; /* streams that told it, modulo 64 */
    int64_t next;              /* in its chain, or -1 */
};

struct cp_unit {
    int64_t head, tail, cursor;
    unsigned settled; /* stages whose graph has withdrawn what it does without */
};

struct cp_told {
    int64_t first, end; /* entries */
};

void mw__cp_once_free(cp_state *s)
{
    mw__free(s->moved, (size_t)s->cap_moved * sizeof *s->moved);
    mw__lookup_done(&s->unit);
    mw__lookup_done(&s->told);
}

static uint64_t bit_of(const cp_here *h)
{
    return UINT64_C(1) << (h->stream & 63);
}

/* ---- whole graphs ------------------------------------------------------------------------------
 */

/* What is known of that hash, a new one where it is the first time; NULL: no memory. */
static void *known_of(cp_here *h, mw_lookup *known, uint64_t hash, size_t size, bool *ret_new)
{
    mw_found *i = mw__lookup_next(known, hash, NULL);
    *ret_new = !i;
    if (i) return i->item;
    void *made = mw__arena_zalloc(mw__explain_arena(h->e), size);
    i = made ? mw__lookup_add(known, hash) : NULL;
    if (!i) {
        h->e->failed = true;
        return NULL;
    }
    i->item = made;
    return made;
}

static cp_told *told_of(cp_here *h, uint64_t hash, bool *ret_new)
{
    return known_of(h, &h->s->told, hash, sizeof(cp_told), ret_new);
}

bool mw__cp_told_before(cp_here *h, uint64_t *ret_hash)
{
    cp_graph *g = h->g;
    uint64_t hash = mw__hash(g->hash, g->unit, strlen(g->unit));
    bool fresh;
    *ret_hash = mw__hash(hash, &g->stage, sizeof g->stage);
    const cp_told *told = told_of(h, *ret_hash, &fresh);
    if (!told || fresh) return false;
    mw_line line = {.number = h->line->number, .rank = g->rank, .text = "", .raw = ""};
    for (int64_t i = told->first; i < told->end; i++)
        mw__draft_again(h->e->entry[i], &line);
    return true;
}

bool mw__cp_other_rank(cp_here *h, int collectives)
{
    cp_graph *g = h->g;
    struct {
        int stage, collectives;
    } of = {(int)g->stage, collectives};
    uint64_t hash = mw__hash(13, &of, sizeof of);
    hash = mw__hash(hash, g->unit, strlen(g->unit));
    hash = mw__hash(hash, g->direction, strlen(g->direction));
    bool fresh;
    cp_told *told = told_of(h, hash, &fresh);
    if (!told) return false;
    const mw_entry *before = fresh ? NULL : &h->e->entry[told->first]->entry;
    uint64_t bit = g->rank >= 0 && g->rank < 64 ? UINT64_C(1) << g->rank : 0;
    if (!before || !bit || !before->ranks || (before->ranks & bit)) {
        told->first = h->e->nentry; /* of the entry that the caller makes */
        return false;
    }
    mw_line line = {.number = h->line->number, .rank = g->rank, .text = "", .raw = ""};
    mw__draft_again(h->e->entry[told->first], &line);
    return true;
}

void mw__cp_told_add(cp_here *h, uint64_t hash, int64_t first, int64_t end)
{
    bool fresh;
    cp_told *told = told_of(h, hash, &fresh);
    if (told) *told = (cp_told){first, end};
}

/* ---- movements ---------------------------------------------------------------------------------
 */

static cp_unit *unit_of(cp_here *h, const char *direction)
{
    uint64_t hash = mw__hash(11, h->g->unit, strlen(h->g->unit));
    bool fresh;
    cp_unit *u =
        known_of(h, &h->s->unit, mw__hash(hash, direction, strlen(direction)), sizeof *u, &fresh);
    if (u && fresh) *u = (cp_unit){.head = -1, .tail = -1, .cursor = -1};
    return u;
}

static bool fits(const cp_moved *m, const cp_call *c, uint64_t bit, cp_stage stage)
{
    return !m->place && m->kind == c->kind && !(m->ranks[stage] & bit) &&
           (m->bytes < 0 || c->in_bytes < 0 || m->bytes == c->in_bytes);
}

/* From where the last one was found, once around. */
static cp_moved *find(cp_here *h, cp_unit *u, const cp_call *c)
{
    cp_state *s = h->s;
    int64_t start = u->cursor >= 0 ? u->cursor : u->head, at = start;
    for (int i = 0; i < SEARCHED && at >= 0; i++) {
        if (fits(&s->moved[at], c, bit_of(h), h->g->stage)) {
            u->cursor = s->moved[at].next;
            return &s->moved[at];
        }
        at = s->moved[at].next >= 0 ? s->moved[at].next : u->head;
        if (at == start) break;
    }
    return NULL;
}

cp_same mw__cp_same(cp_here *h, const cp_node *n, const char *direction)
{
    cp_unit *u = unit_of(h, direction);
    cp_moved *m = u && u->head >= 0 ? find(h, u, n->call) : NULL;
    cp_stage stage = h->g->stage;
    if (!m) return (cp_same){NULL, false, false};
    cp_same same = {m->draft, m->stage == stage, m->ranks[stage] != 0};
    m->ranks[stage] |= bit_of(h);
    return same;
}

void mw__cp_moved_add(cp_here *h, const cp_call *c, const char *direction, mw_draft *d)
{
    cp_state *s = h->s;
    cp_unit *u = unit_of(h, direction);
    if (!u || mw__cp_failed(h, mw__grow(&s->moved, &s->cap_moved, s->nmoved + 1, sizeof *s->moved)))
        return;
    int64_t at = s->nmoved++;
    s->moved[at] = (cp_moved){.draft = d,
                              .kind = c->kind,
                              .bytes = c->in_bytes,
                              .place = c->place,
                              .stage = h->g->stage,
                              .next = -1};
    s->moved[at].ranks[h->g->stage] = bit_of(h);
    if (u->tail >= 0)
        s->moved[u->tail].next = at;
    else
        u->head = at;
    u->tail = at;
}

static void withdraw_of(cp_here *h, const char *direction)
{
    cp_state *s = h->s;
    cp_unit *u = unit_of(h, direction);
    cp_stage stage = h->g->stage;
    if (!u || u->settled >> stage & 1) return;
    u->settled |= 1U << stage;
    for (int64_t at = u->head; at >= 0; at = s->moved[at].next) {
        cp_moved *m = &s->moved[at];
        mw_entry *entry = mw__draft_entry(m->draft);
        bool here = m->stage < stage && (m->ranks[m->stage] & bit_of(h)) && !m->ranks[stage];
        if (!here || !entry || !entry->collective) continue;
        entry->collective = NULL;
        entry->bytes = -1;
        mw__fact(m->draft, "later", MW_HOW_DERIVED, "a later graph of the same compilation",
                 "%s, line %lld, does without it: it is not counted",
                 h->g->title[0] ? h->g->title : "the graph", (long long)h->g->first);
    }
}

void mw__cp_withdraw(cp_here *h)
{
    cp_graph *g = h->g;
    if (!g->over || !g->whole || g->stage == CP_DYNAMO) return;
    if (g->stage == CP_JOINT || strcmp(g->direction, "forward") == 0) withdraw_of(h, "forward");
    if (g->stage == CP_JOINT || strcmp(g->direction, "backward") == 0) withdraw_of(h, "backward");
}
