#include "evaluate/bootstrap.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/thread_pool.h"
#include "espalier/threads.h"
#include "evaluate/jackknife.h"
#include "evaluate/random_rows_test.h"
#include "evaluate/ranking.h"
#include "evaluate/rates.h"

namespace espalier {
namespace {

using Measured = std::function<std::optional<double>(const Replicate&)>;
const std::vector<std::pair<const char*, Measured>>& measures() {
  static const std::vector<std::pair<const char*, Measured>> table{
      {"tpr", [](const Replicate& one) { return rate("tpr")(one.at[0]); }},
      {"f1", [](const Replicate& one) { return rate("f1")(one.at[0]); }},
      {"auc", [](const Replicate& one) { return one.auc; }},
      {"log_loss", [](const Replicate& one) { return score_mean("log_loss")(one.sums); }},
      {"calibration", [](const Replicate& one) { return score_mean("calibration")(one.sums); }}};
  return table;
}

std::vector<double> values(const Measured& of, const std::vector<Replicate>& replicates) {
  std::vector<double> out;
  for (const Replicate& one : replicates) out.push_back(of(one).value());
  return out;
}

ScoreCells cells_of(const ScoredRows& rows, const Slicing& slicing, size_t most) {
  const std::vector<double> thresholds = {0.5};
  return score_cells(rows, log_losses(rows), order_by_score(rows.scores()), pass_thresholds(rows, thresholds),
                     slicing, most);
}

struct Moments {
  double mean = 0, deviation = 0;
  explicit Moments(const std::vector<double>& values) {
    for (const double one : values) mean += one / static_cast<double>(values.size());
    for (const double one : values) deviation += (one - mean) * (one - mean);
    deviation = std::sqrt(deviation / static_cast<double>(values.size() - 1));
  }
};

// Cells of rows of one weight are drawn whole, and those of two weights row by row: a weight of 1 + 1e-9 in
// one row takes the other way, and the laws are the same.
TEST(Bootstrap, CellsAreDrawnAsTheirRowsAre) {
  constexpr size_t kReplicates = 4000;
  RandomRows rows = random_rows(200, 5, false);
  const Slicing all = overall(rows.scores.size());
  const auto by_cell = bootstrap(rows.view(), {cells_of(rows.view(), all, 256)}, kReplicates, 1)[0][0];
  rows.weights.assign(rows.scores.size(), 1);
  rows.weights[3] += 1e-9;
  const auto by_row = bootstrap(rows.view(), {cells_of(rows.view(), all, 256)}, kReplicates, 1)[0][0];
  for (const auto& [name, of] : measures()) {
    const Moments a(values(of, by_cell)), b(values(of, by_row));
    EXPECT_NEAR(a.mean, b.mean, 4 * a.deviation * std::sqrt(2.0 / kReplicates)) << name;
    EXPECT_NEAR(a.deviation / b.deviation, 1, 4 / std::sqrt(double{kReplicates})) << name;
  }
}

// A row's weight of Poisson's law: the weight of n rows has the mean and the variance n.
TEST(Bootstrap, WeightsHaveTheMeanAndTheVarianceOfTheirRows) {
  constexpr size_t kReplicates = 4000;
  const RandomRows rows = random_rows(300, 6, false);
  const auto drawn = bootstrap(rows.view(), {cells_of(rows.view(), overall(300), 256)}, kReplicates, 2)[0][0];
  std::vector<double> weights;
  for (const Replicate& one : drawn) weights.push_back(one.sums.rows.weight);
  const Moments moments(weights);
  EXPECT_NEAR(moments.mean, 300, 4 * std::sqrt(300.0 / kReplicates));
  EXPECT_NEAR(moments.deviation / std::sqrt(300.0), 1, 4 / std::sqrt(2.0 * kReplicates));
}

TEST(Bootstrap, AnyNumberOfThreadsDrawsTheSame) {
  const int before = threads();
  for (const bool weighted : {false, true}) {
    const RandomRows rows = random_rows(500, 9, weighted);
    CategoryColumn group{"group", {"a", "b"}, {}};
    for (size_t i = 0; i < 500; ++i) group.codes.push_back(i % 3 == 0);
    const std::vector<ScoreCells> cells = {cells_of(rows.view(), overall(500), 256),
                                           cells_of(rows.view(), slice_by({&group}), 256)};
    std::vector<std::vector<double>> drawn;
    for (const int count : {1, 2, 3, 8}) {
      set_threads(count);
      std::vector<double>& its = drawn.emplace_back();
      for (const auto& slicing : bootstrap(rows.view(), cells, 30, 7)) {
        for (const auto& slice : slicing) {
          ASSERT_EQ(slice.size(), 30u);
          for (const auto& [name, of] : measures())
            for (const double value : values(of, slice)) its.push_back(value);
        }
      }
    }
    for (const auto& one : drawn) EXPECT_EQ(one, drawn[0]);
    const auto other = bootstrap(rows.view(), cells, 30, 8);
    EXPECT_NE(*other[0][0][0].auc, *bootstrap(rows.view(), cells, 30, 7)[0][0][0].auc) << "another seed";
  }
  set_threads(before);
}

double normal(Philox& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.uniform());
  return sum;
}

// Scores whose true figures are known: of positives logistic of a normal number around 1, of negatives around
// 0, a third being positives.
RandomRows normal_rows(Philox& random, size_t rows, bool weighted) {
  RandomRows out;
  for (size_t i = 0; i < rows; ++i) {
    out.labels.push_back(random.below(3) == 0);
    out.scores.push_back(1 / (1 + std::exp(-normal(random) - (out.labels.back() ? 0.5 : -0.5))));
    if (weighted) out.weights.push_back(random.below(2) == 0 ? 1 : 2);
  }
  return out;
}

// Of how many samples the interval holds what all samples together say.
void expect_coverage(IntervalMethod method, bool weighted, int runs, size_t rows, double off) {
  Philox truth_random(1000);
  const RandomRows many = normal_rows(truth_random, 1000 * static_cast<size_t>(runs) / 4, false);
  const ScoreCells of_many = cells_of(many.view(), overall(many.scores.size()), 4096);
  std::vector<double> weights;
  for (const ScoreCell& cell : of_many.cells) {
    for (const ScoreSums& sums : cell.of) weights.push_back(sums.rows.weight);
  }
  const Replicate truth = replicates_of<1>(of_many.of_slice(0), 1, weights)[0];
  std::vector<int> held(measures().size());
  for (int run = 0; run < runs; ++run) {
    Philox random(static_cast<uint64_t>(run), 12);
    const RandomRows sample = normal_rows(random, rows, weighted);
    const ScoreCells cells = cells_of(sample.view(), overall(rows), kJackknifeCells);
    const auto seed = static_cast<uint64_t>(run);
    const std::vector<Replicate> drawn =
        method == IntervalMethod::kBootstrap
            ? bootstrap(sample.view(), {cells}, 200, seed)[0][0]
            : jackknife(sample.view(), cells, jackknife_buckets(rows, seed))[0];
    std::vector<double> own;
    for (const ScoreCell& cell : cells.cells) {
      for (const ScoreSums& sums : cell.of) own.push_back(sums.rows.weight);
    }
    const Replicate itself = replicates_of<1>(cells.of_slice(0), 1, own)[0];
    for (size_t i = 0; i < held.size(); ++i) {
      const Measured& of = measures()[i].second;
      const Interval interval = *resampled_interval(*of(itself), values(of, drawn), method);
      held[i] += interval.low <= *of(truth) && *of(truth) <= interval.high;
    }
  }
  for (size_t i = 0; i < held.size(); ++i) {
    EXPECT_GE(held[i], (0.95 - off) * runs) << measures()[i].first;
    EXPECT_LE(held[i], (0.95 + off) * runs) << measures()[i].first;
  }
}

TEST(Bootstrap, IntervalsHoldTheTruthNineteenTimesInTwenty) {
  expect_coverage(IntervalMethod::kBootstrap, false, 200, 100, 0.04);
}
TEST(Jackknife, IntervalsHoldTheTruthNineteenTimesInTwenty) {
  expect_coverage(IntervalMethod::kJackknife, false, 200, 100, 0.04);
}
TEST(SlowBootstrap, IntervalsHoldTheTruthOfWeightedAndUnweightedRows) {
  for (const bool weighted : {false, true}) {
    for (const IntervalMethod method : {IntervalMethod::kBootstrap, IntervalMethod::kJackknife}) {
      SCOPED_TRACE(cat(weighted, " ", static_cast<int>(method)));
      expect_coverage(method, weighted, 1000, 400, 0.02);
    }
  }
}

}  // namespace
}  // namespace espalier
