// What too few rows leave open is undecided, what is blocked stays so, and chance seldom blocks.
#include <chrono>
#include <functional>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "gate/figures_test.h"
#include "gate/random_table_test.h"
#include "gate/verdict.h"

namespace espalier {
namespace {

CsvTable orders(int rows, int unit, const std::string& city, int first_day = 0) {
  std::string text = "y,age,city,placed\n";
  for (int i = 0; i < rows; ++i) {
    const int day = first_day + i * 7 % 50;
    text += cat(i * 31 % 7 / 4, ",", (25 + i * 37 % 40) * unit, ",",
                city.empty() ? cat("town ", i % 4) : city, ",2031-0", 1 + day / 25, "-", 10 + day % 19, "\n");
  }
  return parse_csv(text, {.delimiter = ',', .header = CsvHeader::kYes});
}

struct Judged {
  Ruling ruling;
  std::string sentence;
  Ruling drift, range, schema;
};
Judged judged_data(const CsvTable& train, const CsvTable& now, DataFaultOptions options = {}) {
  options.label = "y";
  const DataAnswer data = ask_data(train, &now, options);
  const Verdict verdict =
      judge(read_gates("[[gates]]\ndata = \"drift\"\n[[gates]]\ndata = \"range\"\n[[gates]]\ndata = "
                       "\"schema\"\n",
                       "gates"),
            assessment_of("g", {{"a", 1, 1, 1, 1}}), nullptr, {}, &data);
  return {verdict.ruling, verdict.sentence, verdict.results[0].ruling, verdict.results[1].ruling,
          verdict.results[2].ruling};
}

TEST(DataUndecided, FewRowsLeaveDriftOpenAndAreCheckedByAllElse) {
  const CsvTable train = orders(300, 1, "");
  for (const int rows : {8, 15, 19}) {
    const Judged other = judged_data(train, orders(rows, 1000, "Rom"));
    EXPECT_EQ(other.drift, Ruling::kUndecided);
    EXPECT_EQ(other.range, Ruling::kBlocked);
    EXPECT_EQ(other.schema, Ruling::kBlocked);
    EXPECT_EQ(other.ruling, Ruling::kBlocked) << "blocked wins";
    const Judged same = judged_data(train, orders(rows, 1, ""));
    EXPECT_EQ(same.drift, Ruling::kUndecided);
    EXPECT_EQ(same.range, Ruling::kPass);
    EXPECT_EQ(same.schema, Ruling::kPass);
    EXPECT_EQ(same.sentence,
              cat("Undecided: drift of the data cannot be judged: ", rows, " rows, 20 needed."));
  }
  EXPECT_EQ(judged_data(train, orders(20, 1000, "Rom")).drift, Ruling::kBlocked);
  EXPECT_EQ(judged_data(train, orders(20, 1, "")).ruling, Ruling::kPass);
}

TEST(DataUndecided, AClosedDomainHoldsFromTheFirstRowOnAndTrainingRowsAreNone) {
  const CsvTable train = orders(300, 1, "");
  const CsvTable one = orders(1, 1, "Rom");
  EXPECT_EQ(judged_data(train, one).schema, Ruling::kUndecided)
      << "one of 301 rows may be the first of its town";
  DataFaultOptions closed;
  closed.schema.emplace();
  parse_metadata(R"(feature { name: "city" type: BYTES domain: "towns" }
      feature { name: "y" type: INT } feature { name: "age" type: INT } feature { name: "placed" type: BYTES }
      string_domain { name: "towns" value: "town 0" value: "town 1" })",
                 *closed.schema);
  EXPECT_EQ(judged_data(train, one, closed).schema, Ruling::kBlocked);
  EXPECT_EQ(judged_data(train, orders(1, 1, "town 1"), closed).schema, Ruling::kPass);
}

TEST(DataUndecided, DatesOfTheNextMonthAreNoFaultAndFarOnesAre) {
  const CsvTable train = orders(300, 1, "");
  for (const int rows : {15, 60}) {
    EXPECT_EQ(judged_data(train, orders(rows, 1, "", 50)).range, Ruling::kPass);
    std::string text = "y,age,city,placed\n";
    for (int i = 0; i < rows; ++i)
      text += cat(i % 2, ",", 25 + i * 37 % 40, ",town ", i % 4, ",1970-01-", 10 + i % 19, "\n");
    const Judged old = judged_data(train, parse_csv(text));
    EXPECT_EQ(old.range, Ruling::kBlocked);
    EXPECT_NE(old.sentence.find("column \"placed\""), old.sentence.npos) << old.sentence;
  }
}

CsvTable one_column(int rows, const std::function<std::string(int)>& cell, const char* name = "x") {
  std::string text = cat("a,y,", name, "\n");
  for (int i = 0; i < rows; ++i) text += cat(i * 37 % 91, ",", i * 31 % 7 / 4, ",", cell(i), "\n");
  return parse_csv(text, {.delimiter = ',', .header = CsvHeader::kYes});
}
Verdict verdict_on_tables(const char* gate, const CsvTable& train, const CsvTable& now,
                          DataFaultOptions options = {}) {
  options.label = "y";
  const DataAnswer data = ask_data(train, &now, options);
  return judge(read_gates(cat("[[gates]]\n", gate), "gates"), assessment_of("g", {{"a", 1, 1, 1, 1}}),
               nullptr, {}, &data);
}

TEST(DataUndecided, DriftOfDatesIsUndecidedWhereTheColumnIsNamed) {
  const auto month = [](int number) {
    return one_column(90, [number](int i) { return cat("2024-0", number, "-", 10 + i % 19); });
  };
  const CsvTable train = month(3), now = month(4);
  EXPECT_EQ(verdict_on_tables("data = \"drift\"\n", train, now).ruling, Ruling::kPass);
  const Verdict named = verdict_on_tables("data = \"drift\"\ncolumn = \"x\"\n", train, now);
  EXPECT_EQ(named.ruling, Ruling::kUndecided);
  EXPECT_NE(named.sentence.find("dates go on by themselves"), named.sentence.npos) << named.sentence;
  const std::vector<NotCompared> listed = ask_data(train, &now, {.label = "y"}).listed();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].column, "x");
}

