#include "kernels/loop_bodies.h"

namespace espalier {

constinit const LoopTable loop_table_avx512 = kTable;

}  // namespace espalier
