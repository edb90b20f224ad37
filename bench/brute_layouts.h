/* brute_layouts: random small programs, and the fewest bytes with which each can be run, found by
 * trying everything. It knows nothing of the library: who holds what is counted element by element,
 * which placements an op allows is a table below, and all copies of all values are tried.
 *
 * A layout is one placement for each of at most two axes of two ranks: R, S(0), S(1) or P. */
#ifndef BENCH_BRUTE_LAYOUTS_H
#define BENCH_BRUTE_LAYOUTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BRUTE_OPS = 6,
    BRUTE_INPUTS = 3,
    BRUTE_VALUES = BRUTE_INPUTS + BRUTE_OPS,
    BRUTE_LAYOUTS = 16
};

enum { PLACE_R, PLACE_S0, PLACE_S1, PLACE_P, PLACES };

typedef struct brute_op {
    const char *word, *more; /* what stands after the operands */
    int nin;
    const char *rule; /* for each axis: operands then result, R 0 1 P, choices by blanks */
    char shape;       /* 's' the operands', 'm' a product, 't' transposed, 'r' its rows */
} brute_op;

static const brute_op brute_table[] = {
    {"exp", "", 1, "RR 00 11", 's'},
    {"tanh", "", 1, "RR 00 11", 's'},
    {"neg", "", 1, "RR 00 11 PP", 's'},
    {"mul_scalar", ", 3", 1, "RR 00 11 PP", 's'},
    {"add", "", 2, "RRR 000 111 PPP", 's'},
    {"mul", "", 2, "RRR 000 111 PRP RPP", 's'},
    {"mm", "", 2, "RRR 0R0 R11 10P PRP RPP", 'm'},
    {"t", "", 1, "RR 01 10 PP", 't'},
    {"softmax", ", 1", 1, "RR 00", 's'},
    {"sum", ", [1]", 1, "RR 00 1P PP", 'r'},
};
enum { BRUTE_KINDS = sizeof brute_table / sizeof *brute_table };

typedef struct brute_value {
    int rows, cols; /* cols 0: it has one dim */
    int layout;     /* stated; -1: open */
} brute_value;

typedef struct brute_graph {
    int naxis, ninput, nop;
    brute_value value[BRUTE_VALUES]; /* inputs, then results of ops */
    int kind[BRUTE_OPS], in[BRUTE_OPS][2];
    bool result[BRUTE_VALUES];
} brute_graph;

/* ---- random programs --------------------------------------------------------------------------
 */

static uint64_t brute_seed = 1;

static int brute_below(int n)
{
    brute_seed = brute_seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((brute_seed >> 33) % (uint64_t)n);
}

static int brute_layout(const brute_graph *g, const brute_value *v, bool partial)
{
    int layout = 0, places = v->cols ? 3 : 2;
    for (int a = 0; a < g->naxis; a++)
        layout = 4 * layout + (partial && brute_below(6) == 0 ? PLACE_P : brute_below(places));
    return layout;
}

static bool brute_fits(const brute_graph *g, int kind, int a, int b)
{
    const brute_value *x = &g->value[a], *y = &g->value[b];
    char shape = brute_table[kind].shape;
    if (shape != 's' && !x->cols) return false;
    if (shape == 'm') return y->cols && x->cols == y->rows;
    if (brute_table[kind].word[0] == 's' && brute_table[kind].word[1] == 'o') return x->cols > 0;
    return brute_table[kind].nin == 1 || (x->rows == y->rows && x->cols == y->cols);
}

static brute_value brute_shape(const brute_graph *g, int kind, int a, int b)
{
    brute_value x = g->value[a];
    x.layout = -1;
    switch (brute_table[kind].shape) {
    case 'm':
        x.cols = g->value[b].cols;
        break;
    case 't':
        x.cols = g->value[a].rows;
        x.rows = g->value[a].cols;
        break;
    case 'r':
        x.cols = 0;
        break;
    default:
        break;
    }
    return x;
}

