#include "base/isa.h"

#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

struct Found {
  Isa isa = Isa::kPortable;
  const char* lacking = "";
};

#if defined(__x86_64__)
// Conversions of f16: CPUID leaf 1. Clang 14 does not know it by name.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
// Tiles of bf16 and the instructions that round to it: CPUID leaf 7.
bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAvx512Bf16 = 1u << 5;
  if ((d & kAmxBf16) == 0 || (d & kAmxTile) == 0) return false;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kAvx512Bf16);
}
// Linux gives a process the registers of tiles when it asks once (arch_prctl(2), ARCH_REQ_XCOMP_PERM).
bool amx_permitted() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

// `most`: nothing above it is asked of the kernel.
Found best_isa(Isa most) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c())
    return {Isa::kPortable, "the processor has no AVX2 with FMA and F16C"};
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
    return {Isa::kAvx2, "the processor has no AVX-512 (F, BW, VL, DQ)"};
  if (most < Isa::kAmx) return {Isa::kAvx512, ""};
  if (!has_amx()) return {Isa::kAvx512, "the processor has no AMX bf16"};
  if (!amx_permitted()) return {Isa::kAvx512, "the kernel does not permit AMX"};
  return {Isa::kAmx, ""};
#else
  (void)most;
  return {Isa::kPortable, "the processor is no x86-64"};
#endif
}

const Found& chosen() {
  static const Found found = [] {
    const char* wanted = std::getenv("ESPALIER_ISA");
    for (const Isa lower : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
      if (!wanted || name(lower) != wanted) continue;
      const Found best = best_isa(lower);
      return lower <= best.isa ? Found{lower, "ESPALIER_ISA says so"} : best;
    }
    const Found best = best_isa(Isa::kAmx);
    if (wanted && *wanted && name(Isa::kAmx) != wanted) {
      throw ValueError("isa.environment",
                       cat("ESPALIER_ISA is portable, avx2, avx512 or amx, not \"", wanted, "\""));
    }
    return best;
  }();
  return found;
}

}  // namespace

std::string_view name(Isa isa) {
  constexpr std::string_view kNames[] = {"portable", "avx2", "avx512", "amx"};
  return kNames[static_cast<int>(isa)];
}

Isa current_isa() { return chosen().isa; }
std::string lacking_isa() { return chosen().lacking; }

}  // namespace espalier
