#include "validate/named_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "espalier/error.h"

namespace espalier {
namespace {

std::string text_of(double value, CellType type) {
  if (type == CellType::kInt && std::abs(value) < 0x1p53) return cat(static_cast<int64_t>(value));
  const bool is_f32 = std::abs(value) <= std::numeric_limits<float>::max() &&
                      value == static_cast<double>(static_cast<float>(value));
  return is_f32 ? shortest(static_cast<float>(value)) : shortest(value);
}

void write_numbers(const NamedRows::Column& column, CellBatch& out) {
  for (const double value : column.numbers) out.texts.write(text_of(value, column.type));
}

}  // namespace

const char* name_of(CellType type) {
  return type == CellType::kInt     ? "whole numbers"
         : type == CellType::kFloat ? "numbers"
         : type == CellType::kText  ? "texts"
                                    : "no values";
}

NamedRows::NamedRows(const char* what, JoinTypes join, size_t text_bytes) : what_(what), join_(join) {
  texts_.reserve(text_bytes);
}

std::string NamedRows::place(size_t row) const { return cat(what_, " ", numbers_[row]); }

NamedRows::Column& NamedRows::column(std::string_view name) {
  const auto found = columns_.find(name);
  if (found != columns_.end()) return found->second;
  const auto added = columns_.emplace(name, Column{}).first;
  added->second.name = added->first;
  added->second.first = numbers_.back();
  added->second.texts = PlacedTexts(texts_.data());
  return added->second;
}

void NamedRows::present(std::string_view name) {
  Column& out = column(name);
  const auto row = static_cast<uint32_t>(rows() - 1);
  if (!out.cells.empty() && out.cells.back().row == row)
    throw FormatError("rows.twice", cat(place(row), ": \"", shortened(name), "\" is there twice"));
  out.cells.push_back({row, static_cast<uint32_t>(std::max(out.numbers.size(), out.texts.size()))});
  present_ = &out;
}

void NamedRows::type(CellType type) {
  const std::optional<CellType> joined = join_(present_->type, type);
  if (!joined)
    throw FormatError("rows.type",
                      cat(place(rows() - 1), ": \"", shortened(present_->name), "\" has ", name_of(type),
                          ", and ", name_of(present_->type), " before"),
                      kOneType);
  present_->type = *joined;
}

void NamedRows::number(CellType its_type, double value) {
  type(its_type);
  present_->numbers.push_back(value);
  ++present_->cells.back().end;
}

void NamedRows::text(std::string_view text) {
  type(CellType::kText);
  if (text.size() > texts_.capacity() - texts_.size()) throw InternalError("more texts than bytes");
  const size_t at = texts_.size();
  texts_ += text;
  present_->texts.add(std::string_view(texts_).substr(at));
  ++present_->cells.back().end;
}

CellType NamedRows::read(size_t, std::string_view name, CellType type, CellBatch& out) const {
  out = {.type = type};
  out.states.resize(rows(), CellState::kMissing);
  out.ends.resize(rows(), 0);
  const auto found = columns_.find(name);
  if (found == columns_.end()) return CellType::kNone;
  const Column& column = found->second;
  if (column.type > type) return column.type;
  uint32_t end = 0;
  size_t row = 0;
  for (const Column::Cell& cell : column.cells) {
    for (; row < cell.row; ++row) out.ends[row] = end;
    out.states[cell.row] = cell.end > end ? CellState::kValue : CellState::kEmpty;
    end = cell.end;
  }
  for (; row < rows(); ++row) out.ends[row] = end;
  if (column.type == CellType::kText)
    out.texts = column.texts;
  else if (type == CellType::kText)
    write_numbers(column, out);
  else
    out.numbers = column.numbers;
  return column.type;
}

std::vector<TableRows::Named> NamedRows::columns() const {
  std::vector<Named> out;
  for (const auto& [name, column] : columns_)
    out.push_back({name, column.type, cat(what_, " ", column.first)});
  return out;
}

}  // namespace espalier
