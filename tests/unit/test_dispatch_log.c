/* The dispatch log of calls that the example's block does not have: operands that must move first,
 * layouts that DTensor has no words for, meshes of several axes, arguments of every kind. */
#include "run_check.h"

typedef struct seen {
    char lines[16384], texts[4096];
} seen;

static void append(char *to, size_t size, const char *text)
{
    size_t n = strlen(to);
    (void)snprintf(to + n, size - n, "%s", text);
}

static void note(void *user, const mw_event *e)
{
    seen *s = user;
    if (e->rank != 0) return;
    append(s->lines, sizeof s->lines, e->dispatch);
    append(s->texts, sizeof s->texts, e->kind == MW_EVENT_MOVE ? "move for " : "");
    append(s->texts, sizeof s->texts, e->op);
    append(s->texts, sizeof s->texts, e->asked ? " (asked)\n" : "\n");
}

static void log_of(const char *mesh, const char *device, mw_status (*program)(void *), seen *ret)
{
    *ret = (seen){.lines = ""};
    run_with((mw_launch_options){.mesh = mesh,
                                 .timeout = 30,
                                 .dispatch = 1,
                                 .device = device,
                                 .sink = note,
                                 .sink_user = ret},
             program, NULL);
}

static void expect(const seen *s, const char *line)
{
    if (!strstr(s->lines, line)) fail_msg("no line\n%s\nin\n%s", line, s->lines);
}

static mw_tensor *numbers(int64_t rows, int64_t cols, const char *layout)
{
    mw_tensor *t = mw_view(mw_arange((double)(rows * cols), MW_DTYPE_f32), MW_INTS(rows, cols));
    return mw_mark_sharding(t, NULL, layout);
}

/* ---- a movement that a call needs ---------------------------------------------------------------
 */

static mw_status mixed_add(void *user)
{
    (void)user;
    mw_tensor *a = numbers(8, 4, "[8@x, 4]"), *b = numbers(8, 4, "[8, 4@x]");
    EXPECT(mw_add(a, b, 1));
    return MW_OK;
}

static void needs_redistribute(void **state)
{
    (void)state;
    static seen s;
    log_of("x=2", "xpu", mixed_add, &s);
    expect(&s, "Dispatching op_call: Op(op=aten.add.Tensor, args_schema=Spec(S(0) on (8, 4)), "
               "Spec(S(1) on (8, 4)) @ mesh: (2,))\n");
    /* Either operand may be the one that moves; what the call then sees is what its result has. */
    bool rows = strstr(s.lines, "redistribute from S(1) to S(0) on mesh dim 0\n") != NULL;
    char want[600];
    (void)snprintf(want, sizeof want,
                   "output_sharding for aten.add.Tensor: "
                   "OutputSharding(output_spec=DTensorSpec(mesh=DeviceMesh((x=2), device: 'xpu', "
                   "stride: (1,)), placements=(Shard(dim=%d),), "
                   "tensor_meta=TensorMeta(shape=torch.Size([8, 4]), stride=(4, 1), "
                   "dtype=torch.float32)), redistribute_schema=OpSchema(op=aten.add.Tensor, "
                   "args_schema=(Spec(S(%d) on (8, 4)), Spec(S(%d) on (8, 4))), kwargs_schema={}), "
                   "needs_redistribute=True)\n",
                   rows ? 0 : 1, rows ? 0 : 1, rows ? 0 : 1);
    expect(&s, want);
    if (!rows) expect(&s, "redistribute from S(0) to S(1) on mesh dim 0\n");
    assert_non_null(strstr(s.texts, "move for add\n")); /* the event names the call; unasked */
}

/* ---- layouts without a name ---------------------------------------------------------------------
 */

static mw_status unsayable(void *user)
{
    (void)user;
    mw_tensor *w = numbers(9, 4, "[3@x·3, 4]");
    EXPECT(mw_neg(w));
    EXPECT(mw_view(w, MW_INTS(3, 3, 4)));
    EXPECT(mw_redistribute(w, NULL, "replicated"));
    return MW_OK;
}

