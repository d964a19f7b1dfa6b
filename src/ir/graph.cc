#include "ir/graph.h"

#include "base/hash.h"

namespace espalier {
namespace {

constexpr uint32_t kMaxRegionDepth = 256;
constexpr int64_t kMaxElements = int64_t{1} << 48;

constexpr size_t kMaxRank = 1024;

uint64_t hash_type(const TensorType& type) {
  return hash_bytes(type.shape.data(), type.shape.size() * sizeof(int64_t),
                    static_cast<uint64_t>(type.dtype));
}

}  // namespace

RunError failed_run(const OpDef& op, Location at, const Failure& failure, std::string_view where) {
  if (!failure.rule().empty()) return RunError(failure.rule(), failure.what());
  return RunError("run.failed", cat(op.name, at.known() ? cat(" at ", at) : std::string(), where,
                                    " failed: ", failure.what()));
}

void check_type(const TensorType& type) {
  if (type.shape.size() > kMaxRank)
    throw ShapeError("type.c3", cat("more than ", kMaxRank, " axes: ", type.shape.size()));
  int64_t count = 1;
  for (const int64_t size : type.shape) {
    if (size < 0) throw ShapeError("type.c1", cat("sizes must not be negative: ", type));
    if (size > kMaxElements || (size && count > kMaxElements / size)) {
      throw ShapeError("type.c2", cat("more than 2^48 elements: ", type));
    }
    count *= size;
  }
}

void InferContext::require_inputs(size_t count) const {
  require(size() == count, "arity", "takes ", counted(count, "input"), ", got ", size());
}
void InferContext::require_axis(int64_t axis, size_t rank, const char* rule) const {
  require(axis >= 0 && axis < static_cast<int64_t>(rank), rule, "axis ", axis, " is outside of rank ", rank);
}
void InferContext::fail_missing(const char* what, size_t i, size_t count) const {
  fail_shape("arity", cat("takes more than ", i, " ", what, ", got ", count));
}
void InferContext::fail_shape(const char* rule, const std::string& message) const {
  throw ShapeError(cat(op_.name, ".", rule), message);
}
void InferContext::fail_dtype(const char* rule, const std::string& message) const {
  throw DTypeError(cat(op_.name, ".", rule), message);
}

std::vector<TensorType> infer_types(const OpDef& op, const Attributes* attributes,
                                    std::span<const TensorType* const> inputs,
                                    std::span<const GraphPtr> regions) {
  InferContext context(op, attributes, inputs, regions);
  context.results.reserve(1);  // as many as most ops have
  op.infer(context);
  for (const TensorType& type : context.results) check_type(type);
  return std::move(context.results);
}

uint32_t Graph::intern(const TensorType& type) {
  const uint64_t key = hash_type(type);
  const auto [first, last] = type_index_.equal_range(key);
  for (auto it = first; it != last; ++it) {
    if (types_[it->second] == type) return it->second;
  }
  types_.push_back(type);
  type_index_.emplace(key, static_cast<uint32_t>(types_.size() - 1));
  return static_cast<uint32_t>(types_.size() - 1);
}

uint32_t Graph::intern_scope(std::string_view scope) {
  if (scope == scopes_.back()) return static_cast<uint32_t>(scopes_.size() - 1);
  if (scope.empty()) return 0;
  const auto [it, added] = scope_index_.emplace(scope, static_cast<uint32_t>(scopes_.size()));
  if (added) scopes_.emplace_back(scope);
  return it->second;
}

ValueId Graph::add_value(const TensorType& type, NodeId node) {
  values_.push_back({intern(type), node});
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::add_input(InputKind kind, std::string name, const TensorType& type) {
  check_type(type);
  const ValueId value = add_value(type, kNone);
  inputs_.push_back({kind, std::move(name), value});
  return value;
}

void Graph::add_output(OutputKind kind, std::string name, ValueId value) {
  outputs_.push_back({kind, std::move(name), value});
}

NodeId Graph::add_node(const OpDef& op, AttributesPtr attributes, std::span<const ValueId> inputs,
                       std::span<const GraphPtr> regions, Location at, std::string_view scope) {
  const TensorType* few[8];
  std::vector<const TensorType*> many;
  std::span<const TensorType*> types(few, std::min<size_t>(inputs.size(), 8));
  if (inputs.size() > 8) types = many = std::vector<const TensorType*>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] >= values_.size())
      throw InternalError(cat(op.name, " uses value ", inputs[i], " before it exists"));
    types[i] = &type(inputs[i]);
  }
  const std::vector<TensorType> results = infer_types(op, attributes.get(), types, regions);

  deepen(regions);
  Node node;
  node.op = &op;
  node.attributes = std::move(attributes);
  node.result_count = static_cast<uint32_t>(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueId value = add_value(results[i], static_cast<NodeId>(nodes_.size()));
    if (i == 0) node.first_result = value;
  }
  return place(std::move(node), inputs, regions, at, scope);
}

