// What the coordinator hears of hosts whose agents look after ranks.
#include <algorithm>

#include "base/format.h"
#include "launch/control_coordinator.h"
#include "launch/control_proof.h"
#include "launch/control_text.h"

namespace espalier {
namespace {

// Agents beat each second.
constexpr double kHostIsQuiet = 2;

}  // namespace

int ControlCoordinator::host_of(int rank) const {
  for (size_t i = 0; i < options_.hosts.size(); ++i) {
    const ControlHost& host = options_.hosts[i];
    if (rank >= host.first && rank < host.first + host.count) return static_cast<int>(i);
  }
  return -1;
}

void ControlCoordinator::join(int link, const ControlMessage::HostJoin& join) {
  if (!is_proved(join, options_.secret, strangers_.at(link).nonce))
    return refuse(link, "it does not know the secret of the run");
  const bool is_host = join.host >= 0 && join.host < std::ssize(options_.hosts);
  const ControlHost place = is_host ? options_.hosts[static_cast<size_t>(join.host)] : ControlHost();
  if (!is_host || join.name != place.name || join.first != place.first || join.count != place.count)
    return refuse(link, "it says that it is a host which the run has not");
  Host& host = hosts_[static_cast<size_t>(join.host)];
  if (host.joined) return refuse(link, cat("host ", place.name, " has joined before"));
  strangers_.erase(link);
  host_of_[link] = join.host;
  host.link = link;
  host.joined = true;
  host.seen = time_;
  send(link, {ControlMessage::Welcome{}});
  if (verdict_) send(link, {ControlMessage::GivenUp{*verdict_}});
}

bool ControlCoordinator::hear_host(int host, const ControlMessage& message, double now) {
  hosts_[static_cast<size_t>(host)].seen = time_;
  const auto is_its = [&](int rank) { return rank >= 0 && host_of(rank) == host; };
  if (const auto* started = std::get_if<ControlMessage::RankStarted>(&message.is)) {
    if (!is_its(started->rank)) return false;
    this->started(started->rank, started->pid, now);
    actions_.push_back({ControlAction::Started{started->rank, started->pid}});
  } else if (const auto* ended = std::get_if<ControlMessage::RankEnded>(&message.is)) {
    if (!is_its(ended->rank) || ranks_[static_cast<size_t>(ended->rank)].end) return false;
    this->ended(ended->rank, ended->end, ended->last, now);
    actions_.push_back({ControlAction::Ended{ended->rank, ended->end, ended->lines, ended->collective}});
  } else if (const auto* stopped = std::get_if<ControlMessage::RankStopped>(&message.is)) {
    if (!is_its(stopped->rank)) return false;
    this->stopped(stopped->rank, stopped->is_stopped, now);
  } else {
    return std::holds_alternative<ControlMessage::Beat>(message.is);
  }
  return true;
}

void ControlCoordinator::agent_ended(int number, const ProcessEnd& end, double now) {
  pass(now);
  Host& host = hosts_[static_cast<size_t>(number)];
  host.end = end;
  host.ended_at = time_;
  suspect();
}

bool ControlCoordinator::has_ranks_left(int host) const {
  const ControlHost& of = options_.hosts[static_cast<size_t>(host)];
  return std::any_of(ranks_.begin() + of.first, ranks_.begin() + of.first + of.count,
                     [](const Rank& rank) { return !rank.end; });
}

std::optional<ControlCoordinator::Evidence> ControlCoordinator::against_host(int number) const {
  const Host& host = hosts_[static_cast<size_t>(number)];
  if (!has_ranks_left(number)) return std::nullopt;
  const auto since = [&](double when) { return Evidence{VerdictKind::kHost, when, -1, number}; };
  if (host.lost_at) return since(*host.lost_at);
  if (host.ended_at) return since(*host.ended_at);
  if (!host.joined) return time_ >= options_.limits.host ? std::optional(since(0)) : std::nullopt;
  if (time_ - host.seen >= options_.limits.silent) return since(host.seen);
  if (time_ - host.seen < kHostIsQuiet) return std::nullopt;
  // It beats at another moment than its ranks.
  const ControlHost& of = options_.hosts[static_cast<size_t>(number)];
  for (int i = of.first; i < of.first + of.count; ++i) {
    const Rank& rank = ranks_[static_cast<size_t>(i)];
    if (rank.alive() && time_ - rank.seen >= options_.limits.silent) return since(rank.seen);
  }
  return std::nullopt;
}

std::string ControlCoordinator::host_sentence(const Evidence& of) const {
  const Host& host = hosts_[static_cast<size_t>(of.host)];
  const ControlHost& place = options_.hosts[static_cast<size_t>(of.host)];
  const std::string name = cat("host ", place.name);
  if (!host.joined && host.end) return cat(name, " has not joined: its agent ", *host.end);
  if (!host.joined) return cat(name, " has not joined in ", seconds_text(time_));
  std::vector<int> gone, waiting_ranks = waiting(-1);
  for (int i = place.first; i < place.first + place.count; ++i) {
    if (!ranks_[static_cast<size_t>(i)].end) gone.push_back(i);
    std::erase(waiting_ranks, i);
  }
  const std::string with =
      cat(", and with it ", ranks_text(gone),
          waiting_ranks.empty() ? std::string() : cat("; ", ranks_text(waiting_ranks), " waited"));
  if (host.end) return cat(name, " is gone (its agent ", *host.end, ")", with);
  if (host.lost_at) return cat(name, " is gone (its connection broke)", with);
  return cat(name, " has not been heard of for ", seconds_text(time_ - host.seen), with);
}

}  // namespace espalier
