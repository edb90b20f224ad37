/* Finds and loads the module that knows MPI. It is looked for where the caller says, else beside
 * the code that asks (a build folder, an installed library), in the folder that the library was
 * built to be installed with, and last by the loader's own rules. It stays loaded: MPI ends with
 * the process. */
#include "comm/messages.h"

#include <dlfcn.h>
#include <stdio.h>

#ifndef MW_MODULE_DIR
#define MW_MODULE_DIR "/usr/local/lib/meshwise"
#endif

static const char file_name[] = "meshwise_mpi.so";

enum { PATH = 4096, SAYS = 600 };

/* Its names are for all: the parts that MPI itself loads later look for MPI's names there. */
static void *load(const char *path, char *says)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    const char *why = module ? NULL : dlerror();
    if (!module) (void)snprintf(says, SAYS, "%s", why ? why : "?");
    return module;
}

static bool is_there(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file) (void)fclose(file);
    return file != NULL;
}

/* The folder of the program or shared library that this code is part of. */
static bool own_folder(char ret[PATH])
{
    Dl_info info;
    if (!dladdr((const void *)file_name, &info) || !info.dli_fname) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    return slash &&
           snprintf(ret, PATH, "%.*s", (int)(slash - info.dli_fname), info.dli_fname) < PATH;
}

static void *find(const char *module, char *says)
{
    static const char *const under[] = {"", "/meshwise", "/../lib/meshwise", "/.."};
    char folder[PATH], path[PATH + 64];
    if (module) return load(module, says);
    if (own_folder(folder)) {
        for (int i = 0; i < MW_COUNT(under); i++) {
            (void)snprintf(path, sizeof path, "%s%s/%s", folder, under[i], file_name);
            if (is_there(path)) return load(path, says);
        }
    }
    (void)snprintf(path, sizeof path, "%s/%s", MW_MODULE_DIR, file_name);
    return load(is_there(path) ? path : file_name, says);
}

static mw_status open_transport(const char *module, mw__transport **ret)
{
    char says[SAYS];
    void *loaded = find(module, says);
    if (!loaded) {
        mw_status status =
            MW_FAIL(MW_ERR_UNSUPPORTED,
                    "the mpi backend needs the module %s and MPI itself: %.500s", file_name, says);
        mw__error_hint("install Open MPI (Debian: apt-get install libopenmpi-dev openmpi-bin) and "
                       "build meshwise again, or use the threads backend");
        return status;
    }
    mw__transport_open *open = NULL;
    void *found = dlsym(loaded, MW_TRANSPORT_OPEN);
    _Static_assert(sizeof open == sizeof found, "a function's address is an address");
    memcpy(&open, &found, sizeof open);
    const char *wrong = open ? open(MW_TRANSPORT_VERSION, ret) : "it is no module of meshwise";
    if (wrong) return MW_FAIL(MW_ERR_UNSUPPORTED, "the mpi backend can't start: %s", wrong);
    return MW_OK;
}

mw_status mw__comm_mpi_new(const char *module, const mw_comm_options *options, mw_comm **ret_comm)
{
    mw__transport *transport;
    MW_TRY(open_transport(module, &transport));
    return mw__comm_messages_new(transport, options, ret_comm);
}

mw_status mw__comm_mpi_find(const char *module, int *ret_rank, int *ret_ranks)
{
    mw__transport *transport;
    MW_TRY(open_transport(module, &transport));
    *ret_rank = transport->rank;
    *ret_ranks = transport->nrank;
    return MW_OK;
}
