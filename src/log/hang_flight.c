/* Dumps of PyTorch's flight recorder, as JSON or as Python prints the unpickled dictionary, in one
 * line or in many. Read as a stream of keys and values, whatever stands around them, so that a
 * piece of a dump is read, too:
 *
 *     {"version": "2.10",
 *      "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
 *      "entries": [{"record_id": 3, "process_group": ["0", "default_pg"],
 *                   "collective_seq_id": 4, "profiling_name": "nccl:all_reduce",
 *                   "input_sizes": [[8, 8]], "state": "started"}]}
 *
 * A dump does not say whose it is; the prefix of its line, or a heading over it, may. */
#include "log/hang.h"

#include <ctype.h>
#include <stdio.h>

enum { DEPTH = 24, TEXT = 160, RECORDS = 1 << 14, PGS = 256 };

typedef struct record {
    const char *group, *desc, *name, *in, *out, *dtype, *state;
    int64_t number, line;
    bool pair;
} record;

typedef struct pg {
    const char *id, *name, *desc, *ranks;
    int64_t enqueued, started, completed;
} pg;

typedef struct hang_dump {
    int64_t first, rank; /* rank: global; HANG_NONE */
    bool headed;         /* it is that of a heading */
    char key[DEPTH][TEXT];
    char open[DEPTH];
    int depth;
    bool is_key; /* the next string is a key */
    bool framed; /* it has the frame of a dump: with its last brace it is over */
    char text[TEXT];
    int length;
    char quote; /* inside a string; 0: not */
    bool escaped, word;
    int list;        /* depth at which a list is kept as text; 0: none */
    char kept[TEXT]; /* that list */
    int kept_length;
    record now;
    int now_depth;
    record *record;
    int64_t nrecord, cap_record, left_out;
    pg *pg;
    int npg;
    int64_t cap_pg;
} hang_dump;

/* ---- fields ------------------------------------------------------------------------------ */

static pg *pg_of(hang_here *h, hang_dump *d, const char *id)
{
    for (int i = 0; i < d->npg; i++)
        if (strcmp(d->pg[i].id, id) == 0) return &d->pg[i];
    if (d->npg == PGS) return NULL;
    if (mw__grow(&d->pg, &d->cap_pg, d->npg + 1, sizeof *d->pg) != MW_OK) {
        h->e->failed = true;
        return NULL;
    }
    pg *p = &d->pg[d->npg++];
    *p = (pg){
        mw__hang_keep(h, id, (int64_t)strlen(id)), "", "", "", HANG_NONE, HANG_NONE, HANG_NONE};
    return p;
}

static int64_t number_of(const char *value)
{
    int64_t n;
    const char *at = value + (*value == '[' ? 1 : 0);
    return mw__hang_int(&at, &n) ? n : HANG_NONE;
}

/* The n-th string of a list kept as text: ["0", "default_pg"]. */
static const char *item_of(const hang_here *h, const char *list, int n)
{
    for (const char *at = list; *at; at++) {
        if (*at != '"' && *at != '\'') continue;
        const char *end = strchr(at + 1, *at);
        if (!end) break;
        if (n-- == 0) return mw__hang_keep(h, at + 1, end - at - 1);
        at = end;
    }
    return "";
}

/* ["Float", "Float"] as Float, Float. */
static const char *bare(const hang_here *h, const char *list)
{
    char text[TEXT];
    int n = 0;
    for (; *list && n < TEXT - 1; list++)
        if (!strchr("[]\"'", *list)) text[n++] = *list;
    return mw__hang_keep(h, text, n);
}

