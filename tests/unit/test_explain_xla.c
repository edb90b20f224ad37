/* What the explainer says of XLA's texts: rematerialization warnings, HLO, Shardy and StableHLO.
 * Numbers are worked out by hand beside each text; wording is not looked at. */
#include "explain_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the above first */
#include <cmocka.h>
#include <meshwise/alloc.h>
#include <meshwise/explain.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mw_explain *explain(const char *text)
{
    mw_explain *e = NULL;
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e), MW_OK);
    assert_int_equal(mw_explain_feed(e, text, (int64_t)strlen(text)), MW_OK);
    assert_int_equal(mw_explain_finish(e), MW_OK);
    return e;
}

/* The entry of an event in a line (0: any). */
static const mw_entry *entry(const mw_explain *e, const char *event, int64_t line)
{
    for (int64_t i = 0; i < mw_explain_entries(e); i++) {
        const mw_entry *x = mw_explain_entry(e, i);
        if (strcmp(x->event, event) == 0 && (!line || x->first == line)) return x;
    }
    fail_msg("no entry %s of line %d", event, (int)line);
    return NULL;
}

static void has_fact(const mw_entry *e, const char *name, mw_how how, const char *part)
{
    for (int i = 0; i < e->nfact; i++)
        if (strcmp(e->fact[i].name, name) == 0 && strstr(e->fact[i].value, part)) {
            assert_int_equal(e->fact[i].how, how);
            return;
        }
    fail_msg("no fact %s with %s in: %s", name, part, e->says);
}

static bool missing(const mw_explain *e, const char *part)
{
    for (int64_t i = 0; i < mw_explain_missing(e); i++)
        if (strstr(mw_explain_missing_at(e, i), part)) return true;
    return false;
}

static const mw_problem *problem(const mw_entry *e, const char *kind)
{
    for (int i = 0; i < e->nproblem; i++)
        if (strcmp(e->problem[i].kind, kind) == 0) return &e->problem[i];
    fail_msg("no problem %s in: %s", kind, e->says);
    return NULL;
}

/* ---- warnings ----------------------------------------------------------------------------------
 */

/* Rows in 4 to columns in 4, no shape: gather receives 3/4; one all-to-all 3/4 of a quarter. */
static void warning_old(void **state)
{
    (void)state;
    static const char text[] =
        "(W pid=7, ip=10.1.0.2) 2022-01-02 03:04:05.000006: E a/spmd_partitioner.cc:1] [spmd] "
        "Involuntary full rematerialization. The compiled was not able to go from sharding "
        "{devices=[4,1]0,1,2,3} to {devices=[1,4]0,1,2,3} without doing a full rematerialization "
        "of the tensor. You probably want to enrich the sharding annotations.\n"
        " 12%|#   | 6/50 [00:01<00:09](W pid=7, ip=10.1.0.2) 2022-01-02 03:04:06.000006: E "
        "a/spmd_partitioner.cc:1] [spmd] Involuntary full rematerialization. The compiled was not "
        "able to go from sharding {devices=[4,1]0,1,2,3} to {devices=[1,4]0,1,2,3} without doing "
        "a full rematerialization of the tensor. You probably want to enrich the sharding "
        "annotations.\n";
    mw_explain *e = explain(text);
    const mw_entry *x = entry(e, "rematerialization", 1);
    assert_int_equal(mw_explain_entries(e), 1);
    assert_int_equal(x->count, 2);
    assert_int_equal(x->bytes, -1);
    has_fact(x, "received per device now", MW_HOW_DERIVED, "3/4 of the tensor");
    has_fact(x, "received per device with collectives", MW_HOW_DERIVED, "3/16 of the tensor");
    has_fact(x, "to: meaning", MW_HOW_DERIVED, "dim 1 cut in 4");
    assert_int_equal(problem(x, "needless-movement")->bytes_now, -1);
    assert_true(missing(e, "which tensor"));
    mw_explain_free(e);
}

/* The new wording prints the piece: f32[8,6] of [16,12] on 2x2; transposing the cuts costs a whole
 * piece (192 B) to those off the diagonal; the gather 768 - 192. */
