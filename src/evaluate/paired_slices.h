// Two models on the same rows, slice by slice.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "evaluate/multiplicity.h"
#include "evaluate/slices.h"

namespace espalier {

// `of` each slice of all rows, then of each slicing: what has `p`, `adjusted_p` and whether it is compared(),
// of which adjusted_p is by holm(). Raises as slice_by() does.
template <class Of>
auto paired_slices(size_t rows, const std::vector<std::vector<const CategoryColumn*>>& slicings,
                   const SliceOptions& options, Of of) {
  auto out = of(overall(rows, options));
  for (const auto& columns : slicings) {
    for (auto& one : of(slice_by(columns, options))) out.push_back(std::move(one));
  }
  std::vector<double> p;
  for (const auto& one : out) {
    if (one.compared()) p.push_back(one.p);
  }
  const std::vector<double> adjusted = holm(p);
  auto next = adjusted.begin();
  for (auto& one : out) {
    if (one.compared()) one.adjusted_p = *next++;
  }
  return out;
}

}  // namespace espalier
