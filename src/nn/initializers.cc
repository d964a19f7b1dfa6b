#include <cmath>
#include <numbers>

#include "base/format.h"
#include "base/philox.h"
#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

// Keras' fans: (input, output) of a kernel of any rank.
std::pair<double, double> fans(const Shape& shape) {
  if (shape.empty()) return {1, 1};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double field = 1;
  for (size_t i = 0; i + 2 < shape.size(); ++i) field *= static_cast<double>(shape[i]);
  return {field * static_cast<double>(shape[shape.size() - 2]), field * static_cast<double>(shape.back())};
}

template <class F>
Tensor generate(const Shape& shape, F f) {
  std::vector<float> values(static_cast<size_t>(num_elements(shape)));
  for (float& value : values) value = f();
  return Tensor::of(values, shape);
}

Initializer uniform(double scale, double (*fan)(double in, double out)) {
  return [=](const Shape& shape, uint64_t seed) {
    const auto [in, out] = fans(shape);
    const double limit = std::sqrt(3 * scale / std::max(1.0, fan(in, out)));
    Philox random(seed);
    return generate(shape, [&] { return static_cast<float>((2.0 * random.uniform() - 1) * limit); });
  };
}

// Truncated at two standard deviations, widened so that the variance is scale / fan (Keras' VarianceScaling).
Initializer normal(double scale, double (*fan)(double in, double out)) {
  return [=](const Shape& shape, uint64_t seed) {
    const auto [in, out] = fans(shape);
    const double deviation = std::sqrt(scale / std::max(1.0, fan(in, out))) / 0.87962566103423978;
    Philox random(seed);
    return generate(shape, [&] {
      for (;;) {
        const double radius = std::sqrt(-2 * std::log1p(-static_cast<double>(random.uniform())));
        const double value = radius * std::cos(2 * std::numbers::pi * random.uniform());
        if (std::abs(value) <= 2) return static_cast<float>(value * deviation);
      }
    });
  };
}

double fan_in(double in, double) { return in; }
double fan_average(double in, double out) { return (in + out) / 2; }

}  // namespace

Initializer initializer(const std::string& name, Location at) {
  const CallScope scope(at);
  if (name == "zeros") return [](const Shape& shape, uint64_t) { return full(shape, 0); };
  if (name == "ones") return [](const Shape& shape, uint64_t) { return full(shape, 1); };
  if (name == "glorot_uniform") return uniform(1, fan_average);
  if (name == "glorot_normal") return normal(1, fan_average);
  if (name == "he_uniform") return uniform(2, fan_in);
  if (name == "he_normal") return normal(2, fan_in);
  if (name == "lecun_uniform") return uniform(1, fan_in);
  if (name == "lecun_normal") return normal(1, fan_in);
  if (name == "uniform") {
    return [](const Shape& shape, uint64_t seed) {
      Philox random(seed);
      return generate(shape, [&] { return static_cast<float>((2.0 * random.uniform() - 1) * 0.05); });
    };
  }
  const std::vector<std::string> known = {"zeros",          "ones",          "uniform",
                                          "glorot_uniform", "glorot_normal", "he_uniform",
                                          "he_normal",      "lecun_uniform", "lecun_normal"};
  throw_unknown("initializer.name", "initializer", name, known);
}

}  // namespace espalier
