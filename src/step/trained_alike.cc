#include "step/trained_alike.h"

#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/hash.h"
#include "base/shortest.h"
#include "eager/trace.h"
#include "espalier/error.h"
#include "ir/sink.h"
#include "launch/control_text.h"

namespace espalier {
namespace {

constexpr const char* kAlike = "what a callback changes it changes on all workers alike";

std::string lines_of_paths(const std::vector<Variable>& variables) {
  std::string out;
  for (const Variable& variable : variables) out += cat(variable.path(), "\n");
  return out;
}

}  // namespace

TrainedAlike::Seen TrainedAlike::now() const {
  const std::string paths = lines_of_paths(trained_());
  Seen out{.trained = hash_bytes(paths.data(), paths.size(), 0)};
  const Tensor rate = optimizer_.learning_rate().state()->value;
  if (!rate.node()->remote()) out.rate = static_cast<double>(*static_cast<const float*>(rate.bytes()));
  return out;
}

void TrainedAlike::require(int64_t step) {
  look();
  const std::vector<Seen> all = hosts_.of_each("trained", seen_);
  if (std::ranges::any_of(all, [&](const Seen& other) { return other.trained != seen_.trained; }))
    require_same_variables(step);
  if (std::ranges::all_of(all, [&](const Seen& other) { return other.rate == seen_.rate; })) return;
  std::map<int, std::map<std::string, std::string>> rates;
  for (size_t rank = 0; rank < all.size(); ++rank)
    rates[static_cast<int>(rank)][cat("variable \"", optimizer_.learning_rate().path(), "\"")] =
        shortest(static_cast<float>(all[rank].rate));
  int odd = -1;
  throw RunError("strategy.audit", cat(mismatch_text(rates, odd), " behind step ", step), kAlike);
}

void TrainedAlike::require_same_variables(int64_t step) const {
  std::map<std::string, std::vector<int>> trained_on;
  int rank = 0;
  for (const std::string& theirs : hosts_.texts("trained", lines_of_paths(trained_()))) {
    for (size_t begin = 0, end = 0; (end = theirs.find('\n', begin)) != theirs.npos; begin = end + 1)
      trained_on[theirs.substr(begin, end - begin)].push_back(rank);
    ++rank;
  }
  std::string first;
  size_t others = 0;
  for (const auto& [path, ranks] : trained_on) {
    if (std::ssize(ranks) >= rank) continue;
    if (!first.empty()) {
      ++others;
      continue;
    }
    std::vector<int> frozen;
    for (int i = 0; i < rank; ++i)
      if (std::ranges::find(ranks, i) == ranks.end()) frozen.push_back(i);
    first = cat("variable \"", path, "\" is trained on ", ranks_text(ranks), " and frozen on ",
                ranks_text(frozen));
  }
  if (first.empty()) return;
  if (others) first += cat(", and ", counted(others, "more variable"));
  throw RunError("strategy.audit", cat(first, " behind step ", step), kAlike);
}

}  // namespace espalier
