/* Feeding an explainer from a file or standard input, as it comes. */
#include "cli/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, PAUSE_MS = 1000 };

mw_status explain_options(const cli_args *args, mw_explain_options *ret)
{
    const char *dtype = args->value[OPT_as_dtype];
    *ret = (mw_explain_options){.mesh = args->value[OPT_mesh]};
    if (!dtype) return MW_OK;
    ret->dtype = mw_dtype_read(dtype, (int)strlen(dtype));
    if (ret->dtype != MW_DTYPE_NONE) return MW_OK;
    return mw_error_set(MW_ERR_ARG, "--dtype %.40s: no such dtype", dtype);
}

static mw_status feed_all(int from, const char *path, mw_explain *e, explain_sink also, void *user)
{
    char *chunk = mw_memory(CHUNK);
    if (!chunk) return mw_last_error()->code;
    mw_status status = MW_OK;
    bool told = true;
    while (status == MW_OK) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (also && !told && poll(&ready, 1, PAUSE_MS) == 0) {
            told = true;
            status = also(user, NULL, 0);
            continue;
        }
        ssize_t n = read(from, chunk, CHUNK);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = mw_error_set(MW_ERR_IO, "%s: %s", path, strerror(errno));
        if (n <= 0) break;
        told = false;
        status = mw_explain_feed(e, chunk, n);
        if (status == MW_OK && also) status = also(user, chunk, n);
    }
    mw_memory_free(chunk, CHUNK);
    return status;
}

mw_status explain_read(const char *path, mw_explain *e, explain_sink also, void *user)
{
    bool file = strcmp(path, "-") != 0;
    int from = file ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (from < 0) return mw_error_set(MW_ERR_IO, "%s: %s", path, strerror(errno));
    mw_status status = feed_all(from, path, e, also, user);
    if (file) (void)close(from);
    return status == MW_OK ? mw_explain_finish(e) : status;
}
