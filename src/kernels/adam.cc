#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "ir/attribute_reader.h"
#include "ir/literal.h"
#include "kernels/kernels.h"
#include "kernels/loops.h"

namespace espalier {
namespace {

// Elements of a chunk, about: enough that a helper is worth calling; more of a large array, which is read in
// order as long as possible. An even number of chunks, so that two threads meet where they met in the product
// that made the gradient.
constexpr int64_t kAdamChunk = 1 << 13, kLargestChunk = 1 << 17, kChunks = 64;

struct AdamParams {
  int64_t elements = 0;
  DType step = DType::kI64;
  double beta_1 = 0, beta_2 = 0;
  float epsilon = 0, weight_decay = 0;
};

// T: of the gradient.
template <class T>
void run_adam(const KernelCall& call) {
  const auto& p = *static_cast<const AdamParams*>(call.params);
  const auto in = [&](size_t i) { return static_cast<const float*>(call.in[i]); };
  const auto out = [&](size_t i) { return static_cast<float*>(call.out[i]); };
  if (!*static_cast<const bool*>(call.in[7])) {
    for (size_t i = 0; i < 3; ++i) {
      if (in(i) != out(i)) std::memcpy(out(i), in(i), static_cast<size_t>(p.elements) * sizeof(float));
    }
    return;
  }
  const float rate = *in(4), step = static_cast<float>(load_scalar(p.step, call.in[5]));
  const auto one_minus_power = [&](double beta) {
    return -std::expm1(step * static_cast<float>(std::log(beta)));
  };
  const AdamStep s{rate * std::sqrt(one_minus_power(p.beta_2)) / one_minus_power(p.beta_1),
                   rate * p.weight_decay,
                   p.epsilon,
                   static_cast<float>(1 - p.beta_1),
                   static_cast<float>(1 - p.beta_2),
                   *in(6)};
  const auto* gradient = static_cast<const T*>(call.in[kAdamGradient]);
  const auto loop = loop_table().of<T>().adam;
  const int64_t wanted = chunk_work(std::clamp(p.elements / kChunks, kAdamChunk, kLargestChunk));
  const int64_t pairs = (p.elements + 2 * wanted - 1) / (2 * wanted);
  const int64_t size = p.elements > wanted ? (p.elements + 2 * pairs - 1) / (2 * pairs) : wanted;
  call.pool().parallel_for((p.elements + size - 1) / size, [&](int64_t chunk) {
    const int64_t i = chunk * size, n = std::min(size, p.elements - i);
    loop(s, in(0) + i, in(1) + i, in(2) + i, gradient + i, out(0) + i, out(1) + i, out(2) + i, n);
  });
}

}  // namespace

PreparedKernel prepare_adam(const KernelSite& site) {
  const DType gradient = site.inputs[kAdamGradient]->dtype;
  if (gradient != DType::kF32 && gradient != DType::kBF16 && gradient != DType::kF16) return {};
  auto params = std::make_shared<AdamParams>();
  params->elements = site.outputs[0]->elements();
  params->step = site.inputs[5]->dtype;
  params->beta_1 = read_real(site.attributes, "beta_1");
  params->beta_2 = read_real(site.attributes, "beta_2");
  params->epsilon = static_cast<float>(read_real(site.attributes, "epsilon"));
  params->weight_decay = static_cast<float>(read_real(site.attributes, "weight_decay"));
  const auto run = gradient == DType::kF32    ? run_adam<float>
                   : gradient == DType::kBF16 ? run_adam<Bf16>
                                              : run_adam<F16>;
  return {run, std::move(params), 0, 3};
}

}  // namespace espalier
