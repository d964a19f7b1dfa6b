// A unit that comes and goes: cells with it and cells without it.
#include <gtest/gtest.h>

#include "data/column_tables_test.h"

namespace espalier {
namespace {

std::string unit_note_of(const std::function<std::string(int)>& x) {
  return noted(fit_all(table_of("x", x), {.label = "y"}), "x");
}
// What a program of x meets in rows of these cells.
ColumnReport::Column met_in(const ColumnProgram& program, const std::vector<std::string>& cells) {
  std::string text = "x,z\n";
  for (const std::string& cell : cells) text += cat("\"", cell, "\",1\n");
  ColumnReport report;
  program.inputs(parse_csv(text), {}, &report);
  return report.columns[0];
}
ColumnProgram program_of(const std::function<std::string(int)>& x) {
  return fit_all(table_of("x", x), {.label = "y"});
}

TEST(ColumnUnits, NumbersThatLackTheUnitOfTrainingAreCounted) {
  const ColumnProgram percent = program_of([](int i) { return cat(i * 37 % 101, ".2%"); });
  const auto bare = met_in(percent, {"51.2%", "0.512", "0", "0.25", "?", "much"});
  EXPECT_EQ(bare.bare, 2);
  EXPECT_EQ(bare.bare_line, 3);
  EXPECT_EQ(bare.bare_cell, "0.512");
  EXPECT_EQ(bare.written, "1234.5 %");
  EXPECT_EQ(met_in(percent, {"51.2%", "7 %", "-3%"}).bare, 0);
  EXPECT_EQ(met_in(program_of([](int i) { return cat("$", i, ".50"); }), {"$12", "12", "12$"}).bare, 1);
  EXPECT_EQ(met_in(program_of([](int i) { return cat(i, " kg"); }), {"12 kg", "12", "13"}).bare, 2);
  EXPECT_EQ(met_in(program_of([](int i) { return cat("EUR ", 1 + i, ",200.5"); }), {"1,200", "EUR 7"}).bare,
            1);
  // Kelvin, or thousands: of one letter alone nobody knows.
  EXPECT_EQ(met_in(program_of([](int i) { return cat(1 + i, "K"); }), {"9.6K", "9600"}).bare, 1);
  EXPECT_EQ(met_in(program_of([](int i) { return cat(i * 37 % 101); }), {"12", "13"}).bare, 0);
}

TEST(ColumnUnits, AreSavedWithTheProgram) {
  const ColumnProgram percent = program_of([](int i) { return cat(i * 37 % 101, ".2%"); });
  std::string json = percent.to_json();
  EXPECT_EQ(met_in(ColumnProgram::from_json(json), {"0.512", "0.1"}).bare, 2);
  // A program of before does not know, and warns of nothing.
  const size_t at = json.find("\"cells_without_unit\"");
  ASSERT_NE(at, std::string::npos);
  json.replace(at, 20, "\"before\"");
  EXPECT_EQ(met_in(ColumnProgram::from_json(json), {"0.512", "0.1"}).bare, 0);
  // Training had both.
  const ColumnProgram mixed = program_of([](int i) { return i % 2 ? cat(i, ".5%") : cat("0.", 100 + i); });
  EXPECT_EQ(met_in(mixed, {"0.512", "0.1"}).bare, 0);
}

TEST(ColumnUnits, AMixIsNamedWithBothForms) {
  EXPECT_EQ(
      unit_note_of([](int i) { return i % 2 ? cat(i, ".5%") : cat("0.", 100 + i); }),
      "numeric, 0.1 to 39.5, in %\n"
      "numbers in % in 20 cells, as \"1.5%\", and without a unit in 20, as \"0.100\": all are read as %; "
      "where that is wrong, write them alike");
  EXPECT_EQ(
      unit_note_of([](int i) { return i % 4 ? cat("$", i) : cat(i); }),
      "numeric, 0 to 39, in $\n"
      "numbers in $ in 30 cells, as \"$1\", and without a unit in 9, as \"4\": all are read as $; where "
      "that is wrong, write them alike");
  // Without its word a number may be of any unit.
  EXPECT_EQ(unit_note_of([](int i) { return i % 2 ? cat(i % 10, " kg") : cat(i % 10); }),
            "numbers in kg in 20 cells, as \"1 kg\", and without a unit in 16, as \"2\": taken as text, for "
            "which unit those have is not known; write them alike\ncategory of 10 values");
  // Of a label too.
  const CsvTable table = table_of("x", [](int i) { return i % 2 ? cat(i, ".5%") : cat("0.", 100 + i); });
  EXPECT_EQ(noted(fit_all(table, {.label = "x"}), "x"),
            "the label, a number from 0.1 to 39.5 in %\nnumbers in % in 20 cells, as \"1.5%\", and without a "
            "unit in 20, as \"0.100\": all are read as %; where that is wrong, write them alike");
  // A cell or two, or a 0, are no mix.
  EXPECT_EQ(unit_note_of([](int i) { return i == 7 ? "30" : cat(i, "%"); }), "numeric, 0 to 39, in %");
  EXPECT_EQ(unit_note_of([](int i) { return i % 3 ? cat(i, "%") : "0"; }), "numeric, 0 to 38, in %");
}

}  // namespace
}  // namespace espalier
