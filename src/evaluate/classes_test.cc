#include "evaluate/classes.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "evaluate/estimates_test.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

using nlohmann::json;

// The rows of tests/golden/classes.json.
struct GoldenClasses {
  json golden = read_golden("classes.json");
  std::vector<std::string> classes = golden["classes"];
  std::vector<uint32_t> labels = golden["rows"]["label"], said = golden["rows"]["said"];
  std::vector<double> probabilities = golden["rows"]["probabilities"], weights = golden["rows"]["weight"];
  CategoryColumn group{"group", golden["groups"], golden["rows"]["group"]};

  std::vector<Estimates> parts(std::span<const double> weighted) const {
    const ClassRows rows(classes, labels, said, probabilities, weighted);
    std::vector<Estimates> out = class_estimates(rows, overall(rows.size()));
    for (const Estimates& part : class_estimates(rows, slice_by({&group}))) out.push_back(part);
    return out;
  }
};

TEST(Classes, FiguresAreScikitLearns) {
  const GoldenClasses data;
  for (const char* weighted : {"plain", "weighted"}) {
    const json& expected = data.golden["figures"][weighted];
    const std::vector<Estimates> parts =
        data.parts(weighted == std::string("plain") ? std::span<const double>() : data.weights);
    ASSERT_EQ(parts.size(), expected.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(json(parts[i].matrix), expected[i]["matrix"]);
      size_t compared = 0;
      for (const auto& [name, value] : expected[i]["metrics"].items()) {
        const std::string own = name.starts_with("micro_") ? "accuracy" : name;
        const Estimate& its = estimate(parts[i], own);
        ++compared;
        ASSERT_EQ(its.value.has_value(), !value.is_null()) << name << " of part " << i;
        if (its.value) {
          EXPECT_NEAR(*its.value, value.get<double>(), 1e-12) << name << " of part " << i;
        }
      }
      EXPECT_EQ(compared, parts[i].of.size() + 3);
    }
  }
}

// By the definition of influence: how the figure changes with the weight of each row.
TEST(Classes, VariancesAreThoseOfWeightsThatChange) {
  GoldenClasses data;
  const Estimates all = data.parts(data.weights)[0];
  size_t compared = 0;
  for (const Estimate& its : all.of) {
    if (its.share) continue;
    ++compared;
    const double expected = variance_by_weights(
        data.weights, [&] { return *estimate(data.parts(data.weights)[0], its.metric).value; });
    // Of shares of rows a little more than the weights tell.
    EXPECT_GE(its.variance.value(), expected * (1 - 1e-5)) << its.metric;
    EXPECT_LE(its.variance.value(), expected * (its.metric == "log_loss" ? 1 + 1e-5 : 1.5)) << its.metric;
  }
  EXPECT_EQ(compared, 8u);
}

// Three classes, of which each is said rightly 7 times in 10: precision, recall and F1 are 0.7.
TEST(Classes, IntervalsHoldTheTruthNineteenTimesInTwenty) {
  const std::vector<std::string> classes = {"a", "b", "c"};
  for (const char* name : {"macro_f1", "macro_precision", "f1[b]", "recall[b]", "precision[b]", "accuracy"}) {
    int held = 0;
    for (uint64_t seed = 0; seed < 1000; ++seed) {
      Philox random(seed, 9);
      std::vector<uint32_t> labels, said;
      for (size_t i = 0; i < 200; ++i) {
        labels.push_back(static_cast<uint32_t>(random.below(3)));
        const auto chance = random.below(20);
        said.push_back(chance < 14 ? labels[i] : (labels[i] + (chance < 17 ? 1 : 2)) % 3);
      }
      const Estimates all = class_estimates(ClassRows(classes, labels, said), overall(200))[0];
      const Interval one = interval(estimate(all, name)).value();
      held += one.low <= 0.7 && 0.7 <= one.high;
    }
    EXPECT_TRUE(930 <= held && held <= 970) << name << " " << held;
  }
}

