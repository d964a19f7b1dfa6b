// Rows of a table to look at.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct DataRows : FolderTest {
  std::string file(const std::string& text) const { return write_file(folder + "/table.csv", text); }
  static std::string data(const Words& words, const std::string& input = "") {
    return call_verb(add_data, words, input);
  }
};

constexpr const char* kPeople = "name,age,home town\nAnn,39,Ulm\nBob,?,\"York, UK\"\nCy,60,Rome\nDi,17,?\n";

TEST_F(DataRows, HeadShowsTheFirstRowsWithTheirLines) {
  const std::string path = file(kPeople);
  EXPECT_EQ(data({"head", path, "2"}), cat("line  name  age  home town\n"
                                           "----  ----  ---  ---------\n"
                                           "   2  Ann   39   Ulm\n"
                                           "   3  Bob   ?    York, UK\n"
                                           "the first 2 of 4 rows\n"
                                           "next: espalier data stats ",
                                           path, "\n"));
  EXPECT_EQ(data({"head", path, "--rows", "2"}), data({"head", path, "2"}));
  EXPECT_EQ(data({"head", path, "-n", "2"}), data({"head", path, "2"}));
  EXPECT_EQ(data({"head", path}).find("the first"), std::string::npos);
  EXPECT_NE(data({"head", "-"}, kPeople).find("Rome"), std::string::npos);
}

TEST_F(DataRows, RowsAreThoseOfWhichTheConditionIsTrue) {
  const std::string path = file(kPeople);
  const std::string text = data({"rows", path, "--where", "age > 20", "--columns", "age,name"});
  EXPECT_TRUE(
      text.starts_with("where age > 20: 2 of 4 rows, without 1 of which the condition is missing\n"
                       "line  age  name\n"
                       "----  ---  ----\n"
                       "   2   39  Ann\n"
                       "   4   60  Cy\n"))
      << text;
  const Json json = Json::parse(data({"rows", path, "--where", "age > 20", "--limit", "1", "--json"}));
  EXPECT_EQ(json["where"]["kept"], 2);
  EXPECT_EQ(json["of"], 2);
  EXPECT_EQ(json["rows"],
            Json::parse(R"([{"line": 2, "cells": {"name": "Ann", "age": "39", "home town": "Ulm"}}])"));
}

TEST_F(DataRows, AFileGetsAllRowsAsATableThatReadsBack) {
  std::string text = "id,word\n";
  for (int i = 0; i < 100; ++i) text += cat(i, ",\"w,", i, "\"\n");
  const std::string path = file(text), out = folder + "/out.csv";
  EXPECT_EQ(data({"rows", path, "--where", "id >= 50", "--out", out}),
            cat("where id >= 50: 50 of 100 rows\n50 rows written\nnext: espalier data head ", out, "\n"));
  const CsvTable table = read_csv(out);
  EXPECT_EQ(table.rows(), 50);
  EXPECT_EQ(table.cell(0, 1), "w,50");
  data({"rows", path, "--limit", "7", "--out", out});
  EXPECT_EQ(read_csv(out).rows(), 7);
  EXPECT_EQ(rule_of([&] { data({"rows", path, "--out", path}); }), "results.out");
}

TEST_F(DataRows, WideTablesNameTheColumnsThatDoNotFit) {
  std::string header, row;
  for (int i = 0; i < 30; ++i) {
    header += cat(i ? "," : "", "column", i);
    row += cat(i ? "," : "", "value ", i);
  }
  const std::string path = file(header + "\n" + row + "\n" + row + "\n");
  const std::string text = data({"head", path});
  EXPECT_NE(text.find("\n22 more columns: column8, column9, "), std::string::npos) << text;
  for (size_t at = 0; at < text.find("next: ");) {
    const size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 80u);
    at = end + 1;
  }
  EXPECT_NE(data({"head", path, "--columns", "column29,column1"}).find("column29"), std::string::npos);
}

TEST_F(DataRows, WrongUseIsNamed) {
  const std::string path = file(kPeople);
  EXPECT_EQ(rule_of([&] { data({"rows", path, "--where", "aeg > 1"}); }), "expression.column");
  EXPECT_EQ(rule_of([&] { data({"rows", path, "--where", "age > 100"}); }), "where.rows");
  EXPECT_EQ(rule_of([&] { data({"rows", path, "--columns", "aeg"}); }), "csv.column");
  EXPECT_THROW(data({"head", path, "0"}), CLI::ValidationError);
  EXPECT_THROW(data({"head"}), CLI::RequiredError);
}

}  // namespace
}  // namespace espalier::cli
