#include "espalier/csv.h"

#include <algorithm>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"

namespace espalier {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows cells_of(const CsvTable& table) {
  Rows out;
  for (int64_t r = 0; r < table.rows(); ++r) {
    out.emplace_back();
    for (int64_t c = 0; c < table.columns(); ++c) out.back().emplace_back(table.cell(r, c));
  }
  return out;
}
Rows parsed(std::string text, CsvHeader header = CsvHeader::kNo) {
  return cells_of(parse_csv(std::move(text), {.delimiter = ',', .header = header}));
}
std::string csv_error_of(std::string text,
                         const CsvOptions& options = {.delimiter = ',', .header = CsvHeader::kNo}) {
  try {
    parse_csv(std::move(text), options);
  } catch (const Error& error) {
    return cat(error.rule(), " ", error.message());
  }
  return "no error";
}

TEST(Csv, CellsAreWhatStandsBetweenDelimiters) {
  EXPECT_EQ(parsed("a,b\nc,d\n"), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(parsed("a,b\r\nc,d"), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(parsed(" 39, State-gov ,\t<=50K\n"), (Rows{{"39", "State-gov", "<=50K"}}));
  EXPECT_EQ(parsed(",\n,x\n"), (Rows{{"", ""}, {"", "x"}}));
  EXPECT_EQ(parsed("\xef\xbb\xbf"
                   "a,b\n"),
            (Rows{{"a", "b"}}));
  EXPECT_EQ(parsed("a\n\n\nb\n\n \r\n\n"), (Rows{{"a"}, {""}, {""}, {"b"}}));
  EXPECT_EQ(parsed("5'10\",a\"b\"\n"), (Rows{{"5'10\"", "a\"b\""}}));
}

TEST(Csv, EmptyLinesAreNoRowsOfSeveralColumns) {
  EXPECT_EQ(parsed("\n \na,b\n\n\r\n1,2\n\t\n3,4\n"), (Rows{{"a", "b"}, {"1", "2"}, {"3", "4"}}));
  const CsvTable table = parse_csv("\na;b\n\n1;2\n\n\n3;\"x\n\ny\"\n\n 5; 6\n7;8\n");
  EXPECT_EQ(table.delimiter(), ';');
  EXPECT_EQ(cells_of(table), (Rows{{"1", "2"}, {"3", "x\n\ny"}, {"5", "6"}, {"7", "8"}}));
  EXPECT_EQ(table.number(2, 0), 5);
  EXPECT_EQ(table.line(0), 4);
  EXPECT_EQ(table.line(1), 7);
  EXPECT_EQ(table.line(2), 11);
  EXPECT_EQ(table.line(3), 12);
}

// The same rows, with and without empty lines between them, at every place of a block.
TEST(Csv, RandomEmptyLinesChangeNothing) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    std::string plain, spaced;
    std::vector<int64_t> lines;
    int64_t line = 1;
    for (size_t r = 0, rows = 1 + random() % 30; r < rows; ++r) {
      while (random() % 3 == 0) {
        spaced += random() % 2 ? "\n" : " \t\r\n";
        ++line;
      }
      const std::string row = cat(std::string(random() % 20, 'x'), ",\"", r, "\"\n");
      lines.push_back(line++);
      plain += row;
      spaced += row;
    }
    EXPECT_EQ(parsed(spaced), parsed(plain)) << spaced;
    const CsvTable table = parse_csv(spaced, {.delimiter = ',', .header = CsvHeader::kNo});
    for (size_t r = 0; r < lines.size(); ++r) EXPECT_EQ(table.line(static_cast<int64_t>(r)), lines[r]);
  }
}

TEST(Csv, Utf16WithItsMarkIsRead) {
  using namespace std::string_literals;
  const Rows expected{{"\xc3\xa9", "\xe2\x82\xac"}, {"\xf0\x9f\x8c\xb3", "\xef\xbf\xbd"}};
  EXPECT_EQ(parsed("\xff\xfe\xe9\0,\0\xac\x20\n\0\x3c\xd8\x33\xdf,\0\x3c\xd8\n\0"s), expected);
  EXPECT_EQ(parsed("\xfe\xff\0\xe9\0,\x20\xac\0\n\xd8\x3c\xdf\x33\0,\xdf\x33\0\n"s), expected);
  EXPECT_EQ(parsed("\xff\xfe"
                   "a\0\n\0b"s),
            (Rows{{"a"}}));
}

TEST(Csv, WhatExcelWrites) {
  EXPECT_EQ(cells_of(parse_csv("sep=;\r\nx;y\r\n1,5;2\r\n")), (Rows{{"1,5", "2"}}));
  EXPECT_EQ(parse_csv("\xef\xbb\xbf"
                      "sep=|\nx|y\n1|2\n")
                .line(0),
            3);
  const CsvTable one = parse_csv("sep=;\r\nx\r\n1\r\n2\r\n");
  EXPECT_EQ(one.names(), (std::vector<std::string>{"x"}));
  EXPECT_EQ(one.line(0), 3);
  EXPECT_EQ(parsed("sep=ab,c\n1,2\n"), (Rows{{"sep=ab", "c"}, {"1", "2"}}));
  EXPECT_EQ(csv_error_of("sep=5\n1,2\n", {}).substr(0, 26), "csv.delimiter line 1: sep=");
  // Windows-1252: the euro sign, a dash, a letter.
  EXPECT_EQ(parsed("\x80,\x96,\xfc\n"), (Rows{{"\xe2\x82\xac", "\xe2\x80\x93", "\xc3\xbc"}}));
}

TEST(Csv, ALineOfExpectedNamesIsAHeader) {
  const CsvOptions options{.expected = {"x", "y", "z"}};
  EXPECT_FALSE(parse_csv("x,y\nx,y\nb,y\n").had_header());
  EXPECT_TRUE(parse_csv("x,y\nx,y\nb,y\n", options).had_header());
  EXPECT_FALSE(parse_csv("x,b\nx,b\nb,y\n", options).had_header());
}

TEST(Csv, QuotedCellsHoldAnything) {
  EXPECT_EQ(parsed("\"a,b\",\"c\nd\"\n\"\",\"x\"\"y\"\"\"\n"), (Rows{{"a,b", "c\nd"}, {"", "x\"y\""}}));
  EXPECT_EQ(parsed("  \" kept \"  ,b\r\n"), (Rows{{" kept ", "b"}}));
  EXPECT_EQ(parsed("\"a\r\nb\"\r\n"), (Rows{{"a\r\nb"}}));
  EXPECT_EQ(parsed("\"\"\"\"\n"), (Rows{{"\""}}));
  EXPECT_EQ(parsed("\"x\""), (Rows{{"x"}}));
}

// Cells of every length, so that delimiters, quotes and line ends fall on every place of a block.
TEST(Csv, RandomTablesComeBack) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const size_t rows = 1 + random() % 20, columns = 1 + random() % 6;
    const bool mostly_plain = round % 2;
    Rows expected(rows, std::vector<std::string>(columns));
    std::string text;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c) {
        std::string& cell = expected[r][c];
        const size_t length = random() % (random() % 8 ? 12 : 150);
        for (size_t i = 0; i < length; ++i)
          cell += mostly_plain ? "abc0123.-"[random() % 9] : "ab,\"\n\r .;\t"[random() % 10];
        bool quoted = cell.find_first_of(",\"\n\r\t ") != cell.npos || random() % 4 == 0;
        quoted = quoted || (cell.empty() && r + 1 == rows);
        if (quoted) {
          text += '"';
          for (const char character : cell)
            text += character == '"' ? std::string("\"\"") : std::string(1, character);
          text += '"';
        } else {
          text += cell;
        }
        text += c + 1 < columns ? "," : random() % 2 ? "\n" : "\r\n";
      }
    }
    ASSERT_EQ(parsed(text), expected) << text;
  }
}

