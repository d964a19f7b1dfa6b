// Where a model trains: on one device, on several of this machine, on several workers. The program stays the
// same, and so do its results but for rounding.
//
//     strategy::Mirrored everywhere({.devices = 2});
//     const auto scope = everywhere.scope();
//     model.compile({...});
//     model.fit(x, y, {.batch_size = 64});  // 64 rows a step, 32 on each device
#pragma once

#include <memory>
#include <optional>

#include "espalier/run_context.h"

namespace espalier {

class Replicas;

// A handle; copies share. Replicas are counted over all workers, and each has an equal part of the rows of a
// batch, or one row less.
class Strategy {
 public:
  // What this thread compiles while it lives is trained by the strategy, and its calls run where the first
  // replica of this process does. The innermost one counts.
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

  // Of all workers. Fixed when the strategy is made.
  int num_replicas_in_sync() const;
  // The number of this worker, from 0, and of workers. Worker 0 writes and prints.
  int worker() const;
  int workers() const;

  const std::shared_ptr<Replicas>& replicas() const { return replicas_; }

 protected:
  explicit Strategy(std::shared_ptr<Replicas> replicas) : replicas_(std::move(replicas)) {}
  std::shared_ptr<Replicas> replicas_;
};

namespace strategy {

// As without a strategy.
class OneDevice : public Strategy {
 public:
  OneDevice();
};

struct MirroredOptions {
  int devices = 0;  // of the processor: pools of threads. 0: as many as it has cores for this process
  // Bytes of gradients that devices add up at a time: first, then.
  size_t first_bucket = size_t{1} << 20, bucket = size_t{25} << 20;
};

// Several devices of this process, each with its part of every batch; variables are kept once. A device is a
// pool of threads that is its own: all threads of the process (threads.h), shared out equally.
class Mirrored : public Strategy {
 public:
  // Raises ValueError[strategy.devices] unless there are 0 to 256.
  explicit Mirrored(MirroredOptions options = {}, Location at = Location::here());
};

struct MultiWorkerOptions {
  // Bytes of gradients that ranks add up in one message: of the first one, and of others.
  size_t first_bucket = size_t{1} << 20, bucket = size_t{25} << 20;
};

// One process a worker, all of which run the same program: `espalier launch -n 4 -- program`. Each takes its
// part of every batch, and gradients are added up before each update. A process that nobody launched so is
// the only worker.
class MultiWorkerMirrored : public Strategy {
 public:
  // Takes its place from the current RunContext if that has a communicator, else from what
  // `espalier launch` has put into the environment. Raises ValueError[strategy.environment] for one that says
  // half of it.
  explicit MultiWorkerMirrored(MultiWorkerOptions options = {}, Location at = Location::here());
};

}  // namespace strategy
}  // namespace espalier
