/* meshwise graph --dot, --html: the program as a drawing, and as a page that lists it line by line
 * with layouts, movements and reasons. */
#include "cli/graph.h"
#include "cli/html.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* In how many lines a page tells why. */
enum { WHYS = 3000 };

static mw_status open_file(const char *path, FILE **ret)
{
    errno = 0;
    *ret = fopen(path, "wb");
    return *ret ? MW_OK : mw_error_set(MW_ERR_IO, "%s: %s", path, strerror(errno));
}

static mw_status close_file(FILE *to, const char *path)
{
    bool failed = ferror(to) != 0;
    errno = 0;
    if (fclose(to) == 0 && !failed) return MW_OK;
    return mw_error_set(MW_ERR_IO, "%s: could not be written: %s", path, strerror(errno));
}

static void layout_text(const mw_graph_value *v, char *to, int size)
{
    (void)mw_layout_print(v->mesh, v->layout, to, size);
}

/* ---- dot --------------------------------------------------------------------------------------
 */

static void dot_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') (void)fputc('\\', to);
        (void)fputc((unsigned char)*text < 0x20 ? ' ' : *text, to);
    }
}

/* Movements stand out: in orange those that somebody asked for, in red the others. */
static const char *colour(const mw_graph_line *line)
{
    if (strcmp(line->kind, "movement") == 0)
        return !line->recv_bytes_total ? "#e8e8e8" : line->asked ? "#ffd08a" : "#f4a9a8";
    if (strcmp(line->kind, "mark") == 0) return "#8ecae6";
    if (strcmp(line->kind, "op") == 0) return "#ffffff";
    return "#d6dde4";
}

static void dot_node(FILE *to, const mw_node *node, int64_t number)
{
    mw_graph_line line = mw_node_line(node);
    char layout[512] = "";
    if (line.nout) {
        mw_graph_value v = mw_node_result(node, 0);
        layout_text(&v, layout, sizeof layout);
    }
    (void)fprintf(to, "  n%lld [fillcolor=\"%s\", label=\"", (long long)number, colour(&line));
    dot_text(to, line.name[0] ? line.name : line.kind);
    if (line.nout) {
        (void)fputs("\\n%", to);
        dot_text(to, mw_node_result(node, 0).name);
    }
    (void)fputs("\\n", to);
    dot_text(to, layout);
    if (line.recv_bytes_total) (void)fprintf(to, "\\n%lld B to a rank", (long long)line.recv_bytes);
    (void)fputs("\", tooltip=\"", to);
    dot_text(to, line.because[0] ? line.because : line.chain);
    (void)fputs("\"];\n", to);
}

static int64_t *makers_of(const mw_graph *graph)
{
    int64_t values = 0;
    for (const mw_node *n = mw_graph_next(graph, NULL); n; n = mw_graph_next(graph, n))
        for (int i = 0; i < mw_node_line(n).nout; i++) {
            int64_t id = mw_node_result(n, i).id;
            if (id >= values) values = id + 1;
        }
    int64_t *maker = mw_memory((size_t)(values + 1) * sizeof *maker);
    if (maker) maker[0] = values; /* the place of value i is i + 1 */
    return maker;
}

mw_status graph_draw_dot(const graph_state *g, const mw_graph *graph, const char *path)
{
    FILE *to;
    int64_t number = 0, *maker = makers_of(graph);
    if (!maker) return mw_last_error()->code;
    size_t size = (size_t)(maker[0] + 1) * sizeof *maker;
    mw_status status = open_file(path, &to);
    if (status == MW_OK) {
        (void)fputs("digraph \"", to);
        dot_text(to, g->path);
        (void)fputs("\" {\n  node [shape=box, style=filled, fontname=\"sans-serif\", "
                    "fontsize=10];\n  edge [color=\"#5b6570\"];\n",
                    to);
        for (const mw_node *n = mw_graph_next(graph, NULL); n; n = mw_graph_next(graph, n)) {
            mw_graph_line line = mw_node_line(n);
            dot_node(to, n, number);
            for (int i = 0; i < line.nin; i++)
                (void)fprintf(to, "  n%lld -> n%lld;\n",
                              (long long)maker[mw_node_operand(n, i).id + 1], (long long)number);
            for (int i = 0; i < line.nout; i++)
                maker[mw_node_result(n, i).id + 1] = number;
            number++;
        }
        (void)fputs("}\n", to);
        status = close_file(to, path);
    }
    mw_memory_free(maker, size);
    return status;
}

/* ---- html -------------------------------------------------------------------------------------
 */

static const char style[] =
    "main.graph{display:block;height:auto;padding:0 1rem 2rem;overflow-x:auto}\n"
    "main.graph td:first-child{width:auto}main.graph td:last-child{width:auto}\n"
    "tr.movement td{background:#ffd08a55}tr.unasked td{background:#f4a9a888}"
    "tr.mark td{background:#8ecae655}\n"
    "pre{white-space:pre-wrap;margin:.3rem 0;font-size:.8rem}\n";

