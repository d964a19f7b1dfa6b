#include "format/csv_blocks.h"

#include <zlib.h>

#include <random>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "espalier/error.h"
#include "format/csv_ends.h"

namespace espalier {
namespace {

struct Read {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;
  std::vector<int64_t> lines;
  size_t blocks = 0;
};

// Each block is written over the one before.
Read read(std::unique_ptr<ByteSource> source, size_t block, const CsvOptions& options = {}) {
  CsvBlocks blocks(std::move(source), options, block);
  Read out;
  out.names = blocks.names();
  for (CsvBlock piece; blocks.next(piece); ++out.blocks) {
    CsvRows rows(std::move(piece), blocks);
    for (int64_t row = 0; row < rows.rows(); ++row) {
      out.lines.push_back(rows.line(row));
      out.rows.emplace_back();
      for (size_t column = 0; column < out.names.size(); ++column)
        out.rows.back().emplace_back(rows.cell(row, static_cast<int64_t>(column)));
    }
    piece.text = rows.release();
  }
  return out;
}
Read read(const std::string& text, size_t block, const CsvOptions& options = {}) {
  return read(std::make_unique<TextSource>(text), block, options);
}

// Quoted cells with delimiters, line ends and quotes in them, empty lines, quotes that are but characters.
std::string some_cell(std::mt19937_64& random) {
  switch (random() % 7) {
    case 0:
      return "\"a,\"\"b\"\"\n,\n\"";
    case 1:
      return " \"\" ";
    case 2:
      return "5'10\"";
    case 3:
      return "x \"y\" z";
    case 4:
      return "";
    default:
      return std::string(random() % 12, static_cast<char>('a' + random() % 26));
  }
}

TEST(CsvBlocks, HoldTheRowsOfTheWholeTable) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 400; ++round) {
    const size_t columns = 1 + random() % 4;
    std::string text = round % 3 ? "\xef\xbb\xbf" : "";
    for (size_t c = 0; c < columns; ++c) text += cat(c ? "," : "", "first", c);
    text += '\n';
    for (size_t r = 0, rows = 1 + random() % 40; r < rows; ++r) {
      if (random() % 8 == 0 && columns > 1) text += random() % 2 ? "\n" : " \r\n";
      for (size_t c = 0; c < columns; ++c) text += (c ? "," : "") + some_cell(random);
      text += random() % 2 ? "\r\n" : "\n";
    }
    if (random() % 2) text += "last" + std::string(columns - 1, ',');
    const CsvOptions options{.delimiter = ',', .header = CsvHeader::kNo};
    const CsvTable table = parse_csv(text, options);
    const Read got = read(round % 3 ? text.substr(3) : text, 16 + random() % 200, options);
    ASSERT_EQ(got.names, table.names()) << text;
    ASSERT_EQ(static_cast<int64_t>(got.rows.size()), table.rows()) << text;
    for (int64_t row = 0; row < table.rows(); ++row) {
      EXPECT_EQ(got.lines[static_cast<size_t>(row)], table.line(row)) << text;
      for (int64_t c = 0; c < table.columns(); ++c)
        EXPECT_EQ(got.rows[static_cast<size_t>(row)][static_cast<size_t>(c)], table.cell(row, c)) << text;
    }
  }
}

TEST(CsvBlocks, HeadsAreFoundAsInTheWholeTable) {
  EXPECT_EQ(read("sep=;\na;b\n1;2\n", 1000).names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read("Report of May\n\na,b,c\n1,2,3\n4,5,6\n", 1000).rows.size(), 2u);
  EXPECT_EQ(read("1,2\n3,4\n", 1000).names, (std::vector<std::string>{"column_1", "column_2"}));
  EXPECT_EQ(read("a,b\n", 1000).rows.size(), 0u);
  EXPECT_EQ(read("a,b,\n1,2,\n3,4,\n", 1000).names, (std::vector<std::string>{"a", "b"}));
}

std::string error_of(const std::string& text, size_t block = 64) {
  try {
    read(text, block, {.delimiter = ',', .header = CsvHeader::kYes});
  } catch (const Error& error) {
    return cat(error.rule(), " ", error.message());
  }
  return "no error";
}

std::string rows(int count) {
  std::string out = "a,b\n";
  for (int i = 0; i < count; ++i) out += "some,text\n";
  return out;
}

