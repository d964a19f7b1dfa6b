#include "ir/builder.h"

#include <atomic>

#include "ir/constant.h"

namespace espalier {
namespace {

std::atomic<uint64_t> next_serial{1};

}  // namespace

GraphBuilder::GraphBuilder(std::string name, GraphBuilder* parent)
    : graph_(std::make_shared<Graph>(std::move(name))), parent_(parent), serial_(next_serial.fetch_add(1)) {}

Tensor GraphBuilder::tensor_of(ValueId value) const {
  return make_symbolic(graph_->type(value), serial_, value);
}

Tensor GraphBuilder::input(InputKind kind, std::string name, const TensorType& type) {
  input_kind_.push_back(kNone);
  return tensor_of(graph_->add_input(kind, std::move(name), type));
}

void GraphBuilder::output(OutputKind kind, std::string name, const Tensor& value) {
  if (!value.defined()) {
    throw StateError("graph.undefined", cat(name, " of \"", graph_->name(), "\" holds nothing"),
                     "return only tensors that were computed (an unconnected gradient is none)");
  }
  graph_->add_output(kind, std::move(name), value_of(value));
}

bool GraphBuilder::is_outer(const Tensor& tensor) const {
  for (const GraphBuilder* outer = parent_; outer; outer = outer->parent_) {
    if (outer->owns(tensor)) return true;
  }
  return false;
}

ValueId GraphBuilder::value_of(const Tensor& tensor) {
  const TensorNode& node = *tensor.node();
  if (node.owner == serial_) return node.value;
  if (const auto it = imported_.find(&node); it != imported_.end()) return it->second.first;
  ValueId value;
  if (node.owner == 0 && !capture_concrete_) {
    const NodeId constant = graph_->add_node(op_constant, constant_attributes(node.literal()), {}, {},
                                             CallScope::current(), NameScope::current());
    value = graph_->node(constant).first_result;
  } else if (node.owner == 0 || is_outer(tensor)) {
    input_kind_.push_back(captures_.size());
    value = graph_->add_input(InputKind::kArgument, cat("capture", captures_.size()), node.type);
    captures_.push_back(tensor);
  } else {
    throw StateError("trace.foreign", cat("a symbolic tensor of ", node.type, " belongs to another trace"),
                     "return it from the function that made it, and pass the result on");
  }
  imported_.emplace(&node, std::pair(value, tensor));
  return value;
}

std::vector<Tensor> GraphBuilder::emit(const Call& call) {
  std::vector<ValueId> inputs(call.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = value_of(call.inputs[i]);
  const NodeId id = graph_->add_node(call.op, call.attributes, inputs, call.regions, CallScope::current(),
                                     NameScope::current());
  const Node& node = graph_->node(id);
  std::vector<Tensor> out(node.result_count);
  for (uint32_t i = 0; i < node.result_count; ++i) out[i] = tensor_of(node.first_result + i);
  return out;
}

std::shared_ptr<Graph> GraphBuilder::finish(std::span<const Tensor> captures) {
  std::vector<size_t> order;
  for (size_t i = 0; i < input_kind_.size(); ++i) {
    if (input_kind_[i] == kNone) order.push_back(i);
  }
  for (const Tensor& capture : captures) {
    if (!imported_.contains(capture.node().get())) {
      input_kind_.push_back(captures_.size());
      const ValueId value =
          graph_->add_input(InputKind::kArgument, cat("capture", captures_.size()), capture.type());
      captures_.push_back(capture);
      imported_.emplace(capture.node().get(), std::pair(value, capture));
    }
    const ValueId value = imported_.at(capture.node().get()).first;
    for (size_t i = 0; i < input_kind_.size(); ++i) {
      if (input_kind_[i] != kNone && graph_->inputs()[i].value == value) order.push_back(i);
    }
  }
  if (order.size() != graph_->inputs().size()) throw InternalError("a captured input was not listed");
  graph_->renumber(order);
  return graph_;
}

Regions trace_regions(std::span<const RegionSpec> specs) {
  const Depth depth("a region");
  auto* parent = dynamic_cast<GraphBuilder*>(&Sink::current());
  const bool capture_concrete = parent ? parent->captures_concrete() : is_recorded(Sink::current());
  std::vector<std::unique_ptr<GraphBuilder>> builders;
  Regions out;
  std::unordered_map<const TensorNode*, size_t> known;
  for (const RegionSpec& spec : specs) {
    builders.push_back(std::make_unique<GraphBuilder>(cat("region", builders.size()), parent));
    GraphBuilder& builder = *builders.back();
    if (capture_concrete) builder.capture_concrete();
    SinkScope scope(builder);
    std::vector<Tensor> arguments;
    for (const TensorType& type : spec.arguments)
      arguments.push_back(builder.argument(cat("arg", arguments.size()), type));
    const std::vector<Tensor> results = spec.body(arguments);
    for (size_t i = 0; i < results.size(); ++i) builder.result(cat("result", i), results[i]);
    for (const Tensor& capture : builder.captures()) {
      if (known.emplace(capture.node().get(), out.captures.size()).second) out.captures.push_back(capture);
    }
  }
  for (auto& builder : builders) out.graphs.push_back(builder->finish(out.captures));
  return out;
}

std::vector<Tensor> inline_graph(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size())
    throw InternalError(cat("graph ", graph.name(), " takes ", counted(graph.inputs().size(), "input"),
                            ", got ", inputs.size()));
  std::vector<Tensor> values(graph.value_count());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].value] = inputs[i];
  std::vector<Tensor> operands;
  for (const Node& node : graph.nodes()) {
    operands.clear();
    for (const ValueId input : graph.inputs(node)) operands.push_back(values[input]);
    auto results = emit_all(*node.op, node.attributes, operands, graph.regions(node));
    for (uint32_t i = 0; i < node.result_count; ++i) values[node.first_result + i] = std::move(results[i]);
  }
  std::vector<Tensor> out;
  for (const GraphOutput& output : graph.outputs()) out.push_back(values[output.value]);
  return out;
}

