#include "espalier/initializers.h"

#include "base/find_named.h"
#include "base/format.h"
#include "espalier/array.h"

namespace espalier {
namespace initializers {

Initializer Constant(double value) {
  return [=](const Shape& shape, uint64_t) { return full(shape, value); };
}

Initializer Identity(double gain) {
  return [=](const Shape& shape, uint64_t) {
    if (shape.size() != 2)
      throw ShapeError("identity.rank", cat("an identity matrix has two axes, the shape is ", shape));
    return eye(shape[0], shape[1]) * gain;
  };
}

}  // namespace initializers

namespace {

using initializers::VarianceScaling;

struct KnownInitializer {
  const char* name;
  Initializer (*make)();
};
const KnownInitializer kKnown[] = {
    {"zeros", [] { return initializers::Constant(0); }},
    {"ones", [] { return initializers::Constant(1); }},
    {"constant", [] { return initializers::Constant(); }},
    {"identity", [] { return initializers::Identity(); }},
    {"orthogonal", [] { return initializers::Orthogonal(); }},
    {"uniform", [] { return initializers::RandomUniform(); }},
    {"random_uniform", [] { return initializers::RandomUniform(); }},
    {"normal", [] { return initializers::RandomNormal(); }},
    {"random_normal", [] { return initializers::RandomNormal(); }},
    {"truncated_normal", [] { return initializers::TruncatedNormal(); }},
    {"variance_scaling", [] { return VarianceScaling(); }},
    {"glorot_uniform",
     [] {
       return VarianceScaling({1, "fan_avg", "uniform"});
     }},
    {"glorot_normal",
     [] {
       return VarianceScaling({1, "fan_avg"});
     }},
    {"he_uniform",
     [] {
       return VarianceScaling({2, "fan_in", "uniform"});
     }},
    {"he_normal",
     [] {
       return VarianceScaling({2, "fan_in"});
     }},
    {"lecun_uniform",
     [] {
       return VarianceScaling({1, "fan_in", "uniform"});
     }},
    {"lecun_normal",
     [] {
       return VarianceScaling({1, "fan_in"});
     }},
};

}  // namespace

Initializer::Initializer(const std::string& name, Location at) {
  const CallScope scope(at);
  *this = find_named("initializer.name", "initializer", name, kKnown).make();
}

}  // namespace espalier
