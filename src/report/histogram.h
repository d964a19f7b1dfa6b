// How scores are spread.
#pragma once

#include <span>

#include "report/html.h"

namespace espalier {

// Positives above an axis from 0 to 1 and negatives below, each as shares of its own highest bar. Bars are of
// equal width.
Html score_histogram(std::span<const double> positives, std::span<const double> negatives);

}  // namespace espalier
