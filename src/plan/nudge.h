// How much of what a run ends with is rounding.
#pragma once

#include <cstdint>
#include <memory>

#include "espalier/model.h"

namespace espalier {

// Behind each step moves each value of the trainable variables in f32 to the next one above or below, as
// `seed` says: twice the most that storing it may have rounded. Zeros stay. Every worker moves them alike.
std::shared_ptr<Callback> Nudge(uint64_t seed);

}  // namespace espalier
