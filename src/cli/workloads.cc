#include "cli/workloads.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/format.h"
#include "cli/workload_models.h"
#include "espalier/espalier.h"
#include "passes/pass.h"
#include "runtime/executable.h"

namespace espalier::cli {
namespace {

constexpr int64_t kBatch = WorkloadBatches::kImages, kBatches = WorkloadBatches::kCount,
                  kClasses = WorkloadBatches::kClasses;

// Batches that follow each other in memory-sized rotation, so that no step finds its input in a cache.
struct Batches : WorkloadBatches {
  int64_t at = 0;
  float first_again = -1;  // the loss of the first batch in the second round
};

// What is trained: logits of inputs, and their weights once they were computed.
struct Trained {
  std::function<Tensor(const Tensor&)> logits;
  std::function<std::vector<Variable>()> weights;
};
template <class AnyModel>
Trained trained(AnyModel model) {
  return {[model](const Tensor& x) mutable { return model(x); },
          [model] { return model.trainable_variables(); }};
}

// A train step written out, as peers do: forward, loss in f32, backward, Adam.
auto train_step(const Trained& model, const Optimizer& with) {
  return function([model, optimizer = with](const Tensor& x, const Tensor& y) mutable {
    const TrainingScope training(true);
    GradientTape tape;
    const Tensor loss = mean(softmax_cross_entropy(convert(model.logits(x), DType::kF32), y));
    const std::vector<Variable> weights = model.weights();
    optimizer.apply(tape.gradient(loss, weights), weights);
    return loss;
  });
}

Prepared training(const Trained& model, const Adam& options, WorkloadBatches rows, double amount,
                  double flops) {
  auto batches = std::make_shared<Batches>(Batches{std::move(rows)});
  auto losses = std::make_shared<std::vector<float>>();
  const Optimizer optimizer(options);
  const auto run = [batches, step = train_step(model, optimizer), losses] {
    const auto i = static_cast<size_t>(batches->at++ % kBatches);
    const Tensor loss = step(batches->x[i], batches->y[i]);
    if (batches->at == kBatches + 1) batches->first_again = loss.item<float>();
    if (losses->size() < 64 || batches->at % 64 == 0) losses->push_back(loss.item<float>());
  };
  const auto check = [losses, batches] {
    const size_t some = std::min<size_t>(losses->size(), 16);
    const auto mean = [&](auto begin) {
      return std::accumulate(begin, begin + static_cast<ptrdiff_t>(some), 0.0) / static_cast<double>(some);
    };
    const double first = mean(losses->begin()), last = mean(losses->end() - static_cast<ptrdiff_t>(some));
    // A few steps on noise may go either way; a step that computes nonsense goes far, one that does nothing
    // repeats itself.
    if (!(last <= 1.05 * first)) throw InternalError(cat("the loss went from ", first, " to ", last));
    if (batches->at > kBatches && losses->size() > 1 && batches->first_again == losses->front())
      throw InternalError("a batch has the same loss as an epoch before: nothing is learned");
  };
  const auto state = [model, optimizer] {
    std::vector<Variable> all = model.weights();
    for (const Variable& variable : optimizer.variables()) all.push_back(variable);
    return all;
  };
  return {run, check, amount, flops, nullptr, state};
}

Prepared mlp(DTypePolicy dtype) {
  set_seed(1);
  return training(trained(mlp_model(dtype)), {}, image_batches({784}), kBatch,
                  // forward, weight gradients, and the input gradient of the second layer
                  2.0 * kBatch * (2 * 784 * 128 + 3 * 128 * kClasses));
}

Prepared cnn(DTypePolicy dtype) {
  set_seed(1);
  const double first = 26.0 * 26 * 9 * 32, second = 11.0 * 11 * 9 * 32 * 64, dense = 1600.0 * kClasses;
  return training(trained(cnn_model(dtype)), {}, image_batches({28, 28, 1}), kBatch,
                  2.0 * kBatch * (2 * first + 3 * second + 3 * dense));
}

Prepared char_gpt(DTypePolicy) {
  set_seed(1);
  using G = CharGptModel;
  const double products = G::kLayers * (12.0 * G::kWidth * G::kWidth + 2.0 * G::kContext * G::kWidth) +
                          double{G::kWidth} * G::kVocabulary;
  const double tokens = G::kRows * G::kContext;
  return training(trained(G()), G::kAdam, text_batches(), tokens, 3 * 2 * tokens * products);
}

Prepared char_gpt_compile(DTypePolicy) {
  set_seed(1);
  const auto step = train_step(trained(CharGptModel()), Optimizer(CharGptModel::kAdam));
  const WorkloadBatches batches = text_batches();
  step(batches.x[0], batches.y[0]);  // makes the optimizer's variables
  auto plan = std::make_shared<std::shared_ptr<const Executable>>();
  return {[=] {
            *plan = compile(optimize(step.graph(std::vector<Tensor>{batches.x[0], batches.y[0]})));
          },
          [plan] {
            if ((*plan)->step_count() == 0) throw InternalError("the plan has no steps");
          },
          1, 0};
}

constexpr int64_t kFitRows = 8192;
Prepared mlp_fit(DTypePolicy dtype) {
  set_seed(1);
  Generator random(7);
  const Tensor x = random.uniform({kFitRows, 784}), y = argmax(slice(x, {0, 0}, {kFitRows, kClasses}), 1);
  Sequential model = mlp_model(dtype);
  model.compile({.optimizer = Adam{}});
  auto loss = std::make_shared<std::vector<double>>();
  return {[=]() mutable {
            loss->push_back(model.fit(x, y, {.epochs = 1, .batch_size = kBatch}).back().at("loss"));
          },
          [loss] {
            if (!(loss->back() <= loss->front()))
              throw InternalError(cat("the loss went from ", loss->front(), " to ", loss->back()));
          },
          kFitRows, 2.0 * kFitRows * (2 * 784 * 128 + 3 * 128 * kClasses)};
}

// What fit adds to a step: its epochs of rows shuffled and gathered, metrics and callbacks, less as many bare
// steps, in turn.
Prepared mlp_fit_over_step(DTypePolicy dtype) {
  const Prepared fit = mlp_fit(dtype), bare = mlp(dtype);
  const int64_t steps = kFitRows / kBatch;
  const auto check = [=] {
    fit.check();
    bare.check();
  };
  const auto run_bare = [=] {
    for (int64_t i = 0; i < steps; ++i) bare.step();
  };
  return {fit.step, check, static_cast<double>(steps), 0, run_bare};
}

// relu(x . kernel + bias) . kernel + bias in f64, for one example.
std::vector<double> mlp_outputs(const std::vector<Variable>& weights, const Tensor& x) {
  const auto image = x.data<float>();
  std::vector<double> now(image.begin(), image.end());
  for (size_t layer = 0; layer < 2; ++layer) {
    const Tensor kernel = weights[2 * layer].read(), bias = weights[2 * layer + 1].read();
    const auto k = kernel.data<float>(), b = bias.data<float>();
    std::vector<double> next(b.begin(), b.end());
    for (size_t i = 0; i < now.size(); ++i) {
      for (size_t j = 0; j < next.size(); ++j) next[j] += now[i] * double{k[i * next.size() + j]};
    }
    if (layer == 0)
      std::for_each(next.begin(), next.end(), [](double& value) { value = std::max(value, 0.0); });
    now = std::move(next);
  }
  return now;
}

Prepared mlp_infer1(DTypePolicy dtype) {
  set_seed(1);
  Sequential model = mlp_model(dtype);
  auto forward = function([model](const Tensor& x) mutable { return model(x); });
  auto inputs = std::make_shared<std::vector<Tensor>>();
  Generator random(7);
  for (int i = 0; i < kBatches; ++i) inputs->push_back(random.uniform({1, 784}));
  auto at = std::make_shared<size_t>(0);
  auto last = std::make_shared<Tensor>();
  return {[=] { *last = forward((*inputs)[(*at)++ % inputs->size()]); },
          [=]() mutable {
            // A bf16 output below 1 is rounded by up to 2^-9; so are inputs, weights and what lies between.
            const double tolerance = dtype.compute_dtype() == DType::kBF16 ? 0x1p-6 : 1e-5;
            const std::vector<float> got = convert(*last, DType::kF32).to_vector<float>();
            const std::vector<double> wanted =
                mlp_outputs(model.variables(), (*inputs)[(*at - 1) % inputs->size()]);
            for (size_t i = 0; i < got.size(); ++i) {
              if (!(std::fabs(double{got[i]} - wanted[i]) <= tolerance))
                throw InternalError(cat("output ", i, " is ", got[i], ", in f64 ", wanted[i]));
            }
          },
          1, 2.0 * (784 * 128 + 128 * kClasses)};
}

constexpr int64_t kParameters = 50'000'000;
Prepared adam_update(DTypePolicy) {
  Generator random(7);
  auto w = std::make_shared<Variable>(random.normal({kParameters}), VariableOptions{.name = "w"});
  const Tensor gradient = random.normal({kParameters});
  auto optimizer = std::make_shared<Optimizer>(Adam{});
  const float before = w->read().data<float>()[0], slope = gradient.data<float>()[0];
  auto step = function([=](const Tensor& g) {
    optimizer->apply({g}, {*w});
    return Tensor::scalar(0.0f);
  });
  return {[=] { step(gradient); },
          [=] {
            // Each step of a constant gradient moves a weight against its sign.
            if (!((w->read().data<float>()[0] - before) * slope < 0))
              throw InternalError("Adam moved the wrong way");
          },
          28e-9 * kParameters, 0};
}

Prepared gemm(DTypePolicy dtype) {
  constexpr int64_t kSize = 1024;
  const bool low = dtype.compute_dtype() == DType::kBF16;
  Generator random(7);
  const auto matrix = [&] {
    const Tensor exact = random.normal({kSize, kSize});
    return low ? convert(exact, DType::kBF16) : exact;
  };
  const Tensor a = matrix(), b = matrix();
  auto product = function([b](const Tensor& x) { return matmul(x, b); });
  auto last = std::make_shared<Tensor>();
  return {[=] { *last = product(a); },
          [=] {
            const auto at = [](const Tensor& x, int64_t i, int64_t j) {
              return double{convert(slice(x, {i, j}, {i + 1, j + 1}), DType::kF32).item<float>()};
            };
            double wanted = 0;
            for (int64_t k = 0; k < kSize; ++k) wanted += at(a, 3, k) * at(b, k, 5);
            const double got = at(*last, 3, 5), room = low ? 0x1p-8 * std::fabs(wanted) + 1e-3 : 1e-3;
            if (std::fabs(got - wanted) > room)
              throw InternalError(cat("element (3, 5) is ", got, ", should be ", wanted));
          },
          2e-9 * kSize * kSize * kSize, 2.0 * kSize * kSize * kSize};
}

// z = tanh(z + y): what surrounds one small op.
constexpr int kChain = 100;
Tensor chain(Tensor z, const Tensor& y) {
  for (int i = 0; i < kChain / 2; ++i) z = tanh(z + y);
  return z;
}
void check_chain(const Tensor& z) {
  if (!(std::fabs(z.data<float>()[0]) < 1)) throw InternalError("tanh left (-1, 1)");
}

Prepared op_eager(DTypePolicy) {
  const Tensor z = full({16, 16}, 0.1), y = full({16, 16}, 0.2);
  auto last = std::make_shared<Tensor>();
  return {[=] { *last = chain(z, y); }, [=] { check_chain(*last); }, kChain, 0};
}
Prepared op_taped(DTypePolicy) {
  const Tensor z = full({16, 16}, 0.1), y = full({16, 16}, 0.2);
  auto last = std::make_shared<Tensor>();
  return {[=] {
            GradientTape tape;
            tape.watch(z);
            tape.watch(y);
            *last = tape.gradient(sum(chain(z, y)), std::vector<Source>{z, y})[0];
          },
          [=] { check_chain(*last); }, kChain, 0};
}
Prepared op_traced(DTypePolicy) {
  const Tensor z = full({16, 16}, 0.1), y = full({16, 16}, 0.2);
  auto last = std::make_shared<Tensor>();
  auto traced = function(chain);
  return {[=] { *last = traced(z, y); }, [=] { check_chain(*last); }, kChain, 0};
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all{
      {"mlp", "ex/s", "784-128-10, Adam, batch 64: one train step", true, mlp},
      {"mlp_fit", "ex/s", "the same through fit, rows shuffled, metrics on", true, mlp_fit},
      {"mlp_fit_over_step", "us", "what a step through fit takes longer than a bare one, in turn", true,
       mlp_fit_over_step},
      {"mlp_infer1", "calls/s", "the same, one example forward", true, mlp_infer1},
      {"cnn", "ex/s", "conv 3x3x32, pool, conv 3x3x64, pool, dense; 28x28, Adam, batch 64", true, cnn},
      {"char_gpt", "tok/s", "transformer of 4 layers, width 128, context 64, AdamW, batch 12: one train step",
       false, char_gpt},
      {"char_gpt_compile", "ms", "tracing, optimising and planning that step", false, char_gpt_compile},
      {"adam", "GB/s", "one Adam update of 50 million parameters, 28 bytes each", false, adam_update,
       16 * kParameters},
      {"gemm", "GF/s", "product of 1024 cubed, the right factor packed ahead", true, gemm},
      {"op_eager", "us", "one small op, eager", false, op_eager},
      {"op_taped", "us", "one small op, on a tape, with its gradient", false, op_taped},
      {"op_traced", "us", "one small op, in a traced function", false, op_traced},
  };
  return all;
}

}  // namespace espalier::cli