// Would each quote look back to where its cell begins, this would take minutes.
TEST(Csv, QuotesInACellAreLookedAtOnce) {
  const size_t size = 1 << 19;
  std::string cell(2 * size + 1, ' ');
  cell[size] = 'a';
  std::fill(cell.begin() + size + 1, cell.end(), '"');
  const CsvTable table = parse_csv(cell, {.delimiter = ',', .header = CsvHeader::kNo});
  EXPECT_EQ(table.cell(0, 0), cell.substr(size));
}

TEST(Csv, ErrorsNameTheirPlace) {
  EXPECT_EQ(csv_error_of("a,b\nc\n"), "csv.columns line 2 ends after 1 cell, the first line has 2");
  EXPECT_EQ(csv_error_of("a,b\n\"x\ny\",b,c\n"),
            "csv.columns line 3 ends after 3 cells, the first line has 2");
  EXPECT_EQ(csv_error_of("a,b\n\n \r\nc\n"), "csv.columns line 4 ends after 1 cell, the first line has 2");
  EXPECT_EQ(csv_error_of("a,b\nc,\"d\n"), "csv.quote line 2, column 3: a quote that does not end");
  EXPECT_EQ(csv_error_of("a\n\"b\"c\n"), "csv.quote line 2, column 4: text behind a closing quote");
  EXPECT_EQ(csv_error_of("a,b\nc,\"d\ne,f\ng,\"h\"\n"),
            "csv.quote line 4, column 4: text behind a closing quote, which began in line 2, column 3");
  EXPECT_EQ(csv_error_of(std::string("a\nb\0c\n", 6)), "csv.nul line 2: a NUL byte, which no text has");
  for (const char* nothing : {"", "\n", "  \r\n\n", "\xef\xbb\xbf\n"})
    EXPECT_EQ(csv_error_of(nothing), "csv.empty line 1: no rows, nothing but blanks");
  EXPECT_EQ(csv_error_of("a,b\n", {.names = {"x"}}), "csv.names 1 names are given for 2 columns");
  EXPECT_EQ(csv_error_of("a,b\n", {.names = {"x", "x"}}).substr(0, 9), "csv.names");
  for (const char bad : {'"', '\n', '5', 'e', '.', '\x80'})
    EXPECT_EQ(csv_error_of("a", {.delimiter = bad}).substr(0, 13), "csv.delimiter") << bad;
  EXPECT_EQ(csv_error_of(std::string(1 << 18, ',')).substr(0, 11), "csv.columns");
}

