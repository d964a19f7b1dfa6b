#include "kernels/loop_bodies.h"

namespace espalier {

constinit const LoopTable loop_table_portable = kTable;

}  // namespace espalier
