#include "runtime/kernel_choice.h"

#include "base/format.h"
#include "ops/collective.h"
#include "passes/pass.h"
#include "runtime/uses.h"

namespace espalier {

bool KernelChoice::overwrites(uint32_t index, ValueId root) const {
  size_t reads = 0;
  bool allowed = false;
  for (size_t i = 0; i < roots.size(); ++i) {
    if (roots[i] != root) continue;
    ++reads;
    allowed = ((kernel.run && i == index && i < kernel.in_place) ||
               (elementwise && *types[i] == *result_types[index])) &&
              types[i]->bytes() == result_types[index]->bytes();
  }
  return reads == 1 && allowed;
}

KernelChoice choose_kernel(const Graph& graph, const Units& units, const Node& node,
                           const ConstantLayout& constants, const CompileOptions& options) {
  KernelChoice out;
  std::vector<const void*> known;
  for (size_t i = 0; i < node.input_count; ++i) {
    const TensorType& type = graph.type(graph.inputs(node)[i]);
    const ValueId root = units.read_from(graph, node, i);
    const DType memory = graph.type(root).dtype;
    out.roots.push_back(root);
    out.types.push_back(memory != type.dtype ? &out.cast_types.emplace_back(TensorType{memory, type.shape})
                                             : &type);
    known.push_back(constants.elements(graph, root));
    const Literal* literal = units.updates(node, i) ? constant_of(graph, root) : nullptr;
    out.splats.push_back(literal && is_one_element(*literal) ? literal->raw() : nullptr);
  }
  for (uint32_t i = 0; i < node.result_count; ++i)
    out.result_types.push_back(&graph.type(node.first_result + i));
  std::string_view name = graph.scope(node);
  std::string within;
  if (is_collective(*node.op) && !options.within.empty()) name = within = cat(name, options.within);
  if (options.fast_kernels && node.region_count == 0)
    out.kernel = prepare_kernel({*node.op, node.attributes.get(), out.types, out.result_types,
                                 out.types.empty() ? DType::kF32 : graph.type(graph.inputs(node)[0]).dtype,
                                 known, name, out.splats});
  if (out.kernel.run) return out;
  if (!node.op->eval) throw InternalError(cat(node.op->name, " has no body"));
  if (is_collective(*node.op) && options.world > 1) {
    const Location at = graph.location(node);
    throw UnsupportedError("compile.collective",
                           cat(node.op->name, at.known() ? cat(" at ", at) : std::string(),
                               " has no kernel that runs among ", options.world, " processes"));
  }
  out.elementwise = node.op->fusion == Fusion::kElementwise && node.result_count == 1;
  return out;
}

}  // namespace espalier
