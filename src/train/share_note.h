// How a run says who has which rows of a step.
#pragma once

#include <cstdint>
#include <string>

#include "dist/replicas.h"

namespace espalier {

// "64 rows a step: 16 on each of 4 workers"; of devices, where there is one worker. `logical_shards`: 0 for
// none. `of_shards`: whether each worker has the rows of its shards of the data. REQUIRES: there are several.
std::string share_note(const Replicas& replicas, int64_t rows, int64_t logical_shards, bool of_shards);

}  // namespace espalier
