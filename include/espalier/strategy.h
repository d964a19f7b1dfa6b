// Where a model trains: on one device, on several of this machine, on several workers. The program stays the
// same, and so do its results but for rounding.
//
//     strategy::Mirrored everywhere({.devices = 2});
//     const auto scope = everywhere.scope();
//     model.compile({...});
//     model.fit(x, y, {.batch_size = 64});  // 64 rows a step, 32 on each device
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "espalier/dataset.h"
#include "espalier/function.h"
#include "espalier/run_context.h"

namespace espalier {

class Replicas;

// One value on each replica of this process, in the order of ranks.
struct PerReplica {
  std::vector<Tensor> values;
  // Whether the first axes are parts of one batch, in the order of replicas: what a function of run() draws
  // for a row follows from its place in that, so those that draw take one number of rows. Results of run()
  // are none.
  bool of_batch = true;
  // Where the first of these rows stands in the batch, and how many rows that has on all replicas, as
  // distribute() knows. By default behind those of the replicas before, and as many as all have.
  std::optional<int64_t> first_row = {}, rows_of_batch = {};
};

enum class ReduceOp : uint8_t { kSum, kMean };

class OwnBatches;
class SameElements;
class SharedBatches;

// The batches of a dataset, cut for the replicas of this process.
class DistributedDataset {
 public:
  DistributedDataset(Dataset dataset, std::shared_ptr<Replicas> replicas);
  // The tensors of the next element of an iterator over `dataset`, its rows shared out; nothing at the end.
  // All workers call it alike. Of a source in shards, as fit reads them, each of several workers opens its
  // shards and no others: it has their rows of the element, shard by shard, perhaps none. Of data that are a
  // worker's own (Dataset::per_worker) it has its element, shared out to its replicas, and no rows behind
  // their end, until all workers are at theirs. Of others each worker reads all, and a replica may have one
  // row less than another, or none: raises ValueError[strategy.data] where workers have other elements.
  std::optional<std::vector<PerReplica>> next();
  // Where it is: the same on all workers, and as a DatasetIterator says it, so that any number of them goes
  // on there. All workers call it alike: of shards each says those that it reads.
  DatasetState save(Location at = Location::here()) const;
  // Goes on where one of an equal dataset was saved; all workers call it alike. Raises what
  // DatasetIterator::restore does; then it stays where it was.
  void restore(const DatasetState& state, Location at = Location::here());

  const std::shared_ptr<Replicas>& replicas() const { return replicas_; }

 private:
  std::optional<std::vector<PerReplica>> next_own();
  std::shared_ptr<SharedBatches> shared_at(const DatasetState& state) const;
  Dataset dataset_;
  DatasetIterator iterator_;
  // Who reads, or looks: none of them on one worker.
  std::shared_ptr<SharedBatches> shared_;
  std::shared_ptr<OwnBatches> own_;
  std::shared_ptr<SameElements> same_;
  std::shared_ptr<Replicas> replicas_;
};

// For whom a dataset is made.
struct InputContext {
  int worker = 0, workers = 1;
  int replicas = 1;  // of all workers
  // How many of so many rows of a global batch are this worker's: of 64 on 3 workers 21, 21 and 22.
  int64_t rows_of(int64_t batch_size) const {
    return batch_size * (worker + 1) / workers - batch_size * worker / workers;
  }
};

// A handle; copies share. Replicas are counted over all workers, and each has an equal part of the rows of a
// batch, or one row less.
class Strategy {
 public:
  // What this thread compiles while it lives is trained by the strategy, what is not compiled predicts by it,
  // and its calls run where the first replica of this process does. The innermost one counts.
  class Scope {
   public:
    explicit Scope(std::shared_ptr<Replicas> replicas);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<Replicas> before_;
    std::optional<RunScope> context_;
  };
  [[nodiscard]] Scope scope() const { return Scope(replicas_); }

  // Of all workers; logical shards, where there are some. Fixed when the strategy is made.
  int num_replicas_in_sync() const;
  // Those of this process: the number of the first, and how many. A PerReplica has a value for each.
  int first_replica() const;
  int replicas_here() const;
  // The number of this worker, from 0, and of workers. Worker 0 writes and prints.
  int worker() const;
  int workers() const;
  // Whether a worker, or the launcher, got SIGTERM or SIGUSR1, and all workers have agreed on it: in fit,
  // which has ended behind the same step on all of them, and BackupAndRestore has saved; or in the last call
  // of run(). The signals end a process as ever until this is asked for the first time, but in fit. A program
  // exits with kPreempted, so that its launcher knows that it did not fail and is not done.
  bool told_to_go() const;
  static constexpr int kPreempted = 42;

