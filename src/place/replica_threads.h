// A thread for each replica of this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/own_process.h"

namespace espalier {

// Replica 0 runs on the caller's thread, each other one on its own, all at once: they wait for each other. A
// thread spins for some tens of microseconds after a body, then sleeps. A child of the process has none of
// the threads, and gets its own; it is forked while nothing runs.
class ReplicaThreads {
 public:
  explicit ReplicaThreads(size_t replicas);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  // Calls body(i) for each replica and returns when all have returned. `body` does not throw. Calls of
  // several threads run one after the other; a body makes none.
  void run(const std::function<void(size_t)>& body);

 private:
  void begin();
  void end();
  void work(size_t replica);

  const size_t replicas_;
  OwnProcess process_;  // that has the threads
  std::mutex mutex_;
  const std::function<void(size_t)>* body_ = nullptr;
  std::atomic<uint32_t> epoch_{0}, running_{0};
  bool ends_ = false;
  const bool spins_;
  std::vector<std::thread> threads_;
};

}  // namespace espalier
