// Events for a coordinator, one after the other, in tests.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/format.h"
#include "comm/control_coordinator.h"

namespace espalier {

inline constexpr const char* kSecret = "s3cret";

inline StageReport in_step(int64_t step, uint64_t collectives) {
  return {Stage::kStep, step, collectives, ""};
}
inline StageReport waits_in(int64_t step, uint64_t collectives, const std::string& name = "gradients/2") {
  return {Stage::kCollective, step, collectives, cat("all-reduce '", name, "'")};
}

// A coordinator and the clock it sees.
struct ScriptedRun {
  // Nobody has joined.
  struct Unjoined {};
  ScriptedRun(Unjoined, ControlCoordinator::Options options) : coordinator(options), world(options.world) {}
  explicit ScriptedRun(int world, ControlLimits limits = {})
      : coordinator({.world = world, .secret = kSecret, .id = "id", .limits = limits}), world(world) {
    for (int i = 0; i < world; ++i) {
      coordinator.started(i, 800 + i, now);
      coordinator.connected(i, now);
      say(i, {ControlMessage::Join{kSecret, i, world, 800 + i}});
    }
    take();
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
      if (const auto* send = std::get_if<ControlAction::Send>(&action.is))
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