TEST(Csv, TheDelimiterIsGuessed) {
  const auto guessed = [](const char* text) { return parse_csv(text).delimiter(); };
  EXPECT_EQ(guessed("a,b;c\nd,e\n"), ',');
  EXPECT_EQ(guessed("a;b\n1,5;2\n"), ';');
  EXPECT_EQ(guessed("a\tb, c\n1\t2\n"), '\t');
  EXPECT_EQ(guessed("a|b|c\n1|2|3,4\n"), '|');
  EXPECT_EQ(guessed("\"a;b;c\",d\n1,2\n"), ',');
  EXPECT_EQ(guessed("a\nb\n"), ',');
  EXPECT_EQ(cells_of(parse_csv("1 2\n3 4", {.delimiter = ' '})), (Rows{{"1", "2"}, {"3", "4"}}));
}

TEST(Csv, TheHeaderIsGuessed) {
  const auto header = [](const char* text) { return parse_csv(text).had_header(); };
  EXPECT_TRUE(header("name,age\nann,3\nbob,4\n"));
  EXPECT_FALSE(header("39, State-gov, <=50K\n50, Private, <=50K\n"));
  EXPECT_FALSE(header("red,blue\nblue,red\nred,green\n"));
  EXPECT_TRUE(header("color,likes\nblue,red\nred,green\n"));
  EXPECT_TRUE(header(",age\n0,39\n1,50\n"));
  EXPECT_FALSE(header("x,\n1,2\n"));
  EXPECT_TRUE(header("a,,y\n1,2,3\n4,5,6\n"));
  EXPECT_FALSE(header("Bob,,Oslo\nAnn,3,Bonn\n"));
  EXPECT_FALSE(header("Bob,,Oslo\nAnn,3,7\n"));
  EXPECT_TRUE(header("x,\n1,\n"));
  EXPECT_FALSE(header("a,?\nb,1\n"));
  EXPECT_TRUE(header("only,names\n"));
  EXPECT_FALSE(header("2019,2020\n1,2\n"));
  EXPECT_EQ(parse_csv("2019,2020\n1,2\n", {.header = CsvHeader::kYes}).names(),
            (std::vector<std::string>{"2019", "2020"}));
  EXPECT_EQ(parse_csv("only,names\n").rows(), 0);
}

