#include "place/shares.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/format.h"
#include "ir/constant.h"
#include "ops/collective.h"
#include "ops/composite/scan.h"
#include "ops/registry.h"
#include "place/replica_flow.h"

namespace espalier {
namespace {

// Elements of a value that is worth a share.
constexpr int64_t kLargeValue = 1024;

// Updates that belong together, as a forest.
class UpdateGroups {
 public:
  explicit UpdateGroups(size_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), 0); }
  size_t find(size_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  void join(size_t a, size_t b) { parents_[find(a)] = find(b); }

 private:
  std::vector<size_t> parents_;
};

std::vector<size_t> updates_of(const Graph& graph) {
  std::vector<size_t> out;
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.outputs()[i].kind == OutputKind::kUpdate) out.push_back(i);
  return out;
}

// Looks at two graphs on the way back from outputs of both.
class OtherNode {
 public:
  OtherNode(const Graph& a, const Graph& b) : a_(a), b_(b), met_(a.value_count(), kNone) {
    const auto numbers = [](const Graph& graph, std::vector<size_t>& out) {
      out.resize(graph.value_count());
      for (size_t i = 0; i < graph.inputs().size(); ++i) out[graph.inputs()[i].value] = i;
    };
    numbers(a, inputs_of_a_);
    numbers(b, inputs_of_b_);
  }
  // The nodes that differ first on the way from a value of each, or what is no node of one of them. Values
  // that were met before are not looked at again.
  std::optional<std::pair<NodeId, NodeId>> from(ValueId of_a, ValueId of_b) {
    open_.emplace_back(of_a, of_b);
    while (!open_.empty()) {
      const auto [x, y] = open_.back();
      open_.pop_back();
      if (met_[x] == y) continue;
      met_[x] = y;
      const NodeId from = a_.producer(x), other = b_.producer(y);
      if (from == kNone && other == kNone && inputs_of_a_[x] == inputs_of_b_[y]) {
        inputs.push_back(inputs_of_a_[x]);
        continue;
      }
      if (from == kNone || other == kNone || !is_same(a_.node(from), x, b_.node(other), y))
        return std::pair(from, other);
    }
    return std::nullopt;
  }
  std::vector<size_t> inputs;  // that were met

 private:
  bool is_same(const Node& left, ValueId x, const Node& right, ValueId y) {
    if (left.op == right.op && makes_equal(left)) return true;
    const size_t result = x - left.first_result;
    const auto of_left = a_.regions(left), of_right = b_.regions(right);
    if (left.op != right.op || left.input_count != right.input_count || result != y - right.first_result ||
        !equal(left.attributes, right.attributes) || of_left.size() != of_right.size())
      return false;
    const auto same = [](const GraphPtr& one, const GraphPtr& other) { return *one == *other; };
    if (of_left.empty() || std::ranges::equal(of_left, of_right, same)) {
      for (uint32_t i = 0; i < left.input_count; ++i) visit(left, right, i);
      return true;
    }
    // Of a region what this result comes from, and no others.
    const bool chooses = left.op == &op_if || left.op == &op_case;
    size_t carries = 0;
    if (left.op == &op_while) carries = left.result_count;
    if (left.op == &op_scan)
      carries = static_cast<size_t>(static_cast<const ScanAttributes&>(*left.attributes).carries);
    if (chooses) visit(left, right, 0);
    if (!chooses && carries == 0 && !runs_once(left, of_left)) return false;
    std::vector<OtherNode> looks;
    for (size_t i = 0; i < of_left.size(); ++i) looks.emplace_back(*of_left[i], *of_right[i]);
    std::vector<size_t> open{result};  // outputs, by their numbers
    std::vector<bool> carried(carries);
    while (!open.empty()) {
      const size_t output = open.back();
      open.pop_back();
      for (size_t i = 0; i < looks.size(); ++i) {
        const bool ends_loop = left.op == &op_while && i == 0;
        const size_t own = ends_loop ? 0 : output;
        if (looks[i].from(of_left[i]->outputs()[own].value, of_right[i]->outputs()[own].value)) return false;
        for (const size_t input : std::exchange(looks[i].inputs, {})) {
          visit(left, right, static_cast<uint32_t>(input + chooses));
          if (input >= carries || carried[input]) continue;
          carried[input] = true;
          open.push_back(input);
        }
      }
    }
    return true;
  }
  static bool runs_once(const Node& node, std::span<const GraphPtr> regions) {
    return regions.size() == 1 && node.op->composite && regions[0]->inputs().size() == node.input_count &&
           regions[0]->outputs().size() == node.result_count;
  }
  void visit(const Node& left, const Node& right, uint32_t input) {
    open_.emplace_back(a_.inputs(left)[input], b_.inputs(right)[input]);
  }

