// Random initializers.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/format.h"
#include "base/philox.h"
#include "espalier/initializers.h"

namespace espalier::initializers {
namespace {

// Keras' fans: (input, output) of a kernel of any rank.
std::pair<double, double> fans(const Shape& shape) {
  if (shape.empty()) return {1, 1};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double field = 1;
  for (size_t i = 0; i + 2 < shape.size(); ++i) field *= static_cast<double>(shape[i]);
  return {field * static_cast<double>(shape[shape.size() - 2]), field * static_cast<double>(shape.back())};
}

double fan(const Shape& shape, const std::string& mode) {
  const auto [in, out] = fans(shape);
  return std::max(1.0, mode == "fan_in" ? in : mode == "fan_out" ? out : (in + out) / 2);
}

template <class F>
Tensor generate(const Shape& shape, F f) {
  std::vector<float> values(static_cast<size_t>(num_elements(shape)));
  for (float& value : values) value = f();
  return Tensor::of(values, shape);
}

double draw_normal(Philox& random) {
  const double radius = std::sqrt(-2 * std::log1p(-static_cast<double>(random.uniform())));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

Tensor uniform(const Shape& shape, uint64_t seed, double center, double reach) {
  Philox random(seed);
  return generate(shape, [&] { return static_cast<float>(center + (2.0 * random.uniform() - 1) * reach); });
}

Tensor normal(const Shape& shape, uint64_t seed, double mean, double deviation) {
  Philox random(seed);
  return generate(shape, [&] { return static_cast<float>(mean + draw_normal(random) * deviation); });
}

// Of the standard normal distribution without what lies beyond two deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

Tensor truncated(const Shape& shape, uint64_t seed, double mean, double deviation) {
  Philox random(seed);
  return generate(shape, [&] {
    for (;;) {
      const double value = draw_normal(random);
      if (std::abs(value) <= 2) return static_cast<float>(mean + value * deviation);
    }
  });
}

// Makes the vectors of `length` elements orthonormal, one after the other (Gram and Schmidt).
void orthonormalize(std::vector<double>& vectors, size_t length) {
  for (size_t i = 0; i < vectors.size(); i += length) {
    double* const own = &vectors[i];
    for (size_t j = 0; j < i; j += length) {
      const double* const other = &vectors[j];
      double product = 0;
      for (size_t k = 0; k < length; ++k) product += own[k] * other[k];
      for (size_t k = 0; k < length; ++k) own[k] -= product * other[k];
    }
    double squares = 0;
    for (size_t k = 0; k < length; ++k) squares += own[k] * own[k];
    for (size_t k = 0; k < length; ++k) own[k] /= std::sqrt(squares);
  }
}

void require_moments(const char* name, const RandomNormalOptions& o) {
  if (!std::isfinite(o.mean)) throw ValueError(cat(name, ".mean"), cat("mean must be finite, got ", o.mean));
  if (!(o.stddev >= 0 && std::isfinite(o.stddev)))
    throw ValueError(cat(name, ".stddev"), cat("stddev must be finite and not negative, got ", o.stddev));
}

void require_known(const char* option, const std::string& word, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) == known.end())
    throw_unknown(cat("variance_scaling.", option), option, word, known);
}

}  // namespace

Initializer Orthogonal(double gain) {
  return [=](const Shape& shape, uint64_t seed) {
    if (shape.size() < 2)
      throw ShapeError("orthogonal.rank", cat("takes at least two axes, the shape is ", shape));
    const auto columns = static_cast<size_t>(shape.back());
    const size_t rows = columns ? static_cast<size_t>(num_elements(shape)) / columns : 0;
    const size_t length = std::max(rows, columns);
    Philox random(seed);
    std::vector<double> vectors(rows * columns);
    for (double& value : vectors) value = draw_normal(random);
    orthonormalize(vectors, length);
    std::vector<float> values(vectors.size());
    for (size_t i = 0; i < vectors.size(); ++i) {
      const size_t at = rows > columns ? i % length * columns + i / length : i;
      values[at] = static_cast<float>(gain * vectors[i]);
    }
    return Tensor::of(values, shape);
  };
}

Initializer RandomUniform(RandomUniformOptions o, Location at) {
  const CallScope scope(at);
  if (!(std::isfinite(o.minval) && std::isfinite(o.maxval) && o.minval <= o.maxval)) {
    throw ValueError("random_uniform.range", cat("minval must be at most maxval, both finite: minval ",
                                                 o.minval, ", maxval ", o.maxval));
  }
  return [=](const Shape& shape, uint64_t seed) {
    return uniform(shape, seed, (o.minval + o.maxval) / 2, (o.maxval - o.minval) / 2);
  };
}

Initializer RandomNormal(RandomNormalOptions o, Location at) {
  const CallScope scope(at);
  require_moments("random_normal", o);
  return [=](const Shape& shape, uint64_t seed) { return normal(shape, seed, o.mean, o.stddev); };
}

Initializer TruncatedNormal(RandomNormalOptions o, Location at) {
  const CallScope scope(at);
  require_moments("truncated_normal", o);
  return [=](const Shape& shape, uint64_t seed) { return truncated(shape, seed, o.mean, o.stddev); };
}

Initializer VarianceScaling(VarianceScalingOptions o, Location at) {
  const CallScope scope(at);
  if (!(o.scale > 0 && std::isfinite(o.scale)))
    throw ValueError("variance_scaling.scale", cat("scale must be positive and finite, got ", o.scale));
  require_known("mode", o.mode, {"fan_in", "fan_out", "fan_avg"});
  require_known("distribution", o.distribution, {"truncated_normal", "untruncated_normal", "uniform"});
  return [=](const Shape& shape, uint64_t seed) {
    const double n = fan(shape, o.mode), deviation = std::sqrt(o.scale / n);
    if (o.distribution == "uniform") return uniform(shape, seed, 0, std::sqrt(3 * o.scale / n));
    return o.distribution == "truncated_normal" ? truncated(shape, seed, 0, deviation / kTruncatedDeviation)
                                                : normal(shape, seed, 0, deviation);
  };
}

}  // namespace espalier::initializers
