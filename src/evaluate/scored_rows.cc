#include "evaluate/scored_rows.h"

#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"

namespace espalier {

void check_weights(size_t rows, std::span<const double> weights) {
  if (!weights.empty() && weights.size() != rows)
    throw ValueError("evaluate.rows",
                     cat("each row has a weight: ", rows, " rows, ", weights.size(), " weights"));
  for (size_t row = 0; row < weights.size(); ++row) {
    if (!(weights[row] >= 0) || std::isinf(weights[row])) {
      throw ValueError("evaluate.weight", cat("a weight is finite and not negative: row ", row, " has ",
                                              shortest(weights[row])));
    }
  }
}

ScoredRows::ScoredRows(std::span<const double> scores, std::span<const uint8_t> labels,
                       std::span<const double> weights)
    : scores_(scores), labels_(labels), weights_(weights) {
  const size_t rows = scores.size();
  if (labels.size() != rows) {
    throw ValueError("evaluate.rows", cat("scores and labels are of the same rows: ", rows, " scores, ",
                                          labels.size(), " labels"));
  }
  check_weights(rows, weights);
  if (rows > std::numeric_limits<uint32_t>::max())
    throw ValueError("evaluate.rows", cat("at most 2^32 - 1 rows, got ", rows));
  for (size_t row = 0; row < rows; ++row) {
    if (std::isnan(scores[row])) throw ValueError("evaluate.score", cat("row ", row, " has no score: NaN"));
    if (labels[row] > 1) {
      throw ValueError("evaluate.label", cat("a label is 0 or 1: row ", row, " has ", int{labels[row]}));
    }
  }
}

}  // namespace espalier
