/* meshwise plan 'A -> B': how a tensor gets from one layout to another, what every rank receives,
 * and what else could be done. */
#include "cli/show.h"

#include <stdio.h>
#include <string.h>

typedef struct planning {
    mw_mesh *mesh, *to_mesh; /* to_mesh NULL: the same */
    mw_topology *topology;
    mw_layout from, to;
    mw_plan_options options;
    mw_planned *planned;
    int64_t checked, wrong;
} planning;

/* ---- arguments ----------------------------------------------------------------------------- */

/* A text between the end of another and an arrow, or the text's end, without blanks around it.
 * Freed with mw_memory_free(text, length + 1). */
static char *cut_text(const char *first, const char *end)
{
    while (first < end && *first == ' ')
        first++;
    while (end > first && end[-1] == ' ')
        end--;
    char *text = mw_memory((size_t)(end - first) + 1);
    if (!text) return NULL;
    memcpy(text, first, (size_t)(end - first));
    text[end - first] = 0;
    return text;
}

static void free_text(char *text)
{
    if (text) mw_memory_free(text, strlen(text) + 1);
}

/* What is known of the tensor besides the text that is being read. */
typedef struct tensor_facts {
    int ndim; /* -1: not known */
    int64_t shape[MW_LAYOUT_DIMS];
    mw_dtype dtype;
} tensor_facts;

static bool states_shape(const char *text)
{
    mw_notation notation;
    return mw_notation_detect(text, &notation) == MW_OK && notation == MW_NOTATION_LAYOUT;
}

static mw_status read_side(const mw_mesh *mesh, const char *text, tensor_facts *known,
                           mw_layout *ret)
{
    mw_notation notation;
    mw_status status = mw_notation_detect(text, &notation);
    if (status != MW_OK) return status;
    bool own = notation == MW_NOTATION_LAYOUT;
    if (!own && known->ndim < 0) {
        (void)mw_error_set(MW_ERR_ARG,
                           "%.60s: this notation does not state the sizes of the tensor", text);
        mw_error_hint("give --shape, like --shape 16,8");
        return MW_ERR_ARG;
    }
    mw_reading *reading = NULL;
    /* two texts that state different sizes are the planner's to tell */
    status = mw_notation_read(mesh, text, own ? -1 : known->ndim, known->shape,
                              own ? MW_DTYPE_NONE : known->dtype, &reading);
    if (status != MW_OK) return status;
    const mw_layout *layout = mw_reading_layout(reading);
    if (layout) {
        *ret = *layout;
        if (ret->dtype == MW_DTYPE_NONE) ret->dtype = (uint8_t)known->dtype;
        if (known->ndim < 0) known->ndim = mw_reading_shape(reading, known->shape);
        if (known->dtype == MW_DTYPE_NONE) known->dtype = (mw_dtype)layout->dtype;
    } else {
        status =
            mw_error_set(MW_ERR_UNSUPPORTED, "%.200s: no layout on this mesh has these owners: %s",
                         text, mw_reading_why(reading));
    }
    mw_reading_free(reading);
    return status;
}

/* The side that states sizes is read first: the other one takes them over. */
static mw_status read_sides(const cli_args *args, planning *p, const char *from, const char *to)
{
    tensor_facts known = {.ndim = -1};
    const char *shape = args->value[OPT_shape], *asked = args->value[OPT_as_dtype];
    mw_status status = shape ? cli_shape(shape, &known.ndim, known.shape) : MW_OK;
    if (status != MW_OK) return status;
    if (asked) known.dtype = mw_dtype_read(asked, (int)strlen(asked));
    if (asked && known.dtype == MW_DTYPE_NONE)
        return mw_error_set(MW_ERR_ARG, "--dtype %.40s: no such dtype", asked);
    const mw_mesh *to_mesh = p->to_mesh ? p->to_mesh : p->mesh;
    bool target_first = !states_shape(from) && states_shape(to);
    if (target_first) status = read_side(to_mesh, to, &known, &p->to);
    if (status == MW_OK) status = read_side(p->mesh, from, &known, &p->from);
    if (status == MW_OK && !target_first) status = read_side(to_mesh, to, &known, &p->to);
    mw_dtype dtype = known.dtype ? known.dtype : MW_DTYPE_f32;
    if (p->from.dtype == MW_DTYPE_NONE) p->from.dtype = (uint8_t)dtype;
    if (p->to.dtype == MW_DTYPE_NONE) p->to.dtype = (uint8_t)dtype;
    return status;
}

static mw_status read_pair(const cli_args *args, planning *p)
{
    const char *text = args->positional[0], *arrow = strstr(text, "->");
    const char *after = arrow ? arrow + 2 : NULL;
    if (!arrow && (arrow = strstr(text, "\xe2\x86\x92")) != NULL) after = arrow + 3;
    if (!arrow) {
        (void)mw_error_set(MW_ERR_PARSE, "%.200s: no '->' between two layouts", text);
        mw_error_hint("like 'f32[16@x, 8] -> f32[16, 8@x]'");
        return MW_ERR_PARSE;
    }
    char *from = cut_text(text, arrow), *to = cut_text(after, text + strlen(text));
    mw_status status = from && to ? read_sides(args, p, from, to) : mw_last_error()->code;
    free_text(from);
    free_text(to);
    return status;
}

