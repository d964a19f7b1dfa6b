// How the ranks of one start of a run ended, and what is said of it.
#pragma once

#include <csignal>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/launch.h"

namespace espalier {

class LaunchTally {
 public:
  // `starter`: what the only process is, where it is no rank but starts them.
  explicit LaunchTally(int world, std::string starter = {})
      : ranks_(static_cast<size_t>(world)), starter_(std::move(starter)) {}

  void started(int rank, int64_t pid, const std::string& host = {});
  // `was_told`: to end, by the launcher.
  void ended(int rank, const ProcessEnd& end, bool was_told);
  // All ranks got this signal, because the launcher did.
  void forwarded(int number) { forwarded_.insert(number); }
  // The launcher was told to end by a signal.
  bool was_told_to_end() const {
    return forwarded_.contains(SIGINT) || forwarded_.contains(SIGTERM) || forwarded_.contains(SIGHUP);
  }
  bool any_failed() const { return !failed_.empty(); }
  bool has_ended(int rank) const { return of(rank).end.has_value(); }
  bool all_ended() const;

  // Before the ranks are ended, what they are doing; the first call counts.
  bool seen() const { return seen_ns_ != 0; }
  void see(const std::function<void(int rank, LaunchRecord::Rank& record)>& look);

  // `last_lines` of a rank: each behind an end of line. `aside` stands behind a verdict.
  LaunchRecord record(const std::optional<RunVerdict>& verdict,
                      const std::function<std::string(int rank)>& last_lines, const std::string& aside) const;

 private:
  const LaunchRecord::Rank& of(int rank) const { return ranks_[static_cast<size_t>(rank)]; }
  bool ended_as_told(const RunVerdict& verdict) const;
  bool refused_alike(const RunVerdict& verdict) const;
  std::string told(int rank) const;

  std::vector<LaunchRecord::Rank> ranks_;
  const std::string starter_;
  std::vector<int> failed_;  // by themselves, the earliest first
  std::set<int> forwarded_;  // signals
  int64_t seen_ns_ = 0;
};

}  // namespace espalier
