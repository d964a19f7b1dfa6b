#include "kernels/loops.h"

namespace espalier {

const LoopTable& loop_table() {
#if defined(__x86_64__)
  if (current_isa() == Isa::kAvx512) return loop_table_avx512;
  if (current_isa() == Isa::kAvx2) return loop_table_avx2;
#endif
  return loop_table_portable;
}

}  // namespace espalier