static void entry_field(hang_here *h, hang_dump *d, const char *key, const char *value)
{
    record *r = &d->now;
    const char **to = strcmp(key, "profiling_name") == 0 ? &r->name
                      : strcmp(key, "input_sizes") == 0  ? &r->in
                      : strcmp(key, "output_sizes") == 0 ? &r->out
                      : strcmp(key, "input_dtypes") == 0 ? &r->dtype
                      : strcmp(key, "state") == 0        ? &r->state
                                                         : NULL;
    bool number = strcmp(key, "collective_seq_id") == 0 || strcmp(key, "seq_id") == 0;
    bool group = strcmp(key, "process_group") == 0, pair = strcmp(key, "is_p2p") == 0;
    if (!to && !number && !group && !pair) return;
    if (d->now_depth != d->depth) {
        *r = (record){"", "", "", "", "", "", "", HANG_NONE, h->line->number, false};
        d->now_depth = d->depth;
    }
    if (to)
        *to = to == &r->dtype ? bare(h, value) : mw__hang_keep(h, value, (int64_t)strlen(value));
    if (number) r->number = number_of(value);
    if (pair) r->pair = tolower((unsigned char)value[0]) == 't';
    if (group) {
        r->group = item_of(h, value, 0);
        r->desc = item_of(h, value, 1);
    }
}

static void field(hang_here *h, hang_dump *d, const char *key, const char *value)
{
    const char *parent = d->depth > 0 ? d->key[d->depth - 1] : "";
    const char *over = d->depth > 1 ? d->key[d->depth - 2] : "";
    if (strcmp(key, "rank") == 0 && d->depth == 1) d->rank = number_of(value);
    pg *p = NULL;
    if (strcmp(over, "pg_config") == 0 || strcmp(over, "pg_status") == 0) p = pg_of(h, d, parent);
    if (p) {
        const char *kept = mw__hang_keep(h, value, (int64_t)strlen(value));
        if (strcmp(key, "name") == 0) p->name = kept;
        if (strcmp(key, "desc") == 0) p->desc = kept;
        if (strcmp(key, "ranks") == 0) p->ranks = kept;
        if (strcmp(key, "last_enqueued_collective") == 0) p->enqueued = number_of(value);
        if (strcmp(key, "last_started_collective") == 0) p->started = number_of(value);
        if (strcmp(key, "last_completed_collective") == 0) p->completed = number_of(value);
        return;
    }
    entry_field(h, d, key, value);
}

static void end_record(hang_here *h, hang_dump *d)
{
    record r = d->now;
    d->now_depth = 0;
    if (r.number == HANG_NONE || !*r.name) return;
    if (d->nrecord == RECORDS) {
        d->left_out++;
        return;
    }
    if (mw__grow(&d->record, &d->cap_record, d->nrecord + 1, sizeof *d->record) != MW_OK) {
        h->e->failed = true;
        return;
    }
    const char *colon = strchr(r.name, ':'); /* nccl:all_reduce */
    if (colon) r.name = mw__hang_keep(h, colon + 1, (int64_t)strlen(colon + 1));
    r.pair |= strncmp(r.name, "send", 4) == 0 || strncmp(r.name, "recv", 4) == 0;
    d->record[d->nrecord++] = r;
}

/* ---- the stream -------------------------------------------------------------------------- */

static void value_over(hang_here *h, hang_dump *d)
{
    d->text[d->length] = 0;
    if (d->list || d->depth == 0 || d->depth >= DEPTH || d->open[d->depth] != '{') return;
    if (d->is_key) {
        (void)snprintf(d->key[d->depth], TEXT, "%s", d->text);
        d->framed |=
            d->depth == 1 && (strcmp(d->text, "entries") == 0 || strcmp(d->text, "pg_config") == 0);
    } else {
        field(h, d, d->key[d->depth], d->text);
    }
}

static void open_bracket(hang_dump *d, char c)
{
    bool value = d->depth > 0 && d->depth < DEPTH && d->open[d->depth] == '{' && !d->is_key;
    d->depth++;
    if (d->depth < DEPTH) {
        d->open[d->depth] = c;
        d->key[d->depth][0] = 0;
    }
    d->is_key = c == '{';
    if (c != '{' && value && !d->list && strcmp(d->key[d->depth - 1], "entries") != 0 &&
        strcmp(d->key[d->depth - 1], "frames") != 0) {
        d->list = d->depth;
        d->kept_length = 0;
    }
}

static void close_bracket(hang_here *h, hang_dump *d)
{
    if (d->depth == 0) return;
    if (d->list == d->depth) {
        d->kept[d->kept_length++] = ']';
        d->kept[d->kept_length] = 0;
        d->list = 0;
        d->depth--;
        field(h, d, d->key[d->depth], d->kept);
        return;
    }
    if (d->now_depth == d->depth) end_record(h, d);
    d->depth--;
    if (d->depth < DEPTH) d->is_key = false;
}

