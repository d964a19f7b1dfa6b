// What threads of a test wait at.
#pragma once

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>

namespace espalier {

// Who is stopped here waits until it opens, or for 10 seconds where a test has failed.
class ThreadGate {
 public:
  void pass() {
    std::unique_lock hold(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait_for(hold, kLong, [&] { return open_; });
  }
  void open() {
    const std::lock_guard hold(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Whether somebody is stopped, or was.
  bool stops_one() {
    std::unique_lock hold(mutex_);
    return changed_.wait_for(hold, kLong, [&] { return waiting_ > 0; });
  }

 private:
  static constexpr std::chrono::seconds kLong{10};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

// Whether it ends while something else stands still, which takes far less than this.
template <class T>
bool ends_meanwhile(const std::future<T>& future) {
  return future.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
}

}  // namespace espalier
