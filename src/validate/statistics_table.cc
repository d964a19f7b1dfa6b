#include <algorithm>
#include <memory>

#include "data/column_profile.h"
#include "format/csv_writer.h"
#include "validate/statistics.h"

namespace espalier {

TableStatistics statistics_of_table(const CsvTable& table, const StatisticsOptions& options) {
  const CsvOptions csv{.delimiter = ',', .header = CsvHeader::kNo, .names = table.names()};
  const std::string text = csv_text(table, all_rows(table), all_columns(table));
  const std::string cells_alone = text.substr(text.find('\n') + 1);
  CsvBlocks blocks(std::make_unique<TextSource>(cells_alone), csv, options.block);
  std::vector<CsvRows> parts;
  for (CsvBlock block; blocks.next(block);) parts.emplace_back(std::move(block), blocks);
  TableColumns columns{table.names(), std::vector<CellType>(table.names().size(), CellType::kNone)};
  CellBatch batch;
  for (const CsvRows& part : parts) {
    for (size_t c = 0; c < columns.types.size(); ++c) {
      CellType& type = columns.types[c];
      type = std::max(type, read_cells(part, static_cast<int64_t>(c), options.empty, CellType::kInt, batch));
    }
  }
  TableStatistics out(columns, options);
  for (const CsvRows& part : parts) out.add(part);
  return out;
}

}  // namespace espalier
