#include "eager/generator.h"

#include "base/format.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "espalier/run_context.h"

namespace espalier {
namespace {

constexpr const char *kKey = "random/key", *kStep = "random/step";

Variable state(uint64_t value, const char* name) {
  EagerScope eager;
  return Variable(Tensor::scalar(value), {.name = name, .trainable = false});
}

// What a device has written comes back: eager draws are made where the numbers are used.
Tensor state_of(const Variable& variable) {
  const Tensor value = variable.read();
  return value.concrete() && value.node()->remote() ? make_concrete(value.node()->dense()) : value;
}

}  // namespace

bool is_random_state(const Variable& variable) {
  const std::string path = cat("/", variable.path());
  return !variable.trainable() && (path.ends_with(cat("/", kKey)) || path.ends_with(cat("/", kStep)));
}

Generator::Generator(uint64_t seed) : key_(state(seed, kKey)), step_(state(0, kStep)) {}

Generator::Generator(Variable key, Variable step, Location at)
    : key_(std::move(key)), step_(std::move(step)) {
  const CallScope scope(at);
  const TensorType wanted{DType::kU64, {}};
  if (key_.type() != wanted || step_.type() != wanted)
    throw ValueError("generator.state",
                     cat("key and step must be ", wanted, ", they are ", key_.type(), " and ", step_.type()));
}

Tensor Generator::key() const { return state_of(key_); }

Tensor Generator::next_step() {
  const Tensor step = state_of(step_);
  step_.assign(step + 1);
  return step;
}

Tensor Generator::uniform(const Shape& shape, double low, double high, DType dtype, Location at) {
  CallScope scope(at);
  return random_uniform(shape, key(), next_step(), low, high, dtype);
}
Tensor Generator::normal(const Shape& shape, double mean, double deviation, DType dtype, Location at) {
  CallScope scope(at);
  return random_normal(shape, key(), next_step(), mean, deviation, dtype);
}
Tensor Generator::truncated_normal(const Shape& shape, double mean, double deviation, DType dtype,
                                   Location at) {
  CallScope scope(at);
  return espalier::truncated_normal(shape, key(), next_step(), mean, deviation, dtype);
}
Tensor Generator::integers(const Shape& shape, int64_t low, int64_t high, DType dtype, Location at) {
  CallScope scope(at);
  return random_integers(shape, key(), next_step(), low, high, dtype);
}
Tensor Generator::categorical(Operand logits, int64_t count) {
  CallScope scope(logits.at());
  return random_categorical(std::move(logits), count, key(), next_step());
}
Tensor Generator::permutation(int64_t n, Location at) {
  CallScope scope(at);
  return random_permutation(n, key(), next_step());
}
Tensor Generator::shuffle(Operand x, int64_t axis) {
  CallScope scope(x.at());
  return espalier::shuffle(std::move(x), key(), next_step(), axis);
}

void Generator::reset(uint64_t seed) {
  key_.assign(Tensor::scalar(seed));
  step_.assign(Tensor::scalar(uint64_t{0}));
}

Generator& default_generator() {
  const RunContext& context = RunContext::current();
  Trace::depend_on(context);
  return context.part<Generator>([](const RunContext& context) {
    auto generator = std::make_shared<Generator>(context.seed);
    // Whoever draws first makes it, in whatever scope of names.
    generator->key_variable().state()->path = kKey;
    generator->step_variable().state()->path = kStep;
    return generator;
  });
}
Tensor random_uniform(const Shape& shape, Location at) {
  return default_generator().uniform(shape, 0, 1, DType::kF32, at);
}
Tensor random_normal(const Shape& shape, Location at) {
  return default_generator().normal(shape, 0, 1, DType::kF32, at);
}

}  // namespace espalier
