/* The dispatch log of examples/seed_block, line by line, against lines worked out here from the
 * events beside it: types, arguments and results come from an event's texts, strides and the rules
 * of views from what the program is. At several sizes, over 2 and 4 ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int seed_block_main(int argc, char **argv);
#define main seed_block_main
#include "examples/seed_block/main.c"
#undef main

enum { LINE = 2048, EVENTS = 80 };

/* ---- what happened ------------------------------------------------------------------------------
 */

typedef struct record {
    mw_event_kind kind;
    int asked, line;
    int64_t recv_bytes;
    char op[40], text[300], result[300], from[80], to[80], dispatch[3 * LINE];
} record;

typedef struct trace {
    block b; /* first: the program takes the trace for its block */
    int ranks, n;
    record at[EVENTS];
} trace;

static void keep(char *to, size_t size, const char *text)
{
    int n = snprintf(to, size, "%s", text ? text : "");
    assert_in_range(n, 0, size - 1);
}

static void note(void *user, const mw_event *e)
{
    trace *t = user;
    if (e->rank != 0 || !t->b.started) return;
    assert_in_range(t->n, 0, EVENTS - 1);
    record *r = &t->at[t->n++];
    *r = (record){
        .kind = e->kind, .asked = e->asked, .line = e->site.line, .recv_bytes = e->recv_bytes};
    keep(r->op, sizeof r->op, e->op);
    keep(r->text, sizeof r->text, e->text);
    keep(r->result, sizeof r->result, e->result);
    keep(r->from, sizeof r->from, e->from);
    keep(r->to, sizeof r->to, e->to);
    keep(r->dispatch, sizeof r->dispatch, e->dispatch);
}

static void run(trace *t, int64_t batch, int64_t seq, int64_t dim, int64_t heads, int ranks)
{
    char mesh[20];
    (void)snprintf(mesh, sizeof mesh, "tp=%d", ranks);
    memset(t, 0, sizeof *t);
    t->ranks = ranks;
    t->b = (block){.batch = batch, .seq = seq, .dim = dim, .heads = heads};
    mw_launch_options options = {
        .mesh = mesh, .device = "xpu", .dispatch = 1, .sink = note, .sink_user = t};
    if (mw_launch(&options, program, t) != MW_OK) fail_msg("%s", mw_last_error()->says);
}

/* ---- what the log must say ----------------------------------------------------------------------
 */

typedef struct line {
    char text[LINE];
    int length;
} line;

static void put(line *to, const char *format, ...) MW_PRINTF(2, 3);
static void put(line *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    to->length += vsnprintf(to->text + to->length, LINE - (size_t)to->length, format, args);
    va_end(args);
    assert_in_range(to->length, 0, LINE - 1);
}

static void put_ints(line *to, char open, const int64_t *at, int n, char close)
{
    put(to, "%c", open);
    for (int i = 0; i < n; i++)
        put(to, "%s%lld", i ? ", " : "", (long long)at[i]);
    put(to, "%s%c", n == 1 && open == '(' ? "," : "", close);
}

/* A type as an event writes it, "f32[2·4@tp, 16, 4]", over the one axis tp. */
typedef struct type {
    int ndim, dim;           /* dim: the one that is cut; -1: none */
    int64_t shape[8], split; /* split: pieces of that dim that are each cut */
    bool partial;
} type;

static type read_type(const char *text)
{
    type t = {.dim = -1, .split = 1, .partial = strstr(text, "{sum:tp}") != NULL};
    assert_memory_equal(text, "f32[", 4);
    int64_t size = 1;
    for (const char *p = text + 4;;) {
        char *end;
        int64_t factor = strtoll(p, &end, 10);
        assert_true(end > p);
        if (strncmp(end, "@tp", 3) == 0) {
            assert_int_equal(t.dim, -1);
            t.dim = t.ndim;
            t.split = size;
            end += 3;
        }
        size *= factor;
        p = end;
        if (strncmp(p, "·", strlen("·")) == 0) {
            p += strlen("·");
            continue;
        }
        t.shape[t.ndim++] = size;
        size = 1;
        if (*p == ']') return t;
        assert_memory_equal(p, ", ", 2);
        p += 2;
    }
}

static void put_short(line *to, const type *t)
{
    if (t->partial)
        put(to, "P");
    else if (t->dim < 0)
        put(to, "R");
    else if (t->split == 1)
        put(to, "S(%d)", t->dim);
    else
        put(to, "_S(%d, %lld)", t->dim, (long long)t->split);
}

static void put_long(line *to, const type *t)
{
    if (t->partial)
        put(to, "(Partial(sum),)");
    else if (t->dim < 0)
        put(to, "(Replicate(),)");
    else if (t->split == 1)
        put(to, "(Shard(dim=%d),)", t->dim);
    else
        put(to, "(_StridedShard(dim=%d, sf=%lld),)", t->dim, (long long)t->split);
}

