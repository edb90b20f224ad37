/* Meshes in JAX's code and messages. */
#include "log/explain.h"
#include "log/jax.h"

/* `mesh = jax.make_mesh(...)`, `Mesh('x': 2, ...)`, and what a shard_map error says of it. */
bool mw__jx_mesh_line(const jx_here *h)
{
    static const char *const words[] = {"Mesh(", "AbstractMesh(", "make_mesh("};
    const char *at = NULL, *types = NULL;
    spmd_mesh mesh;
    for (int i = 0; i < MW_COUNT(words) && !at; i++)
        at = mw__jx_word(h->text, words[i]);
    if (!at) return false;
    mw_py *node = mw__jx_py(h, at);
    if (!node || !mw__jx_mesh(h, node, &mesh, &types)) return false;
    h->s->mesh = mesh;
    int n = 0;
    while (mw__spmd_word_char(h->text[n]))
        n++;
    const char *p = h->text + n + strspn(h->text + n, " ");
    if (n && n < SPMD_NAME && *p == '=' && p[1] != '=') {
        int slot = h->s->nnamed++ % JX_MESHES;
        memcpy(h->s->named[slot].name, h->text, (size_t)n);
        h->s->named[slot].name[n] = 0;
        h->s->named[slot].mesh = mesh;
    }
    mw_draft *d = mw__draft(h->e, h->line, "jax", "mesh");
    if (d) mw__draft_entry(d)->first = h->first;
    mw__spmd_tell_mesh(h->e, d, &mesh);
    if (types) mw__fact(d, "axis types", MW_HOW_STATED, h->from, "%s", types);
    mw__draft_says(d, "A mesh of %lld devices.", (long long)mw__spmd_mesh_size(&mesh));
    return true;
}

/* `The mesh given has shape (2, 4) with corresponding axis names ('r', 'c').` */
bool mw__jx_mesh_sentence(const jx_here *h)
{
    const char *shape = strstr(h->text, "The mesh given has shape "),
               *names = strstr(h->text, "axis names ");
    if (!shape || !names) return false;
    const char *text =
        mw__arena_printf(&h->e->scratch, "Mesh(axis_sizes=%.*s, axis_names=%s",
                         (int)MW_MIN(strcspn(shape + 25, ")") + 1, 200), shape + 25, names + 11);
    const char *types;
    spmd_mesh mesh;
    mw_py *node = text ? mw__jx_py(h, text) : NULL;
    if (node && mw__jx_mesh(h, node, &mesh, &types)) h->s->mesh = mesh;
    return true;
}
