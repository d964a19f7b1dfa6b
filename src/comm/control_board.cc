#include "comm/control_board.h"

#include <algorithm>

#include "base/format.h"

namespace espalier {

std::optional<StageReport> report_of(const Board& board, int rank) {
  const StageRecord stage = board.stage_of(rank);
  if (stage.since_ns == 0) return std::nullopt;
  StageReport out{stage.stage, stage.number, stage.collectives, {}};
  const std::vector<CollectiveRecord> records = board.records(rank);
  const CollectiveRecord* last = records.empty() ? nullptr : &records.back();
  if (stage.stage == Stage::kCollective) {
    // The board counts collectives there, and reports name the step.
    const auto waits =
        std::ranges::find(records, static_cast<uint64_t>(stage.number), &CollectiveRecord::sequence);
    if (waits != records.end()) last = &*waits;
    out.number = last ? last->step : 0;
  }
  if (!last) return out;
  out.collective = last->kind;
  std::ranges::replace(out.collective, '_', '-');
  if (!last->name.empty()) out.collective += cat(" '", last->name, "'");
  return out;
}

}  // namespace espalier
