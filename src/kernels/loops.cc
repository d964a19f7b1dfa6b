#include "kernels/loops.h"

namespace espalier {

const LoopTable& loop_table() { return ESPALIER_BY_ISA(loop_table, current_isa()); }

}  // namespace espalier
