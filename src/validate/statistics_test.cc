#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/error.h"
#include "espalier/threads.h"
#include "validate/statistics_tables_test.h"
#include "validate/table_csv.h"

namespace espalier {
namespace {

std::string bytes_of(const TableStatistics& statistics) {
  return metadata_bytes(statistics.list(), MetadataForm::kBinary);
}

// A column of a kind: few or many whole numbers, numbers, texts; some of them missing.
Column some_column(std::mt19937_64& random, size_t rows, int kind) {
  Column out;
  std::normal_distribution<double> normal(100, 30);
  for (size_t row = 0; row < rows; ++row) {
    const auto number = static_cast<int64_t>(random() % 1000);
    const std::string texts[] = {cat(number % 7 - 3), cat(number),
                                 cat(normal(random)), cat("text", number % 30),
                                 cat(random()),       random() % 2 ? "" : cat(number / 4, ".25")};
    out.push_back(random() % 10 ? texts[kind] : "");
  }
  return out;
}

struct Numbers {
  std::vector<double> values;
  double mean = 0, deviation = 0;
};
Numbers numbers_of(const Column& column, bool whole) {
  Numbers out;
  for (const std::string& cell : column) {
    if (!cell.empty()) out.values.push_back(whole ? std::stod(cell) : static_cast<double>(std::stof(cell)));
  }
  std::sort(out.values.begin(), out.values.end());
  const auto n = static_cast<double>(out.values.size());
  out.mean = std::accumulate(out.values.begin(), out.values.end(), 0.0) / n;
  for (const double value : out.values) out.deviation += (value - out.mean) * (value - out.mean) / n;
  out.deviation = std::sqrt(out.deviation);
  return out;
}

void expect_numbers(const tfmd::NumericStatistics& got, const Numbers& expected) {
  const std::vector<double>& values = expected.values;
  const size_t n = values.size();
  EXPECT_NEAR(got.mean(), expected.mean, 1e-12 * std::abs(expected.mean) + 1e-12);
  EXPECT_NEAR(got.std_dev(), expected.deviation, 1e-11 * expected.deviation);
  EXPECT_EQ(got.min(), values.front());
  EXPECT_EQ(got.max(), values.back());
  EXPECT_DOUBLE_EQ(got.median(), (values[(n - 1) / 2] + values[n / 2]) / 2);
  EXPECT_EQ(static_cast<int64_t>(got.num_zeros()), std::count(values.begin(), values.end(), 0.0));
  ASSERT_EQ(got.histograms_size(), 2);
  bool first = true;
  for (const auto& bucket : got.histograms(0).buckets()) {
    EXPECT_EQ(bucket.sample_count(), std::count_if(values.begin(), values.end(), [&](double value) {
                return (first ? value >= bucket.low_value() : value > bucket.low_value()) &&
                       value <= bucket.high_value();
              }));
    first = false;
  }
  ASSERT_EQ(got.histograms(1).buckets_size(), 10);
  for (int i = 0; i < 10; ++i) {
    const auto& bucket = got.histograms(1).buckets(i);
    const size_t rank = std::max<size_t>((static_cast<size_t>(i + 1) * n + 9) / 10, 1) - 1;
    EXPECT_EQ(bucket.high_value(), values[rank]) << i;
    EXPECT_DOUBLE_EQ(bucket.sample_count(), static_cast<double>(n) / 10);
  }
}

TEST(Statistics, OfSmallTablesAreThoseOfTheDefinitions) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 30; ++round) {
    const size_t rows = 30 + random() % 300;
    std::vector<Column> columns;
    for (int kind = 0; kind < 4; ++kind) columns.push_back(some_column(random, rows, kind));
    const auto data = data_of(csv_of(columns));
    EXPECT_EQ(data.num_examples(), rows);
    ASSERT_EQ(data.features_size(), 4);
    for (int c = 0; c < 4; ++c) {
      const Column& column = columns[static_cast<size_t>(c)];
      const auto missing = static_cast<size_t>(std::count(column.begin(), column.end(), ""));
      const tfmd::FeatureNameStatistics& feature = data.features(c);
      EXPECT_EQ(feature.path().step(0), cat("c", c));
      const tfmd::CommonStatistics& common =
          c == 3 ? feature.string_stats().common_stats() : feature.num_stats().common_stats();
      EXPECT_EQ(common.num_missing(), missing);
      EXPECT_EQ(common.num_non_missing(), rows - missing);
      EXPECT_EQ(common.tot_num_values(), rows - missing);
      EXPECT_EQ(common.avg_num_values(), 1);
      if (c < 3) {
        EXPECT_EQ(feature.type(),
                  c == 2 ? tfmd::FeatureNameStatistics::FLOAT : tfmd::FeatureNameStatistics::INT);
        expect_numbers(feature.num_stats(), numbers_of(column, c != 2));
        continue;
      }
      std::map<std::string, size_t> counts;
      size_t bytes = 0;
      for (const std::string& cell : column) {
        counts[cell] += !cell.empty();
        bytes += cell.size();
      }
      counts.erase("");
      EXPECT_EQ(feature.string_stats().unique(), counts.size());
      EXPECT_FLOAT_EQ(feature.string_stats().avg_length(),
                      static_cast<float>(bytes) / static_cast<float>(rows - missing));
      EXPECT_EQ(feature.string_stats().top_values_size(),
                static_cast<int>(std::min<size_t>(20, counts.size())));
      double last = 1e9;
      for (const auto& value : feature.string_stats().top_values()) {
        EXPECT_EQ(value.frequency(), static_cast<double>(counts.at(value.value())));
        EXPECT_LE(value.frequency(), last);
        last = value.frequency();
      }
    }
  }
}

