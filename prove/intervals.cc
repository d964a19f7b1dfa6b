// Intervals hold the truth in 93 to 97 of 100 draws.
#include "evaluate/intervals.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/philox.h"
#include "evaluate/churn.h"
#include "evaluate/classes.h"
#include "evaluate/drift.h"
#include "evaluate/estimates_test.h"
#include "evaluate/moves.h"
#include "evaluate/ranking.h"
#include "evaluate/regression.h"
#include "evaluate/stability.h"
#include "evaluate/wasserstein.h"
#include "fairness/conditional.h"
#include "table.h"

namespace espalier::prove {
namespace {

constexpr int64_t kDraws = 1000, kLeast = 930, kMost = 970;

bool holds(const std::optional<Interval>& interval, double truth) {
  return interval && interval->low <= truth && truth <= interval->high;
}

// So many of n rows, each with chance p.
Proportion drawn(Philox& random, double p, int n) {
  int hits = 0;
  for (int i = 0; i < n; ++i) hits += static_cast<double>(random.uniform()) < p;
  return {static_cast<double>(hits) / n, static_cast<double>(n)};
}

// Scores of positives lie `shift` deviations above those of negatives; the area is then known.
struct NormalRows {
  std::vector<double> scores;
  std::vector<uint8_t> labels;
  NormalRows(Philox& random, double shift, int rows) {
    for (int i = 0; i < rows; ++i) {
      labels.push_back(i % 3 == 0);
      const double z = normal_number(random) + (labels.back() ? shift : 0);
      scores.push_back(1 / (1 + std::exp(-z)));
    }
  }
  ScoredRows view() const { return {scores, labels}; }
};
double true_area(double shift) { return std::erfc(-shift / 2) / 2; }
Auc auc_of(const NormalRows& rows) {
  return aucs(rows.view(), order_by_score(rows.scores), overall(rows.scores.size()))[0].value();
}

// The mean of |bias + wide N(0, 1)|.
double mean_size(double bias, double wide) {
  return wide * std::sqrt(2 / std::numbers::pi) * std::exp(-bias * bias / (2 * wide * wide)) +
         bias * std::erf(bias / (wide * std::numbers::sqrt2));
}

// Truths 10 + 3 N(0, 1), and predictions that are off by bias + wide N(0, 1).
Estimate regression_figure(Philox& random, const char* metric, int rows, double bias, double wide) {
  std::vector<double> truths, predictions;
  for (int i = 0; i < rows; ++i) {
    truths.push_back(10 + 3 * normal_number(random));
    predictions.push_back(truths.back() + bias + wide * normal_number(random));
  }
  const Estimates all = regression_estimates(NumberRows(predictions, truths), overall(truths.size()))[0];
  return estimate(all, metric);
}

// Of three classes, each of which is said rightly 7 times in 10.
Estimate macro_f1(Philox& random, int rows) {
  const std::vector<std::string> classes = {"a", "b", "c"};
  std::vector<uint32_t> labels, said;
  for (int i = 0; i < rows; ++i) {
    labels.push_back(static_cast<uint32_t>(random.below(3)));
    const auto chance = random.below(20);
    said.push_back(static_cast<uint32_t>(chance < 14 ? labels.back() : (labels.back() + chance % 2 + 1) % 3));
  }
  const Estimates all = class_estimates(ClassRows(classes, labels, said), overall(labels.size()))[0];
  return estimate(all, "macro_f1");
}

// 7 of 10 are right before; of those a tenth is wrong now, and of the others a fifth right.
Estimate gained(Philox& random, int rows) {
  std::vector<uint32_t> truths(static_cast<size_t>(rows), 1), before, now;
  for (int i = 0; i < rows; ++i) {
    before.push_back(random.below(10) < 7);
    now.push_back(random.below(10) < (before.back() ? 9 : 2));
  }
  return churn({truths, before, now}, {})[0].gain;
}

// Both models' errors share a part.
Estimate moved_mae(Philox& random, int rows) {
  std::vector<double> truths, before, now;
  for (int i = 0; i < rows; ++i) {
    truths.push_back(10 + 3 * normal_number(random));
    const double both = normal_number(random);
    before.push_back(truths.back() + both + normal_number(random));
    now.push_back(truths.back() + both + 2 * normal_number(random));
  }
  return moves({truths, before, now}, {})[0].mae.change;
}

// Of two groups in two strata, unequally shared out; b is selected 0.1 more often in both.
Figure standardised_gap(Philox& random, size_t rows) {
  CategoryColumn group{"group", {"a", "b"}, {}}, job{"job", {"x", "y"}, {}};
  std::vector<double> scores;
  std::vector<uint8_t> labels;
  for (size_t i = 0; i < rows; ++i) {
    const auto of = static_cast<uint32_t>(random.below(2));
    const auto at = uint32_t{random.below(10) < (of ? 7u : 3u)};
    group.codes.push_back(of);
    job.codes.push_back(at);
    scores.push_back(random.below(10) < 2 + 3 * at + of ? 0.9 : 0.1);
    labels.push_back(i % 2);
  }
  const Assessment all = assess({scores, labels}, {{&group, &job}}, {});
  return conditional_gap(rate("selection_rate"), all.by[0], 1, {.reference = "group=a"}).gap;
}

// So many N(shift, 1), in order.
std::vector<double> normal_numbers(Philox& random, int rows, double shift) {
  std::vector<double> out;
  for (int i = 0; i < rows; ++i) out.push_back(normal_number(random) + shift);
  std::ranges::sort(out);
  return out;
}

// Of N(shift, 1) against N(0, 1), over the tenths of the latter, whose edges bisection finds.
double index_of_moved_tenths(double shift) {
  const auto below = [](double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; };
  double out = 0, before = 0;
  for (int tenth = 1; tenth <= 10; ++tenth) {
    double low = -20, high = 20;
    while (high - low > 1e-12) (below((low + high) / 2) < tenth / 10.0 ? low : high) = (low + high) / 2;
    const double share = below(high - shift) - before;
    out += (share - 0.1) * std::log(share / 0.1);
    before += share;
  }
  return out;
}

// Of (0.2, 0.3, 0.5) before and (0.3, 0.3, 0.4) now.
std::optional<Interval> moved_shares(Philox& random, int rows) {
  std::vector<int64_t> before(3), now(3);
  for (int i = 0; i < rows; ++i) {
    const auto one = random.below(10), other = random.below(10);
    ++before[one < 2 ? 0 : one < 5 ? 1 : 2];
    ++now[other < 3 ? 0 : other < 6 ? 1 : 2];
  }
  return stability_interval(before, now);
}

// What is said of the one column of two tables.
ColumnDrift drift_of(const std::function<std::string(bool now)>& cell, int rows, DriftOf of) {
  const auto table = [&](bool now) {
    std::string text = "row,size\n";
    for (int i = 0; i < rows; ++i) text += cat(i % 7, ",", cell(now), "\n");
    return parse_csv(text, {.delimiter = ',', .header = CsvHeader::kYes});
  };
  const CsvTable before = table(false);
  for (const ColumnDrift& one : find_drift(before, table(true))) {
    if (one.column == "size" && one.of == of) return one;
  }
  return {};
}

void run(Proofs& proofs) {
  const auto holds_in = [&](const char* detector, const char* what, int64_t most,
                            const std::function<bool(Philox&)>& held) {
    proofs.between(detector, what,
                   seeds(kDraws,
                         [&](uint64_t seed) {
                           Philox random(seed, 0x1A7);
                           return held(random);
                         }),
                   kDraws, kLeast, most);
  };
  const auto coverage = [&](const char* what, const std::function<bool(Philox&)>& held) {
    holds_in("interval", what, kMost, held);
  };
  // Of one share of few rows the chance is not 0.95, since counts are whole: it is so on average over shares.
  coverage("Wilson: shares from 0.05 to 0.95, 100 rows", [](Philox& random) {
    const double share = 0.05 + 0.9 * static_cast<double>(random.uniform());
    return holds(wilson(drawn(random, share, 100)), share);
  });
  coverage("Wilson: shares up to 0.1, 400 rows", [](Philox& random) {
    const double share = 0.02 + 0.08 * static_cast<double>(random.uniform());
    return holds(wilson(drawn(random, share, 400)), share);
  });
  coverage("Newcombe: 0.5 - 0.3, 60 and 90 rows", [](Philox& random) {
    const Proportion a = drawn(random, 0.5, 60);
    return holds(newcombe(a, drawn(random, 0.3, 90)), 0.2);
  });
  coverage("Newcombe: 0.1 - 0.1, 300 and 200 rows", [](Philox& random) {
    const Proportion a = drawn(random, 0.1, 300);
    return holds(newcombe(a, drawn(random, 0.1, 200)), 0);
  });
  coverage("DeLong: an area of 0.76, 300 rows",
           [](Philox& random) { return holds(delong(auc_of(NormalRows(random, 1, 300))), true_area(1)); });
  coverage("DeLong: a difference of areas, 300 and 200 rows", [](Philox& random) {
    const Auc a = auc_of(NormalRows(random, 1, 300));
    return holds(delong(a, auc_of(NormalRows(random, 0.5, 200))), true_area(1) - true_area(0.5));
  });
  coverage("Student's t: a mean error of 0.5, 80 rows", [](Philox& random) {
    return holds(interval(regression_figure(random, "mean_error", 80, 0.5, 2)), 0.5);
  });
  coverage("Student's t: a mean absolute error, 80 rows", [](Philox& random) {
    return holds(interval(regression_figure(random, "mae", 80, 1, 2)), mean_size(1, 2));
  });
  coverage("linearisation: a calibration ratio of 1.1, 80 rows", [](Philox& random) {
    return holds(interval(regression_figure(random, "calibration", 80, 1, 2)), 1.1);
  });
  coverage("linearisation: macro F1 of three classes, 200 rows",
           [](Philox& random) { return holds(interval(macro_f1(random, 200)), 0.7); });
  coverage("Welch: a difference of mean absolute errors, 80 and 40 rows", [](Philox& random) {
    const Estimate a = regression_figure(random, "mae", 80, 1, 2);
    return holds(interval(a, regression_figure(random, "mae", 40, 0.5, 4)),
                 mean_size(1, 2) - mean_size(0.5, 4));
  });
  coverage("paired: a change of accuracy by -0.01, 300 rows",
           [](Philox& random) { return holds(interval(gained(random, 300)), -0.01); });
  coverage("paired: a change of mean absolute error, 200 rows", [](Philox& random) {
    return holds(interval(moved_mae(random, 200)),
                 mean_size(0, std::sqrt(5)) - mean_size(0, std::numbers::sqrt2));
  });
  coverage("standardised: a gap of 0.1 within strata, 600 rows",
           [](Philox& random) { return holds(standardised_gap(random, 600).interval, 0.1); });
  coverage("drift: 0.05 more cells are missing, 1000 rows", [](Philox& random) {
    const auto cell = [&](bool now) {
      return std::string(random.below(100) < (now ? 15u : 10u) ? "" : random.below(2) ? "a" : "b");
    };
    return holds(drift_of(cell, 1000, DriftOf::kMissing).interval, 0.05);
  });
  coverage("drift: a stability index of 0.063, 500 rows", [](Philox& random) {
    return holds(moved_shares(random, 500), 0.1 * std::log(1.5) + 0.1 * std::log(1.25));
  });
  coverage("drift: a stability index of tenths, 0.5 deviations, 2000 rows", [](Philox& random) {
    const auto cell = [&](bool now) { return cat(normal_number(random) + (now ? 0.5 : 0)); };
    return holds(drift_of(cell, 2000, DriftOf::kNumbers).stability_interval, index_of_moved_tenths(0.5));
  });
  // Bounds, which hold it more often: of all values at once, and of distributions at each number.
  const auto bounded = [&](const char* what, const std::function<bool(Philox&)>& held) {
    holds_in("bound", what, kDraws, held);
  };
  bounded("drift: a share 0.1 larger, by Bonferroni over 5 values, 500 rows", [](Philox& random) {
    const auto cell = [&](bool now) {
      return random.below(10) < (now ? 4u : 3u) ? std::string("a") : cat("b", random.below(4));
    };
    return holds(drift_of(cell, 500, DriftOf::kValues).interval, 0.1);
  });
  bounded("drift: 0.5 deviations, by Smirnov's bound, 500 rows", [](Philox& random) {
    const auto cell = [&](bool now) { return cat(normal_number(random) + (now ? 0.5 : 0)); };
    return holds(drift_of(cell, 500, DriftOf::kNumbers).interval, std::erf(0.25 / std::numbers::sqrt2));
  });
  bounded("drift: 0.5 deviations, by the area under both errors, 300 and 200 rows", [](Philox& random) {
    const std::vector<double> before = normal_numbers(random, 300, 0);
    return holds(wasserstein_interval(before, normal_numbers(random, 200, 0.5)), 0.5);
  });
  const auto resampled = [&](const char* what, IntervalMethod method, const char* metric, double truth) {
    coverage(what, [=](Philox& random) {
      const NormalRows rows(random, 1, 400);
      const Assessment assessment =
          assess(rows.view(), {}, {.resampling = {.method = method, .seed = random.below(1 << 30)}});
      return holds(SliceMetric(metric)(assessment.overall, 0).interval, truth);
    });
  };
  // A negative's score is above 0.5 with chance 1/2: a false positive.
  resampled("Poisson bootstrap: false positive rate, 400 rows", IntervalMethod::kBootstrap, "fpr", 0.5);
  resampled("Poisson bootstrap: area, 400 rows", IntervalMethod::kBootstrap, "auc", true_area(1));
  resampled("jackknife: false positive rate, 400 rows", IntervalMethod::kJackknife, "fpr", 0.5);
}

}  // namespace
}  // namespace espalier::prove

int main(int argc, char** argv) { return espalier::prove::prove(argc, argv, espalier::prove::run); }
