// What the coordinator says of its evidence.
#include <algorithm>

#include "base/format.h"
#include "launch/control_coordinator.h"
#include "launch/control_text.h"

namespace espalier {
namespace {

// How long ranks that have begun no step have to fail as the first of them did.
constexpr double kTimeToAgree = 2;
// How long a rank that has said that it leaves has to end, so that the sentence says its status.
constexpr double kTimeToEnd = 1;

}  // namespace

std::string ControlCoordinator::who(int rank) const {
  const int64_t pid = ranks_[static_cast<size_t>(rank)].pid;
  const int host = host_of(rank);
  const std::string of_host =
      host < 0 ? std::string() : cat("host ", options_.hosts[static_cast<size_t>(host)].name);
  if (pid <= 0) return cat("rank ", rank, host < 0 ? "" : cat(" (", of_host, ")"));
  return cat("rank ", rank, " (pid ", pid, host < 0 ? "" : ", ", of_host, ")");
}

std::vector<int> ControlCoordinator::waiting(int without) const {
  std::vector<int> out;
  for (int i = 0; i < options_.world; ++i) {
    if (i != without && ranks_[static_cast<size_t>(i)].waits()) out.push_back(i);
  }
  return out;
}

RunVerdict ControlCoordinator::sentence(const Evidence& of) const {
  RunVerdict out{options_.id, of.kind, of.rank, {}};
  const std::vector<int> waiting_ranks = waiting(of.rank);
  const std::string waited =
      waiting_ranks.empty() ? std::string() : cat("; ", ranks_text(waiting_ranks), " waited");
  if (of.host >= 0) {
    out.text = host_sentence(of);
    return out;
  }
  if (of.rank < 0) {
    out.text = shared_sentence(of, out.rank);
    return out;
  }
  const Rank& rank = ranks_[static_cast<size_t>(of.rank)];
  // What the others wait for, which the culprit has not begun.
  std::string before;
  StageReport of_step = rank.at;
  for (const int other : waiting_ranks) {
    const StageReport& at = ranks_[static_cast<size_t>(other)].at;
    if (at.collectives <= rank.at.collectives) continue;
    before = cat(" before ", at.collective);
    of_step = at;
    break;
  }
  std::string place = cat(" ", stage_text(rank.at));
  if (rank.at.stage == Stage::kCollective && before.empty()) place += cat(" in ", rank.at.collective);
  const bool sure =
      rank.exact || of.kind == VerdictKind::kStalled || (!before.empty() && of_step.number == rank.at.number);
  if (!rank.joined)
    place = " before it had joined";
  else if (sure)
    place += cat(!before.empty() && place.ends_with(" first step") ? " and" : "", before);
  else  // it may have gone on since it was heard of
    place = cat(before, before.empty() ? "" : cat(" of ", step_text(of_step)), ", last seen", place);
  const std::string name = who(of.rank);
  switch (of.kind) {
    case VerdictKind::kThrown:
      out.text =
          cat(name, " failed", place,
              waiting_ranks.empty() ? std::string() : cat(" while ", ranks_text(waiting_ranks), " waited"),
              ": ", rank.failed->text);
      break;
    case VerdictKind::kEarly: {
      std::vector<int> others;
      StageReport farthest;
      for (const Rank& other : ranks_)
        if (other.alive() && other.at.number > farthest.number) farthest = other.at;
      for (int i = 0; i < options_.world; ++i) {
        const Rank& other = ranks_[static_cast<size_t>(i)];
        if (other.alive() && other.at.number == farthest.number) others.push_back(i);
      }
      const std::string left = rank.left ? "left the run" : to_string(*rank.end);
      const bool failed = rank.left && rank.end && rank.end->is_failure();
      out.text = cat(name, " ", left, failed ? cat(" and ", *rank.end) : "",
                     sure || rank.at.stage == Stage::kEnd ? cat(" ", stage_text(rank.at))
                                                          : cat(", last seen ", stage_text(rank.at), ","),
                     " while ", ranks_text(others), others.size() == 1 ? " is" : " are",
                     farthest.function.empty() ? " in " : " at ", step_text(farthest));
      break;
    }
    case VerdictKind::kLost:
      out.text = cat(name, " lost its connection", place, waited);
      break;
    case VerdictKind::kSilent:
      out.text = cat(name, " has not been heard of for ", seconds_text(time_ - rank.seen), place,
                     rank.stopped ? "; it is stopped" : "", waited);
      break;
    case VerdictKind::kStalled:
      out.text = stall_text(of.rank) + waited;
      break;
    default:
      out.text = cat(name, " ", *rank.end, place, waited);
  }
  return out;
}

// Whether all ranks have failed of the same before any step, as they do of bad input. Not yet: others are
// there that have not failed, and wait for nobody; or one that left is about to end.
ControlCoordinator::Alike ControlCoordinator::is_alike(const Evidence& of) const {
  if (of.kind == VerdictKind::kEarly) {
    const Rank& rank = ranks_[static_cast<size_t>(of.rank)];
    const bool ends = rank.left && !rank.end && time_ - *rank.left_at < kTimeToEnd;
    return ends ? Alike::kNotYet : Alike::kNo;
  }
  if (of.kind != VerdictKind::kThrown) return Alike::kNo;
  const std::string& text = ranks_[static_cast<size_t>(of.rank)].failed->text;
  Alike out = Alike::kYes;
  for (const Rank& rank : ranks_) {
    if (rank.at.stage != Stage::kStart || rank.stopped) return Alike::kNo;
    if (rank.alive() && time_ - of.when < kTimeToAgree)
      out = Alike::kNotYet;
    else if (!rank.failed || rank.failed->cause != FailureCause::kOwn || rank.failed->text != text)
      return Alike::kNo;
  }
  return out;
}

// Of a failure that is_alike().
RunVerdict ControlCoordinator::sentence_of_all(const Evidence& of) const {
  RunVerdict out = sentence(of);
  out.kind = VerdictKind::kAlike;
  if (options_.world > 1)
    out.text = cat("all ranks failed alike: ", ranks_[static_cast<size_t>(of.rank)].failed->text);
  return out;
}

// Of what no single rank did.
std::string ControlCoordinator::shared_sentence(const Evidence& of, int& odd) const {
  if (of.kind == VerdictKind::kMismatch && differ_at_) {
    std::map<int, std::map<std::string, std::string>> facts;
    for (int i = 0; i < options_.world; ++i) {
      const Rank& rank = ranks_[static_cast<size_t>(i)];
      if (rank.facts) facts[i] = *rank.facts;
    }
    return cat("ranks do not run the same: ", mismatch_text(facts, odd));
  }
  for (const Rank& rank : ranks_) {
    if (rank.failed && *rank.failed_at == of.when) return rank.failed->text;
  }
  if (of.kind == VerdictKind::kMismatch) return cat("ranks do not run the same: ", calls_text(odd));
  std::string out = "no rank goes on";
  for (int i = 0; i < options_.world; ++i) {
    const Rank& rank = ranks_[static_cast<size_t>(i)];
    if (rank.waits())
      out += cat(i ? ", " : ": ", "rank ", i, " waits ", stage_text(rank.at), " in ", rank.at.collective);
  }
  return out;
}

// "rank 1 waits in the comparison of what ranks run and ranks 0, 2 wait in all-gather 'header' of step 4".
std::string ControlCoordinator::calls_text(int& odd) const {
  std::map<std::string, std::vector<int>> ranks_of;
  for (int i = 0; i < options_.world; ++i) {
    const Rank& rank = ranks_[static_cast<size_t>(i)];
    if (!rank.waits()) continue;
    const std::string step = rank.compares() ? std::string() : cat(" of ", step_text(rank.at));
    ranks_of[rank.at.collective + step].push_back(i);
  }
  std::string out;
  for (const auto& [call, ranks] : ranks_of) {
    out += cat(out.empty() ? "" : " and ", ranks_text(ranks), ranks.size() == 1 ? " waits in " : " wait in ",
               call);
    if (ranks_of.size() == 2 && ranks.size() == 1 && options_.world > 2) odd = ranks[0];
  }
  return out;
}

std::string ControlCoordinator::stall_text(int number) const {
  const Rank& rank = ranks_[static_cast<size_t>(number)];
  const std::string time = seconds_text(time_ - rank.since);
  if (!rank.joined) return cat(who(number), " has not joined in ", time);
  if (rank.at.stage == Stage::kStart) return cat(who(number), " has not begun its first step for ", time);
  if (rank.at.stage == Stage::kEnd)
    return cat(who(number), " has finished ", step_text(rank.at), " and made no progress for ", time);
  return cat(who(number), " has been ", stage_text(rank.at), " for ", time);
}

// Of the ranks that have not gone on for as long as is warned of.
std::string ControlCoordinator::warning() const {
  std::string text;
  if (verdict_ || joined() == 0) return text;
  for (int i = 0; i < options_.world; ++i) {
    if (!is_stalled(ranks_[static_cast<size_t>(i)], warn_after_)) continue;
    text += cat(text.empty() ? "" : "; ", stall_text(i));
  }
  const std::vector<int> waiting_ranks = waiting(-1);
  if (!text.empty() && !waiting_ranks.empty())
    text += cat("; ", ranks_text(waiting_ranks), waiting_ranks.size() == 1 ? " waits" : " wait");
  return text;
}

}  // namespace espalier
