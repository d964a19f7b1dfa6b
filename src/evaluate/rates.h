// Metrics that follow from a confusion.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/confusion.h"

namespace espalier {

// How often each outcome counts: TP, FP, TN, FN.
using OutcomeCounts = std::array<int, kOutcomes>;
struct Fraction {
  OutcomeCounts part = {}, whole = {};
};

struct Rate {
  std::string_view name;
  std::vector<std::string_view> aliases;
  Fraction fraction = {};
  // Of what is no such fraction.
  std::optional<double> (*of)(const Confusion&) = nullptr;
  std::string_view formula_of = {};

  // None where it is 0 / 0 or divides by 0.
  std::optional<double> operator()(const Confusion& confusion) const;
  // Whether it is a share of rows, each of which counts once.
  bool is_proportion() const;
  // "TP / (TP + FN)".
  std::string formula() const;
};

const std::vector<Rate>& rates();
// By name or alias. Raises ValueError[evaluate.metric], with the nearest names.
const Rate& rate(std::string_view name);

// A share of rows; those of different weights count as fewer: Tally::effective_rows.
struct Proportion {
  double share = 0, rows = 0;
};
// None where the rate is undefined. REQUIRES: rate.is_proportion().
std::optional<Proportion> proportion(const Rate& rate, const Confusion& confusion);

}  // namespace espalier
