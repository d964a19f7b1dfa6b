// What a strategy is made of: the replicas of this process, and how a step runs on them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dist/combine_replicas.h"
#include "dist/rows.h"
#include "dist/worker.h"
#include "espalier/function.h"
#include "espalier/strategy.h"
#include "place/place_of.h"
#include "place/pools_place.h"

namespace espalier {

class Replicas {
 public:
  // Which of several values one holder has another of: the smallest, and " of rank 1 differs from that of
  // rank 0".
  struct Mismatch {
    size_t place = 0;
    std::string sentence;
    std::string values = {};  // ": it is 0.1 on rank 0 and 0.2 on rank 1", of one number that workers have
  };
  struct Seat {
    std::shared_ptr<Communicator> communicator = {};  // null: alone
    int threads = 0;                                  // of a pool of its own; 0: of the process
    std::shared_ptr<Worker> worker = {};              // whose communicator that is
    // Of a plugin, in place of this CPU; its replicas are ranks of their own. Null: the current context's.
    std::shared_ptr<Device> device = {};
  };
  // Those of one device of a plugin, or of several.
  Replicas(std::shared_ptr<Device> device, CombineOptions options, int64_t audit_steps)
      : Replicas({Seat{.device = std::move(device)}}, false, options, audit_steps) {}
  // Replicas of this process, which have neighbouring ranks: a place each, or those of the one device.
  // `workers`: whether other processes have others.
  Replicas(std::vector<Seat> places, bool workers, CombineOptions options, int64_t audit_steps = 0);

  int world() const { return combine_.world; }
  bool rounds_gradients() const { return combine_.travel != DType::kF32; }
  int first() const { return first_; }
  int count() const { return count_; }
  // Whether there is more than one, so that what they find is combined.
  bool many() const { return world() > 1; }
  // Whether they are those of one device of a plugin, or of several, and not of this CPU.
  bool of_device() const { return several_ != nullptr; }
  int worker() const { return workers_ && communicators_[0] ? communicators_[0]->rank() : 0; }
  int workers() const { return workers_ && communicators_[0] ? communicators_[0]->world() : 1; }
  // Whether those of all workers run one program, which is their devices' matter.
  bool together() const { return several_ && workers() > 1; }
  // See Worker::place_text().
  std::string place_text() const { return worker_ ? worker_->place_text() : std::string(); }
  // Whether this process is a worker of a run, perhaps the only one.
  bool launched() const { return workers_ && communicators_[0]; }
  // What all ranks do alike is agreed on in it, and where replicas of one device run; null: that is up to
  // this process, in the current one.
  const RunContext* host() const { return workers_ || several_ ? contexts_[0].get() : nullptr; }

  // Of a run on several workers: before its first step, what is to be the same on all of them; at the begin
  // of each step, counted from 1; and that this one cannot go on, so that others do not wait. Nothing on one
  // worker.
  void describe(std::map<std::string, std::string> facts) const;
  bool to_describe() const { return worker_ && worker_->to_describe(); }
  void begin_step(int64_t step) const;
  void failed(const std::exception& error) const;
  void left() const;
  // By how many seconds each worker came later than the first to its collectives, since it began; empty where
  // nobody is waited for.
  std::vector<double> lateness() const;
  // Somebody told this worker to save and go, or go() did; fit agrees on it with the others.
  bool asked_to_go() const;
  // For as long as somebody looks at that; null where it is not up to this process.
  std::unique_ptr<GoSignals> listen() const { return worker_ ? std::make_unique<GoSignals>() : nullptr; }
  void go() const { told_ = true; }
  // Whether they have agreed.
  bool goes() const { return goes_; }
  void agree_to_go() const {
    goes_ = true;
    if (worker_) worker_->goes();
  }