TEST(Statistics, TypesAreThoseOfAllCells) {
  const auto types = [](const std::vector<std::string>& cells) {
    std::vector<Column> columns;
    for (const std::string& cell : cells) columns.push_back({"1", cell, ""});
    std::string out;
    const auto data = data_of(csv_of(columns));
    for (const auto& feature : data.features())
      out += tfmd::FeatureNameStatistics::Type_Name(feature.type())[0];
    return out;
  };
  EXPECT_EQ(
      types({"2", "+7", "-0", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "007"}),
      "IIIISII");
  EXPECT_EQ(types({"2.", ".5", "1e5", "1e999", "nan", "-INF", "Infinity", "1e", "0x10", "1;5", "--1"}),
            "FFFFFFFSSSS");
}

std::string big_table(std::mt19937_64& random, size_t rows) {
  std::vector<Column> columns;
  for (int kind = 0; kind < 6; ++kind) columns.push_back(some_column(random, rows, kind));
  return csv_of(columns);
}

TEST(Statistics, AreEqualForAnyNumberOfThreads) {
  std::mt19937_64 random(2);
  TableFolder folder;
  const std::vector<TableFile> files{folder.file(big_table(random, 40000)),
                                     folder.file(big_table(random, 10000))};
  StatisticsOptions options = small_blocks();
  options.slice = "c0";
  options.crosses.emplace();
  const int before = threads();
  std::set<std::string> all;
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    const TableStatistics statistics = statistics_of_tables(files, options);
    EXPECT_EQ(statistics.rows(), 50000u);
    all.insert(bytes_of(statistics));
  }
  set_threads(before);
  EXPECT_EQ(all.size(), 1u);
}

TableStatistics shard_of(const TableColumns& columns, const StatisticsOptions& options,
                         const TableFile& file) {
  CsvBlocks blocks(open_text(file.path), options.csv, options.block);
  TableStatistics out(columns, options);
  for (CsvBlock block; blocks.next(block);)
    out.add(CsvTableRows(CsvRows(std::move(block), blocks), options.empty));
  return out;
}

// Blank lines are no rows, whatever is around them.
TEST(Statistics, OfBlankLinesAreThoseWithoutThem) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 20; ++round) {
    std::string plain = "a,b\n", blank = plain;
    for (int row = 0; row < 300; ++row) {
      const std::string line = cat(random() % 5 ? cat("k", random() % 9) : "", ",", random() % 1000, "\n");
      plain += line;
      if (random() % 40 == 0) blank += round % 2 ? "\n" : " \n\n";
      blank += line;
    }
    StatisticsOptions options = with_header();
    for (const size_t block : {64, 1 << 20}) {
      options.block = block;
      EXPECT_EQ(data_of(blank, options).DebugString(), data_of(plain, options).DebugString());
    }
  }
}

