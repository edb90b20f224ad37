/* Notations, text by text: every form in which they are written, and what is refused, with the
 * place where. */
#include "notation_text.h"

typedef struct form {
    const char *mesh, *shape, *text, *layout;
} form;

static void check_forms(const form *forms, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t shape[MW_LAYOUT_DIMS];
        char got[TEXT];
        mw_mesh *mesh = mesh_of(forms[i].mesh);
        int ndim = forms[i].shape ? shape_of(forms[i].shape, shape) : -1;
        mw_reading *reading = read_as(mesh, forms[i].text, ndim, shape);
        print_as(reading, MW_NOTATION_LAYOUT, got);
        if (strcmp(got, forms[i].layout) != 0)
            fail_msg("%s: %s, not %s", forms[i].text, got, forms[i].layout);
        mw_reading_free(reading);
        mw_mesh_unref(mesh);
    }
}

#define CHECK(forms) check_forms(forms, (int)(sizeof(forms) / sizeof((forms)[0])))

static void test_own_text_with_and_without_dtype_and_shape(void **state)
{
    (void)state;
    static const form forms[] = {
        {"x=2", NULL, "f32[16@x, 8]", "f32[16@x, 8]"},
        {"x=2", NULL, "[16@x, 8]", "f32[16@x, 8]"},
        {"x=2", "16,8", "[16@x, 8]", "f32[16@x, 8]"},
        {"x=2", NULL, "[]{sum:x}", "f32[]{sum:x}"},
    };
    CHECK(forms);
}

static void test_placements_of_every_release(void **state)
{
    (void)state;
    static const form forms[] = {
        {"x=2,y=2,z=2", "8,8", "S(0)RP", "f32[8@x, 8]{sum:z}"},
        {"x=2,y=2,z=2", "8,8", "S(0)RP(sum)", "f32[8@x, 8]{sum:z}"},
        {"x=2,y=2,z=2", "8,8", "S(0) R P(avg)", "f32[8@x, 8]{avg:z}"},
        {"x=2,y=2,z=2", "8,8", "(S(0), R, P(max))", "f32[8@x, 8]{max:z}"},
        {"x=2,y=2,z=2", "8,8", "[Shard(dim=0), Replicate(), Partial(sum)]", "f32[8@x, 8]{sum:z}"},
        {"x=2,y=2,z=2", "8,8", "(Shard(0), Replicate(), Partial('min'))", "f32[8@x, 8]{min:z}"},
        {"x=2,y=2,z=2", "8,8", "[Shard(0), Replicate(), Partial(reduce_op=product)]",
         "f32[8@x, 8]{prod:z}"},
        {"x=2", "8", "[_Partial(reduce_op=<RedOpType.AVG: 1>)]", "f32[8]{avg:x}"},
        {"x=2", "8", "placements=(Shard(dim=0),)", "f32[8@x]"},
        {"x=2", "8", "Partial()", "f32[8]{sum:x}"},
        {"x=2", "8", "P", "f32[8]{sum:x}"},
        {"x=2", "8", "R", "f32[8]"},
        {"x=2", "8", "Replicate", "f32[8]"},
        {"x=2,y=2", "8,8", "RS(1)", "f32[8, 8@y]"},
        {"x=2,y=2", "8", "RP", "f32[8]{sum:y}"},
        {"x=2,y=2", "8", "PR", "f32[8]{sum:x}"},
        {"x=2,y=2", "8", "PP", "f32[8]{sum:x,y}"},
        {"x=2,y=2", "8", "P(sum)P(avg)", "f32[8]{sum:x,avg:y}"},
        {"x=2,y=2", "8", "S(0)S(0)", "f32[8@x,y]"},
        {"x=2,y=2", "9", "S(0)S(0)", "f32[9@x,y]"},
        {"x=2,y=4", "16", "S(0)[1]S(0)[0]", "f32[16@y,x]"},
        {"x=2,y=4", "9", "S(0)[1]S(0)[0]", "f32[9@y,x]"},
        {"x=2,y=4", "9", "[S(0)[0], S(0)[1]]", "f32[9@x,y]"},
        {"a=2,b=2,c=2,d=2", "8,8", "PS(1)[1]S(1)[0]R", "f32[8, 8@c,b]{sum:a}"},
        {"x=2", "8", "_S(0, 2)",
         "f32[2\xc2\xb7"
         "4@x]"},
        {"x=2", "8", "_StridedShard(dim=0, sf=2)",
         "f32[2\xc2\xb7"
         "4@x]"},
        {"x=2", "8", "[_StridedShard(dim=0, split_factor=2)]",
         "f32[2\xc2\xb7"
         "4@x]"},
        {"x=2", "8", "[StridedShard(0, 2)]",
         "f32[2\xc2\xb7"
         "4@x]"},
        {"x=2", "10", "_S(0,3)", "f32[10@:3,x]"},
        {"x=2,y=4", "16,8", "_S(0, 4)S(0)", "f32[16@y,x, 8]"},
        {"x=2", "8", "MaskP", "f32[8]{sum:x}"},
        {"x=2,y=2", "8", "MaskPR", "f32[8]{sum:x}"},
        {"x=2", "8", "MaskP(sum, torch.Size([4, 2]), 0)", "f32[8]{sum:x}"},
        {"x=2", "8", "(_MaskPartial(reduce_op=sum, offset_shape=torch.Size([4]), offset_dim=0),)",
         "f32[8]{sum:x}"},
        {"x=1,y=2", "8", "S(0)R", "f32[8]"},
    };
    CHECK(forms);
}

