// The coordinator of a run behind a socket, for a loop that polls.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/control_fd.h"
#include "launch/control_coordinator.h"
#include "launch/control_link.h"

namespace espalier {

class ControlServer {
 public:
  // Listens at `address` (control_socket.h). Raises what listen_at() does.
  ControlServer(std::string address, ControlCoordinator::Options options);

  // For ESPALIER_CONTROL.
  const std::string& address() const { return address_; }
  // Readable when serve() has something to do.
  int descriptor() const { return ready_.get(); }
  // Reads and answers. To be called when there is something to do, and each 100 ms.
  void serve();

  // Of the ranks' processes.
  void started(int rank, int64_t pid) { coordinator_.started(rank, pid, now()); }
  void ended(int rank, const ProcessEnd& end, const std::optional<StageReport>& last) {
    coordinator_.ended(rank, end, last, now());
  }
  void stopped(int rank, bool is_stopped) { coordinator_.stopped(rank, is_stopped, now()); }

  // Of the process that was started for this host.
  void agent_ended(int host, const ProcessEnd& end) { coordinator_.agent_ended(host, end, now()); }

  // Warnings, the verdict, signals, ranks of other hosts: what is not the server's own to do.
  std::vector<ControlAction> take_news() { return std::exchange(news_, {}); }
  const std::optional<RunVerdict>& verdict() const { return coordinator_.verdict(); }
  int joined() const { return coordinator_.joined(); }
  // How many ranks are connected.
  int ranks_here() const;
  std::optional<StageReport> report_of(int rank) const { return coordinator_.report_of(rank); }

 private:
  struct Peer {
    ControlLink link;
    double since = 0;
  };
  static double now();
  void accept_all();
  bool make_room();
  void wait_for_room(bool waits);
  void read(int number);
  void act();
  void drop(int number);
  void watch(int number, bool writes);

  std::string address_;
  ControlCoordinator coordinator_;
  const int most_links_;
  ControlFd listener_, ready_;
  bool full_ = false;          // somebody waits for room
  std::map<int, Peer> links_;  // by the coordinator's numbers
  int next_link_ = 0;
  std::vector<ControlAction> news_;
};

}  // namespace espalier
