// What steps observe: increments of parts of a batch, combined, are those of the whole.
#include <cmath>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "eager/row_weight.h"
#include "eager/traced_graph.h"
#include "espalier/array.h"
#include "espalier/espalier.h"
#include "ir/sink.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

struct Observed {
  std::vector<Observation> how;  // without increments
  std::vector<Tensors> increments;
};

// What `body` observes, by a program that does not fold it.
Observed observed(const std::function<void()>& body) {
  Observed out;
  const TracedGraph program = trace_graph("observed", false, {}, [&](std::span<const Tensor>) {
    const ObservationScope scope;
    body();
    NamedTensors results;
    for (const TracedObservation& each : name_observations(scope, results)) {
      out.how.push_back(each.how);
      out.increments.emplace_back(each.increments.size());
    }
    return results;
  });
  EXPECT_TRUE(program.updated.empty()) << "folded too early";
  std::vector<Literal> inputs;
  for (const VariablePtr& variable : program.variables) inputs.push_back(variable->value.node()->dense());
  std::vector<Literal> results = run(*compile(program.graph), inputs, RunContext::current());
  size_t next = 0;
  for (Tensors& increments : out.increments) {
    for (Tensor& increment : increments) increment = make_concrete(std::move(results[next++]));
  }
  return out;
}

void expect_within(const Tensor& found, const Tensor& wanted, double limit, const std::string& where) {
  const auto a = convert(found, DType::kF64).to_vector<double>(),
             b = convert(wanted, DType::kF64).to_vector<double>();
  ASSERT_EQ(a.size(), b.size());
  double largest = 0;
  for (const double x : b) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], limit * largest) << where << " " << i;
}

struct ScoredBatch {
  Tensor labels, outputs, weights;
  ScoredBatch part(int64_t begin, int64_t end) const {
    const auto cut = [&](const Tensor& x) {
      std::vector<int64_t> from(x.rank(), 0), to(x.shape().begin(), x.shape().end());
      from[0] = begin, to[0] = end;
      return slice(x, from, to);
    };
    return {cut(labels), cut(outputs), cut(weights)};
  }
};

// Metrics after one batch, then three parts of another, one of them of rows that do not count.
void check_parts(const std::string& name, const ScoredBatch& before, const ScoredBatch& rows) {
  Metric whole(name), parted(name);
  for (Metric* metric : {&whole, &parted}) metric->update(before.labels, before.outputs, before.weights);
  whole.update(rows.labels, rows.outputs, rows.weights);
  const int64_t n = rows.labels.size(0), edges[] = {0, 3, 5, n};
  std::vector<Observed> parts;
  for (int i = 0; i < 3; ++i) {
    const ScoredBatch part = rows.part(edges[i], edges[i + 1]);
    parts.push_back(observed([&] { parted.update(part.labels, part.outputs, part.weights); }));
  }
  for (size_t k = 0; k < parts[0].how.size(); ++k) {
    const Observation& how = parts[0].how[k];
    const Tensors left = combine_increments(
        how, combine_increments(how, parts[0].increments[k], parts[1].increments[k]), parts[2].increments[k]);
    const Tensors right = combine_increments(
        how, parts[0].increments[k], combine_increments(how, parts[1].increments[k], parts[2].increments[k]));
    for (size_t i = 0; i < left.size(); ++i) expect_within(left[i], right[i], 1e-6, name + " associative");
    Tensors now;
    for (const Variable& variable : how.variables) now.push_back(variable.read());
    const Tensors next = folded(how, now, left);
    for (size_t i = 0; i < next.size(); ++i) Variable(how.variables[i]).assign(next[i]);
  }
  const double wanted = whole.result();
  EXPECT_NEAR(parted.result(), wanted, 1e-6 * std::max(1.0, std::abs(wanted))) << name;
  const auto a = whole.variables(), b = parted.variables();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) expect_within(b[i].read(), a[i].read(), 1e-6, a[i].path());
}