  const Graph &a_, &b_;
  std::vector<ValueId> met_;  // with which value of b
  std::vector<size_t> inputs_of_a_, inputs_of_b_;
  std::vector<std::pair<ValueId, ValueId>> open_;
};

std::string node_text(const Graph& graph, NodeId id) {
  if (id == kNone) return "another value";
  const Node& node = graph.node(id);
  return node.op == &op_constant ? to_string(node.attributes)
                                 : cat(node.op->name, " ", to_string(node.attributes));
}

}  // namespace

std::vector<std::string> collectives_of(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes()) {
    if (!is_collective(*node.op)) continue;
    std::string& text = out.emplace_back(node.op->name);
    for (const ValueId input : graph.inputs(node)) text += cat(" ", graph.type(input));
    text += cat(" ", to_string(node.attributes));
  }
  return out;
}

UnequalCollectives::UnequalCollectives(const std::vector<std::string>& of_one,
                                       const std::vector<std::string>& of_first) {
  const size_t count = std::min(of_one.size(), of_first.size());
  size_t at = 0;
  while (at < count && of_one[at] == of_first[at]) ++at;
  // Attributes are told where nothing else differs.
  const auto text = [&](const std::vector<std::string>& of, bool whole) {
    if (at == of.size()) return std::string("none");
    return whole ? of[at] : of[at].substr(0, of[at].find(" {"));
  };
  const bool whole = text(of_one, false) == text(of_first, false);
  own = text(of_one, whole);
  first = text(of_first, whole);
}

std::string UnequalCollectives::cure() const {
  const std::string_view gather = op_all_gather.name;
  return cat("all replicas make the same calls on values of the same types",
             own.starts_with(gather) && first.starts_with(gather)
                 ? "; Strategy::gather() takes others, behind the call"
                 : "");
}

void require_equal_collectives(std::span<const std::vector<std::string>* const> of_replicas) {
  const std::vector<std::string>& first = *of_replicas[0];
  for (size_t replica = 1; replica < of_replicas.size(); ++replica) {
    const std::vector<std::string>& own = *of_replicas[replica];
    if (&own == &first || own == first) continue;
    const UnequalCollectives other(own, first);
    throw ValueError("strategy.collectives",
                     cat("the next collective of replica ", replica, " is ", other.own,
                         ", and that of replica 0 is ", other.first),
                     other.cure());
  }
}

void require_equal_arguments(std::span<const PlacedGraph> graphs, size_t world) {
  const Graph& first = *graphs[0].graph;
  for (const PlacedGraph& each : graphs) {
    for (size_t k = 0; k < first.inputs().size(); ++k) {
      if (first.inputs()[k].kind != InputKind::kArgument) break;
      const TensorType &wanted = first.type(first.inputs()[k].value),
                       &got = each.graph->type(each.graph->inputs()[k].value);
      if (got == wanted) continue;
      throw ShapeError("strategy.values",
                       cat("replicas on devices of a plugin run one program, and argument ", k, " is ",
                           wanted, " for the first and ", got, " for another"),
                       got.dtype != wanted.dtype ? "give all one dtype"
                                                 : cat("batches of a multiple of ", world,
                                                       " rows: batch(n, {.drop_remainder = true})"));
    }
  }
}

std::vector<size_t> share_updates(const Graph& graph, size_t replicas) {
  const std::vector<size_t> updates = updates_of(graph);
  const size_t count = updates.size();
  std::vector<bool> behind(graph.nodes().size());
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    for (const ValueId input : graph.inputs(graph.node(id))) {
      const NodeId producer = graph.producer(input);
      if (producer != kNone && (behind[producer] || is_collective(*graph.node(producer).op)))
        behind[id] = true;
    }
  }
  UpdateGroups groups(count);
  constexpr size_t kNobody = static_cast<size_t>(-1);
  std::vector<size_t> maker(graph.nodes().size(), kNobody);
  std::vector<uint64_t> bytes(count);
  for (size_t u = 0; u < count; ++u) {
    std::vector<bool> seen(graph.nodes().size());
    std::vector<NodeId> open;
    const auto visit = [&](ValueId value) {
      const NodeId producer = graph.producer(value);
      if (producer == kNone || !behind[producer] || seen[producer] || is_collective(*graph.node(producer).op))
        return;
      seen[producer] = true;
      open.push_back(producer);
    };
    visit(graph.outputs()[updates[u]].value);
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      const Node& node = graph.node(id);
      const TensorType& type = graph.type(node.first_result);
      if (type.elements() >= kLargeValue) {
        if (maker[id] == kNobody) {
          maker[id] = u;
          bytes[u] += type.bytes() * node.result_count;
        } else {
          groups.join(u, maker[id]);
        }
      }
      for (const ValueId input : graph.inputs(node)) visit(input);
    }
  }
  std::vector<uint64_t> of_group(count);
  for (size_t u = 0; u < count; ++u) of_group[groups.find(u)] += bytes[u];
  std::vector<size_t> order;
  for (size_t u = 0; u < count; ++u) {
    if (groups.find(u) == u) order.push_back(u);
  }
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return of_group[a] > of_group[b]; });
  std::vector<uint64_t> load(replicas);
  std::vector<size_t> owner(count);
  for (const size_t group : order) {
    if (of_group[group] == 0) continue;
    owner[group] = static_cast<size_t>(std::ranges::min_element(load) - load.begin());
    load[owner[group]] += of_group[group];
  }
  std::vector<size_t> out;
  for (size_t u = 0; u < count; ++u) out.push_back(owner[groups.find(u)]);
  return out;
}

