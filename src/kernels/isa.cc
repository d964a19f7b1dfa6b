#include "kernels/isa.h"

#include <algorithm>
#include <cstdlib>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

Isa best_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    return Isa::kAvx512;
  }
  if (avx2) return Isa::kAvx2;
#endif
  return Isa::kPortable;
}

}  // namespace

std::string_view name(Isa isa) {
  constexpr std::string_view kNames[] = {"portable", "avx2", "avx512"};
  return kNames[static_cast<int>(isa)];
}

Isa current_isa() {
  static const Isa isa = [] {
    const Isa best = best_isa();
    const char* wanted = std::getenv("ESPALIER_ISA");
    for (const Isa lower : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
      if (wanted && name(lower) == wanted) return std::min(lower, best);
    }
    if (wanted && *wanted) {
      throw ValueError("isa.environment",
                       cat("ESPALIER_ISA is portable, avx2 or avx512, not \"", wanted, "\""));
    }
    return best;
  }();
  return isa;
}

}  // namespace espalier
