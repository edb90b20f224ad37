/* Lays a rule's text over the shapes of a call: finds the size of each letter, says which letters
 * each dim is made of, and builds the outputs from them.
 *
 * Flexible dims (`...` and named ones) are known by their slot, counted from the right, so that
 * operands of different numbers of dims align as broadcasting does. An operand without named dims
 * has the slots that are not named.
 * Invariant: when sizes are settled, every dim of every operand is the product of its letters, or
 * has size 1 and none. */
#include "ops/rule_parts.h"

enum { NO_LETTER = 0xff };

typedef struct lay {
    const mw_call_args *call;
    const mw_rule_text *text;
    mw_rule *rule;
    uint32_t named; /* slots that the call's dim argument names */
    int nslot;
    uint8_t letter_of[MW_TEXT_LETTERS]; /* the rule's letter of the text's */
    uint8_t slot_letter[MW_MAX_DIMS];
    int8_t operand_of[MW_RULE_LETTERS]; /* where a letter got its size, for messages */
    int8_t dim_of[MW_RULE_LETTERS];
} lay;

/* ---- how many dims, and which of them are named -------------------------------------------- */

static mw_status check_ndim(const lay *l, const mw_text_operand *t, int operand)
{
    int ndim = l->call->in[operand].ndim, items = t->nplain;
    bool flexible = t->dots || t->named;
    if (t->expand ? ndim <= items : flexible ? ndim >= items : ndim == items) return MW_OK;
    char meta[MW_META_TEXT];
    return MW_FAIL(MW_ERR_SHAPE, "%s: '%s' must have %s%d dim%s, got %s", mw__call_name(l->call),
                   mw__operand_name(l->call, operand),
                   t->expand ? "at most " : (flexible ? "at least " : ""), items,
                   items == 1 ? "" : "s", mw__meta_text(&l->call->in[operand], meta));
}

/* Adds dim `value` of the operand, as the call's dim argument names it, to the named slots. */
static mw_status name_dim(lay *l, const mw_text_operand *t, int operand, int64_t value)
{
    int ndim = l->call->in[operand].ndim, flexible = ndim - t->nplain, dim;
    MW_TRY(mw__dim_in_range(l->call, l->text->named, value, ndim, &dim));
    if (ndim == 0) return MW_OK;
    int at = dim - t->lead;
    if (at < 0 || at >= flexible)
        return MW_FAIL(MW_ERR_SHAPE, "%s: dim %d of '%s' cannot be named here",
                       mw__call_name(l->call), dim, mw__operand_name(l->call, operand));
    uint32_t bit = 1u << (flexible - 1 - at);
    if (l->named & bit)
        return MW_FAIL(MW_ERR_SHAPE, "%s: dim %d stands twice in argument '%s'",
                       mw__call_name(l->call), dim, mw__arg_name(l->call, l->text->named));
    l->named |= bit;
    return MW_OK;
}

static mw_status name_dims(lay *l, const mw_text_operand *t, int operand)
{
    const mw_arg *arg = &l->call->arg[l->text->named];
    int flexible = l->call->in[operand].ndim - t->nplain;
    if (arg->kind == MW_ARG_INT) return name_dim(l, t, operand, arg->i);
    if (arg->kind != MW_ARG_INTS || arg->count == 0) {
        l->named = (1u << flexible) - 1u; /* None and [] mean all of them */
        return MW_OK;
    }
    for (int i = 0; i < arg->count; i++)
        MW_TRY(name_dim(l, t, operand, arg->ints[i]));
    return MW_OK;
}

/* The slot of each flexible dim of an operand; returns the number of slots that it spans. */
static int slots_of(const lay *l, const mw_text_operand *t, int operand, uint8_t *slot)
{
    int flexible = l->call->in[operand].ndim - t->nplain, next = 0;
    for (int i = flexible - 1; i >= 0; i--) {
        while (!t->named && (l->named >> next & 1u))
            next++;
        slot[i] = (uint8_t)next++;
    }
    return next;
}

