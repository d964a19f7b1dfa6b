// Places for what the tiles of a unit store.
#pragma once

#include "runtime/placement.h"
#include "runtime/tile_program.h"

namespace espalier {

// Finishes the program of `unit`, once each value of its that is read elsewhere has a place. `kept`: values
// that the results must not overwrite.
Step place_tiles(TileDraft& draft, uint32_t unit, std::span<const ValueId> kept, Placement& placement,
                 Executable::Plan& plan);
void release_loads(const TileDraft& draft, uint32_t unit, Placement& placement);

}  // namespace espalier
