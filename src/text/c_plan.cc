#include "text/c_plan.h"

#include <algorithm>

#include "ir/attribute_reader.h"
#include "ir/constant.h"
#include "ops/registry.h"
#include "text/c_expression.h"
#include "text/c_types.h"

namespace espalier::c_text {
namespace {

class Planner {
 public:
  Planner(std::shared_ptr<const Graph> graph, const std::map<std::string, Literal>& variables,
          const std::string& scratch)
      : graph_(*graph), scratch_(scratch) {
    plan_.graph = std::move(graph);
    plan_.places.resize(graph_.value_count());
    users_.resize(graph_.value_count());
    step_of_.resize(graph_.nodes().size(), kNone);
    needed_.resize(graph_.value_count());
    is_output_.resize(graph_.value_count());
    find_users();
    place_inputs(variables);
    place_outputs();
    for (NodeId id = static_cast<NodeId>(graph_.nodes().size()); id-- > 0;) {
      if (is_needed(graph_.node(id))) visit(id);
    }
    std::sort(plan_.steps.begin(), plan_.steps.end(),
              [](const Step& a, const Step& b) { return a.root < b.root; });
    for (Step& step : plan_.steps) std::sort(step.members.begin(), step.members.end());
    share_scratch();
  }

  Plan plan_;

 private:
  const TensorType& type(ValueId value) const { return graph_.type(value); }
  const Node* producer(ValueId value) const {
    return graph_.producer(value) == kNone ? nullptr : &graph_.node(graph_.producer(value));
  }
  bool is_reshape(ValueId value) const { return producer(value) && producer(value)->op == &op_reshape; }

  // What is reshaped is read by its place in memory.
  bool is_reshaped(ValueId value) const {
    return std::any_of(users_[value].begin(), users_[value].end(),
                       [&](NodeId user) { return graph_.node(user).op == &op_reshape; });
  }

  bool is_needed(const Node& node) const {
    for (uint32_t i = 0; i < node.result_count; ++i) {
      if (needed_[node.first_result + i]) return true;
    }
    return false;
  }

  void find_users() {
    for (const GraphOutput& output : graph_.outputs())
      needed_[output.value] = is_output_[output.value] = true;
    for (NodeId id = static_cast<NodeId>(graph_.nodes().size()); id-- > 0;) {
      const Node& node = graph_.node(id);
      if (!is_needed(node)) continue;
      CallScope at(graph_.location(node));
      NameScope name(graph_.scope(node));
      require_form(node);
      if (node.result_count == 1 && type(node.first_result).elements() == 0) continue;
      for (const ValueId input : graph_.inputs(node)) {
        needed_[input] = true;
        users_[input].push_back(id);
      }
    }
  }

  void require_form(const Node& node) const {
    const OpDef& op = *node.op;
    const bool known = is_view(op) || is_elementwise(op) || is_core(op) || is_assembly(op) ||
                       &op == &op_reshape || &op == &op_constant || &op == &op_iota;
    // To a wider or narrower type it is no op of single elements.
    const bool is_split =
        &op == &op_bitcast_convert && type(graph_.inputs(node)[0]).shape != type(node.first_result).shape;
    if (!known || is_split || node.region_count > 0)
      throw UnsupportedError("c.op", cat(op.name, node.region_count > 0 ? " with a region" : "",
                                         " has no C form: it gives ", type(node.first_result)));
    require_size(cat("the result of ", op.name), type(node.first_result));
  }

  void place_array(ValueId value, const Literal& literal) {
    Place& place = plan_.places[value];
    const TensorType& t = literal.type();
    if (literal.is_splat() || t.elements() <= 1) {
      const std::string text = t.elements() == 0 ? number(t.dtype, 0.0) : number(t.dtype, literal.raw());
      place = {Home::kNumber, text, 0, Dims::filled(t.rank(), 0)};
      return;
    }
    place = {Home::kMemory, cat("w", plan_.arrays.size()), 0, row_major_strides(t.shape)};
    const bool repeats = !is_reshaped(value);
    plan_.arrays.push_back({value, place.text, repeats ? without_repeats(literal, place.strides) : literal});
  }

  // Counters and offsets are int32_t.
  void require_size(const std::string& what, const TensorType& t) const {
    if (t.elements() > std::numeric_limits<int32_t>::max())
      throw UnsupportedError("c.size",
                             cat("an array has up to 2^31 - 1 elements in C here, ", what, " is ", t));
  }

