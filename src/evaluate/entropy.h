// How unequally a model's benefits are spread over rows.
#pragma once

#include <optional>
#include <span>

#include "evaluate/confusion.h"

namespace espalier {

// The generalised entropy index of benefits b = said - is + 1, which are 2 for a false positive, 0 for a
// false negative, else 1: Speicher et al., A unified approach to quantifying algorithmic unfairness, 2018. 0
// where all are equal. `alpha` 1 is the Theil index; half of the squared coefficient of variation is that
// of 2. None without weight, where no row has a benefit, and where some have none and alpha <= 0, which makes
// it infinite.
std::optional<double> generalised_entropy(const Confusion& confusion, double alpha = 2);
// The part of it that lies between groups: each row has the mean benefit of its group. Also
// none where a group without benefit makes it so.
std::optional<double> generalised_entropy_between(std::span<const Confusion> groups, double alpha = 2);

}  // namespace espalier
