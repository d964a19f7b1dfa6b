// Metrics by slice against the figures of tests/golden/fairness.py and tests/golden/tfma.py.
#include <map>

#include <gtest/gtest.h>

#include "evaluate/golden_rows_test.h"
#include "evaluate/ranking.h"
#include "evaluate/rates.h"
#include "evaluate/score_means.h"

namespace espalier {
namespace {

using nlohmann::json;

constexpr double kBound = 1e-12;

TEST(EvaluateGoldens, RatesAreFairlearns) {
  const GoldenRows data;
  for (const json& c : data.golden.at("fairlearn")) {
    const std::string weights = c.at("weights");
    const Positive positive = c.at("strict").get<bool>() ? Positive::kAbove : Positive::kFrom;
    const std::vector<Confusion> groups = data.of_groups(weights, positive);
    ASSERT_EQ(groups.size(), 4u);
    for (const auto& [name, value] : c.at("overall").items()) {
      EXPECT_NEAR(rate(name)(data.of_all(weights, positive)).value(), value.get<double>(), kBound) << name;
      for (size_t i = 0; i < groups.size(); ++i) {
        // Fairlearn and scikit-learn say 0 where a rate is undefined.
        EXPECT_NEAR(rate(name)(groups[i]).value_or(0), c.at("by_group").at(name)[i].get<double>(), kBound)
            << name << " of " << data.group.values[i];
      }
    }
  }
  EXPECT_FALSE(rate("tpr")(data.of_groups("plain", Positive::kFrom)[3]));
}

TEST(EvaluateGoldens, CrossesAreFairlearns) {
  const GoldenRows data;
  const auto edges = data.golden.at("ages").get<std::vector<double>>();
  const CategoryColumn age = bucket("age", data.column<double>("age"), edges);
  const Slicing slicing = slice_by({&data.group, &age});
  const std::vector<Confusion> got = data.confusions_of(slicing, "weighted", Positive::kFrom);
  std::map<std::string, double> rates;
  for (size_t i = 0; i < got.size(); ++i)
    rates[slicing.slices[i].name] = rate("selection_rate")(got[i]).value();
  size_t present = 0;
  for (const json& c : data.golden.at("crossed")) {
    const std::string name = "group=" + data.group.values[c.at("group").get<size_t>()] +
                             ", age=" + age.values[c.at("age").get<size_t>()];
    ASSERT_EQ(rates.contains(name), !c.at("value").is_null()) << name;
    if (!rates.contains(name)) continue;
    ++present;
    EXPECT_NEAR(rates[name], c.at("value").get<double>(), kBound) << name;
  }
  EXPECT_EQ(present, slicing.slices.size());
}

TEST(EvaluateGoldens, AreasAndMeansAreScikitLearns) {
  const GoldenRows data;
  const std::vector<uint32_t> order = order_by_score(data.scores);
  for (const json& c : data.golden.at("scores")) {
    const ScoredRows rows = data.rows(c.at("weights"));
    // Of all rows, then of each group.
    std::vector<ScoreSums> sums = score_sums(rows, overall(rows.size()));
    std::vector<std::optional<Auc>> areas = aucs(rows, order, overall(rows.size()));
    const Slicing slicing = slice_by({&data.group});
    for (const ScoreSums& of_group : score_sums(rows, slicing)) sums.push_back(of_group);
    for (const auto& of_group : aucs(rows, order, slicing)) areas.push_back(of_group);
    ASSERT_EQ(areas.size(), c.at("auc").size());
    for (size_t i = 0; i < areas.size(); ++i) {
      ASSERT_EQ(areas[i].has_value(), !c.at("auc")[i].is_null()) << i;
      if (areas[i].has_value()) {
        EXPECT_NEAR(areas[i]->area, c.at("auc")[i].get<double>(), kBound) << i;
      }
      for (const char* name : {"log_loss", "brier_score"})
        EXPECT_NEAR(score_mean(name)(sums[i]).value(), c.at(name)[i].get<double>(), kBound) << name << i;
    }
  }
}

void expect_tfma(const std::optional<double>& got, const json& expected, const std::string& what) {
  ASSERT_EQ(got.has_value(), !expected.is_null()) << what;
  if (got.has_value()) {
    EXPECT_NEAR(*got, expected.get<double>(), 1e-11) << what;
  }
}

// One slice of TFMA's; undefined where TFMA says NaN.
void expect_tfma_slice(const ScoredRows& rows, const Slicing& slicing, size_t slice, const json& of_slice,
                       const std::vector<double>& thresholds) {
  const auto at = [&](const std::vector<double>& some) {
    return confusions(rows, pass_thresholds(rows, some, Positive::kAbove), slicing);
  };
  const std::vector<Confusion> half = at({0.5}), all = at(thresholds);
  for (const auto& [name, value] : of_slice.at("rates").items())
    expect_tfma(rate(name)(half[slice]), value, name);
  for (const auto& [name, values] : of_slice.at("indicators").items()) {
    ASSERT_EQ(values.size(), thresholds.size());
    for (size_t i = 0; i < thresholds.size(); ++i)
      expect_tfma(rate(name)(all[slice * thresholds.size() + i]), values[i], name + " of all");
  }
  const auto areas = aucs(rows, order_by_score(rows.scores()), slicing);
  for (const auto& [name, value] : of_slice.at("means").items()) {
    if (name == "auc") {
      // TFMA says 0 of a slice of one class.
      expect_tfma(areas[slice] ? areas[slice]->area : 0, value, name);
    } else {
      expect_tfma(score_mean(name)(score_sums(rows, slicing)[slice]), value, name);
    }
  }
}

TEST(EvaluateGoldens, SlicesAreTfmas) {
  const GoldenRows data;
  const json golden = read_golden("tfma.json");
  const auto thresholds = golden.at("thresholds").get<std::vector<double>>();
  for (const json& of_slice : golden.at("slices")) {
    SCOPED_TRACE(of_slice.at("group"));
    if (of_slice.at("group").is_null()) {
      expect_tfma_slice(data.rows("weighted"), overall(data.scores.size()), 0, of_slice, thresholds);
    } else {
      expect_tfma_slice(data.rows("weighted"), slice_by({&data.group}), of_slice.at("group"), of_slice,
                        thresholds);
    }
  }
  EXPECT_EQ(golden.at("slices").size(), 5u);
}

}  // namespace
}  // namespace espalier
