// Numbers as text.
#pragma once

#include <string>

namespace espalier {

// The fewest digits that read back as the same number: "0.1", "1e-07", "inf".
std::string shortest(double value);
std::string shortest(float value);
// The same, but whole numbers below 1e15 in plain digits, "100000", as people write them.
std::string plain_number(double value);
// "0.1234" with `digits` after the point.
std::string fixed(double value, int digits);

}  // namespace espalier
