#include "evaluate/intervals.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/rule_of_test.h"
#include "evaluate/random_rows_test.h"

namespace espalier {
namespace {

Proportion share(double part, double whole) { return {part / whole, whole}; }

TEST(Intervals, NormalWidthsAreThoseOfTables) {
  EXPECT_NEAR(normal_width(0.95), 1.9599639845400545, 1e-14);
  EXPECT_NEAR(normal_width(0.99), 2.5758293035489004, 1e-14);
  EXPECT_NEAR(normal_width(0.5), 0.6744897501960817, 1e-15);
  for (const double level : {1e-12, 0.1, 0.68, 0.999, 1 - 1e-9})
    EXPECT_NEAR(std::erf(normal_width(level) / std::sqrt(2)), level, 1e-15) << level;
  for (const double level : {0.0, 1.0, -1.0, std::nan("")})
    EXPECT_EQ(rule_of([&] { normal_width(level); }), "evaluate.level") << level;
}

void expect_interval(const Interval& got, double low, double high) {
  EXPECT_NEAR(got.low, low, 5e-5);
  EXPECT_NEAR(got.high, high, 5e-5);
}

// Newcombe, Two-sided confidence intervals for the single proportion, 1998, method 3.
TEST(Intervals, WilsonGivesThePublishedExamples) {
  expect_interval(wilson(share(81, 263)), 0.2553, 0.3662);
  expect_interval(wilson(share(15, 148)), 0.0624, 0.1605);
  expect_interval(wilson(share(0, 20)), 0, 0.1611);
  expect_interval(wilson(share(1, 29)), 0.0061, 0.1718);
}

// Newcombe, Interval estimation for the difference between independent proportions, 1998, method 10.
TEST(Intervals, NewcombeGivesThePublishedExamples) {
  expect_interval(newcombe(share(56, 70), share(48, 80)), 0.0524, 0.3339);
  expect_interval(newcombe(share(9, 10), share(3, 10)), 0.1705, 0.8090);
  expect_interval(newcombe(share(10, 10), share(0, 10)), 0.6075, 1);
  expect_interval(newcombe(share(5, 56), share(0, 29)), -0.0381, 0.1926);
}

TEST(Intervals, MirrorsAndEnds) {
  for (int part = 0; part <= 7; ++part) {
    const Interval one = wilson(share(part, 7)), other = wilson(share(7 - part, 7));
    EXPECT_NEAR(one.low, 1 - other.high, 1e-15);
    EXPECT_TRUE(0 <= one.low && one.low <= part / 7.0 && part / 7.0 <= one.high && one.high <= 1) << part;
    const Interval difference = newcombe(share(part, 7), share(2, 9));
    const Interval swapped = newcombe(share(2, 9), share(part, 7));
    EXPECT_NEAR(difference.low, -swapped.high, 1e-15);
    EXPECT_NEAR(difference.high, -swapped.low, 1e-15);
    EXPECT_TRUE(-1 <= difference.low && difference.high <= 1) << part;
  }
  EXPECT_EQ(wilson(share(0, 7)).low, 0);
  EXPECT_EQ(wilson(share(7, 7)).high, 1);
  // A higher level holds a lower one.
  EXPECT_LT(wilson(share(3, 7), 0.99).low, wilson(share(3, 7)).low);
  EXPECT_GT(wilson(share(3, 7), 0.99).high, wilson(share(3, 7)).high);
}

constexpr int kRuns = 1000;

// The share of runs whose interval holds the truth.
template <class Run>
double coverage(double truth, Run&& run) {
  int held = 0;
  for (int seed = 0; seed < kRuns; ++seed) {
    Philox random(static_cast<uint64_t>(seed), 6);
    const Interval interval = run(random);
    held += interval.low <= truth && truth <= interval.high;
  }
  return held / double{kRuns};
}

void expect_interval_coverage(double got) {
  EXPECT_GE(got, 0.93);
  EXPECT_LE(got, 0.97);
}

Proportion draw(Philox& random, double chance, int rows) {
  int count = 0;
  for (int i = 0; i < rows; ++i) count += static_cast<double>(random.uniform()) < chance;
  return share(count, rows);
}

TEST(Intervals, HoldTheTruthNineteenTimesInTwenty) {
  expect_interval_coverage(coverage(0.3, [](Philox& random) { return wilson(draw(random, 0.3, 80)); }));
  expect_interval_coverage(coverage(0.07, [](Philox& random) { return wilson(draw(random, 0.07, 200)); }));
  expect_interval_coverage(coverage(0.2, [](Philox& random) {
    const Proportion a = draw(random, 0.5, 60);
    return newcombe(a, draw(random, 0.3, 90));
  }));
}

// Two weights, 1 and 3, that say nothing of the outcome.
TEST(Intervals, OfSumsOfSharesAreNewcombesOfOneDifference) {
  const Proportion a{0.3, 40}, b{0.7, 25};
  const Interval two = newcombe(a, b);
  const std::vector<ShareTerm> terms = {{1, a}, {-1, b}}, halves = {{0.5, a}, {0.5, a}};
  const Interval sum = linear_interval(terms);
  EXPECT_NEAR(sum.low, two.low, 1e-15);
  EXPECT_NEAR(sum.high, two.high, 1e-15);
  // Twice as many rows halve the variance.
  const Interval once = wilson(a), twice = linear_interval(halves);
  EXPECT_NEAR(twice.high - a.share, (once.high - a.share) / std::sqrt(2), 1e-15);
}

TEST(Intervals, OfRatiosTurnWithThemAndBecomeThoseOfTheLogarithm) {
  const auto of = [](double share, double rows) {
    const Proportion p{share, rows};
    return Estimated{share, wilson(p)};
  };
  const Interval ratio = ratio_interval(of(0.3, 40), of(0.7, 25)).value(),
                 turned = ratio_interval(of(0.7, 25), of(0.3, 40)).value();
  EXPECT_NEAR(ratio.low * turned.high, 1, 1e-12);
  EXPECT_NEAR(ratio.high * turned.low, 1, 1e-12);
  EXPECT_LT(ratio.low, 0.3 / 0.7);
  EXPECT_GT(ratio.high, 0.3 / 0.7);
  // Katz and others, 1978: of many rows.
  const double rows = 1e8, width = normal_width(kLevel) * std::sqrt(0.7 / (0.3 * rows) + 0.3 / (0.7 * rows));
  const Interval large = ratio_interval(of(0.3, rows), of(0.7, rows)).value();
  EXPECT_NEAR(std::log(large.low / (0.3 / 0.7)), -width, 1e-3 * width);
  EXPECT_NEAR(std::log(large.high / (0.3 / 0.7)), width, 1e-3 * width);
  // Of none and of all.
  const Interval none = ratio_interval(of(0, 20), of(1, 30)).value();
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, wilson({0, 20}).high, 0.02);
  EXPECT_FALSE(ratio_interval(of(0.5, 20), of(0, 30)));
  EXPECT_GT(ratio_interval(of(0.9, 5), of(0.1, 5)).value().low, 0) << "limits beyond twice the value";
}

TEST(Intervals, OfRatiosHoldTheTruthNineteenTimesInTwenty) {
  const auto of = [](Philox& random, double share, int rows) {
    const Proportion p = draw(random, share, rows);
    return Estimated{p.share, wilson(p)};
  };
  expect_interval_coverage(coverage(0.6, [&](Philox& random) {
    const Estimated a = of(random, 0.3, 90);
    return ratio_interval(a, of(random, 0.5, 120)).value();
  }));
  expect_interval_coverage(coverage(0.8, [&](Philox& random) {
    const Estimated a = of(random, 0.72, 60);
    return ratio_interval(a, of(random, 0.9, 80)).value();
  }));
}

// Newcombe's is MOVER's of Wilson's. Rows that two models have in common make it hold the truth more often.
TEST(Intervals, OfDifferencesHoldTheTruthNineteenTimesInTwentyAtLeast) {
  const auto of = [](const Proportion& p) { return Estimated{p.share, wilson(p)}; };
  const Proportion a{0.4, 100}, b{0.9, 60};
  const Interval mover = difference_interval(of(a), of(b)), known = newcombe(a, b);
  EXPECT_NEAR(mover.low, known.low, 1e-12);
  EXPECT_NEAR(mover.high, known.high, 1e-12);
  expect_interval_coverage(coverage(-0.2, [&](Philox& random) {
    return difference_interval(of(draw(random, 0.5, 90)), of(draw(random, 0.7, 120)));
  }));
  constexpr int kDraws = 1000;
  int held = 0;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    Philox random(seed, 0xC0FE);
    double before = 0, now = 0;
    for (int row = 0; row < 200; ++row) {
      const bool right = random.below(10) < 7;
      before += right;
      now += random.below(10) < (right ? 9u : 4u);
    }
    const Interval change = difference_interval(of({now / 200, 200}), of({before / 200, 200}));
    held += change.low <= 0.05 && 0.05 <= change.high;  // 0.7 x 0.9 + 0.3 x 0.4 - 0.7
  }
  EXPECT_GE(held, 950);
}

