#include <algorithm>
#include <bit>
#include <limits>

#include "base/thread_pool.h"
#include "ir/attribute_reader.h"
#include "ir/dispatch.h"
#include "kernels/kernels.h"

namespace espalier {
namespace {

constexpr int64_t kArgmaxParallelElements = 1 << 16;
constexpr int64_t kArgmaxChunkElements = 1 << 14;
// An index and a rank share 64 bits.
constexpr int64_t kMostIndices = 0xffffffff;

struct ArgmaxParams {
  int64_t rows = 0, length = 0;
  DType index = DType::kI32;
};

// Integers in the order of numbers, without branches, which random numbers would mislead: zeros are equal,
// NaN is larger than every number.
int64_t rank(float x) {
  const auto bits = std::bit_cast<int32_t>(x + 0.0f);
  const int32_t ordered = bits ^ (bits >> 31 & 0x7fffffff);
  return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : ordered;
}

// The first of the largest: of equal ranks the one with the least index.
int64_t largest(const float* x, int64_t length) {
  int64_t best = std::numeric_limits<int64_t>::min();
  for (int64_t i = 0; i < length; ++i)
    best = std::max(best, rank(x[i]) * (kMostIndices + 1) + (kMostIndices - i));
  return kMostIndices - (best & kMostIndices);
}

void run_argmax(const KernelCall& call) {
  const auto& p = *static_cast<const ArgmaxParams*>(call.params);
  const auto* x = static_cast<const float*>(call.in[0]);
  visit_integral(p.index, [&](auto tag) {
    using I = typename decltype(tag)::type;
    I* out = static_cast<I*>(call.out[0]);
    const int64_t step = std::max<int64_t>(chunk_work(kArgmaxChunkElements) / p.length, 1);
    const bool parallel = p.rows * p.length >= chunk_work(kArgmaxParallelElements);
    for_each_chunk(call.pool(), (p.rows + step - 1) / step, parallel, [&](int64_t i) {
      for (int64_t row = i * step; row < std::min((i + 1) * step, p.rows); ++row)
        out[row] = static_cast<I>(largest(x + row * p.length, p.length));
    });
  });
}

}  // namespace

PreparedKernel prepare_argmax(const KernelSite& site) {
  const Shape& shape = site.inputs[0]->shape;
  const auto axis = static_cast<size_t>(read_integer(site.attributes, "axis"));
  for (size_t i = axis + 1; i < shape.size(); ++i) {
    if (shape[i] != 1) return {};
  }
  if (shape[axis] > kMostIndices) return {};
  auto params = std::make_shared<ArgmaxParams>();
  params->length = shape[axis];
  params->rows = site.inputs[0]->elements() / shape[axis];
  params->index = site.outputs[0]->dtype;
  return {run_argmax, std::move(params), 0, 0};
}

}  // namespace espalier
