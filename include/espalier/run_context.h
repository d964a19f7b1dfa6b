// What a run runs in: threads, device, place among ranks, seed, and who is told of it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "espalier/communicator.h"
#include "espalier/error.h"
#include "espalier/run_events.h"

namespace espalier {

struct RunContextOptions {
  int threads = 0;  // of a pool of its own, the caller counted, 1 to 1024; 0: the pool of the process
  class Device* device = nullptr;        // what functions run on; null: this CPU. It outlives the context
  int rank = 0, world = 1;               // with world = 1 and a communicator: those of the communicator
  Communicator* communicator = nullptr;  // outlives the context, as `events` does
  RunEvents* events = nullptr;           // of steps a Profiler of the thread is told instead
  uint64_t seed = 0;                     // as set_seed() in a new process
  // Its seed, default generator and layer names are this one's, and so are other parts. It outlives the
  // context, unless it shares another's itself: that one does then. `seed` counts for nothing then.
  const class RunContext* shares = nullptr;
};

// An argument of every run: kernels, reference bodies and the interpreter see the one that their run was
// given. Two models that train in two contexts on two threads share nothing: each has its own threads, seed,
// default generator and layer names. Neither copied nor moved; it outlives its scopes and its runs. Any
// number of threads may run in one. Its end waits for an element that Dataset::prefetch is making in it.
class RunContext {
 public:
  // Raises ValueError[context.threads] for a number of threads outside of 0 to 1024, [context.rank] unless
  // 0 <= rank < world.
  explicit RunContext(RunContextOptions options = {}, Location at = Location::here());
  ~RunContext();
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  // The innermost RunScope's of this thread; without one the process's, which is made at its first use.
  // Public calls (an eager op, a traced function, fit) ask once, at their entry.
  static const RunContext& current();

 private:
  const std::unique_ptr<ThreadPool> own_pool_;

 public:
  ThreadPool& pool;
  Device* const device;
  const int rank, world;
  Communicator* const communicator;
  RunEvents* const events;
  const uint64_t seed;  // it began with; set_seed() and seed() are of the room nn
  const uint64_t id;    // those that share their parts have one, and no other context of this process

  const std::shared_ptr<class ContextAhead> ahead;  // for threads that work in it between calls

  // What a room above the base keeps in a context: made by `make` when it is asked for first, destroyed with
  // the context. Thread-safe.
  template <class T>
  T& part(std::shared_ptr<T> (*make)(const RunContext&) = make_part<T>) const {
    if (shares_) return shares_->part<T>(make);
    static char key;
    const std::lock_guard lock(mutex_);
    std::shared_ptr<void>& found = parts_[&key];
    if (!found) found = make(*this);
    return *static_cast<T*>(found.get());
  }

 private:
  template <class T>
  static std::shared_ptr<T> make_part(const RunContext&) {
    return std::make_shared<T>();
  }
  const RunContext* const shares_;
  mutable std::recursive_mutex mutex_;  // what makes a part may ask for another
  mutable std::map<const void*, std::shared_ptr<void>> parts_;
};

// Makes `context` the current one of this thread while it lives. Threads that the library starts for a call
// work in the context of that call.
class RunScope {
 public:
  explicit RunScope(const RunContext& context);
  ~RunScope();
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  const RunContext* before_;
};

}  // namespace espalier
