// What a strategy is made of: the replicas of this process, and how a step runs on them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "espalier/function.h"
#include "espalier/strategy.h"
#include "place/parts_place.h"
#include "place/place_of.h"
#include "place/pools_place.h"
#include "strategy/audit.h"
#include "strategy/combine_replicas.h"
#include "strategy/data_shares.h"
#include "strategy/host_collectives.h"
#include "strategy/membership.h"
#include "strategy/mesh.h"
#include "strategy/rows.h"
#include "strategy/run_calls.h"
#include "strategy/run_functions.h"

namespace espalier {

// Which arguments of a call are rows of a batch, where the first row of this process stands in it, and how
// many there are; unknown: behind those of the ranks before, and those of all.
struct RunRows {
  std::vector<bool> of_batch;
  std::optional<int64_t> first = {}, batch = {};
  std::vector<int64_t> firsts = {};  // of each replica here, where rows of weight 0 stand between them
};

class Replicas {
 public:
  struct Seat {
    std::shared_ptr<Communicator> communicator = {};  // null: alone
    int threads = 0;                                  // of a pool of its own; 0: of the process
    std::shared_ptr<Worker> worker = {};              // whose communicator that is
    // Of a plugin, in place of this CPU; its replicas are ranks of their own. Null: the current context's.
    std::shared_ptr<Device> device = {};
  };
  // Those of one device of a plugin, or of several.
  Replicas(std::shared_ptr<Device> device, CombineOptions options, int64_t audit_steps,
           int logical_shards = 0)
      : Replicas({Seat{.device = std::move(device)}}, false, options, audit_steps, logical_shards) {}
  // Replicas of this process, which have neighbouring ranks: a place each, or those of the one device.
  // `workers`: whether other processes have others.
  // `logical_shards`: see OneDeviceOptions.
  Replicas(std::vector<Seat> places, bool workers, CombineOptions options, int64_t audit_steps = 0,
           int logical_shards = 0);

  // Compares once more what functions of run() have assigned: see RunCalls.
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  const Mesh& mesh() const { return mesh_; }
  // Of a loop of one's own: logical shards, if there are some, in the place of replicas.
  const Mesh& parts() const { return logical_shards_ > 0 ? parts_ : mesh_; }
  // Raises ValueError[strategy.logical_shards] for fewer of them than workers.
  void require_loops() const;
  DataShares shares_of_parts() const { return {parts(), hosts_}; }
  int logical_shards() const { return logical_shards_; }
  // Of workers, which all have one; alone where there is one worker.
  const HostCollectives& hosts() const { return hosts_; }
  const DataShares& shares() const { return shares_; }
  const Membership& membership() const { return membership_; }
  const Audits& audits() const { return audits_; }

  // What all ranks do alike is agreed on in it, and where replicas of one device run; null: that is up to
  // this process, in the current one.
  const RunContext* host() const { return host_; }
  bool rounds_gradients() const { return combine_.travel != DType::kF32; }

