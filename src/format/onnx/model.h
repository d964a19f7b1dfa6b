// The messages of ONNX that programs of ours need, and their bytes. Source: onnx/onnx.proto of IR version 8.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ir/literal.h"

namespace espalier::onnx {

inline constexpr int64_t kIrVersion = 8;
inline constexpr int64_t kOpset = 17;  // the operator set that we write

// An attribute of a type that is not read, which matters to who asks for it alone.
struct Unread {
  int64_t attribute_type = 0;
};

struct Attribute {
  using Value =
      std::variant<float, int64_t, std::string, Literal, std::vector<float>, std::vector<int64_t>, Unread>;
  std::string name;
  Value value;
};

struct Node {
  std::string op = {}, name = {}, domain = {};
  std::vector<std::string> inputs = {}, outputs = {};
  std::vector<Attribute> attributes = {};
};

// A size, or the name of one that is chosen at run time, or neither: unknown.
struct Dimension {
  std::optional<int64_t> size;
  std::string symbol;
};

struct ValueInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::optional<std::vector<Dimension>> shape;
};

struct Initializer {
  std::string name;
  Literal value;
};

struct Model {
  std::string graph_name;
  std::string doc = {};                              // for people; written, not read
  std::map<std::string, std::string> metadata = {};  // metadata_props
  int64_t opset = kOpset;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<Initializer> initializers;
  std::vector<Node> nodes;
};

std::string node_bytes(const Node& node);
// Raises UnsupportedError[onnx.size] beyond the 2 GiB that a protocol buffer can hold.
std::string model_bytes(const Model& model);

// The number of an element type in TensorProto.DataType, and back. The latter raises
// UnsupportedError[onnx.dtype] naming `what` for a type that has no dtype.
int64_t data_type(DType dtype);
DType dtype_of_data_type(int64_t number, std::string_view what);

// What a file asks for, without its data: its operators, and the functions of its own, "domain.name".
struct Outline {
  int64_t opset = kOpset;
  std::vector<Node> nodes;  // without inputs, outputs and attributes
  std::set<std::string> functions;
};
// Raises FormatError[onnx.*] for bytes that are no model, UnsupportedError[onnx.size] for more than 2^15
// nodes or functions.
Outline read_outline(std::string_view bytes);

// Everything but the nodes is in the result; each node is handed to `on_node` in order, after the rest has
// been read. Raises FormatError[onnx.*] for bytes that are no model, UnsupportedError[onnx.*] for data
// outside of the file, sparse tensors, and more than 2^15 nodes, initializers, inputs or outputs.
class ModelReader {
 public:
  explicit ModelReader(std::string_view bytes);
  const Model& model() const { return model_; }
  void each_node(const std::function<void(const Node&)>& on_node) const;

 private:
  std::string_view graph_;
  Model model_;
};

}  // namespace espalier::onnx