static void warning_new(void **state)
{
    (void)state;
    static const char text[] =
        "W0101 00:00:00.000000 77 spmd_partitioner.cc:656] [SPMD] Involuntary full "
        "rematerialization. The compiler cannot go from sharding {devices=[2,2]<=[4]} to "
        "{devices=[2,2]<=[2,2]T(1,0)} efficiently for HLO operation %p.3 = f32[8,6]{1,0} "
        "add(%a, %b), sharding={devices=[2,2]<=[4]}, metadata={op_name=\"jit(g)/add\" "
        "source_file=\"g.py\" source_line=9}. As the last resort, SPMD will replicate.\n";
    mw_explain *e = explain(text);
    const mw_entry *x = entry(e, "rematerialization", 1);
    assert_int_equal(x->bytes, 576);
    has_fact(x, "received per device now", MW_HOW_ASSUMED, "576 B");
    has_fact(x, "held per device now", MW_HOW_ASSUMED, "768 B");
    has_fact(x, "received per device with collectives", MW_HOW_ASSUMED, "192 B");
    has_fact(x, "source_line", MW_HOW_STATED, "9");
    has_fact(x, "printed shape", MW_HOW_STATED, "f32[8,6]");
    has_fact(x, "to: pieces and their devices", MW_HOW_DERIVED, "[0:8, 6:12] on {2}");
    const mw_problem *p = problem(x, "needless-movement");
    assert_int_equal(p->bytes_now, 576);
    assert_int_equal(p->bytes_after, 192);
    mw_explain_free(e);
}

/* A sharding of two dims on a tensor of one is told, not bent silently. */
static void warning_rank(void **state)
{
    (void)state;
    static const char text[] =
        "[spmd] Involuntary full rematerialization. The compiler was not able to go from sharding "
        "{devices=[1,2,3]<=[6] last_tile_dim_replicate} to {devices=[3,2]<=[6] "
        "last_tile_dim_replicate} without doing a full rematerialization of the tensor for HLO "
        "operation: %s = s32[24]{0} slice(%x).\n";
    mw_explain *e = explain(text);
    const mw_entry *x = entry(e, "rematerialization", 1);
    assert_non_null(problem(x, "sharding-rank"));
    has_fact(x, "received per device now", MW_HOW_ASSUMED, "48 B"); /* half of 96 */
    mw_explain_free(e);
}

/* A target that every device must hold whole is no false alarm: nothing cheaper is claimed. */
static void warning_wanted(void **state)
{
    (void)state;
    mw_explain *e = explain("[spmd] Involuntary full rematerialization. The compiler was not able "
                            "to go from sharding {devices=[4,2]<=[8]} to {replicated} without "
                            "doing a full rematerialization of the tensor.\n");
    const mw_entry *x = entry(e, "rematerialization", 1);
    assert_int_equal(x->nproblem, 0);
    has_fact(x, "received per device now", MW_HOW_DERIVED, "7/8 of the tensor");
    mw_explain_free(e);
}

/* ---- HLO ---------------------------------------------------------------------------------------
 */

static const char loops[] =
    "HloModule jit_h, is_scheduled=true, num_partitions=8\n"
    "%inner (p: f32[4]) -> f32[4] {\n"
    "  %ag = (bf16[4,10]{1,0}, bf16[4,40]{1,0}) all-gather-start(%p), channel_id=3, "
    "replica_groups=[2,4]<=[8], dimensions={1}, use_global_device_ids=true\n"
    "  %agd = bf16[4,40]{1,0} all-gather-done(%ag)\n"
    "}\n"
    "%wrapped (p: f32[4]) -> f32[4] {\n"
    "  ROOT %rs = f32[2,3]{1,0} reduce-scatter(%q), replica_groups={{0,2},{1,3},{4,6},{5,7}}, "
    "dimensions={0}, to_apply=%add\n"
    "}\n"
    "%outer (p: f32[4]) -> f32[4] {\n"
    "  %w.1 = (s32[], f32[4]) while(%t), condition=%c, body=%inner, "
    "backend_config={\"known_trip_count\":{\"n\":\"5\"}}\n"
    "  %s = ((f32[4,3]), f32[2,3]) async-start(%q), calls=%wrapped\n"
    "  %d = f32[2,3] async-done(%s)\n"
    "}\n"
    "ENTRY %main.9_spmd (p: f32[4]) -> f32[4] {\n"
    "  %p = f32[4]{0} parameter(0), sharding={devices=[2,4]<=[2,2,2]T(1,0,2) "
    "last_tile_dim_replicate}\n"
    "  %w.2 = (s32[], f32[4]) while(%t), condition=%c, body=%outer, "
    "backend_config={\"known_trip_count\":{\"n\":\"3\"}}\n"
    "  %ar = f32[6]{0} all-reduce(%p), replica_groups=mesh['a'=2,'b'=4] {'b':(2)2,'a'}, "
    "to_apply=%add, metadata={op_name=\"jit(h)/transpose(jvp())/dot\"}\n"
    "  %cp = u8[100]{0} collective-permute(%x), source_target_pairs={{0,1},{1,0},{2,2}}\n"
    "  %cq = u8[100]{0} collective-permute(%x), source_target_pairs={{0,0},{1,1}}\n"
    "  %aa = (f32[5], f32[5]) all-to-all(%x, %y), replica_groups={{0,4},{1,5},{2,6},{3,7}}\n"
    "}\n";