static void test_partition_specs_of_both_systems(void **state)
{
    (void)state;
    static const form forms[] = {
        {"x=2,y=2,z=2", "8,8,8", "(None, 'x', ('y','z'))", "f32[8, 8@x, 8@y,z]"},
        {"x=2,y=3", "10", "(('x','y'),)", "f32[10@(x,y)]"},
        {"x=2,y=3", "10", "(('y','x'),)", "f32[10@(y,x)]"},
        {"x=2,y=2", "8,8", "(0, 1)", "f32[8@x, 8@y]"},
        {"x=2,y=2", "8,8", "(1, None)", "f32[8@y, 8]"},
        {"x=2,y=2", "8,8", "(None, (1,0))", "f32[8, 8@y,x]"},
        {"x=2,y=2", "8,8", "P('x', None)", "f32[8@x, 8]"},
        {"x=2,y=2", "8,8", "P('x')", "f32[8@x, 8]"},
        {"x=2,y=2", "8,8", "P('x',)", "f32[8@x, 8]"},
        {"x=2,y=2", "8,8", "P()", "f32[8, 8]"},
        {"x=2,y=2", "8,8", "P(None, \"y\")", "f32[8, 8@y]"},
        {"x=2,y=2", "8,8", "PartitionSpec('x', ('y',))", "f32[8@x, 8@y]"},
        {"x=2,y=2", "8,8", "PartitionSpec('x', unreduced={'y'})", "f32[8@x, 8]{sum:y}"},
        {"x=2,y=2", "8,8", "P(unreduced=frozenset({'x', 'y'}))", "f32[8, 8]{sum:x,y}"},
        {"x=2,y=2", "8,8", "P('x', P.UNCONSTRAINED)", "f32[8@x, 8?]"},
        {"x=2", "8", "P('x', unreduced=set())", "f32[8@x]"},
        {"x=2", "", "()", "f32[]"},
    };
    CHECK(forms);
}

