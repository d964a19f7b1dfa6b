#include <algorithm>

#include "format/onnx/exporter.h"
#include "ops/reducer.h"
#include "passes/pass.h"

namespace espalier::onnx {
namespace {

bool is_identity(const Exporter& e, ValueId initial, Reducer reducer) {
  const Literal* literal = constant_of(e.graph(), initial);
  return literal && *literal == reducer_identity(reducer, literal->type().dtype);
}

// The layout that is left when `axes` of the value go.
Stored without(const Stored& in, const Dims& axes) {
  Stored out{"", {}, {}, 0};
  std::vector<int64_t> left;
  for (size_t i = 0; i < in.order.size(); ++i) {
    if (!axes.contains(static_cast<int64_t>(i))) left.push_back(in.order[i]);
  }
  for (const int64_t place : left) {
    out.order.push_back(
        std::count_if(left.begin(), left.end(), [&](int64_t other) { return other < place; }));
    out.repeated.push_back(false);
  }
  return out;
}

std::vector<int64_t> places(const Stored& in, const Dims& axes) {
  std::vector<int64_t> out;
  for (const int64_t axis : axes) out.push_back(in.order[axis]);
  std::sort(out.begin(), out.end());
  return out;
}

void write_reduce(Exporter& e, const espalier::Node& node) {
  const auto reducer = static_cast<Reducer>(read_integer(node.attributes.get(), "reducer"));
  if (reducer > Reducer::kOr) e.refuse(node, "ONNX reduces by sum, product, maximum, minimum, and, or");
  const auto inputs = e.graph().inputs(node);
  const DType dtype = e.type(inputs[0]).dtype;
  const bool boolean = dtype == DType::kBool;
  if (!boolean && reducer >= Reducer::kAnd) e.refuse(node, cat("ONNX does not combine the bits of ", dtype));
  // Of bool: sum is or, product is and.
  constexpr const char* kOperators[] = {"ReduceSum", "ReduceProd", "ReduceMax",
                                        "ReduceMin", "ReduceMin",  "ReduceMax"};
  const char* name = kOperators[static_cast<int>(reducer)];
  if (boolean && reducer == Reducer::kSum) name = "ReduceMax";
  if (boolean && reducer == Reducer::kProd) name = "ReduceMin";
  const Dims axes = read_dims(node.attributes.get(), "dimensions");
  const Stored in = e.unrepeated(inputs[0]);
  Stored out = without(in, axes);
  const std::string x = boolean ? e.cast(in.name, dtype, DType::kI32) : in.name;
  const Attribute keep{"keepdims", int64_t{0}};
  if (axes.empty()) {
    out.name = x;
  } else if (std::string_view(name) == "ReduceSum") {
    out.name = e.emit(name, {x, e.constant(places(in, axes))}, {keep});
  } else {
    out.name = e.emit(name, {x}, {{"axes", places(in, axes)}, keep});
  }
  if (boolean) out.name = e.cast(out.name, DType::kI32, dtype);
  if (!is_identity(e, inputs[1], reducer)) {
    constexpr const char* kCombine[] = {"Add", "Mul", "Max", "Min", "And", "Or"};
    if (boolean && reducer < Reducer::kAnd)
      e.refuse(node, "a reduction of bool needs its identity to begin with");
    out.name = e.emit(kCombine[static_cast<int>(reducer)], {out.name, e.whole(inputs[1])});
  }
  e.set(node.first_result, std::move(out));
}

// An operator along one axis, which stays.
void write_along_axis(Exporter& e, const espalier::Node& node) {
  const Stored in = e.unrepeated(e.graph().inputs(node)[0]);
  const int64_t axis = in.order[read_integer(node.attributes.get(), "axis")];
  Stored out = in;
  if (node.op == &op_cumsum) {
    const int64_t backward = read_integer(node.attributes.get(), "reverse");
    out.name = e.emit("CumSum", {in.name, e.scalar(DType::kI64, static_cast<double>(axis))},
                      {{"reverse", backward}});
  } else {
    out.name = e.emit(node.op == &op_softmax ? "Softmax" : "LogSoftmax", {in.name}, {{"axis", axis}});
  }
  e.set(node.first_result, std::move(out));
}

// An operator along one axis, which goes.
void write_over_axis(Exporter& e, const espalier::Node& node) {
  const Dims axes{read_integer(node.attributes.get(), "axis")};
  const Stored in = e.unrepeated(e.graph().inputs(node)[0]);
  const int64_t axis = in.order[axes[0]];
  Stored out = without(in, axes);
  const Attribute keep{"keepdims", int64_t{0}};
  if (node.op == &op_logsumexp) {
    out.name = e.emit("ReduceLogSumExp", {in.name}, {{"axes", std::vector<int64_t>{axis}}, keep});
  } else {
    out.name = e.cast(e.emit(node.op == &op_argmax ? "ArgMax" : "ArgMin", {in.name}, {{"axis", axis}, keep}),
                      DType::kI64, e.type(node.first_result).dtype);
  }
  e.set(node.first_result, std::move(out));
}

void write_layer_normalization(Exporter& e, const espalier::Node& node) {
  const auto in = e.graph().inputs(node);
  const auto epsilon = static_cast<float>(read_real(node.attributes.get(), "epsilon"));
  e.set(node.first_result,
        e.emit("LayerNormalization", {e.whole(in[0]), e.whole(in[1]), e.whole(in[2])},
               {{"axis", -static_cast<int64_t>(e.type(in[1]).rank())}, {"epsilon", epsilon}}));
}

}  // namespace

bool export_reduction(Exporter& e, const espalier::Node& node) {
  if (node.op == &op_reduce) {
    write_reduce(e, node);
  } else if (node.op == &op_softmax || node.op == &op_log_softmax || node.op == &op_cumsum) {
    write_along_axis(e, node);
  } else if (node.op == &op_logsumexp || node.op == &op_argmax || node.op == &op_argmin) {
    write_over_axis(e, node);
  } else if (node.op == &op_layer_normalization) {
    write_layer_normalization(e, node);
  } else {
    return false;
  }
  return true;
}

}  // namespace espalier::onnx
