// Dates of several offsets from UTC.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "data/column_tables_test.h"

namespace espalier {
namespace {

std::vector<float> inputs_of(const ColumnProgram& program, const std::string& date) {
  return program.inputs(parse_csv(cat("at,z\n", date, ",1\n"))).to_vector<float>();
}
// Day d of March 2024, hour h of UTC, as a clock tells it that is so many hours ahead.
std::string told(int day, int hour, int ahead, bool zone) {
  const auto two = [](int n) { return cat(n < 10 ? "0" : "", n); };
  const int local = hour + ahead;
  const int on = day + (local >= 24) - (local < 0);
  const std::string sign = ahead < 0 ? "-" : "+";
  return cat("2024-03-", two(on), "T", two((local + 24) % 24), ":00:00",
             zone ? ahead == 0 ? "Z" : cat(sign, two(ahead < 0 ? -ahead : ahead), ":00") : "");
}
int ahead_of(int i) { return std::vector<int>{-8, 0, 9}[static_cast<size_t>(i * i % 7 % 3)]; }

TEST(DateClock, SeveralOffsetsAreLearnedAsInstants) {
  const auto of = [](bool utc, bool zone) {
    return fit_all(
        table_of("at", [&](int i) { return told(2 + i % 20, i * 7 % 24, utc ? 0 : ahead_of(i), zone); }),
        {.label = "y"});
  };
  const ColumnProgram mixed = of(false, true), utc = of(true, true), bare = of(true, false);
  EXPECT_EQ(noted(mixed, "at"),
            "date, 2024-03-02 to 2024-03-21, with the hour, by UTC, as offsets from it differ");
  EXPECT_EQ(noted(utc, "at"), "date, 2024-03-02 to 2024-03-21, with the hour");
  EXPECT_EQ(noted(bare, "at"), "date, 2024-03-02 to 2024-03-21, with the hour");
  // One instant on three clocks, the first two on other days; without an offset it is one of UTC.
  const std::vector<float> wanted = inputs_of(bare, "2024-03-10T07:00:00");
  for (const char* date : {"2024-03-09T23:00:00-08:00", "2024-03-10T16:00:00+0900", "2024-03-10T07:00:00Z",
                           "2024-03-10 12:30:00 +05:30", "2024-03-10T07:00:00"}) {
    EXPECT_EQ(inputs_of(mixed, date), wanted) << date;
    EXPECT_EQ(inputs_of(ColumnProgram::from_json(mixed.to_json()), date), wanted) << date;
  }
  // The day is (10 - 16) / 8.94; 7 of 24 hours are 105 degrees.
  EXPECT_NEAR(wanted[3], -6 / 8.94, 1e-6);
  EXPECT_NEAR(wanted[6], std::sin(105 * std::numbers::pi / 180), 1e-6);
  EXPECT_NE(mixed.feature_formulas()[0].find("a zone, from which the time at +00:00 from UTC follows"),
            std::string::npos)
      << mixed.feature_formulas()[0];
  EXPECT_NE(bare.feature_formulas()[0].find("a zone, which does not count"), std::string::npos);
}

// The time of a place is what its people live by; a row of another clock is one of the same place.
TEST(DateClock, OneOffsetAndOnePlaceKeepTheirClock) {
  const ColumnProgram one =
      fit_all(table_of("at", [](int i) { return told(2 + i % 20, i * 7 % 15, 9, true); }), {.label = "y"});
  EXPECT_EQ(noted(one, "at"), "date, 2024-03-02 to 2024-03-21, with the hour");
  EXPECT_EQ(inputs_of(one, "2024-03-10T16:00:00+09:00"), inputs_of(one, "2024-03-10T16:00:00"));
  EXPECT_EQ(inputs_of(one, "2024-03-10T07:00:00Z"), inputs_of(one, "2024-03-10T16:00:00"));
  // Berlin: an hour ahead of UTC until 31 March 2024, then two.
  const auto berlin = [](int i) {
    return cat("2024-0", 3 + i / 20, "-", 10 + i % 20, "T0", i % 9, i < 20 ? ":30:00+01:00" : ":30:00+02:00");
  };
  const ColumnProgram place = fit_all(table_of("at", berlin), {.label = "y"});
  EXPECT_EQ(noted(place, "at"),
            "date, 2024-03-10 to 2024-04-29, with the hour, by the clock of a place that has summer time");
  EXPECT_EQ(inputs_of(place, "2024-04-10T00:30:00+02:00"), inputs_of(place, "2024-04-10T00:30:00"));
  // London and Berlin by turns are two places.
  const auto two = [](int i) {
    return cat("2024-03-", 10 + i % 20, "T0", i % 9, i % 2 ? ":30:00+01:00" : ":30:00+00:00");
  };
  EXPECT_NE(noted(fit_all(table_of("at", two), {.label = "y"}), "at").find(", by UTC, as offsets"),
            std::string::npos);
  // A program of before says nothing of an offset.
  std::string json = one.to_json();
  const size_t at = json.find("\"offset\"");
  ASSERT_NE(at, std::string::npos);
  json.replace(at, 8, "\"before\"");
  EXPECT_EQ(inputs_of(ColumnProgram::from_json(json), "2024-03-10T07:00:00Z"),
            inputs_of(one, "2024-03-10T07:00:00"));
  json = one.to_json();
  json.replace(json.find("\"offset\": 32400"), 15, "\"offset\": 90000");
  EXPECT_EQ(rule_of([&] { ColumnProgram::from_json(json); }), "columns.json");
}

TEST(DateClock, AnOffsetThatIsMissingIsNamed) {
  const auto some = [](int i) { return told(2 + i % 20, i * 7 % 24, ahead_of(i), i % 10 != 3); };
  EXPECT_EQ(noted(fit_all(table_of("at", some), {.label = "y"}), "at").substr(0, 5), "date,");
  EXPECT_NE(
      noted(fit_all(table_of("at", some), {.label = "y"}), "at")
          .find("offsets from UTC differ, the first in line 2 of the column, and there is none in line 5 "
                "of the column: each time is taken by its own clock"),
      std::string::npos)
      << noted(fit_all(table_of("at", some), {.label = "y"}), "at");
}

}  // namespace
}  // namespace espalier