static void in_string(hang_here *h, hang_dump *d, char c)
{
    if (d->escaped) {
        d->escaped = false;
    } else if (c == '\\') {
        d->escaped = true;
        return;
    } else if (c == d->quote) {
        d->quote = 0;
        value_over(h, d);
        return;
    }
    if (d->length < TEXT - 1) d->text[d->length++] = c;
}

static void feed(hang_here *h, hang_dump *d, char c)
{
    bool was_list = d->list != 0;
    bool word = isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.' || c == '+';
    if (d->quote) {
        in_string(h, d, c);
    } else if (word) {
        if (!d->word) d->length = 0;
        d->word = true;
        if (d->length < TEXT - 1) d->text[d->length++] = c;
    } else {
        if (d->word) {
            d->word = false;
            value_over(h, d);
        }
        if (c == '"' || c == '\'') {
            d->quote = c;
            d->length = 0;
        } else if (strchr("{[(", c) && c) {
            open_bracket(d, c);
        } else if (strchr("}])", c) && c) {
            close_bracket(h, d);
        } else if (c == ':') {
            d->is_key = false;
        } else if (c == ',') {
            d->is_key = d->depth > 0 && d->depth < DEPTH && d->open[d->depth] == '{';
        }
    }
    if ((was_list || d->list) && d->kept_length < TEXT - 3) {
        bool last = was_list && !d->list;
        if (!last) d->kept[d->kept_length++] = c == '(' ? '[' : c == ')' ? ']' : c;
    }
}

/* ---- a dump that is over ----------------------------------------------------------------- */

static const char *words(const hang_here *h, const record *r)
{
    const char *text = mw__explain_text(h->e, "%s%s%s%s%s", r->name, *r->in ? " of " : "", r->in,
                                        *r->dtype ? " " : "", r->dtype);
    return text ? text : "";
}

static const char *group_words(const hang_here *h, const char *id, const char *desc)
{
    const char *text = mw__explain_text(h->e, "group %s%s%s%s", *id ? id : "not named",
                                        *desc ? " (" : "", desc, *desc ? ")" : "");
    return text ? text : "";
}

/* The rank of the dump within the group; ordinals of dumps where it is not said. */
static int64_t place(hang_here *h, const hang_dump *d, const char *id, const char *desc,
                     hang_group **ret)
{
    const pg *p = NULL;
    for (int i = 0; i < d->npg && !p; i++)
        if (strcmp(d->pg[i].name, id) == 0 || strcmp(d->pg[i].id, id) == 0) p = &d->pg[i];
    char key[TEXT + 8];
    (void)snprintf(key, sizeof key, "%s%s", id, d->rank == HANG_NONE ? "#dump" : "");
    if (!*desc && p) desc = p->desc;
    hang_group *g = mw__hang_group(h, "c10d", key, group_words(h, id, desc));
    *ret = g;
    if (!g) return HANG_NONE;
    g->ordered = true;
    if (d->rank == HANG_NONE) {
        g->dumps = true;
        return h->s->ndump + 1;
    }
    if (strcmp(desc, "default_pg") == 0) g->world = true;
    if (p && *p->ranks) mw__hang_globals(h, g, p->ranks);
    if (!*g->globals) return g->world ? d->rank : HANG_NONE;
    int64_t at = 0, global;
    for (const char *q = g->globals; *q; at++) {
        q += strspn(q, " [,(");
        if (!mw__hang_int(&q, &global)) break;
        if (global == d->rank) return at;
    }
    return HANG_NONE;
}