TEST(Csv, NamesAreDistinct) {
  using Names = std::vector<std::string>;
  const CsvTable table = parse_csv("a,,a,a_2,a\n1,2,3,4,5\n", {.header = CsvHeader::kYes});
  EXPECT_EQ(table.names(), (Names{"a", "column_2", "a_3", "a_2", "a_4"}));
  EXPECT_EQ(table.notes(),
            (Names{"a name stands twice: the column that is \"a\" once more is called \"a_3\", and "
                   "1 more so"}));
  EXPECT_FALSE(table.numbered());
  EXPECT_EQ(table.column("a_2"), 3);
  const CsvTable numbered = parse_csv("1,2\n3,4\n");
  EXPECT_EQ(numbered.names(), (Names{"column_1", "column_2"}));
  EXPECT_TRUE(numbered.numbered());
  const CsvTable given = parse_csv("1,2\n3,4\n", {.names = {"x", "y"}});
  EXPECT_EQ(given.rows(), 2);
  EXPECT_EQ(given.column("y"), 1);
  EXPECT_FALSE(given.numbered());
  EXPECT_EQ(parse_csv("a,b\n3,4\n", {.names = {"x", "y"}}).rows(), 1);
  try {
    parse_csv("income,age\n1,2\n").column("incme");
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"income\"?"), std::string::npos) << error.what();
  }
}

TEST(Csv, NumbersAndLines) {
  const CsvTable table = parse_csv("x,y\n\"1.5\",a\n\"-2\n\",3\n .25e1 ,\n");
  EXPECT_EQ(table.number(0, 0), 1.5);
  EXPECT_EQ(table.number(0, 1), std::nullopt);
  EXPECT_EQ(table.number(1, 0), std::nullopt);
  EXPECT_EQ(table.number(2, 0), 2.5);
  EXPECT_EQ(table.number(2, 1), std::nullopt);
  EXPECT_EQ(table.line(0), 2);
  EXPECT_EQ(table.line(1), 3);
  EXPECT_EQ(table.line(2), 5);
}

TEST(Csv, OtherTextIsWindows1252) {
  EXPECT_EQ(parsed("caf\xe9,\xfc\n"), (Rows{{"caf\xc3\xa9", "\xc3\xbc"}}));
  EXPECT_EQ(parsed("caf\xc3\xa9,a\n"), (Rows{{"caf\xc3\xa9", "a"}}));
  // An overlong slash, half a surrogate, beyond U+10FFFF, and a character that ends early are not UTF-8.
  EXPECT_EQ(parsed("\xc0\xaf")[0][0], "\xc3\x80\xc2\xaf");
  EXPECT_EQ(parsed("\xed\xa0\x80")[0][0].size(), 7u);
  EXPECT_EQ(parsed("\xf4\x90\x80\x80")[0][0].size(), 10u);
  EXPECT_EQ(parsed("aaaaaaaa\xe2\x82")[0][0].size(), 13u);
  EXPECT_EQ(parsed("\xe2\x82\xac\xf0\x9f\x8c\xb3")[0][0], "\xe2\x82\xac\xf0\x9f\x8c\xb3");
}

