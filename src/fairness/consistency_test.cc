#include "fairness/consistency.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "base/rule_of_test.h"

namespace espalier {
namespace {

TEST(Consistency, IsAif360s) {
  const auto golden = nlohmann::json::parse(posix_env().read_file("tests/golden/consistency.json"));
  const auto features = golden.at("features").get<std::vector<float>>();
  for (const auto& c : golden.at("cases")) {
    const auto said = c.at("said").get<std::vector<uint8_t>>();
    const Consistency got = consistency(features, said, c.at("neighbours").get<size_t>());
    EXPECT_NEAR(got.value, c.at("value").get<double>(), 1e-12) << c.at("name") << c.at("neighbours");
    EXPECT_EQ(got.asked, said.size());
  }
}

// Rows on a line: the three nearest of each are itself and those beside it, at the ends the two next.
TEST(Consistency, OfALineIsCountedByHand) {
  const std::vector<float> at{0, 1, 2, 3, 4};
  const std::vector<uint8_t> said{0, 0, 1, 1, 0};
  const double apart = (1.0 / 3 + 1.0 / 3 + 1.0 / 3 + 1.0 / 3 + 2.0 / 3) / 5;
  EXPECT_NEAR(consistency(at, said, 3).value, 1 - apart, 1e-12);
}

TEST(Consistency, EqualRowsAreNearestInTheirOrder) {
  const std::vector<float> at(600, 1.5f);
  std::vector<uint8_t> said(600, 0);
  said[0] = said[1] = 1;
  // The two nearest of each row are the first two.
  EXPECT_NEAR(consistency(at, said, 2).value, 2.0 / 600, 1e-12);
}

TEST(Consistency, OfManyRowsSomeAreAskedAndTheIntervalHoldsTheWhole) {
  Philox random(3);
  constexpr size_t kRows = 3000, kColumns = 2;
  std::vector<float> features;
  std::vector<uint8_t> said;
  for (size_t i = 0; i < kRows; ++i) {
    const double x = random.uniform(), y = random.uniform();
    features.insert(features.end(), {static_cast<float>(x), static_cast<float>(y)});
    said.push_back(x + 0.2 * random.uniform() > 0.6);
  }
  const Consistency whole = consistency(features, said, 5);
  EXPECT_EQ(whole.asked, kRows);
  const Consistency some = consistency(features, said, 5, 1000.0 * kRows * kColumns);
  EXPECT_EQ(some.asked, 1000u);
  EXPECT_LE(some.interval->low, whole.value);
  EXPECT_GE(some.interval->high, whole.value);
}

TEST(Consistency, RefusesWhatHasNoNearest) {
  const std::vector<float> two{1, 2};
  const std::vector<uint8_t> said{0, 1};
  EXPECT_EQ(rule_of([&] { consistency(two, said, 3); }), "consistency.rows");
  EXPECT_EQ(rule_of([&] { consistency(two, said, 0); }), "consistency.neighbours");
  EXPECT_EQ(rule_of([&] { consistency(std::span(two).first(1), said, 1); }), "consistency.rows");
}

}  // namespace
}  // namespace espalier
