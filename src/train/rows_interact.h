// Whether rows of a batch stand for themselves.
#pragma once

#include <mutex>
#include <optional>
#include <span>

#include "espalier/model.h"

namespace espalier {

// Whether what the model gives for a row depends on the row beside it, as batch statistics do: found out on
// this CPU, with two rows of `x`, the inputs of a batch, and changing nothing. `training`: as in a step of
// fit. Also where the model takes no two rows, or gives something else than rows. Nothing where all rows that
// were looked at are equal.
std::optional<bool> rows_interact(Model& model, std::span<const Tensor> x, bool training);
// Whether two of the rows that it looks at differ.
bool rows_differ(std::span<const Tensor> x);

// What is asked once, by whoever needs it first; others wait for that answer.
class AskedOnce {
 public:
  // Where it finds nothing the next one asks again.
  template <class Ask>
  std::optional<bool> answer(const Ask& ask) {
    const std::lock_guard hold(mutex_);
    if (!known_) known_ = ask();
    return known_;
  }

 private:
  std::mutex mutex_;
  std::optional<bool> known_;
};

}  // namespace espalier