/* The end of the list item that starts at p: a comma or the end, outside brackets. */
static const char *item_end(const char *p)
{
    int depth = 0;
    for (; *p && (depth > 0 || (*p != ',' && *p != ')')); p++)
        depth += (*p == '[' || *p == '{') - (*p == ']' || *p == '}');
    return p;
}

static const char *full_name(const char *word)
{
    static const char *const names[][2] = {
        {"transpose", "transpose.int"}, {"div", "div.Scalar"}, {"add", "add.Tensor"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(word, names[i][0]) == 0) return names[i][1];
    return NULL;
}

static void put_op(line *to, const record *r)
{
    int n = (int)strcspn(r->text, "(");
    char word[40];
    (void)snprintf(word, sizeof word, "%.*s", n, r->text);
    if (full_name(word))
        put(to, "aten.%s", full_name(word));
    else
        put(to, "aten.%s.default", word);
}

static void dispatching(const record *r, const trace *t, line *to)
{
    put(to, "_dispatch.py:152] Dispatching op_call: Op(op=");
    put_op(to, r);
    put(to, ", args_schema=");
    for (const char *p = strchr(r->text, '(') + 1, *first = p; *p && *p != ')';) {
        const char *end = item_end(p), *value = p;
        const char *colon = strstr(p, ": ");
        if (colon && colon < end) value = colon + 2; /* past the argument's name */
        if (p != first) put(to, ", ");
        if (strncmp(value, "f32[", 4) == 0) {
            type given = read_type(value);
            put(to, "Spec(");
            put_short(to, &given);
            put(to, " on ");
            put_ints(to, '(', given.shape, given.ndim, ')');
            put(to, ")");
        } else {
            put(to, "%.*s", (int)(end - value), value);
        }
        p = *end == ',' ? end + 2 : end;
    }
    put(to, " @ mesh: (%d,))", t->ranks);
}

/* Strides of a result. Everything is contiguous but what is transposed, and expands of that.
 * `seen`: how many transposes and expands came before. */
static void strides(const trace *t, const record *r, const type *result, int *transposes,
                    int *expands, int64_t *ret)
{
    const block *b = &t->b;
    int64_t step = 1, d = b->dim / b->heads;
    for (int i = result->ndim - 1; i >= 0; step *= result->shape[i--])
        ret[i] = step;
    const int64_t heads[4] = {b->seq * b->dim, d, b->dim, 1},
                  heads_t[4] = {b->seq * b->dim, d, 1, b->dim},
                  mixed[4] = {b->seq * b->dim, d, b->seq * d, 1};
    if (strcmp(r->op, "t") == 0) {
        ret[0] = 1;
        ret[1] = result->shape[0];
    } else if (strcmp(r->op, "transpose") ==
               0) { /* q, k, v; k again; what comes out of attention */
        int n = (*transposes)++;
        memcpy(ret, n < 3 ? heads : n == 3 ? heads_t : mixed, sizeof heads);
    } else if (strcmp(r->op, "expand") == 0) { /* q, k; weights, v */
        int n = (*expands)++;
        if (n != 2) memcpy(ret, n == 1 ? heads_t : heads, sizeof heads);
    }
}

static void put_output(const trace *t, const type *result, const int64_t *stride, line *to)
{
    put(to,
        "DTensorSpec(mesh=DeviceMesh((tp=%d), device: 'xpu', stride: (1,)), placements=", t->ranks);
    put_long(to, result);
    put(to, ", tensor_meta=TensorMeta(shape=torch.Size(");
    put_ints(to, '[', result->shape, result->ndim, ']');
    put(to, "), stride=");
    put_ints(to, '(', stride, result->ndim, ')');
    put(to, ", dtype=torch.float32))");
}

static void output_sharding(const trace *t, const record *r, int *transposes, int *expands,
                            line *to)
{
    const char *p = r->result;
    int64_t stride[8];
    put(to, "_dispatch.py:156] output_sharding for ");
    put_op(to, r);
    put(to, ": OutputSharding(output_spec=");
    bool several = *item_end(p) == ',';
    if (several) put(to, "(");
    for (;;) {
        type result = read_type(p);
        strides(t, r, &result, transposes, expands, stride);
        put_output(t, &result, stride, to);
        p = item_end(p);
        if (*p != ',') break;
        put(to, ", ");
        p += 2;
    }
    put(to, "%s, redistribute_schema=None, needs_redistribute=False)", several ? ")" : "");
}

static void put_flatten(line *to, int first)
{
    put(to, "Flatten(input_dims=(InputDim(input_dim=%d), InputDim(input_dim=%d)))", first,
        first + 1);
}

static void put_split(line *to, int dim, int64_t a, int64_t b)
{
    for (int i = 0; i < 2; i++)
        put(to, "%sSplit(input_dim=InputDim(input_dim=%d), group_shape=(%lld, %lld), split_id=%d)",
            i ? ", " : "", dim, (long long)a, (long long)b, i);
}

/* Views of the block join or part two neighbours; `at` is the first of them. */
static void view_line(const trace *t, const record *r, line *to)
{
    type from = read_type(strchr(r->text, ':') + 2), result = read_type(r->result);
    bool joins = result.ndim < from.ndim;
    int least = joins ? result.ndim : from.ndim, at = 0;
    while (at < least - 1 && from.shape[at] == result.shape[at])
        at++;
    put(to, "rank0 propagate_shape_and_sharding input_src_placements ");
    put_long(to, &from);
    put(to, " global_input_shape ");
    put_ints(to, '(', from.shape, from.ndim, ')');
    put(to, " rule (");
    for (int i = 0; i < least; i++) {
        if (i) put(to, ", ");
        if (i != at)
            put(to, "InputDim(input_dim=%d)", i > at && joins ? i + 1 : i);
        else if (joins)
            put_flatten(to, at);
        else
            put_split(to, at, result.shape[at], result.shape[at + 1]);
    }
    put(to, ") mesh_sizes (%d,) strict_view True", t->ranks);
}

/* ---- comparing ----------------------------------------------------------------------------------
 */

static const char *expect_line(const char *at, const line *want)
{
    size_t n = strcspn(at, "\n");
    if (n != (size_t)want->length || memcmp(at, want->text, n) != 0)
        fail_msg("the log has\n%.*s\nwhere the events say\n%s", (int)n, at, want->text);
    assert_int_equal(at[n], '\n');
    return at + n + 1;
}

static int check(const trace *t)
{
    int transposes = 0, expands = 0, lines = 0;
    for (int i = 0; i < t->n; i++) {
        const record *r = &t->at[i];
        const char *at = r->dispatch;
        line want[3] = {{.length = 0}};
        int n = 0;
        if (r->kind == MW_EVENT_MOVE) {
            type from = read_type(r->from), to = read_type(r->to);
            put(&want[n], "_redistribute.py:202] redistribute from ");
            put_short(&want[n], &from);
            put(&want[n], " to ");
            put_short(&want[n], &to);
            put(&want[n++], " on mesh dim 0");
        } else {
            dispatching(r, t, &want[n++]);
            if (strcmp(r->op, "view") == 0 || strcmp(r->op, "_unsafe_view") == 0)
                view_line(t, r, &want[n++]);
            output_sharding(t, r, &transposes, &expands, &want[n++]);
        }
        for (int k = 0; k < n; k++, lines++)
            at = expect_line(at, &want[k]);
        assert_string_equal(at, "");
    }
    return lines;
}

static const record *find(const trace *t, int from, const char *op)
{
    for (int i = from; i < t->n; i++)
        if (strcmp(t->at[i].op, op) == 0 && t->at[i].kind == MW_EVENT_CALL) return &t->at[i];
    fail_msg("no call of %s", op);
    return NULL;
}

enum { OUTPUT = 400 };

static void one_output(int ranks, long long b, long long t, long long c, char *ret)
{
    (void)snprintf(ret, OUTPUT,
                   "DTensorSpec(mesh=DeviceMesh((tp=%d), device: 'xpu', stride: (1,)), "
                   "placements=(Shard(dim=1),), tensor_meta=TensorMeta(shape=torch.Size([%lld, "
                   "%lld, %lld]), stride=(%lld, %lld, 1), dtype=torch.float32))",
                   ranks, b, t, c, t * c, c);
}

/* The public thread's six lines, with the sizes of this run in their places. */
static void check_thread(const trace *t)
{
    const block *b = &t->b;
    char want[4 * LINE];
    long long B = b->batch, T = b->seq, C = b->dim, H = b->heads, D = C / H;
    int n = t->ranks;
    char whole[OUTPUT], one[OUTPUT];
    one_output(n, B, T, C, whole);
    one_output(n, B, T, 1, one);
    (void)snprintf(
        want, sizeof want,
        "_dispatch.py:152] Dispatching op_call: Op(op=aten.native_layer_norm.default, "
        "args_schema=Spec(S(1) on "
        "(%lld, "
        "%lld, %lld)), [%lld], Spec(R on (%lld,)), Spec(R on (%lld,)), 1e-05 @ mesh: (%d,))\n"
        "_dispatch.py:156] output_sharding for aten.native_layer_norm.default: "
        "OutputSharding(output_spec=(%s, %s, "
        "%s), redistribute_schema=None, needs_redistribute=False)\n",
        B, T, C, C, C, C, n, whole, one, one);
    assert_string_equal(t->at[0].dispatch, want);
    assert_string_equal(t->at[1].dispatch,
                        "_redistribute.py:202] redistribute from S(1) to R on mesh dim 0\n");
    const record *clone = find(t, 0, "clone");
    (void)snprintf(
        want, sizeof want,
        "_dispatch.py:152] Dispatching op_call: Op(op=aten.clone.default, args_schema=Spec(S(1) on "
        "(%lld, %lld, "
        "%lld, "
        "%lld)) @ mesh: (%d,))\n_dispatch.py:156] output_sharding for aten.clone.default: "
        "OutputSharding(output_spec=DTensorSpec(mesh=DeviceMesh((tp=%d), device: 'xpu', stride: "
        "(1,)), placements=(Shard(dim=1),), tensor_meta=TensorMeta(shape=torch.Size([%lld, %lld, "
        "%lld, %lld]), stride=(%lld, %lld, %lld, 1), dtype=torch.float32)), "
        "redistribute_schema=None, needs_redistribute=False)\n",
        B, H, T, D, n, n, B, H, T, D, H * T * D, T * D, D);
    assert_string_equal(clone->dispatch, want);
    (void)snprintf(
        want, sizeof want,
        "_dispatch.py:152] Dispatching op_call: Op(op=aten._unsafe_view.default, "
        "args_schema=Spec(S(1) on (%lld, "
        "%lld, %lld, %lld)), [%lld, %lld, %lld] @ mesh: (%d,))\nrank0 "
        "propagate_shape_and_sharding input_src_placements (Shard(dim=1),) global_input_shape "
        "(%lld, %lld, %lld, %lld) rule (Flatten(input_dims=(InputDim(input_dim=0), "
        "InputDim(input_dim=1))), InputDim(input_dim=2), InputDim(input_dim=3)) mesh_sizes (%d,) "
        "strict_view True\n",
        B, H, T, D, B * H, T, D, n, B, H, T, D, n);
    assert_string_equal(clone[1].op, "_unsafe_view");
    assert_memory_equal(clone[1].dispatch, want, strlen(want));
    (void)snprintf(want, sizeof want, "f32[%lld·%lld@tp, %lld, %lld]", B, H, T, D);
    assert_string_equal(clone[1].result,
                        want); /* an error in DTensor 2.8; here a type like others */
}

static const int64_t sizes[][5] = {
    {2, 16, 16, 4, 2}, {3, 8, 32, 8, 2}, {5, 12, 20, 2, 2}, {2, 6, 48, 6, 2},
    {2, 16, 16, 4, 4}, {3, 8, 64, 8, 4}, {4, 20, 24, 4, 4},
};

static void lines_are_as_events_say(void **state)
{
    (void)state;
    static trace t;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const int64_t *s = sizes[i];
        run(&t, s[0], s[1], s[2], s[3], (int)s[4]);
        int lines = check(&t);
        check_thread(&t);
        print_message("batch %lld seq %lld dim %lld heads %lld tp=%lld: %d events, %d lines\n",
                      (long long)s[0], (long long)s[1], (long long)s[2], (long long)s[3],
                      (long long)s[4], t.n, lines);
        assert_true(lines > 90);
    }
}

