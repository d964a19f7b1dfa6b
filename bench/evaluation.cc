// An assessment of a million scores in the 50 slices of 10 columns, at 9 thresholds, with 200 replicates of
// the bootstrap, on 1 thread and on all. Prints a JSON line for each; exit 1 when a count is wrong. usage:
// bench_evaluation [ROWS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/env.h"
#include "base/format.h"
#include "base/philox.h"
#include "espalier/threads.h"
#include "fairness/assessment.h"

using namespace espalier;

int main(int argc, char** argv) {
  const size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  constexpr size_t kColumns = 10, kValues = 5, kReplicates = 200, kRuns = 5;
  Philox random(1);
  std::vector<double> scores;
  std::vector<uint8_t> labels;
  std::vector<CategoryColumn> columns(kColumns);
  for (size_t c = 0; c < kColumns; ++c) {
    columns[c].name = cat("c", c);
    for (size_t v = 0; v < kValues; ++v) columns[c].values.push_back(cat("v", v));
  }
  size_t right = 0, of_first = 0;
  for (size_t row = 0; row < rows; ++row) {
    scores.push_back(static_cast<double>(random.uniform()));
    labels.push_back(static_cast<double>(random.uniform()) < scores.back());
    for (CategoryColumn& column : columns)
      column.codes.push_back(static_cast<uint32_t>(random.below(kValues)));
    const bool first = columns[0].codes.back() == 0;
    of_first += first;
    right += first && (scores.back() >= 0.5) == (labels.back() != 0);
  }
  std::vector<std::vector<const CategoryColumn*>> slicings;
  for (const CategoryColumn& column : columns) slicings.push_back({&column});
  AssessmentOptions options{.thresholds = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}};
  options.resampling = {.method = IntervalMethod::kBootstrap, .replicates = kReplicates};
  const int all = threads();
  bool good = true;
  for (const int count : {1, all}) {
    set_threads(count);
    std::vector<double> seconds;
    for (size_t run = 0; run < kRuns; ++run) {
      const double begin = posix_env().steady_seconds();
      const Assessment found = assess({scores, labels}, slicings, options);
      seconds.push_back(posix_env().steady_seconds() - begin);
      const SliceFigures& slice = found.by[0].slices[0];
      const double accuracy = *SliceMetric("accuracy")(slice, 4).value;
      good = good && slice.slice.rows == static_cast<int64_t>(of_first) &&
             std::abs(accuracy - static_cast<double>(right) / static_cast<double>(of_first)) < 1e-12 &&
             slice.replicates.of.size() == kReplicates;
    }
    std::ranges::sort(seconds);
    std::printf(
        "{\"threads\": %d, \"rows\": %zu, \"slices\": %zu, \"replicates\": %zu, \"seconds\": %.4f, "
        "\"ns_per_row_and_replicate\": %.3f}\n",
        count, rows, kColumns * kValues, kReplicates, seconds[kRuns / 2],
        1e9 * seconds[kRuns / 2] / static_cast<double>(rows * kReplicates));
  }
  return good ? 0 : 1;
}
