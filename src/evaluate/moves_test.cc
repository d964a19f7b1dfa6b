#include "evaluate/moves.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "evaluate/estimates_test.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

using nlohmann::json;

struct Predicted {
  std::vector<double> truths, before, now, weights;
  CategoryColumn group{"g", {"a", "b"}, {}};
  PredictedTwice view() const { return {truths, before, now, weights}; }

  // Errors of deviation 2, of group b now `wider`.
  Predicted(size_t rows, double wider, uint64_t seed, bool weighted = true) {
    Philox random(seed, 9);
    for (size_t i = 0; i < rows; ++i) {
      group.codes.push_back(static_cast<uint32_t>(random.below(2)));
      truths.push_back(10 + 3 * normal_number(random));
      before.push_back(truths[i] + 2 * normal_number(random));
      now.push_back(truths[i] + (group.codes[i] ? wider : 2) * normal_number(random));
      if (weighted) weights.push_back(static_cast<double>(1 + random.below(4)) / 2);
    }
  }
};

TEST(Moves, AreScikitLearnsErrorsAndScipysPairedTest) {
  const json golden = read_golden("moves.json");
  const json& rows = golden["rows"];
  const std::vector<double> truths = rows["label"], before = rows["before"], now = rows["now"];
  const CategoryColumn group{"group", {"a", "b"}, rows["group"]};
  const std::vector<SliceMoves> all = moves({truths, before, now}, {{&group}});
  ASSERT_EQ(all.size(), 3u);
  for (size_t i = 0; i < all.size(); ++i) {
    const SliceMoves& its = all[i];
    const std::optional<Interval> around = interval(its.mae.change);
    const std::pair<const char*, double> figures[] = {{"mae_before", *its.mae.before.value},
                                                      {"mae", *its.mae.now.value},
                                                      {"rmse_before", *its.rmse.before.value},
                                                      {"rmse", *its.rmse.now.value},
                                                      {"change", *its.mae.change.value},
                                                      {"low", around->low},
                                                      {"high", around->high},
                                                      {"p", its.p},
                                                      {"moved", *its.moved.value},
                                                      {"move", *its.move.value},
                                                      {"size", *its.size.value}};
    for (const auto& [name, value] : figures)
      EXPECT_NEAR(value, golden["figures"][i][name].get<double>(), 1e-10) << name << " of " << its.slice.name;
    EXPECT_DOUBLE_EQ(*its.rmse.change.value, *its.rmse.now.value - *its.rmse.before.value);
  }
}

TEST(Moves, CountWeightsAndWhatMovesByMore) {
  const std::vector<double> truths = {0, 0, 0}, before = {1, 1, 1}, now = {1, 1.5, -2}, weights = {1, 1, 2};
  const SliceMoves all = moves({truths, before, now, weights, 0.5}, {})[0];
  EXPECT_DOUBLE_EQ(*all.moved.value, 0.5) << "0.5 is no more than 0.5";
  EXPECT_DOUBLE_EQ(*moves({truths, before, now, weights}, {})[0].moved.value, 0.75);
  EXPECT_DOUBLE_EQ(*all.move.value, (0.5 - 2 * 3) / 4);
  EXPECT_DOUBLE_EQ(*all.size.value, (0.5 + 2 * 3) / 4);
  EXPECT_DOUBLE_EQ(*all.mae.change.value, (0.5 + 2 * 1) / 4);
}

TEST(Moves, VariancesAreThoseOfWeightsThatChange) {
  Predicted rows(50, 3, 1);
  for (const auto& [name, of] :
       {std::pair<const char*, const Estimate& (*)(const SliceMoves&)>{
            "move", [](const SliceMoves& all) -> const Estimate& { return all.move; }},
        {"size", [](const SliceMoves& all) -> const Estimate& { return all.size; }},
        {"mae", [](const SliceMoves& all) -> const Estimate& { return all.mae.change; }},
        {"rmse", [](const SliceMoves& all) -> const Estimate& { return all.rmse.change; }}}) {
    const auto its = [&] { return of(moves(rows.view(), {})[0]); };
    const double expected = variance_by_weights(rows.weights, [&] { return *its().value; });
    EXPECT_NEAR(its().variance.value(), expected, 1e-5 * expected) << name;
  }
}

TEST(Moves, ASliceThatLosesIsNamedAndOthersSeldom) {
  int found = 0, falsely = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Predicted worse(1000, 3, seed), alike(1000, 2, seed, false);
    const std::vector<SliceMoves> all = moves(worse.view(), {{&worse.group}});
    EXPECT_EQ(all[2].slice.name, "g=b");
    found += all[2].lost();
    EXPECT_FALSE(moves(worse.view(), {{&worse.group}}, {.min_rows = 5000})[2].lost()) << "it is thin";
    for (const SliceMoves& one : moves(alike.view(), {{&alike.group}})) falsely += one.lost();
  }
  EXPECT_EQ(found, 200);
  EXPECT_LE(falsely, 12);
}

TEST(Moves, OfModelsThatAreAlikeOrOffByOneNumberHaveNoInterval) {
  const std::vector<double> truths = {1, 2, 3}, before = {1.5, 2.5, 3.5}, further = {2.5, 3.5, 4.5};
  const SliceMoves same = moves({truths, before, before}, {})[0];
  EXPECT_EQ(same.moved.value, 0);
  EXPECT_EQ(same.p, 1);
  EXPECT_FALSE(interval(same.mae.change));
  EXPECT_FALSE(same.lost());
  const SliceMoves shifted = moves({truths, before, further}, {})[0];
  EXPECT_EQ(shifted.mae.change.value, 1);
  EXPECT_EQ(shifted.p, 0);
  EXPECT_TRUE(shifted.lost());
  const std::vector<double> one = {1}, other = {2};
  EXPECT_EQ(moves({one, one, other}, {})[0].p, 1) << "one row tells nothing";
}

TEST(Moves, RowsOfNoUseAreRefused) {
  const std::vector<double> two = {0, 1}, one = {0}, bad = {1, -1}, none = {0, std::nan("")};
  EXPECT_EQ(rule_of([&] { moves({two, one, two}, {}); }), "evaluate.rows");
  EXPECT_EQ(rule_of([&] { moves({two, two, one}, {}); }), "evaluate.rows");
  EXPECT_EQ(rule_of([&] { moves({two, two, none}, {}); }), "evaluate.score");
  EXPECT_EQ(rule_of([&] { moves({two, two, two, bad}, {}); }), "evaluate.weight");
}

}  // namespace
}  // namespace espalier