static void own_types(void **state)
{
    (void)state;
    static seen s;
    log_of("x=2", NULL, unsayable, &s);
    expect(&s, "Op(op=aten.neg.default, args_schema=Spec(f32[3@x·3, 4] on (9, 4)) @ mesh: (2,))\n");
    expect(&s, "device: 'cpu', stride: (1,)), placements=f32[3@x·3, 4], "
               "tensor_meta=TensorMeta(shape=torch.Size([9, 4]), stride=(4, 1), "
               "dtype=torch.float32))");
    expect(&s, "rank0 propagate_shape_and_sharding input_src_placements f32[3@x·3, 4] "
               "global_input_shape (9, 4) rule (Split(input_dim=InputDim(input_dim=0), "
               "group_shape=(3, 3), split_id=0), Split(input_dim=InputDim(input_dim=0), "
               "group_shape=(3, 3), split_id=1), InputDim(input_dim=1)) mesh_sizes (2,) "
               "strict_view True\n");
    expect(&s, "redistribute from f32[3@x·3, 4] to f32[9, 4]\n");
}

/* ---- several mesh axes --------------------------------------------------------------------------
 */

static mw_status grid(void *user)
{
    (void)user;
    mw_tensor *x = numbers(4, 6, "[4@x, 6@y]"), *w = numbers(6, 2, "[6@y, 2]");
    mw_tensor *y = mw_mm(x, w);
    EXPECT(y);
    EXPECT(mw_redistribute(y, NULL, "[4, 2]"));
    return MW_OK;
}

static void tuples_of_placements(void **state)
{
    (void)state;
    static seen s;
    log_of("x=2,y=3", "cuda", grid, &s);
    expect(&s, "Op(op=aten.mm.default, args_schema=Spec((Shard(dim=0), Shard(dim=1)) on (4, 6)), "
               "Spec((Replicate(), Shard(dim=0)) on (6, 2)) @ mesh: (2, 3))\n");
    expect(&s, "DTensorSpec(mesh=DeviceMesh((x=2, y=3), device: 'cuda', stride: (3, 1)), "
               "placements=(Shard(dim=0), Partial(sum)), "
               "tensor_meta=TensorMeta(shape=torch.Size([4, 2]), stride=(2, 1), "
               "dtype=torch.float32))");
    expect(&s, "from S(0) to R on mesh dim 0\n");
    expect(&s, "from P to R on mesh dim 1\n");
}

/* ---- arguments ----------------------------------------------------------------------------------
 */

static mw_status arguments(void *user)
{
    (void)user;
    mw_tensor *x = numbers(4, 6, "[4@x, 6]"), *y = numbers(4, 6, "[4@x, 6]");
    mw_tensor *list[] = {x, y};
    EXPECT(mw_cat(list, 2, 1));
    EXPECT(mw_sum_dim_intlist(x, MW_INTS(1), true, MW_DTYPE_NONE));
    EXPECT(mw_add(x, y, 1));
    EXPECT(mw_add_scalar(x, 0.5, 1));
    EXPECT(mw_mul_scalar(x, 1e-12));
    EXPECT(mw_transpose_int(x, -1, 0));
    return MW_OK;
}

static void arguments_of_every_kind(void **state)
{
    (void)state;
    static seen s;
    log_of("x=2", NULL, arguments, &s);
    expect(&s, "Op(op=aten.cat.default, args_schema=[Spec(S(0) on (4, 6)), Spec(S(0) on (4, 6))], "
               "1 @ mesh: (2,))\n");
    expect(&s, "Op(op=aten.sum.dim_IntList, args_schema=Spec(S(0) on (4, 6)), [1], True @ mesh: "
               "(2,))\n");
    expect(&s, "Op(op=aten.add.Tensor, args_schema=Spec(S(0) on (4, 6)), Spec(S(0) on (4, 6)) @ "
               "mesh: (2,))\n"); /* defaults are not passed on */
    expect(&s, "args_schema=Spec(S(0) on (4, 6)), 0.5 @ mesh: (2,))\n");
    expect(&s, "args_schema=Spec(S(0) on (4, 6)), 1e-12 @ mesh: (2,))\n");
    expect(&s, "Op(op=aten.transpose.int, args_schema=Spec(S(0) on (4, 6)), -1, 0 @ mesh: (2,))\n");
}

/* ---- off by default -----------------------------------------------------------------------------
 */

static void silent_unless_asked_for(void **state)
{
    (void)state;
    static seen s;
    s = (seen){.lines = ""};
    run_with((mw_launch_options){.mesh = "x=2", .timeout = 30, .sink = note, .sink_user = &s},
             mixed_add, NULL);
    assert_string_equal(s.lines, "");
    assert_non_null(strstr(s.texts, "move for add\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_redistribute),      cmocka_unit_test(own_types),
        cmocka_unit_test(tuples_of_placements),    cmocka_unit_test(arguments_of_every_kind),
        cmocka_unit_test(silent_unless_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