static void test_hlo_in_all_its_forms(void **state)
{
    (void)state;
    static const form forms[] = {
        {"x=2,y=4", "16,8", "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}",
         "f32[16@x, 8]"},
        {"x=2,y=4", "16,8", "{devices=[2,1,4]<=[8] last_tile_dim_replicate}", "f32[16@x, 8]"},
        {"x=2,y=4", "16,8", "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={replicated}}",
         "f32[16, 8@y]"},
        {"x=2,y=4", "16,8", "{devices=[1,8]<=[2,4]T(1,0)}", "f32[16, 8@y,x]"},
        {"x=2,y=4", "16,8", "{devices=[4,2]<=[8]}", "f32[16@x,y:(1)2, 8@y:(2)2]"},
        {"x=2,y=4", "16,8", "{devices=[4,2]<=[2,4]T(1,0)}", "f32[16@y, 8@x]"},
        {"x=2,y=2", "8,8", "{devices=[2,2]0,2,1,3}", "f32[8@y, 8@x]"},
        {"x=2,y=2 ids=[3,2,1,0]", "8,8", "{devices=[2,2]3,2,1,0}", "f32[8@x, 8@y]"},
        {"x=2,y=2,z=2", "8,8", "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={unreduced}}",
         "f32[8@x, 8@z]{sum:y}"},
        {"x=2,y=2,z=2", "8", "{devices=[2,2,2]<=[8] last_tile_dims={replicated, unreduced}}",
         "f32[8@x]{sum:z}"},
        {"a=2,b=3,c=2", "9,8", "{devices=[3,4]<=[2,3,2]T(1,0,2)}", "f32[9@b, 8@a,c]"},
        {"a=2,b=3,c=2", "6,12", "{devices=[2,6]<=[2,3,2]T(2,0,1)}", "f32[6@c, 12@a,b]"},
        {"x=4,y=2", "2,2,2", "{devices=[2,1,4]<=[4,2]T(1,0)}", "f32[2@y, 2, 2@x]"},
        {"x=2,y=3", "10", "{devices=[6]0,1,2,3,4,5}", "f32[10@(x,y)]"},
        {"x=2,y=3", "12", "{devices=[6]0,3,1,4,2,5}", "f32[12@y,x]"},
        {"x=2", "6,2", "{{devices=[2,1]0,1}}", "f32[6@x, 2]"},
        {"x=2", "6,2", "{{devices=[2,1]0,1}, /*index=1*/{replicated}}", "f32[6@x, 2]"},
        {"x=2", "6,2", "sharding={devices=[2,1]0,1}", "f32[6@x, 2]"},
        {"x=2", "6,2", "mhlo.sharding = \"{devices=[2,1]0,1}\"", "f32[6@x, 2]"},
        {"x=2", "6,2", "{devices=[2,1]0,1 metadata={op_name=\"a}b\"}}", "f32[6@x, 2]"},
        {"x=2", "6,2", "{replicated shard_as 3}", "f32[6, 2]"},
        {"x=2,y=2", "6", "{replicated}", "f32[6]"},
        {"x=2,y=2", "6", "{unreduced}", "f32[6]{sum:x,y}"},
        {"x=1", "6", "{maximal device=0}", "f32[6]"},
        {"x=4", "4", "{devices=[2,2]1,0,3,2 last_tile_dim_replicate}", "f32[4@x:(1)2]"},
    };
    CHECK(forms);
}

static void test_shardy_long_and_short(void **state)
{
    (void)state;
    static const form forms[] = {
        {"x=2,y=2", "8,8", "[{\"x\"}, {}]", "f32[8@x, 8]"},
        {"x=2,y=2", "8,8", "<@mesh, [{\"x\"}, {\"y\", ?}]>", "f32[8@x, 8@y?]"},
        {"x=2,y=2", "8,8", "#sdy.sharding<@mesh, [{\"x\", \"y\"}, {?}]>", "f32[8@x,y, 8?]"},
        {"x=2,y=2,z=2,w=2", "8,8",
         "#sdy.sharding<@mesh, [{\"x\"}, {\"y\", ?}p1], replicated={\"z\"}, unreduced={\"w\"}>",
         "f32[8@x, 8@y?]{sum:w}"},
        {"x=4", "8,8", "[{\"x\":(1)2}, {\"x\":(2)2}]", "f32[8@x:(1)2, 8@x:(2)2]"},
        {"x=4", "9", "[{\"x\":(1)2, \"x\":(2)2}]", "f32[9@x]"},
        {"x=2,y=3", "10", "[{\"x\", \"y\"}]", "f32[10@(x,y)]"},
        {"x=2,y=4", "8", "<mesh<[\"x\"=2, \"y\"=4]>, [{\"y\"}]>", "f32[8@y]"},
        {"x=2", "8", "#sdy.sharding_per_value<[<@mesh, [{\"x\"}]>]>", "f32[8@x]"},
        {"x=4", "8", "[{}], unreduced={\"x\":(2)2}", "f32[8]{sum:x:(2)2}"},
        {"x=2", "", "[], unreduced={\"x\"}", "f32[]{sum:x}"},
    };
    CHECK(forms);
}