// Class "c" has a row or a few, nearly always said rightly: a sample in which all are says nothing of them
// that linearisation would see.
TEST(Classes, IntervalsKnowThatAClassMayBeRare) {
  const std::vector<std::string> classes = {"a", "b", "c"};
  for (const char* name : {"macro_recall", "macro_precision", "macro_f1"}) {
    int held = 0;
    for (uint64_t seed = 0; seed < 1000; ++seed) {
      Philox random(seed, 11);
      std::vector<uint32_t> labels, said;
      for (size_t i = 0; i < 200; ++i) {
        labels.push_back(i < 4 ? 2 : static_cast<uint32_t>(i % 2));
        // Of each class 9 in 10 are right, and as many rows go from "c" to another as come from there.
        const bool right = random.below(10) < 9;
        const bool to_rare = labels[i] != 2 && !right && random.below(196) < 4;
        said.push_back(right            ? labels[i]
                       : labels[i] == 2 ? static_cast<uint32_t>(i % 2)
                       : to_rare        ? 2
                                        : 1 - labels[i]);
      }
      const Estimates all = class_estimates(ClassRows(classes, labels, said), overall(200))[0];
      const Interval one = interval(estimate(all, name)).value();
      held += one.low <= 0.9 && 0.9 <= one.high;
    }
    EXPECT_GE(held, std::string(name) == "macro_recall" ? 930 : 900) << name;
  }
}

// 66 + 66 rows that are right and one of a third class: had that one been wrong, recall would be 2/3.
TEST(Classes, OneRowOfAClassIsNoProof) {
  const std::vector<std::string> classes = {"a", "b", "rare"};
  std::vector<uint32_t> labels(133);
  for (size_t i = 0; i < 132; ++i) labels[i] = i % 2;
  labels[132] = 2;
  const Estimates all = class_estimates(ClassRows(classes, labels, labels), overall(133))[0];
  for (const char* name : {"macro_recall", "macro_precision"})
    EXPECT_LT(interval(estimate(all, name)).value().low, 0.87) << name;
  EXPECT_LT(interval(estimate(all, "macro_f1")).value().low, 0.93);
  EXPECT_EQ(estimate(all, "f1[rare]").rows, 1);
  EXPECT_EQ(estimate(all, "f1[a]").rows, 66);
  EXPECT_FALSE(interval(estimate(all, "f1[rare]"))) << "of one row nothing follows";
}

TEST(Classes, RowsOfNoUseAreRefused) {
  const std::vector<std::string> classes = {"a", "b"};
  const auto rule = [&](const std::vector<uint32_t>& labels, const std::vector<uint32_t>& said,
                        const std::vector<double>& probabilities = {},
                        const std::vector<double>& weights = {}) {
    return rule_of([&] { ClassRows(classes, labels, said, probabilities, weights); });
  };
  EXPECT_EQ(rule({0, 1}, {1, 1}, {0, 1, 0.5, 0.5}, {1, 0}), "nothing");
  EXPECT_EQ(rule({0, 1}, {1}), "evaluate.rows");
  EXPECT_EQ(rule({0, 1}, {1, 1}, {0.5, 0.5}), "evaluate.rows");
  EXPECT_EQ(rule({0, 2}, {1, 1}), "evaluate.label");
  EXPECT_EQ(rule({0, 1}, {1, 2}), "evaluate.label");
  EXPECT_EQ(rule({0, 1}, {1, 1}, {0, 1, 0.5, 1.5}), "evaluate.probability");
  EXPECT_EQ(rule({0, 1}, {1, 1}, {}, {1, -1}), "evaluate.weight");
  const ClassRows nothing(classes, {}, {});
  EXPECT_FALSE(estimate(class_estimates(nothing, overall(0))[0], "macro_f1").value);
}

}  // namespace
}  // namespace espalier
