/* Graphs printed as a table (`TORCH_LOGS=graph`), and the sizes listed after it:
 *
 *     call_function  wait_tensor  _c10d_functional.wait_tensor.default  (all_reduce,)  {}
 *     all_reduce: (4, 3)
 */
#include "log/compile.h"

/* A cell ends at two blanks. */
static const char *cell_end(const char *at)
{
    while (*at && !(at[0] == ' ' && at[1] == ' '))
        at++;
    return at;
}

static const char *next_cell(const char *end)
{
    return end + strspn(end, " ");
}

static bool is_row(const char *text)
{
    static const char *const kinds[] = {"placeholder ", "call_function ", "call_method ",
                                        "call_module ", "get_attr ",      "output "};
    for (int i = 0; i < MW_COUNT(kinds); i++)
        if (strncmp(text, kinds[i], strlen(kinds[i])) == 0) return true;
    return false;
}

bool mw__cp_table_row(cp_here *h)
{
    const char *text = h->text;
    if (!is_row(text)) return false;
    const char *name = next_cell(cell_end(text)), *name_end = cell_end(name);
    const char *target = next_cell(name_end), *target_end = cell_end(target);
    const char *args = next_cell(target_end), *args_end = args + strlen(args);
    if (!*name || !*target) return false;
    const char *kwargs = args_end;
    while (kwargs > args && *kwargs != '{')
        kwargs--;
    if (*kwargs == '{') args_end = kwargs;
    cp_graph *g = h->g;
    g->table = true;
    g->whole = true;
    int length = mw__cp_ident(name);
    if (*text == 'p') {
        mw__cp_inputs(h, name, length, h->line->number);
        return true;
    }
    mw_str rhs = {0};
    bool get = memchr(target, '<', (size_t)(target_end - target)) != NULL;
    if (*text == 'o')
        mw__str_puts(&rhs, "return ");
    else if (get)
        mw__str_puts(&rhs, strstr(target, "getitem") ? "operator.getitem" : "operator.other");
    else
        mw__str_append(&rhs, target, (size_t)(target_end - target));
    mw__str_append(&rhs, args, (size_t)(args_end - args));
    while (rhs.length && rhs.at[rhs.length - 1] == ' ')
        rhs.at[--rhs.length] = 0;
    g->hash = mw__hash(g->hash, mw__str_text(&rhs), rhs.length);
    if (*text == 'o') {
        mw__cp_statement(h, mw__str_text(&rhs), h->line->number);
    } else {
        int made = mw__cp_op(h, name, length, mw__str_text(&rhs), h->line->number);
        const char *comma = strrchr(mw__str_text(&rhs), ',');
        if (made >= 0 && get && comma && comma[1] == ' ' && comma[2] >= '0' && comma[2] <= '9')
            g->node[made].index = comma[2] - '0';
    }
    mw__cp_done(h, &rhs);
    return true;
}

bool mw__cp_table_size(cp_here *h)
{
    const char *at = h->text;
    int n = mw__cp_ident(at),
        node = n && strncmp(at + n, ": (", 3) == 0 ? mw__cp_find(h->g, at, n) : -1;
    int64_t dim[CP_DIMS];
    mw_py *py = NULL;
    if (node < 0) return false;
    const char *sizes = at + n + 2;
    if (mw__cp_failed(h, mw__py_read(sizes, sizes + strlen(sizes), mw__explain_scratch(h->e), &py)))
        return true;
    int count = mw__py_ints(py, dim, CP_DIMS);
    if (count >= 0) mw__cp_shape_set(&h->g->node[node].shape, count, dim);
    return true;
}
