// What the board of one host says of a rank, as reports say it.
#pragma once

#include <optional>

#include "comm/board.h"
#include "comm/control_message.h"

namespace espalier {

// Nothing where the rank has not been there.
std::optional<StageReport> report_of(const Board& board, int rank);

}  // namespace espalier