void require_equal_updates(const Graph& graph) {
  const std::vector<bool> differs = outputs_that_differ(graph);
  for (const size_t update : updates_of(graph)) {
    const GraphOutput& output = graph.outputs()[update];
    if (!differs[update]) continue;
    throw ValueError("strategy.variable",
                     cat("the new value of \"", output.name,
                         "\" would differ between replicas: it comes from the rows of one of them"),
                     "observe() in a layer says how replicas combine what they add to a variable, "
                     "strategy::all_reduce() in a function");
  }
}

void require_updates_of_any_rows(const Graph& graph, const Graph& other) {
  const std::vector<size_t> others_updates = updates_of(other);
  for (const size_t update : updates_of(graph)) {
    const GraphOutput& output = graph.outputs()[update];
    const auto same = std::ranges::find_if(others_updates,
                                           [&](size_t i) { return other.outputs()[i].name == output.name; });
    std::string differs;
    if (same == others_updates.end()) {
      differs = "it is assigned for one of two parts alone";
    } else {
      const auto found = OtherNode(graph, other).from(output.value, other.outputs()[*same].value);
      if (!found) continue;
      const auto [mine, others] = *found;
      if (mine == kNone && others == kNone) continue;
      const Graph& where = mine == kNone ? other : graph;
      const Node& node = where.node(mine == kNone ? others : mine);
      differs = cat(node_text(graph, mine), " for one part is ", node_text(other, others),
                    " for another (at ", where.location(node));
      const std::string& scope = where.scope(node);
      differs += scope.empty() ? ")" : cat(", in ", scope, ")");
    }
    throw ValueError(
        "strategy.variable",
        cat("the new value of \"", output.name,
            "\" depends on how many rows of the batch a replica has: ", differs),
        "observe() in a layer adds up what each replica has of its rows; strategy::all_reduce() in "
        "a function");
  }
}

void require_parts_of_one_batch(std::span<const PlacedGraph> graphs) {
  std::vector<std::vector<std::string>> collectives;
  std::vector<const std::vector<std::string>*> lists;
  for (const PlacedGraph& each : graphs) collectives.push_back(collectives_of(*each.graph));
  for (const auto& list : collectives) lists.push_back(&list);
  require_equal_collectives(lists);
  // Of parts of as many rows all is one.
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (i > 0 && graphs[i].graph == graphs[i - 1].graph) continue;
    require_equal_updates(*graphs[i].graph);
    if (i > 0) require_updates_of_any_rows(*graphs[0].graph, *graphs[i].graph);
  }
}

GraphPtr with_outputs(const Graph& graph, std::span<const size_t> outputs) {
  auto out = std::make_shared<Graph>(graph.name());
  std::vector<ValueId> map(graph.value_count(), kNone);
  for (const GraphInput& input : graph.inputs())
    map[input.value] = out->add_input(input.kind, input.name, graph.type(input.value));
  std::vector<uint32_t> types;
  std::vector<ValueId> operands;
  for (const Node& node : graph.nodes()) {
    operands.clear();
    for (const ValueId input : graph.inputs(node)) operands.push_back(map[input]);
    const NodeId id = out->append_node(graph, node, operands, graph.regions(node), types);
    for (uint32_t i = 0; i < node.result_count; ++i)
      map[node.first_result + i] = out->node(id).first_result + i;
  }
  for (const size_t number : outputs) {
    const GraphOutput& output = graph.outputs()[number];
    out->add_output(output.kind, output.name, map[output.value]);
  }
  return out;
}

}  // namespace espalier