static void brute_random(brute_graph *g)
{
    static const int sizes[] = {4, 8, 16};
    memset(g, 0, sizeof *g);
    g->naxis = 1 + brute_below(2);
    g->ninput = 1 + brute_below(BRUTE_INPUTS);
    int common = sizes[brute_below(3)];
    for (int i = 0; i < g->ninput; i++) {
        brute_value *v = &g->value[i];
        v->rows = brute_below(2) ? common : sizes[brute_below(3)];
        v->cols = brute_below(2) ? common : sizes[brute_below(3)];
        v->layout = brute_below(8) ? brute_layout(g, v, true) : -1;
    }
    int want = 2 + brute_below(BRUTE_OPS - 1);
    while (g->nop < want) {
        int n = g->ninput + g->nop, kind = brute_below(BRUTE_KINDS);
        int a = brute_below(2) ? n - 1 : brute_below(n), b = brute_below(n);
        if (!brute_fits(g, kind, a, b)) continue;
        g->kind[g->nop] = kind;
        g->in[g->nop][0] = a;
        g->in[g->nop][1] = b;
        g->value[n] = brute_shape(g, kind, a, b);
        if (brute_below(8) == 0) g->value[n].layout = brute_layout(g, &g->value[n], false);
        g->nop++;
    }
    bool used[BRUTE_VALUES] = {false};
    for (int i = 0; i < g->nop; i++)
        for (int k = 0; k < brute_table[g->kind[i]].nin; k++)
            used[g->in[i][k]] = true;
    for (int i = g->ninput; i < g->ninput + g->nop; i++) {
        g->result[i] = !used[i];
        if (g->result[i] && brute_below(2))
            g->value[i].layout = brute_layout(g, &g->value[i], false);
    }
}

/* ---- its text ---------------------------------------------------------------------------------
 */

static int brute_place(const brute_graph *g, int layout, int axis)
{
    for (int a = g->naxis - 1; a > axis; a--)
        layout /= 4;
    return layout % 4;
}

static void brute_type(const brute_graph *g, const brute_value *v, char *to, size_t size)
{
    size_t n = (size_t)snprintf(to, size, "f32[");
    for (int d = 0; d < (v->cols ? 2 : 1); d++) {
        n += (size_t)snprintf(to + n, size - n, "%s%d", d ? ", " : "", d ? v->cols : v->rows);
        const char *sign = "@";
        for (int a = 0; a < g->naxis && v->layout >= 0; a++)
            if (brute_place(g, v->layout, a) == PLACE_S0 + d) {
                n += (size_t)snprintf(to + n, size - n, "%s%c", sign, 'x' + a);
                sign = ",";
            }
        if (v->layout < 0) n += (size_t)snprintf(to + n, size - n, "?");
    }
    n += (size_t)snprintf(to + n, size - n, "]");
    const char *sign = "{sum:";
    for (int a = 0; a < g->naxis && v->layout >= 0; a++)
        if (brute_place(g, v->layout, a) == PLACE_P) {
            n += (size_t)snprintf(to + n, size - n, "%s%c", sign, 'x' + a);
            sign = ",";
        }
    if (*sign == ',') (void)snprintf(to + n, size - n, "}");
}

static void brute_text(const brute_graph *g, char *to, size_t size)
{
    char type[96];
    size_t n =
        (size_t)snprintf(to, size, "mesh @m = [x=2%s]\nfunc @f(", g->naxis > 1 ? ", y=2" : "");
    for (int i = 0; i < g->ninput; i++) {
        brute_type(g, &g->value[i], type, sizeof type);
        n += (size_t)snprintf(to + n, size - n, "%s%%v%d: %s", i ? ", " : "", i, type);
    }
    n += (size_t)snprintf(to + n, size - n, ") {\n");
    for (int i = 0; i < g->nop; i++) {
        const brute_op *op = &brute_table[g->kind[i]];
        const brute_value *v = &g->value[g->ninput + i];
        n += (size_t)snprintf(to + n, size - n, "  %%v%d = %s(%%v%d", g->ninput + i, op->word,
                              g->in[i][0]);
        if (op->nin > 1) n += (size_t)snprintf(to + n, size - n, ", %%v%d", g->in[i][1]);
        n += (size_t)snprintf(to + n, size - n, "%s)", op->more);
        brute_type(g, v, type, sizeof type);
        if (v->layout >= 0) n += (size_t)snprintf(to + n, size - n, " : %s", type);
        n += (size_t)snprintf(to + n, size - n, "\n");
    }
    const char *word = "  return ";
    for (int i = 0; i < g->ninput + g->nop; i++)
        if (g->result[i]) {
            n += (size_t)snprintf(to + n, size - n, "%s%%v%d", word, i);
            word = ", ";
        }
    (void)snprintf(to + n, size - n, "\n}\n");
}

/* ---- prices -----------------------------------------------------------------------------------
 * All ways between two layouts: exchanges, counted by element, and reductions over one axis; then
 * the shortest paths. */

