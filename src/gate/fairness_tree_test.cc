#include "gate/fairness_tree.h"

#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "evaluate/rates.h"
#include "fairness/assessment.h"

namespace espalier {
namespace {

// Each path by hand, as the tree's picture has them.
TEST(FairnessTree, AnswersLeadToTheMetricsOfTheTree) {
  const std::map<TreeAnswers, std::string> paths = {
      {{{"worry", "selection"}}, "selection_rate"},
      {{{"worry", "errors"}, {"labels", "doubtful"}}, "selection_rate"},
      {{{"action", "punitive"}, {"hurt", "everyone"}}, "false_positives_per_row"},
      {{{"action", "punitive"}, {"hurt", "acted-upon"}}, "false_discovery_rate"},
      {{{"action", "punitive"}, {"hurt", "undeserving"}}, "false_positive_rate"},
      {{{"action", "assistive"}, {"reach", "few"}}, "true_positive_rate"},
      {{{"action", "assistive"}, {"reach", "most"}, {"need", "everyone"}}, "false_negatives_per_row"},
      {{{"action", "assistive"}, {"reach", "most"}, {"need", "not-helped"}}, "false_omission_rate"},
      {{{"action", "assistive"}, {"reach", "most"}, {"need", "in-need"}}, "false_negative_rate"}};
  for (const auto& [answers, metric] : paths) {
    TreeAnswers all = answers;
    all.insert({{"worry", "errors"}, {"labels", "trustworthy"}});
    const TreePath path = follow(all);
    EXPECT_EQ(path.metric, metric);
    EXPECT_EQ(path.because.size(), path.asked.size());
    EXPECT_EQ(SliceMetric(path.metric).name(), metric) << "a gate has it";
  }
}

TEST(FairnessTree, EachQuestionIsReachedAndEachChoiceLeadsOn) {
  std::set<std::string_view> reached = {tree_questions()[0].key};
  for (const TreeQuestion& question : tree_questions()) {
    EXPECT_TRUE(reached.contains(question.key)) << question.key;
    EXPECT_GE(question.choices.size(), 2u);
    for (const TreeChoice& choice : question.choices) {
      EXPECT_NE(choice.question.empty(), choice.metric.empty()) << choice.word;
      reached.insert(choice.question);
    }
  }
}

TEST(FairnessTree, AnOpenQuestionIsTheLastAndAWrongWordIsNamed) {
  EXPECT_EQ(follow({}).asked.back()->key, "worry");
  const TreePath path = follow({{"worry", "errors"}, {"labels", "trustworthy"}});
  EXPECT_TRUE(path.metric.empty());
  EXPECT_EQ(path.asked.back()->key, "action");
  EXPECT_EQ(rule_of([] { follow({{"worry", "eror"}}); }), "fairness.answer");
}

// Counts of a group with the rates that were equalised and the one that follows, from which all of them are
// counted again.
Confusion counted(double base_rate, double tpr, double fpr) {
  Confusion out;
  const double n = 1e9;
  const auto set = [&](Outcome outcome, double rows) {
    out[outcome] = {static_cast<int64_t>(std::lround(rows)), rows, rows};
  };
  set(kTruePositive, n * base_rate * tpr);
  set(kFalseNegative, n * base_rate * (1 - tpr));
  set(kFalsePositive, n * (1 - base_rate) * fpr);
  set(kTrueNegative, n * (1 - base_rate) * (1 - fpr));
  return out;
}

TEST(FairnessTree, WhatFollowsIsWhatCountsOfSuchGroupsGive) {
  const std::vector<GroupRate> groups = {{"a", 100, 0.11}, {"b", 100, 0.3}, {"c", 100, 0.5}};
  const ModelRates all = model_rates(counted(0.24, 0.6, 0.08));
  EXPECT_NEAR(all.tpr, 0.6, 1e-9);
  EXPECT_NEAR(all.base_rate, 0.24, 1e-9);
  const auto value = [](const char* name, const Confusion& confusion) { return *rate(name)(confusion); };
  for (size_t i = 0; i < groups.size(); ++i) {
    const double p = groups[i].base_rate;
    const auto follows = [&](const char* metric) { return price_of(metric, groups, all).of_groups[i]; };
    const Confusion precise = counted(p, all.tpr, follows("false_discovery_rate"));
    EXPECT_NEAR(value("precision", precise), all.ppv, 1e-6);
    const Confusion omits = counted(p, 1 - follows("false_omission_rate"), all.fpr);
    EXPECT_NEAR(value("false_omission_rate", omits), 1 - all.npv, 1e-6);
    EXPECT_NEAR(value("fp_gs", counted(p, 0.5, follows("false_positives_per_row"))), 0.76 * 0.08, 1e-6);
    EXPECT_NEAR(value("fn_gs", counted(p, 1 - follows("false_negatives_per_row"), 0.5)), 0.24 * 0.4, 1e-6);
    for (const char* metric : {"true_positive_rate", "false_positive_rate", "false_negative_rate"})
      EXPECT_NEAR(follows(metric), value("precision", counted(p, all.tpr, all.fpr)), 1e-6);
    // The best that selects this share errs by what it selects too much or too little.
    const double s = all.selection_rate;
    const Confusion best = counted(p, std::min(1.0, s / p), std::max(0.0, s - p) / (1 - p));
    EXPECT_NEAR(value("selection_rate", best), s, 1e-6);
    EXPECT_NEAR(follows("selection_rate"), value("error_rate", best), 1e-6);
  }
}

TEST(FairnessTree, UsualRatesAreThoseOfOneModel) {
  const ModelRates usual = usual_rates(0.2);
  const Confusion model = counted(0.2, usual.tpr, usual.fpr);
  const ModelRates again = model_rates(model);
  EXPECT_NEAR(again.ppv, 0.8, 1e-6);
  EXPECT_NEAR(again.npv, usual.npv, 1e-6);
  EXPECT_NEAR(again.selection_rate, usual.selection_rate, 1e-6);
  EXPECT_EQ(rule_of([] { model_rates(Confusion()); }), "fairness.rates");
}

}  // namespace
}  // namespace espalier
