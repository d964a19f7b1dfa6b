#include <algorithm>

#include "data/dataset_node.h"

namespace espalier {
namespace {

class Repeat final : public ElementIterator {
 public:
  // count < 0: without end.
  Repeat(const DatasetNode& input, const DatasetPass& pass, int64_t count)
      : input_(input), pass_(pass), count_(count), size_(std::max<int64_t>(input.cardinality(), -1)) {}

  bool next(Tensors& element) override {
    while (begin()) {
      if (now_->next(element)) {
        ++given_;
        return true;
      }
      end();
    }
    return false;
  }

  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    while (skipped < count) {
      if (!now_ && size_ > 0 && !input_.count_varies()) {
        int64_t passes = (count - skipped) / size_;
        if (count_ >= 0) passes = std::min(passes, count_ - passes_);
        passes_ += passes;
        skipped += passes * size_;
      }
      if (skipped == count || !begin()) break;
      const int64_t passed = now_->skip(count - skipped);
      skipped += passed;
      given_ += passed;
      if (skipped < count) end();
    }
    return skipped;
  }

  void save(DatasetCursor& out) override {
    for (const int64_t number : {passes_, given_, size_, int64_t{now_ != nullptr}})
      out.steps.push_back(number);
    if (now_) now_->save(out);
  }
  void restore(CursorReader& from) override {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    passes_ = from.number("repeat", 0, count_ < 0 ? kMost / 2 : count_);
    const int64_t given = from.number("repeat", 0, kMost / 2);
    size_ = from.number("repeat", -1, kMost);
    if (from.number("repeat", 0, passes_ > 0) == 1) {
      now_ = input_.iterate({pass_.seed, repeated_pass(pass_.number, passes_ - 1), pass_.seeks});
      now_->restore(from);
    }
    given_ = given;
  }

 private:
  // Whether there is a pass, perhaps a new one.
  bool begin() {
    if (now_) return true;
    if (passes_ == count_ || (size_ == 0 && (count_ < 0 || !input_.count_varies()))) return false;
    now_ = input_.iterate({pass_.seed, repeated_pass(pass_.number, passes_), pass_.seeks});
    ++passes_;
    given_ = 0;
    return true;
  }
  void end() {
    size_ = given_;
    now_.reset();
  }

  const DatasetNode& input_;
  DatasetPass pass_;
  int64_t count_, passes_ = 0;  // begun
  ElementIteratorPtr now_;
  int64_t given_ = 0;  // elements of this pass
  int64_t size_;       // of a pass, the last one where they differ; -1 while it is not known
};

class RepeatNode final : public DatasetStep {
 public:
  RepeatNode(DatasetNodePtr input, int64_t count, Location at)
      : DatasetStep(std::move(input), at), count_(count) {
    if (count < Dataset::kInfinite)
      throw ValueError("repeat.count", cat("count must not be negative, or kInfinite, got ", count));
    mark("repeat", {count});
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override {
    return std::make_unique<Repeat>(input(), pass, count_);
  }
  DatasetNodePtr read_shards(int64_t count, const std::vector<int64_t>& owned) const override {
    return std::make_shared<RepeatNode>(shards_of_input(count, owned), count_, at());
  }
  std::optional<ShardedBatches> sharded_batches() const override {
    std::optional<ShardedBatches> out = input().sharded_batches();
    if (!out) return std::nullopt;
    out->repeats.insert(out->repeats.begin(),
                        {count_, out->batch > 0, std::max<int64_t>(input().cardinality(), -1)});
    return out;
  }
  int64_t cardinality() const override {
    const int64_t all = input().cardinality();
    if (all == 0 || count_ == 0) return 0;
    if (count_ == Dataset::kInfinite) return Dataset::kInfinite;
    return all < 0 ? all : saturating_product(all, count_);
  }
  std::string text() const override {
    return cat(input().text(), ".repeat(", count_ == Dataset::kInfinite ? "" : cat(count_), ")");
  }

 private:
  int64_t count_;
};

}  // namespace

Dataset Dataset::repeat(int64_t count, Location at) const {
  const CallScope scope(at);
  return make<RepeatNode>(node(), count, at);
}

}  // namespace espalier
