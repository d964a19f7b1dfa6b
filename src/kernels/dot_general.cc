#include "ops/dot_general.h"

#include "kernels/bf16_gemm.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"

namespace espalier {
namespace {

// Offsets of all index tuples over `axes`, row-major; a table of them is kept in `tables`.
IndexMap index_map(std::vector<std::vector<int64_t>>& tables, const Shape& shape, const Dims& axes) {
  const Dims strides = row_major_strides(shape);
  std::vector<std::vector<int64_t>> lists;
  for (const int64_t axis : axes) lists.push_back(multiples(shape[axis], strides[axis]));
  tables.push_back(sums_of(lists));
  const IndexMap map = map_of(tables.back());
  if (!map.table) tables.pop_back();
  return map;
}

// A right factor that is known is packed when the plan is made, and kept beside the graph's own copy: its
// memory doubles. No more than this many bytes of one factor are.
constexpr size_t kMostPackedAhead = size_t{1} << 28;

// A product of either element type: Product is Gemm or Bf16Gemm.
template <class Product>
struct DotParams {
  Product product;
  Buffer packed;
  IndexMap a_batch, b_batch;
  std::vector<std::vector<int64_t>> tables;
};

template <class Product>
std::shared_ptr<DotParams<Product>> read_site_dot_general(const KernelSite& site) {
  const DotAxes& axes = static_cast<const DotAttributes*>(site.attributes)->axes;
  const Shape &lhs = site.inputs[0]->shape, &rhs = site.inputs[1]->shape;
  auto params = std::make_shared<DotParams<Product>>();
  params->tables.reserve(6);  // maps point into them
  const auto map = [&](const Shape& shape, const Dims& of) { return index_map(params->tables, shape, of); };
  Product& product = params->product;
  params->a_batch = map(lhs, axes.lhs_batching);
  params->b_batch = map(rhs, axes.rhs_batching);
  product.a_row = map(lhs, free_axes(lhs.size(), axes.lhs_batching, axes.lhs_contracting));
  product.a_depth = map(lhs, axes.lhs_contracting);
  product.b_column = map(rhs, free_axes(rhs.size(), axes.rhs_batching, axes.rhs_contracting));
  product.b_depth = map(rhs, axes.rhs_contracting);
  return params;
}

void run_f32_dot_general(const KernelCall& call) {
  const auto& p = *static_cast<const DotParams<Gemm>*>(call.params);
  p.product.run(call.pool(), static_cast<const float*>(call.in[0]), p.a_batch,
                static_cast<const float*>(call.in[1]), p.b_batch, reinterpret_cast<float*>(call.workspace),
                static_cast<float*>(call.out[0]), p.a_batch.count, call.epilogue);
}

void run_bf16_dot_general(const KernelCall& call) {
  const auto& p = *static_cast<const DotParams<Bf16Gemm>*>(call.params);
  p.product.run(call.pool(), call.in[0], p.a_batch, call.in[1], p.b_batch, call.workspace, call.out[0],
                p.a_batch.count, call.epilogue);
}

// B, if it is known and, padded to whole panels, not too large.
const void* known_right(const KernelSite& site) {
  return 2 * site.inputs[1]->bytes() <= kMostPackedAhead ? site.constant(1) : nullptr;
}

// `elements` of each batch once they are packed.
template <class Element, class Product>
void pack_ahead(const void* b, int64_t elements, DotParams<Product>& params) {
  const size_t bytes = static_cast<size_t>(elements * params.b_batch.count) * sizeof(Element);
  if (!b || bytes == 0 || bytes > kMostPackedAhead) return;
  params.packed = allocate_buffer(bytes);
  params.product.pack_ahead(b, params.b_batch, reinterpret_cast<Element*>(params.packed.get()));
}

}  // namespace

PreparedKernel prepare_dot_general(const KernelSite& site) {
  if (site.outputs[0]->dtype != DType::kF32) return {};
  auto params = read_site_dot_general<Gemm>(site);
  const int64_t batches = params->a_batch.count;
  const void* const b = known_right(site);
  params->product.choose(current_isa(), batches, b != nullptr);
  pack_ahead<float>(b, params->product.packed_floats(), *params);
  PreparedKernel kernel;
  kernel.run = run_f32_dot_general;
  kernel.takes_epilogue = true;
  kernel.workspace = static_cast<size_t>(params->product.workspace_floats(batches)) * sizeof(float);
  kernel.params = std::move(params);
  return kernel;
}

bool runs_on_tiles(DType result) {
  return current_isa() >= Isa::kAmx && (result == DType::kBF16 || result == DType::kF32);
}

PreparedKernel prepare_dot_general_bf16(const KernelSite& site) {
  const DType result = site.outputs[0]->dtype;
  if (!runs_on_tiles(result)) return prepare_widened(site, prepare_dot_general);
  auto params = read_site_dot_general<Bf16Gemm>(site);
  params->product.a_f32 = site.inputs[0]->dtype == DType::kF32;
  params->product.b_f32 = site.inputs[1]->dtype == DType::kF32;
  const int64_t batches = params->a_batch.count;
  params->product.round = result == DType::kBF16;
  params->product.choose();
  pack_ahead<uint16_t>(known_right(site), params->product.packed_elements(), *params);
  PreparedKernel kernel;
  kernel.run = run_bf16_dot_general;
  kernel.takes_epilogue = true;
  kernel.workspace = params->product.workspace_bytes(batches);
  kernel.params = std::move(params);
  return kernel;
}

}  // namespace espalier
