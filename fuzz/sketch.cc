// Mutated sketches of tables: refused with an error, or read, and then written, merged with themselves and
// shown as statistics.
#include "base/format.h"
#include "espalier/error.h"
#include "fuzz/mutate.h"
#include "validate/sketch_files.h"
#include "validate/table_csv.h"

using namespace espalier;

namespace {

std::string seed(const char* weight, const char* slice, int rows) {
  std::string text = "a,b,c,d\n";
  for (int i = 0; i < rows; ++i) text += cat(i % 9 - 3, ",", i / 7.0, ",k", i % 5, ",", i % 3, "\n");
  StatisticsOptions options{
      .csv = {.delimiter = ',', .header = CsvHeader::kYes}, .weight = weight, .slice = slice};
  options.semantic_domains = rows > 20;
  if (rows > 0) options.crosses = {"b", "a"};
  CsvBlocks blocks(std::make_unique<TextSource>(text), options.csv, text.size());
  TableStatistics out({blocks.names(), {CellType::kInt, CellType::kFloat, CellType::kText, CellType::kInt}},
                      options);
  for (CsvBlock block; blocks.next(block);) out.add(CsvTableRows(CsvRows(std::move(block), blocks), {}));
  return out.bytes();
}

bool accept(const std::string& bytes) {
  try {
    TableStatistics statistics = TableStatistics::read_bytes(bytes);
    const std::string written = statistics.bytes();
    if (TableStatistics::read_bytes(written).bytes() != written)
      throw InternalError("a sketch comes back as another");
    statistics.merge(TableStatistics::read_bytes(bytes));
    metadata_bytes(statistics.list(), MetadataForm::kBinary);
    return true;
  } catch (const FormatError&) {
    return false;
  } catch (const ValueError&) {
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string zeros(8, '\0');
  return fuzz::run(argc, argv, "fuzz_sketch", {seed("", "", 20), seed("d", "c", 30), seed("", "", 0)},
                   {zeros, std::string("\1") + std::string(7, '\0'), std::string(8, '\xff'), "\x7f", "\x80",
                    zeros + zeros},
                   accept);
}