static void put_records(hang_here *h, const hang_dump *d)
{
    const mw_line *was = h->line;
    mw_line own = *was; /* what is posted stands where its record does */
    h->line = &own;
    for (int64_t i = 0; i < d->nrecord; i++) {
        const record *r = &d->record[i];
        hang_group *g;
        own.number = r->line;
        int64_t rank = place(h, d, r->group, r->desc, &g);
        if (!g || rank == HANG_NONE || r->pair) continue;
        hang_what w = {r->name, r->in, r->dtype, strcmp(r->state, "completed") == 0};
        mw__hang_post(h, g, rank, r->number, &w);
        hang_member *m = mw__hang_member(h, g, rank);
        if (m && d->rank != HANG_NONE) m->global = d->rank;
        if (m && !w.done && m->stuck == HANG_NONE) {
            m->stuck = r->number;
            m->stuck_line = r->line;
            m->stuck_op = r->name;
        }
    }
    for (int i = 0; i < d->npg; i++) {
        const pg *p = &d->pg[i];
        hang_group *g;
        own.number = d->first;
        if (p->enqueued == HANG_NONE && !*p->ranks) continue;
        int64_t rank = place(h, d, *p->name ? p->name : p->id, p->desc, &g);
        hang_member *m =
            g && rank != HANG_NONE && p->enqueued != HANG_NONE ? mw__hang_member(h, g, rank) : NULL;
        if (!m) continue;
        m->enqueued = p->enqueued;
        m->completed = p->completed;
        m->status = d->first;
    }
    h->line = was;
}

static void tell_dump(hang_here *h, hang_dump *d)
{
    mw_line first = *h->line;
    first.number = d->first;
    mw_draft *draft = mw__draft(h->e, &first, "c10d", "dump");
    mw__draft_last(draft, h->line->number);
    mw__draft_weight(draft, 50);
    (void)snprintf(h->from, sizeof h->from, "line %lld", (long long)d->first);
    mw__fact(draft, "collectives recorded", MW_HOW_STATED, h->from, "%lld", (long long)d->nrecord);
    if (d->rank != HANG_NONE)
        mw__fact(draft, "rank", d->headed ? MW_HOW_DERIVED : MW_HOW_STATED,
                 d->headed ? "the heading over the dump" : h->from, "%lld", (long long)d->rank);
    int open = 0;
    const record *unfinished = NULL;
    for (int64_t i = 0; i < d->nrecord; i++) {
        const record *r = &d->record[i];
        if (!*r->state || strcmp(r->state, "completed") == 0 || open++ >= 8) continue;
        if (!unfinished) unfinished = r;
        char name[60], from[32];
        (void)snprintf(name, sizeof name, "%s, not completed", r->state);
        (void)snprintf(from, sizeof from, "line %lld", (long long)r->line);
        mw__fact(draft, name, MW_HOW_STATED, from, "number %lld, %s, in %s", (long long)r->number,
                 words(h, r), group_words(h, r->group, r->desc));
    }
    for (int i = 0; i < d->npg; i++) {
        const pg *p = &d->pg[i];
        const char *id = *p->name ? p->name : p->id;
        if (*p->ranks)
            mw__fact(draft, group_words(h, id, p->desc), MW_HOW_STATED, h->from, "global ranks %s",
                     p->ranks);
        if (p->enqueued != HANG_NONE)
            mw__fact(draft, group_words(h, id, p->desc), MW_HOW_STATED, h->from,
                     "last enqueued %lld, last completed %lld", (long long)p->enqueued,
                     (long long)p->completed);
    }
    char who[60] = "of a rank that it does not name";
    if (d->rank != HANG_NONE) (void)snprintf(who, sizeof who, "of rank %lld", (long long)d->rank);
    mw__draft_says(draft, "A flight recorder's dump %s: %lld collectives%s%s%s.", who,
                   (long long)d->nrecord, unfinished ? "; the first that is not completed: " : "",
                   unfinished ? mw__explain_text(h->e, "number %lld, %s (%s)",
                                                 (long long)unfinished->number,
                                                 words(h, unfinished), unfinished->state)
                              : "",
                   unfinished ? "" : ", all completed or of unknown state");
    if (d->rank == HANG_NONE)
        mw__missing(h->e,
                    "whose dump begins in line %lld: a dump does not say its rank (the name of "
                    "its file does)",
                    (long long)d->first);
    if (d->left_out)
        mw__missing(h->e, "%lld records of the dump in line %lld: %d are read",
                    (long long)d->left_out, (long long)d->first, RECORDS);
}

