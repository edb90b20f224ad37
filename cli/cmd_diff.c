/* meshwise diff A B: which movements came, went or changed between two texts, and where. Both are
 * read as explain reads them, as they come; what is kept is what they tell, not the texts. */
#include "cli/diff.h"

#include <string.h>

static mw_status read_side(const mw_explain_options *options, diff *d, int side, mw_explain **ret)
{
    mw_status status = mw_explain_new(options, ret);
    if (status == MW_OK) status = explain_read(d->path[side], *ret, NULL, NULL);
    d->side[side] = (explained){.e = *ret, .file = d->path[side]};
    return status == MW_OK ? explain_sum(&d->side[side]) : status;
}

int cmd_diff(const cli_args *args)
{
    if (args->npositional != 2)
        return cli_usage(args, "diff takes two files, the former and the latter");
    if (strcmp(args->positional[A], "-") == 0 && strcmp(args->positional[B], "-") == 0)
        return cli_usage(args, "standard input can be one of the two only");
    diff d = {.path = {args->positional[A], args->positional[B]}};
    mw_explain *e[SIDES] = {NULL, NULL};
    mw_explain_options options;
    mw_status status = explain_options(args, &options);
    for (int s = A; s < SIDES && status == MW_OK; s++)
        status = read_side(&options, &d, s, &e[s]);
    if (status == MW_OK) status = diff_match(&d);
    int code;
    if (status != MW_OK) {
        code = cli_report(args);
    } else if (args->json) {
        code = diff_json(args, &d);
    } else {
        diff_text(&d, args->value[OPT_all] != NULL);
        code = cli_flush();
    }
    diff_done(&d);
    for (int s = A; s < SIDES; s++) {
        explain_done(&d.side[s]);
        mw_explain_free(e[s]);
    }
    return code;
}
