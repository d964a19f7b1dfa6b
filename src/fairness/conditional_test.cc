// Gaps within strata against Fairlearn, and what follows from their definition.
#include "fairness/conditional.h"

#include <algorithm>

#include "evaluate/category_column_test.h"
#include "evaluate/random_rows_test.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

constexpr double kBound = 1e-12;

// The rows of tests/golden/conditional.py, whose scores are 1 where they are selected.
struct GivenRows {
  nlohmann::json golden = read_golden("conditional.json");
  CategoryColumn group = column_of("group", column<std::string>("group"));
  CategoryColumn job = column_of("job", column<std::string>("job"));
  std::vector<double> scores = column<double>("said"), weights = column<double>("weight");
  std::vector<uint8_t> labels = column<uint8_t>("said");

  template <class T>
  std::vector<T> column(const char* name) const {
    return golden.at("rows").at(name).get<std::vector<T>>();
  }
  Assessment assessment(bool weighted, const AssessmentOptions& options = {}) const {
    return assess(
        ScoredRows{scores, labels, weighted ? std::span<const double>(weights) : std::span<const double>()},
        {{&group, &job}, {&group}}, options);
  }
};

TEST(Conditional, GapsWithinStrataAreFairlearns) {
  const GivenRows rows;
  for (const bool weighted : {false, true}) {
    const nlohmann::json& wanted = rows.golden.at(weighted ? "weighted" : "plain");
    const Assessment assessment = rows.assessment(weighted);
    const ConditionalGap got = conditional_gap(rate("selection_rate"), assessment.by[0], 1);
    EXPECT_NEAR(got.gap.value.value(), wanted.at("all").get<double>(), kBound);
    EXPECT_LT(got.gap.interval.value().low, *got.gap.value);
    EXPECT_GT(got.gap.interval.value().high, *got.gap.value);
    ASSERT_EQ(got.strata.size(), wanted.at("within").size());
    for (const StratumGap& stratum : got.strata) {
      const std::string job = stratum.name.substr(stratum.name.find('=') + 1);
      EXPECT_NEAR(stratum.gap.value.value(), wanted.at("within").at(job).get<double>(), kBound) << job;
      EXPECT_NEAR(stratum.high_rate - stratum.low_rate, *stratum.gap.value, kBound);
    }
    EXPECT_EQ(got.left_out, std::vector<std::string>{"job=guard"});
    EXPECT_TRUE(got.thin.empty());
    EXPECT_EQ(got.groups[got.low].name, "group=f");
  }
}

TEST(Conditional, OfTwoGroupsIsTheMeanOfTheStrata) {
  const GivenRows rows;
  const Assessment assessment = rows.assessment(true);
  int64_t least = 0;
  for (const SliceFigures& slice : assessment.by[1].slices)
    if (slice.slice.name == "group=x") least = slice.slice.rows + 1;
  const ConditionalGap got = conditional_gap(rate("selection_rate"), assessment.by[0], 1,
                                             {.least_rows = least, .reference = "group=m"});
  EXPECT_EQ(got.thin, std::vector<std::string>{"group=x"});
  ASSERT_EQ(got.groups.size(), 2u);
  EXPECT_EQ(got.groups[got.low].name, "group=m");  // the reference
  double mean = 0, weight = 0;
  for (const StratumGap& stratum : got.strata) {
    EXPECT_EQ(got.groups[stratum.low].name, "group=m");
    mean += stratum.weight * *stratum.gap.value;
    weight += stratum.weight;
  }
  EXPECT_NEAR(weight, 1, kBound);
  EXPECT_NEAR(*got.gap.value, mean, kBound);
  EXPECT_LT(*got.gap.value, 0);
}

// What differs between strata alone is no gap within them.
TEST(Conditional, GroupsThatDifferInTheirStrataAloneAreAlike) {
  std::vector<double> scores;
  std::vector<uint8_t> labels;
  CategoryColumn sex{"sex", {"f", "m"}, {}}, job{"job", {"a", "b"}, {}};
  const auto add = [&](uint32_t s, uint32_t j, int selected, int rows) {
    for (int i = 0; i < rows; ++i) {
      scores.push_back(i < selected);
      labels.push_back(i % 2 == 0);
      sex.codes.push_back(s);
      job.codes.push_back(j);
    }
  };
  add(0, 0, 18, 90), add(0, 1, 8, 10), add(1, 0, 2, 10), add(1, 1, 72, 90);
  const Assessment assessment = assess(ScoredRows{scores, labels}, {{&sex, &job}, {&sex}});
  const SliceMetric selected("selection_rate");
  EXPECT_NEAR(*selected.difference(assessment.by[1].slices[1], assessment.by[1].slices[0], 0).value, 0.48,
              kBound);
  const ConditionalGap got = conditional_gap(rate("selection_rate"), assessment.by[0], 1);
  EXPECT_NEAR(*got.gap.value, 0, kBound);
  EXPECT_NEAR(got.groups[0].rate, 0.5, kBound);
  // Of a rate that counts positives strata weigh as many as they have.
  const ConditionalGap found = conditional_gap(rate("true_positive_rate"), assessment.by[0], 1);
  EXPECT_NEAR(found.strata[0].weight, 0.5, kBound);
  EXPECT_EQ(found.strata[0].rows, 50);
}

TEST(Conditional, OneStratumIsNewcombes) {
  const GivenRows rows;
  CategoryColumn all{"all", {"one"}, std::vector<uint32_t>(rows.scores.size())};
  const Assessment assessment =
      assess(ScoredRows{rows.scores, rows.labels}, {{&rows.group, &all}, {&rows.group}});
  const ConditionalGap got = conditional_gap(rate("selection_rate"), assessment.by[0], 1);
  ASSERT_EQ(got.strata.size(), 1u);
  EXPECT_NEAR(got.gap.interval->low, got.strata[0].gap.interval->low, kBound);
  EXPECT_NEAR(got.gap.interval->high, got.strata[0].gap.interval->high, kBound);
}

TEST(Conditional, IntervalsAreResampledWhereTheAssessmentIs) {
  const GivenRows rows;
  const Assessment closed = rows.assessment(false);
  const Assessment drawn =
      rows.assessment(false, {.resampling = {.method = IntervalMethod::kBootstrap, .replicates = 400}});
  const auto interval = [](const Assessment& assessment) {
    return conditional_gap(rate("selection_rate"), assessment.by[0], 1).gap.interval.value();
  };
  const Interval a = interval(closed), b = interval(drawn);
  EXPECT_NE(a.low, b.low);
  EXPECT_NEAR(a.high - a.low, b.high - b.low, 0.15 * (a.high - a.low));
}

TEST(Conditional, NothingIsComparedWhereNoStratumHasTwoGroups) {
  const std::vector<double> scores = {0, 1};
  const std::vector<uint8_t> labels = {0, 1};
  const CategoryColumn sex{"sex", {"f", "m"}, {0, 1}}, job{"job", {"a", "b"}, {0, 1}};
  const Assessment assessment = assess(ScoredRows{scores, labels}, {{&sex, &job}});
  const ConditionalGap got = conditional_gap(rate("selection_rate"), assessment.by[0], 1);
  EXPECT_EQ(got.gap.value, std::nullopt);
  EXPECT_TRUE(got.strata.empty());
  EXPECT_EQ(got.left_out.size(), 2u);
}

}  // namespace
}  // namespace espalier
