#include <algorithm>
#include <memory>

#include "data/column_profile.h"
#include "format/csv_writer.h"
#include "validate/statistics.h"
#include "validate/table_csv.h"

namespace espalier {

TableStatistics statistics_of_table(const CsvTable& table, const StatisticsOptions& options) {
  // Between semicolons a comma may be a point.
  const char delimiter = table.numbers().plain() ? ',' : ';';
  const CsvNumbers& numbers = table.numbers();
  const CsvOptions csv{.delimiter = delimiter,
                       .header = CsvHeader::kNo,
                       .names = table.names(),
                       .decimal = numbers.told ? numbers.point : '\0',
                       .decimal_in_doubt = numbers.point};
  const std::string text = csv_text(table, all_rows(table), all_columns(table), delimiter);
  const std::string cells_alone = text.substr(text.find('\n') + 1);
  CsvBlocks blocks(std::make_unique<TextSource>(cells_alone), csv, options.block);
  std::vector<CsvTableRows> parts;
  for (CsvBlock block; blocks.next(block);)
    parts.emplace_back(CsvRows(std::move(block), blocks), options.empty);
  TableColumns columns{table.names(), std::vector<CellType>(table.names().size(), CellType::kNone)};
  CellBatch batch;
  for (const CsvTableRows& part : parts) {
    for (size_t c = 0; c < columns.types.size(); ++c) {
      CellType& type = columns.types[c];
      type = std::max(type, part.read(c, columns.names[c], CellType::kInt, batch));
    }
  }
  TableStatistics out(columns, options);
  for (const CsvTableRows& part : parts) out.add(part);
  return out;
}

}  // namespace espalier
