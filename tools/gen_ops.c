/* Writes what is made from the op table: include/meshwise/ops.h (a C function per op),
 * src/run/calls.c (what these functions do) and docs/ops.md.
 *
 *     gen_ops header|calls|docs > FILE
 *
 * An op's C function takes the schema's arguments in order. int[] is a pointer and a count, Scalar
 * a double; memory formats, layouts, devices and generators are left out. One Tensor is returned;
 * further ones come through `ret_` pointers, a Tensor[] through an array and its capacity. */
#include "ops/table.h"

#include <ctype.h>
#include <stdio.h>

static bool left_out(const mw_schema_arg *a)
{
    switch ((mw_type_base)a->type.base) {
    case MW_TYPE_MEMORY_FORMAT:
    case MW_TYPE_LAYOUT:
    case MW_TYPE_DEVICE:
    case MW_TYPE_GENERATOR:
        return true;
    case MW_TYPE_BOOL:
        return a->type.optional; /* pin_memory */
    case MW_TYPE_TENSOR:
    case MW_TYPE_INT:
    case MW_TYPE_SYMINT:
    case MW_TYPE_FLOAT:
    case MW_TYPE_SCALAR:
    case MW_TYPE_DTYPE:
    case MW_TYPE_STR:
    case MW_TYPE_END:
        break;
    }
    return false;
}

/* The C parameters of an argument. */
static void print_parameter(const mw_schema_arg *a)
{
    const char *n = a->name;
    bool list = a->type.list;
    switch ((mw_type_base)a->type.base) {
    case MW_TYPE_TENSOR:
        printf(list ? "mw_tensor *const *%s, int n%s" : "mw_tensor *%s", n, n);
        break;
    case MW_TYPE_INT:
    case MW_TYPE_SYMINT:
        printf(list ? "const int64_t *%s, int n%s" : "int64_t %s", n, n);
        break;
    case MW_TYPE_FLOAT:
    case MW_TYPE_SCALAR:
        printf("double %s", n);
        break;
    case MW_TYPE_BOOL:
        printf("bool %s", n);
        break;
    case MW_TYPE_DTYPE:
        printf("mw_dtype %s", n);
        break;
    case MW_TYPE_STR:
        printf("const char *%s", n);
        break;
    case MW_TYPE_MEMORY_FORMAT:
    case MW_TYPE_LAYOUT:
    case MW_TYPE_DEVICE:
    case MW_TYPE_GENERATOR:
    case MW_TYPE_END:
        break;
    }
}

static bool is_list_result(const mw_schema *s)
{
    return s->nresult == 1 && s->result[0].list;
}

static void result_name(const mw_schema *s, int i, char *to, size_t size)
{
    if (s->result_name[i][0])
        (void)snprintf(to, size, "ret_%s", s->result_name[i]);
    else
        (void)snprintf(to, size, "ret_%d", i);
}

static void print_prototype(const mw_op_info *info)
{
    const mw_schema *s = &info->schema;
    printf("%s mw_%s_at(mw_site site", is_list_result(s) ? "int" : "mw_tensor *", info->word);
    for (int i = 0; i < s->narg; i++) {
        if (left_out(&s->arg[i])) continue;
        printf(", ");
        print_parameter(&s->arg[i]);
    }
    if (is_list_result(s)) printf(", mw_tensor **ret, int cap");
    for (int i = 1; i < s->nresult; i++) {
        char name[64];
        result_name(s, i, name, sizeof name);
        printf(", mw_tensor **%s", name);
    }
    printf(")");
}

