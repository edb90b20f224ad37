/* An annotation told in words rather than in code, as in questions and in prints of a tensor's
 * attributes:
 *
 *     t [64,32], mesh_shape (1,4), devices 0-3; partition_spec (0,1) and (1,0)
 *     mesh (2,4,2) named (replica, data, model), x [64,32]; specs (('replica','data'), None)
 *     mesh_shape=(2, 4), axis_names=('x', 'y'), partition_spec=('x', None)
 *
 * A mesh's sizes, and one tuple or more behind the word spec; each of these is one annotation. */
#include "log/explain.h"
#include "log/torch_xla.h"

enum { MOST_SPECS = 8, GAP = 24 };

typedef struct words {
    const xs_here *h;
    spmd_mesh *mesh;
    spmd_value tensor;
    const char *name;
    int nspec;
    const mw_py *spec[MOST_SPECS];
} words;

/* The tuple that stands a few characters behind `word` (nothing but blanks, signs and small words
 * between), or NULL. */
static const char *tuple_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    if (!at) return NULL;
    at += strlen(word);
    size_t gap = strcspn(at, "([");
    return gap < GAP && at[gap] == '(' && !memchr(at, ';', gap) && !memchr(at, ',', gap) ? at + gap
                                                                                         : NULL;
}

static mw_py *read_tuple(const xs_here *h, const char *at)
{
    mw_py *node = NULL;
    if (!at || !mw__hlo_done(h->e, mw__py_read(at, at + strlen(at), &h->e->scratch, &node)))
        return NULL;
    if (node->kind == MW_PY_SEQ) node = node->first;
    return node->kind == MW_PY_TUPLE ? node : NULL;
}

static bool read_mesh(words *w)
{
    static const char *const keys[] = {"mesh_shape", "mesh shape", "mesh"};
    const mw_py *sizes = NULL;
    for (int i = 0; i < MW_COUNT(keys) && !sizes; i++)
        sizes = read_tuple(w->h, tuple_behind(w->h->text, keys[i]));
    int64_t size[MW_MESH_AXES];
    int n = mw__py_ints(sizes, size, MW_MESH_AXES);
    w->mesh = n > 0 ? mw__xs_mesh_new(w->h) : NULL;
    if (!w->mesh) return false;
    w->mesh->naxis = n;
    memcpy(w->mesh->size, size, sizeof size);
    const char *named = tuple_behind(w->h->text, "named");
    if (!named) named = tuple_behind(w->h->text, "axis_names");
    const mw_py *names = read_tuple(w->h, named);
    for (const mw_py *c = names ? names->first : NULL; c; c = c->next) {
        if (c->kind != MW_PY_STR && c->kind != MW_PY_NAME) continue;
        if (w->mesh->nname < MW_MESH_AXES && c->name_length <= MW_AXIS_NAME)
            memcpy(w->mesh->name[w->mesh->nname], c->name, (size_t)c->name_length);
        w->mesh->nname++;
    }
    return true;
}

static void read_specs(words *w)
{
    const char *at = strstr(w->h->text, "spec");
    while (at && w->nspec < MOST_SPECS) {
        size_t gap = strcspn(at, "(;");
        if (gap >= GAP || at[gap] != '(') return;
        mw_py *node = read_tuple(w->h, at + gap);
        if (!node) return;
        w->spec[w->nspec++] = node;
        at = node->at + node->length;
    }
}

/* `t [64,32]`: the first list of sizes with a name before it. */
static void read_tensor(words *w)
{
    w->tensor.ndim = -1;
    w->name = "the tensor";
    for (const char *open = strchr(w->h->text, '['); open; open = strchr(open + 1, '[')) {
        int64_t shape[MW_LAYOUT_DIMS];
        mw_py *node = NULL;
        const char *end = open > w->h->text && open[-1] == ' ' ? open - 1 : open, *name = end;
        while (name > w->h->text && mw__spmd_word_char(name[-1]))
            name--;
        int n = (int)(end - name);
        bool ids = n >= 3 && strncmp(name + n - 3, "ids", 3) == 0;
        if (!n || ids) continue;
        if (!mw__hlo_done(w->h->e,
                          mw__py_read(open, open + strlen(open), &w->h->e->scratch, &node)))
            return;
        if (node->kind == MW_PY_SEQ) node = node->first;
        int ndim = mw__py_ints(node, shape, MW_LAYOUT_DIMS);
        if (ndim < 1) continue;
        w->tensor.ndim = ndim;
        memcpy(w->tensor.shape, shape, sizeof shape);
        w->name = mw__xs_keep(w->h, name, n);
        return;
    }
}

/* Do two of the specs, which read differently, come to one sharding? */
static void compare(const words *w, mw_draft *const *draft)
{
    const char *first = NULL;
    bool differ = false;
    for (int i = 0; i < w->nspec; i++) {
        const mw_entry *entry = mw__draft_entry(draft[i]);
        for (int k = 0; entry && k < entry->nfact; k++) {
            if (strcmp(entry->fact[k].name, "sharding") != 0) continue;
            differ = differ || (first && strcmp(first, entry->fact[k].value) != 0);
            if (!first) first = entry->fact[k].value;
        }
    }
    if (w->nspec > 1 && differ)
        mw__fact(draft[w->nspec - 1], "the specs differ", MW_HOW_DERIVED,
                 "entry k of a spec is the mesh axis that cuts dim k: their order counts",
                 "they give different shardings");
}

bool mw__xs_words_line(const xs_here *h)
{
    words w = {.h = h};
    mw_draft *draft[MOST_SPECS];
    if (!strstr(h->text, "mesh") || !strstr(h->text, "spec") || strstr(h->text, "sharding("))
        return false;
    read_specs(&w);
    if (!w.nspec || !read_mesh(&w)) return false;
    read_tensor(&w);
    for (int i = 0; i < w.nspec; i++) {
        draft[i] = mw__draft(h->e, h->line, "torch_xla", "mark_sharding");
        xs_mark m = {.name = w.name, .tensor = w.tensor, .mesh = w.mesh, .spec = w.spec[i]};
        mw__xs_mark_tell(h, draft[i], &m);
    }
    compare(&w, draft);
    return true;
}
