#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "base/float_environment.h"
#include "base/format.h"
#include "base/thread_stacks.h"
#include "espalier/error.h"
#include "espalier/threads.h"

namespace espalier {
namespace {

constexpr auto kSpin = std::chrono::microseconds(50);
constexpr int64_t kMaxGroups = 0xffff;
constexpr int kMostThreads = 1024;

thread_local bool inside_chunk = false, in_background = false;

void pause_briefly() {
#if defined(__SSE__)
  _mm_pause();
#endif
}

// Groups [first, last) are unclaimed.
struct Ticket {
  explicit Ticket(uint64_t word)
      : generation(word >> 32),
        first(static_cast<int64_t>(word >> 16 & 0xffff)),
        last(static_cast<int64_t>(word & 0xffff)) {}
  Ticket(uint64_t generation, int64_t first, int64_t last)
      : generation(generation), first(first), last(last) {}
  uint64_t word() const {
    return generation << 32 | static_cast<uint64_t>(first) << 16 | static_cast<uint64_t>(last);
  }
  uint64_t generation;
  int64_t first, last;
};

// "max 100000" or "150000 100000" (cgroup 2): processors, or 0 for no limit.
double quota_of(const std::string& path) {
  std::ifstream file(path);
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::atof(quota.c_str()) / period;
}

double cgroup_quota() {
  double least = 0;
  const auto take = [&](double quota) {
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::", 0) != 0) continue;
    for (std::string path = line.substr(3); !path.empty(); path.resize(path.rfind('/'))) {
      take(quota_of("/sys/fs/cgroup" + path + "/cpu.max"));
      if (path.find('/') == std::string::npos) break;
    }
  }
  take(quota_of("/sys/fs/cgroup/cpu.max"));
  std::ifstream quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double used = 0, whole = 0;
  if (quota >> used && period >> whole && used > 0 && whole > 0) take(used / whole);
  return least;
}

}  // namespace

int default_threads() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) count = CPU_COUNT(&mask);
  const double quota = cgroup_quota();
  if (quota > 0) count = std::min(count, static_cast<int>(std::ceil(quota)));
  return std::max(count, 1);
}

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : default_threads()) {}

ThreadPool::~ThreadPool() { stop_helpers(); }

void ThreadPool::start_helpers() {
  try {
    while (static_cast<int>(helpers_.size()) + 1 < threads())
      helpers_.push_back(thread_with_stack([this] { help(); }));
  } catch (const std::system_error&) {
    // The system gives no more: those there are do the work.
    threads_ = static_cast<int>(helpers_.size()) + 1;
  }
}

// Of a child: the helpers, and the jobs of other threads, go on in its parent alone.
void ThreadPool::leave_to_parent() {
  static std::mutex one_by_one;  // a child may have threads, too
  const std::lock_guard<std::mutex> lock(one_by_one);
  if (!process_.forked()) return;
  leave_behind(std::exchange(helpers_, {}));
  for (Job* const job : {&job_, &spare_})
    job->ticket.store(Ticket(Ticket(job->ticket.load()).generation + 1, 0, 0).word());
  stop_ = busy_ = spare_busy_ = false;
  process_.take();
}

void ThreadPool::stop_helpers() {
  if (process_.forked()) leave_to_parent();
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
  helpers_.clear();
  stop_.store(false);
}

void ThreadPool::set_threads(int threads) {
  if (process_.forked()) leave_to_parent();
  while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  stop_helpers();
  threads_ = threads > 0 ? threads : default_threads();
  busy_.store(false, std::memory_order_release);
}

bool ThreadPool::work_on_one(Job& job, bool from_front) {
  uint64_t word = job.ticket.load(std::memory_order_acquire), next;
  int64_t group;
  do {
    Ticket ticket(word);
    if (ticket.first >= ticket.last) return false;
    group = from_front ? ticket.first++ : --ticket.last;
    next = ticket.word();
  } while (!job.ticket.compare_exchange_weak(word, next, std::memory_order_acq_rel));
  // Before the job knows that the group is done: who waits for the job finds it counted.
  if (!from_front) helped_.fetch_add(1, std::memory_order_relaxed);
  work_on(job, group);
  return true;
}

// The claim keeps the job alive until `finished` counts it.
void ThreadPool::work_on(Job& job, int64_t group) {
  const Function function = job.function;
  const void* const context = job.context;
  Outcome& outcome = *job.outcome;
  const int64_t first = group * job.group, last = std::min(first + job.group, job.chunks);
  const bool nested = std::exchange(inside_chunk, true);
  set_float_mode(job.float_mode);
  try {
    for (int64_t i = first; i < last && !outcome.failed.load(std::memory_order_relaxed); ++i)
      function(context, i);
  } catch (...) {
    if (!outcome.failed.exchange(true)) outcome.error = std::current_exception();
  }
  inside_chunk = nested;
  outcome.finished.fetch_add(1, std::memory_order_acq_rel);
}

