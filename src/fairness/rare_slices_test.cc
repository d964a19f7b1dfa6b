#include "fairness/rare_slices.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "evaluate/random_rows_test.h"

namespace espalier {
namespace {

using Names = std::vector<std::string>;

// Rows with so many of each value, or of each pair of values.
struct CountedRows {
  RandomRows rows;
  std::vector<CategoryColumn> columns;

  CountedRows(Names names, const std::vector<std::pair<Names, int>>& counts) {
    for (const std::string& name : names) columns.push_back({name, {}, {}});
    size_t total = 0;
    for (const auto& [values, count] : counts) {
      total += static_cast<size_t>(count);
      for (size_t c = 0; c < columns.size(); ++c) {
        auto& known = columns[c].values;
        auto found = std::ranges::find(known, values[c]);
        if (found == known.end()) found = known.insert(known.end(), values[c]);
        columns[c].codes.insert(columns[c].codes.end(), static_cast<size_t>(count),
                                static_cast<uint32_t>(found - known.begin()));
      }
    }
    rows = random_rows(total, 3, false);
  }
  Assessment assessed(const std::vector<std::vector<size_t>>& slicings) const {
    std::vector<std::vector<const CategoryColumn*>> by;
    for (const std::vector<size_t>& slicing : slicings) {
      by.emplace_back();
      for (const size_t c : slicing) by.back().push_back(&columns[c]);
    }
    return assess(rows.view(), by, {.slices = {.min_rows = 15}, .histograms = true});
  }
};

Names names(const SlicingFigures& by) {
  Names out;
  for (const SliceFigures& slice : by.slices) out.push_back(slice.slice.name);
  return out;
}

TEST(RareSlices, NothingRareChangesNothing) {
  const CountedRows given({"g"}, {{{"a"}, 10}, {{"b"}, 30}});
  const FoldedAssessment folded = fold_rare(given.assessed({{0}}));
  EXPECT_EQ(names(folded.assessment.by[0]), (Names{"g=a", "g=b"}));
  EXPECT_TRUE(folded.hidden.empty());
}

TEST(RareSlices, OneAloneTakesTheNextSmallestWithIt) {
  const CountedRows given({"g"}, {{{"a"}, 40}, {{"b"}, 9}, {{"c"}, 20}, {{"d"}, 30}});
  const FoldedAssessment folded = fold_rare(given.assessed({{0}}));
  ASSERT_EQ(names(folded.assessment.by[0]), (Names{"g=a", "g=d", "g=(rare)"}));
  EXPECT_EQ(folded.hidden, (Names{"g=b", "g=c"}));
  EXPECT_EQ(folded.folded, (std::map<std::string, int64_t>{{"g=(rare)", 2}}));
  EXPECT_EQ(folded.assessment.by[0].slices[2].slice.rows, 29);
}

TEST(RareSlices, TogetherTheyAreNotRare) {
  const CountedRows given({"g"}, {{{"a"}, 40}, {{"b"}, 4}, {{"c"}, 5}, {{"d"}, 30}});
  EXPECT_EQ(names(fold_rare(given.assessed({{0}})).assessment.by[0]), (Names{"g=a", "g=(rare)"}));
  EXPECT_EQ(names(fold_rare(given.assessed({{0}}), 5).assessment.by[0]), (Names{"g=a", "g=d", "g=(rare)"}))
      << "4 and 5 rows: 4 alone is rare, and takes 5 with it";
}

TEST(RareSlices, WhereAllAreRareNoneIsLeft) {
  const CountedRows given({"g", "h"}, {{{"a", "x"}, 4}, {{"b", "x"}, 15}});
  const FoldedAssessment folded = fold_rare(given.assessed({{0}, {1}}));
  ASSERT_EQ(folded.assessment.by.size(), 1u);
  EXPECT_EQ(names(folded.assessment.by[0]), (Names{"h=x"}));
  EXPECT_EQ(folded.hidden, (Names{"g=a", "g=b"}));
  EXPECT_EQ(folded.left_out, Names{"g"});
  EXPECT_TRUE(folded.folded.empty());
}

// The figures of what was folded are those of its rows.
TEST(RareSlices, TheFoldIsTheSumOfItsParts) {
  const CountedRows given({"g"}, {{{"a"}, 40}, {{"b"}, 5}, {{"c"}, 7}});
  const CountedRows as_one({"g"}, {{{"a"}, 40}, {{"rest"}, 12}});
  const SliceFigures fold = fold_rare(given.assessed({{0}})).assessment.by[0].slices[1];
  const SliceFigures one = as_one.assessed({{0}}).by[0].slices[1];
  EXPECT_EQ(fold.slice.name, "g=(rare)");
  EXPECT_EQ(fold.slice.values, Names{"(rare)"});
  EXPECT_EQ(fold.slice.rows, one.slice.rows);
  EXPECT_TRUE(fold.slice.thin && one.slice.thin);
  for (size_t i = 0; i < kOutcomes; ++i) EXPECT_EQ(fold.at[0].of[i].rows, one.at[0].of[i].rows);
  EXPECT_NEAR(fold.sums.log_losses, one.sums.log_losses, 1e-12);
  for (size_t bin = 0; bin < one.histogram.size(); ++bin)
    EXPECT_EQ(fold.histogram[bin][1].rows, one.histogram[bin][1].rows);
}

// What anybody can subtract: a total less those of its parts that are shown. Random tables, all slicings of
// three columns.
TEST(RareSlices, NoFewRowsAreLeftByASubtraction) {
  Philox random(5);
  int hiding = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<std::pair<Names, int>> counts;
    for (const char* a : {"a", "b", "c"}) {
      for (const char* x : {"x", "y"}) {
        for (const char* p : {"p", "q"})
          counts.push_back(
              {{a, x, p},
               static_cast<int>(random.below(random.below(3) == 0 ? 15 : 60) * (random.below(6) > 0))});
      }
    }
    const CountedRows given({"g", "h", "i"}, counts);
    const Assessment all = given.assessed({{0, 1, 2}, {0, 1}, {2}, {0}, {1, 2}, {1}, {0, 2}});
    const FoldedAssessment folded = fold_rare(all);
    hiding += !folded.hidden.empty();
    const auto is_hidden = [&](const SliceFigures& slice) {
      return std::ranges::count(folded.hidden, slice.slice.name) > 0;
    };
    for (const SlicingFigures& fine : all.by) {
      for (const SliceFigures& slice : fine.slices) EXPECT_TRUE(slice.slice.rows >= 10 || is_hidden(slice));
      for (const SlicingFigures& coarse : all.by) {
        std::vector<size_t> places;
        for (const std::string& column : coarse.columns) {
          const auto found = std::ranges::find(fine.columns, column);
          if (found != fine.columns.end())
            places.push_back(static_cast<size_t>(found - fine.columns.begin()));
        }
        if (places.size() < coarse.columns.size() || fine.columns.size() == places.size()) continue;
        for (const SliceFigures& total : coarse.slices) {
          int64_t parts = 0, rows = 0, shown = 0;
          for (const SliceFigures& slice : fine.slices) {
            bool inside = true;
            for (size_t i = 0; i < places.size(); ++i)
              inside = inside && slice.slice.values[places[i]] == total.slice.values[i];
            if (!inside) continue;
            if (is_hidden(slice)) {
              ++parts, rows += slice.slice.rows;
            } else {
              ++shown;
            }
          }
          if (is_hidden(total)) {
            EXPECT_EQ(shown, 0) << total.slice.name << " is the sum of what is shown of " << fine.name();
          } else if (parts > 0) {
            EXPECT_TRUE(parts > 1 && rows >= 10) << total.slice.name << " by " << fine.name();
          }
        }
      }
    }
  }
  EXPECT_GT(hiding, 20);
}

TEST(RareSlices, TextsLoseTheNamesOfHiddenSlices) {
  const Names hidden{"g=a", "g=a, h=x", "g=b c"};
  EXPECT_EQ(without_names("g=a, h=x and g=a; g=b c.", hidden), "(rare) and (rare); (rare).");
  EXPECT_EQ(without_names("g=ab, bg=a, g=a", hidden), "g=ab, bg=a, (rare)") << "whole words";
  EXPECT_EQ(without_names("", hidden), "");
}

}  // namespace
}  // namespace espalier
