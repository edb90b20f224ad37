/* Pictures of shardings: the boxes that jax.debug.visualize_array_sharding, PyTorch/XLA's
 * visualize_sharding and DTensor's draw with lines (of any kind of line, or none where they
 * colour), and DTensor's table of row and column ranges. A grid is filled as lines come; a cell's
 * text may stand over several lines, and a narrow cell loses some of it. */
#include "log/explain.h"
#include "log/picture.h"

#include <stdlib.h>

typedef struct pic_state {
    pic_grid grid;
    int64_t caption; /* the line whose shape and spec are kept */
    bool shaped;
    int ndim;
    int64_t shape[MW_LAYOUT_DIMS];
    const char *spec;
} pic_state;

/* ---- characters --------------------------------------------------------------------------------
 */

typedef enum stroke { TEXT, UPRIGHT, LEVEL, CORNER, CUT } stroke;

/* What stands at `at`, of *ret_bytes bytes. Box drawing is U+2500 to U+257F: e2 94 80 to e2 95 bf.
 */
static stroke stroke_at(const char *at, int *ret_bytes)
{
    unsigned char a = (unsigned char)at[0];
    *ret_bytes = 1;
    if (a == '|') return UPRIGHT;
    if (a == '+') return CORNER;
    if (a == '-' || a == '=') return LEVEL;
    if (a < 0xc0) return TEXT;
    int n = a >= 0xf0 ? 4 : a >= 0xe0 ? 3 : 2;
    for (int i = 1; i < n; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80) return TEXT;
    *ret_bytes = n;
    unsigned char b = (unsigned char)at[1], c = n > 2 ? (unsigned char)at[2] : 0;
    if (a != 0xe2) return TEXT;
    if (b == 0x80 && c == 0xa6) return CUT; /* the ellipsis */
    if (b != 0x94 && b != 0x95) return TEXT;
    bool upright = (b == 0x94 && (c == 0x82 || c == 0x83)) || (b == 0x95 && c == 0x91);
    bool level = (b == 0x94 && (c == 0x80 || c == 0x81)) || (b == 0x95 && c == 0x90);
    return upright ? UPRIGHT : level ? LEVEL : CORNER;
}

/* A line of strokes only, from a corner to a corner; the places of its corners into edge[]. */
static int border(const char *text, int *edge, int cap)
{
    int n = 0, column = 0, bytes;
    bool level = false;
    for (const char *p = text; *p; p += bytes, column++) {
        stroke s = stroke_at(p, &bytes);
        if (s != LEVEL && s != CORNER) return 0;
        if (s == LEVEL) level = true;
        if (s == CORNER) {
            if (n == cap) return 0;
            edge[n++] = column;
        }
    }
    return level && n >= 2 && edge[0] == 0 && edge[n - 1] == column - 1 ? n : 0;
}

/* ---- cells -------------------------------------------------------------------------------------
 */

static void add_id(mw_explain *e, pic_grid *g, int cell, int64_t id)
{
    if (!g->id) {
        g->id = mw__arena_zalloc(mw__explain_arena(e), PIC_IDS * sizeof *g->id);
        if (!g->id) e->failed = true;
    }
    if (!g->id || g->nid == PIC_IDS || id > MW_MESH_RANKS) {
        g->too_large = true;
        return;
    }
    g->id[g->nid++] = (pic_id){cell, (int32_t)id};
    g->count[cell]++;
}

static void add_text(mw_explain *e, pic_grid *g, int cell, const char *at, const char *end)
{
    bool ids = g->count[cell] > 0;
    int bytes;
    for (const char *p = at; p < end; p += bytes) {
        if (stroke_at(p, &bytes) == CUT) {
            g->cut[cell] |= ids;
            continue;
        }
        if (bytes > 1) continue;
        if (*p >= '0' && *p <= '9') {
            const char *stop = p;
            int64_t id = 0;
            for (; stop < end && *stop >= '0' && *stop <= '9'; stop++)
                if (id < INT64_C(1) << 40) id = id * 10 + (*stop - '0');
            int next;
            ids = true;
            if (stop < end && stroke_at(stop, &next) == CUT)
                g->cut[cell] = true; /* more digits may have stood there */
            else
                add_id(e, g, cell, id);
            bytes = (int)(stop - p);
        } else if (mw__spmd_word_char(*p) && !g->device[0]) {
            int n = 0;
            while (p + n < end && mw__spmd_word_char(p[n]))
                n++;
            bytes = n;
            memcpy(g->device, p, (size_t)MW_MIN(n, (int)sizeof g->device - 1));
        } else if (mw__spmd_word_char(*p)) {
            while (p + bytes < end && mw__spmd_word_char(p[bytes]))
                bytes++;
        }
    }
}

