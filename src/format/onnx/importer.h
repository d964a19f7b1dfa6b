// From nodes of ONNX to calls of ops.
#pragma once

#include <span>

#include "espalier/error.h"
#include "espalier/ops.h"
#include "format/onnx/model.h"

namespace espalier::onnx {

// One node with its inputs, as its rule sees it. Accessors raise FormatError[onnx.node] for what is missing
// or of another kind; parse_onnx puts the node's name in front.
class Operator {
 public:
  Operator(const Node& node, int64_t opset, std::vector<Tensor> inputs)
      : node_(node), opset_(opset), inputs_(std::move(inputs)) {}
  int64_t opset() const { return opset_; }
  size_t outputs() const { return node_.outputs.size(); }
  std::span<const Tensor> inputs() const { return inputs_; }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].defined(); }
  const Tensor& in(size_t i) const;
  // The elements of input i, which must be integers that are known here.
  std::vector<int64_t> known(size_t i) const;

  int64_t integer(const char* name, int64_t fallback) const;
  double real(const char* name, double fallback) const;
  std::string word(const char* name, const char* fallback) const;
  std::optional<std::vector<int64_t>> list(const char* name) const;
  const Literal* tensor(const char* name) const;
  // A list that older operator sets have as an attribute and newer ones as input i.
  std::optional<std::vector<int64_t>> list_or_input(const char* name, size_t i) const;
  bool has_attribute(const char* name) const;

 private:
  template <class T>
  const T* find(const char* name) const;
  const Node& node_;
  int64_t opset_;
  std::vector<Tensor> inputs_;
};

// An axis in [0, rank) from one that may count from the back.
int64_t axis_of(int64_t axis, size_t rank);
// Axes of x in ascending order, distinct; all of them for an absent list.
Dims axes_of(const std::optional<std::vector<int64_t>>& list, size_t rank);
Tensor broadcast_like(const Tensor& x, const Shape& shape);

using Results = std::vector<Tensor>;
struct ImportRule {
  const char* op;
  Results (*run)(const Operator&);
};
// Each family of operators is a file.
std::span<const ImportRule> elementwise_imports();
std::span<const ImportRule> shape_imports();
std::span<const ImportRule> reduction_imports();
std::span<const ImportRule> product_imports();

[[noreturn]] void bad_node(const std::string& why);
[[noreturn]] void unread_node(const std::string& why);

}  // namespace espalier::onnx
