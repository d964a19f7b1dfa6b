#include "launch/control_coordinator.h"

#include <algorithm>
#include <csignal>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "launch/control_proof.h"
#include "launch/control_text.h"

namespace espalier {
namespace {

// A caller who comes later than this was not there to hear of anybody.
constexpr double kLongestGap = 0.5;
// How long all must wait until a rank that left without a word is missed.
constexpr double kMissed = 2;
// What an answer to Ask may take.
constexpr double kAnswer = 0.1;
constexpr int kStrangersNamed = 5;
// Of keys and values of ranks, so that one in a loop does not fill the memory.
constexpr size_t kMostKept = size_t{64} << 20;

// What a process may die of because another rank did.
bool may_follow(const ProcessEnd& end) {
  return !end.by_signal || end.number == SIGABRT || end.number == SIGTERM || end.number == SIGPIPE;
}

}  // namespace

ControlCoordinator::ControlCoordinator(Options options)
    : options_(std::move(options)),
      ranks_(static_cast<size_t>(options_.world)),
      hosts_(options_.hosts.size()),
      warn_after_(options_.limits.warn) {}

void ControlCoordinator::pass(double now) {
  if (last_) time_ += std::clamp(now - *last_, 0.0, kLongestGap);
  last_ = now;
}

void ControlCoordinator::connected(int link, std::string nonce, double now) {
  pass(now);
  send(link, {ControlMessage::Challenge{nonce}});
  strangers_[link] = {std::move(nonce), time_};
}

void ControlCoordinator::received(int link, const ControlMessage& message, double now) {
  pass(now);
  if (strangers_.contains(link)) {
    if (const auto* join = std::get_if<ControlMessage::Join>(&message.is)) return this->join(link, *join);
    if (const auto* join = std::get_if<ControlMessage::HostJoin>(&message.is)) return this->join(link, *join);
    return refuse(link, "its first message does not say who it is");
  }
  if (const auto host = host_of_.find(link); host != host_of_.end()) {
    if (!hear_host(host->second, message, now)) bad_message(link, "it says what no agent says", now);
    return;
  }
  const auto at = rank_of_.find(link);
  if (at == rank_of_.end()) return;
  Rank& rank = ranks_[static_cast<size_t>(at->second)];
  rank.seen = time_;
  if (const auto* beat = std::get_if<ControlMessage::Beat>(&message.is)) {
    return report(rank, beat->at);
  } else if (const auto* facts = std::get_if<ControlMessage::Facts>(&message.is)) {
    rank.facts = facts->facts;
    ++rank.compared;
    check_facts();
  } else if (const auto* failed = std::get_if<ControlMessage::Failed>(&message.is)) {
    if (rank.failed) return;
    report(rank, failed->at);
    rank.failed = *failed;
    rank.failed_at = time_;
    rank.exact = true;
  } else if (const auto* left = std::get_if<ControlMessage::Left>(&message.is)) {
    report(rank, left->at);
    rank.left = rank.exact = true;
    rank.left_at = time_;
  } else if (const auto* put = std::get_if<ControlMessage::Put>(&message.is)) {
    return this->put(link, *put, now);
  } else if (const auto* get = std::get_if<ControlMessage::Get>(&message.is)) {
    return this->get(link, get->key, now);
  } else if (const auto* preempted = std::get_if<ControlMessage::Preempted>(&message.is)) {
    if (std::exchange(preempted_, true)) return;
    send_all(message);
    actions_.push_back({ControlAction::Preempt{at->second, preempted->signal}});
  } else {
    return bad_message(link, "it says what the coordinator says", now);
  }
  suspect();
}

void ControlCoordinator::bad_message(int link, std::string_view why, double now) {
  pass(now);
  if (strangers_.contains(link)) return refuse(link, why);
  const auto at = rank_of_.find(link), host = host_of_.find(link);
  if (at == rank_of_.end() && host == host_of_.end()) return;
  const std::string whose = at == rank_of_.end()
                                ? cat("host ", options_.hosts[static_cast<size_t>(host->second)].name)
                                : cat("rank ", at->second);
  actions_.push_back({ControlAction::Warn{cat(whose, " is cut off: ", why)}});
  actions_.emplace_back(ControlAction::Close{link});
  lost(link, now);
}

void ControlCoordinator::lost(int link, double now) {
  pass(now);
  strangers_.erase(link);
  if (const auto host = host_of_.find(link); host != host_of_.end()) {
    hosts_[static_cast<size_t>(host->second)].link = -1;
    hosts_[static_cast<size_t>(host->second)].lost_at = time_;
    host_of_.erase(host);
    return suspect();
  }
  const auto at = rank_of_.find(link);
  if (at == rank_of_.end()) return;
  Rank& rank = ranks_[static_cast<size_t>(at->second)];
  rank_of_.erase(at);
  rank.link = -1;
  rank.lost_at = time_;
  suspect();
}

void ControlCoordinator::started(int rank, int64_t pid, double now) {
  pass(now);
  ranks_[static_cast<size_t>(rank)].pid = pid;
  ranks_[static_cast<size_t>(rank)].since = time_;
}

void ControlCoordinator::ended(int number, const ProcessEnd& end, const std::optional<StageReport>& last,
                               double now) {
  pass(now);
  Rank& rank = ranks_[static_cast<size_t>(number)];
  rank.end = end;
  rank.ended_at = time_;
  // Whom its engine has seen has joined, though nobody has read so of it; another one has begun no
  // collective.
  rank.joined |= last.has_value();
  if (last && !rank.exact) {
    StageReport at = *last;
    at.collectives += rank.compared;  // as its own reports do
    report(rank, at);
  }
  rank.exact |= last || !rank.joined;
  suspect();
}

void ControlCoordinator::stopped(int rank, bool is_stopped, double now) {
  pass(now);
  ranks_[static_cast<size_t>(rank)].stopped = is_stopped;
}

void ControlCoordinator::show(double now) {
  if (options_.limits.shows <= 0 || now - shown_ < options_.limits.shows) return;
  shown_ = now;
  send_all({ControlMessage::Ask{}});
}

void ControlCoordinator::tick(double now) {
  pass(now);
  show(now);
  std::vector<int> mute;
  for (const auto& [link, stranger] : strangers_) {
    if (time_ - stranger.since >= options_.limits.join) mute.push_back(link);
  }
  for (const int link : mute) refuse(link, "it does not say who it is");
  suspect();
  if (decide_at_ && !asked_again_ && time_ >= *decide_at_ - kAnswer) {
    asked_again_ = true;  // by now they wait for the one that is gone
    send_all({ControlMessage::Ask{}});
  }
  if (decide_at_ && time_ >= *decide_at_) decide();
  const std::string text = warning();
  if (text.empty()) return;
  actions_.push_back({ControlAction::Warn{text}});
  warn_after_ *= 2;
}

std::vector<ControlAction> ControlCoordinator::take() { return std::exchange(actions_, {}); }

int ControlCoordinator::joined() const {
  return static_cast<int>(std::ranges::count_if(ranks_, &Rank::joined));
}

std::optional<StageReport> ControlCoordinator::report_of(int number) const {
  const Rank& rank = ranks_[static_cast<size_t>(number)];
  return rank.joined ? std::optional(rank.at) : std::nullopt;
}

void ControlCoordinator::join(int link, const ControlMessage::Join& join) {
  if (!is_proved(join, options_.secret, strangers_.at(link).nonce))
    return refuse(link, "it does not know the secret of the run");
  if (join.world != options_.world || join.rank < 0 || join.rank >= options_.world)
    return refuse(link, cat("it says that it is rank ", join.rank, " of ", join.world, ", and the run has ",
                            options_.world));
  Rank& rank = ranks_[static_cast<size_t>(join.rank)];
  // Of one that has ended its word may come late.
  if (rank.joined && !rank.end) return refuse(link, cat("rank ", join.rank, " has joined before"));
  strangers_.erase(link);
  rank_of_[link] = join.rank;
  rank.link = link;
  rank.joined = true;
  if (rank.pid == 0) rank.pid = join.pid;
  rank.seen = rank.since = time_;
  send(link, {ControlMessage::Welcome{}});
  if (verdict_) send(link, {ControlMessage::GivenUp{*verdict_}});
}

void ControlCoordinator::refuse(int link, std::string_view why) {
  strangers_.erase(link);
  send(link, {ControlMessage::Refused{std::string(why)}});
  actions_.emplace_back(ControlAction::Close{link});
  // Somebody who comes again and again is not to fill the log.
  if (++refused_ <= kStrangersNamed) {
    actions_.emplace_back(ControlAction::Warn{cat("a stranger was refused: ", why)});
  } else if (refused_ == next_told_) {
    actions_.emplace_back(
        ControlAction::Warn{cat(refused_, " strangers have been refused; the last: ", why)});
    next_told_ *= 10;
  }
}

void ControlCoordinator::report(Rank& rank, const StageReport& at) {
  if (rank.at == at) return;
  rank.at = at;
  rank.since = time_;
}

// Several ranks may put one key, so that whoever is first says it for all.
void ControlCoordinator::put(int link, const ControlMessage::Put& put, double now) {
  if (values_.contains(put.key)) return;
  if (!keep(link, put.key.size() + put.value.size(), now)) return;
  values_[put.key] = put.value;
  const auto waiting = wanted_.extract(put.key);
  if (!waiting) return;
  for (const int other : waiting.mapped()) send(other, {ControlMessage::Value{put.key, put.value}});
}

void ControlCoordinator::get(int link, const std::string& key, double now) {
  if (const auto at = values_.find(key); at != values_.end())
    return send(link, {ControlMessage::Value{key, at->second}});
  std::vector<int>& waiting = wanted_[key];
  if (std::ranges::find(waiting, link) != waiting.end()) return;
  if (keep(link, key.size() + sizeof link, now)) waiting.push_back(link);
}

bool ControlCoordinator::keep(int link, size_t bytes, double now) {
  if (kept_ + bytes > kMostKept) {
    bad_message(link, cat("ranks leave at most ", kMostKept, " bytes of keys and values for each other"),
                now);
    return false;
  }
  kept_ += bytes;
  return true;
}

void ControlCoordinator::check_facts() {
  const Rank* first = nullptr;
  size_t given = 0;
  for (const Rank& rank : ranks_) {
    if (!rank.facts) continue;
    ++given;
    if (!first) first = &rank;
    if (*rank.facts != *first->facts) differ_at_ = differ_at_.value_or(time_);
  }
  if (given < ranks_.size() || differ_at_) return;
  for (Rank& rank : ranks_) rank.facts.reset();
  send_all({ControlMessage::Agreed{}});
}

void ControlCoordinator::send(int link, ControlMessage message) {
  actions_.push_back({ControlAction::Send{link, std::move(message)}});
}

void ControlCoordinator::send_all(const ControlMessage& message) {
  for (const Rank& rank : ranks_) {
    if (rank.link >= 0) send(rank.link, message);
  }
}

// Whether it has left while others need it. Ranks begin their collectives in one order, so one that has begun
// more than it ever will waits for it in vain.
bool ControlCoordinator::needed_after_leaving(const Rank& rank) const {
  const std::optional<double>& when = rank.left_at ? rank.left_at : rank.ended_at;
  bool any = false, all_stuck = true;
  for (const Rank& other : ranks_) {
    if (!other.alive()) continue;
    if (rank.exact && other.at.collectives > rank.at.collectives) return true;
    any = true;
    all_stuck &=
        other.waits() && other.at.collectives > rank.at.collectives && time_ - other.since >= kMissed;
  }
  return !rank.exact && any && all_stuck && time_ - *when >= kMissed;
}

bool ControlCoordinator::is_stalled(const Rank& rank, double limit) const {
  const bool here = rank.joined ? rank.alive() : !rank.end;
  return here && !rank.waits() && time_ - rank.since >= limit;
}

std::optional<ControlCoordinator::Evidence> ControlCoordinator::against(int number) const {
  const Rank& rank = ranks_[static_cast<size_t>(number)];
  if (rank.failed) {
    const FailureCause cause = rank.failed->cause;
    if (cause != FailureCause::kOwn && cause != FailureCause::kMeeting) return std::nullopt;
    return Evidence{VerdictKind::kThrown, *rank.failed_at, number};
  }
  if (rank.left || (rank.end && !rank.end->is_failure())) {
    if (!needed_after_leaving(rank)) return std::nullopt;
    return Evidence{VerdictKind::kEarly, rank.left_at.value_or(rank.ended_at.value_or(time_)), number};
  }
  if (rank.end)
    return Evidence{may_follow(*rank.end) ? VerdictKind::kEnded : VerdictKind::kKilled, *rank.ended_at,
                    number};
  if (rank.lost_at) return Evidence{VerdictKind::kLost, *rank.lost_at, number};
  if (rank.joined && time_ - rank.seen >= options_.limits.silent)
    return Evidence{VerdictKind::kSilent, rank.seen, number};
  if (is_stalled(rank, options_.limits.stalled)) return Evidence{VerdictKind::kStalled, rank.since, number};
  return std::nullopt;
}

// Since when ranks have waited for facts while others waited in another collective that they began at that
// place of their order, or later: neither comes to an end.
std::optional<double> ControlCoordinator::calls_differ() const {
  uint64_t comparison = UINT64_MAX;
  double since = 0;
  const auto has_waited = [&](const Rank& rank) { return rank.waits() && time_ - rank.since >= kMissed; };
  for (const Rank& rank : ranks_) {
    if (!rank.compares() || !has_waited(rank)) continue;
    comparison = std::min(comparison, rank.at.collectives);
    since = std::max(since, rank.since);
  }
  for (const Rank& rank : ranks_) {
    if (!rank.compares() && has_waited(rank) && rank.at.collectives >= comparison)
      return std::max(since, rank.since);
  }
  return std::nullopt;
}

// The strongest first.
std::vector<ControlCoordinator::Evidence> ControlCoordinator::evidence() const {
  std::vector<Evidence> out;
  for (size_t host = 0; host < hosts_.size(); ++host) {
    if (const auto found = against_host(static_cast<int>(host))) out.push_back(*found);
  }
  if (joined() == 0) return out;  // programs that know nothing of each other
  // With the facts of all it is known who is the odd one.
  const bool all_given = std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.facts.has_value(); });
  if (differ_at_ && (all_given || time_ - *differ_at_ >= options_.limits.silent))
    out.push_back({VerdictKind::kMismatch, *differ_at_, -1});
  if (const auto when = calls_differ()) out.push_back({VerdictKind::kMismatch, *when, -1});
  bool all_wait = true, any_waits = false;
  for (int i = 0; i < options_.world; ++i) {
    const Rank& rank = ranks_[static_cast<size_t>(i)];
    if (const auto found = against(i)) out.push_back(*found);
    if (rank.failed && rank.failed->cause == FailureCause::kMismatch)
      out.push_back({VerdictKind::kMismatch, *rank.failed_at, -1});
    // Nobody says whose fault it was; by now whoever is silent would have been found.
    const bool others = rank.failed && rank.failed->cause == FailureCause::kOthers;
    if (others && time_ - *rank.failed_at >= options_.limits.silent + 1)
      out.push_back({VerdictKind::kStalled, *rank.failed_at, -1});
    if (rank.joined ? !rank.alive() : rank.end.has_value()) continue;
    any_waits |= rank.waits();
    all_wait &= rank.waits() && time_ - rank.since >= options_.limits.stalled;
  }
  if (any_waits && all_wait) out.push_back({VerdictKind::kStalled, time_, -1});
  std::ranges::sort(out, {}, [](const Evidence& of) { return std::tuple(of.kind, of.when, of.rank); });
  return out;
}

void ControlCoordinator::suspect() {
  if (verdict_ || decide_at_ || evidence().empty()) return;
  decide_at_ = time_ + options_.limits.collect;
  asked_again_ = false;
  // So that the sentence says what they do now.
  send_all({ControlMessage::Ask{}});
}

void ControlCoordinator::decide() {
  decide_at_.reset();
  if (verdict_) return;
  const std::vector<Evidence> found = evidence();
  if (found.empty()) return;  // it has come back
  const Alike alike = is_alike(found[0]);
  if (alike == Alike::kNotYet) {
    decide_at_ = time_;
    return;
  }
  verdict_ = alike == Alike::kYes ? sentence_of_all(found[0]) : sentence(found[0]);
  send_all({ControlMessage::GivenUp{*verdict_}});
  for (const Host& host : hosts_) {
    if (host.link >= 0) send(host.link, {ControlMessage::GivenUp{*verdict_}});
  }
  actions_.push_back({ControlAction::GiveUp{*verdict_, found[0].host}});
}

}  // namespace espalier
