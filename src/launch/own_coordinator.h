// The coordinator of a run that no launcher of ours watches, in the process of rank 0.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "launch/control_server.h"

namespace espalier {

class OwnCoordinator {
 public:
  // Listens at `address` (launch/control_socket.h) from here on; `warn` hears on another thread whom it
  // refuses, and which ranks do not go on. Raises what listen_at() does.
  OwnCoordinator(const std::string& address, int world, std::string secret, std::string id,
                 std::function<void(const std::string&)> warn = {});
  // Serves until no rank is connected any more, at most 5 s.
  ~OwnCoordinator();
  OwnCoordinator(const OwnCoordinator&) = delete;
  OwnCoordinator& operator=(const OwnCoordinator&) = delete;

  const std::string& address() const { return server_.address(); }

 private:
  void run();
  ControlServer server_;
  const std::function<void(const std::string&)> warn_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace espalier
