// Ranks that are threads of one process.
#pragma once

#include <memory>
#include <vector>

#include <espalier/communicator.h>

#include "comm/board_layout.h"

namespace espalier {

// A board in memory of this process. Raises ValueError[comm.world].
std::shared_ptr<BoardLayout> board_of_process(int world);

// One for each of `world` threads, in the order of ranks, of which the first is called `first` in the run.
// Raises ValueError[comm.world] unless it is 1 to 256.
std::vector<std::shared_ptr<Communicator>> local_communicators(int world, int first = 0);

}  // namespace espalier
