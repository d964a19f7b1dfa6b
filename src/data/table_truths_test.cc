#include "data/table_truths.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/columns.h"

namespace espalier {
namespace {

// "10?" for a table of three rows of which the condition is true, false and missing.
std::string said(const std::string& csv, const std::string& condition) {
  const CsvTable table = parse_csv(csv, {.header = CsvHeader::kYes});
  std::string out;
  for (const Truth truth : table_truths(Expression(condition), table, ColumnOptions().missing))
    out += truth == Truth::kMissing ? '?' : truth == Truth::kTrue ? '1' : '0';
  return out;
}

TEST(TableTruths, AmountsMeetNumbers) {
  const std::string euros = "price;n\n€ 1.200,50;1\n€ 90;2\nNA;3\n(€ 7);4\n";
  EXPECT_EQ(said(euros, "price > 100"), "10?0");
  EXPECT_EQ(said(euros, "price * 2 = 180"), "01?0");
  EXPECT_EQ(said(euros, "price between 80 and 1200.5"), "11?0");
  EXPECT_EQ(said(euros, "price in [90, -7]"), "01?1");
  EXPECT_EQ(said(euros, "abs(price) < 8"), "00?1");
  EXPECT_EQ(said(euros, "number(price) < n * 50"), "01?1");
  // As text it is what stands there.
  EXPECT_EQ(said(euros, "contains(price, '€ 9')"), "01?0");
  EXPECT_EQ(said(euros, "price = '€ 90'"), "01?0");
  EXPECT_EQ(said("w\n70 kg\n80 kg\n", "w >= 75"), "01");
  EXPECT_EQ(said("w\n12 %\n8 %\n", "w >= 10"), "10");
  // Some other word is no amount, which is said, and number() takes it for missing.
  const std::string asked = "price,n\n€ 12,1\nask,2\n€ 3,3\n";
  try {
    said(asked, "price > 1");
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_TRUE(error.message().starts_with("column \"price\" is of amounts, but line 3 holds \"ask\""))
        << error.message();
    EXPECT_EQ(error.fix(), "number(price), which takes other cells for missing");
  }
  EXPECT_EQ(said(asked, "number(price) > 5"), "1?0");
  EXPECT_EQ(rule_of([] { said("price,n\n€ 12,1\nask,2\n", "price > 1"); }), "expression.type");
  EXPECT_EQ(rule_of([] { said("pay,n\n12,1\nask,2\n", "pay > 1"); }), "expression.type");
}

TEST(TableTruths, DatesWithTheYearLastMeetThoseWithTheYearFirst) {
  const std::string days = "day,n\n31.1.2024,1\n01.02.2024,2\n?,3\n2.12.2023 14:30,4\n";
  EXPECT_EQ(said(days, "day >= '2024-01-31'"), "11?0");
  EXPECT_EQ(said(days, "day < '2023-12-02T15:00'"), "00?1");
  EXPECT_EQ(said(days, "day = '2024-02-01'"), "01?0");
  EXPECT_EQ(said(days, "day in ['2024-02-01', '2024-01-31']"), "11?0");
  EXPECT_EQ(said(days, "day between '2024-01-01' and '2024-01-31'"), "10?0");
  EXPECT_EQ(said(days, "day = '31.1.2024'"), "10?0") << "as it stands";
  EXPECT_EQ(said("day,n\n1/31/2024,1\n2/1/2024,2\n", "day > '2024-01-31'"), "01");
  EXPECT_EQ(said("day,n\n2024-01-31,1\n2024-02-01,2\n", "day > '2024-01-31'"), "01");
  EXPECT_EQ(said("day,n\nx,1\n3,2\n", "day = '2024-01-31'"), "00") << "no dates: as texts";
  // 2.3.2024 is the 2nd of March; what 2/3/2024 is nobody knows.
  EXPECT_EQ(said("day,n\n2.3.2024,1\n3.2.2024,2\n", "day >= '2024-03-01'"), "10");
  EXPECT_EQ(rule_of([] { said("day,n\n2/3/2024,1\n3/2/2024,2\n", "day >= '2024-03-01'"); }),
            "expression.date");
}

// The error of a condition: its rule and what it says first.
std::string refused(const std::string& csv, const std::string& condition) {
  try {
    said(csv, condition);
  } catch (const ValueError& error) {
    const std::string message(error.message());
    return cat(error.rule(), ": ", message.substr(0, message.find('\n')));
  }
  return "no error";
}

TEST(TableTruths, InstantsAreOrderedByUtc) {
  const std::string at =
      "at,n\n2024-01-01T03:10:00-08:00,1\n2024-01-01T12:00:00+02:00,2\n?,3\n"
      "2024-01-01T11:10:00Z,4\n";
  EXPECT_EQ(said(at, "at < '2024-01-01T11:00:00Z'"), "01?0");
  EXPECT_EQ(said(at, "at = '2024-01-01T12:10:00+01:00'"), "10?1");
  EXPECT_EQ(said(at, "at in ['2024-01-01T10:00:00Z', '2024-01-01T00:00:00Z']"), "01?0");
  EXPECT_EQ(said(at, "at between '2024-01-01T11:00:00Z' and '2024-01-01T11:10:00Z'"), "10?1");
  EXPECT_EQ(refused(at, "at < '2024-01-01T11:00:00'"),
            "expression.date: the dates of column \"at\" have several offsets from UTC, and "
            "\"2024-01-01T11:00:00\" has none: which of them came first is not known");
  // Where all have one offset, a text without one has it too.
  const std::string utc = "at,n\n2024-01-01T03:10:00Z,1\n2024-01-02T03:10:00Z,2\n";
  EXPECT_EQ(said(utc, "at >= '2024-01-02'"), "01");
  const std::string mixed = "at,n\n2024-01-01T03:10:00Z,1\n2024-01-02T03:10:00,2\n";
  EXPECT_EQ(
      refused(mixed, "at >= '2024-01-02T00:00:00Z'"),
      "expression.date: line 2 of column \"at\" has the offset +00:00 from UTC, and line 3 of column \"at\" "
      "has none: which of them came first is not known");
  EXPECT_EQ(
      refused("at,n\n2024-01-01T03:10:00,1\n2024-01-02,2\n", "at >= '2024-01-02T00:00:00Z'"),
      "expression.date: \"2024-01-02T00:00:00Z\" has an offset from UTC, and the dates of column \"at\" have "
      "none: which of them came first is not known");
  // Parts of a second count.
  EXPECT_EQ(
      said("at,n\n2024-01-01T00:00:00.25,1\n2024-01-01T00:00:00.75,2\n", "at > '2024-01-01T00:00:00.5'"),
      "01");
}

TEST(TableTruths, ColumnsAreComparedInTheOrderOfTime) {
  const std::string both = "a,b\n15-Jun-2024,01.07.2024\n01-Aug-2024,15.07.2024\n";
  EXPECT_EQ(said(both, "a < b"), "10");
  EXPECT_EQ(said("a,b\n9:30,10:00\n11:00,9:59 PM\n1:00 PM,12:59\n", "a < b"), "110");
  EXPECT_EQ(refused("a,b\n9:30,2024-01-01\n11:00,2024-01-02\n", "a < b"),
            "expression.date: column \"a\" is of times of day or durations and column \"b\" of dates: which "
            "of them "
            "came first is not known");
}

TEST(TableTruths, MonthsByNameAndClocksAreReadOrRefused) {
  const std::string days = "when,n\n01-Jan-2024,1\n15-Jun-2024,2\n16-Jun-2024,3\n31-Dec-2023,4\n";
  EXPECT_EQ(said(days, "when >= '2024-06-15'"), "0110");
  EXPECT_EQ(said(days, "when >= '15-Jun-2024'"), "0110");
  EXPECT_EQ(said(days, "when = '15 June 2024'"), "0100");
  const std::string mails =
      "when,n\n\"Sat, 15 Jun 2024 12:30:05 +0200\",1\n\"Sat, 15 Jun 2024 10:30:06 GMT\",2\n";
  EXPECT_EQ(said(mails, "when > '2024-06-15T10:30:05Z'"), "01");
  const std::string clock = "clock,n\n04:53:31,1\n18:02:17,2\n2:30 PM,3\n";
  EXPECT_EQ(said(clock, "clock >= '14:30'"), "011");
  EXPECT_EQ(said(clock, "clock = '14:30:00'"), "001");
  EXPECT_EQ(said("d,n\n1 day 02:00:00,1\n30:00:00,2\n", "d < 'PT28H'"), "10");
  EXPECT_EQ(rule_of([&] { said(clock, "clock > 12"); }), "expression.type");
  // A form that is not known is named, and its line.
  EXPECT_TRUE(
      refused("when,n\n15. Juni 2024,1\n16. Juni 2024,2\n", "when >= '2024-06-15'")
          .starts_with(
              "expression.date: \"2024-06-15\" is compared with dates, and line 2 of column \"when\" "
              "holds \"15. Juni 2024\", which has no form that is read as such; known are 2024-01-31"));
  EXPECT_TRUE(refused("when,n\n2024-06-15,1\nsoon,2\n", "when >= '2024-06-15'")
                  .starts_with("expression.date: \"2024-06-15\" is compared with dates, and line 3"));
  EXPECT_TRUE(
      refused(days, "when >= '15. Juni 2024'")
          .starts_with("expression.date: column \"when\" is of dates, and \"15. Juni 2024\" has no form"));
  EXPECT_TRUE(
      refused(clock, "clock >= 'noon'").starts_with("expression.date: column \"clock\" is of times of day"));
  // Words stay words, and parts of dates that begin with the year are in their order.
  EXPECT_EQ(said("w,n\nb,1\na,2\n", "w >= 'b'"), "10");
  EXPECT_EQ(said("day,n\n2024-01-31,1\n2023-12-31,2\n", "day >= '2024'"), "10");
}

TEST(TableTruths, TheOrderOfTimeGoesThroughCoalesceAndLower) {
  const std::string days = "at,n\n15-Jul-2024,1\n?,2\n01-Aug-2023,3\n";
  EXPECT_EQ(said(days, "coalesce(at, '1-Jan-2024') >= '2024-06-01'"), "100");
  EXPECT_EQ(said(days, "'2024-06-01' <= coalesce(at, '1-Sep-2024')"), "110");
  EXPECT_EQ(said(days, "coalesce(at, coalesce(at, '1-Sep-2024')) between '2024-06-01' and '2024-08-01'"),
            "100");
  EXPECT_EQ(said(days, "lower(at) >= '2024-06-01'"), "1?0");
  EXPECT_EQ(said("at,n\n9:30,1\n?,2\n11:00,3\n", "coalesce(at, '8:00') >= '10:00'"), "001");
  EXPECT_EQ(refused(days, "coalesce(at, 'never') >= '2024-06-01'"),
            "expression.date: which of \"never\" and \"2024-06-01\" came first is not known");
}

TEST(TableTruths, TextsThatAreNoDateAreNotOrderedAmongDates) {
  const std::string plain = "at,n\n2024-03-19,1\n2024-11-02,2\n";
  for (const char* const literal : {"2024-3-20", "2024-02-30", "2024-13-01", "2024-13", "Jun 2024", "soon"}) {
    const std::string error = refused(plain, cat("at >= '", literal, "'"));
    EXPECT_TRUE(error.starts_with(cat("expression.date: column \"at\" is of dates, and \"", literal,
                                      "\" has no form that is read as such")))
        << error;
  }
  EXPECT_EQ(said(plain, "at >= '2024-04'"), "01");
  EXPECT_EQ(said(plain, "at > ''"), "11");
  for (const char* const months : {"Jun 2024", "Jun-24", "June 2024"}) {
    const std::string csv = cat("at,n\n", months, ",1\n", months, ",2\n");
    for (const std::string& condition :
         {cat("at >= '", months, "'"), cat("at between '", months, "' and '", months, "'")}) {
      EXPECT_EQ(refused(csv, condition), cat("expression.date: text is compared byte by byte, and the month "
                                             "\"",
                                             months, "\" does not begin with its year"));
    }
  }
}

}  // namespace
}  // namespace espalier
