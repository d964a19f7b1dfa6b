// The worker that others waited for most, as progress names it.
#pragma once

#include <span>
#include <string>

namespace espalier {

// "rank 2 late 12 %" of an epoch of so many seconds; "" where nobody took a twentieth of it.
std::string latest_worker(std::span<const double> late, double seconds);

}  // namespace espalier