static void hlo_collectives(void **state)
{
    (void)state;
    mw_explain *e = explain(loops);
    const mw_entry *ag = entry(e, "collective", 3);
    assert_string_equal(ag->collective, "all_gather");
    assert_int_equal(ag->bytes, 15 * 240); /* 3/4 of 4*40*2, 5 times 3 runs */
    has_fact(ag, "received per device", MW_HOW_DERIVED, "240 B");
    has_fact(ag, "groups", MW_HOW_DERIVED, "{0,1,2,3},{4,5,6,7}");
    has_fact(ag, "runs", MW_HOW_DERIVED, "15");
    const mw_entry *rs = entry(e, "collective", 7);
    assert_int_equal(rs->bytes, 3 * 24); /* one result of 2*3*4, in the outer loop */
    has_fact(rs, "mesh axis", MW_HOW_DERIVED, "size 2, stride 2");
    const mw_entry *ar = entry(e, "collective", 17);
    assert_int_equal(ar->bytes, 2 * 3 * 24 / 4);
    assert_string_equal(ar->direction, "backward");
    has_fact(ar, "groups", MW_HOW_DERIVED, "{0,4,1,5},{2,6,3,7}");
    assert_int_equal(entry(e, "collective", 18)->bytes, 100);
    assert_int_equal(entry(e, "collective", 19)->bytes, 0);
    assert_int_equal(entry(e, "collective", 20)->bytes, 20); /* half of 40 */
    int64_t n = 0;
    for (int64_t i = 0; i < mw_explain_entries(e); i++)
        n += strcmp(mw_explain_entry(e, i)->event, "collective") == 0;
    assert_int_equal(n, 6);
    mw_explain_free(e);
}

/* After partitioning the printed shape is the piece: [4] in 2 pieces is [8]. */
static void hlo_local(void **state)
{
    (void)state;
    mw_explain *e = explain(loops);
    const mw_entry *p = entry(e, "sharding", 15);
    has_fact(p, "global shape", MW_HOW_DERIVED, "[8]");
    has_fact(p, "pieces and their devices", MW_HOW_DERIVED,
             "[0:4] on {0,1,4,5}; [4:8] on {2,3,6,7}");
    mw_explain_free(e);
}

static void hlo_before(void **state)
{
    (void)state;
    static const char text[] =
        "HloModule f.3\n"
        "ENTRY %f.3 (a: f32[10,4], b: f32[10,4]) -> (f32[10,4], f32[10,4]) {\n"
        "  %a = f32[10,4]{1,0} parameter(0), sharding={devices=[3,1,2]0,1,2,3,4,5 "
        "last_tile_dim_replicate}\n"
        "  %n = f32[10,4]{1,0} negate(f32[10,4]{1,0} %a)\n"
        "  %c = f32[10,4]{1,0} custom-call(%n), custom_call_target=\"Sharding\", "
        "sharding={devices=[6,1]<=[6]}\n"
        "  ROOT %t = (f32[10,4]{1,0}, f32[10,4]{1,0}) tuple(f32[10,4]{1,0} %n, f32[10,4]{1,0} %c)\n"
        "  %u = (f32[10,4]{1,0}, s32[]) tuple(%a, %k), sharding={{devices=[1,6]<=[6]}, "
        "/*index=1*/{replicated}}\n"
        "}\n";
    mw_explain *e = explain(text);
    const mw_entry *a = entry(e, "sharding", 3);
    has_fact(a, "meaning", MW_HOW_DERIVED, "each piece on 2 devices");
    has_fact(a, "local shape", MW_HOW_DERIVED, "[4,4] at most"); /* 4, 4, 2 */
    has_fact(a, "pieces and their devices", MW_HOW_DERIVED, "[8:10, 0:4] on {4,5}");
    has_fact(entry(e, "sharding", 6), "consistent sharding", MW_HOW_ASSUMED,
             "{{devices=[3,1,2]0,1,2,3,4,5 last_tile_dim_replicate}, {devices=[6,1]<=[6]}}");
    has_fact(entry(e, "sharding", 7), "element 0: meaning", MW_HOW_DERIVED, "dim 1 cut in 6");
    assert_true(missing(e, "before partitioning"));
    mw_explain_free(e);
}

