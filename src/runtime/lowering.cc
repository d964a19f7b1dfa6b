#include "runtime/lowering.h"

#include <algorithm>

#include "passes/pass.h"
#include "runtime/decompose.h"
#include "runtime/integer_products.h"

namespace espalier {
namespace {

constexpr Lowering kLowerings[] = {
    {"decompose", "composites that have no body of their own become their decompositions", false,
     decompose_bodiless},
    {"integer_products", "products of 8-bit integers become products of f32, where these are exact", true,
     integer_products_in_f32},
};

}  // namespace

std::span<const Lowering> all_lowerings() { return kLowerings; }

std::shared_ptr<const Graph> lower_graph(std::shared_ptr<const Graph> graph, bool fast_kernels) {
  for (const Lowering& lowering : kLowerings) {
    if (fast_kernels || !lowering.for_kernels) graph = lowering.run(std::move(graph));
  }
  return graph;
}

std::vector<std::string> passes_and_lowerings() {
  std::vector<std::string> out;
  for (const Pass* pass : all_passes()) out.emplace_back(pass->name);
  for (const Lowering& lowering : kLowerings) out.emplace_back(lowering.name);
  return out;
}

std::shared_ptr<const Graph> graph_after(std::shared_ptr<const Graph> graph, const std::string& last) {
  const auto is_last = [&](const Lowering& lowering) { return lowering.name == last; };
  if (std::ranges::none_of(kLowerings, is_last)) return optimize(std::move(graph), {.last = last});
  graph = optimize(std::move(graph));
  for (const Lowering& lowering : kLowerings) {
    graph = lowering.run(std::move(graph));
    if (is_last(lowering)) break;
  }
  return graph;
}

}  // namespace espalier
