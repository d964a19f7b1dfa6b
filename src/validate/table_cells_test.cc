// Tables of JSON Lines and of tf.Examples: against CSV of the same cells, and what is wrong with them.
#include "validate/table_cells.h"

#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "espalier/tables.h"
#include "format/csv_writer.h"
#include "format/tfrecord.h"
#include "validate/tfmd/example.pb.h"

namespace espalier {
namespace {

using nlohmann::ordered_json;

std::vector<std::vector<std::string>> cells_of(const CsvTable& table) {
  std::vector<std::vector<std::string>> out(static_cast<size_t>(table.rows()));
  for (int64_t row = 0; row < table.rows(); ++row) {
    for (int64_t column = 0; column < table.columns(); ++column)
      out[static_cast<size_t>(row)].emplace_back(table.cell(row, column));
  }
  return out;
}

std::string table_mistake(const std::string& bytes, const CsvOptions& options = {}) {
  try {
    parse_table(bytes, "rows.jsonl", options);
  } catch (const Error& error) {
    return cat(error.rule(), " ", error.message());
  }
  return "none";
}

TEST(TableCells, OfJsonAreThoseOfCsv) {
  const std::vector<std::string> names = {"a", "b c", "\xc3\xa9"};
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    CsvWriter csv;
    for (const std::string& name : names) csv.cell(name);
    csv.end_row();
    std::string lines;
    for (int row = 0; row < 20; ++row) {
      ordered_json line = ordered_json::object();
      for (const std::string& name : names) {
        const uint32_t kind = row == 0 ? 1 : random() % 5;
        const auto whole = static_cast<int64_t>(random()) - (int64_t{1} << 31);
        const double real = static_cast<double>(whole) / 3e4;
        const std::string text = std::vector<std::string>{"x",   " x ", "\"x\"", "x,\"y\"", "\xe2\x82\xac",
                                                          "1,5", "NA"}[random() % 7];
        if (kind == 1) line[name] = whole;
        if (kind == 2) line[name] = real;
        if (kind == 3) line[name] = text;
        if (kind == 4) line[name] = nullptr;
        csv.cell(kind == 1   ? std::string_view(cat(whole))
                 : kind == 2 ? std::string_view(ordered_json(real).dump())
                 : kind == 3 ? std::string_view(text)
                             : std::string_view());
      }
      csv.end_row();
      lines += line.dump() + "\n";
    }
    const CsvTable ours = parse_table(lines, "rows.jsonl"),
                   theirs = parse_csv(csv.text(), {.delimiter = ',', .header = CsvHeader::kYes});
    ASSERT_EQ(ours.names(), theirs.names());
    ASSERT_EQ(cells_of(ours), cells_of(theirs)) << lines;
    for (int64_t row = 0; row < ours.rows(); ++row) {
      for (int64_t column = 0; column < ours.columns(); ++column)
        ASSERT_EQ(ours.number(row, column), theirs.number(row, column)) << ours.cell(row, column);
    }
    const std::vector<CsvChange> changes = {{.row = 3, .column = 1, .text = "new"}};
    EXPECT_EQ(cells_of(ours.with_cells(changes)), cells_of(theirs.with_cells(changes)));
    EXPECT_EQ(ours.with_cells(changes).line(4), 5);
  }
}

TEST(TableCells, KeepDigitsLinesAndOrder) {
  const CsvTable table = parse_table(
      "\n {\"z\": 9007199254740993, \"a\": 1.10, \"t\": \"two\\nlines\"}\n\n"
      "{\"a\": 18446744073709551615, \"trip\": {\"day\": true, \"no\": []}, \"t\": \"\"}\r\n"
      "{\"z\": [-9223372036854775808], \"a\": false}",
      "standard input");
  EXPECT_EQ(table.names(), (std::vector<std::string>{"z", "a", "t", "trip.day", "trip.no"}));
  EXPECT_EQ(cells_of(table),
            (std::vector<std::vector<std::string>>{{"9007199254740993", "1.10", "two\nlines", "", ""},
                                                   {"", "18446744073709551615", "", "1", ""},
                                                   {"-9223372036854775808", "0", "", "", ""}}));
  EXPECT_EQ(table.lines(), (std::vector<int64_t>{2, 4, 5}));
  EXPECT_EQ(table.line(1), 4);
  EXPECT_FALSE(table.numbered());
}

TEST(TableCells, OfExamplesAreSortedAndShort) {
  std::string records;
  for (int i = 0; i < 3; ++i) {
    tensorflow::Example example;
    auto& features = *example.mutable_features()->mutable_feature();
    features["pay"].mutable_float_list()->add_value(0.1f);
    if (i != 1) features["age"].mutable_int64_list()->add_value((int64_t{1} << 53) + 1 + i);
    features["job"].mutable_bytes_list()->add_value("clerk");
    features["none"];
    records += record_bytes(example.SerializeAsString());
  }
  const std::string path = fresh_folder("table-cells") + "/rows.tfrecord";
  posix_env().write_file(path, records);
  const CsvTable table = read_table(path);
  EXPECT_EQ(table.names(), (std::vector<std::string>{"age", "job", "none", "pay"}));
  EXPECT_EQ(cells_of(table),
            (std::vector<std::vector<std::string>>{{"9007199254740993", "clerk", "", "0.1"},
                                                   {"", "clerk", "", "0.1"},
                                                   {"9007199254740995", "clerk", "", "0.1"}}));
  EXPECT_EQ(table.lines(), (std::vector<int64_t>{1, 2, 3}));
}

TEST(TableCells, RefuseWhatNoCellHolds) {
  EXPECT_EQ(table_mistake("{\"a\": 1}\n{\"a\": [1, 2]}\n"),
            "rows.several rows.jsonl: line 2: \"a\" is a list of several values, and a cell of a table holds "
            "one");
  EXPECT_EQ(table_mistake("{\"a\": 1, \"a\": 2}\n"), "rows.twice rows.jsonl: line 1: \"a\" is there twice");
  EXPECT_EQ(table_mistake("{\"a\": {\"b\": 1}, \"a.b\": 2}\n"),
            "rows.twice rows.jsonl: line 1: \"a.b\" is there twice");
  EXPECT_EQ(table_mistake("{\"\": 1}\n"), "rows.name rows.jsonl: line 1: a value without a name");
  EXPECT_EQ(table_mistake("{\"a\": \"\\u0000\"}\n"),
            "rows.text rows.jsonl: line 1: \"a\" is no text: it has a NUL or is not UTF-8");
  EXPECT_EQ(table_mistake("{}\n"), "rows.empty rows.jsonl: no row names a value");
  EXPECT_EQ(table_mistake(""), "rows.empty rows.jsonl: no row names a value");
  EXPECT_TRUE(table_mistake("{\"a\": }\n").starts_with("json.syntax rows.jsonl: line 1: "));
  EXPECT_EQ(
      table_mistake("{\"a\": 1}", {.delimiter = ';'}),
      "csv.form rows.jsonl: this is no CSV, and how CSV is read was said: its delimiter, header or names");
  std::string sparse;
  for (int i = 0; i < 5000; ++i) sparse += cat("{\"", i, "\": 1}\n");
  EXPECT_EQ(table_mistake(sparse),
            "rows.sparse rows.jsonl: 5000 rows of 5000 names have 5000 values, too few for a table of cells");
}

TEST(TableCells, OtherJsonIsTold) {
  const auto said = [](const std::string& name, const std::string& bytes) {
    try {
      parse_table(bytes, name);
    } catch (const Error& error) {
      return cat(error.rule(), " ", error.message(), " / ", error.fix());
    }
    return std::string("none");
  };
  const std::string list =
      "json.array in: line 1: a list of rows, and JSON Lines have each on its own line / jq -c "
      "'.[]' FILE > rows.jsonl";
  EXPECT_EQ(said("in", "[{\"a\": 1}, {\"a\": 2}]\n"), list);
  EXPECT_EQ(said("in", "[\n  {\"a\": 1},\n  {\"a\": 2}\n]\n").substr(0, 40), list.substr(0, 40));
  EXPECT_EQ(said("in", "{\"a\": 1e400}\n").substr(0, 74),
            "json.number in: line 1: a number beyond 64 bits of floating point / ");
  for (const char* pretty : {"{\n  \"a\": 1\n}\n", "{\"a\": NaN}\n"})
    EXPECT_NE(said("in", pretty).find("jq -c . FILE > rows.jsonl"), std::string::npos);
  // A name decides where it says which it is.
  EXPECT_EQ(parse_table("{a,b\n1,2\n", "IN.CSV").names()[0], "{a");
  EXPECT_EQ(said("IN.JSON.gz", "a,b\n1,2\n").substr(0, 12), "json.syntax ");
  EXPECT_EQ(said("x.gz", "\x1f\x8b\x08").substr(0, 15), "gzip.data x.gz:");
}

TEST(TableCells, OfCsvAreParsedAsCsv) {
  const CsvTable table = parse_table("a;b\n1,5;x\n2,5;y\n", "rows.csv");
  EXPECT_EQ(table.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table.number(1, 0), 2.5);
}

}  // namespace
}  // namespace espalier
