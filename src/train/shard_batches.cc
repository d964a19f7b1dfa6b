#include "train/shard_batches.h"

#include <numeric>

#include "data/dataset_shards.h"
#include "data/dataset_source.h"
#include "data/own_batches.h"
#include "train/dataset_batches.h"

namespace espalier {
namespace {

class WholeReader final : public BatchReader {
 public:
  WholeReader(const Dataset& dataset, uint64_t iteration, StepArguments& arguments)
      : iterator_(dataset, iteration), arguments_(arguments) {}
  std::span<const Tensor> next() override {
    std::optional<Tensors> element = iterator_.next();
    if (!element) return {};
    return arguments_.of(std::move(*element));
  }
  DatasetState save() const override { return iterator_.save(); }
  void restore(const DatasetState& state) override { iterator_.restore(state); }

 private:
  DatasetIterator iterator_;
  StepArguments& arguments_;
};

class SharedReader final : public BatchReader {
 public:
  SharedReader(DatasetNodePtr whole, ShardedBatches dataset, uint64_t seed, uint64_t iteration,
               StepArguments& arguments)
      : whole_(std::move(whole)),
        batches_(std::move(dataset), seed, iteration, arguments.format().shares.readers()),
        arguments_(arguments) {}
  std::span<const Tensor> next() override {
    std::optional<SharedBatches::Part> part = batches_.next();
    if (!part) return {};
    part_ = std::move(*part);
    Tensors rows = std::move(part_.rows);
    return part_.places.empty() ? arguments_.without_rows(rows) : arguments_.of(std::move(rows));
  }
  std::span<const int64_t> rows_of_shards() const override { return part_.of_shards; }
  std::span<const int64_t> places() const override { return part_.places; }
  DatasetState save() const override {
    DatasetState out = batches_.save();
    out.layout = whole_->layout();
    return out;
  }
  void restore(const DatasetState& state) override {
    whole_->require_layout(state);
    batches_.restore(state);
  }

 private:
  DatasetNodePtr whole_;
  SharedBatches batches_;
  StepArguments& arguments_;
  SharedBatches::Part part_;
};

// A batch is as one of a source in as many shards as there are workers.
class OwnReader final : public BatchReader {
 public:
  OwnReader(const Dataset& dataset, uint64_t seed, uint64_t iteration, bool repeats, StepArguments& arguments)
      : batches_(dataset, seed, iteration, repeats, arguments.format().shares.readers()),
        arguments_(arguments) {}
  std::span<const Tensor> next() override {
    std::optional<OwnBatches::Part> part = batches_.next();
    if (!part) return {};
    const auto own = static_cast<size_t>(part->rows[0].size(0));
    places_.resize(own);
    std::iota(places_.begin(), places_.end(), part->first);
    of_workers_ = std::move(part->of_readers);
    const bool shared = of_workers_.size() > 1;
    return shared && own == 0 ? arguments_.without_rows(part->rows) : arguments_.of(std::move(part->rows));
  }
  // Alone, one has the whole batch.
  std::span<const int64_t> rows_of_shards() const override { return if_shared(of_workers_); }
  std::span<const int64_t> places() const override { return if_shared(places_); }
  DatasetState save() const override { return batches_.save(); }
  void restore(const DatasetState& state) override { batches_.restore(state); }

 private:
  std::span<const int64_t> if_shared(const std::vector<int64_t>& numbers) const {
    return of_workers_.size() > 1 ? std::span(numbers) : std::span<const int64_t>();
  }

  OwnBatches batches_;
  StepArguments& arguments_;
  std::vector<int64_t> of_workers_, places_;
};

}  // namespace

std::unique_ptr<BatchReader> batch_reader(const Dataset& dataset, uint64_t iteration,
                                          StepArguments& arguments, bool repeats) {
  const DataShares& shares = arguments.format().shares;
  if (DatasetNode::of(dataset)->per_worker()) {
    if (shares.logical_shards > 0 && shares.readers().count > 1)
      throw ValueError(arguments.format().verb + ".logical_shards",
                       cat("the model is compiled for ", shares.logical_shards,
                           " logical shards, so that it does not matter how many workers there are, and the "
                           "rows of ",
                           dataset, " are this worker's"),
                       "name all files on all workers, and from_files() with .shards");
    const uint64_t seed = DatasetIterator(dataset, iteration).save().seed;
    return std::make_unique<OwnReader>(dataset, seed, iteration, repeats, arguments);
  }
  std::optional<ShardedBatches> parts;
  if (shares.by_shards()) parts = DatasetNode::of(dataset)->sharded_batches();
  const int64_t shards = parts ? parts->source->format().shards : 1;
  if (shards == 1 || parts->batch == 0) return std::make_unique<WholeReader>(dataset, iteration, arguments);
  if (shares.logical_shards > 0 && shares.logical_shards != shards)
    throw ValueError(arguments.format().verb + ".logical_shards",
                     cat(dataset, " has ", shards, " shards, and the model is compiled for ",
                         shares.logical_shards, " logical shards"),
                     cat("set logical_shards to ", shards));
  const uint64_t seed = DatasetIterator(dataset, iteration).save().seed;
  return std::make_unique<SharedReader>(DatasetNode::of(dataset), std::move(*parts), seed, iteration,
                                        arguments);
}

}  // namespace espalier