/* The parts of a line between the grid's edges. */
static void add_row_line(mw_explain *e, pic_grid *g, const char *text)
{
    int column = 0, bytes, edge = 0;
    const char *from = NULL;
    for (const char *p = text; *p; p += bytes, column++) {
        bool upright = stroke_at(p, &bytes) == UPRIGHT;
        if (edge > g->ncol || column != g->edge[edge] || !upright) continue;
        if (from && edge >= 1) add_text(e, g, g->nrow * g->ncol + edge - 1, from, p);
        from = p + bytes;
        edge++;
    }
}

/* ---- beginning and end -------------------------------------------------------------------------
 */

static void begin(pic_state *s, const mw_line *line, pic_kind kind)
{
    s->grid = (pic_grid){.kind = kind, .first = line->number, .last = line->number};
    if (s->caption && line->number - s->caption <= 2) {
        s->grid.shaped = s->shaped;
        s->grid.ndim = s->ndim;
        memcpy(s->grid.shape, s->shape, sizeof s->shape);
        s->grid.spec = s->spec;
        s->grid.caption = s->caption;
    }
    s->caption = 0;
}

static void finish(mw_explain *e, pic_state *s)
{
    pic_grid *g = &s->grid;
    mw_line line = {.number = g->first, .rank = -1, .text = "", .raw = ""};
    bool alone = g->kind == PIC_BARE && g->nrow * g->ncol < 2;
    if (g->kind != PIC_NONE && g->nrow > 0 && g->ncol > 0 && !alone) mw__pic_tell(e, &line, g);
    g->kind = PIC_NONE;
}

/* ---- boxes -------------------------------------------------------------------------------------
 */

static bool box_line(mw_explain *e, pic_state *s, const mw_line *line)
{
    pic_grid *g = &s->grid;
    int edge[PIC_SIDE + 1], bytes;
    int n = border(line->text, edge, PIC_SIDE + 1);
    if (n && g->kind == PIC_BOX) {
        bool same = n == g->ncol + 1 && memcmp(edge, g->edge, (size_t)n * sizeof *edge) == 0;
        g->last = line->number;
        if (same && (g->nrow + 1) * g->ncol <= PIC_CELLS - g->ncol) g->nrow++;
        /* an ASCII box has no corner of its own for its end */
        unsigned char c = (unsigned char)line->text[2];
        bool bottom = line->text[0] != '+' && (c == 0x94 || c == 0x97 || c == 0xb0 || c == 0x9a);
        if (!same || bottom) finish(e, s);
        return true;
    }
    if (n && n - 1 <= PIC_CELLS / 2) {
        begin(s, line, PIC_BOX);
        g->ncol = n - 1;
        memcpy(g->edge, edge, (size_t)n * sizeof *edge);
        return true;
    }
    if (g->kind != PIC_BOX || stroke_at(line->text, &bytes) != UPRIGHT) return false;
    g->last = line->number;
    add_row_line(e, g, line->text);
    return true;
}

/* ---- tables of ranges --------------------------------------------------------------------------
 */

/* `Row 0-3`, `Col 4-7` at *at; moves past it. The end is printed as the last place. */
static bool range_at(const char **at, const char *word, mw_range *ret)
{
    const char *p = *at;
    int64_t a, b;
    if (strncmp(p, word, strlen(word)) != 0) return false;
    p += strlen(word);
    if (!mw__hlo_int(&p, &a) || *p != '-') return false;
    p++;
    bool none = *p == '-'; /* `Row 0--1`: an empty shard at the start */
    p += none;
    if (!mw__hlo_int(&p, &b)) return false;
    *ret = (mw_range){a, none ? a : b + 1};
    *at = p;
    return true;
}

static bool table_head(pic_state *s, const mw_line *line)
{
    mw_range range[PIC_SIDE];
    int n = 0;
    const char *p = line->text;
    while (*p) {
        if (n == PIC_SIDE || !range_at(&p, "Col ", &range[n])) return false;
        n++;
        p += strspn(p, " ");
    }
    if (!n) return false;
    begin(s, line, PIC_RANGES);
    s->grid.ncol = n;
    memcpy(s->grid.col_range, range, sizeof range);
    return true;
}

/* The dashes below the head say where columns begin. */
static bool table_rule(pic_grid *g, const mw_line *line)
{
    int n = 0;
    for (const char *p = line->text; *p; p++) {
        if (*p != '-' && *p != ' ') return false;
        if (*p == '-' && (p == line->text || p[-1] == ' ')) {
            if (n <= g->ncol) g->edge[n] = line->indent + (int)(p - line->text);
            n++;
        }
    }
    return n == g->ncol + 1;
}

