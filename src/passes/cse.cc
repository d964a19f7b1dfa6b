#include "base/hash.h"
#include "passes/pass.h"

namespace espalier {
namespace {

std::shared_ptr<Graph> run_cse(const Graph& graph) {
  Rewriter rewriter(graph);
  // Old nodes that stand for their equals, and for each old value the value that stands for it.
  std::unordered_multimap<uint64_t, NodeId> seen;
  std::vector<ValueId> leader(graph.value_count());
  for (const GraphInput& input : graph.inputs()) leader[input.value] = input.value;
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.node(id);
    const auto inputs = graph.inputs(node);
    uint64_t key = hash_combine(reinterpret_cast<uintptr_t>(node.op), hash(node.attributes));
    for (const ValueId input : inputs) key = hash_combine(key, leader[input]);
    const auto same = [&](NodeId other_id) {
      const Node& other = graph.node(other_id);
      const auto others = graph.inputs(other);
      if (other.op != node.op || others.size() != inputs.size() || !equal(other.attributes, node.attributes))
        return false;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (leader[inputs[i]] != leader[others[i]]) return false;
      }
      return true;
    };
    NodeId found = kNone;
    // Calls with regions are left alone: comparing bodies rarely pays.
    if (!node.op->pinned && !node.op->fallible && node.region_count == 0) {
      const auto [first, last] = seen.equal_range(key);
      for (auto it = first; it != last && found == kNone; ++it) {
        if (same(it->second)) found = it->second;
      }
      if (found == kNone) seen.emplace(key, id);
    }
    if (found == kNone) rewriter.copy(node, rewrite_regions(graph, node, run_cse));
    for (uint32_t i = 0; i < node.result_count; ++i) {
      const ValueId value = node.first_result + i;
      leader[value] = found == kNone ? value : leader[graph.node(found).first_result + i];
      if (found != kNone) rewriter.replace(value, leader[value]);
    }
  }
  return rewriter.finish();
}

}  // namespace

const Pass pass_cse = {"cse", "computes equal calls once", run_cse};

}  // namespace espalier
