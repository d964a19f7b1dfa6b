#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/context_ahead.h"
#include "base/thread_pool.h"
#include "base/thread_stacks.h"
#include "data/dataset_node.h"
#include "espalier/run_context.h"

namespace espalier {
namespace {

class Prefetch final : public ElementIterator {
 public:
  Prefetch(ElementIteratorPtr input, size_t count, bool seeks)
      : input_(std::move(input)), count_(count), seeks_(seeks) {}
  ~Prefetch() override {
    {
      const std::lock_guard hold(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  bool next(Tensors& element) override {
    work_in(RunContext::current().ahead);
    if (!thread_.joinable()) start();
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [this] { return !ready_.empty() || ended_; });
    if (ready_.empty()) {
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
      return false;
    }
    element = std::move(ready_.front().element);
    place_ = std::move(ready_.front().behind);
    ready_.pop_front();
    hold.unlock();
    changed_.notify_all();
    return true;
  }

  // What nobody has asked for yet can be passed over where it is made.
  int64_t skip(int64_t count) override {
    return thread_.joinable() ? ElementIterator::skip(count) : input_->skip(count);
  }

  // The input is ahead, and works.
  void save(DatasetCursor& out) override { thread_.joinable() ? out.append(place_) : input_->save(out); }
  void restore(CursorReader& from) override { input_->restore(from); }

 private:
  struct Ready {
    Tensors element;
    DatasetCursor behind;
  };
  void start() {
    place_ = {};
    if (seeks_) input_->save(place_);
    try {
      thread_ = thread_with_stack([this] { fetch(); });
    } catch (const std::system_error& error) {
      throw IoError("prefetch.thread", cat("the system gives no thread: ", error.what()));
    }
  }

  // Elements are made in the context of the last call of next(), as they would be by the call itself.
  void work_in(const std::shared_ptr<ContextAhead>& context) {
    {
      const std::lock_guard hold(mutex_);
      if (context_ == context) return;
      context_ = context;
    }
    changed_.notify_all();
  }

  // Where that context has ended, it waits for a call in another.
  bool make(Tensors& element) {
    std::shared_ptr<ContextAhead> ahead;
    const RunContext* context = nullptr;
    {
      std::unique_lock hold(mutex_);
      changed_.wait(hold, [&] { return stopped_ || (context = (ahead = context_)->enter()); });
      if (!context) return false;
    }
    const std::unique_ptr<ContextAhead, void (*)(ContextAhead*)> inside(
        ahead.get(), [](ContextAhead* left) { left->leave(); });
    const RunScope scope(*context);
    return input_->next(element);
  }

  void fetch() {
    const BackgroundWork beside;
    std::exception_ptr error;
    try {
      for (Ready ready; make(ready.element); ready = {}) {
        if (seeks_) input_->save(ready.behind);
        std::unique_lock hold(mutex_);
        changed_.wait(hold, [this] { return ready_.size() < count_ || stopped_; });
        if (stopped_) return;
        ready_.push_back(std::move(ready));
        hold.unlock();
        changed_.notify_all();
      }
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard hold(mutex_);
    error_ = std::move(error);
    ended_ = true;
    changed_.notify_all();
  }

  ElementIteratorPtr input_;
  size_t count_;
  bool seeks_;
  DatasetCursor place_;  // behind what next() has given
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<ContextAhead> context_;
  std::deque<Ready> ready_;
  std::exception_ptr error_;
  bool ended_ = false, stopped_ = false;
  std::thread thread_;
};

class PrefetchNode final : public DatasetStep {
 public:
  PrefetchNode(DatasetNodePtr input, int64_t count, Location at)
      : DatasetStep(std::move(input), at), count_(count) {
    if (count < 1) throw ValueError("prefetch.count", cat("count must be positive, got ", count));
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override {
    return std::make_unique<Prefetch>(input().iterate(pass), static_cast<size_t>(count_), pass.seeks);
  }
  DatasetNodePtr read_shards(int64_t count, const std::vector<int64_t>& owned) const override {
    return std::make_shared<PrefetchNode>(shards_of_input(count, owned), count_, at());
  }
  std::optional<ShardedBatches> sharded_batches() const override { return input().sharded_batches(); }
  std::string text() const override { return input().text() + ".prefetch()"; }

 private:
  int64_t count_;
};

}  // namespace

Dataset Dataset::prefetch(int64_t count, Location at) const {
  const CallScope scope(at);
  return make<PrefetchNode>(node(), count, at);
}

}  // namespace espalier
