/* The one failure of a world of processes. The first to see something wrong makes the story and
 * sends it to all others; each adds its own place to it. Two may see something at the same time:
 * then both stories travel, and each rank keeps the first that reaches it.
 *
 * Telling a failure takes no memory: all texts have fixed sizes and are cut where they must be. */
#include "comm/messages.h"

#include <stdio.h>

/* Appends to a text of fixed size; one that doesn't fit ends in "...". */
typedef struct text {
    char *at;
    size_t size, length;
} text;

static void put(text *t, const char *format, ...) MW_PRINTF(2, 3);
static void put(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->length, t->size - t->length, format, args);
    va_end(args);
    if (n > 0) t->length += (size_t)n;
    if (t->length < t->size) return;
    t->length = t->size - 1;
    memcpy(t->at + t->size - 4, "...", 3);
}

static text says_of(mw__story *story)
{
    return (text){story->says, sizeof story->says, 0};
}

static void set_hint(mw__story *story, const char *hint)
{
    (void)snprintf(story->hint, sizeof story->hint, "%s", hint);
}

static mw__story new_story(mw_status code, int rank, const char *verb)
{
    mw__story story = {.code = code, .cause = code, .rank = rank};
    (void)snprintf(story.verb, sizeof story.verb, "%s", verb);
    return story;
}

/* ---- telling the others -------------------------------------------------------------------- */

void mw__messages_farewell(mw__messages_end *me, mw__word_kind kind)
{
    if (me->said_farewell) return;
    me->said_farewell = true;
    me->farewell.kind = (int32_t)kind;
    me->farewell.rank = me->base.rank;
    size_t size = offsetof(mw__word, as);
    if (kind == MW_WORD_FAILED) {
        me->farewell.as.story = me->story;
        size = sizeof me->farewell;
    }
    for (int r = 0; r < me->base.nrank; r++)
        if (r != me->base.rank && /* who can't be reached will learn it by waiting */
            !me->transport->send(me->transport, me->words + r, r, MW_CHANNEL_WORD, &me->farewell,
                                 size))
            me->farewells++;
}

void mw__messages_adopt(mw__messages_end *me, const mw__story *story)
{
    if (me->failed) return;
    double grace = MW_MIN(me->timeout, 5);
    me->failed = true;
    me->story = *story;
    me->transport->failed(me->transport, story->silent, grace, 4);
    mw__messages_farewell(me, MW_WORD_FAILED);
}

/* ---- the failures -------------------------------------------------------------------------- */

static const char same_order[] = "every rank must come to the same collectives, with the same "
                                 "shapes, dtypes, layouts and teams, in the same order";

void mw__messages_poison_failed(mw__messages_end *me, const mw_error *error)
{
    mw__story story = new_story(MW_ERR_COMM, me->base.rank, "was waiting for it in");
    text t = says_of(&story);
    story.cause = error->code == MW_OK ? MW_ERR_INTERNAL : error->code;
    put(&t, "rank %d failed", me->base.rank);
    if (error->where[0]) put(&t, " in %s", error->where);
    put(&t, ": %s", error->says[0] ? error->says : mw_status_text(error->code));
    set_hint(&story, error->hint);
    mw__messages_adopt(me, &story);
}

void mw__messages_poison_ended(mw__messages_end *me, int rank)
{
    mw__story story = new_story(MW_ERR_COMM, rank, "waits for it in");
    text t = says_of(&story);
    put(&t, "rank %d has ended its program", rank);
    set_hint(&story, same_order);
    mw__messages_adopt(me, &story);
}

void mw__messages_poison_transport(mw__messages_end *me, const char *says)
{
    mw__story story = new_story(MW_ERR_COMM, -1, "was in");
    text t = says_of(&story);
    put(&t, "%s failed on rank %d: %s", me->transport->name, me->base.rank, says);
    mw__messages_adopt(me, &story);
}

void mw__messages_poison_told_to_end(mw__messages_end *me, int goal)
{
    mw__story story = new_story(MW_ERR_COMM, -1, "was in");
    text t = says_of(&story);
    put(&t, "rank %d was told to end while it waited for rank %d in %s", me->base.rank, goal,
        me->where);
    if (me->peer[goal].last[0]) put(&t, " (rank %d was last in %s)", goal, me->peer[goal].last);
    set_hint(&story, "a launcher ends all ranks when one has died: its own words, after these, may "
                     "say which and how");
    story.silent = me->base.nrank - 1;
    mw__messages_adopt(me, &story);
}