static mw_status lay_slots(lay *l)
{
    const mw_rule_text *text = l->text;
    uint8_t slot[MW_MAX_DIMS];
    bool done = false;
    for (int i = 0; i < text->nin; i++) {
        const mw_text_operand *t = &text->in[i];
        const mw_arg *arg = &l->call->arg[t->arg];
        for (int o = arg->first; o < arg->first + arg->count; o++) {
            MW_TRY(check_ndim(l, t, o));
            if (t->named && !done) {
                MW_TRY(name_dims(l, t, o));
                done = true;
            }
        }
    }
    for (int i = 0; i < text->nin; i++) {
        const mw_text_operand *t = &text->in[i];
        const mw_arg *arg = &l->call->arg[t->arg];
        if (!t->dots && !t->named) continue;
        for (int o = arg->first; o < arg->first + arg->count; o++) {
            int n = slots_of(l, t, o, slot);
            if (n > MW_MAX_DIMS)
                return MW_FAIL(MW_ERR_SHAPE, "%s: more than %d dims", mw__call_name(l->call),
                               MW_MAX_DIMS);
            l->nslot = MW_MAX(l->nslot, n);
        }
    }
    return MW_OK;
}

/* ---- letters and their sizes ---------------------------------------------------------------- */

static int new_letter(lay *l, const char *name, int nth, uint8_t mark)
{
    int letter = mw__rule_letter_nth(l->rule, name, nth, -1, (mw_mark)mark);
    l->operand_of[letter] = l->dim_of[letter] = -1;
    return letter;
}

static int plain_letter(lay *l, int text_letter)
{
    uint8_t *letter = &l->letter_of[text_letter];
    const mw_text_letter *t = &l->text->letter[text_letter];
    if (*letter == NO_LETTER) *letter = (uint8_t)new_letter(l, t->name, -1, t->mark);
    return *letter;
}

/* The letter of a slot: the named one's where the slot is named (numbered where there are several),
 * else one of the ellipsis, numbered from the left. */
static int slot_letter(lay *l, int slot, int named_letter)
{
    bool named = l->named >> slot & 1u, several = (l->named & (l->named - 1)) != 0;
    /* One named dim is the text's own letter: another operand may give that dim another one. */
    if (named && !several) return plain_letter(l, named_letter);
    uint8_t *letter = &l->slot_letter[slot];
    if (*letter != NO_LETTER) return *letter;
    int nth = l->nslot - 1 - slot;
    if (named) {
        const mw_text_letter *t = &l->text->letter[named_letter];
        *letter = (uint8_t)new_letter(l, t->name, nth, t->mark);
    } else {
        *letter = (uint8_t)new_letter(l, "i", nth, MW_MARK_FREE);
    }
    return *letter;
}

static mw_status disagree(const lay *l, int letter, int operand, int dim)
{
    char first[MW_META_TEXT], second[MW_META_TEXT];
    const mw_call_args *call = l->call;
    int was = l->operand_of[letter];
    return MW_FAIL(MW_ERR_SHAPE,
                   "%s: '%s' %s and '%s' %s do not agree: dim %d of '%s' has size %lld, dim %d of "
                   "'%s' has size %lld",
                   mw__call_name(call), mw__operand_name(call, was),
                   mw__meta_text(&call->in[was], first), mw__operand_name(call, operand),
                   mw__meta_text(&call->in[operand], second), l->dim_of[letter],
                   mw__operand_name(call, was), (long long)call->in[was].shape[l->dim_of[letter]],
                   dim, mw__operand_name(call, operand), (long long)call->in[operand].shape[dim]);
}

static void set_size(lay *l, int letter, int64_t size, int operand, int dim)
{
    l->rule->letter[letter].size = size;
    l->operand_of[letter] = (int8_t)operand;
    l->dim_of[letter] = (int8_t)dim;
}

static mw_status unify(lay *l, int letter, int operand, int dim, bool broadcast)
{
    int64_t size = l->call->in[operand].shape[dim], was = l->rule->letter[letter].size;
    if (was == size) return MW_OK;
    if (was < 0 || (broadcast && was == 1))
        set_size(l, letter, size, operand, dim);
    else if (!broadcast || size != 1)
        return disagree(l, letter, operand, dim);
    return MW_OK;
}

/* The text's item of dim `dim`; flexible dims give NULL and their slot. */
static const mw_text_dim *item_of(const mw_text_operand *t, int ndim, int dim, int *ret_flexible)
{
    int flexible = ndim - t->nplain;
    if (t->expand) return &t->dim[dim + t->ndim - ndim];
    if (dim < t->lead || (!t->dots && !t->named)) return &t->dim[dim];
    if (dim < t->lead + flexible) {
        *ret_flexible = dim - t->lead;
        return NULL;
    }
    return &t->dim[t->ndim - (ndim - dim)];
}

