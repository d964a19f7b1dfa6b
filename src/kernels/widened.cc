#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "kernels/loops.h"

namespace espalier {
namespace {

constexpr int64_t kChunk = 1 << 14;

bool is_narrow(DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16; }

struct Array {
  int64_t elements = 0;
  DType dtype = DType::kF32;
  size_t offset = 0;  // of its f32 twin in the workspace
  bool narrow() const { return is_narrow(dtype); }
};

struct WidenedParams {
  PreparedKernel kernel;
  std::vector<Array> in, out;
  size_t inner_workspace = 0;  // where the kernel's own begins
};

template <class To, class From>
void cast_in_chunks(ThreadPool& pool, void (*loop)(const From*, To*, int64_t), const void* from, void* to,
                    int64_t elements) {
  const int64_t size = chunk_work(kChunk);
  pool.parallel_for((elements + size - 1) / size, [&](int64_t chunk) {
    const int64_t i = chunk * size;
    loop(static_cast<const From*>(from) + i, static_cast<To*>(to) + i, std::min(size, elements - i));
  });
}

void widen_to(ThreadPool& pool, const Array& array, const void* from, void* to) {
  const LoopTable& table = loop_table();
  array.dtype == DType::kBF16 ? cast_in_chunks(pool, table.bf16.widen, from, to, array.elements)
                              : cast_in_chunks(pool, table.f16.widen, from, to, array.elements);
}
void round_to(ThreadPool& pool, const Array& array, const void* from, void* to) {
  const LoopTable& table = loop_table();
  array.dtype == DType::kBF16 ? cast_in_chunks(pool, table.bf16.round, from, to, array.elements)
                              : cast_in_chunks(pool, table.f16.round, from, to, array.elements);
}

void run_widened(const KernelCall& call) {
  constexpr size_t kMost = 16;
  const auto& p = *static_cast<const WidenedParams*>(call.params);
  const void* in[kMost];
  void* out[kMost];
  for (size_t i = 0; i < p.in.size(); ++i) {
    in[i] = call.in[i];
    if (!p.in[i].narrow()) continue;
    in[i] = call.workspace + p.in[i].offset;
    widen_to(call.pool(), p.in[i], call.in[i], call.workspace + p.in[i].offset);
  }
  for (size_t i = 0; i < p.out.size(); ++i)
    out[i] = p.out[i].narrow() ? call.workspace + p.out[i].offset : call.out[i];
  p.kernel.run(
      {call.context, call.failure, p.kernel.params.get(), in, out, call.workspace + p.inner_workspace});
  for (size_t i = 0; i < p.out.size(); ++i) {
    if (p.out[i].narrow()) round_to(call.pool(), p.out[i], out[i], call.out[i]);
  }
}

}  // namespace

PreparedKernel prepare_widened(const KernelSite& site, PreparedKernel (*prepare)(const KernelSite&)) {
  auto params = std::make_shared<WidenedParams>();
  std::vector<TensorType> types;
  types.reserve(site.inputs.size() + site.outputs.size());
  size_t workspace = 0;
  const auto widen = [&](std::span<const TensorType* const> from, std::vector<Array>& arrays) {
    std::vector<const TensorType*> out;
    for (const TensorType* type : from) {
      const bool narrow = is_narrow(type->dtype);
      types.push_back(narrow ? TensorType{DType::kF32, type->shape} : *type);
      out.push_back(&types.back());
      arrays.push_back({type->elements(), type->dtype, workspace});
      if (narrow) workspace += (types.back().bytes() + 63) / 64 * 64;
    }
    return out;
  };
  const std::vector<const TensorType*> in = widen(site.inputs, params->in),
                                       out = widen(site.outputs, params->out);
  params->kernel = prepare({site.op, site.attributes, in, out});
  if (!params->kernel.run) return {};
  params->inner_workspace = workspace;
  PreparedKernel kernel;
  kernel.run = run_widened;
  kernel.workspace = workspace + params->kernel.workspace;
  kernel.params = std::move(params);
  return kernel;
}

}  // namespace espalier
