/* Stated placements as layouts of meshwise: owners, local shapes, bytes and plans all come from
 * there. What is too large to work through (many ranks, huge lists) is left out, not guessed. */
#include "log/dtensor.h"

#include <meshwise/notation.h>

/* Ranks whose shards are listed one by one, and above which no plan is made. */
enum { LISTED = 4096, PLANNED = 512, SHAPES = 6 };

bool mw__dt_failed(const dt_here *h, mw_status status)
{
    if (status == MW_OK) return false;
    if (status == MW_ERR_NOMEM) h->e->failed = true;
    return true;
}

void mw__dt_done(const dt_here *h, mw_str *str)
{
    if (str->failed) h->e->failed = true;
    mw__str_done(str);
}

const char *mw__dt_text(const dt_here *h, const mw_str *str)
{
    const char *text = mw__arena_strndup(&h->e->arena, mw__str_text(str), str->length);
    if (!text || str->failed) h->e->failed = true;
    return text ? text : "";
}

const char *mw__dt_line_from(const dt_here *h, int64_t line)
{
    const char *text = mw__explain_text(h->e, "line %lld", (long long)line);
    return text ? text : "";
}

/* ---- meshes
 * ------------------------------------------------------------------------------------------ */

static bool bare(const char *name)
{
    if (!*name || (*name >= '0' && *name <= '9')) return false;
    for (; *name; name++)
        if (!((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
              (*name >= '0' && *name <= '9') || *name == '_'))
            return false;
    return true;
}

static bool same_sizes(const dt_mesh *a, const dt_mesh *b)
{
    return a->naxis == b->naxis &&
           memcmp(a->size, b->size, (size_t)a->naxis * sizeof *a->size) == 0;
}

static bool same_mesh(const dt_mesh *a, const dt_mesh *b)
{
    if (!same_sizes(a, b)) return false;
    for (int i = 0; i < a->naxis; i++)
        if (strcmp(a->name[i], b->name[i]) != 0) return false;
    return true;
}

static void mesh_text(const dt_mesh *m, mw_str *to)
{
    for (int i = 0; i < m->naxis; i++) {
        if (i) mw__str_putc(to, ',');
        bool unique = true;
        for (int k = 0; k < m->naxis; k++)
            unique = unique && (k == i || strcmp(m->name[i], m->name[k]) != 0);
        if (!m->name[i][0] || !unique)
            mw__str_printf(to, "axis%d=%d", i, m->size[i]);
        else if (bare(m->name[i]))
            mw__str_printf(to, "%s=%d", m->name[i], m->size[i]);
        else if (!strchr(m->name[i], '"'))
            mw__str_printf(to, "\"%s\"=%d", m->name[i], m->size[i]);
        else
            mw__str_printf(to, "axis%d=%d", i, m->size[i]);
    }
}

const mw_mesh *mw__dt_mesh_of(const dt_here *h, const dt_mesh *m)
{
    if (!m->naxis) return NULL;
    for (int64_t i = 0; i < h->s->nmesh; i++)
        if (same_mesh(&h->s->mesh[i].mesh, m)) return h->s->mesh[i].made;
    mw_mesh *made = NULL;
    mw_str text = {0};
    mesh_text(m, &text);
    mw_status status = mw__str_status(&text);
    if (status == MW_OK) status = mw_mesh_parse(mw__str_text(&text), &made);
    (void)mw__dt_failed(h, status);
    mw__dt_done(h, &text);
    dt_known_mesh *slot = &h->s->mesh[h->s->turn++ % DT_MESHES]; /* the oldest makes room */
    mw_mesh_unref(slot->made);
    *slot = (dt_known_mesh){*m, made};
    h->s->nmesh = MW_MIN(h->s->turn, DT_MESHES);
    return made;
}

static void from_options(const dt_here *h, dt_mesh *m)
{
    const mw_mesh *given = h->e->mesh;
    *m = (dt_mesh){.how = MW_HOW_ASSUMED, .has_names = true, .naxis = given->naxis};
    for (int i = 0; i < given->naxis; i++) {
        m->size[i] = given->size[i];
        memcpy(m->name[i], given->name[i], sizeof m->name[i]);
    }
}

void mw__dt_mesh_complete(const dt_here *h, dt_mesh *m, int naxis)
{
    const dt_mesh *last = &h->s->last_mesh;
    if (m->naxis && m->has_names) return;
    if (m->naxis) { /* the names alone are lacking */
        dt_mesh given = {.naxis = 0};
        if (last->naxis && last->has_names && same_sizes(last, m))
            given = *last;
        else if (h->e->mesh)
            from_options(h, &given);
        if (!given.naxis || !same_sizes(&given, m)) return;
        memcpy(m->name, given.name, sizeof m->name);
        m->has_names = true;
        return;
    }
    if (h->e->mesh && (naxis == 0 || h->e->mesh->naxis == naxis)) {
        from_options(h, m);
    } else if (last->naxis && (naxis == 0 || last->naxis == naxis)) {
        *m = *last;
        m->how = MW_HOW_ASSUMED;
    }
}

void mw__dt_mesh_names(const dt_here *h, dt_mesh *m)
{
    mw_how how = m->how;
    mw__dt_mesh_complete(h, m, m->naxis);
    m->how = how;
}

const char *mw__dt_axis_name(const dt_here *h, const dt_mesh *m, int axis)
{
    if (axis >= 0 && axis < m->naxis && m->name[axis][0]) return m->name[axis];
    const char *text = mw__explain_text(h->e, "%d", axis);
    return text ? text : "";
}

/* ---- layouts
 * ----------------------------------------------------------------------------------------- */

bool mw__dt_layout(const dt_here *h, const mw_mesh *mesh, const dt_tensor *t, mw_layout *ret,
                   const char **why)
{
    *why = "";
    if (!mesh || !t->shaped || !t->placed || t->local || mesh->nrank > LISTED) return false;
    if (t->nplacement != mesh->naxis) {
        const char *text = mw__explain_text(h->e, "%d placement%s on a mesh of %d dim%s",
                                            t->nplacement, t->nplacement == 1 ? "" : "s",
                                            mesh->naxis, mesh->naxis == 1 ? "" : "s");
        *why = text ? text : "";
        return false;
    }
    mw_str text = {0};
    for (int i = 0; i < t->nplacement; i++) {
        dt_tensor one = {.nplacement = 1, .placement = {t->placement[i]}};
        dt_placement *p = &one.placement[0];
        if (p->dim < 0) p->dim += t->ndim;
        if (p->kind == 'N') break;
        if (p->kind == 'M') p->kind = 'P';
        mw__dt_placements_str(&one, &text);
    }
    mw_reading *reading = NULL;
    mw_status status = mw__str_status(&text);
    if (status == MW_OK)
        status = mw_notation_read(mesh, mw__str_text(&text), t->ndim, t->shape, t->dtype, &reading);
    mw__dt_done(h, &text);
    if (mw__dt_failed(h, status)) {
        const char *says = mw__explain_text(h->e, "%.300s", mw_last_error()->says);
        *why = says ? says : "";
        mw_error_clear();
        return false;
    }
    const mw_layout *l = mw_reading_layout(reading);
    if (l)
        *ret = *l;
    else
        *why = mw__explain_text(h->e, "%s", mw_reading_why(reading));
    if (!*why) *why = "";
    mw_reading_free(reading);
    return l != NULL;
}

bool mw__dt_unlayout(const dt_here *h, const mw_mesh *mesh, const mw_layout *l, dt_tensor *ret)
{
    mw_notation_text text;
    dt_tensor t = {.shaped = true, .ndim = l->ndim, .dtype = (mw_dtype)l->dtype};
    mw_layout_shape(l, t.shape);
    if (mw__dt_failed(h, mw_notation_print(mesh, l, MW_NOTATION_DTENSOR, &text))) return false;
    bool said = text.text && mw__dt_read_placements(text.text, (int64_t)strlen(text.text), &t);
    mw_notation_text_done(&text);
    if (said) *ret = t;
    return said;
}

/* ---- shards
 * ------------------------------------------------------------------------------------------ */

typedef struct shapes {
    int n;
    int64_t at[SHAPES][DT_DIMS];
    int first[SHAPES], last[SHAPES], count[SHAPES];
} shapes;

static void add_shape(shapes *s, const int64_t *shape, int ndim, int rank)
{
    for (int i = 0; i < s->n; i++)
        if (memcmp(s->at[i], shape, (size_t)ndim * sizeof *shape) == 0) {
            s->last[i] = rank;
            s->count[i]++;
            return;
        }
    if (s->n == SHAPES) return;
    memcpy(s->at[s->n], shape, (size_t)ndim * sizeof *shape);
    s->first[s->n] = s->last[s->n] = rank;
    s->count[s->n++] = 1;
}

static void all_shapes(const mw_mesh *mesh, const mw_layout *l, shapes *ret)
{
    ret->n = 0;
    int64_t shape[DT_DIMS];
    for (int rank = 0; rank < mesh->nrank; rank++) {
        mw_layout_local_shape(mesh, l, rank, shape);
        add_shape(ret, shape, l->ndim, rank);
    }
}

const char *mw__dt_locals(const dt_here *h, const mw_mesh *mesh, const mw_layout *l)
{
    shapes all;
    all_shapes(mesh, l, &all);
    mw_str text = {0};
    int told = 0;
    for (int i = 0; i < all.n; i++) {
        if (i) mw__str_puts(&text, "; ");
        mw__dt_shape_str(all.at[i], l->ndim, &text);
        told += all.count[i];
        if (all.n == 1) break;
        if (all.count[i] == 1)
            mw__str_printf(&text, " on rank %d", all.first[i]);
        else if (all.last[i] - all.first[i] + 1 == all.count[i])
            mw__str_printf(&text, " on ranks %d-%d", all.first[i], all.last[i]);
        else
            mw__str_printf(&text, " on %d ranks (%d first)", all.count[i], all.first[i]);
    }
    if (all.n > 1 && told < mesh->nrank) mw__str_puts(&text, "; others on the other ranks");
    const char *made = mw__dt_text(h, &text);
    mw__dt_done(h, &text);
    return made;
}

bool mw__dt_uneven(const mw_mesh *mesh, const mw_layout *l)
{
    shapes all;
    all_shapes(mesh, l, &all);
    return all.n > 1;
}

int64_t mw__dt_bytes(const dt_tensor *t)
{
    int64_t bytes = mw_dtype_size(t->dtype);
    if (!t->shaped || !t->dtype) return -1;
    for (int i = 0; i < t->ndim; i++)
        if (__builtin_mul_overflow(bytes, t->shape[i], &bytes)) return -1;
    return bytes;
}

int64_t mw__dt_local_bytes(const mw_mesh *mesh, const mw_layout *l)
{
    if (!l->dtype) return -1;
    return mw__layout_largest_shard(mesh, l) * mw_dtype_size((mw_dtype)l->dtype);
}

/* ---- movements
 * --------------------------------------------------------------------------------------- */

int64_t mw__dt_moving(const dt_here *h, const mw_mesh *mesh, const mw_layout *from,
                      const mw_layout *to, const char **steps)
{
    if (steps) *steps = "";
    if (mesh->nrank > PLANNED || mw__layout_count(from) < 0) return -1;
    mw_layout a = *from, b = *to;
    if (!a.dtype) a.dtype = b.dtype;
    b.dtype = a.dtype;
    if (!a.dtype) return -1;
    mw_plan *plan = mw__arena_alloc(h->scratch, sizeof *plan);
    if (!plan) {
        h->e->failed = true;
        return -1;
    }
    if (mw__dt_failed(h, mw__plan_make(mesh, &a, &b, h->scratch, plan))) {
        mw_error_clear();
        return -1;
    }
    if (steps) {
        mw_str text = {0};
        mw__plan_str(plan, &text);
        *steps = mw__dt_text(h, &text);
        mw__dt_done(h, &text);
    }
    return plan->recv_bytes;
}

const char *mw__dt_collective(const dt_placement *from, const dt_placement *to)
{
    bool cut_from = from->kind == 'S' || from->kind == '_';
    bool cut_to = to->kind == 'S' || to->kind == '_';
    bool terms = from->kind == 'P' || from->kind == 'M' || from->kind == 'N';
    if (from->kind == to->kind && from->dim == to->dim && from->split == to->split &&
        (cut_from || from->kind == 'R'))
        return NULL;
    if (cut_from && to->kind == 'R') return "all_gather";
    if (cut_from && cut_to) return "all_to_all";
    if (terms && to->kind == 'R') return "all_reduce";
    if (terms && cut_to) return "reduce_scatter";
    return NULL;
}