/* Gathered rows times gathered columns, of different groups: needless; contracted: not. */
static void hlo_needless(void **state)
{
    (void)state;
    static const char head[] =
        "  l = f32[8,8]{1,0} all-gather(p), replica_groups={{0,1},{2,3}}, dimensions={0}\n"
        "  r = f32[8,8]{1,0} all-gather(q), replica_groups={{0,2},{1,3}}, dimensions={1}\n";
    static const char *const dots[] = {
        "  d = f32[8,8]{1,0} dot(l, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
        "  d = f32[8,8]{1,0} dot(l, r), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"};
    for (int i = 0; i < 2; i++) {
        char text[1000];
        (void)snprintf(text, sizeof text, "%s%s", head, dots[i]);
        mw_explain *e = explain(text);
        assert_int_equal(mw_explain_entries(e), i == 0 ? 3 : 2);
        if (i == 0)
            assert_int_equal(problem(entry(e, "dot", 3), "needless-movement")->bytes_now, 256);
        mw_explain_free(e);
    }
}

/* A loop that states no count: bytes of one run, and the count is missing. */
static void hlo_unknown_loop(void **state)
{
    (void)state;
    static const char text[] =
        "%b (p: f32[4]) -> f32[4] {\n"
        "  %g = f32[4]{0} all-gather(%p), replica_groups={{0,1}}, dimensions={0}\n"
        "}\n"
        "ENTRY %m (p: f32[4]) -> f32[4] {\n"
        "  %w = (s32[], f32[4]) while(%t), condition=%c, body=%b\n"
        "}\n";
    mw_explain *e = explain(text);
    assert_int_equal(entry(e, "collective", 2)->bytes, 8);
    assert_true(missing(e, "how often"));
    mw_explain_free(e);
}

/* ---- Shardy and StableHLO ----------------------------------------------------------------------
 */

static const char shardy[] =
    "module @m {\n"
    "  sdy.mesh @mesh = <[\"u\"=2, \"v\"=3]>\n"
    "  func.func public @main(%arg0: tensor<12x6xbf16> {sdy.sharding = #sdy.sharding<@mesh, "
    "[{\"v\"}, {\"u\"}]>}) -> tensor<12x6xbf16> {\n"
    "    %0 = sdy.all_gather [{}, {\"u\"}] %arg0 out_sharding=<@mesh, [{\"v\"}, {}]> : "
    "tensor<12x6xbf16>\n"
    "    %1 = sdy.all_to_all [{\"v\"}: 0->1] %0 out_sharding=<@mesh, [{}, {\"v\"}]> : "
    "tensor<12x6xbf16>\n"
    "    %2 = sdy.sharding_constraint %1 <@mesh, [{\"u\"}, {}]> : tensor<12x6xbf16>\n"
    "    %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{\"u\"}, {}]>] "
    "out_shardings=[<@mesh, [{}, {}]>] manual_axes={\"u\"} (%arg1: tensor<6x6xbf16>) {\n"
    "      %4 = \"stablehlo.all_reduce\"(%arg1) <{replica_groups = dense<[[0, 3], [1, 4], [2, "
    "5]]> : tensor<3x2xi64>}> ({\n"
    "      ^bb0(%arg2: tensor<bf16>, %arg3: tensor<bf16>):\n"
    "        stablehlo.return %arg2 : tensor<bf16>\n"
    "      }) : (tensor<6x6xbf16>) -> tensor<6x6xbf16>\n"
    "      sdy.return %4 : tensor<6x6xbf16>\n"
    "    } : (tensor<12x6xbf16>) -> tensor<6x6xbf16>\n"
    "    %5 = stablehlo.custom_call @Sharding(%3) {mhlo.sharding = \"{devices=[2,1,3]<=[6] "
    "last_tile_dim_replicate}\"} : (tensor<12x6xbf16>) -> tensor<12x6xbf16>\n"
    "    %6 = sdy.all_gather [{\"w\"}, {}] %5 out_sharding=<@other, [{}, {}]> : "
    "tensor<12x6xbf16>\n"
    "  }\n"
    "}\n";

