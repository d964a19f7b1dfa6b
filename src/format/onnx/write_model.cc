#include <algorithm>
#include <iterator>

#include "base/format.h"
#include "base/version.h"
#include "espalier/error.h"
#include "format/onnx/model.h"
#include "format/onnx/wire.h"

namespace espalier::onnx {
namespace {

struct Numbered {
  DType dtype;
  int64_t number;
};
constexpr Numbered kDataTypes[] = {{DType::kF32, 1},  {DType::kU8, 2},   {DType::kI8, 3},   {DType::kU16, 4},
                                   {DType::kI16, 5},  {DType::kI32, 6},  {DType::kI64, 7},  {DType::kBool, 9},
                                   {DType::kF16, 10}, {DType::kF64, 11}, {DType::kU32, 12}, {DType::kU64, 13},
                                   {DType::kBF16, 16}};

std::string tensor_bytes(const Literal& literal, std::string_view name) {
  const Literal dense = literal.expanded();
  WireWriter out;
  for (const int64_t size : dense.type().shape) out.integer(1, size);
  out.integer(2, data_type(dense.type().dtype));
  if (!name.empty()) out.bytes(8, name);
  out.bytes(9, {static_cast<const char*>(dense.raw()), dense.raw_bytes()});
  return out.take();
}

struct AttributeWriter {
  WireWriter& out;
  // AttributeProto.AttributeType
  void operator()(float value) {
    out.real(2, value);
    out.integer(20, 1);
  }
  void operator()(int64_t value) {
    out.integer(3, value);
    out.integer(20, 2);
  }
  void operator()(const std::string& value) {
    out.bytes(4, value);
    out.integer(20, 3);
  }
  void operator()(const Literal& value) {
    out.bytes(5, tensor_bytes(value, ""));
    out.integer(20, 4);
  }
  void operator()(const std::vector<float>& values) {
    out.packed(7, values);
    out.integer(20, 6);
  }
  void operator()(const std::vector<int64_t>& values) {
    out.packed(8, values);
    out.integer(20, 7);
  }
  void operator()(const Unread& unread) { out.integer(20, unread.attribute_type); }
};

std::string value_info_bytes(const ValueInfo& value) {
  WireWriter tensor;
  tensor.integer(1, data_type(value.dtype));
  if (value.shape) {
    WireWriter shape;
    for (const Dimension& dimension : *value.shape) {
      WireWriter one;
      if (dimension.size) one.integer(1, *dimension.size);
      if (!dimension.symbol.empty()) one.bytes(2, dimension.symbol);
      shape.bytes(1, one.take());
    }
    tensor.bytes(2, shape.take());
  }
  WireWriter type, out;
  type.bytes(1, tensor.take());
  out.bytes(1, value.name);
  out.bytes(2, type.take());
  return out.take();
}

std::string graph_bytes(const Model& model) {
  WireWriter out;
  for (const Node& node : model.nodes) out.bytes(1, node_bytes(node));
  out.bytes(2, model.graph_name);
  for (const Initializer& tensor : model.initializers) out.bytes(5, tensor_bytes(tensor.value, tensor.name));
  for (const ValueInfo& input : model.inputs) out.bytes(11, value_info_bytes(input));
  for (const ValueInfo& output : model.outputs) out.bytes(12, value_info_bytes(output));
  return out.take();
}

}  // namespace

int64_t data_type(DType dtype) {
  return std::find_if(std::begin(kDataTypes), std::end(kDataTypes),
                      [&](const Numbered& one) { return one.dtype == dtype; })
      ->number;
}

DType dtype_of_data_type(int64_t number, std::string_view what) {
  for (const Numbered& one : kDataTypes) {
    if (one.number == number) return one.dtype;
  }
  throw UnsupportedError(
      "onnx.dtype", cat(what, " has elements of ONNX data type ", number, ", for which there is no dtype"));
}

std::string node_bytes(const Node& node) {
  WireWriter out;
  for (const std::string& input : node.inputs) out.bytes(1, input);
  for (const std::string& output : node.outputs) out.bytes(2, output);
  out.bytes(3, node.name);
  out.bytes(4, node.op);
  for (const Attribute& attribute : node.attributes) {
    WireWriter one;
    one.bytes(1, attribute.name);
    std::visit(AttributeWriter{one}, attribute.value);
    out.bytes(5, one.take());
  }
  if (!node.domain.empty()) out.bytes(7, node.domain);
  return out.take();
}

std::string model_bytes(const Model& model) {
  size_t size = 0;
  for (const Initializer& tensor : model.initializers) size += tensor.value.type().bytes();
  const auto check = [](size_t bytes) {
    constexpr size_t kLimit = (size_t{1} << 31) - 1;
    if (bytes > kLimit)
      throw UnsupportedError("onnx.size",
                             cat("an ONNX file holds up to ", kLimit, " bytes, this model needs ", bytes));
  };
  check(size);
  WireWriter opset, out;
  opset.bytes(1, "");
  opset.integer(2, model.opset);
  out.integer(1, kIrVersion);
  out.bytes(2, "espalier");
  out.bytes(3, kVersion);
  if (!model.doc.empty()) out.bytes(6, model.doc);
  out.bytes(7, graph_bytes(model));
  out.bytes(8, opset.take());
  for (const auto& [key, value] : model.metadata) {
    WireWriter entry;
    entry.bytes(1, key);
    entry.bytes(2, value);
    out.bytes(14, entry.take());
  }
  std::string bytes = out.take();
  check(bytes.size());
  return bytes;
}

}  // namespace espalier::onnx
