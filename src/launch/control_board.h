// What the board of one host says of a rank, as reports say it.
#pragma once

#include <optional>
#include <string>

#include "comm/board.h"
#include "launch/control_message.h"

namespace espalier {

// Nothing where the rank has not been there.
std::optional<StageReport> report_of(const Board& board, int rank);

// "number 42, all-reduce 'gradients' of step 9, began 0.31 s ago and is not done"; "" where there was none.
std::string last_collective(const Board& board, int rank);

}  // namespace espalier
