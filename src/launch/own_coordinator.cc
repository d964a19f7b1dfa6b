#include "launch/own_coordinator.h"

#include <poll.h>

#include <chrono>
#include <utility>

#include "base/thread_stacks.h"
#include "launch/control_member.h"

namespace espalier {
namespace {

constexpr int kServeMilliseconds = 100;
constexpr std::chrono::seconds kLastRanks{5};

}  // namespace

OwnCoordinator::OwnCoordinator(const std::string& address, int world, std::string secret, std::string id,
                               std::function<void(const std::string&)> warn)
    : server_(address, {.world = world,
                        .secret = std::move(secret),
                        .id = std::move(id),
                        .limits = {.shows = ControlMember::kBeat}}),
      warn_(std::move(warn)),
      thread_(thread_with_stack([this] { run(); })) {}

OwnCoordinator::~OwnCoordinator() {
  ends_ = true;
  thread_.join();
}

void OwnCoordinator::run() {
  using Clock = std::chrono::steady_clock;
  for (Clock::time_point until = Clock::time_point::max();;) {
    pollfd ready{server_.descriptor(), POLLIN, 0};
    ::poll(&ready, 1, kServeMilliseconds);
    server_.serve();
    // Of what else there is ranks have been told.
    for (const ControlAction& news : server_.take_news()) {
      if (const auto* warning = std::get_if<ControlAction::Warn>(&news.is); warning && warn_)
        warn_(warning->text);
    }
    if (!ends_) continue;
    if (until == Clock::time_point::max()) until = Clock::now() + kLastRanks;
    if (server_.ranks_here() == 0 || Clock::now() >= until) return;
  }
}

}  // namespace espalier
