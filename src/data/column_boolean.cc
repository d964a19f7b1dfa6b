#include "base/format.h"
#include "data/column_steps.h"

namespace espalier {

std::optional<bool> read_truth(std::string_view text) {
  constexpr size_t kLongest = 5;
  if (text.size() > kLongest) return std::nullopt;
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  }
  for (const std::string_view word : {"true", "yes", "t", "y"}) {
    if (lower == word) return true;
  }
  for (const std::string_view word : {"false", "no", "f", "n"}) {
    if (lower == word) return false;
  }
  return std::nullopt;
}

std::optional<bool> read_truth_or_bit(std::string_view text) {
  if (text == "1" || text == "0") return text == "1";
  if (const std::optional<bool> truth = read_truth(text)) return truth;
  const std::optional<double> number = read_number(text, NumberStyle::kPlain);
  if (number != 0 && number != 1) return std::nullopt;
  return number == 1;
}

std::vector<std::string> BooleanStep::names(const std::string& column) const {
  if (!indicator) return {column};
  return {column, cat(column, " missing")};
}

std::vector<std::string> BooleanStep::formulas() const {
  std::vector<std::string> out = {cat("1 where x is true, yes, t or y, 0 where it is false, no, f or n; ",
                                      often ? 1 : 0, " where missing")};
  if (indicator) out.emplace_back("1 where missing, else 0");
  return out;
}

CellOutcome BooleanStep::read(const Cell& cell, float* out) const {
  const std::optional<bool> value = read_truth_or_bit(cell.text);
  if (!value) {
    read_missing(out);
    return CellOutcome::kUnreadable;
  }
  *out = *value ? 1 : 0;
  return CellOutcome::kRead;
}

void BooleanStep::read_missing(float* out) const {
  out[0] = often ? 1 : 0;
  if (indicator) out[1] = 1;
}

}  // namespace espalier
