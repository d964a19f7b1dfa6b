// Sketches of tables in files: merged in any order they are the sketch of the tables together.
#include "validate/sketch_files.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "espalier/error.h"
#include "format/tfrecord.h"
#include "validate/statistics_tables_test.h"

namespace espalier {
namespace {

constexpr size_t kShards = 7;

// Rows as CSV; the first shards hold fewer kinds of values than the last.
std::string csv_rows(std::mt19937_64& random, size_t shard, size_t rows, bool many) {
  std::string out = "whole,part,kind,late,none,weight,day\n";
  for (size_t row = 0; row < rows; ++row) {
    const uint64_t number = random() % (many ? 10000000 : 50);
    out += cat(random() % 9 ? cat(number) : "", ",", static_cast<double>(number) / 8, ",k",
               number % (many ? 99991 : 7), ",",
               shard < 3   ? ""
               : shard < 5 ? cat(number % 5)
                           : cat(number % 5, ".5"),
               ",,", number % 4, ",2018-0", 1 + number % 9, "-1", number % 10, "\n");
  }
  return out;
}

// Rows as JSON Lines, with lists.
std::string json_rows(std::mt19937_64& random, size_t rows) {
  std::string out;
  for (size_t row = 0; row < rows; ++row) {
    std::string list;
    for (uint64_t left = random() % 5; left > 0; --left) list += cat(list.empty() ? "" : ", ", random() % 20);
    out +=
        cat("{\"whole\": [", list, "], \"kind\": \"", random() % 3, "\", \"weight\": ", random() % 4, "}\n");
  }
  return out;
}

TableFile sketch_of(TableFolder& folder, const std::vector<TableFile>& tables,
                    const StatisticsOptions& options) {
  return folder.file(sketch_file(statistics_of_tables(tables, options)));
}

std::set<std::string> merged_in_orders(std::vector<TableFile> sketches, int orders, std::mt19937_64& random) {
  std::set<std::string> out;
  for (int order = 0; order < orders; ++order) {
    std::shuffle(sketches.begin(), sketches.end(), random);
    out.insert(sketch_file(merged_sketches(sketches)));
  }
  return out;
}

void expect_merged(const std::vector<std::string>& texts, const StatisticsOptions& options) {
  TableFolder folder;
  std::mt19937_64 random(7);
  std::vector<TableFile> tables, sketches;
  for (const std::string& text : texts) {
    tables.push_back(folder.file(text));
    sketches.push_back(sketch_of(folder, {tables.back()}, options));
  }
  const TableStatistics all = statistics_of_tables(tables, options);
  EXPECT_EQ(merged_in_orders(sketches, 20, random), std::set<std::string>{sketch_file(all)});
  EXPECT_EQ(metadata_bytes(merged_sketches(sketches).list(), MetadataForm::kBinary),
            metadata_bytes(all.list(), MetadataForm::kBinary));
}

TEST(Sketches, OfShardsAreMergedToThatOfTheWholeInAnyOrder) {
  std::mt19937_64 random(1);
  std::vector<std::string> csv, json;
  for (size_t shard = 0; shard < kShards; ++shard) {
    csv.push_back(csv_rows(random, shard, 20 + 30 * shard, false));
    json.push_back(json_rows(random, 100));
  }
  StatisticsOptions options = with_header();
  expect_merged(csv, options);
  expect_merged(json, options);
  options.weight = "weight";
  options.slice = "kind";
  options.semantic_domains = true;
  options.crosses.emplace();
  {
    TableFolder folder;
    const auto known = statistics_of_tables({folder.file(csv.back())}, options).list().ShortDebugString();
    EXPECT_NE(known.find("time_domain {string_format"), known.npos) << "of days";
  }
  expect_merged(csv, options);
  expect_merged(json, options);
}

TEST(Sketches, OfManyValuesAreMergedInAnyOrder) {
  std::mt19937_64 random(2);
  TableFolder folder;
  std::vector<TableFile> tables, sketches;
  for (size_t shard = 0; shard < kShards; ++shard) {
    tables.push_back(folder.file(csv_rows(random, shard, 12000, true)));
    sketches.push_back(sketch_of(folder, {tables.back()}, with_header()));
  }
  EXPECT_EQ(merged_in_orders(sketches, 5, random).size(), 1u);
  const auto ours = merged_sketches(sketches).list().datasets(0);
  const auto whole = statistics_of_tables(tables, with_header()).list().datasets(0);
  ASSERT_GT(whole.features(0).custom_stats_size(), 0);
  for (int i = 0; i < whole.features_size(); ++i) {
    const tfmd::FeatureNameStatistics &mine = ours.features(i), &theirs = whole.features(i);
    EXPECT_EQ(mine.num_stats().common_stats().ShortDebugString(),
              theirs.num_stats().common_stats().ShortDebugString());
    EXPECT_EQ(mine.num_stats().mean(), theirs.num_stats().mean());
    EXPECT_EQ(mine.num_stats().std_dev(), theirs.num_stats().std_dev());
    EXPECT_EQ(mine.num_stats().min(), theirs.num_stats().min());
    EXPECT_EQ(mine.num_stats().max(), theirs.num_stats().max());
    EXPECT_EQ(mine.num_stats().num_zeros(), theirs.num_stats().num_zeros());
    EXPECT_EQ(mine.string_stats().avg_length(), theirs.string_stats().avg_length());
  }
  const double unique = static_cast<double>(ours.features(2).string_stats().unique());
  EXPECT_NEAR(unique, static_cast<double>(whole.features(2).string_stats().unique()), 0.05 * unique);
}

TEST(Sketches, ComeBackAsTheyWere) {
  std::mt19937_64 random(3);
  TableFolder folder;
  StatisticsOptions options = with_header();
  options.weight = "weight";
  const std::string long_text =
      "a,weight\n" + std::string(2000, 'x') + ",1\n" + std::string(2000, 'y') + ",2\n";
  for (const std::string& text :
       {csv_rows(random, 0, 30, false), csv_rows(random, 6, 90000, true), long_text}) {
    const TableStatistics before = statistics_of_tables({folder.file(text)}, options);
    const TableFile file = folder.file(sketch_file(before));
    EXPECT_TRUE(is_sketch_file(file.path));
    const TableStatistics after = merged_sketches({file});
    EXPECT_EQ(sketch_file(after), sketch_file(before));
    EXPECT_EQ(metadata_bytes(after.list(), MetadataForm::kBinary),
              metadata_bytes(before.list(), MetadataForm::kBinary));
  }
  EXPECT_FALSE(is_sketch_file(folder.file("a,b\n1,2\n").path));
  EXPECT_FALSE(is_sketch_file(folder.file(record_bytes("x")).path));
}

std::string mistake_of(const std::vector<TableFile>& files) {
  try {
    merged_sketches(files);
  } catch (const Error& error) {
    return cat(error.rule(), " ", error.message());
  }
  return "none";
}

// Where the first part has one value in each row.
TEST(Sketches, ListsOfALaterPartAreCounted) {
  const std::string single = "{\"a\": 1}\n{\"a\": 2}\n", lists = "{\"a\": [1, 2, 3]}\n{\"a\": [4, 5]}\n";
  expect_merged({single, lists}, with_header());
  TableFolder folder;
  std::vector<TableFile> sketches;
  for (const std::string& text : {single, lists})
    sketches.push_back(sketch_of(folder, {folder.file(text)}, with_header()));
  for (int turn = 0; turn < 2; ++turn) {
    const auto common = merged_sketches(sketches).list().datasets(0).features(0).num_stats().common_stats();
    EXPECT_EQ(common.min_num_values(), 1u);
    EXPECT_EQ(common.max_num_values(), 3u);
    EXPECT_EQ(common.tot_num_values(), 7u);
    std::swap(sketches[0], sketches[1]);
  }
}

TEST(Sketches, ThatDoNotGoTogetherAreRefused) {
  TableFolder folder;
  const auto sketch = [&](const std::string& text, const StatisticsOptions& options = with_header()) {
    return sketch_of(folder, {folder.file(text)}, options);
  };
  const TableFile numbers = sketch("a,b\n1,2\n");
  EXPECT_EQ(mistake_of({numbers, sketch("a,b\nx,2\n")}),
            "sketch.type t4.txt: \"a\" has texts, and whole numbers in files before");
  EXPECT_EQ(mistake_of({numbers, sketch("a,c\n1,2\n")}),
            "sketch.columns t6.txt: its columns are not those of t2.txt");
  StatisticsOptions weighted = with_header();
  weighted.weight = "b";
  EXPECT_EQ(mistake_of({numbers, sketch("a,b\n1,2\n", weighted)}),
            "sketch.flags t8.txt: its weight, slice, crosses or semantic domains are not those of t2.txt");
  EXPECT_EQ(mistake_of({numbers, folder.file(record_bytes("x"))}),
            "sketch.file t9.txt: not one sketch of statistics");
  const TableFile older = folder.file(record_bytes("espalier sketch 5\nand what it held"));
  EXPECT_TRUE(is_sketch_file(older.path));
  EXPECT_EQ(mistake_of({numbers, older}), "sketch.version t10.txt: a sketch of version 5, not of 6");
}

// Whichever file comes first.
TEST(Sketches, OfColumnsWithoutValuesTakeTheTypeThatOthersHave) {
  TableFolder folder;
  const auto sketch = [&](const std::string& cell) {
    return sketch_of(folder, {folder.file(cat("a,b\n", cell, ",1\n"))}, with_header());
  };
  const TableFile none = sketch(""), texts = sketch("x"), whole = sketch("1"), real = sketch("1.5");
  const auto type = [](const std::vector<TableFile>& files) {
    const auto feature = merged_sketches(files).list().datasets(0).features(0);
    return cat(tfmd::FeatureNameStatistics::Type_Name(feature.type()), " of ",
               feature.has_string_stats() ? feature.string_stats().common_stats().num_non_missing()
                                          : feature.num_stats().common_stats().num_non_missing());
  };
  EXPECT_EQ(type({none, texts}), "STRING of 1");
  EXPECT_EQ(type({texts, none}), "STRING of 1");
  EXPECT_EQ(type({none, none, texts, texts}), "STRING of 2");
  EXPECT_EQ(type({none, whole, none}), "INT of 1");
  EXPECT_EQ(type({real, none, whole}), "FLOAT of 2");
  EXPECT_EQ(mistake_of({none, texts, real}),
            cat("sketch.type ", real.name, ": \"a\" has numbers, and texts in files before"));
  EXPECT_EQ(mistake_of({whole, none, texts}),
            cat("sketch.type ", texts.name, ": \"a\" has texts, and whole numbers in files before"));
}

TEST(Sketches, ThatAreDamagedAreRefused) {
  TableFolder folder;
  const std::string whole =
      posix_env().read_file(sketch_of(folder, {folder.file("a,b\n1,x\n2,y\n")}, with_header()).path);
  for (size_t size = 0; size < whole.size(); size += 7)
    EXPECT_NE(mistake_of({folder.file(whole.substr(0, size))}), "none") << size;
  const std::string content(parse_records(whole)[0]);
  for (size_t size = 0; size < content.size(); size += 7)
    EXPECT_NE(mistake_of({folder.file(record_bytes(content.substr(0, size)))}), "none") << size;
  EXPECT_NE(mistake_of({folder.file(record_bytes(content + "x"))}), "none");
  EXPECT_EQ(mistake_of({folder.file(record_bytes(content))}), "none");
}

}  // namespace
}  // namespace espalier