NodeId Graph::append_node(const Graph& from, const Node& old, std::span<const ValueId> inputs,
                          std::span<const GraphPtr> regions, std::vector<uint32_t>& types) {
  deepen(regions);
  types.resize(from.types_.size(), kNone);
  Node node;
  node.op = old.op;
  node.attributes = old.attributes;
  node.result_count = old.result_count;
  node.first_result = static_cast<ValueId>(values_.size());
  for (uint32_t i = 0; i < old.result_count; ++i) {
    const uint32_t type = from.values_[old.first_result + i].type;
    if (types[type] == kNone) types[type] = intern(from.types_[type]);
    values_.push_back({types[type], static_cast<NodeId>(nodes_.size())});
  }
  return place(std::move(node), inputs, regions, from.location(old), from.scope(old));
}

void Graph::deepen(std::span<const GraphPtr> regions) {
  for (const GraphPtr& region : regions) {
    region_depth_ = std::max(region_depth_, region->region_depth_ + 1);
    if (region_depth_ > kMaxRegionDepth)
      throw UnsupportedError("graph.depth", cat("regions are nested more than ", kMaxRegionDepth, " deep"));
  }
}

NodeId Graph::place(Node node, std::span<const ValueId> inputs, std::span<const GraphPtr> regions,
                    Location at, std::string_view scope) {
  node.first_input = static_cast<uint32_t>(edges_.size());
  node.input_count = static_cast<uint32_t>(inputs.size());
  node.first_region = static_cast<uint32_t>(regions_.size());
  node.region_count = static_cast<uint32_t>(regions.size());
  edges_.insert(edges_.end(), inputs.begin(), inputs.end());
  regions_.insert(regions_.end(), regions.begin(), regions.end());
  if (at.known()) {
    if (const Location& last = locations_.back(); last.file != at.file || last.line != at.line) {
      locations_.push_back(at);
    }
    node.location = static_cast<uint32_t>(locations_.size() - 1);
  }
  node.scope = intern_scope(scope);
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

void Graph::renumber(std::span<const size_t> input_order) {
  std::vector<GraphInput> ordered;
  ordered.reserve(inputs_.size());
  for (const size_t i : input_order) ordered.push_back(std::move(inputs_[i]));
  inputs_ = std::move(ordered);
  std::vector<ValueId> renamed(values_.size());
  std::vector<Value> values;
  values.reserve(values_.size());
  const auto move_value = [&](ValueId old) {
    renamed[old] = static_cast<ValueId>(values.size());
    values.push_back(values_[old]);
  };
  for (const GraphInput& input : inputs_) move_value(input.value);
  for (const Node& node : nodes_) {
    for (uint32_t i = 0; i < node.result_count; ++i) move_value(node.first_result + i);
  }
  values_ = std::move(values);
  for (GraphInput& input : inputs_) input.value = renamed[input.value];
  for (Node& node : nodes_) {
    if (node.result_count) node.first_result = renamed[node.first_result];
  }
  for (ValueId& edge : edges_) edge = renamed[edge];
  for (GraphOutput& output : outputs_) output.value = renamed[output.value];
}

void Graph::verify() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].value != i || values_[i].node != kNone)
      throw InternalError(cat("input \"", inputs_[i].name, "\" is not value ", i));
  }
  ValueId next = static_cast<ValueId>(inputs_.size());
  std::vector<const TensorType*> types;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    types.clear();
    for (const ValueId input : inputs(node)) {
      if (input >= next) throw InternalError(cat(node.op->name, " (node ", id, ") uses a later value"));
      types.push_back(&type(input));
    }
    const auto results = infer_types(*node.op, node.attributes.get(), types, regions(node));
    if (results.size() != node.result_count || (node.result_count && node.first_result != next)) {
      throw InternalError(cat(node.op->name, " (node ", id, ") does not own its results"));
    }
    for (const TensorType& result : results) {
      if (result != type(next) || values_[next].node != id) {
        throw InternalError(
            cat(node.op->name, " (node ", id, ") is stored as ", type(next), ", its rule says ", result));
      }
      ++next;
    }
    for (const GraphPtr& region : regions(node)) region->verify();
  }
  std::unordered_map<std::string, int> updates;
  for (const GraphOutput& output : outputs_) {
    if (output.value >= values_.size())
      throw InternalError(cat("output \"", output.name, "\" names no value"));
    if (output.kind == OutputKind::kUpdate && updates[output.name]++) {
      throw InternalError(cat("variable \"", output.name, "\" is updated twice"));
    }
  }
}

