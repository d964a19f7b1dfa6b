// The page of an assessment of 50 slices and the data of 100 columns, from what was computed of their rows
// before: milliseconds and bytes. Prints a JSON line; exit 1 when a slice or a column is not on the page.
// usage: bench_page [FILE], which the page is written to.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/env.h"
#include "base/format.h"
#include "base/philox.h"
#include "fairness/assessment.h"
#include "fairness/assessment_page.h"
#include "gate/data_section.h"

using namespace espalier;

namespace {

constexpr size_t kRows = 20'000, kSlicings = 10, kValues = 5, kColumns = 100, kRuns = 9;

Assessment fifty_slices() {
  Philox random(1);
  std::vector<double> scores;
  std::vector<uint8_t> labels;
  std::vector<CategoryColumn> columns(kSlicings);
  for (size_t c = 0; c < kSlicings; ++c) {
    columns[c].name = cat("group", c);
    for (size_t v = 0; v < kValues; ++v) columns[c].values.push_back(cat("v", v));
  }
  for (size_t row = 0; row < kRows; ++row) {
    scores.push_back(static_cast<double>(random.uniform()));
    labels.push_back(static_cast<double>(random.uniform()) < scores.back());
    for (CategoryColumn& column : columns)
      column.codes.push_back(static_cast<uint32_t>(random.below(kValues)));
  }
  std::vector<std::vector<const CategoryColumn*>> slicings;
  for (const CategoryColumn& column : columns) slicings.push_back({&column});
  AssessmentOptions options{.thresholds = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}};
  options.resampling = {.method = IntervalMethod::kBootstrap, .replicates = 200};
  return assess({scores, labels}, slicings, options);
}

// Half of the columns are numbers, half of them are categories.
CsvTable hundred_columns(uint64_t seed) {
  Philox random(seed);
  std::string text;
  for (size_t c = 0; c < kColumns; ++c) text += cat(c ? "," : "", "column", c);
  for (size_t row = 0; row < kRows / 10; ++row) {
    for (size_t c = 0; c < kColumns; ++c) {
      text += c ? ',' : '\n';
      text += c < kColumns / 2 ? cat(random.below(1'000'000)) : cat("kind ", random.below(30));
    }
  }
  text += '\n';
  return parse_csv(text, {.header = CsvHeader::kYes});
}

}  // namespace

int main(int argc, char** argv) {
  const Assessment assessment = fifty_slices();
  const DataSpreads spreads = spreads_of(hundred_columns(1), hundred_columns(2));
  std::string page;
  std::vector<double> seconds;
  for (size_t run = 0; run < kRuns; ++run) {
    const double begin = posix_env().steady_seconds();
    page = assessment_page(assessment, {.sections = {data_section(spreads, {})}});
    seconds.push_back(posix_env().steady_seconds() - begin);
  }
  bool whole = true;
  for (size_t c = 0; c < kColumns; ++c) whole = whole && page.find(cat(">column", c, "<")) != page.npos;
  for (size_t c = 0; c < kSlicings; ++c) whole = whole && page.find(cat(">group", c, "<")) != page.npos;
  std::ranges::sort(seconds);
  std::printf("{\"columns\": %zu, \"slices\": %zu, \"bytes\": %zu, \"milliseconds\": %.1f}\n", kColumns,
              kSlicings * kValues, page.size(), 1e3 * seconds[kRuns / 2]);
  if (argc > 1) std::ofstream(argv[1], std::ios::binary) << page;
  return whole ? 0 : 1;
}
