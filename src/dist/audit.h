// The hash by which replicas on devices compare what they hold.
#pragma once

#include "espalier/tensor.h"

namespace espalier {

// u32[]: of all bits of `value` and of their places, by ops, so that it is computed where the value lies.
// Other bits have another hash but for one case in 2^32.
Tensor hash_there(const Tensor& value);

}  // namespace espalier
