// From nodes of a graph to nodes of ONNX.
#pragma once

#include <set>
#include <unordered_map>

#include "format/onnx.h"
#include "format/onnx/model.h"
#include "ir/attribute_reader.h"
#include "ops/registry.h"

namespace espalier::onnx {

// As attributes and constants hold it.
inline std::vector<int64_t> list(const Dims& dims) { return {dims.begin(), dims.end()}; }

// A size here and in the graph of the other batch size; they differ where it follows the batch.
struct Size {
  int64_t here = 0, there = 0;
  bool fixed() const { return here == there; }
  friend bool operator==(const Size&, const Size&) = default;
};

// How a value of the graph stands in the ONNX program. Axes are permuted and repeated only when somebody
// needs it, so that the transpositions around NCHW operators cancel and broadcasting is left to the
// operators.
struct Stored {
  std::string name;
  Dims order;                  // axis i of the value is axis order[i] of the tensor
  std::vector<bool> repeated;  // along axis i of the value the tensor has size 1 and the value repeats it
  size_t missing = 0;  // leading axes that the tensor lacks; they are repeated, and `order` is the identity

  bool in_order() const { return order == Dims::range(order.size()); }
  bool is_scalar() const { return missing == order.size(); }
};

class Exporter {
 public:
  Exporter(const Graph& graph, const Graph& other, const OnnxWriteOptions& options);
  Model run(const std::map<std::string, Literal>& variables);

  const Graph& graph() const { return graph_; }
  const TensorType& type(ValueId value) const { return graph_.type(value); }
  Size size(ValueId value, size_t axis) const {
    return {graph_.type(value).shape[axis], other_.type(value).shape[axis]};
  }
  std::vector<Size> sizes(ValueId value) const;
  const Stored& stored(ValueId value) const { return stored_[value]; }

  // The output of an operator; one that was called before with the same inputs is not called again.
  std::string emit(const char* op, std::vector<std::string> inputs, std::vector<Attribute> attributes = {});
  std::string constant(const Literal& value);
  std::string constant(const std::vector<int64_t>& values);
  std::string scalar(DType dtype, double value);
  // A list of sizes as a tensor i64[n], computed from an input where it follows the batch.
  std::string shape_tensor(const std::vector<Size>& sizes);
  std::string cast(std::string name, DType from, DType to);

  // The value's tensor with all axes, in the order `axes`; repeated, except along `lazy` axes of the value.
  std::string arranged(ValueId value, const Dims& axes, const Dims& lazy = {});
  // The value as it is.
  std::string whole(ValueId value) { return arranged(value, Dims::range(type(value).rank())); }
  // The value with its axes as they are stored, but all there.
  Stored unrepeated(ValueId value);
  // A tensor that is stored along some axes of a value of `rank` axes, and repeated along the others.
  Stored spread(const std::string& name, const Dims& axes, const std::vector<bool>& repeated, size_t rank);

  void set(ValueId value, Stored stored) { stored_[value] = std::move(stored); }
  // A tensor of the value's own shape.
  void set(ValueId value, const std::string& name) { set(value, plain(name, type(value).rank())); }
  static Stored plain(std::string name, size_t rank) {
    return {std::move(name), Dims::range(rank), std::vector<bool>(rank), 0};
  }
  // Elementwise operators of operands that broadcast: `op` gets the operands' names in one layout.
  void elementwise(const espalier::Node& node,
                   const std::function<std::string(std::span<const std::string>)>& op);

  // Raises UnsupportedError[onnx.op]: "<op>: <why>".
  [[noreturn]] void refuse(const espalier::Node& node, const std::string& why) const;

 private:
  std::string fresh(const std::string& wanted);
  std::string size_tensor(Size size);
  std::string laid_out(const Stored& stored, const Dims& axes);
  void find_batch();
  void declare_inputs(const std::map<std::string, Literal>& variables);
  void declare_outputs();
  void drop_unused();
  ValueInfo value_info(const std::string& name, ValueId value) const;

  const Graph& graph_;
  const Graph& other_;
  const OnnxWriteOptions& options_;
  Size batch_;
  ValueId batch_input_ = kNone;
  size_t batch_axis_ = 0;
  std::vector<Stored> stored_;
  std::set<std::string> names_;
  std::unordered_map<std::string, std::string> calls_;
  Model model_;
};

// Exports one node. Each family of ops is a file; false: not one of its ops.
using Rule = bool (*)(Exporter&, const espalier::Node&);
bool export_elementwise(Exporter& e, const espalier::Node& node);
bool export_movement(Exporter& e, const espalier::Node& node);
bool export_reduction(Exporter& e, const espalier::Node& node);
bool export_product(Exporter& e, const espalier::Node& node);

}  // namespace espalier::onnx
