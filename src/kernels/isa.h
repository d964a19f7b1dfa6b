// The instruction set that fast kernels use.
#pragma once

#include <string_view>

namespace espalier {

enum class Isa { kPortable, kAvx2, kAvx512 };
std::string_view name(Isa isa);

// The best this processor has, or a lower one named by ESPALIER_ISA (portable, avx2, avx512). Constant during
// a process.
Isa current_isa();

}  // namespace espalier
