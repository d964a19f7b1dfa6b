#include "evaluate/entropy.h"

#include <cmath>
#include <vector>

namespace espalier {
namespace {

struct Benefit {
  double amount, weight;
};

// The mean, with the weight of all; 0 of nothing.
Benefit mean_of(const std::vector<Benefit>& benefits) {
  double weight = 0, sum = 0;
  for (const Benefit& benefit : benefits) {
    weight += benefit.weight;
    sum += benefit.weight * benefit.amount;
  }
  return {weight == 0 ? 0 : sum / weight, weight};
}

std::optional<double> entropy(const std::vector<Benefit>& benefits, double alpha) {
  const Benefit mean = mean_of(benefits);
  if (mean.amount == 0) return std::nullopt;
  const auto of_share = [&](double x) {
    if (alpha == 0) return -std::log(x);
    if (alpha == 1) return x == 0 ? 0 : x * std::log(x);
    return (std::pow(x, alpha) - 1) / (alpha * (alpha - 1));
  };
  double out = 0;
  for (const Benefit& benefit : benefits) {
    if (benefit.weight == 0) continue;
    if (benefit.amount == 0 && alpha <= 0) return std::nullopt;
    out += benefit.weight * of_share(benefit.amount / mean.amount);
  }
  return out / mean.weight;
}

std::vector<Benefit> benefits_of(const Confusion& confusion) {
  return {{0, confusion[kFalseNegative].weight},
          {1, confusion[kTruePositive].weight + confusion[kTrueNegative].weight},
          {2, confusion[kFalsePositive].weight}};
}

}  // namespace

std::optional<double> generalised_entropy(const Confusion& confusion, double alpha) {
  return entropy(benefits_of(confusion), alpha);
}

std::optional<double> generalised_entropy_between(std::span<const Confusion> groups, double alpha) {
  std::vector<Benefit> means;
  for (const Confusion& group : groups) means.push_back(mean_of(benefits_of(group)));
  return entropy(means, alpha);
}

}  // namespace espalier
