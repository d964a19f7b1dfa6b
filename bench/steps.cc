// What surrounds the arithmetic: steps of models so small that nothing else takes time. Prints a JSON line a
// path; exit 1 when a path computes nonsense. usage: bench_steps [fit|function|eager|taped [STEPS]]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "espalier/espalier.h"

using namespace espalier;

namespace {

constexpr int kBatch = 2, kBatches = 32;

Tensor examples(int64_t rows) { return Generator(3).uniform({rows, 4}); }
Tensor labels(const Tensor& x) { return argmax(slice(x, {0, 0}, {x.size(0), 3}), 1); }
Sequential tiny_model() { return Sequential{Dense({.units = 4, .activation = "relu"}), Dense({.units = 3})}; }

// Each takes a number of steps and returns whether what came out makes sense.
bool run_fit(int steps) {
  const Tensor x = examples(kBatch * kBatches), y = labels(x);
  Sequential model = tiny_model();
  model.compile({.optimizer = Adam{}});
  const int epochs = std::max(1, steps / kBatches);
  const auto logs =
      model.fit(x, y, {.epochs = epochs, .batch_size = kBatch, .callbacks = {std::make_shared<Callback>()}});
  return logs.back().at("loss") <= logs.front().at("loss");
}

bool run_function(int steps) {
  const Tensor x = examples(kBatch), y = labels(x);
  Sequential model = tiny_model();
  Optimizer optimizer = Adam{};
  const auto step = function([&](const Tensor& images, const Tensor& classes) {
    const TrainingScope training(true);
    GradientTape tape;
    const Tensor loss = mean(softmax_cross_entropy(model(images), classes));
    const std::vector<Variable> weights = model.trainable_variables();
    optimizer.apply(tape.gradient(loss, weights), weights);
    return loss;
  });
  const float first = step(x, y).item<float>();
  float last = first;
  for (int i = 0; i < steps; ++i) last = step(x, y).item<float>();
  return last < first;
}

bool run_eager(int steps) {
  Tensor z = full({4, 4}, 0.1);
  const Tensor y = full({4, 4}, 0.2);
  for (int i = 0; i < steps; ++i) z = tanh(z + y);
  return std::fabs(z.data<float>()[0]) < 1;
}

bool run_taped(int steps) {
  const Tensor y = full({4, 4}, 0.2);
  float slope = 0;
  for (int i = 0; i < steps; ++i) {
    GradientTape tape;
    tape.watch(y);
    slope = tape.gradient(sum(tanh(y + y)), std::vector<Source>{y})[0].data<float>()[0];
  }
  return slope > 0 && slope < 2;
}

constexpr struct {
  std::string_view name;
  bool (*run)(int steps);
} kPaths[] = {{"fit", run_fit}, {"function", run_function}, {"eager", run_eager}, {"taped", run_taped}};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  const int steps = argc > 2 ? std::atoi(argv[2]) : 20000;
  bool known = false, sane = true;
  for (const auto& path : kPaths) {
    if (!wanted.empty() && path.name != wanted) continue;
    known = true;
    set_seed(1);
    const auto begin = std::chrono::steady_clock::now();
    const bool good = path.run(steps);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf(
        "{\"bench\": \"steps\", \"path\": \"%s\", \"steps\": %d, \"us_a_step\": %.3f, \"sane\": %s}\n",
        path.name.data(), steps, seconds * 1e6 / steps, good ? "true" : "false");
    sane = sane && good;
  }
  if (!known || steps < 1) {
    std::fprintf(stderr, "usage: bench_steps [fit|function|eager|taped [STEPS]]\n");
    return 2;
  }
  return sane ? 0 : 1;
}