  // What stands between the gradients of a step and its update; null where there is one replica.
  std::shared_ptr<const Rewrite> rewrite() const;
  // A program of a step takes rows (x, y, weights), and behind them kPlace, i64[2]: where the first of them
  // stands in the batch, and BatchRows::most_weight() of that.
  static constexpr const char* kPlace = "place";
  // Rows of weight 0 behind those of a batch that has fewer rows than there are replicas. `rows`: tensors of
  // equal first axes, the last one their weights. Nothing where it has enough.
  std::vector<Tensor> padded(const BatchRows& batch) const;
  // The arguments of the first replica here.
  std::vector<Tensor> arguments(const BatchRows& batch) const;
  // Replicas of one device run on equally many rows: whether some get rows of weight 0 behind theirs.
  bool adds_rows(const BatchRows& batch) const;
  // Runs a step on its replicas; gives the results of the first, which are those of all.
  std::vector<Tensor> run(const TracedFunction& program, const BatchRows& batch) const;
  // Calls body(i) for replica first() + i, each on a thread of its own and in its context, and returns when
  // all have returned; rethrows the first exception.
  void on_each(const std::function<void(size_t)>& body) const;
  // What all workers give, in their order: `out` has room for as many bytes of each.
  void all_gather(std::string_view name, std::span<const std::byte> mine, std::byte* out) const;
  // A program on each replica of this process, on arguments of its own; the results of each.
  std::vector<std::vector<Tensor>> run_each(const TracedFunction& program,
                                            std::span<const std::vector<Tensor>> arguments) const;
  // What a function of rows gives for those of each rank (rows_of), in the order of ranks; on the first
  // replica alone, and as one, where there are fewer rows than ranks.
  std::vector<std::vector<Tensor>> run_rows(const TracedFunction& function,
                                            std::span<const Tensor> rows) const;
  // One value of each replica, of any type each; in the order of ranks. `own`: of those of this process.
  std::vector<Tensor> of_all(const std::vector<Tensor>& own) const;
  // One text of each worker.
  std::vector<std::string> texts_of_workers(std::string_view name, std::string own) const;
  // The sum of what workers give, of one type on all of them, in the order of ranks. Twice its bytes travel,
  // and not the world's.
  Tensor sum_of_workers(const Tensor& own) const;
  // Which of so many rows are a rank's: from the first to behind the last.
  std::pair<int64_t, int64_t> rows_of(int64_t count, int rank) const;
  // Whether variables are compared at all, behind the last step of a run at least; whether they are behind
  // this one; and that: raises RunError[strategy.audit].
  bool audits() const { return audit_steps_ > 0 && (workers() > 1 || (several_ && many())); }
  bool audit_due(int64_t step) const { return audits() && step % audit_steps_ == 0; }
  void audit(std::span<const Variable> variables, int64_t step) const;
  // Before workers evaluate or predict together, unless variables are never compared: that these and their
  // rows are the same. Raises RunError[strategy.audit], and tells the run.
  void require_equal(std::string_view verb, std::span<const Variable> variables,
                     std::span<const Tensor> rows) const;
  // Gives variables the values they have on worker 0. All workers name the same ones in one order.
  void broadcast(std::span<const Variable> variables) const;

 private:
  // Of `own`, with those of other workers: hashes of variables, and of what else there is behind them.
  std::optional<Mismatch> first_mismatch(std::string_view name, std::span<const Variable> variables,
                                         const std::vector<uint64_t>& own) const;
  // The same of what the replicas of one device hold.
  std::optional<Mismatch> first_mismatch_there(std::span<const Variable> variables) const;
  std::string devices_text(const std::vector<int>& ranks) const;
  std::vector<Tensor> arguments_of(const BatchRows& batch, int rank, int64_t most_weight) const;
  // Of one device.
  int64_t rows_each(const BatchRows& batch) const;
  // In which functions are traced for them.
  const RunContext& tracing() const;

  std::vector<std::shared_ptr<Communicator>> communicators_;
  const std::shared_ptr<Device> several_;  // whose replicas these are; null: this CPU's
  std::vector<std::unique_ptr<RunContext>> contexts_;
  const bool workers_;
  CombineOptions combine_;
  const int64_t audit_steps_;
  int first_ = 0, count_ = 0;
  const std::shared_ptr<Worker> worker_;
  mutable std::optional<TracedFunction> audit_;  // of audited_
  mutable std::vector<Variable> audited_;
  mutable std::atomic<bool> told_{false}, goes_{false};
  const Place& place() const { return pools_ ? *pools_ : **one_; }
  std::unique_ptr<PoolsPlace> pools_;  // where there are several; else
  std::optional<PlaceOf> one_;
};

// Whether this process writes and prints: without a strategy, and as the first of workers.
bool is_chief();
// Makes `next` that of the innermost scope; gives the one before.
std::shared_ptr<Replicas> exchange_current_replicas(std::shared_ptr<Replicas> next);
// Of the innermost scope of this thread; null without one.
const std::shared_ptr<Replicas>& current_replicas();

}  // namespace espalier
