// Numbers as text.
#pragma once

#include <string>

namespace espalier {

// The fewest digits that read back as the same number: "0.1", "1e-07", "inf".
std::string shortest(double value);
std::string shortest(float value);

}  // namespace espalier