// One byte of another code, as from a line that was pasted, says nothing of the others.
TEST(Csv, AStrayByteIsMarkedAndTheOthersAreUtf8) {
  const std::string text = "city,v\nK\xc3\xb6ln,1\nZ\xc3\xbcrich,2\nBern,3\nK\xf6ln,4\n";
  const CsvTable table = parse_csv(text);
  EXPECT_EQ(table.cell(0, 0), "K\xc3\xb6ln");
  EXPECT_EQ(table.cell(1, 0), "Z\xc3\xbcrich");
  EXPECT_EQ(table.cell(3, 0), "K\xef\xbf\xbdln");
  EXPECT_EQ(table.notes(),
            (std::vector<std::string>{"1 byte is no UTF-8, in line 5, and read as \"\xef\xbf\xbd\""}));
  // Of four in three lines, the first half of a character of three bytes.
  const CsvTable four = parse_csv("a,\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\n\xe2\x82,1\n2,\xfc\n3,x\n4,\xfc\n");
  EXPECT_EQ(four.cell(1, 1), "\xef\xbf\xbd");
  EXPECT_EQ(
      four.notes(),
      (std::vector<std::string>{"4 bytes are no UTF-8, in lines 2, 3, 5, and read as \"\xef\xbf\xbd\""}));
  // Nothing else is U+FFFD: what was UTF-8 comes back.
  EXPECT_EQ(parse_csv("\xc3\xb6,1\n").notes(), std::vector<std::string>());
}

TEST(Csv, Windows1252IsTakenWhereItsBytesOutnumberCharacters) {
  const CsvTable table = parse_csv("x,v\nSpa\xdf\x94,1\nK\xf6ln,2\nZ\xfcrich,3\n");
  EXPECT_EQ(table.cell(0, 0), "Spa\xc3\x9f\xe2\x80\x9d");
  EXPECT_EQ(table.cell(1, 0), "K\xc3\xb6ln");
  EXPECT_EQ(
      table.notes(),
      (std::vector<std::string>{"2 bytes are no UTF-8, and 1 character would be: taken for Windows-1252"}));
  EXPECT_EQ(parse_csv("x,v\nK\xf6ln,2\n").notes(), std::vector<std::string>()) << "there is no doubt";
}

TEST(Csv, CellsAreReplacedAndAllElseStays) {
  const std::string text =
      "A title\n\nname,age,note\nann,7,\"two\nlines\"\n\n ben , 8 ,\"say \"\"x\"\"\"\ncal,9,z\n";
  const CsvTable table = parse_csv(text);
  ASSERT_EQ(table.names(), (std::vector<std::string>{"name", "age", "note"}));
  EXPECT_EQ(table.lines(), (std::vector<int64_t>{4, 7, 8}));
  const CsvChange changes[] = {{0, 2, "a, \"b\""}, {1, 1, "-1.5"}, {2, 0, ""}, {2, 2, " blanks "}};
  const CsvTable changed = table.with_cells(changes);
  const std::vector<std::vector<std::string>> wanted = {
      {"ann", "7", "a, \"b\""}, {"ben", "-1.5", "say \"x\""}, {"", "9", " blanks "}};
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t c = 0; c < 3; ++c) {
      EXPECT_EQ(changed.cell(row, c), wanted[static_cast<size_t>(row)][static_cast<size_t>(c)]);
      EXPECT_EQ(table.cell(row, c), parse_csv(text).cell(row, c));
    }
    EXPECT_EQ(changed.line(row), table.line(row));
  }
  EXPECT_EQ(changed.lines(), table.lines());
  EXPECT_EQ(changed.number(1, 1), -1.5);
  EXPECT_EQ(changed.number(0, 1), 7);
  EXPECT_EQ(table.with_cells({}).cell(2, 2), "z");
  EXPECT_EQ(CsvTable().lines(), std::vector<int64_t>());
  const CsvTable bare = parse_csv("1,2\n3,4\n", {.header = CsvHeader::kNo});
  const CsvChange last[] = {{1, 1, "5"}};
  EXPECT_EQ(bare.with_cells(last).number(1, 1), 5);
  EXPECT_TRUE(bare.with_cells(last).numbered());
}

