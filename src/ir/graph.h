// The graph: pure, typed, concretely shaped nodes in an arena. Edges are indices; nothing recurses over
// depth.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/op.h"

namespace espalier {

using ValueId = uint32_t;
using NodeId = uint32_t;
inline constexpr uint32_t kNone = 0xffffffffu;

struct Node {
  const OpDef* op = nullptr;
  AttributesPtr attributes;
  uint32_t first_input = 0;
  uint32_t input_count = 0;
  ValueId first_result = 0;
  uint32_t result_count = 0;
  uint32_t first_region = 0;
  uint32_t region_count = 0;
  uint32_t location = 0;  // index into locations
  uint32_t scope = 0;     // index into scopes
};
static_assert(sizeof(Node) <= 96);

// What stands behind an input of a graph, and what an output means.
enum class InputKind : uint8_t { kArgument, kVariable, kDerived };
enum class OutputKind : uint8_t { kResult, kUpdate };

struct GraphInput {
  InputKind kind = InputKind::kArgument;
  std::string name;  // an argument's name, or a variable's path
  ValueId value = 0;
};
struct GraphOutput {
  OutputKind kind = OutputKind::kResult;
  std::string name;  // a result's name, or the path of the variable whose new value it is
  ValueId value = 0;
};

class Graph {
 public:
  explicit Graph(std::string name = "main") : name_(std::move(name)) {
    locations_.push_back({});
    scopes_.push_back("");
  }

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  ValueId add_input(InputKind kind, std::string name, const TensorType& type);
  void add_output(OutputKind kind, std::string name, ValueId value);
  // Appends a call; its inputs must exist. Runs the op's rule and returns the node.
  NodeId add_node(const OpDef& op, AttributesPtr attributes, std::span<const ValueId> inputs,
                  std::span<const GraphPtr> regions = {}, Location at = {}, std::string_view scope = {});

  // Appends a node of another graph whose new inputs have the types of the old ones, so that its rule need
  // not run. `types` maps the other graph's types to this one's; it starts empty and belongs to the pair of
  // graphs.
  NodeId append_node(const Graph& from, const Node& node, std::span<const ValueId> inputs,
                     std::span<const GraphPtr> regions, std::vector<uint32_t>& types);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  std::span<const ValueId> inputs(const Node& node) const {
    return {edges_.data() + node.first_input, node.input_count};
  }
  std::span<const GraphPtr> regions(const Node& node) const {
    return {regions_.data() + node.first_region, node.region_count};
  }
  const std::vector<GraphInput>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  std::span<const std::string> scope_names() const { return scopes_; }

  // Levels of regions below this graph. Bounded, because regions are walked by recursion.
  uint32_t region_depth() const { return region_depth_; }

  size_t value_count() const { return values_.size(); }
  const TensorType& type(ValueId value) const { return types_[values_[value].type]; }
  // The node that computes a value; kNone for an input of the graph.
  NodeId producer(ValueId value) const { return values_[value].node; }
  Location location(const Node& node) const { return locations_[node.location]; }
  const std::string& scope(const Node& node) const { return scopes_[node.scope]; }

  // Puts inputs into `input_order` and numbers values in canonical order: inputs, then results node by node.
  void renumber(std::span<const size_t> input_order);

  // Checks every invariant again: indices, order, types by each op's rule, names of the signature. Raises
  // InternalError naming the node.
  void verify() const;
  // Equal for graphs that compute the same expressions in the same order with the same signature; locations,
  // scopes and the names inside regions do not count.
  uint64_t content_hash() const { return hash_of(true); }
  friend bool operator==(const Graph& a, const Graph& b) { return same(a, b, true); }

 private:
  struct Value {
    uint32_t type;
    NodeId node;
  };
  uint64_t hash_of(bool with_names) const;
  static bool same(const Graph& a, const Graph& b, bool with_names);
  void deepen(std::span<const GraphPtr> regions);
  NodeId place(Node node, std::span<const ValueId> inputs, std::span<const GraphPtr> regions, Location at,
               std::string_view scope);
  uint32_t intern(const TensorType& type);
  ValueId add_value(const TensorType& type, NodeId node);
  uint32_t intern_scope(std::string_view scope);

  std::string name_;
  uint32_t region_depth_ = 0;
  std::vector<Node> nodes_;
  std::vector<ValueId> edges_;
  std::vector<Value> values_;
  std::vector<TensorType> types_;
  std::unordered_multimap<uint64_t, uint32_t> type_index_;
  std::vector<GraphPtr> regions_;
  std::vector<Location> locations_;
  std::vector<std::string> scopes_;
  std::unordered_map<std::string, uint32_t> scope_index_;
  std::vector<GraphInput> inputs_;
  std::vector<GraphOutput> outputs_;
};

// Which outputs of `graph` depend on a flagged input.
std::vector<bool> depends(const Graph& graph, const std::vector<bool>& inputs);

}  // namespace espalier
