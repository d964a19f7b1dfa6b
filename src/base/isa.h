// The instruction set that fast kernels use.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// Each has all that the ones before it have. kAmx: tiles of bf16, and AVX-512's bf16 instructions.
enum class Isa { kPortable, kAvx2, kAvx512, kAmx };
std::string_view name(Isa isa);

// The best this processor has and the kernel permits, or a lower one named by ESPALIER_ISA (portable, avx2,
// avx512, amx). Constant during a process.
Isa current_isa();
// Why it is not the highest, in a few words; empty when it is.
std::string lacking_isa();

// Of name_portable, name_avx2 and name_avx512, the one for `isa`.
#if defined(__x86_64__)
#define ESPALIER_BY_ISA(name, isa) \
  ((isa) >= Isa::kAvx512 ? name##_avx512 : (isa) == Isa::kAvx2 ? name##_avx2 : name##_portable)
// Of name_portable and name_avx512.
#define ESPALIER_FROM_AVX512(name, isa) ((isa) >= Isa::kAvx512 ? name##_avx512 : name##_portable)
#else
#define ESPALIER_BY_ISA(name, isa) ((void)(isa), name##_portable)
#define ESPALIER_FROM_AVX512(name, isa) ((void)(isa), name##_portable)
#endif

}  // namespace espalier