static bool table_line(mw_explain *e, pic_state *s, const mw_line *line)
{
    pic_grid *g = &s->grid;
    const char *p = line->text;
    if (g->kind != PIC_RANGES) return table_head(s, line);
    if (table_rule(g, line)) {
        g->last = line->number;
        return true;
    }
    mw_range row;
    bool room = g->nrow < PIC_SIDE && (g->nrow + 1) * g->ncol <= PIC_CELLS;
    if (!room || !range_at(&p, "Row ", &row)) return false;
    g->row_range[g->nrow] = row;
    for (int c = 0; c < g->ncol; c++) {
        int64_t from = g->edge[c + 1] - line->indent, to = line->length;
        if (c + 1 < g->ncol) to = MW_MIN(to, g->edge[c + 2] - line->indent);
        if (from >= p - line->text && from < to)
            add_text(e, g, g->nrow * g->ncol + c, line->text + from, line->text + to);
    }
    g->nrow++;
    g->last = line->number;
    return true;
}

/* ---- without lines -----------------------------------------------------------------------------
 */

/* `CPU 0    CPU 1,2`, `TPU [0, 1]`: cells side by side, as they are left where colours were. */
static bool bare_line(mw_explain *e, pic_state *s, const mw_line *line)
{
    static const char *const words[] = {"CPU ", "GPU ", "TPU ", "CUDA ", "NEURON ", "XLA "};
    pic_grid *g = &s->grid;
    const char *start[PIC_SIDE + 1];
    int n = 0;
    for (const char *p = line->text; *p;) {
        size_t word = 0;
        for (int i = 0; i < MW_COUNT(words) && !word; i++)
            if (strncmp(p, words[i], strlen(words[i])) == 0) word = strlen(words[i]);
        size_t list = word ? strspn(p + word, "0123456789,[]") : 0;
        if (!list || n == PIC_SIDE) return false;
        start[n++] = p;
        p += word + list;
        while (p[-1] == ',' && *p == ' ' && p[1] >= '0' && p[1] <= '9')
            p += 1 + strspn(p + 1, "0123456789,]");
        size_t gap = strspn(p, " ");
        if (*p && gap < 1) return false;
        p += gap;
    }
    start[n] = line->text + line->length;
    if (!n || (g->kind == PIC_BARE && g->ncol != n)) return false;
    if (g->kind != PIC_BARE) {
        begin(s, line, PIC_BARE);
        g->ncol = n;
    }
    if ((g->nrow + 1) * g->ncol > PIC_CELLS) return false;
    for (int c = 0; c < n; c++)
        add_text(e, g, g->nrow * n + c, start[c], start[c + 1]);
    g->nrow++;
    g->last = line->number;
    return true;
}

/* ---- lines -------------------------------------------------------------------------------------
 */

/* `# arg 0: shape (16, 64) spec P('x')`: what the picture below is of. */
static bool caption(mw_explain *e, pic_state *s, const mw_line *line)
{
    const char *shape = strstr(line->text, "shape ("), *spec = strstr(line->text, "spec P");
    mw_py *node = NULL;
    if (!shape || line->length > 400) return false;
    if (!mw__hlo_done(
            e, mw__py_read(shape + 6, line->text + line->length, mw__explain_scratch(e), &node)))
        return false;
    if (node->kind == MW_PY_SEQ) node = node->first;
    s->ndim = mw__py_ints(node, s->shape, MW_LAYOUT_DIMS);
    s->shaped = s->ndim >= 0;
    s->spec = spec ? mw__explain_text(e, "%s", spec + 5) : NULL;
    if (s->shaped) s->caption = line->number;
    return s->shaped && spec;
}

static mw_status pic_line(mw_explain *e, void *state, const mw_line *line, bool *ret_taken)
{
    pic_state *s = state;
    if (s->grid.kind == PIC_BOX)
        *ret_taken = box_line(e, s, line);
    else if (s->grid.kind == PIC_RANGES)
        *ret_taken = table_line(e, s, line);
    else if (s->grid.kind == PIC_BARE)
        *ret_taken = bare_line(e, s, line);
    if (*ret_taken) return MW_OK;
    finish(e, s);
    *ret_taken = box_line(e, s, line) || table_line(e, s, line) || bare_line(e, s, line) ||
                 caption(e, s, line);
    return e->failed ? MW_NOMEM() : MW_OK;
}

static mw_status pic_end(mw_explain *e, void *state)
{
    finish(e, state);
    return e->failed ? MW_NOMEM() : MW_OK;
}

const mw_reader_kind mw_reader_picture = {
    .name = "picture", .state_size = sizeof(pic_state), .line = pic_line, .end = pic_end};
