// JSON Lines: against tests/golden/tfdv_jsonl.py and against CSV of the same values.
#include "validate/table_json.h"

#include <random>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "espalier/error.h"
#include "espalier/threads.h"
#include "ir/golden_test.h"
#include "validate/named_rows.h"
#include "validate/statistics_alike_test.h"
#include "validate/statistics_tables_test.h"

namespace espalier {
namespace {

using nlohmann::json;

// All numbers at a path, sorted.
std::vector<double> table_json_numbers_of(const std::string& text, const std::string& name) {
  std::vector<double> out;
  const auto add = [&](const json& value) {
    if (value.is_number() || value.is_boolean())
      out.push_back(value.is_boolean() ? value.get<bool>() : value.get<double>());
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const json row = json::parse(line).flatten();
    for (const auto& [path, value] : row.items()) {
      std::string key = path.substr(1);
      std::replace(key.begin(), key.end(), '/', '.');
      const bool element =
          key.starts_with(name + ".") && key.find_first_not_of("0123456789", name.size() + 1) == key.npos;
      if (key == name || element) add(value);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(JsonLines, HaveTensorflowDataValidationsStatistics) {
  const json goldens = read_golden("tfdv_jsonl.json");
  for (const json& golden : goldens) {
    const std::string text = golden.at("text");
    StatisticsOptions options;
    options.block = 1000;
    const auto ours = data_of(text, options), theirs = statistics_in(golden).datasets(0);
    EXPECT_EQ(ours.num_examples(), theirs.num_examples());
    std::map<std::string, const tfmd::FeatureNameStatistics*> features;
    for (const auto& feature : ours.features()) features[feature.path().step(0)] = &feature;
    ASSERT_TRUE(features.contains("none"));
    EXPECT_EQ(features["none"]->string_stats().common_stats().num_missing(), ours.num_examples());
    EXPECT_EQ(ours.features_size(), theirs.features_size() + 1);
    for (const auto& feature : theirs.features()) {
      const std::string& name = feature.path().step(0);
      ASSERT_TRUE(features.contains(name)) << name;
      expect_like(*features[name], feature, table_json_numbers_of(text, name), name);
    }
  }
}

// Columns of CSV stand in order of their names: c0, c1, ...
TEST(JsonLines, HaveTheStatisticsOfTheSameCsv) {
  std::mt19937_64 random(1);
  std::string csv = "c0,c1,c2,w\n", lines;
  for (int row = 0; row < 500; ++row) {
    const auto number = static_cast<int>(random() % 100);
    const std::string a = cat(number - 50), b = cat(number, random() % 2 ? ".25" : ".5");
    const bool missing = random() % 5 == 0;
    csv += cat(missing ? "" : a, ",", b, ",k", number % 7, ",", number % 3, "\n");
    lines += cat("{\"w\": ", number % 3, ", \"c2\": \"k", number % 7, "\", \"c1\": ", b,
                 missing ? "" : cat(", \"c0\": ", a), "}", row % 3 ? "\n" : "\r\n\n");
  }
  StatisticsOptions options = with_header();
  options.weight = "w";
  options.slice = "c2";
  EXPECT_EQ(metadata_bytes(list_of(lines, options), MetadataForm::kBinary),
            metadata_bytes(list_of(csv, options), MetadataForm::kBinary));
}

TEST(JsonLines, AreEqualForAnyNumberOfThreadsAndBlocks) {
  std::string lines;
  for (int i = 0; i < 2000; ++i)
    lines += cat("{\"x\": ", i, ".5, \"k", i % 3, "\": [", i, ", ", i % 7, "], \"t\": {\"u\": \"", i % 11,
                 "\"}}\n");
  std::set<std::string> all;
  const int before = threads();
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    for (const size_t block : {size_t{50}, size_t{5000}, size_t{1} << 20}) {
      StatisticsOptions options{.slice = "t.u"};
      options.block = block;
      all.insert(metadata_bytes(list_of(lines, options), MetadataForm::kBinary));
    }
  }
  set_threads(before);
  EXPECT_EQ(all.size(), 1u);
}

TEST(JsonLines, HaveNoneOneOrSeveralValues) {
  const auto data = data_of(
      "{\"a\": [], \"b\": [null], \"c\": true}\n"
      "{\"a\": [1, 2.5, null], \"b\": null, \"c\": false}\n"
      "{\"big\": 18446744073709551615, \"deep\": {\"a\": {}}}\n");
  ASSERT_EQ(data.features_size(), 4);
  EXPECT_EQ(data.features(0).type(), tfmd::FeatureNameStatistics::FLOAT);
  const tfmd::CommonStatistics& a = data.features(0).num_stats().common_stats();
  EXPECT_EQ(a.num_non_missing(), 2u);
  EXPECT_EQ(a.min_num_values(), 0u);
  EXPECT_EQ(a.max_num_values(), 2u);
  const tfmd::CommonStatistics& b = data.features(1).string_stats().common_stats();
  EXPECT_EQ(b.num_non_missing(), 1u);
  EXPECT_EQ(b.num_missing(), 2u);
  EXPECT_EQ(b.tot_num_values(), 0u);
  EXPECT_EQ(data.features(2).type(), tfmd::FeatureNameStatistics::FLOAT);
  EXPECT_EQ(data.features(2).num_stats().max(), 0x1p64);
  EXPECT_EQ(data.features(3).type(), tfmd::FeatureNameStatistics::INT);
  EXPECT_EQ(data.features(3).num_stats().mean(), 0.5);
  // A row is in a slice once.
  StatisticsOptions options{.slice = "s"};
  const auto list = list_of("{\"s\": [\"x\", \"y\", \"x\"]}\n{\"s\": [\"x\"]}\n{\"s\": []}\n", options);
  ASSERT_EQ(list.datasets_size(), 3);
  EXPECT_EQ(list.datasets(1).name(), "s_x");
  EXPECT_EQ(list.datasets(1).num_examples(), 2u);
  EXPECT_EQ(list.datasets(2).num_examples(), 1u);
}

std::string table_json_mistake_of(const std::string& lines, size_t block = size_t{1} << 20) {
  StatisticsOptions options;
  options.block = block;
  try {
    list_of(lines, options);
  } catch (const Error& error) {
    return cat(error.rule(), " ", error.message());
  }
  return "none";
}

TEST(JsonLines, SayWhatIsWrongWithThem) {
  const std::string good = "{\"a\": 1}\n\n";
  EXPECT_EQ(table_json_mistake_of(good + "{\"a\": }\n"),
            "json.syntax t1.txt: line 3: no JSON at byte 7 of the line");
  EXPECT_EQ(table_json_mistake_of(good + "{\"a\": 1} {}\n"),
            "json.syntax t1.txt: line 3: no JSON at byte 10 of the line");
  EXPECT_EQ(table_json_mistake_of(good + "{\"a\": 1e999}\n"),
            "json.number t1.txt: line 3: a number beyond 64 bits of floating point");
  EXPECT_EQ(table_json_mistake_of(good + "{\"a\": \"\xff\"}\n"),
            "json.syntax t1.txt: line 3: no JSON at byte 8 of the line");
  EXPECT_EQ(table_json_mistake_of("{\n  \"a\": 1\n}\n"),
            "json.syntax t1.txt: line 1: no JSON at byte 2 of the line");
  EXPECT_EQ(table_json_mistake_of(good + "[1]\n"),
            "json.array t1.txt: line 3: a list of rows, and JSON Lines have each on its own line");
  for (const char* row : {"1", "\"x\"", "null", "true", "1.5", "-1"}) {
    EXPECT_EQ(table_json_mistake_of(good + row + "\n"),
              "json.object t1.txt: line 3: a row is an object, {\"name\": value, ...}")
        << row;
  }
  EXPECT_EQ(table_json_mistake_of(good + "{\"b\": {\"c\": [[1]]}}"),
            "json.nested t1.txt: line 3: \"b.c\" is a list in a list");
  EXPECT_EQ(table_json_mistake_of(good + "{\"b\": [{\"c\": 1}]}"),
            "json.nested t1.txt: line 3: \"b\" is an object in a list");
  EXPECT_EQ(table_json_mistake_of(good + "{\"a\": 1, \"a\": 2}"),
            "rows.twice t1.txt: line 3: \"a\" is there twice");
  EXPECT_EQ(table_json_mistake_of(good + "{\"a.b\": 1, \"a\": {\"b\": 2}}"),
            "rows.twice t1.txt: line 3: \"a.b\" is there twice");
  for (const size_t block : {size_t{1}, size_t{1000}}) {
    EXPECT_EQ(table_json_mistake_of(good + good + "{\"a\": \"x\"}\n", block),
              "rows.type t1.txt: line 5: \"a\" has texts, and whole numbers before");
  }
  std::string deep = "1";
  for (int i = 0; i < 33; ++i) deep = cat("{\"a\": ", deep, "}");
  EXPECT_TRUE(table_json_mistake_of(deep).starts_with("json.levels t1.txt: line 1: "));
  EXPECT_TRUE(table_json_mistake_of(cat("{\"", std::string(1025, 'x'), "\": 1}"))
                  .starts_with("json.name t1.txt: line 1: "));
  EXPECT_EQ(table_json_mistake_of(good), "none");
}

TEST(JsonLines, AreTooManyNamesWhereNamesAreValues) {
  std::string lines;
  for (size_t i = 0; i < NamedRows::kMostColumns + 1; ++i) lines += cat("{\"user", i, "\": 1}\n");
  EXPECT_TRUE(table_json_mistake_of(lines).starts_with("rows.names t1.txt: more than 100000 names"))
      << table_json_mistake_of(lines);
}

TEST(JsonLines, AreToldFromOtherFiles) {
  TableFolder folder;
  EXPECT_EQ(table_form(folder.file(" \n{\"a\": 1}").path), TableForm::kJsonLines);
  EXPECT_EQ(table_form(folder.file("\xef\xbb\xbf{\"a\": 1}").path), TableForm::kJsonLines);
  EXPECT_EQ(table_form(folder.file("a,b\n{,1\n").path), TableForm::kCsv);
  const TableFile list = folder.file("[1]\n");
  EXPECT_EQ(table_form(list.path), TableForm::kCsv);
  posix_env().write_file(list.path + ".json", "[1]\n");
  EXPECT_EQ(table_form(list.path + ".json"), TableForm::kJsonLines);
}

}  // namespace
}  // namespace espalier