static int named_letter_of(const mw_text_operand *t)
{
    for (int i = 0; i < t->ndim; i++)
        if (t->dim[i].kind == MW_TEXT_NAMED) return t->dim[i].letter[0];
    return 0;
}

/* Puts letters on the operand's dims and unifies the sizes of those that stand alone. */
static mw_status lay_operand(lay *l, const mw_text_operand *t, int operand)
{
    const mw_meta *meta = &l->call->in[operand];
    mw_operand *to = &l->rule->in[operand];
    uint8_t slot[MW_MAX_DIMS];
    int flexible = 0, named = named_letter_of(t);
    to->term = t->term;
    if (t->dots || t->named) (void)slots_of(l, t, operand, slot);
    for (int d = 0; d < meta->ndim; d++) {
        const mw_text_dim *item = item_of(t, meta->ndim, d, &flexible);
        if (!item) {
            int at = slot[flexible];
            int letter = slot_letter(l, at, named);
            mw__rule_put(to, d, letter);
            MW_TRY(unify(l, letter, operand, d, !(l->named >> at & 1u)));
            continue;
        }
        for (int i = 0; i < item->nletter; i++)
            mw__rule_put(to, d, plain_letter(l, item->letter[i]));
        if (item->nletter == 1 && !t->expand) MW_TRY(unify(l, to->letter[d][0], operand, d, false));
    }
    return MW_OK;
}

/* The product of the known letters of a dim; *ret_unknown: the one that is not known, -1 for none,
 * -2 for several. */
static int64_t known_product(const lay *l, const mw_operand *operand, int dim, int *ret_unknown)
{
    int64_t product = 1;
    int unknown = -1;
    for (int i = 0; i < operand->nletter[dim]; i++) {
        int letter = operand->letter[dim][i];
        int64_t size = l->rule->letter[letter].size;
        if (size < 0)
            unknown = unknown == -1 ? letter : -2;
        else if (__builtin_mul_overflow(product, size, &product))
            product = INT64_MAX; /* no dim has this size: the check that follows fails */
    }
    *ret_unknown = unknown;
    return product;
}

/* Finds letters that stand in products only; true where it found one. */
static mw_status settle_products(lay *l, bool *ret_more)
{
    for (int o = 0; o < l->call->nin; o++) {
        const mw_operand *operand = &l->rule->in[o];
        for (int d = 0; d < operand->ndim; d++) {
            int unknown;
            int64_t size = l->call->in[o].shape[d];
            int64_t product = known_product(l, operand, d, &unknown);
            if (unknown < 0) continue;
            if (product ? size % product != 0 : size != 0) {
                char meta[MW_META_TEXT];
                return MW_FAIL(MW_ERR_SHAPE, "%s: dim %d of '%s' %s is not a multiple of %lld",
                               mw__call_name(l->call), d, mw__operand_name(l->call, o),
                               mw__meta_text(&l->call->in[o], meta), (long long)product);
            }
            set_size(l, unknown, product ? size / product : 1, o, d);
            *ret_more = true;
        }
    }
    return MW_OK;
}

/* Takes the letters off dims that are expanded, and checks products. */
static mw_status check_operand(lay *l, int operand, bool expand)
{
    const mw_meta *meta = &l->call->in[operand];
    mw_operand *to = &l->rule->in[operand];
    for (int d = 0; d < meta->ndim; d++) {
        int unknown;
        int64_t product = known_product(l, to, d, &unknown);
        if (unknown != -1)
            return MW_FAIL(MW_ERR_INTERNAL, "%s: the rule leaves the sizes in dim %d of '%s' open",
                           mw__call_name(l->call), d, mw__operand_name(l->call, operand));
        if (product == meta->shape[d]) continue;
        bool flexible = to->nletter[d] == 1 && l->rule->letter[to->letter[d][0]].size != 1;
        if (meta->shape[d] == 1 && (expand || flexible)) {
            to->nletter[d] = 0;
            continue;
        }
        if (to->nletter[d] == 1 && l->operand_of[to->letter[d][0]] >= 0)
            return disagree(l, to->letter[d][0], operand, d);
        char text[MW_META_TEXT];
        return MW_FAIL(MW_ERR_SHAPE, "%s: dim %d of '%s' %s must have size %lld",
                       mw__call_name(l->call), d, mw__operand_name(l->call, operand),
                       mw__meta_text(meta, text), (long long)product);
    }
    return MW_OK;
}

/* ---- outputs ------------------------------------------------------------------------------- */

