#include "eager/trace.h"
#include "espalier/ops.h"
#include "espalier/random.h"

namespace espalier {
namespace {

Variable state(uint64_t value, const char* name) {
  EagerScope eager;
  return Variable(Tensor::scalar(value), {.name = name, .trainable = false});
}

}  // namespace

Generator::Generator(uint64_t seed) : key_(state(seed, "random/key")), step_(state(0, "random/step")) {}

Tensor Generator::next_step() {
  const Tensor step = step_.read();
  step_.assign(step + 1);
  return step;
}

void Generator::reset(uint64_t seed) {
  key_.assign(Tensor::scalar(seed));
  step_.assign(Tensor::scalar(uint64_t{0}));
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

}  // namespace espalier
