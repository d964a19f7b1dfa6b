#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>

#include "base/float_environment.h"
#include "base/format.h"
#include "espalier/error.h"
#include "espalier/threads.h"

namespace espalier {
namespace {

constexpr auto kSpin = std::chrono::microseconds(50);
constexpr int64_t kMaxGroups = 0xffff;
constexpr int kMostThreads = 1024;

thread_local bool inside_chunk = false;

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
    while (static_cast<int>(helpers_.size()) + 1 < threads()) helpers_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    // The system gives no more: those there are do the work.
    threads_ = static_cast<int>(helpers_.size()) + 1;
  }
}

void ThreadPool::stop_helpers() {
  job_.stop.store(true);
  job_.epoch.fetch_add(1);
  job_.epoch.notify_all();
  for (std::thread& helper : helpers_) helper.join();
  helpers_.clear();
  job_.stop.store(false);
}

void ThreadPool::set_threads(int threads) {
  while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  stop_helpers();
  threads_ = threads > 0 ? threads : default_threads();
  busy_.store(false, std::memory_order_release);
}

bool ThreadPool::work_on_one(bool from_front) {
  uint64_t word = job_.ticket.load(std::memory_order_acquire), next;
  int64_t group;
  do {
    Ticket ticket(word);
    if (ticket.first >= ticket.last) return false;
    group = from_front ? ticket.first++ : --ticket.last;
    next = ticket.word();
  } while (!job_.ticket.compare_exchange_weak(word, next, std::memory_order_acq_rel));
  work_on(group);
  return true;
}

// The claim keeps the job alive until finished_ counts it.
void ThreadPool::work_on(int64_t group) {
  const Function function = job_.function;
  const void* const context = job_.context;
  const int64_t first = group * job_.group, last = std::min(first + job_.group, job_.chunks);
  inside_chunk = true;
  try {
    for (int64_t i = first; i < last && !failed_.load(std::memory_order_relaxed); ++i) function(context, i);
  } catch (...) {
    if (!failed_.exchange(true)) error_ = std::current_exception();
  }
  inside_chunk = false;
  finished_.fetch_add(1, std::memory_order_acq_rel);
}

void ThreadPool::help() {
  FloatEnvironment mode;
  while (true) {
    const uint32_t epoch = job_.epoch.load(std::memory_order_acquire);
    if (job_.stop.load()) return;
    while (work_on_one(false)) helped_.fetch_add(1, std::memory_order_relaxed);
    const auto start = std::chrono::steady_clock::now();
    while (job_.epoch.load(std::memory_order_acquire) == epoch) {
      // Reading the clock takes longer than a pause.
      for (int i = 0; i < 32 && job_.epoch.load(std::memory_order_acquire) == epoch; ++i) pause_briefly();
      if (std::chrono::steady_clock::now() - start > kSpin) {
        job_.epoch.wait(epoch, std::memory_order_acquire);
        break;
      }
    }
  }
}

void ThreadPool::run(int64_t chunks, Function function, const void* context) {
  if (chunks <= 0) return;
  if (chunks == 1 || inside_chunk || threads() == 1 || busy_.exchange(true, std::memory_order_acquire)) {
    for (int64_t i = 0; i < chunks; ++i) function(context, i);
    return;
  }
  if (static_cast<int>(helpers_.size()) + 1 < threads()) start_helpers();
  job_.group = (chunks + kMaxGroups - 1) / kMaxGroups;
  const auto groups = static_cast<uint64_t>((chunks + job_.group - 1) / job_.group);
  job_.function = function;
  job_.context = context;
  job_.chunks = chunks;
  failed_.store(false, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  const Ticket before(job_.ticket.load(std::memory_order_relaxed));
  // The first group is the caller's from the start: the helpers have the ticket's line by now.
  job_.ticket.store(Ticket(before.generation + 1, 1, static_cast<int64_t>(groups)).word(),
                    std::memory_order_release);
  job_.epoch.fetch_add(1, std::memory_order_release);
  job_.epoch.notify_all();

  work_on(0);
  while (work_on_one(true)) {
  }
  for (int spins = 0; finished_.load(std::memory_order_acquire) != groups; ++spins) {
    if (spins < 4096) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
  std::exception_ptr error;
  if (failed_.load()) std::swap(error, error_);
  busy_.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

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

int threads() { return thread_pool().threads(); }
void set_threads(int count) {
  if (count < 1 || count > kMostThreads)
    throw ValueError("threads.count", cat("a call takes 1 to ", kMostThreads, " threads, got ", count));
  thread_pool().set_threads(count);
}

}  // namespace espalier