TEST(Observations, PartsOfABatchAddUpToTheWholeForEveryMetric) {
  Generator random(3);
  const auto weights = [] { return Tensor::of<float>({1, 2, 0.5f, 0, 0, 1, 3, 1}); };
  const auto classes = [&] { return random.integers({8}, 0, 4, DType::kI32); };
  const auto scores = [&] { return random.uniform({8, 4}); };
  const auto truths = [&] { return convert(random.uniform({8, 1}) > 0.5, DType::kF32); };
  for (const char* name : {"accuracy", "sparse_categorical_accuracy", "sparse_top_k_categorical_accuracy"})
    check_parts(name, {classes(), scores(), weights()}, {classes(), scores(), weights()});
  for (const char* name : {"binary_accuracy", "precision", "recall", "auc"})
    check_parts(name, {truths(), random.uniform({8, 1}), weights()},
                {truths(), random.uniform({8, 1}), weights()});
  const auto numbers = [&] { return random.normal({8, 2}) + 100; };
  for (const char* name : {"mean", "mse", "mae", "rmse", "r2_score"})
    check_parts(name, {numbers(), numbers(), weights()}, {numbers(), numbers(), weights()});
}

// Labels that are all equal are so in parts, too.
TEST(Observations, R2OfEqualLabelsInParts) {
  const Tensor labels = full({6, 1}, 1e8), w = full({6}, 1);
  check_parts("r2_score", {labels, labels, w}, {labels, labels, w});
  check_parts("r2_score", {labels, labels, full({6}, 0)}, {labels, labels + 8, w});
}

TEST(Observations, PartsOfABatchMakeItsMovingAverages) {
  Generator random(9);
  for (const bool weighted : {false, true}) {
    BatchNormalization whole({.momentum = 0.75}), parted({.momentum = 0.75});
    const TrainingScope training(true);
    const Tensor first = random.normal({4, 3}), x = random.normal({8, 3}) * 2 + 3;
    whole(first);
    parted(first);
    const Tensor w = weighted ? Tensor::of<float>({1, 1, 0, 0, 0, 1, 1, 1}) : Tensor();
    const auto of = [&](int64_t begin, int64_t end) {
      return weighted ? slice(w, {begin}, {end}) : Tensor();
    };
    {
      const RowWeightScope scope(w);
      whole(x);
    }
    std::vector<Observed> parts;
    const int64_t edges[] = {0, 3, 5, 8};
    for (int i = 0; i < 3; ++i) {
      const RowWeightScope scope(of(edges[i], edges[i + 1]));
      parts.push_back(observed([&] { parted(slice(x, {edges[i], 0}, {edges[i + 1], 3})); }));
      ASSERT_EQ(parts.back().how.size(), 1u);
    }
    const Observation& how = parts[0].how[0];
    const Tensors all = combine_increments(
        how, combine_increments(how, parts[0].increments[0], parts[1].increments[0]), parts[2].increments[0]);
    EXPECT_EQ(all[2].item<float>(), weighted ? 5 : 8);
    Tensors now;
    for (const Variable& variable : how.variables) now.push_back(variable.read());
    const Tensors next = folded(how, now, all);
    for (size_t i = 0; i < 2; ++i) {
      const auto at = [&](BatchNormalization& layer) {
        for (const Variable& variable : layer.variables()) {
          if (variable.path().ends_with(i ? "moving_variance" : "moving_mean")) return variable.read();
        }
        throw InternalError("no average");
      };
      expect_within(next[i], at(whole), 1e-6, i ? "variance" : "mean");
      EXPECT_NE(at(parted).to_vector<float>(), at(whole).to_vector<float>()) << "nothing was compared";
    }
  }
}

