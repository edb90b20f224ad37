/* meshwise: sharded tensors. The whole public interface; see the headers one by one, in this order.
 */
#ifndef MESHWISE_H
#define MESHWISE_H

#include <meshwise/alloc.h>
#include <meshwise/dtype.h>
#include <meshwise/log.h>
#include <meshwise/mesh.h>
#include <meshwise/op.h>
#include <meshwise/ops.h>
#include <meshwise/status.h>
#include <meshwise/version.h>
#include <meshwise/tensor.h>

#endif