void mw__hang_flight_done(hang_state *s)
{
    hang_dump *d = s->dump;
    if (!d) return;
    mw__free(d->record, (size_t)d->cap_record * sizeof *d->record);
    mw__free(d->pg, (size_t)d->cap_pg * sizeof *d->pg);
    mw__free(d, sizeof *d);
    s->dump = NULL;
}

void mw__hang_flight_end(hang_here *h)
{
    hang_dump *d = h->s->dump;
    if (!d) return;
    if (d->now_depth) end_record(h, d);
    if (d->nrecord || d->npg) {
        tell_dump(h, d);
        put_records(h, d);
        h->s->ndump++;
    }
    mw__hang_flight_done(h->s);
}

/* ---- lines ------------------------------------------------------------------------------- */

/* A brace on its own may open anything: it is left to others, and remembered. */
static bool begins(const hang_here *h)
{
    const char *text = h->line->text;
    if (h->line->number - h->s->brace == 1 && strncmp(text, "\"version\": \"", 12) == 0)
        return true;
    static const char *const keys[] = {"collective_seq_id", "pg_config",    "profiling_name",
                                       "pg_status",         "nccl_version", "record_id"};
    if (!*text || !strchr("{[\"'", *text)) return false;
    for (int i = 0; i < MW_COUNT(keys); i++)
        if (strstr(text, keys[i])) return true;
    return (strstr(text, "\"entries\"") || strstr(text, "'entries'")) && strchr(text, '[');
}

/* "rank 3", "/tmp/trace_3", "nccl_trace_rank_3": whose dump the next lines are. */
void mw__hang_heading(hang_here *h)
{
    static const char *const words[] = {"rank", "Rank", "trace", "dump"};
    for (int i = 0; i < MW_COUNT(words); i++) {
        const char *at = NULL;
        for (const char *p = h->line->text; (p = mw__hang_after(p, words[i])) != NULL;)
            at = p;
        if (!at) continue;
        at += strspn(at, "_ :#=-");
        int64_t n;
        if (*at < '0' || *at > '9' || !mw__hang_int(&at, &n)) continue;
        h->s->heading = n;
        h->s->heading_line = h->line->number;
        return;
    }
}

static hang_dump *start(hang_here *h)
{
    hang_dump *d = mw__zalloc(sizeof *d);
    if (!d) {
        h->e->failed = true;
        return NULL;
    }
    d->first = h->line->number - (h->line->number - h->s->brace == 1);
    d->rank = h->line->rank >= 0 ? h->line->rank : HANG_NONE;
    bool headed = h->s->heading_line && h->line->number - h->s->heading_line <= 3;
    if (d->rank == HANG_NONE && headed) {
        d->rank = h->s->heading;
        d->headed = true;
    }
    if (*h->line->text == '"' || *h->line->text == '\'') { /* the opening brace was above */
        d->depth = 1;
        d->open[1] = '{';
        d->is_key = true;
    }
    return h->s->dump = d;
}

/* Whether the line can be more of a dump that is open: one that was cut off ends where another text
 * begins. */
static bool goes_on(const hang_here *h, const hang_dump *d)
{
    static const char *const words[] = {"true", "false", "null", "True", "False", "None"};
    const char *at = h->line->text;
    if (d->quote || strchr("{}[](),:\"'-0123456789", *at)) return true;
    for (int i = 0; i < MW_COUNT(words); i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0) return true;
    return false;
}

bool mw__hang_flight(hang_here *h)
{
    hang_dump *d = h->s->dump;
    const char *text = h->line->text;
    if (d && (d->depth == 0 ? !begins(h) : !goes_on(h, d))) {
        mw__hang_flight_end(h);
        d = NULL;
    }
    if (!d && !begins(h)) {
        if (strcmp(text, "{") == 0) h->s->brace = h->line->number;
        return false;
    }
    if (!d) d = start(h);
    for (const char *p = text; d && *p; p++)
        feed(h, d, *p);
    if (d) feed(h, d, '\n');
    if (d && d->depth == 0 && d->framed) mw__hang_flight_end(h);
    return true;
}