/* Does the rank hold position (i, j)? The first axis that splits a dim is the major one. */
static bool brute_holds(const brute_graph *g, const brute_value *v, int layout, int rank, int i,
                        int j)
{
    for (int d = 0; d < 2; d++) {
        int first = 0, n = d ? (v->cols ? v->cols : 1) : v->rows, at = d ? j : i;
        for (int a = 0; a < g->naxis; a++) {
            if (brute_place(g, layout, a) != PLACE_S0 + d) continue;
            n /= 2;
            first += n * (rank >> (g->naxis - 1 - a) & 1);
        }
        if (at < first || at >= first + n) return false;
    }
    return true;
}

static int64_t brute_lacks(const brute_graph *g, const brute_value *v, int from, int to, int terms)
{
    int64_t n = 0;
    for (int r = 0; r < 1 << g->naxis; r++)
        for (int i = 0; i < v->rows; i++)
            for (int j = 0; j < (v->cols ? v->cols : 1); j++)
                if (brute_holds(g, v, to, r, i, j)) n += terms - brute_holds(g, v, from, r, i, j);
    return 4 * n;
}

static void brute_prices(const brute_graph *g, const brute_value *v,
                         int64_t price[BRUTE_LAYOUTS][BRUTE_LAYOUTS])
{
    int n = g->naxis > 1 ? 16 : 4;
    const int64_t never = INT64_MAX / 4;
    for (int f = 0; f < n; f++)
        for (int t = 0; t < n; t++) {
            int reduced = 0, made = 0;
            bool legal = true;
            for (int a = 0; a < g->naxis; a++) {
                int p = brute_place(g, f, a), q = brute_place(g, t, a);
                legal = legal && (v->cols || (p != PLACE_S1 && q != PLACE_S1));
                reduced += p == PLACE_P && q != PLACE_P;
                made += p != PLACE_P && q == PLACE_P;
                if (p != PLACE_P && q == PLACE_P && p != PLACE_R) legal = false;
            }
            price[f][t] = never;
            if (!legal || (made && reduced)) continue;
            if (reduced > 1) continue; /* one axis after the other */
            price[f][t] = brute_lacks(g, v, f, t, reduced ? 2 : 1);
        }
    for (int k = 0; k < n; k++)
        for (int f = 0; f < n; f++)
            for (int t = 0; t < n; t++)
                if (price[f][k] + price[k][t] < price[f][t])
                    price[f][t] = price[f][k] + price[k][t];
}

/* ---- the least --------------------------------------------------------------------------------
 */

typedef struct brute_seen {
    uint16_t held[BRUTE_VALUES];
    int at;
    int64_t cost;
    struct brute_seen *next;
} brute_seen;

enum { BRUTE_BUCKETS = 1 << 16 };

typedef struct brute_search {
    const brute_graph *g;
    int64_t price[BRUTE_VALUES][BRUTE_LAYOUTS][BRUTE_LAYOUTS];
    int last[BRUTE_VALUES]; /* the last op that reads it */
    int64_t best, visits;
    brute_seen **seen;
} brute_search;

/* With what is there for nothing. */
static uint16_t brute_close(const brute_search *s, int v, uint16_t held)
{
    for (int f = 0; f < BRUTE_LAYOUTS; f++)
        for (int t = 0; (held >> f & 1) && t < BRUTE_LAYOUTS; t++)
            if (s->price[v][f][t] == 0) held |= (uint16_t)(1u << t);
    return held;
}

static int64_t brute_fetch(const brute_search *s, int v, uint16_t held, int to)
{
    int64_t best = INT64_MAX / 4;
    for (int f = 0; f < BRUTE_LAYOUTS; f++)
        if ((held >> f & 1) && s->price[v][f][to] < best) best = s->price[v][f][to];
    return best;
}

static bool brute_new(brute_search *s, const uint16_t *held, int at, int64_t cost)
{
    uint64_t h = (uint64_t)at;
    for (int i = 0; i < BRUTE_VALUES; i++)
        h = (h ^ held[i]) * 1099511628211u;
    brute_seen **slot = &s->seen[(h >> 20) % BRUTE_BUCKETS], *k;
    for (k = *slot; k; k = k->next)
        if (k->at == at && memcmp(k->held, held, sizeof k->held) == 0) {
            if (k->cost <= cost) return false;
            k->cost = cost;
            return true;
        }
    k = malloc(sizeof *k);
    if (!k) return true;
    memcpy(k->held, held, sizeof k->held);
    k->at = at;
    k->cost = cost;
    k->next = *slot;
    *slot = k;
    return true;
}

