#include "validate/table_cells.h"

#include <algorithm>
#include <numeric>

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "espalier/tables.h"
#include "format/csv_cells.h"
#include "format/gzip.h"
#include "format/utf8.h"
#include "validate/named_rows.h"
#include "validate/table_examples.h"
#include "validate/table_json.h"

namespace espalier {

std::string TableCells::place() const { return cat(what_, " ", numbers_.back()); }

void TableCells::begin_row(int64_t number) {
  numbers_.push_back(number);
  ends_.push_back(cells_.size());
}

size_t TableCells::column(std::string_view name) {
  const auto [found, added] = places_.try_emplace(std::string(name), columns_.size());
  if (!added) return found->second;
  if (name.empty())
    throw FormatError("rows.name", cat(place(), ": a value without a name"), "give it a name");
  if (columns_.size() == NamedRows::kMostColumns)
    throw FormatError("rows.names", cat(place(), ": more than ", NamedRows::kMostColumns,
                                        " names of values: are names used where values belong?"));
  columns_.push_back({.name = found->first});
  return found->second;
}

void TableCells::present(std::string_view name) {
  column_ = column(name);
  Column& its = columns_[column_];
  if (its.last == numbers_.size())
    throw FormatError("rows.twice", cat(place(), ": \"", shortened(name), "\" is there twice"));
  its.last = numbers_.size();
  filled_ = false;
}

void TableCells::whole(int64_t value) { text(cat(value)); }
void TableCells::real(float value) { text(shortest(value)); }

void TableCells::text(std::string_view text) {
  const auto refuse = [&](const char* rule, const char* what, const char* fix) {
    throw FormatError(rule, cat(place(), ": \"", shortened(columns_[column_].name), "\" ", what), fix);
  };
  if (filled_)
    refuse("rows.several", "is a list of several values, and a cell of a table holds one",
           "`espalier data stats`, `schema` and `validate` take lists; else write a column for each");
  if (text.find('\0') != text.npos || !is_utf8(text))
    refuse("rows.text", "is no text: it has a NUL or is not UTF-8", "leave it out of a table");
  filled_ = true;
  texts_ += text;
  cells_.push_back({static_cast<uint32_t>(column_), texts_.size()});
  ends_.back() = cells_.size();
}

CsvTable TableCells::table(bool sorted, size_t bytes) const {
  if (columns_.empty()) throw FormatError("rows.empty", "no row names a value");
  // A cell that is empty takes its delimiter and where it starts.
  constexpr size_t kCell = 5, kSmall = size_t{64} << 20, kTimes = 10;
  if (numbers_.size() * columns_.size() > (kTimes * bytes + kSmall) / kCell)
    throw FormatError("rows.sparse",
                      cat(numbers_.size(), " rows of ", columns_.size(), " names have ", cells_.size(),
                          " values, too few for a table of cells"),
                      "leave out what few rows have");
  std::vector<uint32_t> order(columns_.size());
  std::iota(order.begin(), order.end(), 0U);
  if (sorted) std::ranges::sort(order, {}, [&](uint32_t column) { return columns_[column].name; });
  std::vector<std::string> names;
  for (const uint32_t column : order) names.emplace_back(columns_[column].name);
  CsvBuilder out(names, numbers_.size());
  std::vector<std::string_view> row;
  size_t cell = 0, begin = 0;
  for (size_t i = 0; i < numbers_.size(); ++i) {
    row.assign(columns_.size(), {});
    for (; cell < ends_[i]; ++cell) {
      row[cells_[cell].column] = std::string_view(texts_).substr(begin, cells_[cell].end - begin);
      begin = cells_[cell].end;
    }
    out.begin_row(numbers_[i]);
    for (const uint32_t column : order) out.cell(row[column]);
  }
  return std::move(out).table();
}

CsvTable parse_table(std::string bytes, const std::string& name, const CsvOptions& options, Location at) {
  const CallScope scope(at);
  try {
    bytes = gunzip(std::move(bytes));
    const TableForm form = table_form(name, bytes);
    if (form == TableForm::kCsv) return parse_csv(std::move(bytes), options);
    if (options.delimiter || options.header != CsvHeader::kGuess || !options.names.empty())
      throw ValueError("csv.form",
                       "this is no CSV, and how CSV is read was said: its delimiter, header or names",
                       "leave out what was said of CSV");
    const bool json = form == TableForm::kJsonLines;
    constexpr size_t kBlock = size_t{1} << 16;
    auto source = std::make_unique<TextView>(bytes);
    const std::unique_ptr<NamedBlocks> blocks =
        json ? open_json_lines(as_text(std::move(source)), kBlock) : open_examples(std::move(source), kBlock);
    TableCells cells(json ? "line" : "record");
    for (TableBlock block; blocks->next(block);) blocks->tell(block, cells);
    return cells.table(!json, bytes.size());
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(name, ": ", error.message()), error.fix());
  } catch (const ValueError& error) {
    throw ValueError(error.rule(), cat(name, ": ", error.message()), error.fix());
  }
}

CsvTable read_table(const std::string& path, const CsvOptions& options, Location at) {
  const CallScope scope(at);
  return parse_table(posix_env().read_file(path), path, options);
}

}  // namespace espalier
