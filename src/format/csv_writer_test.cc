#include "format/csv_writer.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(CsvWriter, QuotesWhatWouldBeReadOtherwise) {
  CsvWriter csv;
  csv.cell("a").cell("").cell("x,y").cell("say \"no\"").cell(" b").cell("two\nlines");
  csv.end_row();
  csv.cell("").cell(0.1).cell(0.1f).cell(-3.0).cell(1e300);
  csv.end_row();
  EXPECT_EQ(csv.text(), "a,,\"x,y\",\"say \"\"no\"\"\",\" b\",\"two\nlines\"\n,0.1,0.1,-3,1e+300\n");
  CsvWriter semicolons(';');
  semicolons.cell("x,y").cell("x;y");
  EXPECT_EQ(semicolons.text(), "x,y;\"x;y\"");
}
TEST(CsvWriter, NumbersMayHaveDecimalCommas) {
  CsvWriter semicolons(';', true), commas(',', true);
  semicolons.cell("1.5").cell(2.5).cell(-0.1f).cell(3.0).cell(1.5e-9);
  commas.cell(2.5).cell(7.0);
  EXPECT_EQ(semicolons.text(), "1.5;2,5;-0,1;3;1,5e-09") << "text stays";
  EXPECT_EQ(commas.text(), "\"2,5\",7");
}

}  // namespace
}  // namespace espalier
