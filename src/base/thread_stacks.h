// The stacks of threads. Without a size of its own a thread gets what `ulimit -s` says, which a site may have
// set to less than a kernel, or what a thread begins with, takes.
#pragma once

#include <cstddef>
#include <thread>
#include <utility>

namespace espalier {

// While one lives, threads of this process that are made without a size of their own have stacks of kBytes at
// least, also those that a library makes which is called meanwhile. Where they have anyway it does nothing.
class ThreadStacks {
 public:
  static constexpr size_t kBytes = size_t{8} << 20;
  ThreadStacks();
  ~ThreadStacks();
  ThreadStacks(const ThreadStacks&) = delete;
  ThreadStacks& operator=(const ThreadStacks&) = delete;

 private:
  const bool raises_;
};

// A thread with such a stack. Raises std::system_error as std::thread does.
template <class F>
std::thread thread_with_stack(F&& body) {
  const ThreadStacks stacks;
  return std::thread(std::forward<F>(body));
}

}  // namespace espalier
