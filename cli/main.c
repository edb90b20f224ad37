/* meshwise: the command line. Commands and options are rows of commands.def and options.def. */
#include "cli/cli.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct command_row {
    const char *name, *positional, *text;
    int (*run)(const cli_args *args);
} command_row;

/* The static program has those commands alone that read texts. */
static const command_row commands[] = {
#ifdef CLI_TEXTS_ONLY
#define COMMAND(name, positional, text)
#define TEXT_COMMAND(name, positional, text) {#name, positional, text, cmd_##name},
#else
#define COMMAND(name, positional, text) {#name, positional, text, cmd_##name},
#endif
#include "cli/commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

typedef struct option_row {
    const char *spelling, *argument, *commands, *text;
} option_row;

static const option_row options[OPT_COUNT] = {
#define OPTION(id, spelling, argument, commands, text) \
    [OPT_##id] = {spelling, argument, commands, text},
#include "cli/options.def"
#undef OPTION
};

/* Is `word` one of the space-separated words? */
static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; *at; at += *at == ' ') {
        size_t length = strcspn(at, " ");
        if (length == n && memcmp(at, word, n) == 0) return true;
        at += length;
    }
    return false;
}

static void print_commands(FILE *to)
{
    (void)fprintf(to, "meshwise: sharded tensors\n\n");
    for (int i = 0; i < COMMANDS; i++)
        (void)fprintf(to, "  meshwise %-8s %-20s %s\n", commands[i].name, commands[i].positional,
                      commands[i].text);
    (void)fprintf(to, "\n`meshwise COMMAND --help` lists its options.\n");
}

static void print_help(const command_row *command)
{
    printf("meshwise %s %s [options]\n\n%s\n\n", command->name, command->positional, command->text);
    for (int i = 0; i < OPT_COUNT; i++) {
        if (!has_word(options[i].commands, command->name)) continue;
        char left[40];
        (void)snprintf(left, sizeof left, "%s %s", options[i].spelling,
                       options[i].argument ? options[i].argument : "");
        printf("  %-22s %s\n", left, options[i].text);
    }
    printf("\nExit: 0 done, 1 the answer is no, 2 arguments, 3 a file, 4 a rank or memory failed, "
           "70 a bug.\n");
}

int cli_usage(const cli_args *args, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    (void)mw_error_set(MW_ERR_ARG, "%s (see `meshwise %s%s--help`)", text,
                       args->command ? args->command : "", args->command ? " " : "");
    return cli_report(args);
}

/* The row of an option of this command, or -1. `--name=value` gives the value too. */
static int find_option(const char *command, const char *text, const char **ret_value)
{
    size_t length = strcspn(text, "=");
    bool joined = text[length] == '=' && text[1] == '-';
    if (!joined) length = strlen(text);
    for (int i = 0; i < OPT_COUNT; i++) {
        if (strlen(options[i].spelling) != length ||
            memcmp(options[i].spelling, text, length) != 0 ||
            !has_word(options[i].commands, command))
            continue;
        *ret_value = joined ? text + length + 1 : NULL;
        return i;
    }
    return -1;
}