TEST(DataUndecided, ARangeOfCellsThatNobodyCanReadIsUndecided) {
  const char* const named = "data = \"range\"\ncolumn = \"x\"\n";
  const CsvTable numbers = one_column(300, [](int i) { return cat(i % 99 / 2.0); });
  const CsvTable dates = one_column(300, [](int i) { return cat("2024-03-", 10 + i % 19); });
  const CsvTable missing = one_column(60, [](int) { return ""; });
  const CsvTable commas = one_column(60, [](int i) { return cat("\"", i, ",5\""); });
  for (const auto& [train, now] : {std::pair{numbers, missing}, {numbers, commas}, {dates, missing}}) {
    const Verdict verdict = verdict_on_tables(named, train, now);
    EXPECT_EQ(verdict.ruling, Ruling::kUndecided);
    EXPECT_NE(verdict.sentence.find("0 values, 1 needed"), verdict.sentence.npos) << verdict.sentence;
    EXPECT_EQ(verdict_on_tables("data = \"range\"\n", train, now, {.read = {"x"}}).ruling,
              Ruling::kUndecided);
  }
}

TEST(DataUndecided, DatesGoOnInWhateverFormAndWhateverASchemaLists) {
  const auto none = [](const CsvTable& train, const CsvTable& now, DataFaultOptions options = {}) {
    options.label = "y";
    for (const DataFault& fault : find_data_faults(train, &now, options))
      EXPECT_TRUE(!fault.warning || fault.of == FaultOf::kLeak) << fault.text;
  };
  none(one_column(300, [](int) { return "2024-03-01"; }), one_column(60, [](int) { return "2024-03-02"; }));
  none(one_column(300, [](int i) { return cat("2024-", i % 12 < 9 ? "0" : "", 1 + i % 12); }),
       one_column(60, [](int) { return "2025-01"; }));
  none(one_column(300, [](int i) { return cat("2024Q", 1 + i % 4); }),
       one_column(60, [](int) { return "2025Q1"; }));
  for (const char* unit : {"", "000"}) {
    const auto seconds = [unit](int first) {
      return [=](int i) { return cat(1709251200 + first + i * 7919 % 2592000, unit); };
    };
    none(one_column(300, seconds(0), "when"), one_column(60, seconds(2592000), "when"));
  }
  DataFaultOptions listed;
  listed.schema.emplace();
  parse_metadata(R"(feature { name: "x" type: BYTES domain: "x" } feature { name: "a" type: INT }
      feature { name: "y" type: INT } string_domain { name: "x" value: "2024-03-10" value: "2024-03-11" })",
                 *listed.schema);
  none(one_column(300, [](int i) { return cat("2024-03-1", i % 2); }),
       one_column(60, [](int i) { return cat("2024-03-1", 2 + i % 2); }), listed);
}

