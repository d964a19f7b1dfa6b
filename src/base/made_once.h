// A value that takes long to make, for several threads.
#pragma once

#include <memory>
#include <mutex>

namespace espalier {

// Whoever asks first makes it; who asks meanwhile waits for this value, and for no other. Where making it
// raises, who asked hears of it, and the next one tries again.
template <class T>
class MadeOnce {
 public:
  // REQUIRES: `make` does not ask for the same value.
  template <class Make>
  std::shared_ptr<const T> get(const Make& make) {
    const std::lock_guard hold(mutex_);
    if (!value_) value_ = make();
    return value_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const T> value_;
};

}  // namespace espalier
