// Where elements lie as a function of loop counters: the affine maps of views, products and windows.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace espalier::c_text {

// offset + the sum of factors[k] * counter k. Counters beyond `factors` have factor 0.
struct Affine {
  int64_t offset = 0;
  std::vector<int64_t> factors = {};

  static Affine counter(size_t k, int64_t factor = 1, int64_t offset = 0);
  int64_t factor(size_t k) const { return k < factors.size() ? factors[k] : 0; }
  Affine& add(const Affine& other, int64_t times = 1);
};
// One an axis.
using Indices = std::vector<Affine>;

// 0, 1, ...: axis k is counter k.
Indices identity(size_t rank);
// The sum of index times stride.
Affine dot(const Indices& indices, const Dims& strides);

// broadcast_in_dim, transpose, slice and reverse move elements by an affine map.
bool is_view(const OpDef& op);
// The index of the operand's element that `node`, a view, has at `indices`.
Indices through_view(const Graph& graph, const Node& node, const Indices& indices);

}  // namespace espalier::c_text
