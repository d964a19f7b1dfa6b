#include "place/replica_flow.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/format.h"
#include "ops/collective.h"
#include "ops/composite/scan.h"
#include "ops/registry.h"

namespace espalier {
namespace {

using Flags = std::vector<bool>;

// What chooses whether, or how often, a region runs, and differs between replicas; null: nothing does.
struct Chosen {
  const Graph* graph = nullptr;
  const Node* node = nullptr;
};

[[noreturn]] void refuse_choice(const Graph& graph, const Node& node, const Chosen& by) {
  const Location at = graph.location(node), chosen_at = by.graph->location(*by.node);
  const bool loop = by.node->op == &op_while;
  const std::string name(graph.scope(node));
  throw ValueError(
      "strategy.control",
      cat(node.op->name, name.empty() ? "" : cat(" \"", name, "\""), at.known() ? cat(" (at ", at, ")") : "",
          loop ? " would be called more often by some replicas than by others: it is in a loop"
               : " would be called by some replicas and not by others: it is in a branch",
          chosen_at.known() ? cat(" (at ", chosen_at, ")") : "",
          loop ? " that ends by" : " that is chosen by", " what differs between replicas"),
      loop ? "a number of rounds that all have, or strategy::all_reduce() of what ends the loop"
           : "call it outside of cond(), or choose by strategy::all_reduce() of the predicate");
}

class Flow {
 public:
  Flags outputs(const Graph& graph, const Flags& inputs, const Chosen& chosen) const {
    Flags differs(graph.value_count());
    for (size_t i = 0; i < graph.inputs().size(); ++i) differs[graph.inputs()[i].value] = inputs[i];
    for (const Node& node : graph.nodes()) {
      if (is_collective(*node.op) && chosen.node) refuse_choice(graph, node, chosen);
      Flags in;
      for (const ValueId input : graph.inputs(node)) in.push_back(differs[input]);
      const Flags out = results(graph, node, in, chosen);
      for (uint32_t i = 0; i < node.result_count; ++i) differs[node.first_result + i] = out[i];
    }
    Flags out;
    for (const GraphOutput& output : graph.outputs()) out.push_back(differs[output.value]);
    return out;
  }

 private:
  Flags results(const Graph& graph, const Node& node, const Flags& in, const Chosen& chosen) const {
    const auto regions = graph.regions(node);
    if (node.op == &op_if || node.op == &op_case) {
      const Chosen by = in[0] ? Chosen{&graph, &node} : chosen;
      Flags out(node.result_count, in[0]);
      for (const GraphPtr& region : regions) add(out, outputs(*region, Flags(in.begin() + 1, in.end()), by));
      return out;
    }
    if (node.op == &op_while) {
      const Flags carried = loop(*regions[1], in, node.result_count, chosen);
      const bool ends_apart = outputs(*regions[0], with(carried, in), chosen)[0];
      if (!ends_apart) return carried;
      const Chosen by{&graph, &node};
      outputs(*regions[0], with(carried, in), by);
      outputs(*regions[1], with(carried, in), by);
      return Flags(node.result_count, true);
    }
    if (node.op == &op_scan) {
      const auto carries = static_cast<size_t>(static_cast<const ScanAttributes&>(*node.attributes).carries);
      const Flags carried = loop(*regions[0], in, carries, chosen);
      Flags out = outputs(*regions[0], with(carried, in), chosen);
      std::copy(carried.begin(), carried.end(), out.begin());
      return out;
    }
    if (regions.size() == 1 && regions[0]->inputs().size() == in.size() &&
        regions[0]->outputs().size() == node.result_count && node.op->composite)
      return outputs(*regions[0], in, chosen);
    bool any = node.op == &op_replica_id || node.op == &op_partition_id || node.op == &op_reduce_scatter;
    for (const bool each : in) any = any || each;
    return Flags(node.result_count, any && !makes_equal(node));
  }

  // Of values that a loop carries: until another round adds none.
  Flags loop(const Graph& body, const Flags& in, size_t carries, const Chosen& chosen) const {
    Flags carried(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(carries));
    while (true) {
      Flags next = outputs(body, with(carried, in), chosen);
      next.resize(carries);
      add(next, carried);
      if (next == carried) return carried;
      carried = std::move(next);
    }
  }

  static void add(Flags& to, const Flags& more) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = to[i] || more[i];
  }
  // The inputs, of which the first are those.
  static Flags with(const Flags& first, Flags inputs) {
    std::copy(first.begin(), first.end(), inputs.begin());
    return inputs;
  }
};

}  // namespace

bool makes_equal(const Node& node) {
  const std::array<const OpDef*, 3> ops{&op_all_reduce, &op_all_gather, &op_collective_broadcast};
  return std::ranges::find(ops, node.op) != ops.end();
}

std::vector<bool> outputs_that_differ(const Graph& graph) {
  Flags inputs;
  for (const GraphInput& input : graph.inputs()) inputs.push_back(input.kind == InputKind::kArgument);
  return Flow().outputs(graph, inputs, {});
}

}  // namespace espalier
