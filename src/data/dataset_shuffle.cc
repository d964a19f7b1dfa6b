#include "base/philox.h"
#include "data/dataset_node.h"

namespace espalier {
namespace {

// Numbers of rows in memory.
struct RowNumbers {
  using Kept = int64_t;
  const SlicesNode& rows;
  int64_t now = 0;
  bool next(int64_t& number) {
    if (now == rows.cardinality()) return false;
    number = now++;
    return true;
  }
  void give(int64_t number, Tensors& element) const { rows.row(number, element); }
};

struct ShuffledElements {
  using Kept = Tensors;
  ElementIteratorPtr input;
  bool next(Tensors& element) { return input->next(element); }
  static void give(Tensors&& kept, Tensors& element) { element = std::move(kept); }
};

template <class Source>
class Shuffle final : public ElementIterator {
 public:
  using Kept = typename Source::Kept;
  Shuffle(Source source, int64_t size, Philox random)
      : source_(std::move(source)), size_(static_cast<size_t>(size)), random_(random) {}

  bool next(Tensors& element) override {
    Kept kept;
    if (!take(kept)) return false;
    source_.give(std::move(kept), element);
    return true;
  }
  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    for (Kept kept; skipped < count && take(kept);) ++skipped;
    return skipped;
  }

 private:
  bool take(Kept& out) {
    Kept next;
    while (buffer_.size() < size_ && source_.next(next)) buffer_.push_back(std::move(next));
    if (buffer_.empty()) return false;
    std::swap(buffer_[random_.below(buffer_.size())], buffer_.back());
    out = std::move(buffer_.back());
    buffer_.pop_back();
    return true;
  }

  Source source_;
  size_t size_;
  Philox random_;
  std::vector<Kept> buffer_;
};

class ShuffleNode final : public DatasetStep {
 public:
  ShuffleNode(DatasetNodePtr input, int64_t size, ShuffleOptions options, Location at)
      : DatasetStep(std::move(input), at), size_(size), options_(options) {
    if (size < 1) throw ValueError("shuffle.buffer_size", cat("buffer_size must be positive, got ", size));
    if (options.reshuffle_each_iteration) vary_order();
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override {
    // Another order for each shuffle of a dataset.
    const uint64_t seed = hash_combine(options_.seed.value_or(pass.seed), static_cast<uint64_t>(depth()));
    const Philox random(seed, options_.reshuffle_each_iteration ? pass.number : 0);
    if (const auto* rows = dynamic_cast<const SlicesNode*>(&input()))
      return std::make_unique<Shuffle<RowNumbers>>(RowNumbers{*rows}, size_, random);
    return std::make_unique<Shuffle<ShuffledElements>>(ShuffledElements{input().iterate(pass)}, size_,
                                                       random);
  }
  std::string text() const override { return cat(input().text(), ".shuffle(", size_, ")"); }

 private:
  int64_t size_;
  ShuffleOptions options_;
};

}  // namespace

Dataset Dataset::shuffle(int64_t buffer_size, ShuffleOptions options, Location at) const {
  const CallScope scope(at);
  return make<ShuffleNode>(node(), buffer_size, options, at);
}

}  // namespace espalier
