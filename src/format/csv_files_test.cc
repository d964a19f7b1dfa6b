// What people save that is not quite a table: titles, delimiters at the ends of lines, spreadsheets, UTF-16.
#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/csv.h"

namespace espalier {
namespace {

using Names = std::vector<std::string>;
using namespace std::string_literals;

std::string csv_files_error_of(const std::string& text, const CsvOptions& options = {}) {
  try {
    parse_csv(text, options);
  } catch (const FormatError& error) {
    return cat(error.rule(), " ", error.message(), error.fix().empty() ? "" : " -> ", error.fix());
  }
  return "no error";
}

TEST(CsvFiles, ATitleIsPassedOver) {
  const CsvTable table = parse_csv("Sales report 2024\nday;sold;price\n1;2;0,5\n2;3;0,7\n");
  EXPECT_EQ(table.delimiter(), ';');
  EXPECT_EQ(table.names(), (Names{"day", "sold", "price"}));
  EXPECT_EQ(table.rows(), 2);
  EXPECT_EQ(table.number(0, 0), 1);
  EXPECT_EQ(table.line(0), 3);
  EXPECT_EQ(table.notes(), (Names{"line 1 is passed over as a title: \"Sales report 2024\""}));
  const CsvTable more =
      parse_csv("\n\"Sales,\nof all\"\r\nCreated by a program\r\n\r\nday,sold\r\nmon,2\r\ntue,3");
  EXPECT_EQ(more.names(), (Names{"day", "sold"}));
  EXPECT_EQ(more.cell(1, 0), "tue");
  EXPECT_EQ(more.line(1), 8);
  EXPECT_EQ(more.notes(), (Names{"lines 1 to 4 are passed over as a title: \"\"Sales,\""}));
  EXPECT_EQ(parse_csv("Report\na,b\n1,2\n", {.header = CsvHeader::kYes}).names(), (Names{"a", "b"}));
  EXPECT_TRUE(parse_csv("a,b\n1,2\n").notes().empty());
}

TEST(CsvFiles, AShortLineIsToldFromALongOne) {
  EXPECT_EQ(
      csv_files_error_of("a,b,c\n1,2,3\n1,2\n"),
      "csv.columns line 3 ends after 2 cells, the first line has 3 -> every line has 3 "
      "cells, empty ones between delimiters too; a cell that holds a line's end stands in double quotes");
}

TEST(CsvFiles, OtherLinesOfOneCellAreNoTitle) {
  // One that is to be a row, more than five of them, and lines below that do not agree.
  const std::string problem =
      "csv.columns line 2 ends after 2 cells, the first line has 1 -> "
      "a cell that holds the delimiter or a line's end stands in double quotes";
  EXPECT_EQ(csv_files_error_of("Report\na,b\n1,2\n", {.delimiter = ',', .header = CsvHeader::kNo}), problem);
  EXPECT_EQ(csv_files_error_of("Report\na,b\n1,2\n1,2,3\n"), problem);
  EXPECT_EQ(csv_files_error_of("Report\na,b\n"), problem);
  EXPECT_EQ(csv_files_error_of("1\n2\n3\n4\n5\n6\na,b\n1,2\n").substr(0, 18), "csv.columns line 7");
  EXPECT_EQ(parse_csv("text\none\ntwo\n").rows(), 2);
  EXPECT_EQ(csv_files_error_of("a;b;c\n1;2,5;x\n", {.delimiter = ','}),
            "csv.columns line 2 ends after 2 cells, the first line is one cell and holds 2 "
            "times \";\" -> the delimiter may be \";\", which is found where none is named");
  EXPECT_EQ(csv_files_error_of("a\tb\n1;2\tx\n", {.delimiter = ';'}),
            "csv.columns line 2 ends after 2 cells, the first line is one cell and holds 1 "
            "times a tab -> the delimiter may be a tab, which is found where none is named");
}

TEST(CsvFiles, AnEmptyColumnBehindTheLastDelimiterIsLeftOut) {
  const CsvTable table = parse_csv("a,b,\n1,x,\n2,y, \n3,\"z\",\"\"\n");
  EXPECT_EQ(table.names(), (Names{"a", "b"}));
  EXPECT_EQ(table.columns(), 2);
  EXPECT_EQ(table.rows(), 3);
  EXPECT_EQ(table.number(2, 0), 3);
  EXPECT_EQ(table.cell(2, 1), "z");
  EXPECT_EQ(table.line(2), 4);
  EXPECT_EQ(table.notes(), (Names{"every line ends in a delimiter: the empty column behind it is left out"}));
  EXPECT_EQ(parse_csv("a,b,\nx,y,\nz,x,\n", {.expected = {"a", "b"}}).names(), (Names{"a", "b"}));
  // A column of missing values, one with a name, rows without names, and a strict reader.
  EXPECT_EQ(parse_csv("a,b,\n1,x,\n2,y,0\n", {.header = CsvHeader::kYes}).columns(), 3);
  EXPECT_EQ(parse_csv("a,b,c\n1,x,\n2,y,\n").columns(), 3);
  EXPECT_EQ(parse_csv("1,2,\n3,4,\n").columns(), 3);
  EXPECT_EQ(parse_csv("a,b,\n1,2,\n", {.header = CsvHeader::kNo}).columns(), 3);
  // Without names it is left out where the others are as many as are known; where it may be one of them,
  // nobody can tell.
  const std::string nameless = "1;2;\n3;4;\n";
  EXPECT_EQ(parse_csv(nameless, {.expected = {"a", "b"}}).columns(), 2);
  EXPECT_EQ(parse_csv(nameless, {.names = {"a", "b"}}).columns(), 2);
  EXPECT_EQ(parse_csv(nameless, {.names = {"a", "b", "c"}}).columns(), 3);
  EXPECT_EQ(rule_of([&] { parse_csv(nameless, {.expected = {"y", "a", "b"}}); }), "csv.columns");
  EXPECT_EQ(parse_csv(nameless, {.header = CsvHeader::kNo, .expected = {"y", "a", "b"}}).columns(), 3);
}

TEST(CsvFiles, SpreadsheetsAreNamed) {
  const std::string zip = "PK\x03\x04\x14\0\6\0\x08\0\0\0\x21\0\0\0\0\0\0\0\0\0\0\0\0\0"s;
  const std::string fix = " -> open it and save the sheet as CSV";
  EXPECT_EQ(csv_files_error_of(zip + "\x13\0\0\0[Content_Types].xml"s),
            "csv.spreadsheet this is a spreadsheet (.xlsx), no text" + fix);
  EXPECT_EQ(csv_files_error_of(zip + "\x10\0\0\0docProps/app.xml"s).substr(0, 15), "csv.spreadsheet");
  EXPECT_EQ(csv_files_error_of(zip + "\x08\0\0\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet"s),
            "csv.spreadsheet this is a spreadsheet (.ods), no text" + fix);
  EXPECT_EQ(csv_files_error_of("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0"s),
            "csv.spreadsheet this is a spreadsheet (.xls), no text" + fix);
  EXPECT_EQ(csv_files_error_of(zip + "\5\0\0\0a.csv"s),
            "csv.zip this is a zip archive, no text -> unpack it");
  EXPECT_EQ(parse_csv("PK,b\n1,2\n").names(), (Names{"PK", "b"}));
}

TEST(CsvFiles, Utf16IsKnownByItsNulBytes) {
  const auto wide = [](std::u16string_view text, bool little) {
    std::string out;
    for (const char16_t c : text) {
      const char low = static_cast<char>(c & 0xff), high = static_cast<char>(c >> 8);
      out += little ? low : high;
      out += little ? high : low;
    }
    return out;
  };
  for (const bool little : {true, false}) {
    const CsvTable table = parse_csv(wide(u"имя;возраст\nИван;39\nЁжик;€5\n", little));
    EXPECT_EQ(table.names(), (Names{"имя", "возраст"}));
    EXPECT_EQ(table.number(0, 1), 39);
    EXPECT_EQ(table.cell(1, 1), "€5");
  }
  // NUL bytes in text are what they were.
  EXPECT_EQ(csv_files_error_of("a\nb\0c\n"s).substr(0, 14), "csv.nul line 2");
  EXPECT_EQ(csv_files_error_of("a,b\0\n1,2\n3,4\n"s).substr(0, 14), "csv.nul line 1");
  EXPECT_EQ(csv_files_error_of(wide(u"a,b\n1,2\n", true) + "\0\0"s).substr(0, 14), "csv.nul line 1");
}

}  // namespace
}  // namespace espalier
