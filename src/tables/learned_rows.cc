#include "tables/learned_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/format.h"
#include "base/hash.h"
#include "base/hash_list.h"
#include "espalier/error.h"
#include "report/table.h"
#include "tables/provenance.h"

namespace espalier {
namespace {

constexpr size_t kMostHashes = 4096;

}  // namespace

std::vector<uint64_t> row_hashes(const Tensor& inputs) {
  std::vector<uint64_t> out(static_cast<size_t>(inputs.size(0)));
  const auto values = inputs.data<float>();
  const size_t width = out.empty() ? 0 : values.size() / out.size();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = hash_bytes(values.data() + i * width, width * sizeof(float));
  return out;
}

std::string learned_rows_text(std::vector<uint64_t> hashes) {
  std::ranges::sort(hashes);
  const auto [end, last] = std::ranges::unique(hashes);
  hashes.erase(end, last);
  hashes.resize(std::min(hashes.size(), kMostHashes));
  return hash_list_text(std::move(hashes));
}

int64_t count_alike(const std::vector<uint64_t>& hashes, std::vector<uint64_t> others) {
  std::ranges::sort(others);
  return std::ranges::count_if(hashes,
                               [&](uint64_t hash) { return std::ranges::binary_search(others, hash); });
}

void warn_of_learned_rows(const LoadedTableModel& saved, const std::string& path, const std::string& data,
                          const Tensor& inputs, const Messages& messages) {
  const std::optional<Lineage> lineage = read_lineage(saved.model, path);
  if (!lineage || lineage->validation_rows == 0 || !saved.model.has_file(kLearnedFile)) return;
  const std::vector<uint64_t> learned = learned_hashes(saved.model.file(kLearnedFile), path, "model.lineage");
  // Of a sample only rows below its last hash can be told.
  const uint64_t most = learned.size() < kMostHashes ? std::numeric_limits<uint64_t>::max() : learned.back();
  double told = 0, known = 0;
  for (const uint64_t hash : row_hashes(inputs)) {
    if (hash > most) continue;
    ++told;
    known += std::ranges::binary_search(learned, hash);
  }
  const auto validation = static_cast<double>(lineage->validation_rows),
             alike = static_cast<double>(lineage->alike);
  const double share = known / std::max(told, 1.0), by_chance = alike / validation;
  const double pooled = (known + alike) / (told + validation);
  constexpr double kLeast = 0.1, kDeviations = 4;
  const double chance =
      kDeviations * std::sqrt(pooled * (1 - pooled) * (1 / std::max(told, 1.0) + 1 / validation));
  if (share - by_chance <= std::max(kLeast, chance)) return;
  messages.warn({cat("the model was trained on rows like ", percent(share, 0), " of those of ", data,
                     by_chance > 0 ? cat(", where ", percent(by_chance, 0), " would be alike by chance") : "",
                     ": what they say of it is too good")});
}

}  // namespace espalier
