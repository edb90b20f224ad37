/* Meshes as PyTorch/XLA and JAX state them, and what is told once. */
#include "log/dtensor.h"
#include "log/explain.h"
#include "log/spmd.h"

#include <stdlib.h>

enum { MOST_IDS = 4096 };

bool mw__spmd_word_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int64_t mw__spmd_mesh_size(const spmd_mesh *mesh)
{
    int64_t n = 1;
    for (int i = 0; i < mesh->naxis; i++)
        if (mesh->size[i] < 1 || n > MW_MESH_RANKS || mesh->size[i] > MW_MESH_RANKS)
            return -1;
        else
            n *= mesh->size[i];
    return n > MW_MESH_RANKS ? -1 : n;
}

static void axis_name(const spmd_mesh *mesh, int axis, mw_str *to)
{
    if (axis < mesh->nname && mesh->name[axis][0])
        mw__str_puts(to, mesh->name[axis]);
    else
        mw__str_putc(to, (char)('a' + axis));
}

/* A name that the mesh's own text must have in quotes. */
static bool plain_name(const char *name)
{
    bool plain = name[0] && !(name[0] >= '0' && name[0] <= '9');
    for (const char *p = name; *p; p++)
        plain = plain && mw__spmd_word_char(*p);
    return plain;
}

void mw__spmd_mesh_str(const spmd_mesh *mesh, mw_str *to)
{
    bool ordered = true;
    for (int i = 0; i < mesh->naxis; i++) {
        if (i) mw__str_putc(to, ',');
        bool quote = i < mesh->nname && mesh->name[i][0] && !plain_name(mesh->name[i]);
        if (quote) mw__str_putc(to, '"');
        axis_name(mesh, i, to);
        if (quote) mw__str_putc(to, '"');
        mw__str_printf(to, "=%lld", (long long)mesh->size[i]);
    }
    for (int64_t i = 0; i < mesh->nid; i++)
        ordered = ordered && mesh->id[i] == i;
    if (ordered) return;
    for (int64_t i = 0; i < mesh->nid; i++)
        mw__str_printf(to, "%s%lld", i ? "," : " ids=[", (long long)mesh->id[i]);
    mw__str_putc(to, ']');
}

mw_mesh *mw__spmd_mesh_make(mw_explain *e, const spmd_mesh *mesh)
{
    mw_str text = {0};
    mw_mesh *made = NULL;
    int64_t n = mesh->naxis ? mw__spmd_mesh_size(mesh) : -1;
    if (n < 1 || n > MOST_IDS || (mesh->nid && mesh->nid != n)) return NULL;
    mw__spmd_mesh_str(mesh, &text);
    if (!mw__hlo_done(e, mw__str_status(&text)) ||
        !mw__hlo_done(e, mw_mesh_parse(mw__str_text(&text), &made)))
        made = NULL;
    mw__str_done(&text);
    return made;
}

bool mw__spmd_mesh_of(const mw_mesh *mesh, spmd_mesh *ret)
{
    if (!mesh || mesh->id) return false;
    *ret = (spmd_mesh){.naxis = mesh->naxis, .nname = mesh->naxis};
    for (int i = 0; i < mesh->naxis; i++) {
        ret->size[i] = mesh->size[i];
        memcpy(ret->name[i], mesh->name[i], sizeof ret->name[i]);
    }
    return true;
}

int mw__spmd_axis(const spmd_mesh *mesh, const char *name, int length)
{
    for (int i = 0; i < mesh->nname && i < mesh->naxis; i++)
        if ((int)strlen(mesh->name[i]) == length &&
            memcmp(mesh->name[i], name, (size_t)length) == 0)
            return i;
    return -1;
}

void mw__spmd_tell_mesh(mw_explain *e, mw_draft *d, const spmd_mesh *mesh)
{
    mw_str text = {0};
    mw__spmd_mesh_str(mesh, &text);
    const char *words = mw__hlo_keep(e, &text);
    if (!mesh->line)
        mw__fact(d, "mesh", MW_HOW_ASSUMED, "given with --mesh", "%s", words);
    else if (mesh->nname)
        mw__fact(d, "mesh", MW_HOW_STATED, mw__spmd_from(e, mesh->line), "%s", words);
    else
        mw__fact(d, "mesh", MW_HOW_DERIVED,
                 "sizes and order as stated; its axes have no names in the text, these are ours",
                 "%s", words);
}

/* ---- told once ---------------------------------------------------------------------------------
 */

bool mw__spmd_again(spmd_told *told, uint64_t hash, const mw_line *line)
{
    for (int i = 0; i < told->n; i++) {
        if (told->at[i].hash != hash) continue;
        mw_entry *entry = mw__draft_entry(told->at[i].draft);
        uint64_t bit = line->rank >= 0 && line->rank < 64 ? UINT64_C(1) << line->rank : 0;
        if (!bit || (entry->ranks & bit)) entry->count++;
        entry->ranks |= bit;
        entry->latest = line->number;
        return true;
    }
    return false;
}

void mw__spmd_tell_once(spmd_told *told, uint64_t hash, mw_draft *draft)
{
    if (!draft || told->n == SPMD_TOLD) return;
    told->at[told->n].hash = hash;
    told->at[told->n++].draft = draft;
}

const char *mw__spmd_from(mw_explain *e, int64_t line)
{
    const char *text = mw__arena_printf(mw__explain_scratch(e), "line %lld", (long long)line);
    if (!text) e->failed = true;
    return text ? text : "";
}

/* Tracebacks are kept by the reader of DTensor's texts, whoever raised. */
void mw__spmd_tell_frame(mw_explain *e, mw_draft *d, const mw_line *line)
{
    const dt_state *s = e->state[READER_dtensor];
    int stream = line->rank >= 0 && line->rank < DT_RANKS - 1 ? line->rank + 1 : 0;
    const dt_rank *r = s->rank[stream];
    bool ended = r && line->number > r->trace_last && line->number - r->trace_last <= 4;
    if (!ended || !r->user_file) return;
    mw__fact(d, "raised from", MW_HOW_STATED, mw__spmd_from(e, r->trace_last), "%s%s%s",
             r->user_file, r->user_code && *r->user_code ? ": " : "",
             r->user_code ? r->user_code : "");
}

bool mw__spmd_int_after(const char *text, const char *phrase, int64_t *ret)
{
    const char *at = strstr(text, phrase);
    if (!at) return false;
    at += strlen(phrase);
    at += strspn(at, " ([");
    return mw__hlo_int(&at, ret);
}