TEST(Statistics, OfShardsMergeInAnyOrder) {
  std::mt19937_64 random(3);
  TableFolder folder;
  for (const bool weighted : {false, true}) {
    StatisticsOptions options = small_blocks();
    options.slice = "c3";
    options.crosses.emplace();
    std::vector<Column> columns;
    for (const int kind : {0, 1, 2, 3, 4, 5}) columns.push_back(some_column(random, 5000, kind));
    for (std::string& cell : columns[1]) cell = cell.empty() ? "0.125" : cell;
    if (weighted) options.weight = "c1";
    const TableFile whole = folder.file(csv_of(columns));
    const TableStatistics all = statistics_of_tables({whole}, options);
    std::vector<TableFile> files;
    std::vector<TableStatistics> shards;
    for (size_t i = 0; i < 7; ++i) {
      std::vector<Column> part;
      const auto begin = static_cast<ptrdiff_t>(i * i * 100),
                 end = static_cast<ptrdiff_t>(i < 6 ? (i + 1) * (i + 1) * 100 : 5000);
      for (const Column& column : columns) part.emplace_back(column.begin() + begin, column.begin() + end);
      files.push_back(folder.file(csv_of(part)));
      shards.push_back(shard_of(all.columns(), options, files.back()));
    }
    std::set<std::string> results{bytes_of(all), bytes_of(statistics_of_tables(files, options))};
    std::vector<size_t> order(7);
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < 20; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      TableStatistics merged(all.columns(), options);
      for (const size_t i : order) merged.merge(shards[i]);
      results.insert(bytes_of(merged));
    }
    EXPECT_EQ(results.size(), 1u);
  }
}

TEST(Statistics, OfManyValuesSayWhatIsApproximate) {
  std::mt19937_64 random(4);
  std::lognormal_distribution<double> wide(0, 2);
  constexpr int kRows = 60000;
  std::vector<Column> columns(3);
  std::vector<double> values;
  for (int row = 0; row < kRows; ++row) {
    values.push_back(static_cast<double>(static_cast<float>(wide(random))));
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", values.back());
    columns[0].push_back(text);
    columns[1].push_back(cat("id", row));
    columns[2].push_back(cat(random() % 100));
  }
  // Many columns leave less room to each.
  for (int c = 0; c < 40; ++c) columns.push_back(Column(kRows, "1"));
  const auto data = data_of(csv_of(columns));
  std::sort(values.begin(), values.end());
  const auto custom = [&](int feature, const std::string& name) {
    for (const auto& figure : data.features(feature).custom_stats())
      if (figure.name() == name) return figure.num();
    return -1.0;
  };
  const double error = custom(0, kQuantileRankError);
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.002);
  const auto& buckets = data.features(0).num_stats().histograms(1).buckets();
  for (int i = 1; i < 10; ++i) {
    const auto rank = std::lower_bound(values.begin(), values.end(), buckets[i].low_value()) - values.begin();
    EXPECT_NEAR(static_cast<double>(rank) / kRows, i / 10.0, error) << i;
  }
  EXPECT_EQ(data.features(0).num_stats().min(), values.front());
  EXPECT_EQ(data.features(0).num_stats().max(), values.back());
  const auto unique = static_cast<double>(data.features(1).string_stats().unique());
  EXPECT_NEAR(unique, kRows, 5 * custom(1, kUniqueError) * kRows);
  EXPECT_GT(custom(1, kUnlistedMost), 0);
  EXPECT_EQ(data.features(2).custom_stats_size(), 0);
}

TEST(Statistics, EmptyCellsAreMissingOrPresent) {
  const std::string text = "a,b\n1,x\n,\n?,y\n3,?\n";
  StatisticsOptions options = with_header();
  EXPECT_EQ(data_of(text).features(0).type(), tfmd::FeatureNameStatistics::STRING);
  options.empty.missing = {"?"};
  auto data = data_of(text, options);
  EXPECT_EQ(data.features(0).num_stats().common_stats().num_missing(), 2u);
  EXPECT_EQ(data.features(1).string_stats().unique(), 2u);
  options.empty.present = true;
  data = data_of(text, options);
  const tfmd::CommonStatistics& common = data.features(0).num_stats().common_stats();
  EXPECT_EQ(common.num_missing(), 1u);
  EXPECT_EQ(common.num_non_missing(), 3u);
  EXPECT_EQ(common.min_num_values(), 0u);
  EXPECT_EQ(common.max_num_values(), 1u);
  EXPECT_EQ(common.tot_num_values(), 2u);
  EXPECT_FLOAT_EQ(common.avg_num_values(), 2.0F / 3);
  EXPECT_EQ(common.num_values_histogram().buckets(2).high_value(), 0);
  EXPECT_EQ(common.num_values_histogram().buckets(3).high_value(), 1);
  const auto empty = data_of("a,b\n1,\n2,?\n3,\n", options).features(1);
  EXPECT_EQ(empty.string_stats().common_stats().num_non_missing(), 2u);
  EXPECT_EQ(empty.string_stats().common_stats().num_missing(), 1u);
}

