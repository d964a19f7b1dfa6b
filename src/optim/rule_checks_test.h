// What holds for every rule: the library's run it, and so does one of one's own (docs/own-optimizer.md).
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/function.h"
#include "espalier/ops.h"
#include "espalier/optimizer_rule.h"

namespace espalier {

// Whose rule is made of options that all have.
using MakeOptimizer = std::function<Optimizer(const OptimizerOptions&)>;

// `optimizer` has made no update yet.
inline void expect_refusals_change_nothing(Optimizer optimizer) {
  Variable w(full({2}, 1), {.name = "w"}), u(full({3}, 1), {.name = "u"});
  Variable counts(full({2}, 1, DType::kI32), {.name = "counts"});
  Tensor symbolic;
  function([&](const Tensor& x) {
    symbolic = x * 2;
    return x;
  })(full({3}, 1));
  const Tensor g = full({2}, 1);
  EXPECT_THROW(optimizer.apply({g, full({4}, 1)}, {w, u}), ShapeError);
  EXPECT_THROW(optimizer.apply({g, full({3}, 1, DType::kF64)}, {w, u}), DTypeError);
  EXPECT_THROW(optimizer.apply({g, full({2}, 1, DType::kI32)}, {w, counts}), DTypeError);
  EXPECT_THROW(optimizer.apply({g, symbolic}, {w, u}), StateError);
  EXPECT_THROW(optimizer.apply({g}, {w, u}), ValueError);
  EXPECT_THROW(optimizer.apply({}, {}), ValueError);
  EXPECT_THROW(optimizer.apply({Tensor(), Tensor()}, {w, u}), ValueError);
  EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(u.read().to_vector<float>(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(optimizer.variables().size(), 2u);  // rate and step: no slots yet
  EXPECT_EQ(optimizer.variables()[1].read().item<int64_t>(), 0);
  optimizer.apply({g, Tensor()}, {w, u});
  EXPECT_LT(w.read().to_vector<float>()[0], 1);
  EXPECT_EQ(u.read().to_vector<float>()[0], 1);
  EXPECT_EQ(optimizer.variables()[1].read().item<int64_t>(), 1);
}

// Neither variables nor state, whatever the gradients hold. `optimizer` has made no update yet.
inline void expect_skipped_updates_change_nothing(Optimizer optimizer, DType dtype, bool traced) {
  SCOPED_TRACE(cat(optimizer.rule()->name(), traced ? " traced " : " eagerly ", dtype));
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  Variable w(convert(Tensor::of<float>({1, -2, 3}), dtype), {.name = "w"}),
      u(full({}, 2, dtype), {.name = "u"});
  const auto update = [&](const Tensor& g, const Tensor& h, const Tensor& apply) {
    optimizer.apply({convert(g, dtype), convert(h, dtype)}, {w, u}, {.apply = apply});
    return Tensors{};
  };
  const auto step = function(update);
  const auto call = [&](std::vector<float> g, float h, bool apply) {
    const Tensor a = Tensor::of(std::move(g)), b = Tensor::scalar(h), c = Tensor::scalar(apply);
    if (traced) {
      step(a, b, c);
    } else {
      update(a, b, c);
    }
  };
  const auto state = [&] {
    std::vector<Variable> variables = optimizer.variables();
    variables.insert(variables.end(), {w, u});
    std::vector<std::vector<std::byte>> out;
    for (const Variable& variable : variables) {
      const Tensor value = variable.read();
      const auto* const bytes = static_cast<const std::byte*>(value.bytes());
      out.emplace_back(bytes, bytes + value.type().bytes());
    }
    return out;
  };
  // Slots exist before their first update.
  call({nan, 1, 1}, inf, false);
  const auto begin = state();
  call({0.5f, 0.25f, -1}, 0.125f, true);
  const auto once = state();
  EXPECT_NE(begin, once);
  call({nan, inf, -inf}, nan, false);
  call({1e38f, 1e38f, 7}, 1, false);
  EXPECT_EQ(state(), once);
  call({0.5f, 0.25f, -1}, 0.125f, true);
  EXPECT_NE(state(), once);
  EXPECT_EQ(optimizer.variables()[1].read().item<int64_t>(), 2);
}

// Of 3 calls by `several`, against one update by the mean over all rows of the calls.
inline void expect_calls_accumulate(Optimizer several, Optimizer one, bool traced, bool weighted) {
  SCOPED_TRACE(cat(one.rule()->name(), traced ? " traced" : " eagerly", weighted ? " weighted" : ""));
  Variable w(Tensor::of<float>({1, -2}), {.name = "w"}), v(Tensor::of<float>({1, -2}), {.name = "w"});
  const auto add = [&](const Tensor& g, const Tensor& weight) {
    several.apply({g}, {w}, {.weight = weighted ? weight : Tensor()});
    return Tensors{};
  };
  const auto step = function(add);
  for (int update = 0; update < 3; ++update) {
    const auto before = w.read().to_vector<float>();
    std::vector<float> sum(2, 0);
    float total = 0;
    for (int call = 0; call < 3; ++call) {
      EXPECT_EQ(w.read().to_vector<float>(), before);
      const float a = 0.25f * static_cast<float>(call - update), b = 0.5f * static_cast<float>(call + 1);
      const float weight = weighted ? static_cast<float>(call + 1) : 1;
      const Tensor g = Tensor::of<float>({a, b});
      if (traced) {
        step(g, Tensor::scalar(weight));
      } else {
        add(g, Tensor::scalar(weight));
      }
      sum[0] += a, sum[1] += b, total += weight;
    }
    one.apply({Tensor::of<float>({sum[0] / total, sum[1] / total})}, {v});
    const auto got = w.read().to_vector<float>(), wanted = v.read().to_vector<float>();
    for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(got[i], wanted[i], 2e-6);
  }
  EXPECT_EQ(several.variables()[1].read().item<int64_t>(), 3);
  EXPECT_EQ(several.learning_rate().read().item<float>(), one.learning_rate().read().item<float>());
}

// As if the gradients had come that way: by a power of two in equal bits. Both are of one kind.
inline void expect_gradients_count_times_the_scale(Optimizer scaled, Optimizer plain, bool traced) {
  Variable a(Tensor::of<float>({1, -2, 3}), {.name = "w"}), b(Tensor::of<float>({1, -2, 3}), {.name = "w"});
  const auto update = [&](const Tensor& g, const Tensor& scale) {
    scaled.apply({g}, {a}, {.scale = scale});
    return Tensors{};
  };
  const auto step = function(update);
  const Tensor g = Tensor::of<float>({0.3f, -0.7f, 1.1f});
  for (const float scale : {1.0f, 0.25f, 8.0f}) {
    const Tensor factor = Tensor::scalar(scale);
    if (traced) {
      step(g, factor);
    } else {
      update(g, factor);
    }
    plain.apply({g * scale}, {b});
  }
  EXPECT_EQ(a.read().to_vector<float>(), b.read().to_vector<float>()) << scaled.rule()->name() << traced;
}

// All of it, on a rule of one's own. It moves variables against their gradients.
inline void expect_a_sound_rule(const MakeOptimizer& make) {
  const PiecewiseConstantDecay falling{.boundaries = {1}, .values = {0.5, 0.25}};
  const std::vector<OptimizerOptions> all = {
      {.learning_rate = falling, .weight_decay = 0.1}, {.learning_rate = 0.5, .clipnorm = 0.5},
      {.learning_rate = 0.5, .global_clipnorm = 1},    {.learning_rate = 0.5, .clipvalue = 0.25},
      {.learning_rate = 0.5, .use_ema = true},         {.use_ema = true, .ema_overwrite_frequency = 1}};
  for (const OptimizerOptions& options : all) {
    expect_refusals_change_nothing(make(options));
    for (const bool traced : {false, true}) {
      for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64})
        expect_skipped_updates_change_nothing(make(options), dtype, traced);
      expect_gradients_count_times_the_scale(make(options), make(options), traced);
      for (const bool weighted : {false, true}) {
        OptimizerOptions several = options;
        several.gradient_accumulation_steps = 3;
        if (!options.use_ema) expect_calls_accumulate(make(several), make(options), traced, weighted);
      }
    }
  }
}

}  // namespace espalier
