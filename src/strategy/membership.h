// What a worker tells its run, and hears of it, besides what its programs exchange.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strategy/worker.h"

namespace espalier {

// Of a process that is in no run each call does nothing.
class Membership {
 public:
  Membership() = default;
  // `communicator`: that of the run, null: none. `worker`: whose that is, where a launcher started it.
  Membership(std::shared_ptr<Communicator> communicator, std::shared_ptr<Worker> worker);

  // Before its first step: what is to be the same on all workers. See Worker::describe().
  void describe(std::map<std::string, std::string> facts) const;
  bool to_describe() const { return worker_ && worker_->to_describe(); }
  // What stages count from now on are calls of this function; empty: steps.
  void count_calls(const std::string& function) const;
  // At the begin of each step, counted from 1.
  void begin_step(int64_t step) const;
  // This one cannot go on, so that others do not wait.
  void failed(const std::exception& error) const;
  // Leaves `what` for others that leave, and gives what those said that left before, "" for those that did
  // not, in the order of ranks. Waits for nobody. Nothing where nobody keeps it: then all leave together.
  std::optional<std::vector<std::string>> leave_with(const std::string& what) const;
  // It has done what it had to.
  void left() const;
  // By how many seconds each worker came later than the first to its collectives, since it began; empty where
  // nobody is waited for.
  std::vector<double> lateness() const;

  // Somebody told this worker to save and go, or go() did; fit agrees on it with the others.
  bool asked_to_go() const;
  // For as long as somebody looks at that; null where it is not up to this process.
  std::unique_ptr<GoSignals> listen() const { return worker_ ? std::make_unique<GoSignals>() : nullptr; }
  void go() const { told_ = true; }
  // Whether they have agreed.
  bool goes() const { return goes_; }
  void agree_to_go() const;

 private:
  const std::shared_ptr<Communicator> communicator_ = {};
  const std::shared_ptr<Worker> worker_ = {};
  mutable std::atomic<bool> told_{false}, goes_{false};
};

}  // namespace espalier
