// Builds a graph from op calls, and the regions of control flow with the values they capture.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "ir/graph.h"

namespace espalier {

class GraphBuilder final : public Sink {
 public:
  // `parent`: the builder whose values this one may capture as extra inputs (the body of a region).
  explicit GraphBuilder(std::string name = "main", GraphBuilder* parent = nullptr);
  // From now on concrete tensors become captures instead of constants: whoever records the calls around a
  // region wants to see what it depends on.
  void capture_concrete() { capture_concrete_ = true; }
  bool captures_concrete() const { return capture_concrete_; }

  Tensor argument(std::string name, const TensorType& type) {
    return input(InputKind::kArgument, std::move(name), type);
  }
  Tensor input(InputKind kind, std::string name, const TensorType& type);
  void output(OutputKind kind, std::string name, const Tensor& value);
  void result(std::string name, const Tensor& value) { output(OutputKind::kResult, std::move(name), value); }

  std::vector<Tensor> emit(const Call& call) override;

  // The value of a tensor in this graph: its own, a concrete tensor as a constant, an outer one as a capture.
  // Raises StateError for a tensor of a trace that has ended.
  ValueId value_of(const Tensor& tensor);
  Tensor tensor_of(ValueId value) const;
  bool owns(const Tensor& tensor) const { return tensor.node()->owner == serial_; }
  // Outer tensors in the order of their first use; they are inputs after the declared ones.
  const std::vector<Tensor>& captures() const { return captures_; }

  const Graph& graph() const { return *graph_; }
  // Graph::append_node on this builder's graph.
  NodeId append(const Graph& from, const Node& node, std::span<const ValueId> inputs,
                std::span<const GraphPtr> regions, std::vector<uint32_t>& types) {
    return graph_->append_node(from, node, inputs, regions, types);
  }
  // Ends the trace: inputs first, then captures in the order of `captures` (default: own order; each must be
  // known or becomes an unused input).
  std::shared_ptr<Graph> finish() { return finish(captures_); }
  std::shared_ptr<Graph> finish(std::span<const Tensor> captures);

 private:
  bool is_outer(const Tensor& tensor) const;
  std::shared_ptr<Graph> graph_;
  GraphBuilder* parent_;
  uint64_t serial_;
  bool capture_concrete_ = false;
  std::vector<size_t> input_kind_;  // per graph input: kNone = declared, else position in captures_
  std::vector<Tensor> captures_;
  std::unordered_map<const TensorNode*, std::pair<ValueId, Tensor>> imported_;
};

// One region under construction or done: a closed graph whose last inputs are the captures.
struct Regions {
  std::vector<GraphPtr> graphs;
  std::vector<Tensor> captures;  // shared by all regions, in the order of first use
};
// Traces each function with arguments of its types into a closed graph; all get the same captured inputs.
struct RegionSpec {
  std::vector<TensorType> arguments;
  std::function<std::vector<Tensor>(std::span<const Tensor>)> body;
};
Regions trace_regions(std::span<const RegionSpec> specs);

// Calls every node of `graph` in the current sink, its inputs bound to `inputs`; returns its outputs.
std::vector<Tensor> inline_graph(const Graph& graph, std::span<const Tensor> inputs);

// The graph of a composite's decomposition on inputs of these types.
std::shared_ptr<Graph> decomposition(const OpDef& op, const Attributes* attributes,
                                     std::span<const TensorType> inputs, std::span<const GraphPtr> regions);

// Builds a new graph from an old one and owns the old-to-new map. Passes visit nodes in order and copy or
// replace.
class Rewriter {
 public:
  explicit Rewriter(const Graph& old);
  // Copies into a graph that is under construction, `inputs` in the place of the old one's.
  Rewriter(const Graph& old, GraphBuilder& into, std::span<const Tensor> inputs);
  const Graph& old() const { return old_; }
  GraphBuilder& builder() { return builder_; }
  // The new tensor of an old value, a new handle each time. REQUIRES: its producer was copied or replaced.
  Tensor mapped(ValueId old_value) const { return builder_.tensor_of(map_[old_value]); }
  std::vector<Tensor> mapped_inputs(const Node& node) const;
  bool is_mapped(ValueId old_value) const { return map_[old_value] != kNone; }
  // `tensor` stands for the old value from now on. Raises InternalError when its type is another one.
  void replace(ValueId old_value, const Tensor& tensor);
  // One old value stands for another of its type.
  void replace(ValueId old_value, ValueId other) { map_[old_value] = map_[other]; }
  // Appends the node as it was, with its location and scope.
  void copy(const Node& node);
  // The same with other regions.
  void copy(const Node& node, std::span<const GraphPtr> regions);
  // Declares the outputs and ends.
  std::shared_ptr<Graph> finish();

 private:
  const Graph& old_;
  std::optional<GraphBuilder> own_;
  GraphBuilder& builder_;
  std::vector<ValueId> map_;
  std::vector<ValueId> operands_;
  std::vector<uint32_t> types_;
};

}  // namespace espalier