/* ---- beside the layout --------------------------------------------------------------------- */

static void test_priorities_and_notes_stand_beside_the_layout(void **state)
{
    (void)state;
    const int64_t shape[] = {8, 8};
    char text[TEXT];
    mw_mesh *mesh = mesh_of("x=2,y=2");
    mw_reading *reading = read_as(mesh, "<@mesh, [{\"x\"}p2, {}]>", 2, shape);
    assert_int_equal(mw_reading_priority(reading, 0), 2);
    assert_int_equal(mw_reading_priority(reading, 1), -1);
    assert_string_equal(print_as(reading, MW_NOTATION_SDY, text), "<@mesh, [{\"x\"}p2, {}]>");
    assert_int_equal(mw_reading_notes(reading), 1);
    mw_reading_free(reading);
    reading = read_as(mesh, "MaskPR", 2, shape);
    assert_int_equal(mw_reading_notes(reading), 1);
    assert_non_null(strstr(mw_reading_note(reading, 0), "mask"));
    assert_string_equal(mw_reading_note(reading, 1), "");
    mw_reading_free(reading);
    mw_mesh_unref(mesh);
}

static void test_what_no_layout_says_is_listed(void **state)
{
    (void)state;
    static const struct {
        const char *mesh, *shape, *text, *owners, *why;
    } rows[] = {
        {"x=2,y=3", "12", "{devices=[6]0,2,4,1,3,5}", "0-1;6-7;2-3;8-9;4-5;10-11", "order"},
        {"x=2,y=2", "4,4", "{devices=[2,2]3,2,1,0}", "2-3x2-3;2-3x0-1;0-1x2-3;0-1x0-1", "order"},
        {"x=2,y=3", "6,6", "{devices=[2,3]<=[2,3]T(1,0)}",
         "0-2x0-1;0-2x4-5;3-5x2-3;0-2x2-3;3-5x0-1;3-5x4-5", "order"},
        {"x=3", "4,2", "{maximal device=1}", "x;0-3x0-1;x", "alone"},
        {"x=2", "4", "{manual}", "0-3;0-3", "manual"},
        {"x=2,y=2", "4", "{devices=[2,2]<=[4] last_tile_dims={manual}}", "0-1;0-1;2-3;2-3",
         "manual"},
        {"x=2,y=2", "7", "_S(0, 3)S(0)", "0-1,3;4,6;2;5", "size 7"},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
        int64_t shape[MW_LAYOUT_DIMS];
        char got[TEXT], text[TEXT];
        mw_mesh *mesh = mesh_of(rows[i].mesh);
        int ndim = shape_of(rows[i].shape, shape);
        mw_reading *reading = read_as(mesh, rows[i].text, ndim, shape);
        if (mw_reading_layout(reading)) fail_msg("%s has a layout", rows[i].text);
        assert_non_null(strstr(mw_reading_why(reading), rows[i].why));
        assert_string_equal(owners_of(mesh, reading, got), rows[i].owners);
        print_as(reading, mw_reading_notation(reading), text);
        assert_int_not_equal(text[0], '!');
        mw_reading *again = read_as(mesh, text, ndim, shape);
        if (!strstr(rows[i].why, "manual"))
            assert_string_equal(owners_of(mesh, again, got), rows[i].owners);
        assert_null(mw_reading_layout(again));
        assert_int_equal(print_as(reading, MW_NOTATION_SPEC, text)[0], '!');
        mw_reading_free(again);
        mw_reading_free(reading);
        mw_mesh_unref(mesh);
    }
}

/* ---- refused ------------------------------------------------------------------------------- */

