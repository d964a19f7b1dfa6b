#include <algorithm>

#include "ir/constant.h"
#include "passes/pass.h"

namespace espalier {
namespace {

constexpr const Pass* kPasses[] = {&pass_fold, &pass_simplify, &pass_swap_dot, &pass_cse, &pass_dce};

#ifdef NDEBUG
constexpr bool kChecked = false;
#else
constexpr bool kChecked = true;
#endif

}  // namespace

std::span<const Pass* const> all_passes() { return kPasses; }

std::shared_ptr<const Graph> optimize(std::shared_ptr<const Graph> graph, const PassOptions& options) {
  std::vector<std::string> known;
  for (const Pass* pass : kPasses) known.emplace_back(pass->name);
  std::vector<std::string> named = options.off;
  if (!options.last.empty()) named.push_back(options.last);
  for (const std::string& name : named) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw_unknown("pass.name", "pass", name, known);
  }
  for (const Pass* pass : kPasses) {
    const bool off = std::find(options.off.begin(), options.off.end(), pass->name) != options.off.end();
    if (!off) graph = pass->run(*graph);
    if (!off && (kChecked || options.verify)) graph->verify();
    if (options.last == pass->name) break;
  }
  return graph;
}

std::vector<GraphPtr> rewrite_regions(const Graph& graph, const Node& node,
                                      std::shared_ptr<Graph> (*run)(const Graph&)) {
  std::vector<GraphPtr> out;
  for (const GraphPtr& region : graph.regions(node)) out.push_back(run(*region));
  return out;
}

const Literal* constant_of(const Graph& graph, ValueId value) {
  const NodeId producer = graph.producer(value);
  if (producer == kNone || graph.node(producer).op != &op_constant) return nullptr;
  return &static_cast<const ConstantAttributes&>(*graph.node(producer).attributes).value;
}

}  // namespace espalier
