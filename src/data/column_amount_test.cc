#include <random>

#include <gtest/gtest.h>

#include "data/column_steps.h"
#include "data/column_tables_test.h"

namespace espalier {
namespace {

// What is noted about a column whose cell in row i is x(i).
std::string note_of(const std::function<std::string(int)>& x) {
  return noted(fit_all(table_of("x", x), {.label = "y"}), "x");
}

TEST(ColumnAmounts, ThousandsBetweenApostrophesOrSpaces) {
  for (const char* mark : {"'", "’"}) {
    EXPECT_EQ(note_of([&](int i) { return i % 4 ? cat(80 + i, mark, "775.88") : "7.5"; }),
              "numeric, 7.5 to 119776, written as 1'234.5")
        << mark;
  }
  for (const char* mark : {" ", "\u00a0", "\u202f", "\u2009"}) {
    EXPECT_EQ(note_of([&](int i) { return i % 4 ? cat(80 + i, mark, "775.5") : cat(i); }),
              "numeric, 0 to 119776, written as 1 234.5")
        << mark;
    EXPECT_EQ(note_of([&](int i) { return i % 4 ? cat(80 + i, mark, "775,5") : cat(i, ",25"); }),
              "numeric, 0.25 to 119776, written as 1 234,5")
        << mark;
  }
  EXPECT_EQ(note_of([](int i) { return cat(1 + i, "'000,5"); }),
            "numeric, 1000.5 to 40000.5, written as 1'234,5");
  // Points and commas both part whole numbers from the rest: no thousands are shown that no cell has.
  EXPECT_EQ(note_of([](int i) { return i == 7 ? std::string("72,5") : cat(30 + i, ".6"); }),
            "numeric, 30.6 to 72.5, written as 1234.5 and 1234,5");
  // A program is read again with its way of writing.
  const CsvTable table = table_of("x", [](int i) { return cat(80 + i, "\u202f", "775,5 €"); });
  const ColumnProgram program = fit_all(table, {.label = "y"});
  EXPECT_EQ(noted(program, "x"), "numeric, 80775.5 to 119776, in €, written as 1 234,5");
  EXPECT_EQ(ColumnProgram::from_json(program.to_json()).inputs(table).to_vector<float>(),
            program.inputs(table).to_vector<float>());
}

TEST(ColumnAmounts, MarksStandBetweenGroupsOfThree) {
  for (const char* bad :
       {"80'77", "8'0775", "0'775", "1'234'56", "'775", "1''775", "775'", "1234'567", "1'234.567'8"})
    EXPECT_FALSE(read_number(bad, NumberStyle::kApostrophes)) << bad;
  for (const char* bad : {"80 77", "1 2", "044 123 456", "1  234", "1 234 56", "2024 01 02", "1 234,5"})
    EXPECT_FALSE(read_number(bad, NumberStyle::kSpaces)) << bad;
  EXPECT_EQ(read_number("−1 234,5", NumberStyle::kSpacesDecimalComma), -1234.5);
  EXPECT_EQ(read_number("12'345'678.25", NumberStyle::kApostrophes), 12345678.25);
  EXPECT_EQ(note_of([](int i) { return cat(i % 3, " ", i % 5); }), "category of 15 values");
}

TEST(ColumnAmounts, RandomNumbersComeBackFromEveryStyle) {
  constexpr struct {
    NumberStyle style;
    const char *group, *point;
  } kStyles[] = {{NumberStyle::kPlain, "", "."},
                 {NumberStyle::kThousands, ",", "."},
                 {NumberStyle::kDecimalComma, ".", ","},
                 {NumberStyle::kApostrophes, "'", "."},
                 {NumberStyle::kSpaces, " ", "."},
                 {NumberStyle::kSpacesDecimalComma, " ", ","},
                 {NumberStyle::kApostrophesDecimalComma, "'", ","}};
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    const auto& [style, group, point] = kStyles[round % 7];
    const auto quarters = static_cast<int64_t>(random() >> (20 + random() % 43));
    std::string digits = cat(quarters / 4);
    for (size_t i = digits.size(); i > 3;) digits.insert(i -= 3, group);
    constexpr const char* kQuarters[] = {"00", "25", "50", "75"};
    digits += cat(point, kQuarters[quarters % 4]);
    const double value = static_cast<double>(quarters) / 4;
    EXPECT_EQ(read_number(digits, style), value) << digits;
    EXPECT_EQ(read_number(cat("-", digits), style), -value) << digits;
    EXPECT_EQ(read_number(cat("(", digits, ")"), style), -value) << digits;
    EXPECT_EQ(read_number(cat("EUR ", digits), {style, "EUR"}), value) << digits;
    EXPECT_EQ(read_number(cat(digits, "kg"), {style, "kg"}), value) << digits;
  }
}

TEST(ColumnAmounts, ParenthesesAreNegative) {
  EXPECT_EQ(note_of([](int i) { return i % 4 ? cat("1,", 200 + i) : cat("(1,", 200 + i, ")"); }),
            "numeric, -1236 to 1239, written as 1,234.5, negative where in parentheses (25 %)");
  EXPECT_EQ(note_of([](int i) { return i % 4 ? cat(i, ".50") : cat("(", i, ".50)"); }),
            "numeric, -36.5 to 39.5, negative where in parentheses (25 %)");
  for (const char* good : {"(12.5)", "($12.5)", "$(12.5)", "(12.5) $", "( $ 12.5 )", "-$12.5"})
    EXPECT_EQ(read_number(good, {NumberStyle::kPlain, "$"}), -12.5) << good;
  for (const char* bad : {"(-5)", "-(5)", "((5))", "()", "(", ")", "(5", "5)", "(5)5", "(5)(5)", "(a)"})
    EXPECT_FALSE(read_number(bad, NumberStyle::kPlain)) << bad;
  // What a class is called stays.
  const CsvTable table = parse_csv("x,y\n1,(1)\n2,(2)\n3,(1)\n4,(2)\n5,(1)\n6,(2)\n");
  EXPECT_EQ(fit_all(table, {.label = "y", .task = ColumnTask::kClassification}).classes(),
            (std::vector<std::string>{"(1)", "(2)"}));
}

TEST(ColumnAmounts, CurrenciesAndUnitsAreWords) {
  EXPECT_EQ(note_of([](int i) { return cat(i, " EUR"); }), "numeric, 0 to 39, in EUR");
  EXPECT_EQ(note_of([](int i) { return cat("USD ", i, ".50"); }), "numeric, 0.5 to 39.5, in USD");
  EXPECT_EQ(note_of([](int i) { return cat("CHF ", 1 + i, "'200"); }),
            "numeric, 1200 to 40200, in CHF, written as 1'234.5");
  EXPECT_EQ(note_of([](int i) { return cat(50 + i, " kg"); }), "numeric, 50 to 89, in kg");
  EXPECT_EQ(note_of([](int i) { return cat(i, ".5m"); }), "numeric, 0.5 to 39.5, in m");
  EXPECT_EQ(note_of([](int i) { return i % 5 ? cat(i, "\u00a0m²") : ""; }),
            "numeric, 1 to 39, in m², missing in 20 %");
  EXPECT_EQ(note_of([](int i) { return i ? cat(i, " min") : "soon"; }),
            "numeric, 1 to 39, in min, 1 cell is no number and counts as missing, in line 2");
  for (const auto& [text, unit] : std::vector<std::pair<const char*, const char*>>{
           {"70 kg", "kg"},    {"70kg", "kg"}, {"-12.5 °C", "°C"}, {"CHF 1'200", "CHF"}, {"(12) EUR", "EUR"},
           {"5 km/h", "km/h"}, {"1e3 m", "m"}, {"3 m3", "m3"},     {"12 Std.", "Std."},  {"€ 12", "€"},
           {"room 12", ""},    {"12 a b", ""}, {"12:30 PM", "PM"}, {"4x4", "x4"},        {"kg", ""},
           {"2024-01-01", ""}, {"1e3", ""},    {"", ""},           {"12", ""},           {"usd 12", ""}})
    EXPECT_EQ(unit_of(text), unit) << text;
}

TEST(ColumnAmounts, WordsMustAgree) {
  EXPECT_EQ(note_of([](int i) { return cat(i % 5, i % 2 ? " kg" : " lb"); }).substr(0, 11), "numbers in ");
  EXPECT_EQ(note_of([](int i) { return cat("room ", i % 4); }), "category of 4 values");
  EXPECT_EQ(note_of([](int i) { return i % 2 ? cat(i % 10, " kg") : cat(i % 10); }).substr(0, 11),
            "numbers in ");
  // One that differs is no number, and without the word it is taken for one.
  EXPECT_EQ(note_of([](int i) { return i == 7   ? "9 lb"
                                       : i == 8 ? cat(30)
                                                : cat(i, " kg"); }),
            "numeric, 0 to 39, in kg, 1 cell is no number and counts as missing, in line 9");
}

TEST(ColumnAmounts, LabelsHaveUnits) {
  const CsvTable table = table_of("x", [](int i) { return cat(1 + i, "'500 CHF"); });
  const ColumnProgram program = fit_all(table, {.label = "x"});
  EXPECT_EQ(noted(program, "x"), "the label, a number from 1500 to 40500 in CHF");
}

// 1.234 beside semicolons is 1234, with a unit too.
TEST(ColumnAmounts, PointsBetweenThousandsOfAmounts) {
  std::string text = "x;y\n";
  for (int i = 0; i < 40; ++i) text += cat("€ ", 1 + i, ".", 200 + i, i * i % 7 < 3 ? ";a\n" : ";b\n");
  EXPECT_EQ(noted(fit_all(parse_csv(text), {.label = "y"}), "x"),
            "numeric, 1200 to 40239, in €, written as 1.234,5");
}

std::string points_table(const std::string& more, const std::string& cell) {
  std::string text = cat("lat;", more, ";y\n");
  for (int i = 0; i < 40; ++i) text += cat(11 + i, ".", 200 + i, ";", cell, i * i % 7 < 3 ? ";a\n" : ";b\n");
  return text;
}

// 11.200 to 50.239, or a thousand times that.
TEST(ColumnAmounts, OtherColumnsAndTheFlagTellWhatAPointMeans) {
  const auto note = [](const std::string& text, CsvOptions options = {}) {
    return noted(fit_all(parse_csv(text, options), {.label = "y"}), "lat");
  };
  const std::string thousands = "numeric, 11200 to 50239, written as 1.234,5",
                    decimals = "numeric, 11.2 to 50.239";
  EXPECT_EQ(note(points_table("z", "x")), thousands);
  EXPECT_EQ(note(points_table("z", "0.5")), decimals);
  EXPECT_EQ(note(points_table("z", "0,5")), thousands);
  EXPECT_EQ(note(points_table("z", "0,5"), {.decimal = '.'}), decimals);
  EXPECT_EQ(note(points_table("z", "0.5"), {.decimal = ','}), thousands);
  EXPECT_EQ(note(points_table("z", "x"), {.decimal_in_doubt = '.'}), decimals);
  std::string commas = "x,z,y\n";
  for (int i = 0; i < 40; ++i)
    commas += cat("\"", 11 + i, ",", 200 + i, "\",\"0,5\",", i % 3 ? "a\n" : "b\n");
  EXPECT_EQ(noted(fit_all(parse_csv(commas), {.label = "y"}), "x"),
            "numeric, 11.2 to 50.239, written as 1234,5");
}

TEST(ColumnAmounts, AModelReadsThePointAsInTrainingAndAsItIsTold) {
  const std::string text = points_table("z", "x");
  const ColumnProgram program = fit_all(parse_csv(text, {.decimal = '.'}), {.label = "y"});
  EXPECT_EQ(program.decimal(), '.');
  EXPECT_EQ(ColumnProgram::from_json(program.to_json()).decimal(), '.');
  const auto inputs = [&](const ColumnProgram& of, const std::string& cell, CsvOptions options) {
    return of.inputs(parse_csv(cat("lat;z\n", cell, ";x\n"), options)).to_vector<float>()[0];
  };
  const float wanted = inputs(program, "48.43", {});
  EXPECT_EQ(inputs(program, "48.430", {}), wanted);
  EXPECT_EQ(inputs(program, "48,430", {.decimal = ','}), wanted);
  const ColumnProgram thousands = fit_all(parse_csv(text), {.label = "y"});
  EXPECT_EQ(thousands.decimal(), ',');
  EXPECT_EQ(inputs(thousands, "48430", {}), inputs(thousands, "48.430", {}));
  EXPECT_EQ(inputs(thousands, "11500.5", {.decimal = '.'}), inputs(thousands, "11500,5", {}));
  EXPECT_EQ(fit_all(table_of("x", [](int i) { return cat(i); }), {.label = "y"}).decimal(), '.')
      << "z has points";
}

}  // namespace
}  // namespace espalier