typedef struct wrong {
    const char *mesh, *shape, *text;
    mw_status code;
    const char *says; /* a part of the sentence */
    int column;       /* 0: no caret */
} wrong;

static void check_wrong(const wrong *w)
{
    int64_t shape[MW_LAYOUT_DIMS];
    mw_mesh *mesh = mesh_of(w->mesh);
    int ndim = w->shape ? shape_of(w->shape, shape) : -1;
    mw_reading *reading = NULL;
    mw_status status = mw_notation_read(mesh, w->text, ndim, shape, MW_DTYPE_f32, &reading);
    if (status == MW_OK) fail_msg("%s was read", w->text);
    const char *says = mw_last_error()->says;
    if (status != w->code) fail_msg("%s: %s: %s", w->text, mw_status_name(status), says);
    if (!strstr(says, w->says)) fail_msg("%s: %s", w->text, says);
    if (w->column) {
        char place[32];
        (void)snprintf(place, sizeof place, "column %d", w->column);
        if (!strstr(says, place) || !strstr(says, "^"))
            fail_msg("%s: %s (not %s)", w->text, says, place);
    }
    mw_mesh_unref(mesh);
}

static void test_bad_texts_are_refused_where_they_are_bad(void **state)
{
    (void)state;
    static const wrong rows[] = {
        {"x=2", "4", "banana", MW_ERR_PARSE, "no known notation", 1},
        {"x=2", "4", "", MW_ERR_PARSE, "no known notation", 1},
        {"x=2", "4", "'x'", MW_ERR_PARSE, "no known notation", 1},
        {"x=2", NULL, "S(0)", MW_ERR_SHAPE, "shape", 1},
        {"x=2", "4,4", "[4@x]", MW_ERR_SHAPE, "1 dims", 0},
        {"x=2", "8", "[4@x]", MW_ERR_SHAPE, "size 4", 0},
        {"x=2", "4", "i64[4@x]", MW_ERR_ARG, "i64", 0},
        {"x=2", "4", "f32[4@x] x", MW_ERR_PARSE, "end", 10},
        /* DTensor */
        {"x=2", "4,4", "S(3)", MW_ERR_SHAPE, "dim 3", 3},
        {"x=2", "4,4", "S(-3)", MW_ERR_PARSE, "from the front", 3},
        {"x=2,y=2", "4", "S(0)", MW_ERR_ARG, "1 placement for", 5},
        {"x=2", "4", "S(0)R", MW_ERR_ARG, "more placements", 5},
        {"x=2", "4", "S(0", MW_ERR_PARSE, "')'", 4},
        {"x=2", "4", "_S(0)", MW_ERR_PARSE, "split factor", 5},
        {"x=2", "4", "_S(0, 0)", MW_ERR_PARSE, "split factor", 7},
        {"x=2", "4", "P(mean_of)", MW_ERR_PARSE, "no kind", 3},
        {"x=2", "4", "_NormPartial(2)", MW_ERR_UNSUPPORTED, "norm", 1},
        {"x=2,y=2", "4", "P(sum)P(max)", MW_ERR_PARSE, "commute", 7},
        {"x=2,y=2", "4", "S(0)[0]S(0)[0]", MW_ERR_PARSE, "order", 8},
        {"x=2,y=2", "4", "S(0)[0]S(0)", MW_ERR_PARSE, "order", 8},
        {"x=2", "4", "MaskP(sum, (", MW_ERR_PARSE, "end", 13},
        /* specs */
        {"x=2", "4", "P('q')", MW_ERR_PARSE, "no axis 'q'", 3},
        {"x=2", "4,4", "P('x', 'x')", MW_ERR_PARSE, "used twice", 8},
        {"x=2", "4,4", "('x',)", MW_ERR_SHAPE, "1 entries", 1},
        {"x=2", "4", "P('x', None)", MW_ERR_SHAPE, "more entries", 8},
        {"x=2", "4", "(2,)", MW_ERR_PARSE, "no number 2", 2},
        {"x=2,y=2", "4", "((('x',),),)", MW_ERR_PARSE, "tuple", 3},
        {"x=2", "4", "P('x", MW_ERR_PARSE, "no end", 3},
        {"x=2", "4", "(-1,)", MW_ERR_PARSE, "expected an axis", 2},
        {"x=2", "4", "P('x', unreduced={'x'})", MW_ERR_PARSE, "used twice", 19},
        /* HLO */
        {"x=4", "6,2", "{devices=[3,1]<=[4]}", MW_ERR_ARG, "3 tiles", 17},
        {"x=2", "4", "{devices=[2]0,0}", MW_ERR_ARG, "twice", 15},
        {"x=2", "4", "{devices=[2]0,2}", MW_ERR_ARG, "not below", 15},
        {"x=2", "4", "{devices=[2]0}", MW_ERR_ARG, "1 devices for 2", 13},
        {"x=2", "4", "{devices=[4]<=[4]}", MW_ERR_ARG, "mesh has 2", 15},
        {"x=4", "4", "{devices=[2]0,1}", MW_ERR_ARG, "mesh has 4", 13},
        {"x=2", "6,12", "{devices=[2,6]<=[2,3,2]T(2,0,1)}", MW_ERR_ARG, "mesh has 2", 17},
        {"x=2,y=2", "4,4", "{devices=[2,2]<=[2,2]}", MW_ERR_PARSE, "'T('", 22},
        {"x=2,y=2", "4,4", "{devices=[2,2]<=[2,2]T(0,0)}", MW_ERR_PARSE, "permutation", 22},
        {"x=2,y=2", "4", "{devices=[2,2]<=[4]}", MW_ERR_SHAPE, "2 dims", 1},
        {"x=2", "4", "{devices=[0]<=[2]}", MW_ERR_PARSE, "at least 1", 10},
        {"x=2", "4", "{maximal}", MW_ERR_PARSE, "device=", 1},
        {"x=2", "4", "{maximal device=2}", MW_ERR_ARG, "not below", 1},
        {"x=2", "4", "{unknown}", MW_ERR_UNSUPPORTED, "unknown", 1},
        {"x=2", "4", "{}", MW_ERR_PARSE, "empty tuple", 1},
        {"x=2", "4", "{replicated", MW_ERR_PARSE, "part of an HLO", 12},
        {"x=2", "4", "{replicated devices=[2]0,1}", MW_ERR_PARSE, "beside", 1},
        {"x=2", "4", "{mesh[x=2], [{x}]}", MW_ERR_UNSUPPORTED, "named form", 2},
        {"x=2", "4", "{devices=[99999999999999999999]0}", MW_ERR_SHAPE, "64 bits", 11},
        /* Shardy */
        {"x=2", "4", "[{\"q\"}]", MW_ERR_PARSE, "no axis 'q'", 3},
        {"x=2", "4,4", "[{\"x\"}, {\"x\"}]", MW_ERR_PARSE, "used twice", 10},
        {"x=4", "4,4", "[{\"x\":(1)2}, {\"x\":(1)2}]", MW_ERR_PARSE, "overlap", 15},
        {"x=4", "4", "[{\"x\":(2)3}]", MW_ERR_PARSE, "does not fit", 6},
        {"x=2", "4,4", "[{\"x\"}]", MW_ERR_SHAPE, "1 dims", 1},
        {"x=2", "4", "<@mesh, [{\"x\"}]", MW_ERR_PARSE, "'>'", 16},
        {"x=2", "4", "<mesh<[\"x\"=4]>, [{\"x\"}]>", MW_ERR_ARG, "the mesh given is x=2", 2},
        {"x=2", "4", "[{?, \"x\"}]", MW_ERR_PARSE, "'}'", 4},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++)
        check_wrong(&rows[i]);
}

