/* A call in a tree and all that stands below it is a block. A training run writes the same blocks
 * again and again: one that was told before, in the same pass and module and with as much known of
 * the mesh, is counted and not read again, so that a long tree costs a hash a line. Lines of a
 * block are kept until the line that ends it. */
#include "log/dtensor_tree.h"

void mw__tree_block_done(tree_block *b)
{
    mw__str_done(&b->text);
}

static bool starts(const char *at, const char *word)
{
    return strncmp(at, word, strlen(word)) == 0;
}

/* Such a line may begin a block: a call on whole tensors, a redistribution that stands alone. */
static bool begins(const dt_here *h)
{
    bool whole = strstr(h->at, "dt: ") || strstr(h->at, "dt$");
    return (starts(h->at, "aten::") && whole) || starts(h->at, "redistribute_input");
}

static bool goes_on(const dt_here *h, const tree_block *b)
{
    static const char *const words[] = {"aten::", "redistribute_input", "_c10d_functional",
                                        "c10d",   "_dtensor::",         "-> output: "};
    if (h->line->indent <= b->indent || h->line->rank != b->rank || b->nline == TREE_LINES ||
        b->text.length > TREE_TEXT)
        return false;
    for (int i = 0; i < MW_COUNT(words); i++)
        if (starts(h->at, words[i])) return true;
    return false;
}

static void add(const dt_here *h, tree_block *b)
{
    b->line[b->nline++] = (tree_line){h->line->number, h->line->indent - b->indent,
                                      (int64_t)b->text.length, h->line->length};
    mw__str_append(&b->text, h->at, (size_t)h->line->length);
    mw__str_putc(&b->text, 0);
    if (mw__str_status(&b->text) != MW_OK) h->e->failed = true;
}

/* Everything that a block's entries hang on. */
static uint64_t key_of(const dt_here *h, const dt_tree *t, const char *pass)
{
    const tree_block *b = &t->block;
    const char *module = mw__tree_module(t);
    uint64_t key = mw__hash((uint64_t)t->version, mw__str_text(&b->text), b->text.length);
    for (int i = 0; i < b->nline; i++)
        key = mw__hash(key, &b->line[i].indent, sizeof b->line[i].indent);
    key = mw__hash(key, pass, strlen(pass));
    if (module) key = mw__hash(key, module, strlen(module));
    return mw__hash(key, &h->s->last_mesh.size, sizeof h->s->last_mesh.size) | 1;
}

static dt_here line_of(const dt_here *h, const tree_block *b, int i, mw_line *line)
{
    dt_here one = *h;
    dt_rank *own = h->s->rank[b->rank >= 0 && b->rank < DT_RANKS - 1 ? b->rank + 1 : 0];
    if (own) one.r = own; /* the line that ends a block may be another rank's */
    const char *at = mw__str_text(&b->text) + b->line[i].at;
    *line = (mw_line){.number = b->line[i].number,
                      .text = at,
                      .raw = at,
                      .length = b->line[i].length,
                      .rank = b->rank,
                      .indent = b->line[i].indent + b->indent};
    one.line = line;
    one.at = at;
    one.end = at + b->line[i].length;
    one.first = line->number;
    return one;
}

/* Where a key is kept, or would be: one of a few neighbours. */
static tree_told *slot_of(dt_tree *t, uint64_t key)
{
    enum { WAYS = 4 };
    tree_told *free = NULL;
    for (uint64_t k = 0; k < WAYS; k++) {
        tree_told *at = &t->told[(key + k) % TREE_TOLD];
        if (at->key == key) return at;
        if (!at->key && !free) free = at;
    }
    return free ? free : &t->told[(key + (key >> 32) % WAYS) % TREE_TOLD];
}

void mw__tree_block_end(const dt_here *h, dt_tree *t)
{
    tree_block *b = &t->block;
    if (!b->nline) return;
    mw_line line;
    dt_here own = line_of(h, b, 0, &line);
    int n = b->nline;
    const char *pass = mw__dt_pass_now(&own);
    uint64_t key = key_of(&own, t, pass);
    tree_told *told = slot_of(t, key);
    b->nline = 0; /* what is read now is no block again */
    if (told->key == key) {
        mw__tree_pop(&own, t, b->indent);
        for (int64_t i = told->first; i < told->end; i++)
            mw__draft_again(h->e->entry[i], &line);
        if (told->pass) own.r->pass = told->pass;
        return;
    }
    int64_t first = h->e->nentry, version = t->version;
    for (int i = 0; i < n && !h->e->failed; i++) {
        dt_here one = line_of(h, b, i, &line);
        if (!mw__tree_read(&one, t))
            mw__missing(h->e, "line %lld: it stands in a tree and can't be read",
                        (long long)line.number);
    }
    dt_here last = line_of(h, b, n - 1, &line);
    mw__tree_pop(&last, t, b->indent);
    /* A block that taught something is read once more, with what it taught; but what another rank
     * says of the same moment is the same. */
    if (t->version != version && b->rank < 0) return;
    b->nline = n;
    key = key_of(&own, t, pass);
    b->nline = 0;
    *slot_of(t, key) = (tree_told){key, first, h->e->nentry, own.r->pass};
}

void mw__dt_tree_pause(const dt_here *h)
{
    if (h->s->tree && h->s->tree->block.nline && !goes_on(h, &h->s->tree->block))
        mw__tree_block_end(h, h->s->tree);
}

bool mw__tree_block_line(const dt_here *h, dt_tree *t)
{
    tree_block *b = &t->block;
    if (b->nline && goes_on(h, b)) {
        add(h, b);
        return true;
    }
    mw__tree_block_end(h, t);
    if (!begins(h)) return false;
    mw__str_clear(&b->text);
    b->indent = h->line->indent;
    b->rank = h->line->rank;
    add(h, b);
    return true;
}
