#include "evaluate/score_cells.h"

#include <gtest/gtest.h>

#include "evaluate/random_rows_test.h"
#include "evaluate/ranking.h"
#include "evaluate/replicates.h"

namespace espalier {
namespace {

struct CelledRows {
  RandomRows rows = random_rows(900, 3);
  CategoryColumn group{"group", {"a", "b", "c"}, {}};
  std::vector<double> thresholds = {0.25, 0.5};
  PassedThresholds passed = pass_thresholds(rows.view(), thresholds);
  std::vector<uint32_t> order = order_by_score(rows.scores);
  Slicing slicing;

  CelledRows() {
    Philox random(4);
    for (size_t i = 0; i < rows.scores.size(); ++i) {
      const auto code = static_cast<uint32_t>(random.below(4));
      group.codes.push_back(code < 3 ? code : CategoryColumn::kMissing);
    }
    slicing = slice_by({&group}, {.missing = MissingGroup::kLeftOut});
  }
  ScoreCells cells(size_t most) const {
    return score_cells(rows.view(), log_losses(rows.view()), order, passed, slicing, most);
  }
};

TEST(ScoreCells, HoldTheRowsOfTheirSliceByAscendingScore) {
  const CelledRows data;
  for (const size_t most : {1, 8, 1000}) {
    const ScoreCells cells = data.cells(most);
    ASSERT_EQ(cells.begins.size(), 4u);
    std::vector<int64_t> rows(cells.cells.size());
    for (size_t row = 0; row < data.rows.scores.size(); ++row) {
      const uint32_t slice = data.slicing.of_row[row], cell = cells.of_row[row];
      if (slice == Slicing::kNone) {
        EXPECT_EQ(cell, ScoreCells::kNone);
        continue;
      }
      EXPECT_TRUE(cells.begins[slice] <= cell && cell < cells.begins[slice + 1]);
      EXPECT_EQ(cells.cells[cell].passed, data.passed.of_row[row]);
      ++rows[cell];
    }
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rows[i], cells.cells[i].of[0].rows.rows + cells.cells[i].of[1].rows.rows);
    for (size_t slice = 0; slice < 3; ++slice) {
      const size_t count = cells.of_slice(slice).size();
      if (most == 1) {
        EXPECT_EQ(count, 3u) << "one of those that pass alike";
      } else if (most == 8) {
        EXPECT_TRUE(8 <= count && count <= 10) << count;
      } else {
        EXPECT_GT(count, 60u) << "one of each score";
      }
    }
  }
}

// With the weights that it has, a slice says what it says.
TEST(ScoreCells, GiveTheFiguresOfTheirSliceHoweverCoarse) {
  const CelledRows data;
  const ScoredRows rows = data.rows.view();
  const std::vector<Confusion> counted = confusions(rows, data.passed, data.slicing);
  const std::vector<ScoreSums> sums = score_sums(rows, data.slicing);
  const auto areas = aucs(rows, data.order, data.slicing);
  for (const size_t most : {1, 8, 1000}) {
    const ScoreCells cells = data.cells(most);
    for (size_t slice = 0; slice < 3; ++slice) {
      std::vector<double> weights;
      for (const ScoreCell& cell : cells.of_slice(slice)) {
        for (const ScoreSums& of_label : cell.of) weights.insert(weights.end(), {-1, of_label.rows.weight});
      }
      const Replicate same = replicates_of<2>(cells.of_slice(slice), 2, weights)[1];
      for (size_t t = 0; t < 2; ++t) {
        for (size_t i = 0; i < kOutcomes; ++i)
          EXPECT_EQ(same.at[t].of[i].weight, counted[2 * slice + t].of[i].weight) << "halves add up exactly";
      }
      EXPECT_NEAR(*same.auc, areas[slice]->area, 1e-12);
      for (const ScoreMean& mean : score_means())
        EXPECT_NEAR(*mean(same.sums), *mean(sums[slice]), 1e-12) << mean.name;
    }
  }
}

}  // namespace
}  // namespace espalier
