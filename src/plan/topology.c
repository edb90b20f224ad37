/* Topology files: one line per mesh axis whose links are not the built-in ones.
 *
 *     # two hosts of four
 *     axis host: latency_us 10, gbps 25
 *     axis gpu: gbps 400
 *     default: latency_us 1
 *
 * Numbers that a line leaves out are the built-in ones, so that a topology says only what differs.
 */
#include "plan/topology.h"

#include <stdlib.h>

/* 80 gigabits a second: of the order of one core's copies in shared memory. */
static const mw_link built_in = {1.0, 10000.0};

typedef struct line_reader {
    const char *line, *at; /* one line, NUL-terminated */
    int number;
} line_reader;

static void skip(line_reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')
        r->at++;
}

static bool take(line_reader *r, const char *word)
{
    size_t n = strlen(word);
    skip(r);
    if (strncmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

static mw_status wrong(const line_reader *r, const char *expected)
{
    mw_status status = mw__parse_fail("topology", r->line, r->at, "expected %s", expected);
    mw__error_where("line %d of the topology", r->number);
    mw__error_hint("a line is `axis NAME: latency_us 10, gbps 25` or `default: ...`");
    return status;
}

static mw_status read_number(line_reader *r, double *ret)
{
    skip(r);
    char *end;
    double value = strtod(r->at, &end);
    if (end == r->at || !(value > 0) || value > 1e12) return wrong(r, "a number above 0");
    r->at = end;
    *ret = value;
    return MW_OK;
}

static mw_status read_link(line_reader *r, mw_link *ret)
{
    if (!take(r, ":")) return wrong(r, "':'");
    do {
        double value;
        if (take(r, "latency_us")) {
            MW_TRY(read_number(r, &ret->latency_us));
        } else if (take(r, "gbps")) {
            MW_TRY(read_number(r, &value));
            ret->bytes_per_us = value * 125;
        } else {
            return wrong(r, "'latency_us' or 'gbps'");
        }
    } while (take(r, ","));
    skip(r);
    return *r->at && *r->at != '#' ? wrong(r, "',' or the end of the line") : MW_OK;
}

static mw_status read_axis(line_reader *r, mw_topology *t)
{
    skip(r);
    const char *name = r->at;
    size_t length = strcspn(name, ": \t#");
    if (length == 0) return wrong(r, "the name of an axis");
    if (length > MW_AXIS_NAME) return wrong(r, "a shorter name");
    if (t->naxis == MW_MESH_AXES) return wrong(r, "no more axes than a mesh can have");
    for (int i = 0; i < t->naxis; i++)
        if (strlen(t->name[i]) == length && memcmp(t->name[i], name, length) == 0)
            return wrong(r, "each axis once");
    memcpy(t->name[t->naxis], name, length);
    r->at += length;
    t->link[t->naxis] = built_in;
    return read_link(r, &t->link[t->naxis++]);
}

static mw_status read_line(line_reader *r, mw_topology *t, bool *ret_default)
{
    skip(r);
    if (!*r->at || *r->at == '#') return MW_OK;
    if (take(r, "axis ")) return read_axis(r, t);
    if (!take(r, "default")) return wrong(r, "'axis NAME:' or 'default:'");
    if (*ret_default) return wrong(r, "one default");
    *ret_default = true;
    return read_link(r, &t->otherwise);
}

mw_status mw_topology_parse(const char *text, mw_topology **ret)
{
    mw_topology *t = mw__zalloc(sizeof *t);
    if (!t) return MW_NOMEM();
    t->otherwise = built_in;
    bool has_default = false;
    mw_status status = MW_OK;
    mw_str line = {0};
    for (int number = 1; status == MW_OK && *text; number++) {
        size_t length = strcspn(text, "\n");
        mw__str_clear(&line);
        mw__str_append(&line, text, length);
        status = mw__str_status(&line);
        line_reader r = {mw__str_text(&line), mw__str_text(&line), number};
        if (status == MW_OK) status = read_line(&r, t, &has_default);
        text += length + (text[length] == '\n');
    }
    mw__str_done(&line);
    if (status != MW_OK) {
        mw__free(t, sizeof *t);
        return status;
    }
    *ret = t;
    return MW_OK;
}

void mw_topology_free(mw_topology *topology)
{
    mw__free(topology, sizeof *topology);
}

mw_link mw__topology_link(const mw_topology *topology, const mw_mesh *mesh, int axis)
{
    if (!topology) return built_in;
    for (int i = 0; i < topology->naxis; i++)
        if (strcmp(topology->name[i], mesh->name[axis]) == 0) return topology->link[i];
    return topology->otherwise;
}

mw_link mw__topology_worst(const mw_topology *topology, const mw_mesh *mesh, uint32_t axes)
{
    mw_link worst = built_in;
    bool any = false;
    for (int a = 0; topology && a < mesh->naxis; a++) {
        if (!(axes >> a & 1)) continue;
        mw_link link = mw__topology_link(topology, mesh, a);
        worst.latency_us = any ? MW_MAX(worst.latency_us, link.latency_us) : link.latency_us;
        worst.bytes_per_us =
            any ? MW_MIN(worst.bytes_per_us, link.bytes_per_us) : link.bytes_per_us;
        any = true;
    }
    return worst;
}

mw_status mw__topology_check(const mw_topology *topology, const mw_mesh *a, const mw_mesh *b)
{
    for (int i = 0; topology && i < topology->naxis; i++) {
        const char *name = topology->name[i];
        int length = (int)strlen(name);
        if (mw_mesh_axis_find(a, name, length) >= 0 || mw_mesh_axis_find(b, name, length) >= 0)
            continue;
        const char *names[MW_MESH_AXES];
        for (int x = 0; x < a->naxis; x++)
            names[x] = a->name[x];
        const char *near = mw__nearest(name, names, a->naxis);
        mw_status status = MW_FAIL(
            MW_ERR_ARG, "the topology names an axis '%s' that the mesh does not have", name);
        if (near) mw__error_hint("did you mean '%s'?", near);
        return status;
    }
    return MW_OK;
}