  // A traced function on each replica at once, on the values that each has; gives its results, one PerReplica
  // for each. On several replicas it draws what one device draws for the rows of the whole batch (ops.h), and
  // what its layers and metrics observe is that of all rows. Layers that are synchronized meet. A variable
  // that it assigns has one value on all replicas: raises ValueError[strategy.variable] where the new one
  // would differ, as one that comes from the rows of a replica and not through strategy::all_reduce() does;
  // [strategy.values] unless there is a value for each replica of this process; [strategy.collectives] where
  // replicas of this process would call other collectives.
  std::vector<PerReplica> run(const TracedFunction& function, const std::vector<PerReplica>& arguments,
                              Location at = Location::here()) const;
  // The sum, or the mean, of what all replicas have; of each one's elements, too, along `axis`, where the
  // mean counts elements. 16 bits are added up in f32 and rounded once. All workers call it. Raises
  // ShapeError[strategy.values] where the values are not of one type.
  Tensor reduce(ReduceOp op, const PerReplica& values, std::optional<int64_t> axis = {},
                Location at = Location::here()) const;
  // What all replicas have, one behind the other along `axis`, which may be of another size on each. All
  // workers call it.
  Tensor gather(const PerReplica& values, int64_t axis = 0, Location at = Location::here()) const;
  // Elements of `dataset` are batches for all replicas: each gets its rows (DistributedDataset::next). Its
  // order follows the seed of worker 0. All workers call it, with datasets of equal steps and sizes: raises
  // ValueError[strategy.data] else.
  DistributedDataset distribute(const Dataset& dataset) const;
  // The same of data that are each worker's own: of Dataset::per_worker(function(context)), which
  // tf.distribute calls distribute_datasets_from_function.
  DistributedDataset distribute_from_function(const std::function<Dataset(const InputContext&)>& function,
                                              Location at = Location::here()) const;

  const std::shared_ptr<Replicas>& replicas() const { return replicas_; }

