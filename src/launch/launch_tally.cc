#include "launch/launch_tally.h"

#include <algorithm>

#include "base/format.h"
#include "comm/board_layout.h"

namespace espalier {

void LaunchTally::started(int rank, int64_t pid, const std::string& host) {
  LaunchRecord::Rank& of = ranks_[static_cast<size_t>(rank)];
  of.pid = pid;
  of.host = host;
}

void LaunchTally::ended(int rank, const ProcessEnd& end, bool was_told) {
  ranks_[static_cast<size_t>(rank)].end = end;
  // One that dies of what all were sent has done as it was told.
  was_told |= end.by_signal && forwarded_.contains(end.number);
  if (end.is_failure() && !was_told) failed_.push_back(rank);
}

bool LaunchTally::all_ended() const {
  return std::ranges::all_of(ranks_, [](const LaunchRecord::Rank& rank) { return rank.end.has_value(); });
}

void LaunchTally::see(const std::function<void(int rank, LaunchRecord::Rank& record)>& look) {
  if (seen()) return;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) look(static_cast<int>(rank), ranks_[rank]);
  seen_ns_ = monotonic_ns();
}

// Before its first fit() a rank dies of a signal that lets others save.
bool LaunchTally::ended_as_told(const RunVerdict& verdict) const {
  if (verdict.kind != VerdictKind::kEnded && verdict.kind != VerdictKind::kKilled) return false;
  const ProcessEnd& end = *of(verdict.rank).end;
  return end.by_signal && forwarded_.contains(end.number);
}

// Each has said why, or the first for all.
bool LaunchTally::refused_alike(const RunVerdict& verdict) const {
  return verdict.kind == VerdictKind::kAlike &&
         std::ranges::all_of(ranks_, [](const LaunchRecord::Rank& rank) {
           return rank.end == ProcessEnd{.number = kRefusedStatus};
         });
}

std::string LaunchTally::told(int rank) const {
  const std::string host = of(rank).host.empty() ? std::string() : cat(", host ", of(rank).host);
  const std::string who = starter_.empty() ? cat("rank ", rank) : starter_;
  return cat(who, " (pid ", of(rank).pid, host, ") ", *of(rank).end);
}

LaunchRecord LaunchTally::record(const std::optional<RunVerdict>& verdict,
                                 const std::function<std::string(int rank)>& last_lines,
                                 const std::string& aside) const {
  LaunchRecord out{.verdict = verdict, .seen_ns = seen_ns_, .ranks = ranks_};
  if (verdict && ended_as_told(*verdict)) {
    out.code = of(verdict->rank).end->code();
    out.verdict.reset();
    return out;
  }
  if (verdict && refused_alike(*verdict)) {
    out.code = kRefusedStatus;
    out.verdict.reset();
    return out;
  }
  if (verdict) {
    out.code = kVerdictStatus;
    out.failure =
        cat(to_string(*verdict), verdict->rank < 0 ? std::string() : last_lines(verdict->rank), aside);
    return out;
  }
  if (!failed_.empty()) {
    out.code = of(failed_[0]).end->code();
    out.failure = told(failed_[0]) + last_lines(failed_[0]);
    for (size_t i = 1; i < failed_.size(); ++i) out.failure += cat("\nafter it ", told(failed_[i]));
    return out;
  }
  for (const LaunchRecord::Rank& rank : ranks_) {
    const int code = rank.end ? rank.end->code() : 0;
    if (code != 0 && out.code <= kPreemptedStatus) out.code = code;
  }
  return out;
}

}  // namespace espalier
