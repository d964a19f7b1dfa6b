// Two sorted samples walked together, at each different value.
#pragma once

#include <cstddef>
#include <span>

namespace espalier {

// Calls at(value, next, share of a, share of b) for each different value of both; the shares are those up to
// the value, next is the value that follows, of the last one itself. REQUIRES: both sorted, neither empty.
template <class At>
void walk_samples(std::span<const double> a, std::span<const double> b, At at) {
  size_t i = 0, k = 0;
  while (i < a.size() || k < b.size()) {
    const double value = k == b.size() || (i < a.size() && a[i] <= b[k]) ? a[i] : b[k];
    while (i < a.size() && a[i] == value) ++i;
    while (k < b.size() && b[k] == value) ++k;
    const double next = i < a.size() && (k == b.size() || a[i] <= b[k]) ? a[i] : k < b.size() ? b[k] : value;
    at(value, next, static_cast<double>(i) / static_cast<double>(a.size()),
       static_cast<double>(k) / static_cast<double>(b.size()));
  }
}

}  // namespace espalier
