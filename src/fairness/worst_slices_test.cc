#include "fairness/worst_slices.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "base/rule_of_test.h"

namespace espalier {
namespace {

// Rows of which one in ten is said wrongly, and of those with the value 3 of both the second and the fifth
// column, a hundredth of all, `planted` of ten.
struct PlantedRows {
  std::vector<double> scores, weights;
  std::vector<uint8_t> labels;
  std::vector<CategoryColumn> columns;

  PlantedRows(uint64_t seed, size_t rows, uint64_t planted, bool weighted = false) {
    Philox random(seed, 31);
    for (int c = 0; c < 6; ++c) {
      CategoryColumn& column = columns.emplace_back(CategoryColumn{cat("c", c), {}, {}});
      for (int value = 0; value < 10; ++value) column.values.push_back(cat("v", value));
    }
    for (size_t i = 0; i < rows; ++i) {
      for (CategoryColumn& column : columns) column.codes.push_back(static_cast<uint32_t>(random.below(10)));
      const bool bad = columns[1].codes[i] == 3 && columns[4].codes[i] == 3;
      const bool label = random.below(10) < 4, wrong = random.below(10) < (bad ? planted : 1);
      labels.push_back(label);
      scores.push_back(label != wrong ? 0.8 : 0.2);
      if (weighted) weights.push_back(random.below(2) == 0 ? 1 : 2);
    }
  }
  ScoredRows view() const { return {scores, labels, weights}; }
  std::vector<const CategoryColumn*> by() const {
    std::vector<const CategoryColumn*> out;
    for (const CategoryColumn& column : columns) out.push_back(&column);
    return out;
  }
};

int ranked_first(int seeds, size_t rows) {
  int first = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const PlantedRows data(static_cast<uint64_t>(seed), rows, 6);
    const WorstSlices worst = worst_slices(data.view(), data.by(), {.seed = static_cast<uint64_t>(seed)});
    first += !worst.found.empty() && worst.found[0].name == "c1=v3, c4=v3";
  }
  return first;
}
int with_discoveries(int seeds, size_t rows, bool weighted) {
  int alarms = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const PlantedRows data(static_cast<uint64_t>(seed), rows, 1, weighted);
    const WorstSlices worst = worst_slices(data.view(), data.by(), {.seed = static_cast<uint64_t>(seed)});
    EXPECT_GT(worst.tested, 10u);
    alarms += worst.discovered > 0;
  }
  return alarms;
}

TEST(WorstSlices, APlantedSliceIsFirstAndNothingIsFoundWhereNothingIs) {
  EXPECT_GE(ranked_first(10, 6000), 9);
  EXPECT_LE(with_discoveries(10, 3000, false), 1);
}
TEST(SlowWorstSlices, APlantedSliceIsFirst) { EXPECT_GE(ranked_first(100, 10000), 95); }
TEST(SlowWorstSlices, NothingIsFoundWhereNothingIs) {
  EXPECT_LE(with_discoveries(100, 10000, false), 10);
  EXPECT_LE(with_discoveries(100, 10000, true), 10);
}

// Figures are those of the slice's rows in the half that was not searched.
TEST(WorstSlices, FiguresAreOfRowsThatWereNotSearched) {
  const PlantedRows data(1, 6000, 6);
  const WorstSlices worst = worst_slices(data.view(), data.by());
  ASSERT_FALSE(worst.found.empty());
  const WorstSlice& first = worst.found[0];
  int64_t rows = 0;
  for (size_t i = 0; i < 6000; ++i) rows += data.columns[1].codes[i] == 3 && data.columns[4].codes[i] == 3;
  EXPECT_EQ(first.rows, rows);
  EXPECT_TRUE(0 < first.tested_rows && first.tested_rows < rows) << first.tested_rows;
  EXPECT_NEAR(first.value, 0.6, 0.25);
  EXPECT_NEAR(first.rest, 0.1, 0.03);
  EXPECT_DOUBLE_EQ(first.gap, first.value - first.rest);
  EXPECT_TRUE(first.gap_interval.low > 0 && first.gap_interval.low < first.gap);
  const Interval wanted = wilson({first.value, static_cast<double>(first.tested_rows)});
  EXPECT_DOUBLE_EQ(first.interval.low, wanted.low);
  EXPECT_LE(first.p, first.adjusted_p);
  // As accuracy the same slice is as far below the rest.
  const WorstSlices accuracy = worst_slices(data.view(), data.by(), {.metric = "accuracy"});
  EXPECT_EQ(accuracy.found[0].name, first.name);
  EXPECT_NEAR(accuracy.found[0].gap, -first.gap, 1e-12);
  EXPECT_NEAR(accuracy.found[0].p, first.p, 1e-12);
}

TEST(WorstSlices, ASearchGoesAsDeepAsAskedAndTellsAsMany) {
  const PlantedRows data(2, 6000, 9);
  const WorstSlices shallow = worst_slices(data.view(), data.by(), {.depth = 1});
  for (const WorstSlice& slice : shallow.found) EXPECT_EQ(slice.where.size(), 1u) << slice.name;
  EXPECT_EQ(shallow.searched, 60u);
  const WorstSlices deep = worst_slices(data.view(), data.by(), {.most = 1});
  EXPECT_EQ(deep.found.size(), 1u);
  EXPECT_GT(deep.discovered, 1u) << "the values of which the planted slice is a tenth";
  EXPECT_EQ(worst_slices(data.view(), data.by(), {.min_rows = 100}).found.size() > 0, true);
}