TEST(DataUndecided, OneCellOfAnotherTypeIsAFaultWhereNoneWas) {
  const auto numbers = [](int rows) { return one_column(rows, [](int i) { return cat(i % 99); }); };
  const CsvTable old = one_column(1, [](int) { return "old"; });
  EXPECT_EQ(verdict_on_tables("data = \"schema\"\n", numbers(300), old).ruling, Ruling::kBlocked);
  EXPECT_EQ(verdict_on_tables("data = \"schema\"\n", numbers(30), old).ruling, Ruling::kUndecided)
      << "1 of 31 cells may be the first of its kind";
}

// A column that no one reads is said not to be compared; of one that the model reads the gate is undecided.
TEST(DataUndecided, ColumnsThatNoComparisonTakesAreListed) {
  const auto table = [](int rows, int filled) {
    std::string text = "y,code,seldom\n";
    for (int i = 0; i < rows; ++i)
      text += cat(i * 31 % 7 / 4, ",A", rows * 1000 + i, ",", i % filled ? "" : "x", "\n");
    return parse_csv(text, {.delimiter = ',', .header = CsvHeader::kYes});
  };
  const CsvTable train = table(400, 10), now = table(100, 10);
  const DataAnswer answer = ask_data(train, &now, {.label = "y"});
  const std::vector<NotCompared> listed = answer.listed();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].column, "code");
  EXPECT_EQ(listed[0].why, "it names the rows: no two are alike in it");
  EXPECT_EQ(listed[1].column, "seldom");
  EXPECT_EQ(listed[1].why, "10 values, 20 needed");
  EXPECT_EQ(listed[1].have, 10);
  EXPECT_EQ(listed[1].needed, 20);
  EXPECT_EQ(answer.undecided(), nullptr);
  EXPECT_EQ(judged_data(train, now).drift, Ruling::kPass);
  const Judged read = judged_data(train, now, {.read = {"seldom"}});
  EXPECT_EQ(read.drift, Ruling::kUndecided);
  EXPECT_EQ(read.sentence, "Undecided: drift of the data cannot be judged: 10 values, 20 needed.");
}

TEST(DataUndecided, QuestionsThatNobodyCanAskDoNotPass) {
  const CsvTable train = orders(300, 1, ""), now = orders(60, 1, "");
  const auto ruling = [&](const char* gate, const CsvTable& of, const DataFaultOptions& options) {
    const DataAnswer data = ask_data(of, &now, options);
    return judge(read_gates(cat("[[gates]]\ndata = \"", gate, "\"\n"), "gates"),
                 assessment_of("g", {{"a", 1, 1, 1, 1}}), nullptr, {}, &data)
        .ruling;
  };
  EXPECT_EQ(ruling("groups", train, {}), Ruling::kUndecided) << "no groups are known";
  EXPECT_EQ(ruling("groups", train, {.groups = {"city"}}), Ruling::kPass);
  EXPECT_EQ(ruling("leak", orders(12, 2, ""), {}), Ruling::kUndecided);
}

