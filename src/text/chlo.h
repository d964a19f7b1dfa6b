// chlo ops whose decomposition is part of what their programs compute.
#pragma once

#include <memory>

#include "ir/graph.h"

namespace espalier::text {

// chlo.digamma of one operand of `type`, by the Lanczos series (g = 7, nine terms) that XLA uses. Near its
// zeros below 0 that differs from the op `digamma`, which is closer to the truth, by more than programs of
// others allow for.
std::shared_ptr<Graph> chlo_digamma(const TensorType& type);

}  // namespace espalier::text
