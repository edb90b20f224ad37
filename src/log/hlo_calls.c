/* Who runs whom in HLO: loops with their trip counts, calls, branches, asynchronous computations
 * (whose -update and -done name the computation again and run nothing). A loop whose text states no
 * count is counted by its condition, where that compares with a constant: an assumption on where
 * the counter begins, and said to be. */
#include "log/hlo.h"

static uint64_t named(const char *name)
{
    const char *end = mw__hlo_word_end(name + (*name == '%'));
    return end > name ? mw__hlo_name_hash(name, end - name) : 0;
}

static void run(const hlo_op *op, const char *name, int64_t times, bool branch)
{
    if (name) mw__runs_call(op->e, &op->s->runs, op->s->computation, named(name), times, branch);
}

static int64_t trip_count(const hlo_op *op)
{
    const char *at = strstr(op->attrs, "known_trip_count");
    int64_t n = 0;
    if (!at) return 0;
    at += strcspn(at, "0123456789");
    return mw__hlo_int(&at, &n) ? n : 0;
}

/* `ROOT %lt = pred[] compare(%i, %n), direction=LT`, n a constant: how often at most, counted from
 * 0 by 1. Kept under the computation's name. */
static void condition(const hlo_op *op)
{
    hlo_state *s = op->s;
    int64_t n;
    if (mw__hlo_is(op, "constant")) {
        const char *at = op->operands;
        if (op->tuple || op->element[0].ndim != 0 || !mw__hlo_int(&at, &n) || *at != ')') return;
        hlo_value *v = mw__hlo_value(s, mw__hlo_name_hash(op->name, op->name_length), true);
        if (v) v->constant = n, v->is_constant = true;
        return;
    }
    const char *direction = mw__hlo_attr(op, "direction");
    if (!op->root || !direction) return;
    const char *at = op->operands;
    for (int i = 0; i < 2; i++) {
        int length;
        const char *name = mw__hlo_operand(&at, &length);
        const hlo_value *v = name ? mw__hlo_value(s, mw__hlo_name_hash(name, length), false) : NULL;
        if (!v || !v->is_constant || strncmp(direction, i ? "LT" : "GT", 2) != 0) continue;
        n = v->constant;
        hlo_value *limit = mw__hlo_value(s, s->computation ^ HLO_LIMIT, true);
        if (limit) limit->constant = n, limit->is_constant = true;
    }
}

static void loop(const hlo_op *op)
{
    const char *body = mw__hlo_attr(op, "body"), *condition = mw__hlo_attr(op, "condition");
    if (!body) return;
    int64_t runs = trip_count(op);
    bool assumed = false;
    const hlo_value *limit =
        runs || !condition ? NULL : mw__hlo_value(op->s, named(condition) ^ HLO_LIMIT, false);
    if (limit && limit->is_constant && limit->constant > 0) {
        runs = limit->constant;
        assumed = true;
    }
    mw__explain_once(op->e);
    run(op, body, runs, false);
    mw_draft *d = mw__draft(op->e, op->line, "hlo", "loop");
    int length = (int)MW_MIN(mw__hlo_word_end(body + (*body == '%')) - body, 200);
    if (runs)
        mw__draft_says(d, "%.*s runs %.*s %lld times%s.", op->name_length, op->name, length, body,
                       (long long)runs, assumed ? ", if its counter begins at 0" : "");
    else
        mw__draft_says(d, "%.*s runs %.*s; the text does not say how often.", op->name_length,
                       op->name, length, body);
    if (assumed)
        mw__fact(d, "runs", MW_HOW_ASSUMED,
                 "its condition compares with this constant: a known_trip_count, or that the "
                 "counter goes from 0 in steps of 1, would settle it",
                 "%lld", (long long)runs);
    else if (runs)
        mw__fact(d, "runs", MW_HOW_STATED, op->from, "%lld", (long long)runs);
    mw__hlo_metadata(op, d);
}

static void branches(const hlo_op *op)
{
    static const char *const keys[] = {"true_computation", "false_computation"};
    for (int i = 0; i < MW_COUNT(keys); i++)
        run(op, mw__hlo_attr(op, keys[i]), 1, true);
    const char *list = mw__hlo_attr(op, "branch_computations");
    if (!list || *list != '{') return;
    for (list++; *list && *list != '}';) {
        list += strspn(list, ", ");
        const char *end = mw__hlo_word_end(list + (*list == '%'));
        if (end == list) return;
        run(op, list, 1, true);
        list = end;
    }
}

void mw__hlo_callees(const hlo_op *op)
{
    int n = op->opcode_length;
    bool starts = n > 6 && memcmp(op->opcode + n - 6, "-start", 6) == 0;
    if (mw__hlo_is(op, "fusion") || starts)
        run(op, mw__hlo_attr(op, "calls"), 1, false);
    else if (mw__hlo_is(op, "while"))
        loop(op);
    else if (mw__hlo_is(op, "call"))
        run(op, mw__hlo_attr(op, "to_apply"), 1, false);
    else if (mw__hlo_is(op, "conditional"))
        branches(op);
    else if (mw__hlo_is(op, "constant") || mw__hlo_is(op, "compare"))
        condition(op);
}
