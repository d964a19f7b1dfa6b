#include "train/own_sums.h"

#include <algorithm>

#include "ir/state.h"

namespace espalier {

Model::Training::OwnSums::OwnSums(Training& training, bool& stop, const Running& call)
    : training_(call.within() ? &training : nullptr), stop_(stop), stop_before_(stop) {
  if (!training_) return;
  for (const Variable& variable : training.sums_of_rows())
    before_.emplace_back(variable, variable.state()->value);
  deferred_ = training.deferred_reads.take_away();
}

Model::Training::OwnSums::~OwnSums() {
  if (!training_) return;
  for (const Variable& variable : training_->sums_of_rows()) {
    const auto found =
        std::ranges::find(before_, variable.state(), [](const auto& entry) { return entry.first.state(); });
    // One that the call made had no rows of the run.
    if (found == before_.end())
      clear(variable);
    else
      variable.state()->value = found->second;
  }
  training_->deferred_reads.put_back(std::move(deferred_));
  stop_ = stop_before_;
}

}  // namespace espalier