TEST(Intervals, OfSumsOfSharesHoldTheTruthNineteenTimesInTwenty) {
  expect_interval_coverage(coverage(0.5 * 0.2 + 0.3 * -0.1 + 0.2 * 0.05, [](Philox& random) {
    std::vector<ShareTerm> terms;
    const auto stratum = [&](double weight, double high, double low, int rows) {
      terms.push_back({weight, draw(random, high, rows)});
      terms.push_back({-weight, draw(random, low, rows + 20)});
    };
    stratum(0.5, 0.6, 0.4, 40);
    stratum(0.3, 0.2, 0.3, 60);
    stratum(0.2, 0.15, 0.1, 30);
    return linear_interval(terms);
  }));
}

TEST(Intervals, HoldTheTruthOfWeightedRows) {
  expect_interval_coverage(coverage(0.4, [](Philox& random) {
    Confusion confusion;
    for (int i = 0; i < 150; ++i) {
      const double weight = random.below(2) == 0 ? 1 : 3;
      confusion[outcome_of(static_cast<double>(random.uniform()) < 0.4, true)].add(weight);
    }
    return wilson(proportion(rate("tpr"), confusion).value());
  }));
}

double intervals_normal(Philox& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.uniform());
  return sum;
}

// Scores of positives lie `shift` deviations above those of negatives.
Auc normal_auc(Philox& random, double shift, size_t rows, bool weighted) {
  RandomRows out;
  for (size_t i = 0; i < rows; ++i) {
    out.labels.push_back(i % 3 == 0);
    out.scores.push_back(intervals_normal(random) + (out.labels.back() ? shift : 0));
    if (weighted) out.weights.push_back(random.below(2) == 0 ? 1 : 3);
  }
  return aucs(out.view(), order_by_score(out.scores), overall(rows))[0].value();
}