  void place_inputs(const std::map<std::string, Literal>& variables) {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const GraphInput& input = graph_.inputs()[i];
      const TensorType& t = type(input.value);
      require_size(input.name, t);
      if (input.kind != InputKind::kVariable) {
        plan_.places[input.value] = {Home::kMemory, input_name(graph_, i), 0, row_major_strides(t.shape)};
        continue;
      }
      const auto found = variables.find(input.name);
      if (found == variables.end())
        throw ValueError("c.variable", cat("the variable ", input.name, " of ", t, " has no value"));
      if (found->second.type() != t)
        throw ShapeError("c.variable", cat("the variable ", input.name, " is ", t, ", its value is ",
                                           found->second.type()));
      if (needed_[input.value]) place_array(input.value, found->second);
    }
  }

  // A result that is computed is stored where the caller wants it, others are copied there.
  void place_outputs() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      ValueId value = graph_.outputs()[i].value;
      while (is_reshape(value)) value = graph_.inputs(*producer(value))[0];
      const Node* node = producer(value);
      const bool computed =
          node && (is_elementwise(*node->op) || is_core(*node->op) || is_assembly(*node->op));
      if (computed && plan_.places[value].home == Home::kNone) {
        plan_.places[value] = {Home::kMemory, output_name(graph_, i), 0,
                               row_major_strides(type(value).shape)};
      } else {
        plan_.copies.push_back(i);
      }
    }
  }

  // The step that reads `value` as one of its own, element by element; kNone when it must be in memory.
  size_t joined_step(NodeId id, ValueId value) const {
    size_t out = kNone;
    if (plan_.places[value].home != Home::kNone || is_output_[value]) return kNone;
    for (const NodeId user : users_[value]) {
      const Node& node = graph_.node(user);
      const size_t step = step_of_[user];
      const bool along = is_elementwise(*node.op) && type(node.first_result).shape == type(value).shape;
      if (!along || step == kNone || (out != kNone && step != out)) return kNone;
      out = step;
    }
    if (out != kNone && is_core(*graph_.node(id).op) && plan_.steps[out].core != kNone) return kNone;
    return out;
  }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId value = node.first_result;
    if (type(value).elements() == 0) {
      // Nobody writes it, and loops over it read nothing.
      Place& place = plan_.places[value];
      if (place.home == Home::kNone)
        place = {Home::kNumber, number(type(value).dtype, 0.0), 0, Dims::filled(type(value).rank(), 0)};
      return;
    }
    if (node.op == &op_constant) {
      place_array(value, static_cast<const ConstantAttributes&>(*node.attributes).value);
      return;
    }
    if (node.op == &op_iota) {
      plan_.places[value] = {Home::kCounter, c_type(type(value).dtype), 0,
                             Dims::filled(type(value).rank(), 0)};
      plan_.places[value].strides[read_integer(node.attributes.get(), "iota_dimension")] = 1;
    }
    if (node.op == &op_reshape) return;
    if (is_view(*node.op) || node.op == &op_iota) {
      if (is_reshaped(value)) add_step(id);
      return;
    }
    if (is_assembly(*node.op)) return add_step(id);
    size_t step = joined_step(id, value);
    if (step == kNone) {
      step = plan_.steps.size();
      add_step(id);
    }
    step_of_[id] = static_cast<NodeId>(step);
    if (is_elementwise(*node.op)) plan_.steps[step].members.push_back(id);
    if (is_core(*node.op)) plan_.steps[step].core = id;
  }

  // Computes the value into memory: the caller's, or scratch.
  void add_step(NodeId id) {
    const ValueId value = graph_.node(id).first_result;
    plan_.steps.push_back({id});
    Place& place = plan_.places[value];
    if (place.home != Home::kMemory)
      place = {Home::kMemory, "", 0, row_major_strides(type(value).shape), true};
  }

  // The values in scratch memory that a step or a copy reads.
  void read(ValueId value, size_t step) {
    if (plan_.places[value].home == Home::kNone && graph_.producer(value) != kNone &&
        !is_view(*producer(value)->op) && !is_reshape(value))
      return;
    const ValueId memory = address_of(plan_, value, Indices(type(value).rank())).memory;
    if (memory != kNone && plan_.places[memory].scratch) last_[memory] = std::max(last_[memory], step);
  }

  void share_scratch() {
    std::vector<size_t> first(graph_.value_count());
    last_.assign(graph_.value_count(), 0);
    std::vector<ValueId> values;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      const ValueId root = graph_.node(step.root).first_result;
      if (plan_.places[root].scratch) values.push_back(root);
      first[root] = last_[root] = s;
      std::vector<NodeId> nodes = step.members;
      nodes.push_back(step.root);
      if (step.core != kNone) nodes.push_back(step.core);
      for (const NodeId id : nodes) {
        for (const ValueId input : graph_.inputs(graph_.node(id))) read(input, s);
      }
    }
    for (const size_t i : plan_.copies) read(graph_.outputs()[i].value, plan_.steps.size());

    // The largest first, each at the lowest place that nothing alive with it holds.
    std::stable_sort(values.begin(), values.end(),
                     [&](ValueId a, ValueId b) { return type(a).bytes() > type(b).bytes(); });
    constexpr uint64_t kAlignment = 8;
    const auto size_of_value = [&](ValueId value) {
      return (type(value).bytes() + kAlignment - 1) / kAlignment * kAlignment;
    };
    std::map<ValueId, uint64_t> offsets;
    for (const ValueId value : values) {
      std::vector<std::pair<uint64_t, uint64_t>> taken;
      for (const auto& [other, offset] : offsets) {
        if (first[other] <= last_[value] && first[value] <= last_[other])
          taken.emplace_back(offset, offset + size_of_value(other));
      }
      std::sort(taken.begin(), taken.end());
      uint64_t offset = 0;
      for (const auto& [begin, end] : taken) {
        if (offset + size_of_value(value) <= begin) break;
        offset = std::max(offset, end);
      }
      offsets[value] = offset;
      plan_.scratch_bytes = std::max(plan_.scratch_bytes, offset + size_of_value(value));
      const DType dtype = type(value).dtype;
      plan_.scratch_dtypes.insert(dtype);
      plan_.places[value].text = scratch_ + member_of(dtype);
      plan_.places[value].offset = static_cast<int64_t>(offset / size_of(dtype));
    }
  }

  const Graph& graph_;
  std::string scratch_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> needed_, is_output_;
  std::vector<NodeId> step_of_;  // per node: the step that computes it
  std::vector<size_t> last_;
};

