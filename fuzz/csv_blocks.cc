// Mutated tables in blocks of a few bytes: where the whole table is accepted they have its cells; their
// statistics are the same in one part and in two.
#include "format/csv_blocks.h"

#include "format/utf8.h"
#include "fuzz/mutate.h"
#include "validate/statistics.h"
#include "validate/table_csv.h"

using namespace espalier;

namespace {

StatisticsOptions options_of(const std::string& bytes) {
  StatisticsOptions out{.csv = {.delimiter = ',', .header = CsvHeader::kNo}};
  out.block = 16 + hash_bytes(bytes.data(), bytes.size()) % 100;
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
  const std::string bytes = "a,b\n" + input;
  if (!is_utf8(bytes) || bytes.find('\0') != bytes.npos) return false;
  std::string expected, statistics;
  bool accepted = true;
  try {
    const CsvTable table = parse_csv(bytes, options_of(bytes).csv);
    for (int64_t row = 0; row < table.rows(); ++row) {
      for (int64_t c = 0; c < table.columns(); ++c) expected.append(table.cell(row, c)).append(1, '\0');
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
      "name,age\nann, 39\nbob, 50\n", "39, State-gov\r\n\r\n50, ?\r\n",
      "a,b\n\"x,y\",\"1,5\"\n\"two\nlines\",\"a \"\"word\"\"\"\n", "5'10\",a\"b\"\n\"\",\"\"\n1,2",
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,b\n\"q\",2\n"};
  return fuzz::run(argc, argv, "fuzz_csv_blocks", seeds,
                   {"\"", "\"\"", "\",\"", ",", "\n", "\r\n", " ", "\n\n", "\t", "1", "\"\n\""}, accept);
}
