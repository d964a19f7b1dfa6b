// Events for a coordinator, one after the other, in tests.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/format.h"
#include "launch/control_coordinator.h"
#include "launch/control_proof.h"

namespace espalier {

inline constexpr const char* kSecret = "s3cret";

// What the connection of this number got.
inline std::string nonce_of(int link) {
  std::string out = cat("nonce of link ", link);
  out.resize(kNonceBytes, '.');
  return out;
}
inline ControlMessage join_of(int link, int rank, int world, int64_t pid,
                              const std::string& secret = kSecret) {
  return {proved(ControlMessage::Join{{}, rank, world, pid}, secret, nonce_of(link))};
}

inline StageReport in_step(int64_t step, uint64_t collectives) {
  return {Stage::kStep, step, collectives, ""};
}
// Of "step", in a loop of one's own.
inline StageReport in_call(int64_t call, uint64_t collectives) {
  return {Stage::kStep, call, collectives, "", "step"};
}
inline StageReport waits_in(int64_t step, uint64_t collectives, const std::string& name = "gradients/2") {
  return {Stage::kCollective, step, collectives, cat("all-reduce '", name, "'")};
}

// A coordinator and the clock it sees.
struct ScriptedRun {
  // Nobody has joined.
  struct Unjoined {};
  ScriptedRun(Unjoined, ControlCoordinator::Options options) : coordinator(options), world(options.world) {}
  ScriptedRun(int world, Unjoined)
      : ScriptedRun(Unjoined(), {.world = world, .secret = kSecret, .id = "id"}) {}
  explicit ScriptedRun(int world, ControlLimits limits = {})
      : coordinator({.world = world, .secret = kSecret, .id = "id", .limits = limits}), world(world) {
    for (int i = 0; i < world; ++i) {
      coordinator.started(i, 800 + i, now);
      connect(i, join_of(i, i, world, 800 + i));
    }
    take();
  }
  void connect(int link) { coordinator.connected(link, nonce_of(link), now); }
  void connect(int link, const ControlMessage& first) {
    connect(link);
    say(link, first);
  }
  void say(int rank, const ControlMessage& message) { coordinator.received(rank, message, now); }
  void beat(int rank, const StageReport& at) { say(rank, {ControlMessage::Beat{at}}); }
  // Time passes, and those of `heard` go on to say what they said last.
  void pass(double seconds, const std::map<int, StageReport>& heard = {}) {
    for (double next = 0; seconds > 1e-9; seconds -= 0.1) {
      now += 0.1;
      if (next <= 0) {
        for (const auto& [rank, at] : heard) beat(rank, at);
        next = 1;
      }
      next -= 0.1;
      coordinator.tick(now);
      take();
    }
  }
  void take() {
    for (const ControlAction& action : coordinator.take()) {
      // But for the first, which this side has made.
      if (const auto* send = std::get_if<ControlAction::Send>(&action.is);
          send && !std::holds_alternative<ControlMessage::Challenge>(send->message.is))
        sent[send->link].push_back(send->message);
      if (const auto* close = std::get_if<ControlAction::Close>(&action.is)) closed.push_back(close->link);
      if (const auto* warning = std::get_if<ControlAction::Warn>(&action.is))
        warnings.push_back(warning->text);
      if (const auto* given = std::get_if<ControlAction::GiveUp>(&action.is)) {
        ++given_up;
        gone_host = given->host;
      }
      if (const auto* started = std::get_if<ControlAction::Started>(&action.is))
        started_ranks += cat(started->rank, ":", started->pid, " ");
      if (const auto* ended = std::get_if<ControlAction::Ended>(&action.is))
        ended_ranks += cat(ended->rank, ":", ended->end, ":", ended->lines, " ");
      if (const auto* got = std::get_if<ControlAction::Preempt>(&action.is))
        preempted.push_back(cat(got->rank, ":", got->signal));
    }
  }
  std::string text() const { return coordinator.verdict() ? coordinator.verdict()->text : "none"; }

  ControlCoordinator coordinator;
  int world;
  double now = 1000;
  std::map<int, std::vector<ControlMessage>> sent;
  std::vector<int> closed;
  std::vector<std::string> warnings, preempted;
  int given_up = 0, gone_host = -1;
  std::string started_ranks, ended_ranks;
};

}  // namespace espalier
