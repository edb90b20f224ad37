/* Brackets behind a value: %x[0], %x[:, 1:3], %x[..., None], %x[%rows].
 *
 *     index = "[" item { "," item } "]" ;
 *     item  = int | [int] ":" [int] [ ":" int ] | "..." | "None" | expr ;
 *
 * Each becomes the op that it stands for: select, slice, unsqueeze, index_select. */
#include "graph/ir_parse.h"

static mw_status call_ints(ir_parser *p, const char *word, const char *at, mw_ssa **x,
                           const int64_t *ints, int n)
{
    ir_operand given[8] = {{.value = *x}};
    for (int i = 0; i < n; i++)
        given[i + 1] = (ir_operand){.number = true, .arg = {.kind = MW_ARG_INT, .i = ints[i]}};
    return ir_call_with(p, word, at, given, n + 1, x);
}

/* `a:b:c`, each of which may lack; `first` has been read where `has` says so. */
static mw_status read_slice(ir_parser *p, const char *at, mw_ssa **x, int64_t dim, bool has,
                            int64_t first)
{
    int64_t end = INT64_MAX, step = 1;
    if (!has) first = 0;
    if (!ir_sees(p, ",") && !ir_sees(p, "]") && !ir_sees(p, ":")) MW_TRY(ir_int(p, &end));
    if (ir_take(p, ":") && !ir_sees(p, ",") && !ir_sees(p, "]")) MW_TRY(ir_int(p, &step));
    if (first == 0 && end == INT64_MAX && step == 1) return MW_OK;
    return call_ints(p, "slice", at, x, (int64_t[]){dim, first, end, step}, 4);
}

static mw_status read_rows(ir_parser *p, const char *at, mw_ssa **x, int64_t dim)
{
    mw_ssa *rows;
    int n;
    MW_TRY(ir_expr(p, &rows, 1, &n));
    if (rows->layout.dtype == MW_DTYPE_bool)
        return ir_fail(p, at,
                       "an index of bools: how many are true is known only at run time; "
                       "where(%%mask, %%x, 0) keeps the shape");
    if (rows->layout.ndim != 1)
        return ir_fail(p, at, "an index of %d dims: one dim of ints, like %%x[%%rows]",
                       rows->layout.ndim);
    ir_operand given[3] = {
        {.value = *x}, {.number = true, .arg = {.kind = MW_ARG_INT, .i = dim}}, {.value = rows}};
    return ir_call_with(p, "index_select", at, given, 3, x);
}

/* Dims that `...` stands for: those that no other item takes. */
static int64_t count_items(const char *at)
{
    int64_t n = 0;
    int depth = 0;
    bool any = false, taken = true;
    for (; *at && *at != '\n'; at++) {
        if (depth == 0 && (*at == ',' || *at == ']')) {
            n += any && taken;
            any = false, taken = true;
            if (*at == ']') break;
            continue;
        }
        if (*at == '(' || *at == '[') depth++;
        if (*at == ')' || *at == ']') depth--;
        if (strncmp(at, "...", 3) == 0 || strncmp(at, "None", 4) == 0) taken = false;
        any = any || *at != ' ';
    }
    return n;
}

static mw_status read_item(ir_parser *p, mw_ssa **x, int64_t *dim, int64_t items, int ndim)
{
    const char *at = (ir_space(p), p->at);
    int64_t value = 0;
    if (ir_take(p, "...")) {
        *dim += (*x)->layout.ndim - *dim - items;
        if (*dim < 0) return ir_fail(p, at, "more indices than dims");
        return MW_OK;
    }
    if (ir_take(p, "None")) return call_ints(p, "unsqueeze", at, x, (int64_t[]){(*dim)++}, 1);
    if (*dim >= (*x)->layout.ndim)
        return ir_fail(p, at, "more indices than the %d dims of the value", ndim);
    bool number = ir_starts_number(at);
    if (number) MW_TRY(ir_int(p, &value));
    if (ir_take(p, ":")) return read_slice(p, at, x, (*dim)++, number, value);
    if (number) return call_ints(p, "select", at, x, (int64_t[]){*dim, value}, 2);
    return read_rows(p, at, x, (*dim)++);
}

mw_status ir_index(ir_parser *p, mw_ssa *self, mw_ssa **ret)
{
    const char *begin = p->at;
    mw_ssa *x = self;
    int64_t dim = 0, left = count_items(p->at + 1);
    p->at++;
    do {
        const char *at = (ir_space(p), p->at);
        bool takes = strncmp(at, "...", 3) != 0 && strncmp(at, "None", 4) != 0;
        MW_TRY(read_item(p, &x, &dim, left, self->layout.ndim));
        left -= takes;
    } while (ir_take(p, ",") && !ir_sees(p, "]"));
    MW_TRY(ir_expect(p, "]"));
    ir_operand one = {.value = x};
    if (x == self) return ir_call_with(p, "alias", begin, &one, 1, ret); /* %x[:] */
    *ret = x;
    return MW_OK;
}
