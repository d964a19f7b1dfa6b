// --strategy and --devices, and the strategy that they name, while a verb works.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/verbs.h"
#include "plan/plan.h"

namespace espalier::cli {

// The flags, which become fields of `flags`; devices of a plugin that --devices names become those of
// `device`, if there is one.
void add_strategy(CLI::App& verb, DistributePlan& flags, DevicePlan* device = nullptr);

// --deterministic of verbs that predict: it asks for what they do in any case, since what is said of a row
// does not depend on the rows beside it.
void add_deterministic(CLI::App& verb);

// Those that `verb` was given count more than what `plan` says.
void take_strategy(const CLI::App& verb, const DistributePlan& flags, DistributePlan& plan);

// Runs `body` by the strategy: models that it compiles train by it, and loaded ones predict by it. Of several
// workers all but the first say nothing meanwhile, and nothing on standard output ever after. Raises what
// strategies raise, ValueError[distribute.devices] for devices of another one than mirrored,
// [distribute.input] where one of `inputs` is a stream and there are several workers.
void by_strategy(const DistributePlan& plan, const std::vector<std::string>& inputs,
                 const std::function<void()>& body);

}  // namespace espalier::cli
