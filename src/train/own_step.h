// The step of a CustomModel: traced and run as a function of Strategy::run() is.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "step/step_program.h"

namespace espalier {

// `body` is a step on x, y and the weight of each row. `replicas`: null for one.
std::unique_ptr<StepProgram> own_step(std::string name, std::function<void(std::span<const Tensor>)> body,
                                      std::shared_ptr<const Replicas> replicas);

}  // namespace espalier
