#include "launch/control_board.h"

#include <algorithm>

#include "base/format.h"
#include "comm/board_layout.h"

namespace espalier {
namespace {

// "all-reduce 'gradients/2'".
std::string named_call(const CollectiveRecord& record) {
  std::string out = record.kind;
  std::ranges::replace(out, '_', '-');
  return record.name.empty() ? out : cat(out, " '", record.name, "'");
}

}  // namespace

std::optional<StageReport> report_of(const Board& board, int rank) {
  const StageRecord stage = board.stage_of(rank);
  if (stage.since_ns == 0) return std::nullopt;
  StageReport out{stage.stage, stage.number, stage.collectives, {}, stage.function};
  const std::vector<CollectiveRecord> records = board.records(rank);
  const CollectiveRecord* last = records.empty() ? nullptr : &records.back();
  if (stage.stage == Stage::kCollective) {
    // The board counts collectives there, and reports name the step.
    const auto waits =
        std::ranges::find(records, static_cast<uint64_t>(stage.number), &CollectiveRecord::sequence);
    if (waits != records.end()) last = &*waits;
    out.number = last ? last->step : 0;
  }
  if (last) out.collective = named_call(*last);
  return out;
}

std::string last_collective(const Board& board, int rank) {
  const std::vector<CollectiveRecord> records = board.records(rank);
  if (records.empty()) return {};
  const CollectiveRecord& last = records.back();
  const int64_t hundredths = std::max<int64_t>(0, monotonic_ns() - last.arrived_ns) / 10'000'000;
  return cat("number ", last.sequence, ", ", named_call(last), " of step ", last.step, ", began ",
             hundredths / 100, ".", hundredths / 10 % 10, hundredths % 10, " s ago and is ",
             last.done_ns ? "done" : "not done");
}

}  // namespace espalier