static int unknown_option(const cli_args *args, const char *text)
{
    const char *names[OPT_COUNT], *near;
    char name[40];
    int n = 0;
    for (int i = 0; i < OPT_COUNT; i++)
        if (has_word(options[i].commands, args->command)) names[n++] = options[i].spelling;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    near =
        strlen(name) > 3 ? mw_nearest_name(name, names, n) : NULL; /* -x is near to every letter */
    return cli_usage(args, "%s has no option %.60s%s%s%s", args->command, text,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Reads the arguments after the command into `args`; an exit code on failure, else -1. */
static int read_args(cli_args *args, int argc, char **argv)
{
    bool only_positional = false;
    for (int i = 0; i < argc; i++) {
        const char *text = argv[i], *value;
        if (!only_positional && strcmp(text, "--") == 0) {
            only_positional = true;
            continue;
        }
        if (only_positional || text[0] != '-' || text[1] == 0) {
            args->positional[args->npositional++] = text;
            continue;
        }
        int id = find_option(args->command, strcmp(text, "-h") == 0 ? "--help" : text, &value);
        if (id < 0) return unknown_option(args, text);
        if (!options[id].argument && value)
            return cli_usage(args, "%s takes no value", options[id].spelling);
        if (options[id].argument && !value) {
            if (i + 1 == argc)
                return cli_usage(args, "%s needs a value: %s %s", text, text, options[id].argument);
            value = argv[++i];
        }
        if (args->value[id]) return cli_usage(args, "%s is given twice", options[id].spelling);
        args->value[id] = value ? value : "";
        if (id == OPT_json) args->json = true;
    }
    return -1;
}

/* The value of --backend, found before the options are read: what is wrong with these should be
 * told by one rank. */
static const char *given_backend(int argc, char **argv)
{
    static const char name[] = "--backend";
    size_t length = sizeof name - 1;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], name, length) != 0) continue;
        if (argv[i][length] == '=') return argv[i] + length + 1;
        if (!argv[i][length] && i + 1 < argc) return argv[i + 1];
    }
    return NULL;
}

/* Reads a whole number at *at, moves past it, and then past `after`. */
static bool take_number(const char **at, const char *after, int64_t *ret)
{
    char *end;
    if (**at < '0' || **at > '9') return false;
    *ret = strtoll(*at, &end, 10);
    if (strncmp(end, after, strlen(after)) != 0) return false;
    *at = end + strlen(after);
    return true;
}

/* MESHWISE_FAULT, for tests: alloc:N fails the N-th request for memory; rank:R,op:N is carried out
 * by the commands that launch ranks. Anything else is a mistake: a test that injects nothing would
 * pass. */
static bool plant_fault(mw_fault_allocator *fault)
{
    const char *at = getenv("MESHWISE_FAULT");
    int64_t n, rank;
    if (!at) return true;
    if (strncmp(at, "rank:", 5) == 0) {
        at += 5;
        return take_number(&at, ",op:", &rank) && take_number(&at, "", &n) && !*at;
    }
    if (strncmp(at, "alloc:", 6) != 0) return false;
    at += 6;
    if (!take_number(&at, "", &n) || *at) return false;
    mw_fault_allocator_init(fault, n, 0);
    mw_allocator_use(&fault->allocator);
    return true;
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_DFL);
    static mw_fault_allocator fault;
    bool planted = plant_fault(&fault);
    cli_args args = {0};
    for (int i = 1; i < argc; i++) /* early, so that every error can be JSON */
        args.json = args.json || strcmp(argv[i], "--json") == 0;
    if (!planted)
        return cli_usage(&args, "MESHWISE_FAULT is `%.60s`: expected alloc:N or rank:R,op:N",
                         getenv("MESHWISE_FAULT"));
    const char *name = argc > 1 ? argv[1] : "";
    if (!*name || strcmp(name, "--json") == 0) return cli_usage(&args, "no command");
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_commands(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        printf("meshwise %s\n", mw_version());
        return 0;
    }
    const command_row *command = NULL;
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) command = &commands[i];
    if (!command) {
        const char *names[COMMANDS];
        for (int i = 0; i < COMMANDS; i++)
            names[i] = commands[i].name;
        const char *near = mw_nearest_name(name, names, COMMANDS);
        return cli_usage(&args, "there is no command '%s'%s%s%s", name,
                         near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    args.command = command->name;
    args.positional = malloc((size_t)argc * sizeof *args.positional);
    if (!args.positional) {
        (void)mw_error_set(MW_ERR_NOMEM, "out of memory");
        return cli_report(&args);
    }
    static cli_world world;
    if (has_word(options[OPT_backend].commands, command->name)) {
        cli_world_join(&world, given_backend(argc - 2, argv + 2));
        args.world = &world;
    }
    int code = read_args(&args, argc - 2, argv + 2);
    if (code < 0 && args.value[OPT_help]) {
        if (cli_first(&args)) print_help(command);
        code = 0;
    }
    if (code < 0) code = command->run(&args);
    free(args.positional);
    return code;
}
