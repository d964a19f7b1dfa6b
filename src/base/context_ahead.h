// A context as threads know it that work ahead of calls.
#pragma once

#include <condition_variable>
#include <mutex>

#include "espalier/run_context.h"

namespace espalier {

// Such a thread enters for each piece of its work: the context may end between two of them, but not within
// one.
class ContextAhead {
 public:
  explicit ContextAhead(const RunContext& context) : context_(&context) {}
  ContextAhead(const ContextAhead&) = delete;
  ContextAhead& operator=(const ContextAhead&) = delete;

  // The context, which lives until leave(); null, and nothing to leave, where it has ended.
  const RunContext* enter() {
    const std::lock_guard hold(mutex_);
    if (context_) ++inside_;
    return context_;
  }
  void leave() {
    const std::lock_guard hold(mutex_);
    if (--inside_ == 0) left_.notify_all();
  }
  // Waits until all have left; nobody enters any more.
  void end() {
    std::unique_lock hold(mutex_);
    left_.wait(hold, [this] { return inside_ == 0; });
    context_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  const RunContext* context_;
  int inside_ = 0;
};

}  // namespace espalier
