/* What an XLA sharding says, in words. Pieces and owners come from the notation reader on a mesh
 * that is made from the text: the cuts of one axis of all devices, made axes of their own. The text
 * names no axes, so their names are ours, and said to be. */
#include "log/explain.h"
#include "log/hlo_text.h"

#include <stdio.h>
#include <stdlib.h>

/* Above these a text is not laid out, and pieces are not listed. */
enum { LAID_DEVICES = 4096, LISTED_DEVICES = 64, LISTED_PIECES = 16, BOUNDS = 32 };

bool mw__hlo_done(mw_explain *e, mw_status status)
{
    if (status == MW_ERR_NOMEM) e->failed = true;
    if (status != MW_OK) mw_error_clear();
    return status == MW_OK;
}

const char *mw__hlo_keep(mw_explain *e, mw_str *text)
{
    const char *kept = mw__explain_text(e, "%s", mw__str_text(text));
    if (text->failed) e->failed = true;
    mw__str_done(text);
    return kept ? kept : "";
}

void mw__hlo_str_shape(int ndim, const int64_t *dim, mw_str *to)
{
    mw__str_putc(to, '[');
    for (int i = 0; i < ndim; i++)
        mw__str_printf(to, "%s%lld", i ? "," : "", (long long)dim[i]);
    mw__str_putc(to, ']');
}

static int64_t copies(const hlo_sharding *s)
{
    int64_t n = 1;
    for (int i = s->ntile - s->nsub; i < s->ntile; i++)
        n *= s->tile[i];
    return n;
}

static void tiles_str(const hlo_sharding *s, mw_str *to)
{
    int whole = 0, ndim = s->ntile - s->nsub;
    for (int i = 0; i < ndim; i++) {
        if (s->tile[i] == 1) {
            whole++;
            continue;
        }
        mw__str_printf(to, "%sdim %d cut in %lld", to->length ? ", " : "", i,
                       (long long)s->tile[i]);
    }
    if (whole == ndim)
        mw__str_puts(to, "no dim cut");
    else if (whole)
        for (int i = 0; i < ndim; i++)
            if (s->tile[i] == 1) mw__str_printf(to, ", dim %d whole", i);
    int64_t n = copies(s) / MW_MAX(s->terms, 1) / MW_MAX(s->manual, 1);
    if (n > 1) mw__str_printf(to, ", each piece on %lld devices", (long long)n);
    if (s->terms > 1)
        mw__str_printf(to, ", as %lld terms of a sum that is still to be made",
                       (long long)s->terms);
    if (s->manual > 1) mw__str_printf(to, ", cut by hand in %lld more", (long long)s->manual);
}

void mw__hlo_sharding_str(const hlo_sharding *s, mw_str *to)
{
    mw_str tiles = {0};
    switch (s->kind) {
    case HLO_TILES_KIND:
        tiles_str(s, &tiles);
        mw__str_printf(to, "%s, on %lld devices", mw__str_text(&tiles), (long long)s->devices);
        mw__str_done(&tiles);
        break;
    case HLO_REPLICATED:
        mw__str_puts(to, "replicated: every device holds all of it");
        break;
    case HLO_MANUAL:
        mw__str_puts(to, "manual: the program cuts it itself, shapes are of one device's piece");
        break;
    case HLO_MAXIMAL:
        mw__str_puts(to, "maximal: all of it on one device");
        break;
    case HLO_UNKNOWN:
        mw__str_puts(to, "unknown: left to propagation");
        break;
    case HLO_UNREDUCED:
        mw__str_puts(to, "unreduced: every device holds a term of the sum");
        break;
    case HLO_TUPLE:
        mw__str_puts(to, "a tuple: one sharding for each element");
        break;
    case HLO_ODD:
    default:
        mw__str_puts(to, "a sharding that can't be read");
        break;
    }
}

/* ---- meshes ------------------------------------------------------------------------------------
 */

mw_reading *mw__hlo_reading(mw_explain *e, const mw_mesh *mesh, const char *text, int64_t length,
                            int ndim, const int64_t *shape)
{
    mw_reading *reading = NULL;
    char *copy = mw__arena_strndup(mw__explain_scratch(e), text, (size_t)length);
    if (!copy) e->failed = true;
    if (!copy || ndim < 0 || ndim > MW_LAYOUT_DIMS) return NULL;
    if (!mw__hlo_done(e, mw_notation_read(mesh, copy, ndim, shape, MW_DTYPE_i8, &reading)))
        return NULL;
    return reading;
}