TEST(Csv, FilesNameTheirPath) {
  const std::string path = cat(::testing::TempDir(), "table-", posix_env().entropy(), ".csv");
  posix_env().write_file(path, "a,b\n1,2\n");
  EXPECT_EQ(read_csv(path).rows(), 1);
  posix_env().write_file(path, "a,b\n1\n");
  try {
    read_csv(path);
    ADD_FAILURE();
  } catch (const FormatError& error) {
    EXPECT_TRUE(error.message().starts_with(cat(path, ": line 2 "))) << error.message();
  }
  std::filesystem::remove(path);
  EXPECT_EQ(rule_of([&] { read_csv(path); }), "file.read");
}

TEST(Csv, CommasAreDecimalWhereNoNumberHasAPoint) {
  const CsvTable european = parse_csv("size;price\n7;3,5\n-8;-0,25\n9;1,5e3\n10;red, green\n");
  EXPECT_TRUE(european.numbers().decimal_comma);
  EXPECT_EQ(european.number(0, 1), 3.5);
  EXPECT_EQ(european.number(1, 1), -0.25);
  EXPECT_EQ(european.number(2, 1), 1500);
  EXPECT_EQ(european.number(3, 1), std::nullopt);
  EXPECT_EQ(european.number(1, 0), -8);
  EXPECT_FALSE(parse_csv("size;price\n7;3,5\n8;2.5\n").numbers().decimal_comma) << "some have a point";
  EXPECT_EQ(parse_csv("size;price\n7;3,5\n8;2.5\n").number(0, 1), std::nullopt);
  EXPECT_TRUE(parse_csv("day;price\n1.2.2024;3,5\n2.2.2024;2,5\n").numbers().decimal_comma)
      << "dates are no numbers";
  EXPECT_EQ(parse_csv("a,p\nx,\"3,5\"\ny,\"2,5\"\n").number(1, 1), 2.5);
  EXPECT_FALSE(parse_csv("a;p\nx;a, b\ny;1,2,3\n").numbers().decimal_comma);
}

TEST(Csv, PointsBetweenThousandsAreNoPoints) {
  const CsvTable table = parse_csv("people;price;size\n654.359;3,5;0.5\n12;1.234,5;1.250\n1.000.000;7;2\n");
  EXPECT_FALSE(table.numbers().decimal_comma) << "a size has a point";
  EXPECT_EQ(table.number(0, 0), 654359);
  EXPECT_EQ(table.number(1, 0), 12);
  EXPECT_EQ(table.number(2, 0), 1e6);
  EXPECT_EQ(table.number(1, 2), 1.25);
  const CsvTable european = parse_csv("people;price\n-654.359;3,5\n12;1.234,5\n");
  EXPECT_TRUE(european.numbers().decimal_comma);
  EXPECT_EQ(european.number(0, 0), -654359);
  EXPECT_EQ(european.number(1, 1), 1234.5);
  EXPECT_EQ(parse_csv("a;b\n0.536;x\n0.125;y\n").number(0, 0), 0.536);
  EXPECT_EQ(parse_csv("a,b\n1.536,x\n1.125,y\n").number(0, 0), 1.536) << "between commas a point is one";
}

TEST(Csv, ACommaOverThreeDigitsIsDecimalBetweenSemicolons) {
  EXPECT_EQ(parse_csv("a;p\nx;1,234\n").number(0, 1), 1.234);
  EXPECT_FALSE(parse_csv("a,p\nx,\"1,234\"\n").numbers().decimal_comma) << "perhaps of thousands";
  EXPECT_EQ(parse_csv("a,p\nx,\"0,234\"\n").number(0, 1), 0.234);
  EXPECT_EQ(parse_csv("a,p\nx,\"1234,567\"\n").number(0, 1), 1234.567);
}

TEST(Csv, NumbersOverDecimalCommasAreNoNames) {
  EXPECT_FALSE(parse_csv("7,5;a;x\n3,5;b;y\n").had_header());
  EXPECT_TRUE(parse_csv("price;kind;n\n3,5;price;n\n").had_header()) << "a name over a column of numbers";
}

}  // namespace
}  // namespace espalier
