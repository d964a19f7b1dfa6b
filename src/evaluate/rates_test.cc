#include "evaluate/rates.h"

#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "evaluate/counted_test.h"

namespace espalier {
namespace {

TEST(Rates, FollowTheirFormulas) {
  // TP 6, FP 2, TN 9, FN 3.
  const std::map<std::string_view, double> expected{
      {"true_positive_rate", 6.0 / 9},
      {"false_negative_rate", 3.0 / 9},
      {"false_positive_rate", 2.0 / 11},
      {"true_negative_rate", 9.0 / 11},
      {"positive_predictive_value", 6.0 / 8},
      {"false_discovery_rate", 2.0 / 8},
      {"negative_predictive_value", 9.0 / 12},
      {"false_omission_rate", 3.0 / 12},
      {"selection_rate", 8.0 / 20},
      {"negative_rate", 12.0 / 20},
      {"accuracy", 15.0 / 20},
      {"error_rate", 5.0 / 20},
      {"prevalence", 9.0 / 20},
      {"false_positives_per_row", 2.0 / 20},
      {"false_negatives_per_row", 3.0 / 20},
      {"f1", 12.0 / 17},
      {"threat_score", 6.0 / 11},
      {"treatment_ratio", 3.0 / 2},
      {"balanced_accuracy", (6.0 / 9 + 9.0 / 11) / 2},
      {"matthews_correlation", (6.0 * 9 - 2 * 3) / std::sqrt(8.0 * 9 * 11 * 12)},
      {"fowlkes_mallows", std::sqrt(6.0 / 8 * 6 / 9)},
      {"informedness", 6.0 / 9 + 9.0 / 11 - 1},
      {"markedness", 6.0 / 8 + 9.0 / 12 - 1},
      {"prevalence_threshold", std::sqrt(2.0 / 11) / (std::sqrt(6.0 / 9) + std::sqrt(2.0 / 11))},
      {"positive_likelihood_ratio", 6.0 / 9 / (2.0 / 11)},
      {"negative_likelihood_ratio", 3.0 / 9 / (9.0 / 11)},
      {"diagnostic_odds_ratio", 6.0 * 9 / (2 * 3)},
      // Benefits: twice 2, 15 times 1, three times 0, on average 0.95.
      {"generalised_entropy", (23.0 / 20 / (0.95 * 0.95) - 1) / 2},
      {"theil_index", (2 * 2 / 0.95 * std::log(2 / 0.95) + 15 / 0.95 * std::log(1 / 0.95)) / 20},
  };
  const Confusion confusion = counted(6, 2, 9, 3);
  EXPECT_EQ(rates().size(), expected.size());
  for (const Rate& one : rates())
    EXPECT_NEAR(one(confusion).value(), expected.at(one.name), 1e-15) << one.name;
}

TEST(Rates, AreUndefinedWhereTheyDivideByZero) {
  for (const Rate& one : rates()) EXPECT_FALSE(one({})) << one.name;
  const Confusion no_positives = counted(0, 0, 5, 0);
  EXPECT_FALSE(rate("tpr")(no_positives));
  EXPECT_FALSE(rate("ppv")(no_positives));
  EXPECT_FALSE(rate("balanced_accuracy")(no_positives));
  EXPECT_FALSE(rate("mcc")(no_positives));
  EXPECT_FALSE(proportion(rate("tpr"), no_positives));
  EXPECT_EQ(rate("tnr")(no_positives), 1.0);
  EXPECT_EQ(rate("accuracy")(no_positives), 1.0);
  // Rows without weight are none.
  Confusion weightless;
  weightless[kTruePositive].add(0);
  EXPECT_FALSE(rate("tpr")(weightless));
}

TEST(Rates, HaveNamesAndAliasesOfTheirOwn) {
  std::set<std::string_view> names;
  size_t count = 0;
  for (const Rate& one : rates()) {
    names.insert(one.name);
    names.insert(one.aliases.begin(), one.aliases.end());
    count += 1 + one.aliases.size();
    for (const std::string_view alias : one.aliases) EXPECT_EQ(&rate(alias), &one) << alias;
  }
  EXPECT_EQ(names.size(), count);
  EXPECT_EQ(rule_of([] { rate("recal"); }), "evaluate.metric");
  try {
    rate("recal");
  } catch (const Error& error) {
    EXPECT_NE(error.fix().find("recall"), std::string::npos) << error.what();
  }
}

TEST(Rates, SayTheirFormulas) {
  EXPECT_EQ(rate("tpr").formula(), "TP / (TP + FN)");
  EXPECT_EQ(rate("f1").formula(), "2 TP / (2 TP + FP + FN)");
  EXPECT_EQ(rate("treatment_ratio").formula(), "FN / FP");
  EXPECT_EQ(rate("youden").formula(), "TPR + TNR - 1");
}

TEST(Rates, ProportionsAreSharesOfRows) {
  for (const char* name : {"tpr", "for", "selection_rate", "fp_gs", "accuracy", "threat_score"})
    EXPECT_TRUE(rate(name).is_proportion()) << name;
  for (const char* name : {"f1", "treatment_ratio", "mcc", "balanced_accuracy"})
    EXPECT_FALSE(rate(name).is_proportion()) << name;
  const Proportion plain = proportion(rate("tpr"), counted(6, 2, 9, 3)).value();
  EXPECT_EQ(plain.share, 6.0 / 9);
  EXPECT_EQ(plain.rows, 9);
  // Kish: of weights 1, 1, 4 there are 36 / 18 = 2 rows.
  Confusion weighted;
  weighted[kTruePositive].add(1);
  weighted[kTruePositive].add(1);
  weighted[kFalseNegative].add(4);
  weighted[kFalsePositive].add(100);
  const Proportion few = proportion(rate("tpr"), weighted).value();
  EXPECT_EQ(few.share, 2.0 / 6);
  EXPECT_EQ(few.rows, 2);
}

TEST(Confusion, AddsUp) {
  Confusion sum = counted(1, 2, 3, 4);
  sum += counted(10, 20, 30, 40);
  EXPECT_EQ(sum.positives().rows, 55);
  EXPECT_EQ(sum.all().rows, 110);
  EXPECT_EQ(sum[kTrueNegative].weight, 33);
  EXPECT_EQ(Tally{}.effective_rows(), 0);
}

}  // namespace
}  // namespace espalier
