#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rule_of_test.h"
#include "data/column_tables_test.h"

namespace espalier {
namespace {

TEST(ColumnRanges, NumbersAndDatesBeyondTheTrainingRowsAreCounted) {
  const CsvTable table = parse_csv(
      "age,price,day,job,y\n17,$1,1.2.2019,a,p\n90,$5,28.2.2019,b,q\n40,$2,5.2.2019,a,p\n50,$3,6.2.2019,b,"
      "q\n");
  const ColumnProgram program = fit_all(table, {.label = "y"});
  ColumnReport report;
  program.inputs(table, {}, &report);
  for (const auto& column : report.columns) EXPECT_EQ(column.beyond, 0) << column.name;
  EXPECT_EQ(report.rows_beyond, 0);
  const CsvTable other = parse_csv(
      "age,price,day,job\n16.9,$1,1.2.2019,c\n17,$6,1.3.2019,a\n91,$-1,31.1.2019,a\n?,much,x,a\n90,$5,28.2."
      "2019,a\n");
  program.inputs(other, {}, &report);
  ASSERT_EQ(report.columns.size(), 4u);
  EXPECT_EQ(report.columns[0].beyond, 2);
  EXPECT_EQ(report.columns[0].range, "17 to 90");
  EXPECT_EQ(report.columns[1].beyond, 2);
  EXPECT_EQ(report.columns[2].beyond, 2);
  EXPECT_EQ(report.columns[2].range, "2019-02-01 to 2019-02-28");
  EXPECT_EQ(report.columns[3].beyond, 0);
  EXPECT_EQ(report.columns[3].range, "");
  EXPECT_EQ(report.columns[1].unreadable, 1);
  EXPECT_EQ(report.rows_beyond, 3);
  EXPECT_EQ(report.outside, (std::vector<uint8_t>{1, 1, 1, 0, 0}));
}

TEST(ColumnRanges, CategoriesThatNoTrainingRowHadAreOutside) {
  const CsvTable table = parse_csv("c,d,y\na,p,1.5\na,q,2\nb,p,3\nb,q,4\na,p,1\nb,r,2\nb,q,2.5\na,p,1.1\n");
  const ColumnProgram program =
      fit_all(table, {.label = "y", .max_categories = 2, .task = ColumnTask::kRegression});
  ColumnReport report;
  const CsvTable other = parse_csv("c,d\na,p\nz,p\na,z\n?,q\na,r\n");
  program.inputs(other, {}, &report);
  EXPECT_EQ(report.columns[0].other, 1);
  EXPECT_EQ(report.columns[0].unmet, 1);
  EXPECT_EQ(report.columns[1].other, 2);
  EXPECT_EQ(report.columns[1].unmet, 1);  // r has no input of its own, but was met
  EXPECT_EQ(report.columns[1].other_line, 4);
  EXPECT_EQ(report.outside, (std::vector<uint8_t>{0, 1, 1, 0, 0}));
  EXPECT_EQ(program.beyond(other), (std::vector<std::vector<std::string>>{{}, {"c"}, {"d"}, {}, {}}));
  const std::string text = program.to_json();
  EXPECT_EQ(text.find("\"r\""), text.npos) << "rare values are not written down";
  const ColumnProgram again = ColumnProgram::from_json(text);
  EXPECT_EQ(again.beyond(other), program.beyond(other));
}

TEST(ColumnRanges, VeryManyRareCategoriesAreNotTold) {
  const auto names = [](int i) { return i % 2 ? cat("often") : cat("n", i % 25000); };
  const ColumnProgram program = fit_all(table_of("x", names, 46000), {.label = "y", .ignore = {"z"}});
  ColumnReport report;
  program.inputs(parse_csv("x\nnew\noften\n"), {}, &report);
  EXPECT_EQ(report.columns[0].other, 1);
  EXPECT_EQ(report.columns[0].unmet, 0);
}

TEST(ColumnRanges, SpellingsOfOneCategoryAreTold) {
  const char* spellings[] = {"Bonn", "bonn ", "Ulm", "BONN"};
  const auto notes_of = [](const ColumnProgram& program) {
    std::vector<std::string> out;
    for (const Note& note : program.notes()) {
      if (note.column == "x" && note.warning) out.push_back(note.text);
    }
    return out;
  };
  const auto town = [&](int i) { return std::string(spellings[i % 4]); };
  EXPECT_EQ(notes_of(fit_all(table_of("x", town), {.label = "y", .ignore = {"z"}})),
            (std::vector<std::string>{
                "\"Bonn\" and \"bonn \", and 1 other, differ in capitals or blanks alone, and count as "
                "different: where they are one, write them alike"}));
  const auto alike = [&](int i) { return std::string(spellings[i % 4 / 2 * 2]); };
  EXPECT_EQ(notes_of(fit_all(table_of("x", alike), {.label = "y", .ignore = {"z"}})),
            std::vector<std::string>());
}

// Whatever the number of rows: they are read in blocks.
TEST(ColumnRanges, RowsAreCountedOnce) {
  const auto numbers = [](int i) { return cat(i % 10); };
  const ColumnProgram program = fit_all(table_of("x", numbers), {.label = "y"});
  const CsvTable table = table_of(
      "x", [](int i) { return cat(i % 7 ? 3 : 100); }, 1000);
  ColumnReport report;
  program.inputs(table, {}, &report);
  // z is 0 to 19.5 in training, and above in 960 of the thousand rows.
  EXPECT_EQ(report.columns[0].beyond, 143);
  EXPECT_EQ(report.columns[1].beyond, 960);
  EXPECT_EQ(report.rows_beyond, 960 + 6);
  const auto names = program.beyond(table);
  const auto count = [&](const std::vector<std::string>& of) { return std::ranges::count(names, of); };
  EXPECT_EQ(count({"x"}), 6);
  EXPECT_EQ(count({"z"}) + count({"x", "z"}), 960);
  EXPECT_EQ(count({"x"}) + count({"x", "z"}), 143);
  const int64_t last[] = {999, 1};
  EXPECT_EQ(program.beyond(table, last), (std::vector<std::vector<std::string>>{{"z"}, {}}));
  EXPECT_EQ(std::ranges::count(report.outside, 1), 960 + 6);
}

TEST(ColumnRanges, ProgramsWithoutThemAreRead) {
  const CsvTable table = parse_csv("x,c,d,y\n1,p,2024-01-01,1.5\n2,q,2024-01-02,2\n5,p,2024-01-05,3\n");
  const ColumnProgram program = fit_all(table, {.label = "y", .task = ColumnTask::kRegression});
  auto json = nlohmann::ordered_json::parse(program.to_json());
  json["label"].erase("unit");
  for (auto& step : json["steps"]) {
    for (const char* key : {"unit", "other", "rare", "least", "most", "first_day", "last_day"})
      step.erase(key);
  }
  const ColumnProgram old = ColumnProgram::from_json(json.dump());
  EXPECT_EQ(old.inputs(table).to_vector<float>(), program.inputs(table).to_vector<float>());
  EXPECT_EQ(nlohmann::ordered_json::parse(old.to_json())["steps"][0].contains("least"), false);
  ColumnReport report;
  old.inputs(parse_csv("x,c,d\n1e9,p,2040-01-01\n"), {}, &report);
  EXPECT_EQ(report.rows_beyond, 0);
  EXPECT_EQ(report.columns[0].range, "");

  json = nlohmann::ordered_json::parse(program.to_json());
  EXPECT_EQ(json["steps"][0]["most"], 5);
  EXPECT_EQ(json["steps"][2]["first_day"], 19723);
  json["steps"][0]["least"] = 6;
  EXPECT_EQ(rule_of([&] { ColumnProgram::from_json(json.dump()); }), "columns.json");
  // Days that no calendar has.
  json["steps"][0]["least"] = 1;
  json["steps"][2]["last_day"] = 1e300;
  const ColumnProgram far = ColumnProgram::from_json(json.dump());
  far.inputs(table, {}, &report);
  EXPECT_EQ(report.columns[2].range, "");
}

}  // namespace
}  // namespace espalier
