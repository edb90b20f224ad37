/* Texts of programs before and after passes: tests/data/passes/ has one property a file. Its first
 * line names the passes; its CHECK lines must come in this order in what they make.
 *
 *     # passes: reshard, partition           `placed`: values lie already as their lines say
 *     # CHECK: %c = mm(%a, %b) : f32[8, 64]{sum:x}
 *     # CHECK-NOT: all_reduce                anywhere
 *     # CHECK-BYTES: 1024                    received by all ranks, by what the graph says
 *     # FAILS: text                          the last pass fails, and says so
 *
 * In a CHECK `...` stands for any text. After each pass the graph is verified, and what it prints
 * is read back and printed the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/passes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s cannot be read", path);
    static char text[1 << 16];
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    (void)fclose(file);
    return text;
}

/* The end of the pattern where it matches at `text`; `...` is any text of one line. */
static const char *match(const char *text, const char *pattern, size_t n)
{
    while (n) {
        if (n >= 3 && strncmp(pattern, "...", 3) == 0) {
            for (const char *at = text; *at && *at != '\n'; at++) {
                const char *end = match(at, pattern + 3, n - 3);
                if (end) return end;
            }
            return n == 3 ? text : NULL;
        }
        if (*text != *pattern) return NULL;
        text++, pattern++, n--;
    }
    return text;
}

static const char *find(const char *text, const char *pattern, size_t n)
{
    for (; *text; text++) {
        const char *end = match(text, pattern, n);
        if (end) return end;
    }
    return NULL;
}

static int64_t bytes_of(const mw_graph *graph)
{
    int64_t bytes = 0;
    for (const mw_node *n = graph->first; n; n = n->next)
        if (n->kind == MW_NODE_STEP || n->kind == MW_NODE_MARK) bytes += n->recv_bytes_total;
    return bytes;
}

static void check_text(const char *path, const char *source, mw_graph *graph)
{
    const char *made = mw_graph_text(graph), *at = made;
    int checks = 0;
    for (const char *line = source; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t n = strcspn(line, "\r\n");
        if (strncmp(line, "# CHECK: ", 9) == 0) {
            at = find(at, line + 9, n - 9);
            if (!at) fail_msg("%s: not there, or not in order: %.*s\n%s", path, (int)n, line, made);
            checks++;
        } else if (strncmp(line, "# CHECK-NOT: ", 13) == 0) {
            if (find(made, line + 13, n - 13))
                fail_msg("%s: it is there: %.*s\n%s", path, (int)n, line, made);
            checks++;
        } else if (strncmp(line, "# CHECK-BYTES: ", 15) == 0) {
            if (bytes_of(graph) != strtoll(line + 15, NULL, 10))
                fail_msg("%s: %lld bytes, not %.*s\n%s", path, (long long)bytes_of(graph),
                         (int)n - 15, line + 15, made);
            checks++;
        }
    }
    if (!checks) fail_msg("%s checks nothing", path);
}

/* What is printed is read back, and printed the same. */
static void check_round(const char *path, mw_graph *graph)
{
    mw_str text = {0};
    mw_graph *again;
    mw__graph_print(graph, &text);
    assert_int_equal(mw__str_status(&text), MW_OK);
    if (mw__graph_parse(mw__str_text(&text), NULL, NULL, &again) != MW_OK)
        fail_msg("%s: %s\n%s", path, mw_last_error()->says, mw__str_text(&text));
    assert_string_equal(mw_graph_text(again), mw__str_text(&text));
    mw__graph_free(again);
    mw__str_done(&text);
}

static void run_file(const char *path)
{
    const char *source = read_file(path);
    static const char head[] = "# passes: ";
    if (strncmp(source, head, sizeof head - 1) != 0) fail_msg("%s names no passes", path);
    const char *fails = strstr(source, "# FAILS: ");
    mw_graph *graph;
    mw_status status = mw__graph_parse(source, path, NULL, &graph);
    if (status != MW_OK) fail_msg("%s: %s", path, mw_last_error()->says);
    const char *at = source + sizeof head - 1;
    while (*at != '\n' && status == MW_OK) {
        char name[64];
        int n = (int)strcspn(at, ", \n");
        (void)snprintf(name, sizeof name, "%.*s", n, at);
        at += n;
        at += strspn(at, ", ");
        if (strcmp(name, "placed") == 0)
            graph->placed = true;
        else
            status = mw_graph_pass(graph, name);
        if (status == MW_OK && mw__graph_verify(graph) != MW_OK)
            fail_msg("%s: after %s: %s\n%s", path, name, mw_last_error()->says,
                     mw_graph_text(graph));
    }
    if (fails) {
        const char *want = fails + 9;
        if (status == MW_OK) fail_msg("%s: it does not fail", path);
        if (!find(mw_last_error()->says, want, strcspn(want, "\n")))
            fail_msg("%s: it says: %s", path, mw_last_error()->says);
    } else {
        if (status != MW_OK) fail_msg("%s: %s", path, mw_last_error()->says);
        check_text(path, source, graph);
        check_round(path, graph);
    }
    mw__graph_free(graph);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void test_files(void **state)
{
    (void)state;
    enum { FILES = 256 };
    static const char folder[] = TESTS_PASSES;
    char *name[FILES];
    int n = 0;
    DIR *dir = opendir(folder);
    if (!dir) fail_msg("no folder %s", folder);
    for (const struct dirent *entry = readdir(dir); entry && n < FILES; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".mw") == 0) {
            name[n] = strdup(entry->d_name);
            assert_non_null(name[n++]);
        }
    }
    (void)closedir(dir);
    assert_true(n > 0);
    qsort(name, (size_t)n, sizeof *name, by_name);
    for (int i = 0; i < n; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s", folder, name[i]);
        run_file(path);
        free(name[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
