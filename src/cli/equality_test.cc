// Numbers that are equal are one value in every verb, codes with leading zeros are texts, and times are in
// the order of time.
#include <set>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"

namespace espalier::cli {
namespace {

struct EqualityInVerbs : FolderTest {
  // 7 as it is, or as 7.0 or 7e0, in all columns of numbers.
  static std::string number(const std::string& text, Philox* other) {
    const uint64_t how = other ? other->below(3) : 0;
    if (how == 0) return text;
    if (how == 2) return text + "e0";
    return text + (text.find('.') == text.npos ? ".0" : "00");
  }
  // Rows of patients, of whom some come again; `other`: written otherwise.
  std::string table(const std::string& name, uint64_t seed, bool other) const {
    Philox random(seed), spelling(seed + 100);
    Philox* const spelled = other ? &spelling : nullptr;
    std::string text = "row,patient,grade,weight,zip,y,p\n", before;
    for (int i = 0; i < 600; ++i) {
      const auto patient = static_cast<int64_t>(random.below(100)) + 1,
                 grade = static_cast<int64_t>(random.below(5)) + 1,
                 weight = static_cast<int64_t>(random.below(900));
      const bool ill = static_cast<int64_t>(random.below(10)) < grade + (seed > 1);
      const std::string digits = cat(40 + weight / 10, ".", weight % 10 + 1),
                        score = cat("0.", random.below(90) + 10);
      const std::string zip = cat(random.below(2) ? "0" : "1", 2130 + random.below(4));
      text += cat("r", i, ",", number(cat(patient), spelled), ",", number(cat(grade), spelled), ",",
                  number(digits, spelled), ",", zip, ",", ill ? "yes" : "no", ",", score, "\n");
    }
    return write_file(path(name), text);
  }
  // What a verb says, in whichever file.
  std::string said(const std::string& line) const {
    const Outcome outcome = call_command(line);
    std::string text = cat(outcome.code, "\n", outcome.output, outcome.error);
    for (const std::string name : {"plain", "spelled"}) {
      for (size_t at = 0; (at = text.find(name, at)) != text.npos;) text.replace(at, name.size(), "FILE");
    }
    return text;
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
    return text;
  }
  // The same of both spellings.
  void expect_same(const std::string& verb, const std::vector<std::string>& hints = {}) const {
    const std::string plain =
        said(replaced(replaced(verb, "NOW", path("plain-now.csv")), "TABLE", path("plain.csv")));
    const std::string other =
        said(replaced(replaced(verb, "NOW", path("spelled-now.csv")), "TABLE", path("spelled.csv")));
    EXPECT_EQ(other, plain) << verb;
    for (const std::string& hint : hints) EXPECT_NE(plain.find(hint), plain.npos) << verb << "\n" << plain;
  }
};

TEST_F(EqualityInVerbs, NumbersWrittenOtherwiseChangeNothing) {
  for (const bool other : {false, true}) {
    table(other ? "spelled.csv" : "plain.csv", 1, other);
    table(other ? "spelled-now.csv" : "plain-now.csv", 2, other);
  }
  expect_same("data leak TABLE --label y --test NOW --json");
  expect_same("data leak TABLE --label y --test TABLE --json",
              {"600 of 600 rows of the test are training rows too"});
  expect_same("data bias TABLE --sensitive grade,zip --label y --json",
              {"\"group\": \"4\"", "\"group\": \"02131\""});
  expect_same("data bias TABLE --sensitive zip --label grade --positive 3.0 --json");
  expect_same("data drift TABLE NOW --json", {"\"grade\""});
  expect_same("data check TABLE NOW --label y --json");
  expect_same("evaluate --scores TABLE --label y --score p --slice grade,zip --json",
              {"\"grade=4\"", "\"zip=02131\"", "\"zip=12131\""});
  expect_same("evaluate --scores TABLE --label y --score p --slice grade --reference-group grade=3.0 --json");
  expect_same("evaluate --scores TABLE --label y --score p --query patient --json");
  for (const char* by : {"--by-group patient", "--by-group patient --label y", "--label grade",
                         "--label patient", "--by-time weight", "--seed 3"}) {
    std::string rows[2];
    for (const bool other : {false, true}) {
      const std::string test = path(other ? "b.csv" : "a.csv");
      const Outcome outcome =
          call_command(cat("data split ", path(other ? "spelled.csv" : "plain.csv"), " ", by,
                           " --replace --train ", path("rest.csv"), " --test ", test));
      ASSERT_EQ(outcome.code, 0) << by << outcome.error;
      const CsvTable tests = read_csv(test);
      for (int64_t row = 0; row < tests.rows(); ++row) rows[other] += cat(tests.cell(row, 0), " ");
    }
    EXPECT_EQ(rows[1], rows[0]) << by;
    EXPECT_FALSE(rows[0].empty()) << by;
  }
}

// What people met: 25 of 100 patients stood on both sides.
TEST_F(EqualityInVerbs, NoGroupStandsOnBothSides) {
  table("spelled.csv", 1, true);
  ASSERT_EQ(call_command(cat("data split ", path("spelled.csv"), " --by-group patient --train ",
                             path("train.csv"), " --test ", path("test.csv")))
                .code,
            0);
  std::set<double> sides[2];
  for (const bool test : {false, true}) {
    const CsvTable part = read_csv(path(test ? "test.csv" : "train.csv"));
    for (int64_t row = 0; row < part.rows(); ++row) sides[test].insert(*part.number(row, 1));
  }
  EXPECT_EQ(sides[0].size() + sides[1].size(), 100u);
  for (const double patient : sides[1]) EXPECT_FALSE(sides[0].contains(patient)) << patient;
}

TEST_F(EqualityInVerbs, LaterInstantsAreTheTestOnWhateverClock) {
  // Quarters of hours on clocks of two zones.
  Philox random(3);
  std::string text = "at,x,y\n";
  std::vector<int> order;
  for (int i = 0; i < 200; ++i) {
    const int zone = random.below(2) ? -8 : 2, quarter = 4 * (24 + zone) + i;
    const auto two = [](int value) { return cat(value < 10 ? "0" : "", value); };
    text += cat("2024-01-", two(1 + quarter / 96), "T", two(quarter / 4 % 24), ":", two(quarter % 4 * 15),
                ":00", zone < 0 ? "-08:00" : "+02:00", ",", i, ",", random.below(2) ? "a" : "b", "\n");
  }
  write_file(path("tz.csv"), text);
  ASSERT_EQ(call_command(cat("data split ", path("tz.csv"), " --by-time at --train ", path("train.csv"),
                             " --test ", path("test.csv")))
                .code,
            0);
  const CsvTable test = read_csv(path("test.csv"));
  ASSERT_EQ(test.rows(), 40);
  for (int64_t row = 0; row < test.rows(); ++row) EXPECT_GE(*test.number(row, 1), 160);
  const Outcome leak =
      call_command(cat("data leak ", path("train.csv"), " --test ", path("test.csv"), " --time at"));
  EXPECT_EQ(leak.code, 0) << leak.output;
  // Turned around, the past is the test.
  EXPECT_EQ(
      call_command(cat("data leak ", path("test.csv"), " --test ", path("train.csv"), " --time at")).code, 1);
  // With and without an offset nobody knows.
  write_file(path("mixed.csv"), text + "2024-01-01T00:00:00,1,a\n");
  const Outcome mixed = call_command(cat("data split ", path("mixed.csv"), " --by-time at"));
  EXPECT_EQ(mixed.code, 2);
  EXPECT_NE(mixed.error.find("has none: which of them came first is not known"), mixed.error.npos)
      << mixed.error;
}

TEST_F(EqualityInVerbs, MonthsByNameAreCompared) {
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  constexpr int kDays[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  std::string text = "when,v\n";
  for (int month = 0, v = 0; month < 12; ++month) {
    for (int day = 1; day <= kDays[month]; ++day)
      text += cat(day < 10 ? "0" : "", day, "-", kMonths[month], "-2024,", v++, "\n");
  }
  write_file(path("months.csv"), text);
  const std::string rows = path("rows.csv");
  ASSERT_EQ(
      call_command(cat("data rows ", path("months.csv"), " --where 'when >= \"2024-06-15\"' --out ", rows))
          .code,
      0);
  const CsvTable kept = read_csv(rows);
  EXPECT_EQ(kept.rows(), 200);
  EXPECT_EQ(kept.cell(0, 0), "15-Jun-2024");
}

TEST_F(EqualityInVerbs, TimesOfDayAreLearnedFrom) {
  Philox random(6);
  std::string text = "clock,x,y\n";
  const auto two = [](uint64_t value) { return cat(value < 10 ? "0" : "", value); };
  for (int i = 0; i < 800; ++i) {
    const uint64_t hour = random.below(24);
    text += cat(two(hour), ":", two(random.below(60)), ":", two(random.below(60)), ",0.",
                random.below(1000) + 1000, ",", hour >= 8 && hour < 22 ? "day" : "night", "\n");
  }
  write_file(path("tod.csv"), text);
  const Outcome trained =
      call_command(cat("train --data ", path("tod.csv"), " --label y --model ", path("model")));
  ASSERT_EQ(trained.code, 0) << trained.error;
  EXPECT_NE(trained.error.find("clock: numeric, "), trained.error.npos) << trained.error;
  const size_t at = trained.output.find("accuracy ");
  ASSERT_NE(at, trained.output.npos) << trained.output;
  EXPECT_GT(std::stod(trained.output.substr(at + 9)), 85) << trained.output;
}

}  // namespace
}  // namespace espalier::cli