uint64_t Graph::hash_of(bool with_names) const {
  uint64_t h = hash_combine(inputs_.size(), outputs_.size());
  std::vector<uint64_t> value_hash(values_.size());
  for (const GraphInput& input : inputs_) {
    if (with_names)
      h = hash_combine(h,
                       hash_bytes(input.name.data(), input.name.size(), static_cast<uint64_t>(input.kind)));
    h = hash_combine(hash_combine(h, input.value), hash_type(type(input.value)));
  }
  for (const Node& node : nodes_) {
    h = hash_combine(h, hash_bytes(node.op->name, std::strlen(node.op->name)));
    h = hash_combine(h, hash(node.attributes));
    for (const ValueId input : inputs(node)) h = hash_combine(h, input);
    for (const GraphPtr& region : regions(node)) h = hash_combine(h, region->hash_of(false));
  }
  for (const GraphOutput& output : outputs_) {
    if (with_names)
      h = hash_combine(
          h, hash_bytes(output.name.data(), output.name.size(), static_cast<uint64_t>(output.kind)));
    h = hash_combine(h, output.value);
  }
  return h;
}

bool Graph::same(const Graph& a, const Graph& b, bool with_names) {
  if (&a == &b) return true;
  if (a.nodes_.size() != b.nodes_.size() || a.edges_ != b.edges_ || a.inputs_.size() != b.inputs_.size() ||
      a.outputs_.size() != b.outputs_.size() || a.values_.size() != b.values_.size()) {
    return false;
  }
  for (size_t i = 0; i < a.inputs_.size(); ++i) {
    const GraphInput &x = a.inputs_[i], &y = b.inputs_[i];
    if (with_names && (x.kind != y.kind || x.name != y.name)) return false;
    if (x.value != y.value || a.type(x.value) != b.type(y.value)) return false;
  }
  for (size_t i = 0; i < a.outputs_.size(); ++i) {
    const GraphOutput &x = a.outputs_[i], &y = b.outputs_[i];
    if (with_names && (x.kind != y.kind || x.name != y.name)) return false;
    if (x.value != y.value) return false;
  }
  for (size_t i = 0; i < a.nodes_.size(); ++i) {
    const Node &x = a.nodes_[i], &y = b.nodes_[i];
    if (x.op != y.op || x.input_count != y.input_count || x.result_count != y.result_count ||
        x.first_result != y.first_result || x.region_count != y.region_count ||
        !equal(x.attributes, y.attributes)) {
      return false;
    }
    for (uint32_t r = 0; r < x.region_count; ++r) {
      if (!same(*a.regions(x)[r], *b.regions(y)[r], false)) return false;
    }
  }
  return true;
}

std::vector<bool> depends(const Graph& graph, const std::vector<bool>& inputs) {
  std::vector<bool> values(graph.value_count(), false);
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].value] = inputs[i];
  for (const Node& node : graph.nodes()) {
    bool any = false;
    for (const ValueId input : graph.inputs(node)) any = any || values[input];
    for (uint32_t i = 0; any && i < node.result_count; ++i) values[node.first_result + i] = true;
  }
  std::vector<bool> out;
  for (const GraphOutput& output : graph.outputs()) out.push_back(values[output.value]);
  return out;
}

}  // namespace espalier