using Cell = std::function<std::string(int)>;
CsvTable column(int rows, const Cell& cell) {
  std::string text = "y,age,city\n";
  for (int i = 0; i < rows; ++i) text += cat(i * 31 % 7 / 4, ",", 25 + i * 37 % 40, ",", cell(i), "\n");
  return parse_csv(text, {.delimiter = ',', .header = CsvHeader::kYes});
}

// Of 150 known towns nobody may drop the question: a gate on the schema alone.
TEST(DataUndecided, NewValuesAreFoundInColumnsOfAnyNumberOfValues) {
  const Cell town = [](int i) { return cat("town ", i * 37 % 150); };
  const CsvTable train = column(450, town);
  for (const int rows : {15, 60}) {
    const auto schema = [&](const Cell& cell) { return judged_data(train, column(rows, cell)).schema; };
    EXPECT_EQ(schema([](int i) { return cat("Rom ", i); }), Ruling::kBlocked);
    EXPECT_EQ(schema([](int) { return "Rom"; }), Ruling::kBlocked);
    EXPECT_EQ(schema([](int i) { return cat("town ", i * 7 % 150); }), Ruling::kPass);
    EXPECT_EQ(schema([&](int i) { return i ? town(i) : "Rom"; }), Ruling::kPass);
  }
  EXPECT_EQ(judged_data(train, column(1, [](int) { return "Rom"; })).schema, Ruling::kUndecided);
}

TEST(DataUndecided, ColumnsWhoseValuesAreAlwaysNewAreNoFault) {
  const Cell order = [](int i) { return cat("A", i); }, later = [](int i) { return cat("A", 1000 + i); };
  const Cell nearly = [](int i) { return cat("A", i / 40 * 40 + std::max(1, i % 40)); };
  for (const Cell& before : {order, nearly}) {
    for (const int rows : {15, 60}) {
      const CsvTable train = column(400, before), now = column(rows, later);
      const Judged judged = judged_data(train, now);
      EXPECT_EQ(judged.schema, Ruling::kPass);
      EXPECT_EQ(judged.range, Ruling::kPass);
      EXPECT_EQ(judged.ruling, rows < 20 ? Ruling::kUndecided : Ruling::kPass) << judged.sentence;
    }
  }
  // More rare values than are kept: nobody can tell.
  const Cell any = [](int i) { return cat("A", i % 12000); };
  const CsvTable train = column(24000, any), now = column(60, later);
  EXPECT_EQ(judged_data(train, now).schema, Ruling::kPass);
  EXPECT_EQ(ask_data(train, &now, {.label = "y"}).listed()[0].why, "its rare values are too many to be kept");
  const Judged read = judged_data(train, now, {.read = {"city"}});
  EXPECT_EQ(read.schema, Ruling::kUndecided) << read.sentence;
}

// Open only where no comparison takes a column that the model reads or the schema names.
TEST(DataUndecided, WhatNoComparisonTakesIsOpenWhereItMatters) {
  const CsvTable train = column(400, [](int i) { return cat("A", i); }),
                 now = column(60, [](int i) { return cat("B", i); });
  DataFaultOptions named;
  named.schema.emplace();
  parse_metadata(R"(feature { name: "city" type: BYTES } feature { name: "y" type: INT }
      feature { name: "age" type: INT })",
                 *named.schema);
  EXPECT_EQ(judged_data(train, now).ruling, Ruling::kPass);
  for (const DataFaultOptions& matters : {DataFaultOptions{.read = {"age", "city"}}, named}) {
    const Judged judged = judged_data(train, now, matters);
    EXPECT_EQ(judged.drift, Ruling::kUndecided) << judged.sentence;
    EXPECT_EQ(judged.range, Ruling::kUndecided) << judged.sentence;
  }
  // Values that come too seldom for drift, and dates, are checked by the other questions.
  for (const Cell& cell : {Cell([](int i) { return cat("town ", i % 200); }),
                           Cell([](int i) { return cat("2031-0", 1 + i % 6, "-", 10 + i % 19); })}) {
    const Judged judged = judged_data(column(400, cell), column(60, cell), {.read = {"age", "city"}});
    EXPECT_EQ(judged.ruling, Ruling::kPass) << judged.sentence;
  }
}

