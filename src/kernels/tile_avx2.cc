#include "kernels/tile_loops.h"

namespace espalier {

constinit const TileTable tile_table_avx2 = kTable;

}  // namespace espalier