static int add_bounds(const mw_layout *l, int64_t *bound, int n)
{
    for (int d = 0; d < l->ndim; d++)
        for (int c = 0; c < l->dim[d].ncut; c++) {
            const mw_cut *cut = &l->dim[d].cut[c];
            if (cut->axis != 0 || n + 2 > BOUNDS) continue;
            bound[n++] = cut->major;
            bound[n++] = (int64_t)cut->major * cut->size;
        }
    return n;
}

static int rising(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The mesh whose axes end where cuts do; NULL where they are not one within the other. */
static mw_mesh *mesh_of_bounds(int64_t *bound, int n, int64_t devices)
{
    mw_str text = {0};
    mw_mesh *mesh = NULL;
    int axes = 0;
    int64_t last = 1;
    bound[n++] = devices;
    qsort(bound, (size_t)n, sizeof *bound, rising);
    bool fits = true;
    for (int i = 0; i < n && fits; i++) {
        if (bound[i] == last) continue;
        fits = bound[i] % last == 0 && axes < MW_MESH_AXES;
        mw__str_printf(&text, "%s%c=%lld", axes ? "," : "", 'a' + axes,
                       (long long)(bound[i] / last));
        axes++;
        last = bound[i];
    }
    if (fits && axes && mw_mesh_parse(mw__str_text(&text), &mesh) != MW_OK) mw_error_clear();
    mw__str_done(&text);
    return mesh;
}

static int bounds_of(mw_explain *e, const mw_mesh *one, const hlo_sharding *s, int64_t *bound,
                     int n)
{
    if (!s || s->kind != HLO_TILES_KIND || s->ntile - s->nsub > HLO_DIMS) return n;
    mw_reading *r = mw__hlo_reading(e, one, s->at, s->length, s->ntile - s->nsub, s->tile);
    if (r && mw_reading_layout(r)) n = add_bounds(mw_reading_layout(r), bound, n);
    mw_reading_free(r);
    return n;
}

static mw_mesh *given_mesh(mw_explain *e, int64_t devices)
{
    const mw_mesh *given = mw__explain_mesh(e);
    char text[1024];
    mw_mesh *mesh = NULL;
    if (!given || mw_mesh_ranks(given) != devices) return NULL;
    if (mw_mesh_print(given, text, sizeof text) >= (int)sizeof text) return NULL;
    if (mw_mesh_parse(text, &mesh) != MW_OK) mw_error_clear();
    return mesh;
}

/* The mesh that a V3 sharding states. */
static mw_mesh *stated_mesh(mw_explain *e, const hlo_sharding *s)
{
    mw_str text = {0};
    mw_mesh *mesh = NULL;
    if (mw__hlo_v3_sdy(s, &text))
        (void)mw__hlo_done(e, mw_notation_mesh(mw__str_text(&text), &mesh));
    mw__str_done(&text);
    return mesh;
}

mw_mesh *mw__hlo_mesh(mw_explain *e, const hlo_sharding *a, const hlo_sharding *b)
{
    if (a->named || (b && b->named)) return stated_mesh(e, a->named ? a : b);
    int64_t devices = a->devices ? a->devices : b ? b->devices : 0, bound[BOUNDS + 1];
    char text[32];
    if (devices < 2 || devices > LAID_DEVICES) return NULL;
    if (a->devices && b && b->devices && a->devices != b->devices) return NULL;
    mw_mesh *mesh = given_mesh(e, devices), *one = NULL;
    if (mesh) return mesh;
    (void)snprintf(text, sizeof text, "a=%lld", (long long)devices);
    if (!mw__hlo_done(e, mw_mesh_parse(text, &one))) return NULL;
    int n = bounds_of(e, one, a, bound, 0);
    n = bounds_of(e, one, b, bound, n);
    mesh = mesh_of_bounds(bound, n, devices);
    if (!mesh) return one;
    mw_mesh_unref(one);
    return mesh;
}

/* ---- facts -------------------------------------------------------------------------------------
 */

static const char *name_of(mw_explain *e, const char *label, const char *name)
{
    const char *text = *label ? mw__explain_text(e, "%s: %s", label, name) : name;
    return text ? text : "";
}

/* The piece of one rank, `[0:6, 3:6]`. */
static bool piece(const mw_reading *r, int rank, int ndim, mw_range *ret)
{
    for (int d = 0; d < ndim; d++) {
        int64_t count = 0;
        ret[d] = (mw_range){0, 0};
        if (mw_reading_ranges(r, rank, d, &ret[d], 1, &count) != MW_OK) {
            mw_error_clear();
            return false;
        }
        if (count > 1) return false;
    }
    return true;
}

static void piece_str(const mw_range *range, int ndim, mw_str *to)
{
    mw__str_putc(to, '[');
    for (int d = 0; d < ndim; d++)
        mw__str_printf(to, "%s%lld:%lld", d ? ", " : "", (long long)range[d].first,
                       (long long)range[d].end);
    mw__str_puts(to, "] on {");
}

static void tell_pieces(mw_explain *e, mw_draft *d, const char *label, const mw_reading *r, int n,
                        int ndim)
{
    mw_range all[LISTED_DEVICES][MW_LAYOUT_DIMS];
    bool told[LISTED_DEVICES] = {false};
    mw_str text = {0};
    if (n > LISTED_DEVICES || ndim < 1) return;
    for (int i = 0; i < n; i++)
        if (!piece(r, i, ndim, all[i])) return;
    for (int i = 0, pieces = 0; i < n; i++) {
        if (told[i]) continue;
        if (pieces++ == LISTED_PIECES) {
            mw__str_puts(&text, "; ...");
            break;
        }
        if (text.length) mw__str_puts(&text, "; ");
        piece_str(all[i], ndim, &text);
        for (int k = i; k < n; k++) {
            if (memcmp(all[i], all[k], (size_t)ndim * sizeof all[i][0]) != 0) continue;
            mw__str_printf(&text, "%s%d", k > i ? "," : "", k);
            told[k] = true;
        }
        mw__str_putc(&text, '}');
    }
    const char *kept = mw__hlo_keep(e, &text);
    mw__fact(d, name_of(e, label, "pieces and their devices"), MW_HOW_DERIVED,
             "the sharding, tile by tile in the order of its devices", "%s", kept);
}

static void tell_printed(mw_explain *e, mw_draft *d, const char *label, const mw_reading *r,
                         mw_notation notation, const char *name)
{
    mw_notation_text text = {.text = NULL};
    if (mw_reading_notation(r) == notation) return;
    if (!mw__hlo_done(e, mw_reading_print(r, notation, &text))) return;
    if (text.text)
        mw__fact(d, name_of(e, label, name), MW_HOW_DERIVED, "the same tiles on that mesh", "%s",
                 text.text);
    mw_notation_text_done(&text);
}

static void tell_local(mw_explain *e, mw_draft *d, const char *label, const mw_reading *r, int n,
                       int ndim, int bits)
{
    mw_str text = {0};
    int64_t first[MW_LAYOUT_DIMS] = {0}, count = 1;
    bool differ = false;
    mw_range range[MW_LAYOUT_DIMS];
    if (ndim == 0) return;
    for (int i = 0; i < MW_MIN(n, LAID_DEVICES); i++) {
        if (!piece(r, i, ndim, range)) return;
        for (int k = 0; k < ndim; k++) {
            int64_t size = range[k].end - range[k].first;
            if (i == 0) first[k] = size;
            differ |= size != first[k];
        }
    }
    for (int k = 0; k < ndim; k++)
        if (mw__mul_size(count, first[k], &count) != MW_OK) count = -1, k = ndim;
    mw_error_clear();
    mw__hlo_str_shape(ndim, first, &text);
    if (differ) mw__str_puts(&text, " at most: the last pieces are smaller, and padded to this");
    const char *kept = mw__hlo_keep(e, &text);
    mw__fact(d, name_of(e, label, "local shape"), MW_HOW_DERIVED, "the shape cut by the sharding",
             "%s", kept);
    if (bits && count >= 0 && count < INT64_C(1) << 55)
        mw__fact(d, name_of(e, label, "local bytes"), MW_HOW_DERIVED, "local shape times dtype",
                 "%lld B", (long long)((count * bits + 7) / 8));
}

void mw__hlo_tell_reading(mw_explain *e, mw_draft *d, const char *label, const mw_mesh *mesh,
                          const mw_reading *r, int bits)
{
    int64_t shape[MW_LAYOUT_DIMS];
    int ndim = mw_reading_shape(r, shape), n = mw_mesh_ranks(mesh);
    tell_local(e, d, label, r, n, ndim, bits);
    tell_pieces(e, d, label, r, n, ndim);
    tell_printed(e, d, label, r, MW_NOTATION_SPEC, "as a partition spec");
    tell_printed(e, d, label, r, MW_NOTATION_SDY, "in Shardy's words");
    tell_printed(e, d, label, r, MW_NOTATION_DTENSOR, "as DTensor placements");
    tell_printed(e, d, label, r, MW_NOTATION_HLO_V2, "as an HLO sharding");
    if (mw_reading_layout(r)) mw__draft_laid(d, label, mesh, mw_reading_layout(r), MW_HOW_DERIVED);
    if (!mw_reading_layout(r) && *mw_reading_why(r))
        mw__fact(d, name_of(e, label, "no layout"), MW_HOW_DERIVED, "the notation reader", "%s",
                 mw_reading_why(r));
}

/* As mw__hlo_reading, of a sharding in any version. */
mw_reading *mw__hlo_sharding_reading(mw_explain *e, const mw_mesh *mesh, const hlo_sharding *s,
                                     int ndim, const int64_t *shape)
{
    mw_str text = {0};
    if (!s->named) return mw__hlo_reading(e, mesh, s->at, s->length, ndim, shape);
    mw_reading *r = mw__hlo_v3_sdy(s, &text) ? mw__hlo_reading(e, mesh, mw__str_text(&text),
                                                               (int64_t)text.length, ndim, shape)
                                             : NULL;
    mw__str_done(&text);
    return r;
}

static void tell_mesh(mw_explain *e, mw_draft *d, const char *label, const hlo_sharding *s,
                      const mw_mesh *mesh)
{
    char text[256];
    if (mw_mesh_print(mesh, text, sizeof text) >= (int)sizeof text) return;
    if (s->named) {
        mw__fact(d, name_of(e, label, "mesh"), MW_HOW_STATED, "the sharding", "%s", text);
        return;
    }
    bool given = mw__explain_mesh(e) && mw_mesh_same(mesh, mw__explain_mesh(e));
    if (given)
        mw__fact(d, name_of(e, label, "mesh"), MW_HOW_ASSUMED, "given with --mesh", "%s", text);
    else
        mw__fact(d, name_of(e, label, "mesh"), MW_HOW_DERIVED,
                 "where the tiles cut the order of devices; the names of its axes are ours, the "
                 "text has none",
                 "%s", text);
}

static bool whole_shape(const hlo_sharding *s, const hlo_shape *shape, bool local, int64_t *ret)
{
    for (int i = 0; i < shape->ndim; i++) {
        ret[i] = shape->dim[i];
        if (local && mw__mul_size(shape->dim[i], s->tile[i], &ret[i]) != MW_OK) {
            mw_error_clear();
            return false;
        }
    }
    return true;
}

static void tell_meaning(mw_explain *e, mw_draft *d, const char *label, const hlo_sharding *s,
                         const hlo_shape *shape, bool local, const mw_mesh *mesh)
{
    mw_str text = {0};
    mw__hlo_sharding_str(s, &text);
    const char *words = mw__hlo_keep(e, &text);
    mw__fact(d, name_of(e, label, "meaning"), MW_HOW_DERIVED,
             s->named                    ? "the axes of its mesh"
             : s->kind != HLO_TILES_KIND ? "the word it is"
             : s->nsub ? "the last number of devices=[...] counts copies, it is no tensor dim"
                       : "the numbers of devices=[...] are pieces per tensor dim",
             "%s", words);
    int ndim = s->ntile - s->nsub;
    if (s->kind != HLO_TILES_KIND || ndim > HLO_DIMS || (shape && shape->ndim != ndim)) return;
    int64_t whole[HLO_DIMS];
    mw_mesh *made = mesh ? NULL : mw__hlo_mesh(e, s, NULL);
    const mw_mesh *on = mesh ? mesh : made;
    if (on && (!shape || whole_shape(s, shape, local, whole))) {
        tell_mesh(e, d, label, s, on);
        mw_reading *r = mw__hlo_sharding_reading(e, on, s, ndim, shape ? whole : s->tile);
        if (shape && local) {
            mw__hlo_str_shape(ndim, whole, &text);
            words = mw__hlo_keep(e, &text);
            mw__fact(d, name_of(e, label, "global shape"), MW_HOW_DERIVED,
                     "local shape times pieces (less where the last piece is padded)", "%s", words);
        }
        if (r && shape)
            mw__hlo_tell_reading(e, d, label, on, r, shape->bits);
        else if (r) {
            tell_printed(e, d, label, r, MW_NOTATION_SPEC, "as a partition spec");
            tell_pieces(e, d, name_of(e, label, "of a tensor with one element per tile"), r,
                        mw_mesh_ranks(on), ndim);
        }
        mw_reading_free(r);
    }
    mw_mesh_unref(made);
}

void mw__hlo_tell(mw_explain *e, mw_draft *d, const char *label, const char *from,
                  const hlo_sharding *s, const hlo_shape *shape, bool local, const mw_mesh *mesh)
{
    const mw_entry *entry = mw__draft_entry(d);
    if (!entry) return;
    mw__fact(d, name_of(e, label, "sharding"), MW_HOW_STATED, from, "%.*s",
             (int)MW_MIN(s->length, 2000), s->at);
    int first = entry->nfact;
    bool alone = !*label && !mesh; /* entries with one sharding say the same for the same shape */
    uint64_t key = alone ? mw__hlo_key(s->at, s->length, shape, 0, local) : 0;
    if (alone && mw__hlo_told_before(e, d, key)) return;
    tell_meaning(e, d, label, s, shape, local, mesh);
    if (alone) mw__hlo_tell_again(e, d, key, first);
}
