#include "espalier/run_events.h"

namespace espalier {

ActivityCounts::Count ActivityCounts::of(Activity::Kind kind) const {
  const OfKind& own = all_[static_cast<size_t>(kind)];
  return {own.begun, own.ended, own.bytes};
}

void ActivityCounts::on_begin(const Activity& activity) { ++all_[static_cast<size_t>(activity.kind)].begun; }

void ActivityCounts::on_end(const Activity& activity) {
  OfKind& own = all_[static_cast<size_t>(activity.kind)];
  own.bytes += static_cast<int64_t>(activity.bytes);
  ++own.ended;
}

}  // namespace espalier