/* ---- an own mesh, memory ------------------------------------------------------------------- */

static void test_a_mesh_in_the_text(void **state)
{
    (void)state;
    char text[64];
    mw_mesh *mesh = NULL;
    assert_int_equal(
        mw_notation_mesh("<mesh<[\"x\"=2, \"y\"=2], device_ids=[0,2,1,3]>, [{\"x\"}]>", &mesh),
        MW_OK);
    mw_mesh_print(mesh, text, (int)sizeof text);
    assert_string_equal(text, "x=2,y=2 ids=[0,2,1,3]");
    mw_mesh_unref(mesh);
    assert_int_equal(mw_notation_mesh("<@mesh, [{\"x\"}]>", &mesh), MW_OK);
    assert_null(mesh);
    assert_int_equal(mw_notation_mesh("S(0)", &mesh), MW_OK);
    assert_null(mesh);
    assert_int_equal(mw_notation_mesh("<mesh<[\"x\"=0]>, [{}]>", &mesh), MW_ERR_ARG);
}

/* Reads and prints in all notations with the allocator's n-th request failing. */
static bool works_with_fault(const mw_mesh *mesh, const char *text, mw_fault_allocator *fault)
{
    const int64_t shape[] = {12, 8};
    mw_reading *reading = NULL;
    bool works = mw_notation_read(mesh, text, 2, shape, MW_DTYPE_f32, &reading) == MW_OK;
    for (int k = MW_NOTATION_NONE + 1; k < MW_NOTATION_END && works; k++) {
        mw_notation_text out = {0};
        works = mw_reading_print(reading, (mw_notation)k, &out) == MW_OK;
        mw_notation_text_done(&out);
    }
    mw_reading_free(reading);
    assert_int_equal(fault->live, 0);
    return works;
}

