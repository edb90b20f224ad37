/* meshwise verify: the rules of ops against brute force. A table, and every combination that is
 * wrong or missing; or, with --plant, whether a fault put into a rule is found. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 12 }; /* findings of one kind and op that the table spells out */

typedef struct tally {
    const cli_args *args;
    json_t *list[MW_FINDING_KINDS]; /* of the op being verified */
    int shown[MW_FINDING_KINDS];
    int incorrect, missing, refused;
    int64_t combinations;
} tally;

static void found(void *user, const mw_verify_finding *f)
{
    tally *t = user;
    if (t->args->json) {
        (void)json_array_append_new(t->list[f->kind],
                                    json_pack("{s:s, s:s, s:s}", "sample", f->sample, "placements",
                                              f->placements, "says", f->says));
        return;
    }
    if (f->kind == MW_FINDING_REFUSED || t->shown[f->kind]++ >= SHOWN) return;
    printf("  %s: %s(%s): %s\n    %s\n", mw_finding_name(f->kind), f->op, f->sample, f->placements,
           f->says);
}

static bool start_lists(tally *t)
{
    for (int k = 0; k < MW_FINDING_KINDS; k++) {
        t->shown[k] = 0;
        t->list[k] = t->args->json ? json_array() : NULL;
        if (t->args->json && !t->list[k]) return false;
    }
    return true;
}

static void print_row(const tally *t, const mw_verify_result *r)
{
    for (int k = 0; k < MW_FINDING_KINDS; k++)
        if (t->shown[k] > SHOWN)
            printf("  ... and %d more that are %s\n", t->shown[k] - SHOWN,
                   mw_finding_name((mw_finding_kind)k));
    if (r->planted[0]) printf("  planted: %s\n", r->planted);
    printf("%-28s %8d %12lld %10lld %9d %8d %8d\n", r->op, r->samples, (long long)r->combinations,
           (long long)r->valid, r->incorrect, r->missing, r->refused);
}

static json_t *row_object(const tally *t, const mw_verify_result *r)
{
    json_t *o =
        json_pack("{s:s, s:i, s:I, s:I, s:O, s:O, s:O}", "op", r->op, "samples", r->samples,
                  "combinations", (json_int_t)r->combinations, "valid", (json_int_t)r->valid,
                  "incorrect", t->list[MW_FINDING_INCORRECT], "missing",
                  t->list[MW_FINDING_MISSING], "refused", t->list[MW_FINDING_REFUSED]);
    if (o && r->planted[0]) (void)json_object_set_new(o, "planted", json_string(r->planted));
    return o;
}

/* Verifies one op. False: the record says why not. */
static bool verify_op(tally *t, const char *name, const mw_verify_options *options, json_t *ops)
{
    mw_verify_result r;
    if (!start_lists(t)) return mw_error_set(MW_ERR_NOMEM, "out of memory") == MW_OK;
    bool done = mw_verify(name, options, found, t, &r) == MW_OK;
    if (done) {
        t->incorrect += r.incorrect;
        t->missing += r.missing;
        t->refused += r.refused;
        t->combinations += r.combinations;
        if (t->args->json)
            (void)json_array_append_new(ops, row_object(t, &r));
        else
            print_row(t, &r);
    }
    for (int k = 0; k < MW_FINDING_KINDS; k++)
        json_decref(t->list[k]);
    return done;
}

/* With no names: the whole table; there, an op into which the fault can't be planted is passed
 * over. */
static bool verify_all(tally *t, const mw_verify_options *options, json_t *ops)
{
    const cli_args *args = t->args;
    for (int i = 0; i < args->npositional; i++)
        if (!verify_op(t, args->positional[i], options, ops)) return false;
    for (int i = 0; args->npositional == 0 && i < mw_op_count(); i++) {
        mw_op_text text;
        if (mw_op_describe(mw_op_at(i), &text) != MW_OK) return false;
        if (verify_op(t, text.word, options, ops)) continue;
        if (!options->plant || mw_last_error()->code != MW_ERR_ARG) return false;
        if (!args->json) printf("%-28s %s\n", text.word, mw_last_error()->says);
    }
    return true;
}

static bool read_options(const cli_args *args, mw_verify_options *ret)
{
    const char *plant = args->value[OPT_plant], *names[MW_PLANT_KINDS];
    ret->mesh = args->value[OPT_verify_mesh];
    if (!plant) return true;
    for (int k = 1; k < MW_PLANT_KINDS; k++) {
        names[k - 1] = mw_plant_name((mw_plant)k);
        if (strcmp(plant, names[k - 1]) == 0) ret->plant = (mw_plant)k;
    }
    if (ret->plant) return true;
    const char *near = mw_nearest_name(plant, names, MW_PLANT_KINDS - 1);
    (void)mw_error_set(MW_ERR_ARG, "--plant %.40s: expected letter, mark, flag or bias", plant);
    if (near) mw_error_hint("did you mean '%s'?", near);
    return false;
}

static void print_total(const tally *t)
{
    printf("\n%lld combinations: %d incorrect, %d missing, %d refused on purpose\n",
           (long long)t->combinations, t->incorrect, t->missing, t->refused);
}

int cmd_verify(const cli_args *args)
{
    tally t = {.args = args};
    mw_verify_options options = {0};
    if (!read_options(args, &options)) return cli_report(args);
    for (int i = 0; i < args->npositional; i++) { /* before a long table is begun */
        const mw_op *op;
        if (mw_op_find(args->positional[i], &op) != MW_OK) return cli_report(args);
    }
    json_t *ops = args->json ? json_array() : NULL;
    if (!args->json)
        printf("%-28s %8s %12s %10s %9s %8s %8s\n", "op", "samples", "combinations", "valid",
               "incorrect", "missing", "refused");
    if (!verify_all(&t, &options, ops)) {
        json_decref(ops);
        (void)cli_flush();
        return cli_report(args);
    }
    int code = t.incorrect || t.missing ? EXIT_NO : 0;
    if (args->json)
        return cli_print(args,
                         json_pack("{s:i, s:o, s:i, s:i}", "schema", 1, "ops", ops, "incorrect",
                                   t.incorrect, "missing", t.missing),
                         code);
    print_total(&t);
    int failed = cli_flush();
    return failed ? failed : code;
}
