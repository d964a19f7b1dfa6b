#include "text/c_index.h"

#include "ir/attribute_reader.h"
#include "ops/registry.h"

namespace espalier::c_text {

Affine Affine::counter(size_t k, int64_t factor, int64_t offset) {
  Affine out{offset, std::vector<int64_t>(k + 1)};
  out.factors[k] = factor;
  return out;
}

Affine& Affine::add(const Affine& other, int64_t times) {
  offset += times * other.offset;
  if (factors.size() < other.factors.size()) factors.resize(other.factors.size());
  for (size_t k = 0; k < other.factors.size(); ++k) factors[k] += times * other.factors[k];
  return *this;
}

Indices identity(size_t rank) {
  Indices out;
  for (size_t k = 0; k < rank; ++k) out.push_back(Affine::counter(k));
  return out;
}

Affine dot(const Indices& indices, const Dims& strides) {
  Affine out;
  for (size_t i = 0; i < indices.size(); ++i) out.add(indices[i], strides[i]);
  return out;
}

bool is_view(const OpDef& op) {
  return &op == &op_broadcast_in_dim || &op == &op_transpose || &op == &op_slice || &op == &op_reverse;
}

Indices through_view(const Graph& graph, const Node& node, const Indices& indices) {
  const Shape& shape = graph.type(graph.inputs(node)[0]).shape;
  const Attributes* attributes = node.attributes.get();
  Indices out(shape.size());
  if (node.op == &op_broadcast_in_dim) {
    const Dims axes = read_dims(attributes, "broadcast_dimensions");
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] != 1) out[i] = indices[axes[i]];
    }
  } else if (node.op == &op_transpose) {
    const Dims permutation = read_dims(attributes, "permutation");
    for (size_t i = 0; i < shape.size(); ++i) out[permutation[i]] = indices[i];
  } else if (node.op == &op_slice) {
    const Dims start = read_dims(attributes, "start_indices"), step = read_dims(attributes, "strides");
    for (size_t i = 0; i < shape.size(); ++i) out[i] = Affine{start[i]}.add(indices[i], step[i]);
  } else {
    const Dims axes = read_dims(attributes, "dimensions");
    for (size_t i = 0; i < shape.size(); ++i) {
      const bool reversed = axes.contains(static_cast<int64_t>(i));
      out[i] = reversed ? Affine{shape[i] - 1}.add(indices[i], -1) : indices[i];
    }
  }
  return out;
}

}  // namespace espalier::c_text