TEST(CsvBlocks, MistakesHaveTheLineOfTheFile) {
  EXPECT_EQ(error_of(""), "csv.empty line 1: no rows, nothing but blanks");
  EXPECT_EQ(error_of(rows(1000) + "1,2,3\n" + rows(10)),
            "csv.columns line 1002 ends after 3 cells, the first line has 2");
  EXPECT_EQ(error_of(rows(1000) + "1,\"2\n" + rows(1000)),
            "csv.quote line 1002, column 3: a quote that does not end");
  EXPECT_EQ(error_of(rows(1000) + "1,\"2\" 3\n"),
            "csv.quote line 1002, column 7: text behind a closing quote");
  EXPECT_EQ(error_of(rows(1000) + std::string("1,\0\n", 4)),
            "csv.nul line 1002: a NUL byte, which no text has");
  EXPECT_EQ(error_of("a,b,\n1,2,\n" + std::string(100, '\n') + "3,4,5\n"),
            "csv.columns line 103: a cell behind the last column that has a name");
}

TEST(CsvBlocks, AQuoteThatDoesNotEndIsNotLookedForInAllOfALargeFileSlow) {
  std::string text = rows(10) + "1,\"2\n";
  while (text.size() < (size_t{20} << 20)) text += "some,text and more of it\n";
  EXPECT_EQ(error_of(text, 1 << 20), "csv.quote line 12, column 3: a quote that does not end within 16 MiB");
}

std::string gzipped(const std::string& text) {
  const std::string path = fresh_folder("csv-blocks-gzip") + "/x.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

std::string utf16(const std::string& ascii, bool little) {
  std::string out;
  for (const char c : ascii) out += little ? std::string{c, '\0'} : std::string{'\0', c};
  return out;
}

TEST(ByteSource, UnpacksAndKnowsUtf16) {
  const std::string table = rows(30000);
  const std::string folder = fresh_folder("csv-blocks");
  const auto rows_of = [&](const std::string& bytes) {
    posix_env().write_file(folder + "/x.csv", bytes);
    CsvBlocks blocks(open_text(folder + "/x.csv"), {}, 1 << 16);
    int64_t rows = 0;
    for (CsvBlock piece; blocks.next(piece);) rows += CsvRows(std::move(piece), blocks).rows();
    return rows;
  };
  EXPECT_EQ(rows_of(table), 30000);
  EXPECT_EQ(rows_of("\xef\xbb\xbf" + table), 30000);
  EXPECT_EQ(rows_of("\xff\xfe" + utf16(table, true)), 30000);
  EXPECT_EQ(rows_of("\xfe\xff" + utf16(table, false)), 30000);
  EXPECT_EQ(rows_of(utf16(table, true)), 30000);
  const std::string packed = posix_env().read_file(gzipped(table));
  EXPECT_EQ(rows_of(packed), 30000);
  EXPECT_EQ(rows_of(packed + posix_env().read_file(gzipped("more,rows\n"))), 30001);
  EXPECT_THROW(rows_of(packed.substr(0, packed.size() / 2)), FormatError);
  EXPECT_THROW(open_text(folder + "/none.csv"), IoError);
  EXPECT_THROW(rows_of("\xff\xfe"), FormatError);
}

// The ends of all lines and cells of a text without quotes, byte by byte.
TEST(CsvEnds, AreThoseOfABytewiseLoop) {
  std::mt19937_64 random(31);
  std::vector<FindCsvEnds*> ways = {find_csv_ends_portable};
#if defined(__x86_64__)
  if (current_isa() >= Isa::kAvx2) ways.push_back(find_csv_ends_avx2);
  if (current_isa() >= Isa::kAvx512) {
    ways.push_back(find_csv_ends_avx512);
    ways.push_back(find_csv_ends_avx512_words);
  }
#endif
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t i = random() % 300; i > 0; --i) text += "ab;\n,\xc3\xa4"[random() % 7];
    std::vector<uint32_t> expected;
    size_t lines = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == ';' || text[i] == '\n') expected.push_back(static_cast<uint32_t>(i + 1));
      lines += text[i] == '\n';
    }
    for (FindCsvEnds* way : ways) {
      std::vector<uint32_t> out(text.size() + 72);
      const CsvEnds found = way(text.data(), text.size(), ';', out.data(), out.size());
      ASSERT_TRUE(found.all);
      EXPECT_EQ(found.lines, lines);
      out.resize(found.count);
      EXPECT_EQ(out, expected);
      if (text.empty()) continue;
      out.resize(71);
      EXPECT_FALSE(way(text.data(), text.size(), ';', out.data(), out.size()).all);
      std::string quoted = text;
      quoted[random() % text.size()] = '"';
      out.resize(text.size() + 72);
      EXPECT_FALSE(way(quoted.data(), quoted.size(), ';', out.data(), out.size()).all);
    }
  }
}

}  // namespace
}  // namespace espalier