  // What stands between the gradients of a step and its update; null where there is one replica.
  std::shared_ptr<const Rewrite> rewrite() const;
  // A program of a step takes rows (x, y, weights), and behind them kPlace, i64[3]: where the first of them
  // stands in the batch, of how many rows that is, and its BatchRows::most_weight().
  static constexpr const char* kPlace = "place";
  // Rows of weight 0 behind those of a batch that has fewer rows than there are replicas. `rows`: tensors of
  // equal first axes, the last one their weights. Nothing where it has enough.
  std::vector<Tensor> padded(const BatchRows& batch) const;
  // The arguments of the first replica here.
  std::vector<Tensor> arguments(const BatchRows& batch) const;
  // How many rows their place wants each to have.
  RowsPolicy rows() const { return place().rows(); }
  // Whether workers have agreed to go; from the first call on this process listens to the signals that say
  // so.
  bool told_to_go() const;
  // Those of devices run on equally many rows: whether some get rows of weight 0 behind theirs.
  bool adds_rows(const BatchRows& batch) const;
  // Runs a step on its replicas; gives the results of the first, which are those of all.
  std::vector<Tensor> run(const TracedFunction& program, const BatchRows& batch) const;
  // Calls body(i) for replica mesh().first + i, each on a thread of its own and in its context, and returns
  // when all have returned; rethrows the first exception.
  void on_each(const std::function<void(size_t)>& body) const;
  // A program on each replica of this process, on arguments of its own; the results of each.
  std::vector<std::vector<Tensor>> run_each(const TracedFunction& program,
                                            std::span<const std::vector<Tensor>> arguments) const;
  // The same of a function that a loop of one's own calls, which all workers call alike: see RunCalls and
  // RunFunctions.
  std::vector<std::vector<Tensor>> run_call(const TracedFunction& function,
                                            std::span<const std::vector<Tensor>> arguments,
                                            const RunRows& rows) const;
  // A function on the rows that each replica, or logical shard, has of a batch, in a step of fit.
  void run_rows_of(const TracedFunction& function, const BatchRows& batch) const;
  // For verdicts: what this process does behind the last call of run_call().
  void says(Stage stage) const;
  // What a function of rows gives for those of each rank, in the order of ranks; on the first
  // replica alone, and as one, where there are fewer rows than ranks.
  std::vector<std::vector<Tensor>> run_rows(const TracedFunction& function,
                                            std::span<const Tensor> rows) const;

 private:
  std::vector<Tensor> arguments_of(const BatchRows& batch, int rank, int64_t most_weight) const;
  // Where the place adds rows.
  int64_t rows_each(const BatchRows& batch) const;
  // In which functions are traced for them.
  const RunContext& tracing() const;

  std::vector<std::vector<Tensor>> run_on_each(const TracedFunction& program,
                                               std::span<const std::vector<Tensor>> arguments,
                                               const Place& place, const RunContext& tracing,
                                               const BeforeCall& before) const;
  void cut_in_shards();
  // As RunFunctions has it.
  std::vector<std::vector<Tensor>> run_placed(const TracedFunction& function,
                                              std::span<const std::vector<Tensor>> arguments,
                                              const RunRows& rows, const BeforeCall& before) const;
  // The place of the rows of each replica here, as RunFunctions has it.
  std::vector<Tensor> places(std::span<const int64_t> counts, const RunRows& rows) const;
  // How many rows each of them has.
  std::vector<int64_t> row_counts(std::span<const std::vector<Tensor>> arguments, const RunRows& rows) const;
  const Place& place() const { return pools_ ? *pools_ : **one_; }

  std::vector<std::shared_ptr<Communicator>> communicators_;
  const std::shared_ptr<Device> several_;  // whose replicas these are; null: this CPU's
  std::vector<std::unique_ptr<RunContext>> contexts_;
  CombineOptions combine_;
  Mesh mesh_;
  const Membership membership_;
  std::unique_ptr<PoolsPlace> pools_;  // where there are several; else
  std::optional<PlaceOf> one_;
  const Place* step_place_ = nullptr;  // where steps run; null: in that of the current context
  const RunContext* host_ = nullptr;
  HostCollectives hosts_;
  DataShares shares_;
  Audits audits_;
  std::unique_ptr<RunCalls> calls_;          // null: of one worker
  std::unique_ptr<RunFunctions> functions_;  // null: one replica has the whole batch
  // Of functions of run() on logical shards.
  const int logical_shards_;
  Mesh parts_;
  std::unique_ptr<RunContext> all_cores_;  // of pools, which do not run then
  std::unique_ptr<PartsPlace> parts_place_;
  mutable std::once_flag listens_;
  mutable std::unique_ptr<GoSignals> signals_;
};

// Whether this process writes and prints: without a strategy, and as the first of workers.
bool is_chief();
// Makes `next` that of the innermost scope; gives the one before.
std::shared_ptr<Replicas> exchange_current_replicas(std::shared_ptr<Replicas> next);
// Of the innermost scope of this thread; null without one.
const std::shared_ptr<Replicas>& current_replicas();

}  // namespace espalier