// Numbers of which a hundredth, where two columns have the value 3, are missed by `planted` times as much;
// errors are lognormal, far more skewed than those of most models.
struct PlantedNumbers {
  PlantedRows rows;
  std::vector<double> predictions, truths, weights;

  PlantedNumbers(uint64_t seed, size_t count, double planted, bool weighted = false) : rows(seed, count, 1) {
    Philox random(seed, 77);
    for (size_t i = 0; i < count; ++i) {
      double z = -6;
      for (int k = 0; k < 12; ++k) z += static_cast<double>(random.uniform());
      const bool bad = rows.columns[1].codes[i] == 3 && rows.columns[4].codes[i] == 3;
      truths.push_back(static_cast<double>(random.below(100)));
      predictions.push_back(truths[i] + (random.below(2) ? 1 : -1) * std::exp(z) * (bad ? planted : 1));
      if (weighted) weights.push_back(random.below(2) == 0 ? 1 : 2);
    }
  }
  WorstSlices worst(uint64_t seed) const {
    return worst_slices(NumberRows(predictions, truths, weights), rows.by(), {.seed = seed});
  }
};

TEST(SlowWorstSlices, NumbersThatAreMissedMostAreFirst) {
  int first = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const WorstSlices worst = PlantedNumbers(seed, 10000, 4).worst(seed);
    first += !worst.found.empty() && worst.found[0].name == "c1=v3, c4=v3";
  }
  EXPECT_GE(first, 95);
}
TEST(SlowWorstSlices, OfNumbersThatAreMissedAlikeNothingIsFound) {
  for (const bool weighted : {false, true}) {
    int alarms = 0;
    for (uint64_t seed = 0; seed < 100; ++seed)
      alarms += PlantedNumbers(seed, 10000, 1, weighted).worst(seed).discovered > 0;
    EXPECT_LE(alarms, 10) << weighted;
  }
}

TEST(WorstSlices, OfNumbersTheyAreByTheMeanError) {
  const PlantedNumbers data(3, 6000, 4);
  const WorstSlices worst = data.worst(3);
  ASSERT_FALSE(worst.found.empty());
  EXPECT_EQ(worst.metric, "mae");
  EXPECT_FALSE(worst.exact);
  const WorstSlice& first = worst.found[0];
  EXPECT_EQ(first.name, "c1=v3, c4=v3");
  EXPECT_NEAR(first.rest, std::exp(0.5), 0.15);  // the mean of the law
  EXPECT_NEAR(first.value, 4 * std::exp(0.5), 3);
  EXPECT_TRUE(first.gap_interval.low > 0 && first.gap_interval.low < first.gap);
  EXPECT_TRUE(first.p > 0 && first.p <= first.adjusted_p);
  EXPECT_EQ(rule_of([&] {
              worst_slices(NumberRows(data.predictions, data.truths), data.rows.by(), {.metric = "r2"});
            }),
            "worst.metric");
}

// Two of several classes are tested as two are.
TEST(WorstSlices, OfSeveralClassesTheyAreByTheShareOfMistakes) {
  const PlantedRows data(4, 6000, 6);
  const std::vector<std::string> classes = {"no", "yes", "never"};
  std::vector<uint32_t> is(data.labels.begin(), data.labels.end()), said;
  for (const double score : data.scores) said.push_back(score > 0.5);
  const WorstSlices two = worst_slices(data.view(), data.by());
  const WorstSlices three = worst_slices(ClassRows(classes, is, said), data.by());
  ASSERT_FALSE(three.found.empty());
  EXPECT_EQ(three.metric, "error_rate");
  EXPECT_EQ(three.found[0].name, two.found[0].name);
  EXPECT_EQ(three.found[0].value, two.found[0].value);
  EXPECT_EQ(three.found[0].adjusted_p, two.found[0].adjusted_p);
  const WorstSlices right = worst_slices(ClassRows(classes, is, said), data.by(), {.metric = "accuracy"});
  EXPECT_NEAR(right.found[0].gap, -three.found[0].gap, 1e-12);
  EXPECT_EQ(rule_of([&] { worst_slices(ClassRows(classes, is, said), data.by(), {.metric = "macro_f1"}); }),
            "worst.metric");
}

TEST(WorstSlices, MetricsOfNoWorstAreRefused) {
  const PlantedRows data(1, 100, 1);
  for (const char* metric : {"selection_rate", "prevalence", "f1", "treatment_ratio", "mcc"})
    EXPECT_EQ(rule_of([&] { worst_slices(data.view(), data.by(), {.metric = metric}); }), "worst.metric");
  EXPECT_TRUE(higher_is_worse(rate("fnr")));
  EXPECT_FALSE(higher_is_worse(rate("ppv")));
}

}  // namespace
}  // namespace espalier