static void sdy(void **state)
{
    (void)state;
    mw_explain *e = explain(shardy);
    has_fact(entry(e, "mesh", 2), "mesh", MW_HOW_STATED, "u=2,v=3");
    const mw_entry *arg = entry(e, "sharding", 3);
    has_fact(arg, "local shape", MW_HOW_DERIVED, "[4,3]");
    has_fact(arg, "pieces and their devices", MW_HOW_DERIVED, "[0:4, 3:6] on {3}");
    const mw_entry *gather = entry(e, "collective", 4);
    assert_int_equal(gather->bytes, 24); /* half of 4*6*2 */
    assert_string_equal(gather->axis, "u");
    const mw_entry *exchange = entry(e, "collective", 5);
    assert_int_equal(exchange->bytes, 32); /* 2/3 of 12*2*2 */
    has_fact(entry(e, "sharding", 6), "local shape", MW_HOW_DERIVED, "[6,6]");
    has_fact(entry(e, "manual", 7), "local shape of operand 0", MW_HOW_STATED, "bf16[6,6]");
    const mw_entry *reduce = entry(e, "collective", 8);
    assert_int_equal(reduce->bytes, 72); /* 2 * 1/2 of 6*6*2 */
    assert_int_equal(reduce->last, 11);
    has_fact(entry(e, "sharding", 14), "pieces and their devices", MW_HOW_DERIVED,
             "[0:6, 0:6] on {0,1,2}");
    assert_int_equal(entry(e, "collective", 15)->bytes, -1);
    assert_true(missing(e, "sdy.mesh"));
    mw_explain_free(e);
}

/* ---- hostile texts -----------------------------------------------------------------------------
 */

/* Cut anywhere, and with any byte changed, a text is read without failing. */
static void hostile(void **state)
{
    (void)state;
    static const char *const texts[] = {loops, shardy};
    static const char bytes[] = "{}[]()<>\"%,=:0 9x'\\";
    uint32_t seed = 20251;
    print_message("seed %u\n", seed);
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 150; i++) {
            size_t n = strlen(texts[t]);
            char *text = malloc(n + 1);
            assert_non_null(text);
            memcpy(text, texts[t], n + 1);
            for (int k = 0; k < 1 + i % 8; k++) {
                seed = seed * 1664525U + 1013904223U;
                text[(seed >> 8) % n] = bytes[(seed >> 3) % (sizeof bytes - 1)];
            }
            if (i % 3 == 0) text[(seed >> 5) % n] = 0;
            mw_explain_free(explain(text));
            free(text);
        }
}

/* Each allocation fails in turn: nothing is left, and nothing worse comes of it. */
static void no_memory(void **state)
{
    (void)state;
    static const char warning[] =
        "Involuntary full rematerialization. from sharding {devices=[2,2]<=[4]} to "
        "{devices=[2,2]<=[2,2]T(1,0)} efficiently for HLO operation %p.3 = f32[8,6]{1,0} add(%a)\n";
    const char *const texts[] = {loops, shardy, warning};
    allocations_fail(texts, 3);
}

/* Lines of megabytes and numbers without end take time that grows as they do. */
static void huge(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "  %g = f32[8] all-gather(%p), replica_groups={", "  %t = (",
        "  %p = f32[8] add(%a), sharding={devices=[8]",
        "%0 = stablehlo.add %a {sdy.sharding = #sdy.sharding<@m, [{",
        "Involuntary full rematerialization. x from sharding {devices=[9]"};
    static const char *const fills[] = {"{0,1},", "f32[9],", "7,", "\"x\",", "1"};
    enum { BYTES = 1 << 21 };
    char *text = malloc(BYTES + 300);
    assert_non_null(text);
    for (int i = 0; i < 5; i++) {
        size_t n = strlen(heads[i]), f = strlen(fills[i]);
        memcpy(text, heads[i], n);
        for (; n + f < BYTES; n += f)
            memcpy(text + n, fills[i], f);
        text[n] = 0;
        mw_explain_free(explain(text));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warning_old),
        cmocka_unit_test(warning_new),
        cmocka_unit_test(warning_rank),
        cmocka_unit_test(warning_wanted),
        cmocka_unit_test(hlo_collectives),
        cmocka_unit_test(hlo_local),
        cmocka_unit_test(hlo_before),
        cmocka_unit_test(hlo_needless),
        cmocka_unit_test(hlo_unknown_loop),
        cmocka_unit_test(sdy),
        cmocka_unit_test(hostile),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(huge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
