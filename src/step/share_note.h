// How a run says who has which rows of a step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "strategy/data_shares.h"
#include "strategy/mesh.h"

namespace espalier {

// "64 rows a step: 16 on each of 4 workers"; of devices, where there is one worker. `whose`: what rows
// each worker has where they follow from its data: "those of its shards of the data"; else empty. REQUIRES:
// mesh.many().
std::string share_note(const Mesh& mesh, const DataShares& shares, int64_t rows, std::string_view whose);

}  // namespace espalier
