/* The explainer: lines in, entries out. */
#include "log/explain.h"

#define READER(name, doc) extern const mw_reader_kind mw_reader_##name;
#include "log/readers.def"
#undef READER

static const mw_reader_kind *const readers[READERS] = {
#define READER(name, doc) &mw_reader_##name,
#include "log/readers.def"
#undef READER
};

static const char *const how_names[] = {
#define X(name, word) [MW_HOW_##name] = word,
    MW_HOW_MAP(X)
#undef X
};

const char *mw_how_name(mw_how how)
{
    return (unsigned)how < MW_HOW_KINDS ? how_names[how] : "?";
}

/* ---- life --------------------------------------------------------------------------------------
 */

mw_status mw_explain_new(const mw_explain_options *options, mw_explain **ret)
{
    mw_explain *e = mw__zalloc(sizeof *e);
    if (!e) return MW_NOMEM();
    mw__arena_init(&e->arena);
    mw__arena_init(&e->scratch);
    e->options = *options;
    mw_status status = options->mesh ? mw_mesh_parse(options->mesh, &e->mesh) : MW_OK;
    for (int i = 0; i < READERS && status == MW_OK; i++) {
        e->state[i] = mw__arena_zalloc(&e->arena, readers[i]->state_size + 1);
        if (!e->state[i]) status = MW_NOMEM();
    }
    e->open = -1;
    if (status != MW_OK) {
        mw_explain_free(e);
        return status;
    }
    *ret = e;
    return MW_OK;
}

void mw_explain_free(mw_explain *e)
{
    if (!e) return;
    for (int64_t i = 0; i < e->nentry; i++) {
        mw_draft *d = e->entry[i];
        mw__free(d->fact, (size_t)d->cap_fact * sizeof *d->fact);
        mw__free(d->problem, (size_t)d->cap_problem * sizeof *d->problem);
    }
    for (int i = 0; i < READERS; i++)
        if (e->state[i] && readers[i]->done) readers[i]->done(e->state[i]);
    mw__free(e->entry, (size_t)e->cap_entry * sizeof *e->entry);
    mw__lookup_done(&e->seen);
    mw__lockstep_free(e->lockstep);
    mw__str_done(&e->partial);
    mw__str_done(&e->cleaned);
    mw__str_done(&e->formed);
    mw_mesh_unref(e->mesh);
    mw__arena_done(&e->scratch);
    mw__arena_done(&e->arena);
    mw__free(e, sizeof *e);
}

/* ---- lines told before -------------------------------------------------------------------------
 */

static const seen *find_seen(const mw_explain *e, uint64_t key)
{
    const mw_found *i = mw__lookup_next(&e->seen, key, NULL);
    return i ? i->item : NULL;
}

/* Where a line of that key is known (another reader was open then) that one stays. */
static mw_status add_seen(mw_explain *e, uint64_t key, seen s)
{
    if (find_seen(e, key)) return MW_OK;
    seen *kept = mw__arena_alloc(&e->arena, sizeof *kept);
    mw_found *added = kept ? mw__lookup_add(&e->seen, key) : NULL;
    if (!added) return MW_NOMEM();
    *kept = s;
    added->item = kept;
    return MW_OK;
}

static int stream_of(const mw_line *line)
{
    return line->rank >= 0 && line->rank < RANK_STREAMS - 1 ? line->rank + 1 : 0;
}

/* Ranks that tell the same thing tell it once: it counts as often as the rank that tells it most.
 */
static void count_one(mw_explain *e, mw_draft *d, const mw_line *line)
{
    int stream = stream_of(line);
    if (!d->told && stream == 0 && !d->entry.ranks) {
        d->entry.count++;
        return;
    }
    if (!d->told) {
        d->told = mw__arena_zalloc(&e->arena, RANK_STREAMS * sizeof *d->told);
        if (!d->told) {
            e->failed = true;
            return;
        }
        int first = 0;
        for (int i = 0; i < 64; i++)
            if (d->entry.ranks >> i & 1) first = i + 1;
        d->told[first] = d->entry.count;
    }
    d->told[stream]++;
    d->entry.count = MW_MAX(d->entry.count, d->told[stream]);
    if (stream) d->entry.ranks |= UINT64_C(1) << (stream - 1);
}

void mw__draft_again(mw_draft *d, const mw_line *line)
{
    if (!d || d->entry.first == line->number) return;
    d->entry.latest = line->number;
    count_one(d->e, d, line);
    mw__lockstep_feed(d->e, d, line);
}

static void told_again(mw_explain *e, const seen *s, const mw_line *line)
{
    for (int64_t i = s->first; i < s->end; i++)
        mw__draft_again(e->entry[i], line);
}

/* ---- one line
 * ------------------------------------------------------------------------------------ */

