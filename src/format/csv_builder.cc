#include "base/format.h"
#include "espalier/error.h"
#include "format/csv_cells.h"

namespace espalier {

CsvBuilder::CsvBuilder(std::vector<std::string> names, size_t rows)
    : names_(std::move(names)), cells_(std::make_shared<CsvTable::Cells>()) {
  const size_t count = rows * names_.size();
  cells_->index = {allocate_buffer((count + 1) * sizeof(uint32_t)), count,
                   static_cast<int64_t>(names_.size())};
  cells_->lines.reserve(rows);
}

void CsvBuilder::cell(std::string_view text) {
  std::string& all = cells_->text;
  auto* const starts = reinterpret_cast<uint32_t*>(cells_->index.starts.get());
  starts[done_++] = static_cast<uint32_t>(all.size());
  const bool quoted =
      !text.empty() && (is_blank(text.front()) || is_blank(text.back()) || text.front() == '"');
  if (quoted) all += '"';
  all += text;
  if (quoted) all += '"';
  all += done_ % names_.size() == 0 ? '\n' : ',';
  if (all.size() > kMostCsvBytes)
    throw FormatError("csv.size", cat("the cells have more than ", kMostCsvBytes, " bytes"));
  starts[done_] = static_cast<uint32_t>(all.size());
}

CsvTable CsvBuilder::table() && {
  if (done_ != cells_->index.count || cells_->lines.size() * names_.size() != done_)
    throw InternalError("a table without some of its cells");
  CsvTable out;
  out.rows_ = static_cast<int64_t>(cells_->lines.size());
  out.stride_ = out.columns_ = static_cast<int64_t>(names_.size());
  out.cells_ = std::move(cells_);
  out.name_columns(names_);
  return out;
}

}  // namespace espalier
