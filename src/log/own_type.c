/* Types of meshwise's own texts. Their grammar is read here without a mesh, as far as the sizes and
 * the fact that something is cut go; on a mesh that is known the library's own parser reads them.
 */
#include "log/own.h"

#include "plan/plan.h"

enum { PLANNED_RANKS = 256, LONGEST = 2000 };

static const char cross[] = "\xc2\xb7", dot_operator[] = "\xe2\x8b\x85";

static bool times(const char **at)
{
    return mw__own_skip(at, cross) || mw__own_skip(at, dot_operator) || mw__own_skip(at, "*");
}

/* One axis, `tp`, `"a b"`, `tp:(2)2`, `:3`, or several in brackets: where it ends. */
static bool cut(const char **at)
{
    const char *name;
    int length;
    int64_t n;
    if (mw__own_skip(at, "(")) {
        do {
            if (!cut(at)) return false;
        } while (mw__own_skip(at, ","));
        return mw__own_skip(at, ")");
    }
    if (**at == '"') {
        const char *close = strchr(*at + 1, '"');
        if (!close) return false;
        *at = close + 1;
    } else if (**at != ':' && !mw__own_name(at, &name, &length))
        return false;
    if (!mw__own_skip(at, ":")) return true;
    return !mw__own_skip(at, "(")
               ? mw__own_int(at, &n)
               : mw__own_int(at, &n) && mw__own_skip(at, ")") && mw__own_int(at, &n);
}

/* Moves over the comma to another cut; one before a digit begins the next dim. */
static bool more_cuts(const char **at)
{
    if (**at != ',') return false;
    const char *next = *at + 1 + strspn(*at + 1, " ");
    if (*next >= '0' && *next <= '9') return false;
    *at = next;
    return true;
}

static bool dim(const char **at, own_type *ret)
{
    int64_t size = 1, factor;
    do {
        if (!mw__own_int(at, &factor) || __builtin_mul_overflow(size, factor, &size)) return false;
        if (!mw__own_skip(at, "@")) continue;
        ret->cut = true;
        do {
            if (!cut(at)) return false;
        } while (more_cuts(at));
    } while (times(at));
    (void)mw__own_skip(at, "?");
    if (ret->ndim == MW_LAYOUT_DIMS) return false;
    ret->shape[ret->ndim++] = size;
    return true;
}

static bool partials(const char **at, own_type *ret)
{
    const char *end = strchr(*at, '}');
    if (!end || !memchr(*at, ':', (size_t)(end - *at))) return false;
    for (const char *p = *at; p < end; p++)
        if (*p == '{' || *p == '=' || *p == '[') return false;
    *at = end + 1;
    ret->partial = true;
    return true;
}

/* ` on @other`, and Shardy's priorities, ` p1` or ` p(0, 1)`, which a program's types may carry. */
static void read_suffixes(const own_here *h, const char **at, own_type *ret)
{
    const char *name;
    int length;
    int64_t n;
    if (mw__own_skip(at, " on @") && mw__own_name(at, &name, &length)) {
        uint64_t hash = mw__hash(1, name, (size_t)length);
        for (ret->mesh = h->state->nmesh - 1; ret->mesh >= 0; ret->mesh--)
            if (h->state->mesh[ret->mesh].name == hash) break;
    }
    const char *p = *at;
    if (!mw__own_skip(&p, " p")) return;
    if (*p == '(') {
        const char *close = strchr(p, ')');
        if (close) *at = close + 1;
    } else if (mw__own_int(&p, &n))
        *at = p;
}

bool mw__own_type(const own_here *h, const char **at, own_type *ret)
{
    const char *p = *at, *word;
    int length;
    *ret = (own_type){.text = ""};
    if (!mw__own_name(&p, &word, &length) || *p != '[') return false;
    ret->dtype = mw_dtype_read(word, length);
    if (ret->dtype == MW_DTYPE_NONE) return false;
    p++;
    if (!mw__own_skip(&p, "]")) {
        do {
            p += strspn(p, " ");
            if (!dim(&p, ret)) return false;
        } while (mw__own_skip(&p, ","));
        if (!mw__own_skip(&p, "]")) return false;
    }
    if (*p == '{') {
        const char *inside = p + 1;
        if (!partials(&inside, ret)) return false;
        p = inside;
    }
    if (p - *at > LONGEST) return false;
    ret->text = mw__own_cut(h, *at, p - *at);
    if (*p == '?') p++; /* a number's, whose layout is not stated */
    read_suffixes(h, &p, ret);
    *at = p;
    return true;
}

/* ---- on a mesh -------------------------------------------------------------------------------
 */

bool mw__own_mesh_set(const own_here *h, const char *text, uint64_t name, bool first)
{
    own_state *s = h->state;
    mw_mesh *mesh = NULL;
    mw_status status = mw_mesh_parse(text, &mesh);
    if (status == MW_ERR_NOMEM) h->e->failed = true;
    if (status != MW_OK) {
        mw_error_clear();
        return false;
    }
    for (; first && s->nmesh > 0; s->nmesh--)
        mw_mesh_unref(s->mesh[s->nmesh - 1].mesh);
    if (s->nmesh == OWN_MESHES) {
        mw_mesh_unref(mesh);
        return true;
    }
    s->mesh[s->nmesh++] = (own_mesh){mesh, name, h->line->number};
    return true;
}

