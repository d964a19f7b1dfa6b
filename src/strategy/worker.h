// This process as a worker of a run that `espalier launch` started.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/board.h"
#include "comm/wire_communicator.h"
#include "espalier/communicator.h"
#include "launch/chaos.h"
#include "launch/cluster.h"
#include "launch/control_client.h"
#include "launch/own_coordinator.h"
#include "strategy/own_process_communicator.h"

namespace espalier {

// While one lives SIGTERM and SIGUSR1 are remembered (Worker::asked_to_go), unless the program handles them
// itself. Elsewhere nobody would look, and they end the process: within 2 s of one that was remembered they
// do nothing, since a process that was told is about to end by itself.
class GoSignals {
 public:
  GoSignals();
  ~GoSignals();
  GoSignals(const GoSignals&) = delete;
  GoSignals& operator=(const GoSignals&) = delete;

 private:
  struct sigaction before_[2] = {};
};

// Of its process alone: in a child that is forked what would tell the run of the child says nothing, and what
// waits for other ranks raises StateError[strategy.forked].
class Worker {
 public:
  // By the environment: of `espalier launch` (launch/launch.h), else of another launcher (launch/cluster.h);
  // null where nobody launched this process, or it alone. Raises ValueError[strategy.environment] for an
  // environment that says half of it, what shm_communicator(), ControlClient, resolve() and load_wire()
  // raise, StateError[strategy.worker] for a second one in this process, and [strategy.forked] in a child of
  // one that has one.
  static std::shared_ptr<Worker> from_environment();
  // Of workers that are made from here on, where rank 0 is the coordinator of its run: what it warns of.
  // Called on any thread.
  static void on_warning(std::function<void(const std::string&)> warn);
  // As one that has done what it had to; in the middle of an exception as one that failed.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Communicator& communicator() { return *spoken_; }
  // Of a run that another launcher started: by whom, and what its workers talk through; with what speaks
  // against it. "" under espalier launch, which says it itself.
  const std::string& place_text() const { return place_text_; }
  // How many workers this machine has.
  int local_world() const { return local_world_; }
  // The cores of this machine, shared out among its workers, or fewer where this process may use fewer.
  int default_threads() const;
  // By how many seconds each worker came later than the first of them to its collectives, in all.
  std::vector<double> lateness() const;
  // Before the first step of each run of fit: returns when all have said the same. Raises
  // RunError[comm.verdict] where they differ.
  void describe(std::map<std::string, std::string> facts);
  // Whether somebody compares it.
  bool to_describe() const { return control_ != nullptr; }
  // What its stages count from now on are calls of this function; empty: steps.
  void count_calls(const std::string& function);
  // At the begin of a step of the run, counted from 1: what --chaos has for it.
  void begin_step(int64_t step);
  // It cannot go on; `rule` is the error's. Others are told why.
  void failed(const std::string& rule, const std::string& what);
  // See Membership::leave_with().
  std::optional<std::vector<std::string>> leave_with(const std::string& what);
  // It has done what it had to, whatever is on its way.
  void left();
  // Whether this process, or another rank, was told to save and go.
  bool asked_to_go() const;
  // All go, perhaps before the signal has come to this process, too.
  void goes();

 private:
  Worker(int rank, int world, int local_world);
  bool forked() const { return spoken_ && spoken_->forked(); }
  static std::shared_ptr<Worker> made(const std::function<Worker*()>& make);
  // Of a run of `espalier launch`: on one host, over hosts; and of one that something else started.
  void join_host(const std::string& segments);
  void join_hosts(const std::string& segments);
  static void continue_behind(double seconds);
  void join_cluster(const ResolvedPlace& resolved);
  // Its second half, behind the connection to rank 0.
  void meet_cluster(const ResolvedPlace& resolved, const std::shared_ptr<BoardLayout>& board);
  // All ranks through memory of rank 0, which the others open by its process; "", or why one of them cannot,
  // which all hear.
  std::string join_memory();
  std::shared_ptr<Board> board() const;
  void join_by(const std::string& engine, WirePlace place, const std::string& generation,
               const std::string& interface, std::shared_ptr<BoardLayout> board);
  ControlHooks hooks();
  void hear(const RunVerdict& verdict);
  int rank_, world_, local_world_;
  std::shared_ptr<Board> board_;  // join_memory() puts another one in its place
  std::shared_ptr<Communicator> communicator_;
  std::unique_ptr<OwnProcessCommunicator> spoken_;  // communicator_, in this process
  std::vector<ChaosEvent> chaos_;
  bool by_our_launcher_ = true;
  std::atomic<bool> told_{false};
  bool said_ = false;  // how it ends
  std::string place_text_;
  mutable std::mutex board_mutex_;
  std::unique_ptr<OwnCoordinator> coordinator_;
  std::unique_ptr<ControlClient> control_;  // its thread ends first
};

}  // namespace espalier
