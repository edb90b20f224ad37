/* frozen: tensors from outside whose values stay what they are as long as a compiled function
 * lives. What programs make of them once serves every run: now, that is weights in fewer bytes. */
#ifndef GRAPH_FROZEN_H
#define GRAPH_FROZEN_H

#include "graph/program.h"

/* Makes an empty one. */
MW_NODISCARD mw_status mw__frozen_new(mw_frozen **ret);

/* Gives up what was made of them; they may be written again. NULL is fine. */
void mw__frozen_free(mw_frozen *frozen);

/* Freezes the tensors that the program reads from outside and does not write, and gives its kernels
 * what is made of them, which other programs of the function may have made before. Local. */
MW_NODISCARD mw_status mw__program_freeze(mw_program *program, mw_frozen *frozen);

int64_t mw__frozen_bytes(const mw_frozen *frozen); /* of what was made */

#endif
