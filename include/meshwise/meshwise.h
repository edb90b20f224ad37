/* meshwise: sharded tensors. The whole public interface; read the headers in this order. */
#ifndef MESHWISE_H
#define MESHWISE_H

/* clang-format off */
#include <meshwise/version.h>
#include <meshwise/status.h>
#include <meshwise/alloc.h>
#include <meshwise/dtype.h>
#include <meshwise/mesh.h>
#include <meshwise/notation.h>
#include <meshwise/plan.h>
#include <meshwise/tensor.h>
#include <meshwise/ops.h>
#include <meshwise/op.h>
#include <meshwise/log.h>
#include <meshwise/graph.h>
#include <meshwise/verify.h>
/* clang-format on */

#endif
