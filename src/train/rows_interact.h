// Whether rows of a batch stand for themselves.
#pragma once

#include <optional>
#include <span>

#include "espalier/model.h"

namespace espalier {

// Whether what the model gives for a row depends on the row beside it, as batch statistics do: found out on
// this CPU, with two rows of `x`, the inputs of a batch, and changing nothing. `training`: as in a step of
// fit. Also where the model takes no two rows, or gives something else than rows. Nothing where all rows that
// were looked at are equal.
std::optional<bool> rows_interact(Model& model, std::span<const Tensor> x, bool training);

}  // namespace espalier