std::string numbered(const std::string& name, size_t i, size_t count) {
  return count == 1 ? name : cat(name, "_", i);
}

}  // namespace

bool is_elementwise(const OpDef& op) { return has_expression(op); }

bool is_core(const OpDef& op) {
  return &op == &op_dot_general || &op == &op_convolution || &op == &op_reduce || &op == &op_reduce_window ||
         &op == &op_gather || &op == &op_dynamic_slice;
}

bool is_assembly(const OpDef& op) { return &op == &op_pad || &op == &op_concatenate; }

std::string member_of(DType dtype) { return dtype == DType::kBool ? "flags" : std::string(name(dtype)); }

std::string input_name(const Graph& graph, size_t input) {
  size_t count = 0, place = 0;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.inputs()[i].kind == InputKind::kVariable) continue;
    if (i == input) place = count;
    ++count;
  }
  return numbered("input", place, count);
}

std::string output_name(const Graph& graph, size_t output) {
  return numbered("output", output, graph.outputs().size());
}

Address address_of(const Plan& plan, ValueId value, Indices indices) {
  const Graph& graph = *plan.graph;
  const auto source = [&](ValueId v) { return graph.inputs(graph.node(graph.producer(v)))[0]; };
  while (plan.places[value].home == Home::kNone) {
    const Node& node = graph.node(graph.producer(value));
    if (node.op != &op_reshape) {
      indices = through_view(graph, node, indices);
      value = source(value);
      continue;
    }
    const Affine linear = dot(indices, row_major_strides(graph.type(value).shape));
    while (plan.places[value].home == Home::kNone) value = source(value);
    return {value, linear};
  }
  return {value, dot(indices, plan.places[value].strides)};
}

Plan make_plan(std::shared_ptr<const Graph> graph, const std::map<std::string, Literal>& variables,
               const std::string& scratch) {
  return Planner(std::move(graph), variables, scratch).plan_;
}

}  // namespace espalier::c_text
