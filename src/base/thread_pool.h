// Threads that help a caller with chunks of work.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/own_process.h"

namespace espalier {

// The caller publishes chunks and can finish all of them alone. Helpers spin for some tens of microseconds
// after a job, then park; a helper is waited for only while it works on a chunk. One job runs at a time: a
// second caller, and a call from inside a chunk, run their chunks themselves. Which thread runs a chunk is
// not determined, so chunks must not share results, and all have the caller's floating-point mode; but the
// caller takes them from the front and helpers from the back, so that a thread meets in the next job what it
// left in its cache in the last. A child of its process, which has none of the helpers, gets its own; it is
// forked by a thread that is in no job.
class ThreadPool {
 public:
  // `threads` counts the caller. 0: `default_threads()`.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_.load(std::memory_order_relaxed); }
  // Waits for a running job. REQUIRES: not called from a chunk.
  void set_threads(int threads);
  // Groups of chunks that helpers took since the pool was made: all of a job once its call returns.
  uint64_t helped() const { return helped_.load(std::memory_order_relaxed); }

  // Calls body(i) for each i in [0, chunks) and returns when all are done; rethrows the first exception.
  template <class Body>
  void parallel_for(int64_t chunks, const Body& body) {
    run(
        chunks, [](const void* context, int64_t i) { (*static_cast<const Body*>(context))(i); }, &body);
  }

 private:
  friend class SpareWork;
  using Function = void (*)(const void*, int64_t);
  // How far a job is.
  struct alignas(64) Outcome {
    std::atomic<uint32_t> finished{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;
  };
  // What a helper needs to begin.
  struct Job {
    explicit Job(Outcome& outcome) : outcome(&outcome) {}
    // Generation and the unclaimed groups in one word, so that a claim is valid for its job alone.
    std::atomic<uint64_t> ticket{0};
    Function function = nullptr;
    const void* context = nullptr;
    int64_t chunks = 0, group = 1;
    unsigned float_mode = 0;
    Outcome* outcome;
    int64_t groups() const { return (chunks + group - 1) / group; }
  };
  void run(int64_t chunks, Function function, const void* context);
  void publish(Job& job, int64_t chunks, Function function, const void* context, int64_t claimed);
  bool work_on_one(Job& job, bool from_front);
  void work_on(Job& job, int64_t group);
  // Does what nobody claimed and waits for the rest.
  void finish(Job& job);
  void help();
  void start_helpers();
  void stop_helpers();
  void leave_to_parent();

  OwnProcess process_;  // that has the helpers
  std::atomic<int> threads_;
  std::atomic<bool> busy_{false}, spare_busy_{false};
  std::vector<std::thread> helpers_;
  Outcome outcome_, spare_outcome_;
  std::atomic<uint64_t> helped_{0};

  // Epoch and job in one line of the cache: it comes from the caller's.
  alignas(64) std::atomic<uint32_t> epoch_{0};  // helpers park on it
  std::atomic<bool> stop_{false};
  Job job_{outcome_};
  alignas(64) Job spare_{spare_outcome_};
};

// Chunks that helpers of a pool do whenever there is no job for them, while their owner goes on.
class SpareWork {
 public:
  SpareWork() = default;
  ~SpareWork();
  SpareWork(const SpareWork&) = delete;
  SpareWork& operator=(const SpareWork&) = delete;

  // Offers body(i) for each i in [0, chunks); `body` lives until finish() and does not throw. One such work
  // at a time: a second one is done by its own finish(). REQUIRES: what was started before is finished.
  template <class Body>
  void start(ThreadPool& pool, int64_t chunks, const Body& body) {
    begin(
        pool, chunks, [](const void* context, int64_t i) { (*static_cast<const Body*>(context))(i); }, &body);
  }
  // Does what is left and returns when all is done. Nothing when nothing was started.
  void finish();

 private:
  void begin(ThreadPool& pool, int64_t chunks, ThreadPool::Function function, const void* context);

  ThreadPool* pool_ = nullptr;
  bool offered_ = false;
  int64_t chunks_ = 0;
  ThreadPool::Function function_ = nullptr;
  const void* context_ = nullptr;
};

// The pool of this process. Its first size is ESPALIER_THREADS or default_threads().
ThreadPool& thread_pool();
// As large, for work that goes on beside what the process does, as that of datasets: neither waits for the
// other.
ThreadPool& background_pool();

// While it lives, this thread works beside what the process does: what it would share with any pool but
// background_pool() it does alone.
class BackgroundWork {
 public:
  BackgroundWork();
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

 private:
  bool before_;
};

// Calls body(i) for each i in [0, chunks): on all threads of the pool, or in order on this one.
template <class Body>
void for_each_chunk(ThreadPool& pool, int64_t chunks, bool on_all_threads, const Body& body) {
  if (on_all_threads) return pool.parallel_for(chunks, body);
  for (int64_t i = 0; i < chunks; ++i) body(i);
}

// Calls body(begin, end) for parts of [0, count) that together are all of it, on all threads. Of rows whose
// work is some nanoseconds each.
template <class Body>
void for_each_range(size_t count, const Body& body) {
  constexpr size_t kRange = size_t{1} << 15;
  thread_pool().parallel_for(static_cast<int64_t>((count + kRange - 1) / kRange), [&](int64_t chunk) {
    const size_t begin = static_cast<size_t>(chunk) * kRange;
    body(begin, std::min(begin + kRange, count));
  });
}

// The work from which a kernel uses the pool, or of one chunk: `usual`, or 1 while a SmallestChunks lives.
inline std::atomic<bool> smallest_chunks{false};
inline int64_t chunk_work(int64_t usual) {
  return smallest_chunks.load(std::memory_order_relaxed) ? 1 : usual;
}
// Shares out even the smallest tensors, as results must not depend on it: for tests. Made and destroyed while
// no plan is made or runs.
class SmallestChunks {
 public:
  explicit SmallestChunks(bool on = true) : before_(smallest_chunks.exchange(on)) {}
  ~SmallestChunks() { smallest_chunks = before_; }
  SmallestChunks(const SmallestChunks&) = delete;
  SmallestChunks& operator=(const SmallestChunks&) = delete;

 private:
  bool before_;
};

// Processors this process may use: affinity mask and cgroup quota.
int default_threads();

}  // namespace espalier