const mw_mesh *mw__own_mesh(const own_here *h, const own_type *t, mw_how *ret_how,
                            const char **ret_from)
{
    const own_state *s = h->state;
    const mw_mesh *given = mw__explain_mesh(h->e);
    *ret_how = MW_HOW_ASSUMED;
    *ret_from = "the mesh that was given; a text that states it would settle it";
    if (t->mesh < 0) return NULL;
    if (t->mesh >= s->nmesh || (h->apart && given)) return given;
    *ret_how = h->apart ? MW_HOW_ASSUMED : MW_HOW_DERIVED;
    const char *text = mw__arena_printf(
        mw__explain_scratch(h->e),
        h->apart ? "the mesh of line %lld, the last one stated; --mesh would settle it"
                 : "the type, on the mesh of line %lld",
        (long long)s->mesh[t->mesh].line);
    if (text) *ret_from = text;
    return s->mesh[t->mesh].mesh;
}

bool mw__own_layout(const own_here *h, const own_type *t, mw_layout *ret)
{
    mw_how how;
    const char *from;
    const mw_mesh *mesh = mw__own_mesh(h, t, &how, &from);
    if (!mesh || !t->text[0]) return false;
    mw_status status = mw_layout_parse(mesh, t->text, ret);
    if (status == MW_OK) return true;
    if (status == MW_ERR_NOMEM) h->e->failed = true;
    mw_error_clear();
    return false;
}

static int64_t bytes_of(const own_type *t)
{
    int64_t n = (int64_t)mw_dtype_size(t->dtype);
    for (int i = 0; i < t->ndim; i++)
        if (__builtin_mul_overflow(n, t->shape[i], &n)) return -1;
    return n;
}

/* The rank that holds most, in the order of ranks. */
static int fullest(const mw_mesh *mesh, const mw_layout *l, int64_t *ret_count)
{
    int best = 0;
    int64_t most = -1;
    for (int r = 0; r < mw_mesh_ranks(mesh) && r < PLANNED_RANKS; r++) {
        int64_t n = mw__layout_local_count(mesh, l, r);
        if (n <= most) continue;
        most = n;
        best = r;
    }
    *ret_count = most;
    return best;
}

static void tell_local(const own_here *h, mw_draft *d, const char *name, const own_type *t)
{
    mw_layout l;
    mw_how how;
    const char *from;
    const mw_mesh *mesh = mw__own_mesh(h, t, &how, &from);
    if (!mesh || !mw__own_layout(h, t, &l)) return;
    int64_t count, shape[MW_LAYOUT_DIMS];
    int rank = fullest(mesh, &l, &count);
    mw_layout_local_shape(mesh, &l, rank, shape);
    mw_str text = {0};
    for (int i = 0; i < t->ndim; i++)
        mw__str_printf(&text, "%s%lld", i ? ", " : "", (long long)shape[i]);
    mw__draft_laid(d, name, mesh, &l, how);
    const char *local = mw__explain_text(h->e, "local shape of %s", name);
    const char *bytes = mw__explain_text(h->e, "bytes of %s per rank", name);
    bool even = true;
    for (int r = 0; r < mw_mesh_ranks(mesh) && r < PLANNED_RANKS; r++)
        even = even && mw__layout_local_count(mesh, &l, r) == count;
    if (local && bytes) {
        mw__fact(d, local, how, from, "[%s]%s", mw__str_text(&text),
                 even ? "" : " on the rank that holds most");
        int64_t size;
        if (!__builtin_mul_overflow(count, mw_dtype_size(mw__layout_storage_dtype(&l)), &size))
            mw__fact(d, bytes, how, from, "%lld B", (long long)size);
    }
    if (mw__str_status(&text) != MW_OK) h->e->failed = true;
    mw__str_done(&text);
}

void mw__own_tell_type(const own_here *h, mw_draft *d, const char *name, const own_type *t,
                       const char *from)
{
    mw_how how;
    const char *unused;
    mw__fact(d, name, MW_HOW_STATED, from, "%s", t->text);
    if (bytes_of(t) >= 0) {
        const char *whole = mw__explain_text(h->e, "bytes of %s", name);
        if (whole)
            mw__fact(d, whole, MW_HOW_DERIVED, "sizes and dtype of the whole", "%lld B",
                     (long long)bytes_of(t));
    }
    if (mw__own_mesh(h, t, &how, &unused))
        tell_local(h, d, name, t);
    else if ((t->cut || t->partial) && t->mesh >= 0)
        mw__missing(h->e, "the mesh: the types name axes, not how many ranks they have (--mesh "
                          "says it)");
}

int64_t mw__own_moving(const own_here *h, const own_type *a, const own_type *b,
                       const char **ret_kind)
{
    mw_layout from, to;
    mw_how how;
    const char *unused;
    const mw_mesh *mesh = mw__own_mesh(h, a, &how, &unused);
    *ret_kind = NULL;
    if (!mesh || a->mesh != b->mesh || mw_mesh_ranks(mesh) > PLANNED_RANKS ||
        !mw__own_layout(h, a, &from) || !mw__own_layout(h, b, &to))
        return -1;
    mw_arena *scratch = mw__explain_scratch(h->e);
    mw_plan *plan = mw__arena_zalloc(scratch, sizeof *plan);
    mw_status status = plan ? mw__plan_check_pair(mesh, &from, &to) : MW_NOMEM();
    if (status == MW_OK) {
        mw__plan_start(mesh, &from, plan);
        status = mw__plan_add(plan, &to, scratch);
    }
    if (status == MW_ERR_NOMEM) h->e->failed = true;
    if (status != MW_OK) {
        mw_error_clear();
        return -1;
    }
    int moving = 0;
    for (int i = 0; i < plan->nstep; i++) {
        if (!mw__step_moves(plan->step[i].kind)) continue;
        moving++;
        *ret_kind = mw__step_name(plan->step[i].kind);
    }
    if (moving != 1) *ret_kind = NULL;
    return plan->recv_bytes;
}