/* meshwise's own log beside it: the norm moved nothing, nor did any view; the two movements were
 * asked for, by the lines that ask for them, and are as large as what a rank lacks. */
static void events_say_who_moved_what(void **state)
{
    (void)state;
    static trace t;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const int64_t *s = sizes[i];
        run(&t, s[0], s[1], s[2], s[3], (int)s[4]);
        int64_t whole = s[0] * s[1] * s[2] * 4;
        int moves = 0, asks[2];
        for (int k = 0; k < t.n; k++) {
            const record *r = &t.at[k];
            if (r->kind != MW_EVENT_MOVE) continue;
            assert_in_range(moves, 0, 1);
            assert_string_equal(r->op, "redistribute");
            assert_true(r->asked);
            assert_int_equal(r->recv_bytes, whole / s[4] * (s[4] - 1));
            assert_memory_equal(r->text, moves ? "reduce_scatter" : "all_gather", 10);
            asks[moves++] = r->line;
        }
        assert_int_equal(moves, 2);
        assert_string_equal(t.at[0].op, "native_layer_norm");
        assert_int_equal(t.at[1].kind, MW_EVENT_MOVE);
        assert_true(asks[0] > t.at[0].line && asks[1] < t.at[t.n - 1].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_as_events_say),
        cmocka_unit_test(events_say_who_moved_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
