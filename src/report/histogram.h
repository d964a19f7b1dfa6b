// How two samples are spread.
#pragma once

#include <span>

#include "report/html.h"

namespace espalier {

// Bars of one sample above an axis and of another below, each as shares of its own highest; drawn in the
// colours of positives and negatives. Bars are of equal width. Lines stand at `marks`, from 0, the left end,
// to 1.
Html mirrored_histogram(std::span<const double> above, std::span<const double> below,
                        std::span<const double> marks = {});

}  // namespace espalier
