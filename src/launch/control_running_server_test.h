// A server of a run in a thread, and ranks of it.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/comes_true_test.h"
#include "base/format.h"
#include "launch/control_client.h"
#include "launch/control_server.h"

namespace espalier {

inline constexpr const char* kRunSecret = "0123456789abcdef";

// A server whose loop is a thread.
class RunningServer {
 public:
  explicit RunningServer(int world, std::string address = cat("unix:@espalier-test-", ::getpid()))
      : server(std::move(address), {.world = world, .secret = kRunSecret, .id = "id"}),
        thread_([this] { run(); }) {}
  ~RunningServer() { stop(); }
  void stop() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // While the loop stands still.
  template <class F>
  auto with(F&& call) {
    const std::lock_guard lock(mutex_);
    return call(server);
  }
  std::vector<std::string> warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

  ControlServer server;

 private:
  void run() {
    while (!over_) {
      pollfd ready{server.descriptor(), POLLIN, 0};
      ::poll(&ready, 1, 20);
      const std::lock_guard lock(mutex_);
      server.serve();
      for (const ControlAction& action : server.take_news()) {
        if (const auto* warning = std::get_if<ControlAction::Warn>(&action.is))
          warnings_.push_back(warning->text);
      }
    }
  }

  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::vector<std::string> warnings_;
  std::thread thread_;
};

inline std::unique_ptr<ControlClient> client_of(RunningServer& server, int rank, int world,
                                                ControlHooks hooks = {}) {
  return std::make_unique<ControlClient>(
      server.server.address(), ControlMember::Options{rank, world, 500 + rank, kRunSecret}, std::move(hooks));
}

}  // namespace espalier
