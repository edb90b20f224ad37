/* The command-line tool: what its commands share. Uses include/meshwise/ only (and models/). */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <jansson.h>
#include <meshwise/meshwise.h>
#include <meshwise/model_file.h>
#include <meshwise/tokenizer.h>
#include <stdbool.h>

enum { EXIT_NO = 1, EXIT_USAGE = 2, EXIT_FILE = 3, EXIT_BUG = 70 };

typedef enum cli_option_id {
#define OPTION(id, spelling, argument, commands, text) OPT_##id,
#include "cli/options.def"
#undef OPTION
    OPT_COUNT
} cli_option_id;

/* The ranks that a launcher such as mpirun has started, this process among them. */
enum { CLI_PATH = 4096 };
typedef struct cli_world {
    bool mpi;       /* asked for, or chosen since there is a launcher */
    bool each;      /* from now on every rank tells its own error; before, all fail alike */
    int rank;       /* 0 where there is no launcher */
    int ranks;      /* 0 where they could not be joined */
    mw_error error; /* why not */
    const char *module;
    char path[CLI_PATH];
} cli_world;

/* Joins them if `backend` (NULL: not given) is mpi, or is not given and there is a launcher. */
void cli_world_join(cli_world *world, const char *backend);

/* From now on SIGTERM sets the returned flag, once. */
const volatile int *cli_told_to_end(void);

/* A command's arguments. value[id] is NULL where the option was not given, "" for a flag. */
typedef struct cli_args {
    const char *command;
    const char *value[OPT_COUNT];
    const char **positional;
    int npositional;
    bool json;
    cli_world *world; /* of commands that launch ranks; NULL: none */
} cli_args;

/* Is this the rank that prints results? */
bool cli_first(const cli_args *args);

/* Prints this thread's error record on stderr (and, with --json, as an object on stdout) and
 * returns its exit code. What all ranks of a launcher see alike is printed by the first alone. */
int cli_report(const cli_args *args);

/* The same for a mistake in the arguments: one line, a pointer to --help, exit 2. */
int cli_usage(const cli_args *args, const char *format, ...) MW_PRINTF(2, 3);

/* Numbers out of options. MW_ERR_ARG names option, text and what is allowed. Absent: *ret stays. */
MW_NODISCARD mw_status cli_int(const cli_args *args, cli_option_id id, int64_t least, int64_t most,
                               int64_t *ret);
MW_NODISCARD mw_status cli_float(const cli_args *args, cli_option_id id, double least, double most,
                                 double *ret);

/* Prints the object on stdout as the command's one result, and gives it up. Returns the exit code
 * `code`, or that of a failure to write. */
int cli_print(const cli_args *args, json_t *object, int code);

/* Makes sure that what was printed is written: 0, or the exit code with a line on stderr. */
int cli_flush(void);

/* Reads a whole file, or standard input for "-": bytes, NUL-terminated besides. Freed with
 * mw_memory_free(*ret, *ret_length + 1). */
MW_NODISCARD mw_status cli_read_file(const char *path, char **ret, int64_t *ret_length);

/* A model file with its tokenizer. */
typedef struct cli_model {
    mw_model_file *file;
    mw_tokenizer *tokenizer;
} cli_model;
MW_NODISCARD mw_status cli_model_open(const char *path, cli_model *ret);
void cli_model_close(cli_model *model);

/* Runs the passes that --passes names (all, where it is not given) and prints the program after the
 * one that --print-after names. `ran` (may be NULL: then there is no "capture" to print after) is
 * told of each. Fails: MW_ERR_ARG, before any of them, for a pass that there is not, or one to
 * print after that would not run. */
typedef void cli_pass_ran(void *user, mw_graph *graph, const char *name, double seconds);
MW_NODISCARD mw_status cli_passes(mw_graph *graph, const cli_args *args, cli_pass_ran *ran,
                                  void *user);

/* The program as text, to stdout. Fails: MW_ERR_NOMEM. */
MW_NODISCARD mw_status cli_print_graph(mw_graph *graph);

#define COMMAND(name, positional, text) int cmd_##name(const cli_args *args);
#include "cli/commands.def"
#undef COMMAND

#endif
