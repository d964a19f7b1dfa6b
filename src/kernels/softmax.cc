#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "ir/attribute_reader.h"
#include "ir/dispatch.h"
#include "kernels/kernels.h"
#include "kernels/loops.h"

namespace espalier {
namespace {

constexpr int64_t kSoftmaxParallelElements = 1 << 14;
// Elements of the rows that are done together: they stay in the first cache between two loops.
constexpr int64_t kBlock = 2048;

struct RowsParams {
  int64_t rows = 0, length = 0;
  DType labels = DType::kI32;
  const LoopTable* loops = nullptr;

  int64_t rows_of_block() const {
    return std::clamp<int64_t>(kBlock / std::max<int64_t>(length, 1), 1, kBlock);
  }
};

// Calls body(first row, rows) for blocks of rows, on all threads where that pays.
template <class Body>
void for_blocks(ThreadPool& pool, const RowsParams& p, Body body) {
  const int64_t step = p.rows_of_block(), blocks = (p.rows + step - 1) / step;
  const auto one = [&](int64_t block) { body(block * step, std::min(step, p.rows - block * step)); };
  for_each_chunk(pool, blocks, p.rows * p.length >= chunk_work(kSoftmaxParallelElements), one);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The powers of rows whose largest is inf: 1 for each inf, where the loops took inf - inf, and 0 for the
// rest.
void mend_infinite(const float* top, float* powers, int64_t rows, int64_t length) {
  for (int64_t i = 0; i < rows; ++i, powers += length) {
    if (top[i] != kInfinity) continue;
    for (int64_t k = 0; k < length; ++k) powers[k] = std::isnan(powers[k]) ? 1.0F : 0.0F;
  }
}

// The softmax of some rows, into `out`.
void softmax_rows(const RowsParams& p, const float* x, float* out, int64_t rows) {
  float top[kBlock], sum[kBlock];
  p.loops->max_rows(x, top, rows, p.length, -kInfinity);
  p.loops->exp_below(x, top, out, rows, p.length);
  mend_infinite(top, out, rows, p.length);
  p.loops->sum_rows(out, sum, rows, p.length, 0);
  p.loops->divide_rows(out, sum, rows, p.length);
}

void run_softmax(const KernelCall& call) {
  const auto& p = *static_cast<const RowsParams*>(call.params);
  for_blocks(call.pool(), p, [&](int64_t first, int64_t rows) {
    softmax_rows(p, static_cast<const float*>(call.in[0]) + first * p.length,
                 static_cast<float*>(call.out[0]) + first * p.length, rows);
  });
}

// Calls f(row, label, whether it is a class) for some rows.
template <class F>
void for_labels(const RowsParams& p, const void* labels, int64_t first, int64_t rows, F f) {
  visit_integral(p.labels, [&](auto tag) {
    using L = typename decltype(tag)::type;
    const L* own = static_cast<const L*>(labels) + first;
    for (int64_t i = 0; i < rows; ++i) {
      const auto label = static_cast<int64_t>(own[i]);
      f(i, label, label >= 0 && label < p.length);
    }
  });
}

void run_cross_entropy(const KernelCall& call) {
  const auto& p = *static_cast<const RowsParams*>(call.params);
  for_blocks(call.pool(), p, [&](int64_t first, int64_t rows) {
    const float* x = static_cast<const float*>(call.in[0]) + first * p.length;
    float* out = static_cast<float*>(call.out[0]) + first;
    float top[kBlock], powers[kBlock], part[kBlock];
    double sum[kBlock];
    std::fill_n(sum, rows, 0.0);
    p.loops->max_rows(x, top, rows, p.length, -kInfinity);
    // A row longer than a block comes alone, piece by piece.
    for (int64_t at = 0; at < p.length; at += kBlock) {
      const int64_t length = rows > 1 ? p.length : std::min(kBlock, p.length - at);
      p.loops->exp_below(x + at, top, powers, rows, length);
      mend_infinite(top, powers, rows, length);
      p.loops->sum_rows(powers, part, rows, length, 0);
      for (int64_t i = 0; i < rows; ++i) sum[i] += part[i];
    }
    for_labels(p, call.in[1], first, rows, [&](int64_t i, int64_t label, bool valid) {
      if (!valid) {
        out[i] = std::numeric_limits<float>::quiet_NaN();
        return;
      }
      const float own = x[i * p.length + label];
      out[i] = std::log(static_cast<float>(sum[i])) - (own == kInfinity ? 0 : own - top[i]);
    });
  });
}

void run_cross_entropy_gradient(const KernelCall& call) {
  const auto& p = *static_cast<const RowsParams*>(call.params);
  for_blocks(call.pool(), p, [&](int64_t first, int64_t rows) {
    const float* cotangent = static_cast<const float*>(call.in[2]) + first;
    float* out = static_cast<float*>(call.out[0]) + first * p.length;
    float weight[kBlock];
    softmax_rows(p, static_cast<const float*>(call.in[0]) + first * p.length, out, rows);
    for_labels(p, call.in[1], first, rows, [&](int64_t i, int64_t label, bool valid) {
      weight[i] = valid ? cotangent[i] : std::numeric_limits<float>::quiet_NaN();
      if (valid) out[i * p.length + label] -= 1;
    });
    p.loops->multiply_rows(out, weight, rows, p.length);
  });
}

PreparedKernel prepare(void (*run)(const KernelCall&), const KernelSite& site, int64_t length) {
  auto params = std::make_shared<RowsParams>();
  params->length = length;
  params->rows = length ? site.inputs[0]->elements() / length : 0;
  if (site.inputs.size() > 1) params->labels = site.inputs[1]->dtype;
  params->loops = &loop_table();
  return {run, std::move(params), 0, 0};
}

}  // namespace

PreparedKernel prepare_softmax(const KernelSite& site) {
  const Shape& shape = site.inputs[0]->shape;
  const auto axis = static_cast<size_t>(read_integer(site.attributes, "axis"));
  for (size_t i = axis + 1; i < shape.size(); ++i) {
    if (shape[i] != 1) return {};
  }
  return prepare(run_softmax, site, shape[axis]);
}

PreparedKernel prepare_softmax_cross_entropy(const KernelSite& site) {
  // Without classes every label is wrong, which the reference body says.
  const int64_t classes = site.inputs[0]->shape.back();
  return classes ? prepare(run_cross_entropy, site, classes) : PreparedKernel{};
}

PreparedKernel prepare_softmax_cross_entropy_gradient(const KernelSite& site) {
  return prepare(run_cross_entropy_gradient, site, site.inputs[0]->shape.back());
}

}  // namespace espalier