static mw_status close_reader(mw_explain *e, int except)
{
    int was = e->open;
    if (was < 0 || was == except) return MW_OK;
    e->open = -1;
    return readers[was]->end ? readers[was]->end(e, e->state[was]) : MW_OK;
}

static void count_unread(mw_explain *e, int64_t number)
{
    if (e->nunread < MW_COUNT(e->unread)) e->unread[e->nunread] = number;
    e->nunread++;
}

/* Offers the line to the readers. A reader that took the last line is asked first: it may be
 * waiting. */
static mw_status offer(mw_explain *e, const mw_line *line, uint64_t key)
{
    int64_t before = e->nentry;
    int first = e->open;
    for (int i = 0; i < READERS && e->open >= 0; i++)
        if (readers[i]->claims && readers[i]->claims(line)) first = i;
    for (int turn = -1; turn < READERS; turn++) {
        int i = turn < 0 ? first : turn;
        if (i < 0 || (turn >= 0 && i == first)) continue;
        bool taken = false;
        MW_TRY(readers[i]->line(e, e->state[i], line, &taken));
        if (!taken) continue;
        if (i != e->open) MW_TRY(close_reader(e, i));
        e->open = i;
        if (readers[i]->repeats && !e->once) {
            MW_TRY(add_seen(e, key, (seen){before, e->nentry, i}));
        }
        return MW_OK;
    }
    count_unread(e, line->number);
    return MW_OK;
}

static mw_status read_line(mw_explain *e, const char *raw, int64_t length)
{
    mw_line line = {.number = ++e->lines, .rank = -1};
    if (length > 0 && raw[length - 1] == '\r') length--;
    mw__line_clean(raw, length, &e->cleaned, &line);
    MW_TRY(mw__str_status(&e->cleaned));
    if (line.length == 0) return MW_OK;
    uint64_t own = mw__hash(1, line.text, (size_t)line.length);
    uint64_t *before = e->before[stream_of(&line)];
    uint64_t key = mw__hash(own, before, sizeof e->before[0]);
    before[0] = before[1];
    before[1] = own;
    const seen *s = find_seen(e, key);
    if (s && (e->open == s->reader || e->open < 0)) {
        told_again(e, s, &line);
        e->open = s->reader;
        if (readers[s->reader]->again)
            readers[s->reader]->again(e, e->state[s->reader], &line, s->first, s->end);
        return MW_OK;
    }
    e->once = false;
    mw__arena_clear(&e->scratch);
    MW_TRY(offer(e, &line, key));
    return e->failed ? MW_NOMEM() : MW_OK;
}

mw_status mw_explain_feed(mw_explain *e, const char *bytes, int64_t length)
{
    const char *at = bytes, *end = bytes + length;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline || e->partial.length) {
            const char *stop = newline ? newline : end;
            mw__str_append(&e->partial, at, (size_t)(stop - at));
            MW_TRY(mw__str_status(&e->partial));
            if (!newline) return MW_OK;
            MW_TRY(read_line(e, mw__str_text(&e->partial), (int64_t)e->partial.length));
            mw__str_clear(&e->partial);
        } else {
            MW_TRY(read_line(e, at, newline - at));
        }
        at = newline + 1;
    }
    return MW_OK;
}

mw_status mw_explain_finish(mw_explain *e)
{
    if (e->partial.length) {
        MW_TRY(read_line(e, mw__str_text(&e->partial), (int64_t)e->partial.length));
        mw__str_clear(&e->partial);
    }
    MW_TRY(close_reader(e, -1));
    for (int i = 0; i < READERS; i++)
        if (readers[i]->finish) MW_TRY(readers[i]->finish(e, e->state[i]));
    mw__lockstep_tell(e);
    return e->failed ? MW_NOMEM() : MW_OK;
}

/* ---- results
 * ------------------------------------------------------------------------------------- */

int64_t mw_explain_entries(const mw_explain *e)
{
    return e->nentry;
}

const mw_entry *mw_explain_entry(const mw_explain *e, int64_t index)
{
    return index >= 0 && index < e->nentry ? &e->entry[index]->entry : NULL;
}

int64_t mw_explain_missing(const mw_explain *e)
{
    return e->nmissing;
}

const char *mw_explain_missing_at(const mw_explain *e, int64_t index)
{
    return index >= 0 && index < e->nmissing ? e->missing[index] : NULL;
}

int64_t mw_explain_unread(const mw_explain *e)
{
    return e->nunread;
}

int64_t mw_explain_unread_at(const mw_explain *e, int64_t index)
{
    return index >= 0 && index < MW_MIN(e->nunread, MW_COUNT(e->unread)) ? e->unread[index] : 0;
}

int64_t mw_explain_lines(const mw_explain *e)
{
    return e->lines;
}
