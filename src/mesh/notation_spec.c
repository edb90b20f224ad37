/* Partition specs: an entry per dim that names the axes which tile it.
 *
 *     P('x', None, ('y', 'z'))      JAX: may be shorter than the tensor; P() is all of it
 * everywhere
 *     ('x', None, ('y', 'z'))       PyTorch/XLA: one entry for each dim; axes by name or number
 *     P('x', unreduced={'y'})       each rank of y holds a term of the sum
 *
 * A dim's axes tile it once, by their product, the first one major. */
#include "mesh/notation.h"

#include "mesh/owner.h"

typedef struct spec {
    mw__reader *r;
    mw_reading *reading;
    mw__uses uses;
    bool jax;
    mw_reduce kind;
} spec;

/* ---- reading ------------------------------------------------------------------------------- */

/* A name in quotes of either kind. */
static mw_status read_quoted(spec *s, char *ret_name)
{
    const char *start = s->r->at, *from = start + 1;
    const char *end = strchr(from, *start);
    if (!end) return mw__reader_fail(s->r, start, MW_ERR_PARSE, "the quoted name has no end");
    if (end == from) return mw__reader_fail(s->r, start, MW_ERR_PARSE, "the name is empty");
    if (end - from > MW_AXIS_NAME)
        return mw__reader_fail(s->r, start, MW_ERR_PARSE, "the name is longer than %d bytes",
                               MW_AXIS_NAME);
    memcpy(ret_name, from, (size_t)(end - from));
    ret_name[end - from] = 0;
    s->r->at = end + 1;
    return MW_OK;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* 'x', or the number of an axis. */
static mw_status read_axis(spec *s, mw_cut *ret)
{
    char name[MW_AXIS_NAME + 1];
    const mw_mesh *mesh = s->reading->mesh;
    char c = mw__reader_peek(s->r);
    const char *at = s->r->at;
    int axis = 0;
    if (c == '\'' || c == '"') {
        MW_TRY(read_quoted(s, name));
        MW_TRY(mw__reader_axis(s->r, mesh, at, name, &axis));
    } else if (is_digit(c)) {
        int64_t number = 0;
        MW_TRY(mw__reader_int(s->r, "an axis", &number));
        if (number >= mesh->naxis)
            return mw__reader_fail(s->r, at, MW_ERR_PARSE, "the mesh has %d axes, no number %lld",
                                   mesh->naxis, (long long)number);
        axis = (int)number;
    } else if (c == '(') {
        return mw__reader_fail(s->r, at, MW_ERR_PARSE, "a tuple of axes holds no further tuple");
    } else {
        return mw__reader_fail(s->r, at, MW_ERR_PARSE,
                               "expected an axis: a name in quotes or a number");
    }
    mw_cut cut = mw__cut_make(axis, false, 1, mesh->size[axis]);
    MW_TRY(mw__uses_add(&s->uses, s->r, mesh, at, cut));
    *ret = cut;
    return MW_OK;
}

static bool take_unconstrained(mw__reader *r)
{
    return mw__reader_word(r, "P.UNCONSTRAINED") || mw__reader_word(r, "UNCONSTRAINED") ||
           mw__reader_word(r, "PartitionSpec.UNCONSTRAINED");
}

/* What one dim is cut by. */
static mw_status read_entry(spec *s, mw__tile *tile, bool *ret_open)
{
    mw_cut cut;
    mw__reader_space(s->r);
    const char *at = s->r->at;
    *ret_open = false;
    if (mw__reader_word(s->r, "None")) return MW_OK;
    if (take_unconstrained(s->r)) {
        *ret_open = true;
        return MW_OK;
    }
    if (!mw__reader_take(s->r, '(')) {
        MW_TRY(read_axis(s, &cut));
        return mw__tile_add(tile, s->r, at, cut);
    }
    while (!mw__reader_take(s->r, ')')) {
        at = s->r->at;
        MW_TRY(read_axis(s, &cut));
        MW_TRY(mw__tile_add(tile, s->r, at, cut));
        if (mw__reader_peek(s->r) != ')')
            MW_TRY(mw__reader_expect(s->r, ',', "',' or ')' between axes"));
    }
    return MW_OK;
}

/* {'x', 'y'}, or frozenset({...}), ('x',) and so on. */
static mw_status read_set(spec *s, bool partial)
{
    bool frozen = mw__reader_word(s->r, "frozenset");
    if (frozen) MW_TRY(mw__reader_expect(s->r, '(', "'(' after frozenset"));
    if (frozen && mw__reader_take(s->r, ')')) return MW_OK;
    bool word = mw__reader_word(s->r, "set()");
    if (word) return MW_OK;
    char open = mw__reader_peek(s->r);
    char close = open == '{' ? '}' : open == '[' ? ']' : ')';
    if (open != '{' && open != '[' && open != '(')
        return mw__reader_fail(s->r, s->r->at, MW_ERR_PARSE, "expected a set of axes, like {'x'}");
    s->r->at++;
    while (!mw__reader_take(s->r, close)) {
        mw_cut cut;
        mw__reader_space(s->r);
        const char *at = s->r->at;
        MW_TRY(read_axis(s, &cut));
        if (partial) MW_TRY(mw__reading_add_partial(s->reading, s->r, at, MW_REDUCE_SUM, cut));
        if (mw__reader_peek(s->r) != close)
            MW_TRY(mw__reader_expect(s->r, ',', "',' or the end of the set"));
    }
    if (frozen) MW_TRY(mw__reader_expect(s->r, ')', "')' after the set"));
    return MW_OK;
}

static mw_status read_kind(spec *s)
{
    mw__reader_space(s->r);
    const char *at = s->r->at;
    bool quoted = *at == '\'' || *at == '"';
    const char *name = at + quoted;
    int n = 0;
    while (name[n] >= 'a' && name[n] <= 'z')
        n++;
    s->kind = mw__reduce_read(name, n);
    if (s->kind == MW_REDUCE_NONE || (quoted && name[n] != *at))
        return mw__reader_fail(s->r, at, MW_ERR_PARSE, "expected sum, max or min");
    s->r->at = name + n + quoted;
    return MW_OK;
}

/* unreduced={...} and what else is named. *ret_found false: an entry comes. */
static mw_status read_named(spec *s, bool *ret_found)
{
    *ret_found = true;
    if (mw__reader_word(s->r, "unreduced_kind")) {
        MW_TRY(mw__reader_expect(s->r, '=', "'='"));
        return read_kind(s);
    }
    if (mw__reader_word(s->r, "unreduced")) {
        MW_TRY(mw__reader_expect(s->r, '=', "'='"));
        return read_set(s, true);
    }
    if (mw__reader_word(s->r, "reduced")) {
        MW_TRY(mw__reader_expect(s->r, '=', "'='"));
        mw__reading_note(s->reading, "reduced= speaks of the gradient: read as replicated");
        return read_set(s, false);
    }
    *ret_found = false;
    return MW_OK;
}

static mw_status read_entries(spec *s)
{
    mw_reading *reading = s->reading;
    const char *start = s->r->at;
    int n = 0;
    MW_TRY(mw__reader_expect(s->r, '(', "'(' and the entries"));
    while (!mw__reader_take(s->r, ')')) {
        bool named;
        MW_TRY(read_named(s, &named));
        if (!named) {
            mw__tile tile = {0};
            bool open;
            const char *at = s->r->at;
            MW_TRY(read_entry(s, &tile, &open));
            if (n == reading->ndim)
                return mw__reader_fail(s->r, at, MW_ERR_SHAPE,
                                       "more entries than the %d dims of the shape", n);
            reading->layout.dim[n] = mw__tile_dim(reading->shape[n], &tile, open);
            n++;
        }
        if (mw__reader_peek(s->r) != ')')
            MW_TRY(mw__reader_expect(s->r, ',', "',' or ')' between entries"));
    }
    if (n < reading->ndim && !s->jax && n > 0) {
        mw_status status = mw__reader_fail(
            s->r, start, MW_ERR_SHAPE, "%d entries for the %d dims of the shape", n, reading->ndim);
        mw__error_hint("a tuple has an entry for each dim; P(...) may leave the last ones out");
        return status;
    }
    return MW_OK;
}

mw_status mw__spec_read(mw__reader *r, mw_reading *reading)
{
    spec s = {.r = r, .reading = reading, .kind = MW_REDUCE_SUM};
    s.jax = mw__reader_word(r, "PartitionSpec") || mw__reader_word(r, "P");
    MW_TRY(read_entries(&s));
    for (int p = 0; p < reading->layout.npartial; p++)
        reading->layout.partial[p].kind = (uint16_t)s.kind;
    return MW_OK;
}

/* ---- printing ------------------------------------------------------------------------------ */

static void put_axis(const mw_mesh *mesh, int axis, mw_str *to)
{
    char quote = strchr(mesh->name[axis], '\'') ? '"' : '\'';
    mw__str_printf(to, "%c%s%c", quote, mesh->name[axis], quote);
}

static void put_tile(const mw_mesh *mesh, const mw__tile *tile, mw_str *to)
{
    if (tile->n == 0) mw__str_puts(to, "None");
    if (tile->n > 1) mw__str_putc(to, '(');
    for (int i = 0; i < tile->n; i++) {
        if (i) mw__str_puts(to, ", ");
        put_axis(mesh, tile->part[i].axis, to);
    }
    if (tile->n > 1) mw__str_putc(to, ')');
}

/* Sums alone: no release of JAX that is about writes another kind. */
static bool put_unreduced(const mw_mesh *mesh, const mw_layout *layout, mw_str *to, mw_str *why)
{
    for (int p = 0; p < layout->npartial; p++) {
        const mw_partial *part = &layout->partial[p];
        if (part->kind != MW_REDUCE_SUM) {
            mw__str_printf(why, "a partition spec has sums alone for partial, not %s",
                           mw__reduce_name((mw_reduce)part->kind));
            return false;
        }
        if (part->size != mesh->size[part->axis]) {
            mw__str_printf(why, "a partition spec does not name a part of axis %s",
                           mesh->name[part->axis]);
            return false;
        }
        mw__str_puts(to, p ? ", " : layout->ndim ? ", unreduced={" : "unreduced={");
        put_axis(mesh, part->axis, to);
    }
    if (layout->npartial) mw__str_putc(to, '}');
    return true;
}

void mw__spec_print(const mw_mesh *mesh, const mw_layout *layout, mw_str *to, mw_str *why)
{
    mw__str_puts(to, "P(");
    for (int d = 0; d < layout->ndim; d++) {
        const mw_dim *dim = &layout->dim[d];
        mw__tile tile;
        if (!mw__tile_of(mesh, dim, true, &tile)) {
            mw__tile_why(mesh, d, dim, true, "a partition spec", why);
            return;
        }
        if (dim->open && tile.n) {
            mw__str_printf(why, "dim %d is cut and open: a partition spec has no word for it", d);
            return;
        }
        if (d) mw__str_puts(to, ", ");
        if (dim->open)
            mw__str_puts(to, "P.UNCONSTRAINED");
        else
            put_tile(mesh, &tile, to);
    }
    if (put_unreduced(mesh, layout, to, why)) mw__str_putc(to, ')');
}