TEST(Observations, EachCombination) {
  Variable sum(full({2}, 1), {.name = "sum", .trainable = false}), most(full({2}, 1), {.name = "most"}),
      same(full({2}, 1), {.name = "same"}), mean(full({2}, 1), {.name = "mean"});
  const Tensor x = Tensor::of<float>({-2, 4});
  observe({.variables = {sum}, .increments = {x}});
  observe({.variables = {most}, .increments = {x}, .combination = Combination::kMaximum});
  observe({.variables = {same}, .increments = {x}, .combination = Combination::kEqual});
  const Observation weighted{.variables = {mean},
                             .increments = {x, full({}, 3)},
                             .combination = Combination::kMean,
                             .fold = [](std::span<const Tensor> now, std::span<const Tensor> increments) {
                               return Tensors{now[0] * 0.5 + increments[0] * 0.5};
                             }};
  observe(weighted);
  EXPECT_EQ(sum.read().to_vector<float>(), (std::vector<float>{-1, 5}));
  EXPECT_EQ(most.read().to_vector<float>(), (std::vector<float>{1, 4}));
  EXPECT_EQ(same.read().to_vector<float>(), (std::vector<float>{-2, 4}));
  EXPECT_EQ(mean.read().to_vector<float>(), (std::vector<float>{-0.5, 2.5}));
  const Tensors both =
      combine_increments(weighted, Tensors{x, full({}, 3)}, Tensors{full({2}, 2), full({}, 1)});
  EXPECT_EQ(both[0].to_vector<float>(), (std::vector<float>{-1, 3.5}));
  EXPECT_EQ(both[1].item<float>(), 4);

  EXPECT_EQ(rule_of([&] { observe({.variables = {sum}, .increments = {}}); }), "observe.increments");
  EXPECT_EQ(rule_of([&] { observe({.variables = {sum}, .increments = {x, x}}); }), "observe.increments");
  EXPECT_EQ(
      rule_of([&] { observe({.variables = {sum}, .increments = {x}, .combination = Combination::kJoint}); }),
      "observe.combine");
}

// 16 bits hold neither the distance of these values nor the sum of these weights, and they hold the mean.
TEST(Observations, MeansOfSixteenBitsAreMadeInThirtyTwo) {
  Variable mean(full({}, 0, DType::kF16), {.name = "mean"});
  const auto of = [](double value, double weight) {
    return Tensors{full({}, value, DType::kF16), full({}, weight, DType::kF16)};
  };
  const Observation how{.variables = {mean}, .increments = of(0, 1), .combination = Combination::kMean};
  const auto both = [&](const Tensors& a, const Tensors& b) {
    return convert(combine_increments(how, a, b)[0], DType::kF32).item<float>();
  };
  EXPECT_EQ(both(of(-60000, 1), of(60000, 1)), 0);
  EXPECT_EQ(both(of(2, 60000), of(4, 60000)), 3);
  EXPECT_EQ(both(of(2, 0), of(4, 0)), 2);
}

// A step gives increments, and folds them in a rewrite of its own.
TEST(Observations, AreResultsOfAStepUntilTheyAreFolded) {
  Sequential model{Dense({.units = 3}), BatchNormalization()};
  model.compile({.loss = MeanSquaredError(), .metrics = {"auc", "r2_score"}});
  const Tensor x = full({4, 2}, 1), y = full({4, 3}, 1);
  const auto has = [&](const char* after, const std::string& name) {
    return model.step_program(x, y, after).find(cat("\"", name, "\"")) != std::string::npos;
  };
  model.step_program(x, y, "trace");  // it names the model
  for (const std::string& variable :
       {std::string("metrics/auc/positives"), std::string("metrics/r2_score/origin"),
        std::string("metrics/loss/total"), cat(model.path(), "/batch_normalization/moving_mean")}) {
    const std::string increment = cat("observation/", variable);
    EXPECT_TRUE(has("trace", increment) && has("add_gradients", increment)) << variable;
    EXPECT_FALSE(has("fold_observations", increment)) << variable;
    const auto updates = [&](const char* after) {
      return model.step_program(x, y, after).find(cat("espalier.update = \"", variable, "\"")) !=
             std::string::npos;
    };
    EXPECT_FALSE(updates("add_gradients")) << variable;
    EXPECT_TRUE(updates("fold_observations")) << variable;
  }
}

}  // namespace
}  // namespace espalier
