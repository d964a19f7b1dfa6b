// A step over logical shards: its bits follow from the batch and the number of shards, and not from how many
// replicas own them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eager/row_weight.h"
#include "eager/traced_graph.h"
#include "espalier/function.h"
#include "place/shard_tree.h"
#include "step/step_program.h"

namespace espalier {

// A step that can be cut: what is traced, by which rewrites, and what a thread needs that runs it.
struct StepToCut {
  std::string shard_name, name;  // of the program of a shard, and of a step
  int shards = 1;
  std::shared_ptr<const Replicas> replicas;  // who share the shards; null: one
  // All rewrites of a step; `cut` stands between its gradients and its update.
  std::function<Rewrites(std::shared_ptr<const Rewrite> cut)> rewrites;
  Rewrites of_update;  // those behind the cut
  // The program for arguments of these types after these rewrites, or after the one that `after` names.
  std::function<TracedGraph(const char* name, std::span<const TensorType> types, const Rewrites& rewrites,
                            bool again, const std::string& after)>
      trace;
  // The loss of all rows, from its sum over them and their weight.
  std::function<Tensor(const Tensor& sum, const Tensor& weight)> mean_loss;
  // What the calling thread runs, for others: a thread that called what this gives runs the same as long as
  // it keeps the result.
  std::function<std::function<std::shared_ptr<const void>()>()> runs;
  // Whether rows of what this thread runs see each other.
  std::function<bool()> rows_are_coupled;
};

// A batch of B rows is cut in L shards of ceil(B / L) rows, or comes in the shards of its data; those that
// have fewer than the largest, and some, are filled up by rows of weight 0. The program of a step is cut
// behind its gradients (eager/cut_traced.h): its first half runs shard after shard, what shards find is added
// up by one tree (place/shard_tree.h), and the rest updates by the sum. Each replica runs the shards it owns.
class CutStep final : public StepProgram {
 public:
  explicit CutStep(StepToCut step);

  std::vector<Tensor> run(const BatchRows& batch) const override;
  void make_variables(const BatchRows& batch) const override;
  std::pair<int64_t, int64_t> own_rows(int64_t count) const override;
  // `after` is a rewrite of a shard's program, or a rewrite or pass of that of the update; empty: the
  // update's.
  std::shared_ptr<const Graph> graph(const BatchRows& batch, const std::string& after) const override;

 private:
  // What shards find together: gradients, and the other results of a forward pass.
  struct Found {
    std::vector<Tensor> gradients, others;
  };
  // Of subtrees of the shards.
  using Parts = std::vector<std::pair<ShardRange, Found>>;
  // Where the program is cut, as a rewrite says it.
  struct Crossing {
    std::vector<std::string> gradients, others;  // names of values
    std::vector<TracedObservation> observations;
  };
  struct Traced : Crossing {
    std::vector<TensorType> arguments, gradient_types, types;
    TracedGraph rest;
  };

  // Those of a whole step; what crosses its cut is written down in `crossing`.
  Rewrites rewrites(const std::shared_ptr<Crossing>& crossing) const;
  TracedGraph trace_shard(std::span<const TensorType> types, bool again, const std::string& after);
  // Of the last trace; after a rewrite, of another one like it.
  TracedGraph rest(const std::string& after) const;
  TracedGraph trace_both(std::span<const TensorType> types, bool again) const;

  // How a batch lies in shards: what they are filled up to, how many places there are for rows, how many rows
  // each shard has of its own and where those begin in the arguments, and which shards have rows there.
  struct Cut {
    explicit Cut(const BatchRows& batch) : rows(batch.rows) {}
    std::span<const Tensor> rows;
    int64_t each = 0, all = 0, most_weight = 0;
    std::vector<int64_t> counts, firsts;
    std::vector<int> here;
  };
  Cut cut(const BatchRows& batch) const;
  // The subtrees with rows that a replica owns.
  std::vector<ShardRange> owned(const Cut& cut, int replica) const;
  std::vector<Tensor> shard(const Cut& cut, int number) const;
  // One that is here; of rows of weight 0 where none is.
  std::vector<Tensor> some_shard(const Cut& cut) const;
  // Plans are made on the thread of the caller.
  void prepare(const Cut& cut) const;
  Found run_shard(const std::vector<Tensor>& shard) const;
  // What a shard's program gave.
  Found found(const std::vector<Tensor>& results) const;
  Found both(Found a, const Found& b) const;
  Parts run_owned(const Cut& cut, int replica) const;
  // On the replicas of one device: as many shards at a time.
  Parts run_together(const Cut& cut) const;
  // Those of all workers.
  Parts gathered(const Parts& own, const Cut& cut) const;

  // In each shard, so that one program is that of all: whether some are is not known alike on all ranks.
  SomeRowsCount rows_may_be_empty() const { return SomeRowsCount(step_.rows_are_coupled()); }

  const StepToCut step_;
  std::shared_ptr<const Traced> traced_;  // the last one
  TracedFunction shard_, combine_, update_;
};

}  // namespace espalier