static void value_cells(const html *h, const mw_node *node, const mw_graph_line *line)
{
    html_raw(h, "<td><code>");
    for (int i = 0; i < line->nout; i++) {
        mw_graph_value v = mw_node_result(node, i);
        (void)fprintf(h->to, "%s<a id=v%lld></a>%%", i ? ", " : "", (long long)v.id);
        html_text(h, v.name);
    }
    html_raw(h, "</code></td><td><code>");
    html_text(h, line->name[0] ? line->name : line->kind);
    for (int i = 0; i < line->nin; i++) {
        mw_graph_value v = mw_node_operand(node, i);
        (void)fprintf(h->to, "%s<a href='#v%lld'>%%", i ? ", " : "(", (long long)v.id);
        html_text(h, v.name);
        html_raw(h, "</a>");
    }
    if (line->nin) html_raw(h, ")");
    html_raw(h, "</code></td><td><code>");
    for (int i = 0; i < line->nout; i++) {
        char layout[512];
        mw_graph_value v = mw_node_result(node, i);
        layout_text(&v, layout, sizeof layout);
        if (i) html_raw(h, ", ");
        html_text(h, layout);
    }
    html_raw(h, "</code></td>");
}

static void reason_cell(const html *h, mw_graph *graph, const mw_node *node,
                        const mw_graph_line *line, int *left)
{
    const char *why;
    html_raw(h, "<td>");
    if (line->recv_bytes_total) {
        (void)fprintf(h->to, "%lld B to the rank that receives most, %lld B in all; %s. ",
                      (long long)line->recv_bytes, (long long)line->recv_bytes_total,
                      line->asked ? "asked for" : "unasked");
    }
    html_text(h, line->because);
    if (line->nout && *left > 0 && strcmp(line->kind, "movement") != 0 &&
        mw_graph_why(graph, mw_node_result(node, 0).name, 0, &why) == MW_OK) {
        (*left)--;
        html_raw(h, "<details><summary>why</summary><pre>");
        for (size_t n; *why; why += n + (why[n] == '\n')) {
            n = strcspn(why, "\n");
            html_bytes(h, why, (int64_t)n);
            if (why[n] && why[n + 1]) html_raw(h, "\n");
        }
        html_raw(h, "</pre></details>");
    }
    html_raw(h, "</td><td class=note>");
    html_text(h, line->chain);
    if (line->site.file) {
        html_raw(h, " ");
        html_text(h, line->site.file);
        (void)fprintf(h->to, ":%d", line->site.line);
    }
    html_raw(h, "</td></tr>\n");
}

static void lines_table(const html *h, mw_graph *graph)
{
    int left = WHYS;
    html_raw(h, "<table><thead><tr><td>value</td><td>made by</td><td>lies</td><td>moved, why</td>"
                "<td>where</td></tr></thead><tbody>\n");
    for (const mw_node *n = mw_graph_next(graph, NULL); n; n = mw_graph_next(graph, n)) {
        mw_graph_line line = mw_node_line(n);
        (void)fprintf(h->to, "<tr class='%s%s'>", line.kind,
                      line.recv_bytes_total && !line.asked ? " unasked" : "");
        value_cells(h, n, &line);
        reason_cell(h, graph, n, &line, &left);
    }
    html_raw(h, "</tbody></table>");
}

static void summary(const graph_state *g, const html *h, const mw_graph *graph)
{
    int64_t recv = 0, total = 0;
    json_t *page = graph_page(g, graph);
    html_raw(h, "<header><h1>");
    html_text(h, g->path);
    html_raw(h, " on ");
    html_text(h, g->s.mesh_text);
    html_raw(h, "</h1>");
    for (const mw_node *n = mw_graph_next(graph, NULL); n; n = mw_graph_next(graph, n)) {
        mw_graph_line line = mw_node_line(n);
        recv += line.recv_bytes;
        total += line.recv_bytes_total;
    }
    (void)fprintf(h->to,
                  "<p>%lld nodes. %lld B to the rank that receives most, %lld B in all. Rows: "
                  "movements in orange, those that nobody asked for in red, marks in blue.</p>",
                  (long long)mw_graph_nodes(graph), (long long)recv, (long long)total);
    for (int i = 0; i < g->s.nnote; i++) {
        html_raw(h, "<p>note: ");
        html_text(h, g->s.note[i]);
        html_raw(h, "</p>");
    }
    html_mesh(h, g->s.mesh);
    html_raw(h, "<details open><summary>the plan</summary><pre>");
    for (const char *at = page ? json_string_value(page) : ""; *at;) {
        size_t n = strcspn(at, "\n");
        html_bytes(h, at, (int64_t)n);
        html_raw(h, "\n");
        at += n + (at[n] == '\n');
    }
    html_raw(h, "</pre></details></header>\n");
    json_decref(page);
}

mw_status graph_draw_html(const graph_state *g, mw_graph *graph, const char *path)
{
    html *h = mw_memory(sizeof *h);
    if (!h) return mw_last_error()->code;
    *h = (html){0};
    mw_status status = open_file(path, &h->to);
    if (status == MW_OK) {
        for (int i = 0; html_head[i]; i++)
            html_raw(h, html_head[i]);
        html_raw(h, "<style>\n");
        html_raw(h, style);
        html_raw(h, "</style>\n<title>");
        html_text(h, g->path);
        html_raw(h, "</title>\n</head>\n<body>\n");
        summary(g, h, graph);
        html_raw(h, "<main class=graph>");
        lines_table(h, graph);
        html_raw(h, "</main>\n</body>\n</html>\n");
        status = close_file(h->to, path);
    }
    mw_memory_free(h, sizeof *h);
    return status;
}
