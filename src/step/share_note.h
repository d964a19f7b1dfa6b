// How a run says who has which rows of a step.
#pragma once

#include <cstdint>
#include <string>

#include "strategy/data_shares.h"
#include "strategy/mesh.h"

namespace espalier {

// "64 rows a step: 16 on each of 4 workers"; of devices, where there is one worker. `of_shards`: whether each
// worker has the rows of its shards of the data. REQUIRES: mesh.many().
std::string share_note(const Mesh& mesh, const DataShares& shares, int64_t rows, bool of_shards);

}  // namespace espalier
