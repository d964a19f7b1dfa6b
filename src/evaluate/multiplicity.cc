#include "evaluate/multiplicity.h"

#include <algorithm>
#include <numeric>

namespace espalier {
namespace {

std::vector<size_t> ascending(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return p[i]; });
  return order;
}

}  // namespace

std::vector<double> holm(std::span<const double> p) {
  std::vector<double> out(p.size());
  double worst = 0;
  size_t left = p.size();
  for (const size_t i : ascending(p)) {
    worst = std::max(worst, std::min(1.0, static_cast<double>(left--) * p[i]));
    out[i] = worst;
  }
  return out;
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  std::vector<double> out(p.size());
  const std::vector<size_t> order = ascending(p);
  double best = 1;
  for (size_t rank = p.size(); rank > 0; --rank) {
    const size_t i = order[rank - 1];
    best = std::min(best, p[i] * static_cast<double>(p.size()) / static_cast<double>(rank));
    out[i] = best;
  }
  return out;
}

}  // namespace espalier
