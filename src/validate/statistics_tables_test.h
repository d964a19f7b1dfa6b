// Small tables and their statistics, for tests.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "validate/statistics.h"

namespace espalier {

class TableFolder {
 public:
  TableFolder()
      : path_(
            fresh_folder(cat("statistics-", testing::UnitTest::GetInstance()->current_test_info()->name()))) {
  }
  TableFile file(const std::string& text) {
    const std::string name = cat("t", ++count_, ".txt");
    posix_env().write_file(path_ + "/" + name, text);
    return {path_ + "/" + name, name};
  }

 private:
  std::string path_;
  int count_ = 0;
};

inline StatisticsOptions with_header() { return {.csv = {.delimiter = ',', .header = CsvHeader::kYes}}; }

inline tfmd::DatasetFeatureStatisticsList list_of(const std::string& text,
                                                  StatisticsOptions options = with_header()) {
  TableFolder folder;
  return statistics_of_tables({folder.file(text)}, options).list();
}
inline tfmd::DatasetFeatureStatistics data_of(const std::string& text,
                                              const StatisticsOptions& options = with_header()) {
  return list_of(text, options).datasets(0);
}

using Column = std::vector<std::string>;

inline std::string csv_of(const std::vector<Column>& columns) {
  std::string out;
  for (size_t c = 0; c < columns.size(); ++c) out += cat(c ? "," : "", "c", c);
  for (size_t row = 0; row < columns[0].size(); ++row) {
    out += '\n';
    for (size_t c = 0; c < columns.size(); ++c) out += (c ? "," : "") + columns[c][row];
  }
  return out + "\n";
}

// Small blocks, so that many threads have some.
inline StatisticsOptions small_blocks() {
  StatisticsOptions out = with_header();
  out.block = 1 << 12;
  return out;
}

}  // namespace espalier
