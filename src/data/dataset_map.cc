#include <exception>

#include "base/thread_pool.h"
#include "data/dataset_node.h"
#include "espalier/run_context.h"

namespace espalier {
namespace {

class Map : public ElementIterator {
 public:
  Map(ElementIteratorPtr input, const TensorFunction& function, Location at)
      : input_(std::move(input)), function_(function), at_(at) {}
  bool next(Tensors& element) override {
    Tensors given;
    if (!input_->next(given)) return false;
    element = made_of(given);
    return true;
  }
  int64_t skip(int64_t count) override { return input_->skip(count); }
  void save(DatasetCursor& out) override { input_->save(out); }
  void restore(CursorReader& from) override { input_->restore(from); }

 protected:
  Tensors made_of(const Tensors& element) const {
    const CallScope scope(at_);
    Tensors out = function_(std::span<const Tensor>(element));
    check_element(out, "the function of map()");
    return out;
  }
  ElementIteratorPtr input_;

 private:
  const TensorFunction& function_;
  Location at_;  // of map()
};

// Takes some elements, makes all of theirs, and hands them out.
class ParallelMap final : public Map {
 public:
  ParallelMap(ElementIteratorPtr input, const TensorFunction& function, int calls, bool seeks, Location at)
      : Map(std::move(input), function, at), calls_(static_cast<size_t>(calls)), seeks_(seeks) {}

  bool next(Tensors& element) override {
    if (now_ == ahead_.size()) fetch();
    if (now_ == ahead_.size()) return false;
    Made& made = ahead_[now_++];
    if (made.error) std::rethrow_exception(made.error);
    element = std::move(made.element);
    if (seeks_) place_ = std::move(made.behind);
    return true;
  }

  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    for (Tensors element; skipped < count && now_ < ahead_.size() && next(element);) ++skipped;
    if (skipped < count) place_.reset();
    return skipped + Map::skip(count - skipped);
  }

  void save(DatasetCursor& out) override { place_ ? out.append(*place_) : Map::save(out); }

 private:
  struct Made {
    Tensors element;
    std::exception_ptr error;
    DatasetCursor behind;
  };
  void fetch() {
    ahead_.clear();
    now_ = 0;
    for (Tensors element; ahead_.size() < calls_;) {
      try {
        if (!input_->next(element)) break;
        Made made{std::move(element), nullptr, {}};
        if (seeks_) input_->save(made.behind);
        ahead_.push_back(std::move(made));
      } catch (...) {
        ahead_.push_back({{}, std::current_exception(), {}});
        break;
      }
    }
    const RunContext& context = RunContext::current();
    background_pool().parallel_for(static_cast<int64_t>(ahead_.size()), [&](int64_t i) {
      const RunScope scope(context);
      Made& made = ahead_[static_cast<size_t>(i)];
      if (made.error) return;
      try {
        made.element = made_of(made.element);
      } catch (...) {
        made.error = std::current_exception();
      }
    });
  }

  size_t calls_;
  bool seeks_;
  std::optional<DatasetCursor> place_;  // unless it is the input's
  std::vector<Made> ahead_;
  size_t now_ = 0;
};

class MapNode final : public DatasetStep {
 public:
  MapNode(DatasetNodePtr input, TensorFunction function, int calls, Location at)
      : DatasetStep(std::move(input), at), function_(std::move(function)), calls_(calls) {
    if (calls < 1)
      throw ValueError("map.num_parallel_calls", cat("num_parallel_calls must be positive, got ", calls));
    mark("map");
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override {
    if (calls_ == 1) return std::make_unique<Map>(input().iterate(pass), function_, at());
    return std::make_unique<ParallelMap>(input().iterate(pass), function_, calls_, pass.seeks, at());
  }
  DatasetNodePtr read_shards(int64_t count, const std::vector<int64_t>& owned) const override {
    return std::make_shared<MapNode>(shards_of_input(count, owned), function_, calls_, at());
  }
  std::optional<ShardedBatches> sharded_batches() const override {
    std::optional<ShardedBatches> out = input().sharded_batches();
    if (!out || out->batch > 0) return std::nullopt;
    out->elements = std::make_shared<MapNode>(out->elements, function_, calls_, at());
    return out;
  }
  std::string text() const override { return input().text() + ".map()"; }

 private:
  TensorFunction function_;
  int calls_;
};

}  // namespace

Dataset Dataset::map(TensorFunction function, MapOptions options, Location at) const {
  const CallScope scope(at);
  return make<MapNode>(node(), std::move(function), options.num_parallel_calls, at);
}

}  // namespace espalier
