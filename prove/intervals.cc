// Intervals hold the truth in 93 to 97 of 100 draws.
#include "evaluate/intervals.h"

#include <cmath>

#include "base/philox.h"
#include "evaluate/ranking.h"
#include "fairness/assessment.h"
#include "table.h"

namespace espalier::prove {
namespace {

constexpr int64_t kDraws = 1000, kLeast = 930, kMost = 970;

bool holds(const std::optional<Interval>& interval, double truth) {
  return interval && interval->low <= truth && truth <= interval->high;
}

double normal(Philox& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.uniform());
  return sum;
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
      const double z = normal(random) + (labels.back() ? shift : 0);
      scores.push_back(1 / (1 + std::exp(-z)));
    }
  }
  ScoredRows view() const { return {scores, labels}; }
};
double true_area(double shift) { return std::erfc(-shift / 2) / 2; }
Auc auc_of(const NormalRows& rows) {
  return aucs(rows.view(), order_by_score(rows.scores), overall(rows.scores.size()))[0].value();
}

void run(Proofs& proofs) {
  const auto coverage = [&](const char* what, const std::function<bool(Philox&)>& held) {
    proofs.between("interval", what,
                   seeds(kDraws,
                         [&](uint64_t seed) {
                           Philox random(seed, 0x1A7);
                           return held(random);
                         }),
                   kDraws, kLeast, kMost);
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

int main() { return espalier::prove::prove(espalier::prove::run); }
