/* Faults, planted into a copy of a rule. Each is one that people make: a letter that stands in the
 * wrong dim, a mark forgotten, an op taken for linear, a bias added on every rank. A plant is one
 * change; which one of its kind is a number, because not every change makes the rule say something
 * else (a letter may stand for equal dims of a symmetric op). */
#include "verify/verify.h"

#include <stdio.h>

static mw_operand *tensor_at(mw_rule *rule, int i)
{
    return i < rule->nin ? &rule->in[i] : &rule->out[i - rule->nin];
}

static const char *tensor_name(const mw_call_args *call, const mw_rule *rule, int i, char *to,
                               size_t size)
{
    if (i >= rule->nin)
        (void)snprintf(to, size, "result %d", i - rule->nin);
    else
        (void)snprintf(to, size, "operand %d", i);
    (void)call;
    return to;
}

/* Letters of two dims of one tensor change places, where their sizes are the same. */
static bool swap_letters(const mw_call_args *call, mw_rule *rule, int *nth, char *says, size_t size)
{
    char name[32];
    for (int i = 0; i < rule->nin + rule->nout; i++) {
        mw_operand *o = tensor_at(rule, i);
        for (int a = 0; a < o->ndim; a++)
            for (int b = a + 1; b < o->ndim; b++) {
                if (o->nletter[a] != 1 || o->nletter[b] != 1) continue;
                uint8_t x = o->letter[a][0], y = o->letter[b][0];
                if (x == y || rule->letter[x].size != rule->letter[y].size) continue;
                if ((*nth)-- > 0) continue;
                (void)snprintf(says, size, "letters %s and %s change places in %s",
                               rule->letter[x].name, rule->letter[y].name,
                               tensor_name(call, rule, i, name, sizeof name));
                o->letter[a][0] = y;
                o->letter[b][0] = x;
                return true;
            }
    }
    return false;
}

/* A dim gets a letter of its own, which must be whole: as if it had nothing to do with the others
 * that have its letter. */
static bool lose_letter(const mw_call_args *call, mw_rule *rule, int *nth, char *says, size_t size)
{
    char name[32];
    for (int i = 0; i < rule->nin + rule->nout; i++) {
        mw_operand *o = tensor_at(rule, i);
        for (int d = 0; d < o->ndim; d++) {
            if (o->nletter[d] != 1 || rule->letter[o->letter[d][0]].size < 2) continue;
            if (rule->nletter == MW_RULE_LETTERS) return false;
            if ((*nth)-- > 0) continue;
            int was = o->letter[d][0], now = rule->nletter++;
            (void)snprintf(says, size, "dim %d of %s loses its letter %s", d,
                           tensor_name(call, rule, i, name, sizeof name), rule->letter[was].name);
            rule->letter[now] =
                (mw_letter){.name = "?", .mark = MW_MARK_WHOLE, .size = rule->letter[was].size};
            o->letter[d][0] = (uint8_t)now;
            return true;
        }
    }
    return false;
}

static bool in_results(const mw_rule *rule, int letter)
{
    for (int i = 0; i < rule->nout; i++)
        for (int d = 0; d < rule->out[i].ndim; d++)
            for (int k = 0; k < rule->out[i].nletter[d]; k++)
                if (rule->out[i].letter[d][k] == letter) return true;
    return false;
}

/* A letter may be split that must not be. Where the results lack it, they count as a sum then. */
static bool lose_mark(mw_rule *rule, int *nth, char *says, size_t size)
{
    for (int l = 0; l < rule->nletter; l++) {
        mw_letter *letter = &rule->letter[l];
        if (letter->mark == MW_MARK_FREE || letter->size < 2 || (*nth)-- > 0) continue;
        (void)snprintf(says, size, "letter %s loses its mark %c", letter->name,
                       letter->mark == MW_MARK_PARTS   ? '^'
                       : letter->mark == MW_MARK_WHOLE ? '*'
                                                       : '~');
        letter->mark = MW_MARK_FREE;
        if (!in_results(rule, l) && rule->reduce == MW_REDUCE_NONE) rule->reduce = MW_REDUCE_SUM;
        return true;
    }
    return false;
}

static bool set_flag(mw_rule *rule, int *nth, char *says, size_t size)
{
    for (int i = 0; i < rule->nin; i++) {
        if (rule->in[i].linear || (*nth)-- > 0) continue;
        rule->in[i].linear = 1;
        (void)snprintf(says, size, "operand %d counts as linear", i);
        return true;
    }
    for (int sign = 1; sign >= -1; sign -= 2) {
        if (rule->monotone == sign || (*nth)-- > 0) continue;
        rule->monotone = (int8_t)sign;
        (void)snprintf(says, size, "the op counts as monotone, %s",
                       sign > 0 ? "rising" : "falling");
        return true;
    }
    if (rule->reduce != MW_REDUCE_NONE && (*nth)-- <= 0) {
        bool sum = rule->reduce == MW_REDUCE_SUM;
        rule->reduce = sum ? MW_REDUCE_MAX : MW_REDUCE_SUM;
        (void)snprintf(says, size, "a letter that goes leaves a partial %s",
                       mw__reduce_name(rule->reduce));
        return true;
    }
    return false;
}

static bool lose_terms(mw_rule *rule, int nth, char *says, size_t size)
{
    if (nth > 0 || rule->nterm < 2) return false;
    for (int i = 0; i < rule->nin; i++)
        if (rule->in[i].term > 0) rule->in[i].term = 0;
    (void)snprintf(says, size, "the %d terms of the sum count as one", rule->nterm);
    rule->nterm = 1;
    return true;
}

bool mw__plant(const mw_call_args *call, mw_plant kind, int nth, mw_rule *rule, char *says,
               size_t size)
{
    switch (kind) {
    case MW_PLANT_LETTER:
        return swap_letters(call, rule, &nth, says, size) ||
               lose_letter(call, rule, &nth, says, size);
    case MW_PLANT_MARK:
        return lose_mark(rule, &nth, says, size);
    case MW_PLANT_FLAG:
        return set_flag(rule, &nth, says, size);
    case MW_PLANT_BIAS:
        return lose_terms(rule, nth, says, size);
    case MW_PLANT_NONE:
    case MW_PLANT_KINDS:
        break;
    }
    return false;
}

const char *mw__plant_hindrance(const mw_op *op, mw_plant kind, const mw_rule *rule)
{
    if (op->reshape) return "its layouts follow from owners of elements, not from a rule";
    if (kind == MW_PLANT_BIAS && rule->nterm < 2)
        return "its rule has no second term that could be added on every rank";
    if (kind == MW_PLANT_MARK) {
        for (int l = 0; l < rule->nletter; l++)
            if (rule->letter[l].mark != MW_MARK_FREE) return NULL;
        return "no letter of its rule has a mark";
    }
    if (kind == MW_PLANT_FLAG && rule->nin == 0) return "it has no operand that could be partial";
    if (kind == MW_PLANT_FLAG && op->view) return "a view passes every partial, and rightly";
    if (kind == MW_PLANT_LETTER && rule->nletter == 0) return "its rule has no letters";
    return NULL;
}
