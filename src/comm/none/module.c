/* Looking for the module that knows MPI where nothing can be loaded: a static program has none. */
#include "comm/messages.h"

static mw_status none(void)
{
    return MW_FAIL(MW_ERR_UNSUPPORTED, "this program is linked without the mpi backend");
}

mw_status mw__comm_mpi_new(const char *module, const mw_comm_options *options, mw_comm **ret_comm)
{
    (void)module;
    (void)options;
    (void)ret_comm;
    return none();
}

mw_status mw__comm_mpi_find(const char *module, int *ret_rank, int *ret_ranks)
{
    (void)module;
    (void)ret_rank;
    (void)ret_ranks;
    return none();
}
