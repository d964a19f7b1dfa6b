#include "validate/table_csv.h"

#include "base/format.h"

namespace espalier {
namespace {

class CsvTableBlocks : public TableBlocks {
 public:
  CsvTableBlocks(const std::string& path, const TableBlockOptions& options)
      : blocks_(open_text(path), options.csv, options.block), empty_(options.empty) {}

  bool next(TableBlock& out) override {
    CsvBlock block{.text = std::move(out.bytes)};
    if (!blocks_.next(block)) return false;
    out = {
        .bytes = std::move(block.text), .first = block.first_line, .ascii = block.ascii, .bare = block.bare};
    return true;
  }
  std::unique_ptr<TableRows> rows(TableBlock block) const override {
    return std::make_unique<CsvTableRows>(
        CsvRows({std::move(block.bytes), block.first, block.ascii, block.bare}, blocks_), empty_);
  }
  const std::vector<std::string>& names() const override { return blocks_.names(); }
  const std::vector<std::string>& notes() const override { return blocks_.notes(); }

 private:
  CsvBlocks blocks_;
  EmptyCells empty_;
};

}  // namespace

std::string CsvTableRows::place(size_t row) const {
  return cat("line ", cells_.line(static_cast<int64_t>(row)));
}

EmptyCells CsvTableRows::empty_in(std::string_view name) const {
  return {empty_.missing.of(name), empty_.present};
}

CellType CsvTableRows::read(size_t column, std::string_view name, CellType type, CellBatch& out) const {
  return read_cells(cells_, static_cast<int64_t>(column), empty_in(name), type, out);
}

CellType CsvTableRows::read_counted(size_t column, std::string_view name, CellType type, EqualCells& equal,
                                    CellBatch& out) const {
  if (!equal.count(cells_, static_cast<int64_t>(column))) return read(column, name, type, out);
  return read_equal_cells(cells_, equal, empty_in(name), type, out);
}

std::unique_ptr<TableBlocks> open_csv(const std::string& path, const TableBlockOptions& options) {
  return std::make_unique<CsvTableBlocks>(path, options);
}

}  // namespace espalier