 protected:
  explicit Strategy(std::shared_ptr<Replicas> replicas) : replicas_(std::move(replicas)) {}
  std::shared_ptr<Replicas> replicas_;
};

namespace strategy {

// In a function that Strategy::run() runs: the sum, or the mean, over all replicas, of each value; they have
// one dtype. Means of 16 bits are made in f32 and rounded once. Raises StateError[strategy.outside] where one
// of several replicas of this process has no value of its own: eagerly, and in a function on several devices
// that is called by itself; DTypeError[strategy.mean] for a mean of integers.
std::vector<Tensor> all_reduce(const std::vector<Tensor>& values, ReduceOp op = ReduceOp::kSum,
                               Location at = Location::here());
// There, too: what all replicas have of a value, in their order, one behind the other along `axis`: f32[2,3]
// of each of 4 gives f32[8,3], the same on all. Values have one type. Where they have not, as with parts of
// other sizes, it raises ValueError[strategy.collectives] among replicas of this process,
// RunError[comm.mismatch] among workers; Strategy::gather() takes such, behind the call. The gradient of each
// is its own part of the sum over all replicas. Raises StateError[strategy.outside] as all_reduce does,
// UnsupportedError[shards.collective] over logical shards.
Tensor all_gather(const Tensor& value, int64_t axis = 0, Location at = Location::here());
// There, too: the value of replica `root`, on all. Others give a value of the same type, which counts for
// nothing. The gradient of the root's is the sum over all replicas, that of others is 0. Raises
// ValueError[strategy.root] for a root that is not there, and what all_gather() raises.
Tensor broadcast(const Tensor& value, int root = 0, Location at = Location::here());
// There, too: `value` as it is, when every replica has its own: what is made of the result is made behind
// what each was made of on all replicas. Its gradient is that of the value. Raises
// StateError[strategy.outside] as all_reduce does.
[[nodiscard]] Tensor barrier(const Tensor& value, Location at = Location::here());

// In a function that Strategy::run() runs, f32[rows]: what each of `rows` counts. Devices of a plugin run on
// equally many rows: where a batch does not go round, some have rows of weight 0 behind theirs, which repeat
// another one. Losses and metrics leave these out by themselves, layers, too; what a function computes of all
// rows in another way is to be multiplied by this. All others count 1. A function that nobody asks it in
// raises ValueError[strategy.rows] on such a batch. Results with the batch as their first axis lose those
// rows.
Tensor row_weight(const Tensor& rows, Location at = Location::here());

// As without a strategy, but for logical shards.
struct OneDeviceOptions {
  // In so many parts a batch is cut, in models that are compiled under the strategy and say nothing else
  // (ModelOptions::logical_shards), and in functions of run(), so that bits do not depend on how many devices
  // or workers there are. They are the replicas of a loop: num_replicas_in_sync() is their number,
  // distribute() and run() have a value for each, and what a function gives to all_reduce() is added up by
  // one tree. Each worker runs some of them, part after part, all cores on each. 0: none. From 0 to 4096.
  int logical_shards = 0;
};
class OneDevice : public Strategy {
 public:
  // Raises ValueError[strategy.logical_shards].
  explicit OneDevice(OneDeviceOptions options = {}, Location at = Location::here());
};

struct MirroredOptions {
  // On this CPU pools of threads; 0: as many as it has cores for this process. Under a DeviceScope devices of
  // its plugin, from its device on; 0: all of those.
  int devices = 0;
  // Devices of one plugin by their names (devices.h), instead: "gpu:0", "gpu:2".
  std::vector<std::string> device_names = {};
  // Bytes of gradients that devices add up at a time: first, then.
  size_t first_bucket = size_t{1} << 20, bucket = size_t{25} << 20;
  // Of devices of a plugin: every so many steps of fit, and behind the last, they compare a hash of each
  // variable, and fit raises RunError[strategy.audit], which names variable and device, where one differs. 0:
  // never.
  int64_t audit_steps = 100;
  // See OneDeviceOptions.
  int logical_shards = 0;
};

// Several devices of this process, each with its part of every batch. On this CPU a device is a pool of
// threads that is its own: all threads of the process (threads.h), shared out equally; variables are kept
// once. Devices of a plugin run one program, in whose collectives they meet, and each has its own copy of
// every variable; a batch of fit that does not go round is padded by rows of weight 0, and run() takes values
// of one type for all.
class Mirrored : public Strategy {
 public:
  // Raises ValueError[strategy.devices] unless there are 0 to 256, [strategy.logical_shards],
  // [device.several] for devices of a plugin that cannot train together, and what a DeviceScope raises.
  explicit Mirrored(MirroredOptions options = {}, Location at = Location::here());
};

struct MultiWorkerOptions {
  // Every so many steps, and behind the last, workers compare a hash of each variable, and raise
  // RunError[strategy.audit] in fit, which names the variable and the worker where one differs: by a fault of
  // memory, or by code that assigned it on one worker alone. evaluate and predict compare those of the model
  // and the rows in memory, before they begin. 0: never.
  int64_t audit_steps = 100;
  // Bytes of gradients that ranks add up in one message: of the first one, and of others.
  size_t first_bucket = size_t{1} << 20, bucket = size_t{25} << 20;
  // What gradients in f32 travel as: "none", as they are; "bf16": rounded to half the bytes, added up in f32,
  // and the sum rounded so. For networks that are slower than what they save; each gradient then has 8 bits.
  // Workers still have equal bits, and others than on another number of them.
  std::string compress = "none";
  // See OneDeviceOptions. Functions of run() want one for each worker, at least.
  int logical_shards = 0;
};

// One process a worker, all of which run the same program: `espalier launch -n 4 -- program`. Each takes its
// part of every batch, and gradients are added up before each update. A process that nobody launched so is
// the only worker. A child that a worker forks has no part in the run: what other workers would wait for
// raises StateError[strategy.forked] there.
class MultiWorkerMirrored : public Strategy {
 public:
  // Takes its place from the current RunContext if that has a communicator, else from what
  // `espalier launch` has put into the environment. Raises ValueError[strategy.environment] for one that says
  // half of it, StateError[strategy.worker] for a second one in this process.
  explicit MultiWorkerMirrored(MultiWorkerOptions options = {}, Location at = Location::here());
};

}  // namespace strategy
}  // namespace espalier
