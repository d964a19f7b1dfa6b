#include "espalier/decision.h"

#include <gtest/gtest.h>

#include "base/rule_of_test.h"

namespace espalier {
namespace {

const std::vector<std::string> kTwo = {"no", "yes"}, kThree = {"a", "b", "c"};

TEST(Decisions, AThresholdOrTheLikelierClass) {
  const std::vector<float> rows = {0.5f, 0.5f, 0.75f, 0.25f, 0.25f, 0.75f};
  EXPECT_EQ((Decision{}(rows, 2)), (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ((Decision{1, 0.25}(rows, 2)), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_EQ((Decision{1, 0.26}(rows, 2)), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ((Decision{0, 0.75}(rows, 2)), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ((Decision{}(rows, 3)), (std::vector<int64_t>{2, 2}));
  EXPECT_TRUE((Decision{}(std::vector<float>(), 2)).empty());
  EXPECT_EQ(rule_of([&] { Decision{}(rows, 4); }), "decision.classes");
  EXPECT_EQ(rule_of([&] { Decision{}(rows, 0); }), "decision.classes");
  EXPECT_EQ(rule_of([&] { Decision{1, 0.5}(rows, 3); }), "decision.classes");
  EXPECT_EQ(rule_of([&] { Decision{{}, 0.5}(rows, 2); }), "decision.classes") << "a threshold of no class";
}

TEST(Decisions, TextParsesBack) {
  for (const Decision& decision :
       {Decision{}, Decision{0, {}}, Decision{0, 0.1}, Decision{1, 1.0}, Decision{1, {}, "pair"}}) {
    const Decision back = Decision::from_json(decision.to_json(kTwo), kTwo);
    EXPECT_EQ(back.positive, decision.positive);
    EXPECT_EQ(back.threshold, decision.threshold);
    EXPECT_EQ(back.because, decision.because);
  }
  EXPECT_FALSE(Decision::from_json(Decision{}.to_json(kThree), kThree).threshold);
  for (const char* wrong :
       {"{}", "{\"positive\": 1}", "{\"positive\": \"maybe\"}", "[]", "3",
        "{\"positive\": \"no\", \"threshold\": 2}", "{\"positive\": \"no\", \"threshold\": \"0.5\"}",
        "{\"positive\": null, \"threshold\": 0.5}"}) {
    EXPECT_EQ(rule_of([&] { Decision::from_json(wrong, kTwo); }), "model.decision") << wrong;
  }
  EXPECT_EQ(Decision::from_json("{\"positive\": null}", kTwo).positive, std::nullopt);
  EXPECT_NE(rule_of([&] { Decision::from_json("{", kTwo); }), "");
}

}  // namespace
}  // namespace espalier