TEST(Intervals, HoldTheTrueAreaNineteenTimesInTwenty) {
  const auto area = [](double shift) { return std::erfc(-shift / 2) / 2; };
  for (const bool weighted : {false, true}) {
    expect_interval_coverage(coverage(
        area(1), [&](Philox& random) { return delong(normal_auc(random, 1, 150, weighted)).value(); }));
    expect_interval_coverage(coverage(area(1) - area(0.5), [&](Philox& random) {
      const Auc one = normal_auc(random, 1, 150, weighted);
      return delong(one, normal_auc(random, 0.5, 200, weighted)).value();
    }));
  }
}

TEST(Intervals, OfAreasStayWithinWhatIsPossible) {
  EXPECT_EQ(delong({.area = 0.99, .variance = 0.01})->high, 1);
  EXPECT_EQ(delong({.area = 0.01, .variance = 0.01})->low, 0);
  EXPECT_EQ(delong({.area = 0.99, .variance = 0.1}, {.area = 0.01, .variance = 0.1})->high, 1);
  EXPECT_FALSE(delong({.area = 1}));
  EXPECT_FALSE(delong({.area = 1}, {.area = 0.5, .variance = 0.1}));
  EXPECT_FALSE(delong({.area = 0.5, .variance = 0.1}, {.area = 1}));
}

}  // namespace
}  // namespace espalier
