#include "text/c_forms.h"

#include <variant>

#include "ir/builder.h"
#include "ops/registry.h"
#include "text/c_expression.h"

namespace espalier::c_text {
namespace {

DType widened(DType dtype) { return is_float(dtype) && size_of(dtype) == 2 ? DType::kF32 : dtype; }
TensorType widened(const TensorType& type) { return {widened(type.dtype), type.shape}; }

// The fields of one attribute struct, taken from it and, with wide dtypes, put into another.
class Fields final : public FieldVisitor {
 public:
  void field(const char*, bool& value) override { pass(value); }
  void field(const char*, int64_t& value) override { pass(value); }
  void field(const char*, double& value) override { pass(value); }
  void field(const char*, std::string& value) override { pass(value); }
  void field(const char*, Dims& value) override { pass(value); }
  void field(const char*, DType& value) override { pass(value), value = giving_ ? widened(value) : value; }
  void field(const char*, TensorType& value) override {
    pass(value), value = giving_ ? widened(value) : value;
  }
  void field(const char*, Literal& value) override {
    pass(value), value = giving_ ? without_halves(value) : value;
  }
  void word(const char*, int& value, std::span<const char* const>) override { pass(value); }

  void give() { giving_ = true; }

 private:
  template <class T>
  void pass(T& value) {
    if (giving_)
      value = std::get<T>(values_[next_++]);
    else
      values_.emplace_back(value);
  }
  using Value = std::variant<bool, int64_t, double, std::string, Dims, DType, TensorType, Literal, int>;
  std::vector<Value> values_;
  size_t next_ = 0;
  bool giving_ = false;
};

AttributesPtr widened(const Node& node) {
  if (!node.attributes) return nullptr;
  Fields fields;
  const_cast<Attributes&>(*node.attributes).fields(fields);
  fields.give();
  const std::shared_ptr<Attributes> out = node.op->attributes();
  out->fields(fields);
  return out;
}

// f32 has other bits.
void require_own_bits(const Graph& graph, const Node& node) {
  for (const TensorType& type : {graph.type(graph.inputs(node)[0]), graph.type(node.first_result)}) {
    if (widened(type) != type)
      throw UnsupportedError("c.dtype",
                             cat("the bits of ", type.dtype, " have no C form: f32 stands for it"));
  }
}

}  // namespace

std::shared_ptr<Graph> with_c_forms(const Graph& graph) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op == &op_optimization_barrier) {
      for (uint32_t i = 0; i < node.result_count; ++i)
        rewriter.replace(node.first_result + i, graph.inputs(node)[i]);
      continue;
    }
    if (!node.op->composite || has_expression(*node.op)) {
      rewriter.copy(node);
      continue;
    }
    CallScope call(graph.location(node));
    NameScope name(graph.scope(node));
    std::vector<TensorType> types;
    for (const ValueId input : graph.inputs(node)) types.push_back(graph.type(input));
    const auto parts =
        with_c_forms(*decomposition(*node.op, node.attributes.get(), types, graph.regions(node)));
    SinkScope sink(rewriter.builder());
    const std::vector<Tensor> results = inline_graph(*parts, rewriter.mapped_inputs(node));
    for (uint32_t i = 0; i < node.result_count; ++i) rewriter.replace(node.first_result + i, results[i]);
  }
  return rewriter.finish();
}

Literal without_halves(const Literal& literal) {
  const TensorType type = widened(literal.type());
  if (type == literal.type()) return literal;
  const Literal dense = literal.expanded();
  const Buffer buffer = allocate_buffer(type.bytes());
  for (size_t i = 0; i < static_cast<size_t>(type.elements()); ++i) {
    const double value =
        load_scalar(literal.type().dtype, static_cast<const std::byte*>(dense.raw()) + 2 * i);
    store_scalar(type.dtype, value, buffer.get() + i * size_of(type.dtype));
  }
  return {type, buffer};
}

std::shared_ptr<Graph> without_halves(const Graph& graph) {
  GraphBuilder builder(graph.name());
  SinkScope sink(builder);
  std::vector<Tensor> values(graph.value_count());
  for (const GraphInput& input : graph.inputs())
    values[input.value] = builder.input(input.kind, input.name, widened(graph.type(input.value)));
  for (const Node& node : graph.nodes()) {
    CallScope at(graph.location(node));
    NameScope name(graph.scope(node));
    if (node.op == &op_bitcast_convert) require_own_bits(graph, node);
    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs(node)) inputs.push_back(values[input]);
    const std::vector<Tensor> results = emit_all(*node.op, widened(node), inputs, graph.regions(node));
    for (size_t i = 0; i < results.size(); ++i) values[node.first_result + i] = results[i];
  }
  for (const GraphOutput& output : graph.outputs())
    builder.output(output.kind, output.name, values[output.value]);
  return builder.finish();
}

}  // namespace espalier::c_text
