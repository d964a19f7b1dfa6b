// A step over logical shards: its bits follow from the batch and the number of shards, and not from how many
// replicas own them.
#pragma once

#include <memory>

#include "dist/shard_tree.h"
#include "train/step.h"

namespace espalier {

// A batch of B rows is cut in L shards of ceil(B / L) rows; the last one that has rows is filled up by rows
// of weight 0. The step is cut behind its gradients: one plan runs shard after shard, what shards find is
// added up by one tree (dist/shard_tree.h), and another plan updates by the sum. Each replica runs the shards
// it owns.
class Model::Training::Sharded final : public StepProgram {
 public:
  // The training outlives it.
  Sharded(Training& training, bool trains);

  std::vector<Tensor> run(std::span<const Tensor> rows) const override;
  void make_variables(std::span<const Tensor> rows) const override;
  // `after` is a rewrite of a shard's program, or a rewrite or pass of that of the update; empty: the
  // update's.
  std::shared_ptr<const Graph> graph(std::span<const Tensor> rows, const std::string& after) const override;

 private:
  // What shards find together, in the order of the results of their program.
  struct Found {
    std::vector<Tensor> gradients, others;
  };
  // Of subtrees of the shards.
  using Parts = std::vector<std::pair<ShardRange, Found>>;
  struct Shard {
    std::vector<Tensor> arguments;
    bool some_rows_count = false;  // and layers must know
  };
  // What the program of a shard says beside its graph.
  struct Signature {
    std::vector<std::string> gradients, others;     // names of results
    std::vector<TensorType> gradient_types, types;  // the same
    std::vector<TracedObservation> observations;
    std::vector<std::pair<VariablePtr, std::string>> gradient_of;  // which variable
    std::vector<VariablePtr> state;  // whose new values are the results "state/0", ...
  };

  const char* shard_name() const { return trains_ ? "train_shard" : "test_shard"; }
  // What they find of new values is kept in `state`.
  Rewrites shard_rewrites(const std::shared_ptr<std::vector<VariablePtr>>& state) const;
  TracedGraph trace_shard(std::span<const TensorType> types, bool again, const std::string& after);
  TracedGraph trace_both(std::span<const TensorType> types, bool again) const;
  TracedGraph trace_update(std::span<const TensorType> types, bool again, const std::string& after) const;

  int64_t rows_of_shard(std::span<const Tensor> rows) const;
  // The subtrees with rows that a replica owns.
  std::vector<ShardRange> owned(std::span<const Tensor> rows, int replica) const;
  Shard shard(std::span<const Tensor> rows, int number) const;
  // Plans are made on the thread of the caller.
  void prepare(std::span<const Tensor> rows) const;
  Found run_shard(const Shard& shard) const;
  Found both(Found a, const Found& b) const;
  Parts run_owned(std::span<const Tensor> rows, int replica) const;
  // Those of all workers.
  Parts gathered(const Parts& own, std::span<const Tensor> rows) const;

  Training& training_;
  const bool trains_;
  const int shards_;
  std::shared_ptr<const Signature> signature_;  // of the last trace
  TracedFunction shard_, both_, update_;
};

}  // namespace espalier
