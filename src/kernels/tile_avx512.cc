#include "kernels/tile_loops.h"

namespace espalier {

constinit const TileTable tile_table_avx512 = kTable;

}  // namespace espalier
