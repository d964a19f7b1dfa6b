#include "plan/facts.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace espalier {
namespace {

using Facts = std::map<std::string, std::string>;

// By keys whose values differ, "KEY: BEFORE, NOW".
std::vector<std::string> differences(const TrainPlan& before, const TrainPlan& now) {
  const Facts a = plan_facts(before), b = plan_facts(now);
  Facts all = a;
  all.insert(b.begin(), b.end());
  const auto value = [](const Facts& facts, const std::string& key) {
    const auto at = facts.find(key);
    return at == facts.end() ? "none" : at->second;
  };
  std::vector<std::string> out;
  for (const auto& [key, any] : all) {
    if (value(a, key) != value(b, key)) out.push_back(cat(key, ": ", value(a, key), ", ", value(b, key)));
  }
  return out;
}

TEST(PlanFacts, WhatTrainingDependsOnIsCompared) {
  const auto changed = [](const std::function<void(TrainPlan&)>& change) {
    TrainPlan plan = table_plan(), now;
    plan.callbacks = {EarlyStoppingOptions{.patience = 2}};
    now = plan;
    change(now);
    return differences(plan, now);
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(changed([](TrainPlan& plan) { plan.fit.seed = 3; }), Lines{"fit.seed: 0, 3"});
  EXPECT_EQ(changed([](TrainPlan& plan) { plan.fit.metrics = {"auc"}; }),
            Lines{"fit.metrics: [\"auto\"], [\"auc\"]"});
  EXPECT_EQ(changed([](TrainPlan& plan) { plan.fit.checkpoint_every = 7; }),
            Lines{"fit.checkpoint_every: 0, 7"});
  EXPECT_EQ(changed([](TrainPlan& plan) { plan.callbacks[0] = EarlyStoppingOptions{.patience = 3}; }),
            Lines{"callbacks[0].patience: 2, 3"});
  const Lines without = changed([](TrainPlan& plan) { plan.callbacks.clear(); });
  ASSERT_FALSE(without.empty());
  EXPECT_EQ(without[0], "callbacks[0]: EarlyStopping, none") << "the type comes before its options";
  EXPECT_EQ(changed([](TrainPlan& plan) { plan.distribute.logical_shards = 8; }),
            Lines{"distribute.logical_shards: 0, 8"});
}

TEST(PlanFacts, WhereItRunsAndWritesIsNot) {
  TrainPlan plan = table_plan(), now = plan;
  now.data.file = "/elsewhere/table.csv";
  now.model.path = "model-1";
  now.distribute.strategy = "multiworker";
  now.callbacks.push_back(CSVLoggerPlan{.path = "log.csv"});
  EXPECT_EQ(differences(plan, now), std::vector<std::string>());
}

// A frame of the control holds 64 KiB and 1,000 keys.
TEST(PlanFacts, OfAnyPlanTheyFitIntoAMessageAndSayWhetherItDiffers) {
  TrainPlan plan = table_plan();
  plan.data.label = "label";
  for (int i = 0; i < 5000; ++i) {
    plan.data.ignore.push_back(cat("column \"", i, "\""));
    plan.model.layers.push_back(DensePlan{.units = 10 + i});
  }
  TrainPlan now = plan;
  size_t bytes = 0;
  const Facts facts = plan_facts(plan);
  for (const auto& [key, value] : facts) bytes += key.size() + value.size() + 8;
  EXPECT_LT(bytes, size_t{60} << 10);
  EXPECT_LT(facts.size(), 900u);
  now.data.ignore.back() = "another";
  const std::vector<std::string> of_list = differences(plan, now);
  ASSERT_EQ(of_list.size(), 1u);
  EXPECT_TRUE(of_list[0].starts_with("data.ignore: [\"column \\\"0\\\"\", ")) << of_list[0];
  now = plan;
  now.model.layers.back() = DensePlan{.units = 9};
  const std::vector<std::string> of_layer = differences(plan, now);
  ASSERT_EQ(of_layer.size(), 1u);
  EXPECT_TRUE(of_layer[0].starts_with("model: of hash ")) << of_layer[0];
}

}  // namespace
}  // namespace espalier
