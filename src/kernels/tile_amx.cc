#include "kernels/tile_loops.h"

namespace espalier {

constinit const TileTable tile_table_amx = kTable;

}  // namespace espalier
