// How increments of two parts of a batch become those of both, in numbers worked out by hand.
#include "espalier/observe.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "eager/observations.h"
#include "eager/traced_graph.h"
#include "espalier/array.h"
#include "espalier/print.h"

namespace espalier {
namespace {

std::string texts(const std::vector<Tensor>& tensors) {
  std::string out;
  for (const Tensor& t : tensors) out += cat(out.empty() ? "" : "; ", to_string(t));
  return out;
}
std::string together(Combination combination, const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  Observation how;
  how.combination = combination;
  how.combine = [](std::span<const Tensor> left, std::span<const Tensor> right) {
    return std::vector<Tensor>{left[0] * 10 + right[0]};
  };
  return texts(combine_increments(how, a, b));
}
Tensor pair(float a, float b) { return Tensor::of<float>({a, b}); }

TEST(Observations, PartsAreCombinedAsTheySay) {
  const std::vector<Tensor> a{pair(1, 5), pair(-1, 0)}, b{pair(3, 2), pair(-2, 4)};
  EXPECT_EQ(together(Combination::kSum, a, b), "f32[2]\n[4.0, 7.0]; f32[2]\n[-3.0,  4.0]");
  EXPECT_EQ(together(Combination::kMaximum, a, b), "f32[2]\n[3.0, 5.0]; f32[2]\n[-1.0,  4.0]");
  EXPECT_EQ(together(Combination::kEqual, a, b), "f32[2]\n[3.0, 2.0]; f32[2]\n[-2.0,  4.0]");
  EXPECT_EQ(together(Combination::kJoint, a, b), "f32[2]\n[13.0, 52.0]");
}

TEST(Observations, AMeanIsByTheWeight) {
  const auto mean = [](const Tensor& a, double weight_a, const Tensor& b, double weight_b) {
    return together(Combination::kMean, {a, full({}, weight_a, a.dtype())},
                    {b, full({}, weight_b, b.dtype())});
  };
  EXPECT_EQ(mean(pair(1, 4), 1, pair(5, 8), 3), "f32[2]\n[4.0, 7.0]; f32[] 4.0");
  EXPECT_EQ(mean(pair(1, 4), 2, pair(5, 8), 0), "f32[2]\n[1.0, 4.0]; f32[] 2.0");
  EXPECT_EQ(mean(pair(1, 4), 0, pair(5, 8), 2), "f32[2]\n[5.0, 8.0]; f32[] 2.0");
  EXPECT_EQ(mean(pair(1, 4), 0, pair(5, 8), 0), "f32[2]\n[1.0, 4.0]; f32[] 0.0") << "the first one's";
  // Beyond what 16 bits hold on the way: the distance, and the sum of the weights.
  const auto half = [](float x) { return convert(Tensor::scalar(x), DType::kF16); };
  EXPECT_EQ(mean(half(-60000), 1, half(60000), 1), "f16[] 0.0; f16[] 2.0");
  EXPECT_EQ(mean(half(1), 2048, half(3), 2048), "f16[] 2.0; f16[] 4096.0");
}

TEST(Observations, AreFoldedIntoTheirVariables) {
  const auto after = [](Observation observation) {
    Variable first(pair(1, 2), {.name = "first"}), second(pair(10, 20), {.name = "second"});
    observation.variables = {first, second};
    observe(std::move(observation));
    return texts({first.read(), second.read()});
  };
  EXPECT_EQ(after({.variables = {}, .increments = {pair(1, 1), pair(2, 3)}}),
            "f32[2]\n[2.0, 3.0]; f32[2]\n[12.0, 23.0]");
  EXPECT_EQ(
      after({.variables = {}, .increments = {pair(9, 1), pair(2, 30)}, .combination = Combination::kMaximum}),
      "f32[2]\n[9.0, 2.0]; f32[2]\n[10.0, 30.0]");
  const auto fold = [](std::span<const Tensor> now, std::span<const Tensor> increments) {
    return std::vector<Tensor>{now[0] + increments[2], now[1] - increments[0]};
  };
  EXPECT_EQ(after({.variables = {}, .increments = {pair(1, 1), pair(2, 3), pair(5, 6)}, .fold = fold}),
            "f32[2]\n[6.0, 8.0]; f32[2]\n[ 9.0, 19.0]");
}

// Of a layer that is called more than once, each call's own.
TEST(Observations, HaveNamesOfTheirOwnInAProgram) {
  const Variable mean(pair(0, 0), {.name = "mean"}), other(pair(0, 0), {.name = "other"});
  std::string names;
  const TracedGraph traced = trace_graph("f", false, {}, [&](std::span<const Tensor>) {
    const ObservationScope scope;
    for (const Variable& variable : {mean, other, mean, mean})
      observe({.variables = {variable}, .increments = {pair(1, 2)}});
    NamedTensors results;
    for (const TracedObservation& each : name_observations(scope, results)) {
      for (const std::string& name : each.increments) names += cat(name, " ");
    }
    return results;
  });
  EXPECT_EQ(names, "observation/mean observation/other observation/mean#2 observation/mean#3 ");
  EXPECT_EQ(traced.result_names().size(), 4u);
}

TEST(Observations, OfAWrongNumberAreRefused) {
  const Variable one(pair(1, 2), {.name = "one"}), two(pair(1, 2), {.name = "two"});
  const auto said = [](Observation observation) -> std::string {
    try {
      observe(std::move(observation));
    } catch (const Error& error) {
      return error.rule() + ": " + error.message();
    }
    return "";
  };
  const Tensor x = pair(1, 1);
  const auto fold = [](std::span<const Tensor> now, std::span<const Tensor>) {
    return std::vector<Tensor>(now.begin(), now.end());
  };
  EXPECT_EQ(said({.variables = {}, .increments = {x}}), "observe.increments: 1 increment for 0 variables");
  EXPECT_EQ(said({.variables = {one, two}, .increments = {x}, .fold = fold}),
            "observe.increments: 1 increment for 2 variables");
  EXPECT_EQ(said({.variables = {one}, .increments = {x, x}}),
            "observe.increments: 2 increments for 1 variable");
  EXPECT_EQ(said({.variables = {one}, .increments = {x, x}, .fold = fold}), "");
  EXPECT_EQ(said({.variables = {one}, .increments = {x}, .combination = Combination::kMean, .fold = fold}),
            "observe.increments: 1 increment for 1 variable: a mean has a value and a weight");
  EXPECT_EQ(said({.variables = {one, two},
                  .increments = {x, x, x},
                  .combination = Combination::kMean,
                  .fold = fold}),
            "observe.increments: 3 increments for 2 variables: a mean has a value and a weight");
  EXPECT_EQ(said({.variables = {one}, .increments = {x}, .combination = Combination::kJoint}),
            "observe.combine: a joint combination needs a function");
}

}  // namespace
}  // namespace espalier