/* Both sides by name, and those of the team that have come before, up to `MOST`. */
void mw__messages_poison_disagree(mw__messages_end *me, const mw__head *theirs, int rank)
{
    enum { MOST = 6 };
    mw__story story = new_story(MW_ERR_COMM, -1, "was in");
    text t = says_of(&story);
    put(&t, "ranks disagree about the collective: rank %d is in %s, rank %d is in %s", rank,
        theirs->what, me->base.rank, me->where);
    if (strcmp(theirs->what, me->where) == 0) {
        if (theirs->team != me->mine.team)
            put(&t, ", each with other ranks");
        else if (theirs->number != me->mine.number)
            put(&t, ", for one the number %llu of this team, for the other the number %llu",
                (unsigned long long)theirs->number, (unsigned long long)me->mine.number);
    }
    for (int i = 0, listed = 0; i < me->team->count && listed < MOST; i++) {
        int r = me->team->rank[i];
        if (r == rank || r == me->base.rank || !me->peer[r].here) continue;
        put(&t, ", rank %d is in %s", r, me->peer[r].last);
        listed++;
    }
    set_hint(&story, same_order);
    mw__messages_adopt(me, &story);
}

/* "rank 1 is in all_gather ..., waiting for rank 2", "rank 2 does not answer (it was last in ...)".
 */
static void put_rank(text *t, const mw__messages_end *me, int rank)
{
    const mw__peer *p = &me->peer[rank];
    put(t, "%srank %d ", t->length && t->at[t->length - 1] != ' ' ? ", " : "", rank);
    if (p->ended)
        put(t, "has ended its program");
    else if (p->answered)
        put(t, "is in %s", p->last);
    else if (p->last[0])
        put(t, "does not answer (it was last in %s)", p->last);
    else
        put(t, "does not answer");
    if (!p->ended && p->answered && p->goal >= 0 && p->goal != me->base.rank)
        put(t, ", waiting for rank %d", p->goal);
}

static bool is_silent(const mw__messages_end *me, int rank)
{
    return rank != me->base.rank && !me->peer[rank].ended && !me->peer[rank].answered;
}

/* Names the silent ones first: a long list is cut at its end. */
void mw__messages_poison_timeout(mw__messages_end *me, int goal, double waited)
{
    mw__story story = new_story(MW_ERR_TIMEOUT, -1, "was in");
    text t = says_of(&story);
    put(&t, "rank %d has waited %.3g s ", me->base.rank, waited);
    const mw__peer *p = &me->peer[goal];
    bool taking = me->team && p->round == me->round && p->come;
    put(&t, "for rank %d %sin %s: ", goal, taking ? "to take its data " : "", me->where);
    for (int silent = 1; silent >= 0; silent--)
        for (int r = 0; r < me->base.nrank; r++)
            if (r != me->base.rank && is_silent(me, r) == silent) {
                put_rank(&t, me, r);
                story.silent += silent;
            }
    set_hint(&story, "a rank that does not answer is stopped, gone, or has worked long on its own: "
                     "that needs a longer time-out");
    mw__messages_adopt(me, &story);
}

/* ---- on this rank -------------------------------------------------------------------------- */

void mw__messages_settle(mw__messages_end *me)
{
    int count = me->team ? 3 * me->team->count : 0;
    if (count && !me->transport->drop(me->transport, 1, count)) me->stuck = true;
    me->team = NULL;
}

/* Whether the text says already where the rank is. */
static bool names(const char *says, int rank)
{
    static const char *const verbs[] = {"is in", "has waited", "was told to end"};
    for (int i = 0; i < MW_COUNT(verbs); i++) {
        char form[48];
        (void)snprintf(form, sizeof form, "rank %d %s ", rank, verbs[i]);
        if (strstr(says, form)) return true;
    }
    return false;
}

static bool in_team(const mw_team *team, int rank)
{
    for (int i = 0; team && i < team->count; i++)
        if (team->rank[i] == rank) return true;
    return false;
}

mw_status mw__messages_tell(mw__messages_end *me, const mw_team *team, const char *what)
{
    const mw__story *story = &me->story;
    int rank = me->base.rank, cause = story->rank;
    const char *verb = cause == rank                        ? "came to"
                       : cause >= 0 && in_team(team, cause) ? story->verb
                                                            : "was in";
    mw_status code = (mw_status)story->code;
    if (cause < 0 && names(story->says, rank))
        (void)MW_FAIL(code, "%s", story->says);
    else
        (void)MW_FAIL(code, "%s; rank %d %s %.200s", story->says, rank, verb, what);
    if (story->hint[0]) mw__error_hint("%s", story->hint);
    return code;
}
