#include "cli/learned_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/format.h"
#include "base/hash.h"
#include "base/hash_list.h"
#include "cli/provenance.h"
#include "cli/train_images.h"
#include "espalier/error.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

constexpr size_t kMostHashes = 4096;

// The columns of the table that are inputs.
std::vector<int64_t> input_places(const ColumnProgram& columns, const CsvTable& table) {
  ColumnReport inputs;
  columns.inputs(table, std::vector<int64_t>(), &inputs);
  const std::vector<std::string> names = columns.names_of(table);
  std::vector<int64_t> out;
  for (const ColumnReport::Column& column : inputs.columns)
    out.push_back(std::ranges::find(names, column.name) - names.begin());
  return out;
}

// Nothing of a table that lacks columns: who reads its inputs says so.
std::optional<RowHashes> hashes_of(const ColumnProgram& columns, const CsvTable& table,
                                   const std::vector<int64_t>& rows) {
  try {
    return RowHashes(columns, table, rows);
  } catch (const ValueError&) {
    return std::nullopt;
  }
}

}  // namespace

RowHashes::RowHashes(const ColumnProgram& columns, const CsvTable& table, const std::vector<int64_t>& rows) {
  const std::vector<int64_t> places = input_places(columns, table);
  hashes_.reserve(rows.size());
  for (const int64_t row : rows) {
    uint64_t hash = 0;
    for (const int64_t place : places) hash = hash_combine(hash, hash_text(table.cell(row, place)));
    hashes_.push_back(hash);
  }
}

std::string RowHashes::learned_text() const {
  std::vector<uint64_t> different = hashes_;
  std::ranges::sort(different);
  const auto [end, last] = std::ranges::unique(different);
  different.erase(end, last);
  different.resize(std::min(different.size(), kMostHashes));
  return hash_list_text(std::move(different));
}

int64_t RowHashes::count_in(const RowHashes& others) const {
  std::vector<uint64_t> theirs = others.hashes_;
  std::ranges::sort(theirs);
  return std::ranges::count_if(hashes_,
                               [&](uint64_t hash) { return std::ranges::binary_search(theirs, hash); });
}

void warn_of_learned_rows(const TableModel& saved, const std::string& path, const CsvTable& table,
                          const std::string& data, const std::vector<int64_t>& rows, const Results& results) {
  const std::optional<Lineage> lineage = read_lineage(saved.model, path);
  if (!lineage || lineage->stop == 0 || !saved.model.has_file(kLearnedFile)) return;
  const std::optional<std::vector<uint64_t>> learned = hash_list(saved.model.file(kLearnedFile));
  if (!learned)
    throw FormatError("model.lineage", cat(path, "/", kLearnedFile, " is no list of hashes of ", kHashDigits,
                                           " hexadecimal digits each"));
  // Of a sample only rows below its last hash can be told.
  const uint64_t most =
      learned->size() < kMostHashes ? std::numeric_limits<uint64_t>::max() : learned->back();
  double told = 0, known = 0;
  const std::optional<RowHashes> hashes = hashes_of(saved.columns, table, rows);
  if (!hashes) return;
  for (const uint64_t hash : hashes->all()) {
    if (hash > most) continue;
    ++told;
    known += std::ranges::binary_search(*learned, hash);
  }
  const auto stop = static_cast<double>(lineage->stop), alike = static_cast<double>(lineage->alike);
  const double share = known / std::max(told, 1.0), by_chance = alike / stop;
  const double pooled = (known + alike) / (told + stop);
  constexpr double kLeast = 0.1, kDeviations = 4;
  const double chance = kDeviations * std::sqrt(pooled * (1 - pooled) * (1 / std::max(told, 1.0) + 1 / stop));
  if (share - by_chance <= std::max(kLeast, chance)) return;
  results.warn({cat("the model learned from rows like ", percent(share, 0), " of those of ", data,
                    by_chance > 0 ? cat(", where ", percent(by_chance, 0), " would be alike by chance") : "",
                    ": what they say of it is too good")});
}

}  // namespace espalier::cli