static void test_every_failed_allocation_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"S(0)S(1)",
                                        "_S(0, 5)S(0)",
                                        "{devices=[2,2]0,2,1,3}",
                                        "{devices=[2,2]3,1,2,0}",
                                        "<mesh<[\"x\"=2,\"y\"=2]>, [{\"x\"}, {}]>",
                                        "P('x', 'y')"};
    mw_mesh *mesh = mesh_of("x=2,y=2");
    for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++) {
        bool works = false;
        int n = 0;
        for (; !works && n < 500; n++) {
            mw_fault_allocator fault;
            mw_fault_allocator_init(&fault, n + 1, 1);
            mw_allocator_use(&fault.allocator);
            works = works_with_fault(mesh, texts[i], &fault);
            mw_allocator_use(NULL);
        }
        assert_true(works && n > 3);
    }
    mw_mesh_unref(mesh);
}

/* Where memory lacks, no layout is said to have no name. */
static void test_lack_of_memory_is_no_reason(void **state)
{
    (void)state;
    mw_mesh *mesh = mesh_of("x=2,y=2");
    mw_layout layout;
    assert_int_equal(mw_layout_parse(mesh, "f32[7@:3,y,x]", &layout), MW_OK);
    bool works = false;
    int n = 0;
    for (; !works && n < 500; n++) {
        mw_notation_text out = {0};
        mw_fault_allocator fault;
        mw_fault_allocator_init(&fault, n + 1, 0); /* that one alone */
        mw_allocator_use(&fault.allocator);
        mw_status status = mw_notation_print(mesh, &layout, MW_NOTATION_DTENSOR, &out);
        works = status == MW_OK && fault.count <= n;
        assert_true(works || status == MW_ERR_NOMEM);
        mw_notation_text_done(&out);
        mw_allocator_use(NULL);
    }
    assert_true(works && n > 2);
    mw_mesh_unref(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lack_of_memory_is_no_reason),
        cmocka_unit_test(test_own_text_with_and_without_dtype_and_shape),
        cmocka_unit_test(test_placements_of_every_release),
        cmocka_unit_test(test_partition_specs_of_both_systems),
        cmocka_unit_test(test_hlo_in_all_its_forms),
        cmocka_unit_test(test_shardy_long_and_short),
        cmocka_unit_test(test_priorities_and_notes_stand_beside_the_layout),
        cmocka_unit_test(test_what_no_layout_says_is_listed),
        cmocka_unit_test(test_bad_texts_are_refused_where_they_are_bad),
        cmocka_unit_test(test_a_mesh_in_the_text),
        cmocka_unit_test(test_every_failed_allocation_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