void ThreadPool::help() {
  while (true) {
    const uint32_t epoch = epoch_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    while (work_on_one(job_, false)) {
    }
    auto start = std::chrono::steady_clock::now();
    while (epoch_.load(std::memory_order_acquire) == epoch) {
      if (work_on_one(spare_, false)) {
        start = std::chrono::steady_clock::now();
        continue;
      }
      // Reading the clock takes longer than a pause.
      for (int i = 0; i < 32 && epoch_.load(std::memory_order_acquire) == epoch; ++i) pause_briefly();
      if (std::chrono::steady_clock::now() - start > kSpin) {
        epoch_.wait(epoch, std::memory_order_acquire);
        break;
      }
    }
  }
}

void ThreadPool::publish(Job& job, int64_t chunks, Function function, const void* context, int64_t claimed) {
  job.group = (chunks + kMaxGroups - 1) / kMaxGroups;
  job.function = function;
  job.context = context;
  job.chunks = chunks;
  job.float_mode = float_mode();
  job.outcome->failed.store(false, std::memory_order_relaxed);
  job.outcome->finished.store(0, std::memory_order_relaxed);
  const Ticket before(job.ticket.load(std::memory_order_relaxed));
  job.ticket.store(Ticket(before.generation + 1, claimed, job.groups()).word(), std::memory_order_release);
}

void ThreadPool::finish(Job& job) {
  // Spare work may have begun in another.
  const unsigned mode = float_mode();
  while (work_on_one(job, true)) {
  }
  set_float_mode(mode);
  const auto groups = static_cast<uint32_t>(job.groups());
  for (int spins = 0; job.outcome->finished.load(std::memory_order_acquire) != groups; ++spins) {
    if (spins < 4096) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::run(int64_t chunks, Function function, const void* context) {
  if (chunks <= 0) return;
  const bool alone = chunks == 1 || inside_chunk || (in_background && this != &background_pool());
  if (process_.forked() && !inside_chunk) leave_to_parent();
  if (alone || threads() == 1 || busy_.exchange(true, std::memory_order_acquire)) {
    for (int64_t i = 0; i < chunks; ++i) function(context, i);
    return;
  }
  if (static_cast<int>(helpers_.size()) + 1 < threads()) start_helpers();
  // The first group is the caller's from the start: the helpers have the ticket's line by now.
  publish(job_, chunks, function, context, 1);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  work_on(job_, 0);
  finish(job_);
  std::exception_ptr error;
  if (outcome_.failed.load()) std::swap(error, outcome_.error);
  busy_.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

void SpareWork::begin(ThreadPool& pool, int64_t chunks, ThreadPool::Function function, const void* context) {
  pool_ = &pool;
  chunks_ = chunks;
  function_ = function;
  context_ = context;
  if (pool.process_.forked() && !inside_chunk) pool.leave_to_parent();
  offered_ = chunks > 0 && pool.threads() > 1 && !pool.spare_busy_.exchange(true, std::memory_order_acquire);
  if (offered_) pool.publish(pool.spare_, chunks, function, context, 0);
}

void SpareWork::finish() {
  if (!pool_) return;
  if (offered_) {
    pool_->finish(pool_->spare_);
    pool_->spare_busy_.store(false, std::memory_order_release);
  } else {
    pool_->run(chunks_, function_, context_);
  }
  pool_ = nullptr;
}

SpareWork::~SpareWork() { finish(); }

ThreadPool& thread_pool() {
  static ThreadPool pool([] {
    const char* text = std::getenv("ESPALIER_THREADS");
    if (!text || !*text) return 0;
    char* end = nullptr;
    const long count = std::strtol(text, &end, 10);
    if (*end || count < 1 || count > kMostThreads) {
      throw ValueError("threads.environment",
                       cat("ESPALIER_THREADS is a number from 1 to ", kMostThreads, ", not \"", text, "\""));
    }
    return static_cast<int>(count);
  }());
  return pool;
}

ThreadPool& background_pool() {
  static ThreadPool pool(thread_pool().threads());
  return pool;
}

BackgroundWork::BackgroundWork() : before_(std::exchange(in_background, true)) {}
BackgroundWork::~BackgroundWork() { in_background = before_; }

int threads() { return thread_pool().threads(); }
void set_threads(int count) {
  if (count < 1 || count > kMostThreads)
    throw ValueError("threads.count", cat("a call takes 1 to ", kMostThreads, " threads, got ", count));
  thread_pool().set_threads(count);
  background_pool().set_threads(count);
}

}  // namespace espalier
