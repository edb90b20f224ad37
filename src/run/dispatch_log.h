/* dispatch_log: calls and movements in the format of PyTorch's DTensor log. */
#ifndef RUN_DISPATCH_LOG_H
#define RUN_DISPATCH_LOG_H

#include "run/run.h"

/* Appends the lines of a call whose operands lie as `now` says: the dispatch, the view rule where
 * it is a reshape, and the output's sharding (none where the op runs by its parts: these have lines
 * of their own). `device`: the label of the mesh. */
void mw__dispatch_lines(const mw_rank *rank, const mw_call *call, const mw_layout *const *now,
                        const char *device, mw_str *to);

/* Appends the lines of one step of a redistribution: one per mesh axis whose placement changes. */
void mw__redistribute_lines(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to_layout,
                            mw_str *to);

#endif