std::shared_ptr<Graph> decomposition(const OpDef& op, const Attributes* attributes,
                                     std::span<const TensorType> inputs, std::span<const GraphPtr> regions) {
  GraphBuilder builder(op.name);
  SinkScope scope(builder);
  std::vector<Tensor> arguments;
  for (const TensorType& type : inputs)
    arguments.push_back(builder.argument(cat("arg", arguments.size()), type));
  for (const Tensor& result : op.decompose({attributes, arguments, regions}))
    builder.result(cat("result", builder.graph().outputs().size()), result);
  return builder.finish();
}

Rewriter::Rewriter(const Graph& old)
    : old_(old), own_(old.name()), builder_(*own_), map_(old.value_count(), kNone) {
  for (const GraphInput& input : old.inputs()) {
    map_[input.value] = builder_.value_of(builder_.input(input.kind, input.name, old.type(input.value)));
  }
}

Rewriter::Rewriter(const Graph& old, GraphBuilder& into, std::span<const Tensor> inputs)
    : old_(old), builder_(into), map_(old.value_count(), kNone) {
  if (inputs.size() != old.inputs().size()) {
    throw InternalError(
        cat("graph ", old.name(), " takes ", counted(old.inputs().size(), "input"), ", got ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) replace(old.inputs()[i].value, inputs[i]);
}

std::vector<Tensor> Rewriter::mapped_inputs(const Node& node) const {
  std::vector<Tensor> out;
  for (const ValueId input : old_.inputs(node)) out.push_back(mapped(input));
  return out;
}

void Rewriter::replace(ValueId old_value, const Tensor& tensor) {
  if (tensor.type() != old_.type(old_value)) {
    throw InternalError(cat("a value of ", old_.type(old_value), " is replaced by one of ", tensor.type()));
  }
  map_[old_value] = builder_.value_of(tensor);
}

void Rewriter::copy(const Node& node) { copy(node, old_.regions(node)); }

void Rewriter::copy(const Node& node, std::span<const GraphPtr> regions) {
  operands_.clear();
  for (const ValueId input : old_.inputs(node)) operands_.push_back(map_[input]);
  const NodeId id = builder_.append(old_, node, operands_, regions, types_);
  for (uint32_t i = 0; i < node.result_count; ++i) {
    map_[node.first_result + i] = builder_.graph().node(id).first_result + i;
  }
}

std::shared_ptr<Graph> Rewriter::finish() {
  for (const GraphOutput& output : old_.outputs())
    builder_.output(output.kind, output.name, mapped(output.value));
  return builder_.finish();
}

}  // namespace espalier
