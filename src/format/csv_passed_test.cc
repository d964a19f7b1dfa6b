#include <random>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "espalier/csv.h"
#include "format/csv_blocks.h"

namespace espalier {
namespace {

using Texts = std::vector<std::string>;

std::string all_cells(const CsvTable& table) {
  std::string out;
  for (int64_t row = 0; row < table.rows(); ++row) {
    for (int64_t c = 0; c < table.columns(); ++c) out += cat(c ? "|" : "", table.cell(row, c));
    out += '\n';
  }
  return out;
}

// Two exports that were joined.
TEST(CsvPassed, ALineThatRepeatsTheNamesIsNoRow) {
  const CsvTable table = parse_csv("v,y\n1,a\n2,b\nv,y\n3,a\n");
  EXPECT_EQ(all_cells(table), "1|a\n2|b\n3|a\n");
  EXPECT_EQ(table.lines(), (std::vector<int64_t>{2, 3, 5}));
  EXPECT_EQ(table.line(2), 5);
  EXPECT_EQ(table.number(2, 0), 3);
  EXPECT_EQ(table.notes(), Texts{"line 4 repeats the names and is passed over"});
  const CsvChange changes[] = {{2, 0, "7"}};
  EXPECT_EQ(all_cells(table.with_cells(changes)), "1|a\n2|b\n7|a\n");
  EXPECT_EQ(table.with_cells(changes).line(2), 5);

  // Quotes, blanks and line ends around the names, empty lines, at the begin, in a row and at the end.
  const CsvTable more =
      parse_csv("v,y\n v ,\"y\"\r\n1,a\n\nv,y\nv,y\n\n2,b\nv,y\n", {.header = CsvHeader::kYes});
  EXPECT_EQ(all_cells(more), "1|a\n2|b\n");
  EXPECT_EQ(more.lines(), (std::vector<int64_t>{3, 8}));
  EXPECT_EQ(more.notes(), Texts{"4 lines repeat the names and are passed over, the first is line 2"});

  EXPECT_EQ(all_cells(parse_csv("v,y\n1,a\nv,b\n2,y\n")), "1|a\nv|b\n2|y\n")
      << "one cell alone repeats its name";
  EXPECT_EQ(parse_csv("v\n1\nv\n2\n").rows(), 3) << "of one column it may be a value";
  EXPECT_EQ(parse_csv("v,y\n1,a\nv,y\n2,b\n", {.header = CsvHeader::kNo}).rows(), 4);
}

// The same rows with and without lines that repeat the names, wherever these are.
TEST(CsvPassed, OtherRowsKeepCellsAndLines) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string plain = "v,w,y\n", joined = plain;
    std::vector<int64_t> lines;
    int64_t line = 2;
    for (size_t r = 0, rows = 2 + random() % 20; r < rows; ++r) {
      while (random() % 4 == 0) {
        const bool names = random() % 2;
        joined += names ? "v,\"w\", y\n" : "\n";
        ++line;
      }
      const bool two = random() % 5 == 0;
      const std::string row = cat(r, two ? ",\"x\ny\"," : ",x,", std::string(random() % 9, 'z'), "\n");
      plain += row;
      joined += row;
      lines.push_back(line);
      line += 1 + two;
    }
    const CsvTable table = parse_csv(joined, {.header = CsvHeader::kYes});
    ASSERT_EQ(all_cells(table), all_cells(parse_csv(plain))) << joined;
    ASSERT_EQ(table.lines(), lines) << joined;
  }
}

TEST(CsvPassed, ALineOfUnitsBelowTheNamesIsNoRow) {
  const CsvTable table = parse_csv("v,y\n[kg],[-]\n1.5,0\n2.5,1\n3.5,1\n");
  EXPECT_EQ(all_cells(table), "1.5|0\n2.5|1\n3.5|1\n");
  EXPECT_EQ(table.lines(), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(table.notes(), Texts{"line 2 is passed over as one of units: \"[kg]\""});
  EXPECT_EQ(parse_csv("w,name,t\n(m/s),,-\n1,a,2\n2,b,3\n3,c,4\n").rows(), 3);
  EXPECT_EQ(parse_csv("w,t\nm/s,\xc2\xb0"
                      "C\n1,2\n2,3\n3,4\n")
                .rows(),
            3);
  // Of two files with units that were joined.
  const CsvTable joined = parse_csv("v,y\n[kg],[-]\n1,0\n2,1\n3,1\nv,y\n[kg],[-]\n4,1\n");
  EXPECT_EQ(all_cells(joined), "1|0\n2|1\n3|1\n4|1\n");
  EXPECT_EQ(joined.line(3), 8);

  // Words over words, a word alone, what means that nothing is known, negative amounts, rows alone.
  EXPECT_EQ(parse_csv("v,y\nkg,a\n1,b\n2,a\n3,b\n").rows(), 4);
  EXPECT_EQ(parse_csv("v,y\nNA,unknown\n1,2\n2,3\n3,4\n").rows(), 4);
  EXPECT_EQ(parse_csv("v,y\nmuch,\n1,2\n2,3\n3,4\n").rows(), 4);
  EXPECT_EQ(parse_csv("v,y\n(1.50),(2)\n1,2\n2,3\n3,4\n").rows(), 4);
  EXPECT_EQ(parse_csv("v,y\n\"[1, 2]\",[3]\n[4],[5]\n[6],[7]\n[8],[9]\n", {.header = CsvHeader::kYes}).rows(),
            4);
  EXPECT_EQ(parse_csv("v,y\n[kg],[-]\n1,0\n", {.header = CsvHeader::kYes}).rows(), 2);
}

// What reads a file in pieces tells what it found at first, and keeps its rows.
TEST(CsvPassed, BlocksKeepLinesThatRepeatTheNames) {
  const std::string text = "v,y\n[kg],[-]\n1,0\n2,1\nv,y\n3,1\n";
  CsvBlocks blocks(std::make_unique<TextSource>(text), {});
  int64_t rows = 0;
  for (CsvBlock block; blocks.next(block);) rows += CsvRows(std::move(block), blocks).rows();
  EXPECT_EQ(rows, 4);
  EXPECT_EQ(blocks.notes(), (Texts{"line 2 is passed over as one of units: \"[kg]\"",
                                   "line 5 repeats the names and counts as a row"}));
}

}  // namespace
}  // namespace espalier