static mw_status push(lay *l, mw_operand *out, int letter)
{
    if (out->ndim == MW_MAX_DIMS)
        return MW_FAIL(MW_ERR_SHAPE, "%s: the result would have more than %d dims",
                       mw__call_name(l->call), MW_MAX_DIMS);
    mw__rule_push(out, letter);
    return MW_OK;
}

/* What an output has in place of the named dims: -1: nothing, else a letter of the text. */
static int replacement(const mw_text_operand *t)
{
    return t->named ? named_letter_of(t) : -1;
}

static mw_status push_slots(lay *l, const mw_text_operand *t, mw_operand *out)
{
    bool keep = l->text->keepdim >= 0 && l->call->arg[l->text->keepdim].i != 0;
    int instead = replacement(t);
    if (instead >= 0 && !l->text->letter[instead].named && (l->named & (l->named - 1)))
        return MW_FAIL(MW_ERR_SHAPE, "%s: argument '%s' must name one dim", mw__call_name(l->call),
                       mw__arg_name(l->call, l->text->named));
    for (int slot = l->nslot - 1; slot >= 0; slot--) {
        if (!(l->named >> slot & 1u)) {
            if (t->dots) MW_TRY(push(l, out, l->slot_letter[slot]));
        } else if (instead >= 0 && l->text->letter[instead].named) {
            MW_TRY(push(l, out, slot_letter(l, slot, instead)));
        } else if (instead >= 0) {
            MW_TRY(push(l, out, plain_letter(l, instead)));
        } else if (keep) {
            MW_TRY(push(l, out, -1));
        }
    }
    return MW_OK;
}

static mw_status lay_output(lay *l, const mw_text_operand *t, mw_operand *out)
{
    bool flexible_done = false;
    out->ndim = 0;
    for (int i = 0; i < t->ndim; i++) {
        const mw_text_dim *item = &t->dim[i];
        if (item->kind == MW_TEXT_PLAIN) {
            int dim = out->ndim;
            MW_TRY(push(l, out, -1));
            for (int k = 0; k < item->nletter; k++)
                mw__rule_put(out, dim, plain_letter(l, item->letter[k]));
        } else if (!flexible_done) {
            MW_TRY(push_slots(l, t, out));
            flexible_done = true;
        }
    }
    return MW_OK;
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* Terms whose operands are all absent go; those that stay are numbered anew. */
static void number_terms(const lay *l)
{
    int8_t number[MW_TEXT_IN] = {0};
    bool present[MW_TEXT_IN] = {false};
    int n = 0;
    for (int i = 0; i < l->text->nin; i++) {
        const mw_text_operand *t = &l->text->in[i];
        if (t->term >= 0 && l->call->arg[t->arg].count) present[t->term] = true;
    }
    for (int term = 0; term < l->text->nterm; term++)
        if (present[term]) number[term] = (int8_t)n++;
    for (int i = 0; i < l->text->nin; i++) {
        const mw_text_operand *t = &l->text->in[i];
        const mw_arg *arg = &l->call->arg[t->arg];
        for (int k = 0; k < arg->count && t->term >= 0; k++) {
            l->rule->in[arg->first + k].term = number[t->term];
            if (t->spread && k) l->rule->in[arg->first + k].term = (int8_t)n++;
        }
    }
    l->rule->nterm = n;
}

mw_status mw__rule_lay(const mw_call_args *call, const mw_rule_text *text, mw_rule *rule)
{
    lay l = {.call = call, .text = text, .rule = rule};
    memset(l.letter_of, NO_LETTER, sizeof l.letter_of);
    memset(l.slot_letter, NO_LETTER, sizeof l.slot_letter);
    MW_TRY(lay_slots(&l));
    for (int i = 0; i < text->nin; i++) {
        const mw_arg *arg = &call->arg[text->in[i].arg];
        for (int k = 0; k < arg->count; k++)
            MW_TRY(lay_operand(&l, &text->in[i], arg->first + k));
    }
    for (bool more = true; more;) {
        more = false;
        MW_TRY(settle_products(&l, &more));
    }
    for (int i = 0; i < text->nin; i++) {
        const mw_arg *arg = &call->arg[text->in[i].arg];
        for (int k = 0; k < arg->count; k++)
            MW_TRY(check_operand(&l, arg->first + k, text->in[i].expand));
    }
    number_terms(&l);
    for (int i = 0; i < rule->nout; i++)
        MW_TRY(lay_output(&l, &text->out[MW_MIN(i, text->nout - 1)], &rule->out[i]));
    return MW_OK;
}
