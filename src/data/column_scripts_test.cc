// Numbers as other countries and other scripts write them, and with letters for thousands.
#include <gtest/gtest.h>

#include "data/column_guess.h"
#include "data/column_tables_test.h"

namespace espalier {
namespace {

std::string script_note_of(const std::function<std::string(int)>& x) {
  return noted(fit_all(table_of("x", x), {.label = "y"}), "x");
}
ColumnProfile profile_of(const CsvTable& table) {
  return profile_column(table, all_rows(table), 0, MissingWords(ColumnOptions().missing));
}

TEST(ColumnScripts, IndianGroupsHaveTwoDigitsBeforeTheLastThree) {
  constexpr std::pair<const char*, double> kNumbers[] = {
      {"12,34,567", 1234567},         {"1,23,456.5", 123456.5}, {"1,00,00,000", 10000000},
      {"-12,34,567.25", -1234567.25}, {"12,345", 12345},        {"12,345,678", 12345678}};
  for (const auto& [text, number] : kNumbers)
    EXPECT_EQ(read_number(text, NumberStyle::kThousands), number) << text;
  for (const char* bad : {"123,45,678", "1,23,45", "12,34,5678", "1,2", "12,34", "12,3,456", "1,23,456,789",
                          "1,234,56,789", "0,12,345", "1,23,456,", ",12,345"})
    EXPECT_FALSE(read_number(bad, NumberStyle::kThousands)) << bad;
  EXPECT_FALSE(read_number("12.34.567", NumberStyle::kDecimalComma));
  EXPECT_FALSE(read_number("12'34'567", NumberStyle::kApostrophes));
  EXPECT_EQ(
      script_note_of([](int i) { return i % 4 ? cat(1 + i % 9, ",", 10 + i, ",500") : cat(10 + i, ",250"); }),
      "numeric, 10250 to 945500, written as 12,34,567.8");
  // A column that is named for the currency numbers no rows.
  for (const char* name : {"inr", "INR", "price_inr", "priceINR"}) {
    const CsvTable table = table_of(name, [](int i) { return cat(1 + i % 9, ",", 10 + i, ",500"); });
    EXPECT_EQ(noted(fit_all(table, {.label = "y"}), name),
              "numeric, 110500 to 945500, written as 12,34,567.8");
  }
  const CsvTable numbers = table_of("Kundennr", [](int i) { return cat(100000 + i); });
  EXPECT_EQ(noted(fit_all(numbers, {.label = "y"}), "Kundennr").substr(0, 24), "set aside: an identifier");
  EXPECT_EQ(script_note_of([](int i) { return cat("₹", 1 + i % 9, ",", 10 + i, ",500"); }),
            "numeric, 110500 to 945500, in ₹, written as 12,34,567.8");
}

TEST(ColumnScripts, CurrenciesWithLetters) {
  for (const auto& [text, unit] : std::vector<std::pair<const char*, const char*>>{{"R$ 12", "R$"},
                                                                                   {"-R$12,50", "R$"},
                                                                                   {"US$ 5", "US$"},
                                                                                   {"5 US$", "US$"},
                                                                                   {"NT$90", "NT$"},
                                                                                   {"A$1.50", "A$"},
                                                                                   {"₩ 900", "₩"},
                                                                                   {"900 ₽", "₽"},
                                                                                   {"Rs. 500", "Rs."},
                                                                                   {"Rs 500", "Rs"},
                                                                                   {"kr 12", "kr"},
                                                                                   {"$ 12", "$"},
                                                                                   {"Room 12", ""}})
    EXPECT_EQ(unit_of(text), unit) << text;
  // Brazil writes points between thousands.
  EXPECT_EQ(script_note_of([](int i) { return cat("R$ ", 1 + i % 9, ".", 200 + i); }),
            "numeric, 1200 to 9235, in R$, written as 1.234,5");
  EXPECT_EQ(script_note_of([](int i) { return cat("R$ ", 1 + i % 9, ".", 200 + i, ",50"); }),
            "numeric, 1200.5 to 9235.5, in R$, written as 1.234,5");
  EXPECT_EQ(script_note_of([](int i) { return cat("R$ ", 10 + i, ".50"); }), "numeric, 10.5 to 49.5, in R$");
  EXPECT_EQ(script_note_of([](int i) { return cat("$ ", 1 + i % 9, ".", 200 + i); }),
            "numeric, 1.2 to 9.235, in $");
}

TEST(ColumnScripts, DigitsOfOtherScriptsAreDigits) {
  EXPECT_EQ(read_number("１２．５", NumberStyle::kPlain), 12.5);
  EXPECT_EQ(read_number("－９８７６５４３２１０", NumberStyle::kPlain), -9876543210.0);
  EXPECT_EQ(read_number("１，２３４", NumberStyle::kThousands), 1234);
  EXPECT_EQ(read_number("（１２）", NumberStyle::kPlain), -12);
  EXPECT_EQ(read_number("￥１２００", {NumberStyle::kPlain, "¥"}), 1200);
  EXPECT_EQ(read_number("٠١٢٣٤٥٦٧٨٩", NumberStyle::kPlain), 123456789);
  EXPECT_EQ(read_number("٣٫٥", NumberStyle::kPlain), 3.5);
  EXPECT_EQ(read_number("۴۵۶", NumberStyle::kPlain), 456);
  EXPECT_EQ(read_number("१२३", NumberStyle::kPlain), 123);
  EXPECT_EQ(read_number("৭৮৯", NumberStyle::kPlain), 789);
  for (const char* bad : {"一二三", "Ⅻ", "½", "１２ａ", "１２\xef\xbc", "\xd9", "１．２．３"})
    EXPECT_FALSE(read_number(bad, NumberStyle::kPlain)) << bad;
  EXPECT_EQ(unit_of("５１．２％"), "%");
  EXPECT_EQ(unit_of("７０ kg"), "kg");
  // 2024-02-29 is 107 days before 15 June, which is day 19889.
  EXPECT_EQ(read_moment("２０２４－０２－２９", DateStyle::kIso)->days, 19782);
  EXPECT_EQ(read_clock("１４：３０"), 52200);
  const auto wide = [](int number) {
    std::string out;
    for (const char digit : cat(number)) (out += "\xef\xbc") += static_cast<char>(0x90 + (digit - '0'));
    return out;
  };
  EXPECT_EQ(script_note_of([&](int i) { return wide(i * 37 % 101); }), "numeric, 0 to 100");
  // Codes stay codes.
  EXPECT_EQ(script_note_of([&](int i) { return cat(wide(0), wide(0), wide(i % 4)); }),
            "category of 4 values");
}

TEST(ColumnScripts, LettersCountThousands) {
  const NumberForm plain(NumberStyle::kPlain, "", true), euros(NumberStyle::kPlain, "€", true);
  constexpr std::pair<const char*, double> kNumbers[] = {
      {"9.6K", 9600}, {"9.6 k", 9600}, {"1.2M", 1200000}, {"2B", 2e9},     {"3G", 3e9},
      {"1T", 1e12},   {"850", 850},    {"-3K", -3000},    {"(2K)", -2000}, {"0", 0}};
  for (const auto& [text, number] : kNumbers) EXPECT_EQ(read_number(text, plain), number) << text;
  EXPECT_EQ(read_number("€110.5M", euros), 110500000);
  EXPECT_EQ(read_number("565K €", euros), 565000);
  EXPECT_EQ(read_number("1,5K", {NumberStyle::kDecimalComma, "", true}), 1500);
  EXPECT_EQ(read_number("1,200K", {NumberStyle::kThousands, "", true}), 1200000);
  EXPECT_EQ(exact_number("0.1M", plain), "100000");
  for (const char* bad : {"K", "9KK", "9e3K", "9 K K", "9Q", "K9", "9m", ""})
    EXPECT_FALSE(read_number(bad, plain)) << bad;
  EXPECT_FALSE(read_number("9.6K", NumberStyle::kPlain));
}

TEST(ColumnScripts, LettersCountThousandsWhereTheyComeAndGo) {
  const std::string said = ", with K for thousands, M for millions, B or G for billions";
  const auto views = [](int i) {
    return i % 3 == 0 ? cat(100 + i) : i % 3 == 1 ? cat(i, ".6K") : cat(i, "M");
  };
  EXPECT_TRUE(script_note_of(views).starts_with(cat("numeric, 100 to 38000000", said)))
      << script_note_of(views);
  EXPECT_EQ(script_note_of([](int i) { return i % 2 ? cat(1 + i % 9, ".6K") : cat(800 + i); }),
            cat("numeric, 800 to 9600", said));
  EXPECT_TRUE(script_note_of([](int i) {
                return cat("€", 1 + i, i % 2 ? ".5M" : "00K");
              }).starts_with(cat("numeric, 100000 to 40500000, in €", said)));
  // One letter in all is a unit, as of kelvin, and a cell without it is no sign of thousands.
  EXPECT_EQ(script_note_of([](int i) { return cat(280 + i, " K"); }), "numeric, 280 to 319, in K");
  EXPECT_EQ(script_note_of([](int i) { return i == 7 ? "300" : cat(280 + i, " K"); }),
            "numeric, 280 to 319, in K");
  const CsvTable table = table_of("x", views);
  const ColumnProgram program = fit_all(table, {.label = "y"});
  EXPECT_EQ(ColumnProgram::from_json(program.to_json()).inputs(table).to_vector<float>(),
            program.inputs(table).to_vector<float>());
  EXPECT_EQ(program.inputs(parse_csv("x,z\n9.6K,1\n")).to_vector<float>(),
            program.inputs(parse_csv("x,z\n9600,1\n")).to_vector<float>());
  // A label too, and columns that are compared.
  EXPECT_NE(noted(fit_all(table, {.label = "x"}), "x").find("the label, a number from 100 to 38000000"),
            std::string::npos);
  const CsvTable few = parse_csv("x\n9.6K\n850\n");
  const std::optional<NumberForm> form = form_of_all(profile_of(few));
  ASSERT_TRUE(form);
  EXPECT_EQ(value_numbers(profile_of(few), *form), (std::vector<double>{9600, 850}));
}

}  // namespace
}  // namespace espalier
