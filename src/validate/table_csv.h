// CSV as a table of rows.
#pragma once

#include <memory>

#include "format/csv_blocks.h"
#include "validate/table_rows.h"

namespace espalier {

class CsvTableRows : public TableRows {
 public:
  CsvTableRows(CsvRows cells, const EmptyCells& empty) : cells_(std::move(cells)), empty_(empty) {}
  size_t rows() const override { return static_cast<size_t>(cells_.rows()); }
  std::string place(size_t row) const override;
  CellType read(size_t column, std::string_view name, CellType type, CellBatch& out) const override;
  CellType read_counted(size_t column, std::string_view name, CellType type, EqualCells& equal,
                        CellBatch& out) const override;
  std::string release() override { return cells_.release(); }

 private:
  EmptyCells empty_in(std::string_view column) const;

  CsvRows cells_;
  EmptyCells empty_;
};

std::unique_ptr<TableBlocks> open_csv(const std::string& path, const TableBlockOptions& options);

}  // namespace espalier
