// Mutated tables in blocks of a few bytes: where the whole table is accepted they have its cells; their
// statistics are the same in one part and in two.
#include "format/csv_blocks.h"

#include "format/decimal.h"
#include "format/utf8.h"
#include "fuzz/mutate.h"
#include "validate/statistics.h"
#include "validate/table_csv.h"

using namespace espalier;

namespace {

// Between semicolons the first block decides whether commas are points: there it is the whole table.
StatisticsOptions options_of(const std::string& bytes) {
  const bool semicolons = bytes[1] == ';';
  StatisticsOptions out{.csv = {.delimiter = bytes[1], .header = CsvHeader::kNo}};
  out.block = semicolons ? size_t{1} << 14 : 16 + hash_bytes(bytes.data(), bytes.size()) % 100;
  return out;
}

// As blocks hold it.
std::string cell_of(const CsvTable& table, int64_t row, int64_t column) {
  std::string out(table.cell(row, column));
  if (table.delimiter() != ',') out = table.numbers().plain_number(out, column).value_or(out);
  return out;
}

// Every cell, and the statistics.
std::string cells_of(const std::string& bytes, std::string& statistics) {
  const StatisticsOptions options = options_of(bytes);
  CsvBlocks blocks(std::make_unique<TextSource>(bytes), options.csv, options.block);
  const TableColumns columns{blocks.names(), std::vector<CellType>(blocks.names().size(), CellType::kText)};
  TableStatistics whole(columns, options), parts[2]{{columns, options}, {columns, options}};
  std::string out;
  size_t count = 0;
  for (CsvBlock block; blocks.next(block); ++count) {
    const CsvRows rows(CsvBlock(block), blocks);
    const CsvTableRows table(CsvRows(std::move(block), blocks), {});
    whole.add(table);
    parts[count % 2].add(table);
    for (size_t c = 0; c < columns.names.size(); ++c) {
      CellBatch batch;
      table.read(c, columns.names[c], CellType::kText, batch);
      for (size_t row = 0; row < table.rows(); ++row) {
        if (batch.texts[row] != rows.cell(static_cast<int64_t>(row), static_cast<int64_t>(c)))
          throw InternalError("a column has another text than its cell");
      }
    }
    for (int64_t row = 0; row < rows.rows(); ++row) {
      for (size_t c = 0; c < columns.names.size(); ++c)
        out.append(rows.cell(row, static_cast<int64_t>(c))).append(1, '\0');
    }
  }
  parts[1].merge(parts[0]);
  statistics = metadata_bytes(whole.list(), MetadataForm::kBinary);
  if (metadata_bytes(parts[1].list(), MetadataForm::kBinary) != statistics)
    throw InternalError("statistics of two parts are others");
  return out;
}

bool accept(const std::string& input) {
  // A first line that says how many columns there are, however little the first block holds.
  const bool semicolons = input.find(';') != input.npos;
  const std::string bytes = (semicolons ? "a;b\n" : "a,b\n") + input;
  if (!is_utf8(bytes) || bytes.find('\0') != bytes.npos) return false;
  std::string expected, statistics;
  bool accepted = true;
  try {
    const CsvTable table = parse_csv(bytes, options_of(bytes).csv);
    for (int64_t row = 0; row < table.rows(); ++row) {
      for (int64_t c = 0; c < table.columns(); ++c) expected.append(cell_of(table, row, c)).append(1, '\0');
    }
  } catch (const FormatError&) {
    accepted = false;
  }
  try {
    const std::string cells = cells_of(bytes, statistics);
    if (accepted && cells != expected) throw InternalError("blocks have other cells");
  } catch (const FormatError&) {
    if (accepted) throw InternalError("a table that is accepted as a whole is refused in blocks");
  }
  return accepted;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds{
      "name,age\nann, 39\nbob, 50\n",
      "39, State-gov\r\n\r\n50, ?\r\n",
      "ann,39\n\nbob,50\n\n,\n",
      "a,b\n\"x,y\",\"1,5\"\n\"two\nlines\",\"a \"\"word\"\"\"\n",
      "5'10\",a\"b\"\n\"\",\"\"\n1,2",
      "x;1,5\n2,25;y, z\n\"3,5\";-0,125\n",
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,b\n\"q\",2\n"};
  return fuzz::run(argc, argv, "fuzz_csv_blocks", seeds,
                   {"\"", "\"\"", "\",\"", ",", ";", "0,5", "\n", "\r\n", " ", "\n\n", "\t", "1", "\"\n\""},
                   accept, fuzz::kTenfold);
}
