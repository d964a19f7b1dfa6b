#include "espalier/run_context.h"

#include <atomic>
#include <utility>

#include "base/context_ahead.h"
#include "base/format.h"
#include "base/thread_pool.h"

namespace espalier {
namespace {

std::atomic<uint64_t> contexts{0};
thread_local const RunContext* context_of_thread = nullptr;

std::unique_ptr<ThreadPool> own_pool(int threads, Location at) {
  constexpr int kMost = 1024;
  const CallScope scope(at);
  if (threads < 0 || threads > kMost) {
    throw ValueError("context.threads", cat("a pool has 1 to ", kMost, " threads, got ", threads),
                     "0 takes the pool of the process");
  }
  return threads ? std::make_unique<ThreadPool>(threads) : nullptr;
}

}  // namespace

RunContext::RunContext(RunContextOptions options, Location at)
    : own_pool_(own_pool(options.threads, at)),
      pool(own_pool_ ? *own_pool_ : thread_pool()),
      device(options.device),
      rank(options.communicator && options.world == 1 ? options.communicator->rank() : options.rank),
      world(options.communicator && options.world == 1 ? options.communicator->world() : options.world),
      communicator(options.communicator),
      events(options.events),
      seed(options.shares ? options.shares->seed : options.seed),
      id(options.shares ? options.shares->id : ++contexts),
      ahead(std::make_shared<ContextAhead>(*this)),
      shares_(options.shares && options.shares->shares_ ? options.shares->shares_ : options.shares) {
  const CallScope scope(at);
  if (rank < 0 || rank >= world) {
    throw ValueError("context.rank",
                     cat("a rank is at least 0 and below the world, got rank ", rank, " of ", world));
  }
}

RunContext::~RunContext() { ahead->end(); }

const RunContext& RunContext::current() {
  if (context_of_thread) return *context_of_thread;
  // Kept until the process ends: whatever is destroyed then may still run.
  static const RunContext& of_process = *new RunContext;
  return of_process;
}

RunScope::RunScope(const RunContext& context) : before_(std::exchange(context_of_thread, &context)) {}
RunScope::~RunScope() { context_of_thread = before_; }

}  // namespace espalier
