#include <algorithm>

#include "base/c_quoted.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/hash_list.h"
#include "data/column_steps.h"

namespace espalier {

std::string CategoryStep::prepare() {
  if (!(other >= 0 && other <= 1)) return "other must be a share";
  places.clear();
  for (const std::string& category : categories) {
    if (!places.emplace(category, places.size()).second)
      return cat("category \"", category, "\" stands there twice");
  }
  std::optional<std::vector<uint64_t>> hashes = hash_list(rare);
  if (!hashes) return cat("rare must be hashes of ", kHashDigits, " hexadecimal digits each");
  rare_hashes = std::move(*hashes);
  return {};
}

std::vector<std::string> CategoryStep::names(const std::string& column) const {
  std::vector<std::string> out;
  for (const std::string& category : categories) out.push_back(cat(column, "=", category));
  out.push_back(cat(column, "=(other)"));
  if (indicator) out.push_back(cat(column, "=(missing)"));
  return out;
}

std::vector<std::string> CategoryStep::formulas() const {
  std::vector<std::string> out;
  for (const std::string& category : categories)
    out.push_back(cat("1 where x is ", c_quoted(category), ", else 0"));
  out.emplace_back("1 where x is none of these, else 0");
  if (indicator) out.emplace_back("1 where missing, else 0");
  return out;
}

CellOutcome CategoryStep::read(const Cell& cell, float* out) const {
  const auto found = places.find(cell.text);
  out[found == places.end() ? categories.size() : found->second] = 1;
  if (found != places.end()) return CellOutcome::kRead;
  const bool met =
      rare_hashes.empty() ? other > 0 : std::ranges::binary_search(rare_hashes, hash_text(cell.text));
  return met ? CellOutcome::kOther : CellOutcome::kUnmet;
}

void CategoryStep::read_missing(float* out) const { out[categories.size() + indicator] = 1; }

}  // namespace espalier