static mw_status read_topology(const char *path, mw_topology **ret)
{
    char *text;
    int64_t length;
    mw_status status = cli_read_file(path, &text, &length);
    if (status != MW_OK) return status;
    status = mw_topology_parse(text, ret);
    mw_memory_free(text, (size_t)length + 1);
    return status;
}

static mw_status read_choice(const cli_args *args, cli_option_id id, const char *spelling,
                             const char *first, const char *second, int *ret)
{
    const char *value = args->value[id];
    *ret = value && strcmp(value, second) == 0;
    if (!value || *ret || strcmp(value, first) == 0) return MW_OK;
    return mw_error_set(MW_ERR_ARG, "%s %.60s: expected %s or %s", spelling, value, first, second);
}

static mw_status read_all(const cli_args *args, planning *p)
{
    int classic, bytes;
    mw_status status = read_choice(args, OPT_steps, "--steps", "all", "classic", &classic);
    if (status == MW_OK)
        status = read_choice(args, OPT_minimize, "--minimize", "time", "bytes", &bytes);
    if (status != MW_OK) return status;
    if (!args->value[OPT_mesh]) {
        (void)mw_error_set(MW_ERR_ARG, "plan needs the mesh that the layouts lie on");
        mw_error_hint("give --mesh, like --mesh x=2,y=4");
        return MW_ERR_ARG;
    }
    p->options.steps = classic ? MW_STEPS_CLASSIC : MW_STEPS_ALL;
    p->options.minimize = bytes ? MW_MINIMIZE_BYTES : MW_MINIMIZE_TIME;
    status = mw_mesh_parse(args->value[OPT_mesh], &p->mesh);
    if (status == MW_OK && args->value[OPT_to_mesh])
        status = mw_mesh_parse(args->value[OPT_to_mesh], &p->to_mesh);
    if (status == MW_OK && args->value[OPT_topology])
        status = read_topology(args->value[OPT_topology], &p->topology);
    p->options.to_mesh = p->to_mesh;
    p->options.topology = p->topology;
    return status == MW_OK ? read_pair(args, p) : status;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *int_or_null(int value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *steps_json(const mw_planned *p)
{
    json_t *list = json_array();
    for (int i = 0; i < mw_planned_facts(p)->nstep && list; i++) {
        const mw_plan_step *s = mw_planned_step(p, i);
        json_t *step = json_pack("{s:s, s:s, s:o, s:o, s:s?, s:s, s:I, s:f}", "kind", s->kind,
                                 "axes", s->axes, "dim", int_or_null(s->dim), "to_dim",
                                 int_or_null(s->to_dim), "reduce", s->reduce, "to", s->to,
                                 "recv_bytes", (json_int_t)s->recv_bytes, "time_us", s->time_us);
        if (json_array_append_new(list, step) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *alternatives_json(const mw_planned *p)
{
    json_t *list = json_array();
    for (int i = 0; i < mw_planned_facts(p)->nalternative && list; i++) {
        const mw_plan_alternative *a = mw_planned_alternative(p, i);
        json_t *row = json_pack("{s:s, s:I, s:I, s:f}", "steps", a->steps, "recv_bytes",
                                (json_int_t)a->recv_bytes, "peak_bytes", (json_int_t)a->peak_bytes,
                                "time_us", a->time_us);
        if (json_array_append_new(list, row) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *links_json(const mw_planned *p)
{
    json_t *list = json_array();
    for (int i = 0; i < mw_planned_facts(p)->nlink && list; i++) {
        const mw_plan_link *l = mw_planned_link(p, i);
        json_t *row =
            json_pack("{s:s, s:f, s:f, s:I, s:I}", "axis", l->axis, "latency_us", l->latency_us,
                      "gbps", l->gbps, "recv_bytes", (json_int_t)l->recv_bytes, "total_bytes",
                      (json_int_t)l->total_bytes);
        if (json_array_append_new(list, row) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *each_json(const mw_plan_facts *f)
{
    json_t *list = json_array();
    for (int r = 0; r < f->nrank && list; r++)
        if (json_array_append_new(list, json_integer(f->recv_bytes_each[r])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* A mean over ranks: a whole number where it is one. */
static json_t *mean_json(int64_t total, int n)
{
    return total % n == 0 ? json_integer(total / n) : json_real((double)total / n);
}

static bool set(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

static json_t *plan_json(const cli_args *args, const planning *p)
{
    const mw_plan_facts *f = mw_planned_facts(p->planned);
    json_t *o = json_pack("{s:i, s:s, s:s, s:s}", "schema", 1, "from", f->from, "to", f->to, "mesh",
                          f->mesh);
    if (!o) return NULL;
    bool made = (!f->to_mesh || set(o, "to_mesh", json_string(f->to_mesh))) &&
                set(o, "steps", steps_json(p->planned)) &&
                set(o, "recv_bytes", json_integer(f->recv_bytes)) &&
                set(o, "recv_bytes_mean", mean_json(f->recv_bytes_total, f->nrank)) &&
                set(o, "recv_bytes_each", each_json(f)) &&
                set(o, "peak_bytes", json_integer(f->peak_bytes)) &&
                set(o, "live_bytes", json_integer(f->live_bytes)) &&
                set(o, "lower_bound_bytes", json_integer(f->lower_bound_bytes)) &&
                set(o, "lower_bound_bytes_mean", mean_json(f->lower_bound_bytes_total, f->nrank)) &&
                set(o, "reduction", json_boolean(f->reduction)) &&
                set(o, "above_memory", json_boolean(f->above_memory)) &&
                set(o, "time_us", json_real(f->time_us)) &&
                set(o, "alternatives", alternatives_json(p->planned)) &&
                (!f->nlink || set(o, "links", links_json(p->planned)));
    if (made && args->value[OPT_do_run])
        made =
            set(o, "checked", json_integer(p->checked)) && set(o, "wrong", json_integer(p->wrong));
    if (made) return o;
    json_decref(o);
    return NULL;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print_steps(const mw_planned *p)
{
    const mw_plan_facts *f = mw_planned_facts(p);
    if (f->nstep == 0) printf("  nothing to do: every rank holds what it must\n");
    for (int i = 0; i < f->nstep; i++) {
        const mw_plan_step *s = mw_planned_step(p, i);
        printf("  %-28s -> %s", s->text, s->to);
        if (s->recv_bytes) printf("   recv %lld B", (long long)s->recv_bytes);
        printf("\n");
    }
}

static void print_numbers(const mw_planned *p)
{
    const mw_plan_facts *f = mw_planned_facts(p);
    bool whole = f->recv_bytes_total % f->nrank == 0;
    printf("recv %lld B per rank at most, %.*f B on average; ", (long long)f->recv_bytes,
           whole ? 0 : 1, (double)f->recv_bytes_total / f->nrank);
    if (f->reduction)
        printf("the target shard is %lld B\n", (long long)f->lower_bound_bytes);
    else
        printf("no plan needs less than %lld B\n", (long long)f->lower_bound_bytes);
    printf("peak %lld B, live %lld B, %.3g us\n", (long long)f->peak_bytes,
           (long long)f->live_bytes, f->time_us);
    if (f->above_memory)
        printf("some state is larger than source and target: no plan of these steps avoids that\n");
    for (int i = 0; i < f->nlink; i++) {
        const mw_plan_link *l = mw_planned_link(p, i);
        printf("axis %s (%g us, %g gbps): recv %lld B per rank at most, %lld B in all\n", l->axis,
               l->latency_us, l->gbps, (long long)l->recv_bytes, (long long)l->total_bytes);
    }
}

static void print_plan(const planning *p)
{
    const mw_plan_facts *f = mw_planned_facts(p->planned);
    printf("mesh %s", f->mesh);
    if (f->to_mesh) printf(" -> %s", f->to_mesh);
    printf("   %s -> %s\n", f->from, f->to);
    print_steps(p->planned);
    print_numbers(p->planned);
    for (int i = 0; i < f->nalternative; i++) {
        const mw_plan_alternative *a = mw_planned_alternative(p->planned, i);
        printf("%s  %s   recv %lld B   peak %lld B   %.3g us\n", i ? "" : "instead:\n", a->steps,
               (long long)a->recv_bytes, (long long)a->peak_bytes, a->time_us);
    }
}

/* ---- the command --------------------------------------------------------------------------- */

static int report(const cli_args *args, const planning *p)
{
    int ranks = mw_planned_facts(p->planned)->nrank;
    int code = p->wrong ? EXIT_NO : 0;
    if (p->wrong)
        (void)fprintf(stderr, "meshwise: %lld of %lld elements are wrong after the plan has run\n",
                      (long long)p->wrong, (long long)p->checked);
    if (args->json) return cli_print(args, plan_json(args, p), code);
    print_plan(p);
    if (args->value[OPT_do_run])
        printf("checked %lld elements on %d ranks\n", (long long)p->checked, ranks);
    int failed = cli_flush();
    return failed ? failed : code;
}

int cmd_plan(const cli_args *args)
{
    if (args->npositional != 1)
        return cli_usage(args, "plan takes one argument, like 'f32[16@x, 8] -> f32[16, 8@x]'");
    planning p = {0};
    mw_status status = read_all(args, &p);
    if (status == MW_OK) status = mw_plan_layouts(p.mesh, &p.from, &p.to, &p.options, &p.planned);
    if (status == MW_OK && args->value[OPT_do_run])
        status = mw_planned_run(p.planned, &p.checked, &p.wrong);
    int code = status == MW_OK ? report(args, &p) : cli_report(args);
    mw_planned_free(p.planned);
    mw_topology_free(p.topology);
    mw_mesh_unref(p.mesh);
    mw_mesh_unref(p.to_mesh);
    return code;
}
