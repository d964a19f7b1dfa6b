// Whatever draws random numbers, in each way to be called, and in each place that has a part of the batch.
#pragma once

#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "espalier/control.h"
#include "espalier/transforms.h"
#include "strategy/loops_test.h"

namespace espalier {

// A tensor of x's shape, by numbers that it draws for x.
using Draw = std::function<Tensor(const Tensor& x)>;
// Makes one in the scope of a strategy, with the seed of its loop.
using MakeDraw = std::function<Draw()>;

// A way in which a function of run() on x, f32[rows, steps, features], has numbers drawn. It gives a tensor
// of rows.
struct WayToDraw {
  const char* name;
  std::function<Tensor(const Draw& draw, const Tensor& x)> call;
};

inline Tensor swapped(const Tensor& x) { return transpose(x, {1, 0, 2}); }
inline Tensor sum_of(const Tensor& x) {
  Dims axes = Dims::filled(x.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  return reduce_sum(x, axes);
}

inline const std::vector<WayToDraw>& ways_to_draw() {
  static const std::vector<WayToDraw> out{
      {"for rows", [](const Draw& draw, const Tensor& x) { return draw(x); }},
      {"with steps first, and the batch second",
       [](const Draw& draw, const Tensor& x) { return swapped(draw(swapped(x))); }},
      {"with the batch last",
       [](const Draw& draw, const Tensor& x) {
         return transpose(draw(transpose(x, {1, 2, 0})), {2, 0, 1});
       }},
      // A kernel of as many rows as two batches, as all shards and as replicas have, too.
      {"for a kernel and rows",
       [](const Draw& draw, const Tensor& x) {
         const Tensor kernel = iota({DType::kF32, {24, x.size(2)}}, 0) + 1;
         const Tensor noise = reduce_sum(draw(kernel), {0});
         return draw(x) + x * noise;
       }},
      {"under vmap", [](const Draw& draw, const Tensor& x) { return vmap(draw)(x)[0]; }},
      {"under vmap of another axis",
       [](const Draw& draw, const Tensor& x) { return vmap(draw, {.in_axes = {1}, .out_axes = {1}})(x)[0]; }},
      {"in a scan",
       [](const Draw& draw, const Tensor& x) {
         return scan(
                    [&](std::span<const Tensor> carry, std::span<const Tensor>) -> ScanResult {
                      return {{draw(carry[0]) + carry[0]}, {}};
                    },
                    {x}, {}, {.length = 3})
             .carry[0];
       }},
      {"in a scan over steps",
       [](const Draw& draw, const Tensor& x) {
         const auto step = [&](const Tensor& carry, const Tensor& of_step) {
           const Tensor next = carry + draw(of_step);
           return std::pair(next, next);
         };
         return swapped(scan(step, zeros({x.size(0), x.size(2)}), swapped(x)).second);
       }},
      {"under checkpoint, differentiated", [](const Draw& draw, const Tensor& x) {
         const TensorFunction once = checkpoint([&](const Tensor& in) { return draw(in) * in * in; });
         return grad([&](const Tensor& in) { return sum_of(once(in)[0]); })(x)[0];
       }}};
  return out;
}

struct DrawnBatches {
  int64_t rows, batch, steps = 3, features = 4;
};
constexpr DrawnBatches kEven{48, 24}, kUneven{17, 7};  // of pools, workers and shards

// What a way gives for all rows, batch by batch.
inline Loop loop_of(const MakeDraw& make, const WayToDraw& way, const DrawnBatches& batches = kEven) {
  return [make, call = way.call, batches](const Strategy& strategy) {
    const auto scope = strategy.scope();
    set_seed(5);
    const Draw draw = make();
    const auto step = function([&](const Tensor& x) { return call(draw, x); }, {.name = "step"});
    const Shape shape{batches.rows, batches.steps, batches.features};
    const Tensor x = reshape(iota({DType::kF32, {num_elements(shape)}}, 0), shape) / 64 + 1;
    DistributedDataset data = strategy.distribute(Dataset::from_tensor_slices({x}).batch(batches.batch));
    std::vector<float> out;
    while (const auto part = data.next()) {
      const std::vector<float> found = numbers(strategy.gather(strategy.run(step, *part)[0]));
      out.insert(out.end(), found.begin(), found.end());
    }
    return out;
  };
}

// Weights behind four calls, the gradients of two of which are one update.
inline Loop accumulating(const MakeDraw& make) {
  return [make](const Strategy& strategy) {
    const auto scope = strategy.scope();
    set_seed(5);
    const Draw draw = make();
    const Variable weight(full({3, 4}, 1), {.name = "weight"});
    Optimizer optimizer(SGD{.learning_rate = 0.25, .gradient_accumulation_steps = 2});
    const auto step = function(
        [&](const Tensor& x) {
          GradientTape tape;
          const Tensor out = draw(x * weight.read()) * weight.read();
          const Tensor rows = strategy::all_reduce({full({}, static_cast<double>(x.size(0)))})[0];
          const auto gradients = strategy::all_reduce(tape.gradient(sum_of(out), {weight}));
          optimizer.apply(gradients, {weight}, {.weight = rows});
        },
        {.name = "step"});
    const Tensor x = reshape(iota({DType::kF32, {408}}, 0), {34, 3, 4}) / 64 + 1;
    DistributedDataset data = strategy.distribute(Dataset::from_tensor_slices({x}).batch(9));
    while (const auto part = data.next()) strategy.run(step, *part);
    return numbers(weight.read());
  };
}

// The same as a layer.
struct DrawingLayer : Layer {
  DrawingLayer(const WayToDraw& way, Draw draw) : Layer("drawing"), way_(way), draw_(std::move(draw)) {}
  Tensor call(const Tensor& x) override { return way_.call(draw_, x); }

 private:
  WayToDraw way_;
  Draw draw_;
};

// Weights behind two epochs of fit, the last batch of which is smaller, the gradients of two batches an
// update.
inline Loop fitting(const MakeDraw& make, const WayToDraw& way) {
  return [make, way](const Strategy& strategy) {
    const auto scope = strategy.scope();
    set_seed(5);
    Sequential model{DrawingLayer(way, make()), Flatten(), Dense({.units = 1})};
    model.compile({.optimizer = SGD{.learning_rate = 0.01, .gradient_accumulation_steps = 2},
                   .loss = MeanSquaredError(),
                   .metrics = {}});
    const Tensor x = random_uniform({19, 3, 4}, 1, 0) / 16;
    model.fit(x, reshape(reduce_sum(x, {1, 2}), {19, 1}), {.epochs = 2, .batch_size = 8});
    std::vector<float> out;
    for (const Variable& variable : model.trainable_variables())
      for (const float value : numbers(variable.read())) out.push_back(value);
    return out;
  };
}

using OfWorkers = std::vector<std::vector<float>>;

// Where a loop may run; `uneven`: on parts of other sizes, too.
struct PlaceOfLoop {
  std::string name;
  bool uneven;
  double rounding;
  // What `loop` gives there, on each worker.
  std::function<OfWorkers(const Loop& loop)> run;
};

inline std::vector<PlaceOfLoop> places_of_loops() {
  std::vector<PlaceOfLoop> out;
  for (const int shards : {0, 8}) {
    const std::string suffix = shards ? cat(", ", shards, " logical shards") : "";
    if (shards)
      out.push_back({cat("one device", suffix), true, 0, [=](const Loop& loop) {
                       return OfWorkers{loop(strategy::OneDevice({.logical_shards = shards}))};
                     }});
    for (const int world : {2, 3}) {
      out.push_back({cat(world, " pools", suffix), true, 0, [=](const Loop& loop) {
                       return OfWorkers{
                           loop(strategy::Mirrored({.devices = world, .logical_shards = shards}))};
                     }});
      out.push_back({cat(world, " workers", suffix), true, 0, [=](const Loop& loop) {
                       OfWorkers of_workers(static_cast<size_t>(world));
                       const auto program = [&](const Strategy& strategy) {
                         of_workers[static_cast<size_t>(strategy.worker())] = loop(strategy);
                       };
                       for (const std::string& error :
                            errors_of_workers(world, program, "", {}, {.logical_shards = shards}))
                         if (!error.empty()) throw std::runtime_error(error);
                       return of_workers;
                     }});
    }
  }
  if (!pjrt::test_plugin().empty() && pjrt::tests_have_cpu_devices(8))
    out.push_back({"two devices of a plugin", false, 1e-6, [](const Loop& loop) {  // XLA's logarithms
                     const DeviceScope device(pjrt::test_plugin());
                     return OfWorkers{loop(strategy::Mirrored({.devices = 2}))};
                   }});
  return out;
}

// The first number of `found` that is not that of `wanted` within `bound` of the largest; "": none.
inline std::string difference(const std::vector<float>& found, const std::vector<float>& wanted,
                              double bound) {
  if (found.size() != wanted.size()) return cat(found.size(), " numbers, not ", wanted.size());
  float largest = 0;
  for (const float value : wanted)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  // What grows beyond f32 does so in all places.
  const auto alike = [&](float a, float b) {
    if (!std::isfinite(b)) return a == b || (std::isnan(a) && std::isnan(b));
    return std::fabs(a - b) <= bound * largest;
  };
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!alike(found[i], wanted[i]))
      return cat("number ", i, " of ", wanted.size(), " is ", found[i], ", not ", wanted[i]);
  return "";
}

// How what `loop` gives in a place differs from what it gives on one device, or what it raises; "": not.
inline std::string difference_in(const PlaceOfLoop& place, const Loop& loop, double bound = 0) {
  const std::vector<float> wanted = loop(strategy::OneDevice());
  if (wanted.empty()) return "nothing on one device";
  try {
    for (const std::vector<float>& found : place.run(loop))
      if (const std::string differs = difference(found, wanted, bound + place.rounding); !differs.empty())
        return differs;
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace espalier