static void brute_end(brute_search *s, const uint16_t *held, int64_t cost)
{
    const brute_graph *g = s->g;
    for (int v = 0; v < g->ninput + g->nop; v++) {
        if (!g->result[v] || g->value[v].layout >= 0) continue;
        int64_t least = INT64_MAX / 4;
        for (int t = 0; t < (g->naxis > 1 ? 16 : 4); t++) {
            bool partial = false;
            for (int a = 0; a < g->naxis; a++)
                partial = partial || brute_place(g, t, a) == PLACE_P;
            int64_t one = partial ? least : brute_fetch(s, v, held[v], t);
            if (one < least) least = one;
        }
        cost += least;
    }
    if (cost < s->best) s->best = cost;
}

static void brute_from(brute_search *s, int at, const uint16_t *held, int64_t cost);

/* The op with one choice for each axis. */
static void brute_try(brute_search *s, int at, const uint16_t *held, int64_t cost,
                      const char *const *choice)
{
    const brute_graph *g = s->g;
    const brute_op *op = &brute_table[g->kind[at]];
    int layout[3] = {0}, out = g->ninput + at;
    static const char signs[] = "R01P";
    for (int k = 0; k <= op->nin; k++)
        for (int a = 0; a < g->naxis; a++)
            layout[k] = 4 * layout[k] + (int)(strchr(signs, choice[a][k]) - signs);
    uint16_t next[BRUTE_VALUES];
    memcpy(next, held, sizeof next);
    for (int k = 0; k < op->nin; k++) {
        int v = g->in[at][k];
        if (!(next[v] >> layout[k] & 1)) cost += brute_fetch(s, v, next[v], layout[k]);
        next[v] = brute_close(s, v, (uint16_t)(next[v] | 1u << layout[k]));
    }
    next[out] = brute_close(s, out, (uint16_t)(1u << layout[op->nin]));
    int want = g->value[out].layout;
    if (want >= 0) {
        cost += brute_fetch(s, out, next[out], want);
        next[out] = brute_close(s, out, (uint16_t)(next[out] | 1u << want));
    }
    for (int v = 0; v <= out; v++) /* nobody reads it any more */
        if (s->last[v] <= at) next[v] = 0;
    brute_from(s, at + 1, next, cost);
}

static void brute_from(brute_search *s, int at, const uint16_t *held, int64_t cost)
{
    const brute_graph *g = s->g;
    s->visits++;
    if (cost >= s->best || !brute_new(s, held, at, cost)) return;
    if (at == g->nop) {
        brute_end(s, held, cost);
        return;
    }
    const brute_op *op = &brute_table[g->kind[at]];
    int width = op->nin + 2;
    for (const char *x = op->rule; x < op->rule + strlen(op->rule); x += width)
        for (const char *y = op->rule; y < op->rule + strlen(op->rule); y += width) {
            const char *choice[2] = {x, y};
            brute_try(s, at, held, cost, choice);
            if (g->naxis == 1) break;
        }
}

/* The fewest bytes that all ranks together must receive to run the program. */
static inline int64_t brute_least(const brute_graph *g)
{
    brute_search *s = calloc(1, sizeof *s);
    if (!s) return -1;
    s->g = g;
    s->best = INT64_MAX / 4;
    s->seen = calloc(BRUTE_BUCKETS, sizeof *s->seen);
    uint16_t held[BRUTE_VALUES] = {0};
    for (int v = 0; v < g->ninput + g->nop; v++) {
        for (int f = 0; f < BRUTE_LAYOUTS; f++)
            for (int t = 0; t < BRUTE_LAYOUTS; t++)
                s->price[v][f][t] = INT64_MAX / 4;
        brute_prices(g, &g->value[v], s->price[v]);
        s->last[v] = g->result[v] && g->value[v].layout < 0 ? g->nop : -1;
    }
    for (int i = 0; i < g->nop; i++)
        for (int k = 0; k < brute_table[g->kind[i]].nin; k++)
            if (s->last[g->in[i][k]] < i) s->last[g->in[i][k]] = i;
    for (int v = 0; v < g->ninput; v++) /* an open one lies as it is wanted: as if whole */
        held[v] =
            brute_close(s, v, (uint16_t)(1u << (g->value[v].layout < 0 ? 0 : g->value[v].layout)));
    if (s->seen) brute_from(s, 0, held, 0);
    int64_t best = s->best;
    for (int b = 0; s->seen && b < BRUTE_BUCKETS; b++)
        while (s->seen[b]) {
            brute_seen *next = s->seen[b]->next;
            free(s->seen[b]);
            s->seen[b] = next;
        }
    free(s->seen);
    free(s);
    return best;
}

#endif