// Days from 2031-01-01 on, as they stand in a calendar.
std::string date(int day) {
  const std::chrono::year_month_day of =
      std::chrono::sys_days(std::chrono::year(2031) / 1 / 1) + std::chrono::days(day);
  const auto two = [](unsigned n) { return cat(n < 10 ? "0" : "", n); };
  return cat(static_cast<int>(of.year()), "-", two(static_cast<unsigned>(of.month())), "-",
             two(static_cast<unsigned>(of.day())));
}

TEST(DataUndecided, DatesCountAsFarBeyondTheSpanOfTrainingAndTwoMonths) {
  struct Case {
    int days, first, last;  // of training, and of the new rows from 2031-01-01 on
    bool far;
  };
  for (const Case& of : {Case{31, 31, 58, false},
                         {59, 59, 89, false},
                         {59, 59, 120, false},
                         {31, 300, 330, true},
                         {59, -330, -300, true},
                         {200, 205, 390, false},
                         {200, 405, 580, true}}) {
    const auto days = [](int first, int last) {
      return [=](int i) { return date(first + i * 13 % (last - first + 1)); };
    };
    const CsvTable train = column(403, days(0, of.days - 1));
    for (const int rows : {1, 5, 15, 60}) {
      for (const bool near_one : {false, true}) {
        const auto cell = [&](int i) {
          return near_one && i == 0 ? date(of.days + 2) : days(of.first, of.last)(i);
        };
        if (near_one && rows < 5) continue;
        const Judged judged = judged_data(train, column(rows, cell), {.read = {"city"}});
        const auto what = cat(of.days, " ", of.first, " ", rows, " ", near_one, " ", judged.sentence);
        EXPECT_EQ(judged.range, of.far ? Ruling::kBlocked : Ruling::kPass) << what;
        EXPECT_EQ(judged.schema, Ruling::kPass) << what;
        EXPECT_EQ(judged.drift, rows < 20 ? Ruling::kUndecided : Ruling::kPass) << what;
        if (rows == 60) {
          EXPECT_EQ(exit_code(judged.ruling), of.far ? 1 : 0) << what;
        }
      }
    }
  }
}

// How many of so many random divisions of one table the gates block; drift never passes below 20 rows.
void expect_few_alarms(int64_t divisions, int64_t most) {
  const AlikeRows rows(1);
  for (const int64_t now : {1, 5, 15, 60}) {
    int64_t blocked = 0;
    std::string first;
    for (int64_t seed = 0; seed < divisions; ++seed) {
      const auto [before, after] = rows.split(static_cast<uint64_t>(seed), now);
      const Judged found = judged_data(before, after, {.groups = {"sex"}});
      blocked += found.ruling == Ruling::kBlocked;
      if (found.ruling == Ruling::kBlocked) first += cat(found.sentence, "\n");
      if (now < 20) {
        EXPECT_EQ(found.drift, Ruling::kUndecided);
      }
    }
    EXPECT_LE(blocked, most) << now << " new rows\n" << first;
  }
}

TEST(DataUndecided, RandomDivisionsAreSeldomBlocked) { expect_few_alarms(15, 4); }
TEST(DataUndecided, SlowTwoHundredRandomDivisionsAreSeldomBlocked) { expect_few_alarms(200, 17); }

}  // namespace
}  // namespace espalier
