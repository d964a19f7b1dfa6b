// Objects that wait for their next user.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace espalier {

// Keeps what users give back. While one thread at a time takes and gives, there is neither a lock nor an
// allocation; what several hold at once lies behind a lock.
template <class T>
class ObjectPool {
 public:
  ObjectPool() = default;
  ~ObjectPool() { delete first_.load(); }
  ObjectPool(const ObjectPool&) = delete;
  ObjectPool& operator=(const ObjectPool&) = delete;

  // Null when none is idle.
  std::unique_ptr<T> take() {
    if (T* first = first_.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<T>(first);
    const std::lock_guard hold(mutex_);
    if (more_.empty()) return nullptr;
    std::unique_ptr<T> out = std::move(more_.back());
    more_.pop_back();
    return out;
  }

  void give(std::unique_ptr<T> object) {
    T* none = nullptr;
    if (first_.compare_exchange_strong(none, object.get(), std::memory_order_release)) {
      object.release();
      return;
    }
    const std::lock_guard hold(mutex_);
    more_.push_back(std::move(object));
  }

 private:
  std::atomic<T*> first_{nullptr};
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> more_;
};

}  // namespace espalier
