#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "espalier/threads.h"
#include "evaluate/estimates_test.h"
#include "fairness/assessment.h"

namespace espalier {
namespace {

// Rows of a group each, of two answers to every query, with what a model said and what is true.
struct AnyKind {
  std::vector<double> truths, said, worth, weights;
  std::vector<uint32_t> queries, is, chosen;
  std::vector<std::string> classes = {"a", "b", "c"};
  CategoryColumn group{.name = "group", .values = {"x", "y"}, .codes = {}};

  explicit AnyKind(uint64_t seed, size_t rows = 120) {
    Philox random(seed);
    for (size_t row = 0; row < rows; ++row) {
      truths.push_back(normal_number(random));
      worth.push_back(std::abs(truths.back()));
      said.push_back(truths.back() + 2 * normal_number(random));
      weights.push_back(row % 3 ? 1 : 2);
      queries.push_back(static_cast<uint32_t>(row / 2));
      group.codes.push_back(static_cast<uint32_t>(row / 2 % 2));
      is.push_back(static_cast<uint32_t>(random.below(3)));
      chosen.push_back(random.below(4) ? is.back() : static_cast<uint32_t>(random.below(3)));
    }
  }
  std::vector<AnyRows> all(std::span<const double> counted) const {
    return {NumberRows(said, truths, counted), ClassRows(classes, is, chosen, {}, counted),
            QueryRows(said, worth, queries, counted)};
  }
};

TEST(AssessAny, AReplicateOfTheJackknifeIsWhatTheOtherBucketsSay) {
  const AnyKind data(1);
  const AssessmentOptions options{.resampling = {.method = IntervalMethod::kJackknife, .seed = 5}};
  for (size_t kind = 0; kind < 3; ++kind) {
    const bool ranks = kind == 2;
    const std::vector<uint8_t> buckets = jackknife_buckets(data.truths.size() / (ranks ? 2 : 1), 5);
    const Assessment assessed = assess_any(data.all(data.weights)[kind], {{&data.group}}, options);
    for (size_t bucket = 0; bucket < kJackknifeBuckets; ++bucket) {
      AnyKind left = data;
      std::vector<double> weights;
      for (auto* column : {&left.truths, &left.said, &left.worth}) column->clear();
      for (auto* column : {&left.queries, &left.is, &left.chosen, &left.group.codes}) column->clear();
      for (size_t row = 0; row < data.truths.size(); ++row) {
        if (buckets[ranks ? row / 2 : row] == bucket) continue;
        left.truths.push_back(data.truths[row]);
        left.said.push_back(data.said[row]);
        left.worth.push_back(data.worth[row]);
        left.queries.push_back(data.queries[row]);
        left.is.push_back(data.is[row]);
        left.chosen.push_back(data.chosen[row]);
        left.group.codes.push_back(data.group.codes[row]);
        weights.push_back(data.weights[row]);
      }
      const Assessment expected = assess_any(left.all(weights)[kind], {{&left.group}}, {});
      for (size_t slice = 0; slice < 2; ++slice) {
        const std::vector<Estimate>&found = assessed.by[0].slices[slice].estimates,
              &wanted = expected.by[0].slices[slice].estimates;
        ASSERT_EQ(found.size(), wanted.size());
        for (size_t i = 0; i < found.size(); ++i) {
          if (found[i].replicates.empty()) continue;
          EXPECT_NEAR(found[i].replicates[bucket], wanted[i].value.value(), 1e-9) << found[i].metric;
        }
      }
    }
    EXPECT_EQ(assessed.overall.estimates[0].replicates.size(), kJackknifeBuckets);
  }
}

TEST(AssessAny, IntervalsOfRowsDrawnAgainAreAboutTheFormulas) {
  const AnyKind data(2, 600);
  for (size_t kind = 0; kind < 3; ++kind) {
    const AnyRows rows = data.all({})[kind];
    const Assessment formula = assess_any(rows, {{&data.group}}, {});
    const Assessment drawn = assess_any(
        rows, {{&data.group}}, {.resampling = {.method = IntervalMethod::kBootstrap, .replicates = 400}});
    for (const Estimate& estimate : formula.overall.estimates) {
      const SliceMetric metric(estimate.metric);
      const auto width = [&](const Figure& figure) { return figure.interval->high - figure.interval->low; };
      const Figure own = metric(formula.overall, 0);
      if (!own.interval || estimate.metric == "calibration") continue;  // a ratio to a mean near 0
      EXPECT_NEAR(width(metric(drawn.overall, 0)) / width(own), 1, 0.25) << estimate.metric;
      const std::vector<SliceFigures>&by = formula.by[0].slices, &by_drawn = drawn.by[0].slices;
      const Figure gap = metric.difference(by[0], by[1], 0);
      if (!gap.interval) continue;
      EXPECT_NEAR(width(metric.difference(by_drawn[0], by_drawn[1], 0)) / width(gap), 1, 0.25)
          << estimate.metric;
    }
  }
}

TEST(AssessAny, DrawsAreTheSameForAnyNumberOfThreads) {
  const AnyKind data(3);
  const AssessmentOptions options{.resampling = {.method = IntervalMethod::kBootstrap, .replicates = 30}};
  const int before = threads();
  std::vector<std::vector<double>> all;
  for (const int count : {1, 3}) {
    set_threads(count);
    const Assessment one = assess_any(data.all(data.weights)[0], {}, options);
    for (const Estimate& estimate : one.overall.estimates) all.push_back(estimate.replicates);
  }
  set_threads(before);
  const size_t half = all.size() / 2;
  for (size_t i = 0; i < half; ++i) EXPECT_EQ(all[i], all[half + i]);
}

TEST(AssessAny, AReplicateWithoutAFigureLeavesNoInterval) {
  AnyKind data(4);
  for (size_t row = 1; row < data.group.codes.size(); ++row) data.group.codes[row] = 1;
  const Assessment one =
      assess_any(data.all({})[0], {{&data.group}}, {.resampling = {.method = IntervalMethod::kJackknife}});
  const SliceMetric mae("mae");
  EXPECT_TRUE(mae(one.by[0].slices[0], 0).value.has_value());
  EXPECT_FALSE(mae(one.by[0].slices[0], 0).interval.has_value()) << "its one row is left out once";
  EXPECT_TRUE(mae(one.by[0].slices[1], 0).interval.has_value());
}

// The mean size of a normal error of deviation 2.
TEST(SlowAssessAny, IntervalsHoldTheTruthNineteenTimesInTwenty) {
  const double truth = 2 * std::sqrt(2 / std::numbers::pi);
  for (const IntervalMethod method : {IntervalMethod::kBootstrap, IntervalMethod::kJackknife}) {
    int held = 0;
    for (uint64_t seed = 0; seed < 1000; ++seed) {
      const AnyKind data(100 + seed, 80);
      const Assessment one = assess_any(data.all({})[0], {},
                                        {.resampling = {.method = method, .replicates = 100, .seed = seed}});
      const std::optional<Interval> interval = SliceMetric("mae")(one.overall, 0).interval;
      held += interval && interval->low <= truth && truth <= interval->high;
    }
    EXPECT_TRUE(930 <= held && held <= 970) << held;
  }
}

}  // namespace
}  // namespace espalier
