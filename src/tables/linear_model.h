// What the layers of a table's model are held against.
#pragma once

#include <memory>
#include <optional>

#include "base/messages.h"
#include "espalier/model.h"
#include "plan/plan.h"
#include "tables/ledger.h"

namespace espalier {

struct LinearModel {
  Sequential model;
  size_t epochs;
  std::shared_ptr<Ledger> ledger;
};
// A linear model, trained as the other one is, but from zeros and in longer steps: few rows make few of them.
// Its callbacks log and save nothing. `classes`: 0 of a number; `positive`: as of
// compile(). `stop`: a callback that may end it, or null.
LinearModel fit_linear(size_t classes, int64_t positive, TrainPlan plan, const Tensor& x, const Tensor& y,
                       FitOptions options, const std::shared_ptr<Callback>& stop, const Messages& messages);

}  // namespace espalier
