#include "fairness/assessment.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "espalier/error.h"
#include "evaluate/random_rows_test.h"

namespace espalier {
namespace {

struct AssessedRows {
  RandomRows rows = random_rows(400, 7);
  CategoryColumn sex{"sex", {"f", "m"}, {}}, age{"age", {"old", "young", "middle"}, {}};
  AssessmentOptions options{.thresholds = {0.3, 0.5, 0.7}, .slices = {.min_rows = 75}};
  Assessment assessment;

  AssessedRows() {
    Philox random(8);
    for (size_t i = 0; i < rows.scores.size(); ++i) {
      sex.codes.push_back(static_cast<uint32_t>(random.below(2)));
      const auto code = static_cast<uint32_t>(random.below(4));
      age.codes.push_back(code < 3 ? code : CategoryColumn::kMissing);
    }
    assessment = assess(rows.view(), {{&sex}, {&age}, {&sex, &age}}, options);
  }
};

// The figures of a slice are those of a table of its rows alone.
TEST(Assessment, OfASliceIsThatOfItsRowsAlone) {
  const AssessedRows given;
  ASSERT_EQ(given.assessment.by.size(), 3u);
  EXPECT_EQ(given.assessment.by[2].name(), "sex*age");
  EXPECT_EQ(given.assessment.by[2].slices.size(), 8u);
  for (const SliceFigures& slice : given.assessment.by[2].slices) {
    RandomRows alone;
    for (size_t i = 0; i < given.rows.scores.size(); ++i) {
      const uint32_t age = given.age.codes[i];
      const std::string of_age = age == CategoryColumn::kMissing ? "(missing)" : given.age.values[age];
      if (slice.slice.values != std::vector<std::string>{given.sex.values[given.sex.codes[i]], of_age})
        continue;
      alone.scores.push_back(given.rows.scores[i]);
      alone.labels.push_back(given.rows.labels[i]);
      alone.weights.push_back(given.rows.weights[i]);
    }
    const Assessment other = assess(alone.view(), {}, given.options);
    EXPECT_EQ(slice.slice.rows, other.overall.slice.rows);
    EXPECT_EQ(slice.slice.thin, slice.slice.rows < 75);
    for (const std::string& name : slice_metrics()) {
      const SliceMetric metric(name);
      for (size_t t = 0; t < 3; ++t) {
        const Figure a = metric(slice, t), b = metric(other.overall, t);
        EXPECT_EQ(a.value, b.value) << name;
        EXPECT_EQ(a.rows, b.rows) << name;
        ASSERT_EQ(a.interval.has_value(), b.interval.has_value()) << name;
        if (!a.interval) continue;
        EXPECT_EQ(a.interval->low, b.interval->low) << name;
        EXPECT_EQ(a.interval->high, b.interval->high) << name;
      }
    }
  }
}

// What passes more than i thresholds is what the threshold i / 1000 calls positive.
TEST(Assessment, AHistogramHoldsTheConfusionsOfItsThresholds) {
  AssessedRows given;
  EXPECT_TRUE(given.assessment.overall.histogram.empty()) << "nobody asked";
  for (const Positive positive : {Positive::kAbove, Positive::kFrom}) {
    given.options = {.thresholds = {0, 0.29, 0.5, 1}, .positive = positive, .histograms = true};
    const Assessment assessed = assess(given.rows.view(), {{&given.age}}, given.options);
    for (const SliceFigures& slice : assessed.by[0].slices) {
      ASSERT_EQ(slice.histogram.size(), 1002u);
      for (size_t t = 0; t < 4; ++t) {
        const auto index = static_cast<size_t>(std::lround(1000 * given.options.thresholds[t]));
        Confusion confusion;
        for (size_t passed = 0; passed < slice.histogram.size(); ++passed) {
          for (const bool label : {false, true})
            confusion[outcome_of(passed > index, label)] += slice.histogram[passed][label];
        }
        for (size_t i = 0; i < kOutcomes; ++i) {
          EXPECT_EQ(confusion.of[i].rows, slice.at[t].of[i].rows) << slice.slice.name << " " << t;
          EXPECT_EQ(confusion.of[i].weight, slice.at[t].of[i].weight) << "halves add up exactly";
        }
      }
    }
  }
}

TEST(Assessment, AFigureCountsTheRowsOfItsDenominator) {
  const AssessedRows given;
  const SliceFigures& all = given.assessment.overall;
  const auto positives = std::ranges::count(given.rows.labels, 1);
  EXPECT_EQ(SliceMetric("recall")(all, 1).rows, positives);
  EXPECT_EQ(SliceMetric("true_positive_rate").name(), SliceMetric("recall").name());
  EXPECT_EQ(SliceMetric("positives")(all, 0).value, positives);
  EXPECT_EQ(SliceMetric("rows")(all, 0).value, 400);
  EXPECT_EQ(SliceMetric("accuracy")(all, 0).rows, 400);
  EXPECT_EQ(SliceMetric("auc")(all, 0).value, SliceMetric("auc")(all, 2).value);
  EXPECT_NE(SliceMetric("accuracy")(all, 0).value, SliceMetric("accuracy")(all, 2).value);
}

TEST(Assessment, DifferencesAreOfValuesAndTurnAround) {
  const AssessedRows given;
  const SliceFigures &f = given.assessment.by[0].slices[0], &m = given.assessment.by[0].slices[1];
  for (const char* name : {"recall", "auc", "log_loss", "accuracy", "f1_score"}) {
    const SliceMetric metric(name);
    const Figure there = metric.difference(f, m, 1), back = metric.difference(m, f, 1);
    EXPECT_EQ(*there.value, *metric(f, 1).value - *metric(m, 1).value) << name;
    EXPECT_EQ(*there.value, -*back.value) << name;
    ASSERT_EQ(there.interval.has_value(), back.interval.has_value()) << name;
    EXPECT_EQ(there.interval.has_value(), name != std::string("log_loss") && name != std::string("f1_score"));
    if (!there.interval) continue;
    EXPECT_NEAR(there.interval->low, -back.interval->high, 1e-12) << name;
    EXPECT_LT(there.interval->low, *there.value) << name;
    EXPECT_GT(there.interval->high, *there.value) << name;
  }
}

TEST(Assessment, UnknownMetricsNameTheNearest) {
  try {
    SliceMetric("acuracy");
    FAIL() << "there is no such metric";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "evaluate.metric");
    EXPECT_NE(error.fix().find("accuracy"), std::string::npos) << error.fix();
  }
}

}  // namespace
}  // namespace espalier
