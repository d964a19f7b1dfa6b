#include "place/replica_threads.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/format.h"
#include "base/thread_stacks.h"
#include "espalier/error.h"

namespace espalier {
namespace {

// Waits until `value` is no longer `old`.
void wait_for_change(const std::atomic<uint32_t>& value, uint32_t old, bool spins) {
  constexpr auto kSpin = std::chrono::microseconds(50);
  const auto begin = std::chrono::steady_clock::now();
  while (spins && value.load(std::memory_order_acquire) == old) {
    for (int i = 0; i < 64; ++i) __builtin_ia32_pause();
    if (std::chrono::steady_clock::now() - begin > kSpin) break;
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ReplicaThreads::ReplicaThreads(size_t replicas)
    : replicas_(replicas), spins_(replicas <= std::max(std::thread::hardware_concurrency(), 1u)) {
  begin();
}

void ReplicaThreads::begin() {
  epoch_ = running_ = 0;
  ends_ = false;
  try {
    for (size_t i = 1; i < replicas_; ++i) threads_.push_back(thread_with_stack([this, i] { work(i); }));
  } catch (const std::system_error& error) {
    end();
    throw IoError("strategy.threads",
                  cat("the system gives no threads for ", replicas_, " replicas: ", error.what()));
  }
}

ReplicaThreads::~ReplicaThreads() { end(); }

void ReplicaThreads::end() {
  if (process_.forked()) return leave_behind(std::exchange(threads_, {}));
  ends_ = true;
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ReplicaThreads::run(const std::function<void(size_t)>& body) {
  const std::lock_guard lock(mutex_);
  if (process_.forked()) {
    end();
    process_.take();
    begin();
  }
  body_ = &body;
  running_.store(static_cast<uint32_t>(threads_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  body(0);
  while (const uint32_t left = running_.load(std::memory_order_acquire))
    wait_for_change(running_, left, spins_);
}

void ReplicaThreads::work(size_t replica) {
  uint32_t seen = 0;
  while (true) {
    wait_for_change(epoch_, seen, spins_);
    ++seen;
    if (ends_) return;
    (*body_)(replica);
    running_.fetch_sub(1, std::memory_order_release);
    running_.notify_one();
  }
}

}  // namespace espalier
