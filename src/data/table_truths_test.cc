#include "data/table_truths.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(said("day,n\nx,1\n3,2\n", "day > '2024-01-31'"), "11") << "no dates: byte by byte";
  // 2.3.2024 is the 2nd of March; what 2/3/2024 is nobody knows.
  EXPECT_EQ(said("day,n\n2.3.2024,1\n3.2.2024,2\n", "day >= '2024-03-01'"), "10");
  EXPECT_EQ(rule_of([] { said("day,n\n2/3/2024,1\n3/2/2024,2\n", "day >= '2024-03-01'"); }),
            "expression.date");
}

}  // namespace
}  // namespace espalier