TEST(Statistics, InfinitiesAndNansHaveTheirOwnPlaces) {
  const auto stats = data_of("a,b\n1,nan\n-inf,NaN\ninf,nan\n3,nan\nnan,nan\n").features(0).num_stats();
  EXPECT_EQ(stats.histograms(0).num_nan(), 1u);
  ASSERT_EQ(stats.histograms(0).buckets_size(), 12);
  EXPECT_EQ(stats.histograms(0).buckets(0).sample_count(), 1);
  EXPECT_EQ(stats.histograms(0).buckets(1).low_value(), 1);
  EXPECT_EQ(stats.histograms(0).buckets(10).high_value(), 3);
  EXPECT_EQ(stats.median(), 2);
  EXPECT_TRUE(std::isinf(stats.min()) && std::isinf(stats.max()) && std::isnan(stats.mean()));
  EXPECT_EQ(data_of("a,b\n1,nan\n2,NaN\n").features(1).num_stats().histograms(1).num_nan(), 2u);
}

TEST(Statistics, WeightsAreNumbersAboveNothing) {
  StatisticsOptions options = with_header();
  options.weight = "w";
  const auto data = data_of("x,w\n1,2\n,3\n5,0.5\n", options);
  EXPECT_EQ(data.weighted_num_examples(), 5.5);
  const tfmd::NumericStatistics& stats = data.features(0).num_stats();
  EXPECT_EQ(stats.weighted_numeric_stats().mean(), 1.8);
  EXPECT_EQ(stats.weighted_numeric_stats().median(), 1);
  EXPECT_EQ(stats.common_stats().weighted_common_stats().num_missing(), 3);
  for (const char* weight : {"-1", "", "x", "nan", "1e10"}) {
    try {
      data_of(cat("x,w\n1,2\n3,", weight, "\n"), options);
      ADD_FAILURE() << weight;
    } catch (const ValueError& error) {
      EXPECT_EQ(error.rule(), "stats.weight");
      EXPECT_NE(error.message().find("line 3"), std::string::npos) << error.message();
    }
  }
  options.weight = "y";
  EXPECT_THROW(data_of("x,w\n1,2\n", options), ValueError);
}

TEST(Statistics, SlicesHaveStatisticsOfTheirRows) {
  StatisticsOptions options = with_header();
  options.slice = "s";
  const auto list = list_of("x,s\n1,b\n2,a\n3,b\n4,\n", options);
  ASSERT_EQ(list.datasets_size(), 3);
  EXPECT_EQ(list.datasets(0).name(), "All Examples");
  EXPECT_EQ(list.datasets(0).num_examples(), 4u);
  EXPECT_EQ(list.datasets(1).name(), "s_a");
  EXPECT_EQ(list.datasets(1).features(0).num_stats().mean(), 2);
  EXPECT_EQ(list.datasets(2).features(0).num_stats().mean(), 2);
  EXPECT_EQ(list.datasets(2).num_examples(), 2u);
  std::string ids = "x,s\n";
  for (int i = 0; i < 300; ++i) ids += cat(i, ",", i, "\n");
  EXPECT_THROW(list_of(ids, options), ValueError);
}

TEST(Statistics, LateTypesAreThoseOfTheWholeColumn) {
  std::string text = "a,b,c\n";
  for (int row = 0; row < 3000; ++row)
    text += cat(row, ",", row == 2999 ? "1.5" : "1", ",", row == 2000 ? "x" : "", "\n");
  const auto data = data_of(text, small_blocks());
  EXPECT_EQ(data.features(0).num_stats().max(), 2999);
  EXPECT_EQ(data.features(1).type(), tfmd::FeatureNameStatistics::FLOAT);
  EXPECT_DOUBLE_EQ(data.features(1).num_stats().mean(), 3000.5 / 3000);
  EXPECT_EQ(data.features(2).type(), tfmd::FeatureNameStatistics::STRING);
  EXPECT_EQ(data.features(2).string_stats().common_stats().num_missing(), 2999u);
  EXPECT_EQ(data.num_examples(), 3000u);
}

}  // namespace
}  // namespace espalier