static void print_header(void)
{
    printf(
        "/* The ops, one C function each: made from the op table by tools/gen_ops (`make docs`).\n"
        " *\n"
        " * Arguments are those of the ATen schema, in its order: int[] as a pointer and a count\n"
        " * (MW_INTS), Scalar as a double (a whole number counts as an integer), absent optional "
        "ones as\n"
        " * NULL, MW_NONE_INT, MW_NONE_FLOAT or MW_DTYPE_NONE; memory formats, layouts and devices "
        "are left\n"
        " * out. Results belong to the current scope. A failure returns NULL (-1 from a function "
        "that gives\n"
        " * a list), and so does an operand that is NULL; the first error stays in the rank's "
        "record.\n"
        " * Collective over the operands' mesh, all of them. */\n"
        "#ifndef MESHWISE_OPS_H\n#define MESHWISE_OPS_H\n\n#include <meshwise/op.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (int i = 0; i < MW_OP_COUNT; i++) {
        const mw_op_info *info = mw__op_info_of(mw__op_at((mw_op_id)i));
        if (!info) continue;
        printf("\n/* %s\n * %s */\nMW_API ", info->op->schema, info->op->doc);
        print_prototype(info);
        printf(";\n#define mw_%s(...) mw_%s_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)\n", info->word,
               info->word);
    }
    printf("\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

static void print_value(const mw_schema_arg *a)
{
    const char *n = a->name;
    if (left_out(a)) { /* nothing here depends on it */
        printf(a->type.optional ? "v_none()" : "v_text(\"contiguous_format\")");
        return;
    }
    switch ((mw_type_base)a->type.base) {
    case MW_TYPE_TENSOR:
        if (a->type.list)
            printf("v_tensors(%s, n%s)", n, n);
        else
            printf(a->type.optional ? "v_maybe(%s)" : "v_tensor(%s)", n);
        break;
    case MW_TYPE_INT:
    case MW_TYPE_SYMINT:
        if (a->type.list)
            printf(a->type.optional ? "v_maybe_ints(%s, n%s)" : "v_ints(%s, n%s)", n, n);
        else
            printf(a->type.optional ? "v_maybe_integer(%s)" : "v_integer(%s)", n);
        break;
    case MW_TYPE_FLOAT:
        printf(a->type.optional ? "v_maybe_number(%s)" : "v_number(%s)", n);
        break;
    case MW_TYPE_SCALAR:
        printf(a->type.optional ? "v_maybe_scalar(%s)" : "v_scalar(%s)", n);
        break;
    case MW_TYPE_BOOL:
        printf("v_boolean(%s)", n);
        break;
    case MW_TYPE_DTYPE:
        printf(a->type.optional ? "v_maybe_dtype(%s)" : "v_dtype_value(%s)", n);
        break;
    case MW_TYPE_STR:
        printf(a->type.optional ? "v_maybe_text(%s)" : "v_text(%s)", n);
        break;
    case MW_TYPE_MEMORY_FORMAT:
    case MW_TYPE_LAYOUT:
    case MW_TYPE_DEVICE:
    case MW_TYPE_GENERATOR:
    case MW_TYPE_END:
        break;
    }
}

static void print_body(const mw_op_info *info)
{
    const mw_schema *s = &info->schema;
    printf("\n");
    print_prototype(info);
    printf("\n{\n    const mw_value args[] = {");
    for (int i = 0; i < s->narg; i++) {
        printf("%s", i ? ", " : "");
        print_value(&s->arg[i]);
    }
    printf("};\n");
    for (int i = 0; i < s->narg; i++)
        if (s->arg[i].type.base == MW_TYPE_TENSOR && s->arg[i].type.optional &&
            !s->arg[i].type.list)
            printf("    if (!%s && failed()) return %s;\n", s->arg[i].name,
                   is_list_result(s) ? "-1" : "NULL");
    if (is_list_result(s)) {
        printf("    return call_list(site, &mw_op_%s, args, %d, ret, cap);\n}\n", info->word,
               s->narg);
        return;
    }
    if (s->nresult == 1) {
        printf("    return mw__call_op(site, &mw_op_%s, args, %d);\n}\n", info->word, s->narg);
        return;
    }
    printf("    mw_tensor *out[%d];\n"
           "    if (call_list(site, &mw_op_%s, args, %d, out, %d) < 0) return NULL;\n",
           s->nresult, info->word, s->narg, s->nresult);
    for (int i = 1; i < s->nresult; i++) {
        char name[64];
        result_name(s, i, name, sizeof name);
        printf("    if (%s) *%s = out[%d];\n", name, name, i);
    }
    printf("    return out[0];\n}\n");
}

static void print_calls(void)
{
    printf("/* What the functions of meshwise/ops.h do: made from the op table by `make docs`. */\n"
           "#include \"run/values.h\"\n\n#include <meshwise/ops.h>\n\n"
           "/* clang-format off */\n#define OP(name) extern const mw_op mw_op_##name;\n"
           "#include \"ops/ops.def\"\n#undef OP\n");
    for (int i = 0; i < MW_OP_COUNT; i++) {
        const mw_op_info *info = mw__op_info_of(mw__op_at((mw_op_id)i));
        if (info) print_body(info);
    }
}

static void print_docs(void)
{
    printf("# Ops\n\nMade from the op table by `make docs`. A rule names factors: letters that "
           "operands and results "
           "share; each may be cut over a\nmesh axis unless it is marked `*` (must be whole on a "
           "rank). A letter "
           "that the result lacks leaves it partial.\n`meshwise ops NAME` shows the placements "
           "that follow.\n");
    for (int i = 0; i < MW_OP_COUNT; i++) {
        const mw_op_info *info = mw__op_info_of(mw__op_at((mw_op_id)i));
        if (!info) continue;
        printf("\n## %s\n\n%s\n\n```\n%s\n", info->word, info->op->doc, info->op->schema);
        const mw_op *form = info->op->in_place_of ? info->op->in_place_of : info->op;
        if (form->rule) printf("rule: %s\n", form->rule);
        printf("```\n");
    }
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "header") == 0)
        print_header();
    else if (strcmp(what, "calls") == 0)
        print_calls();
    else if (strcmp(what, "docs") == 0)
        print_docs();
    else
        return 2;
    return 0;
}
