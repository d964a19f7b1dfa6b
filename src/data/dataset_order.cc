// Steps that leave elements out, or change their order, and not what is in them.
#include <algorithm>

#include "data/dataset_node.h"

namespace espalier {
namespace {

void require_not_negative(const char* step, int64_t count) {
  if (count < 0) throw ValueError(cat(step, ".count"), cat("count must not be negative, got ", count));
}

class Take final : public ElementIterator {
 public:
  Take(ElementIteratorPtr input, int64_t count) : input_(std::move(input)), left_(count) {}
  bool next(Tensors& element) override {
    if (left_ == 0 || !input_->next(element)) return false;
    --left_;
    return true;
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = input_->skip(std::min(count, left_));
    left_ -= skipped;
    return skipped;
  }
  void save(DatasetCursor& out) override {
    out.steps.push_back(left_);
    input_->save(out);
  }
  void restore(CursorReader& from) override {
    left_ = from.number("take", 0, left_);
    input_->restore(from);
  }

 private:
  ElementIteratorPtr input_;
  int64_t left_;
};

class TakeNode final : public DatasetStep {
 public:
  TakeNode(DatasetNodePtr input, int64_t count, Location at)
      : DatasetStep(std::move(input), at), count_(count) {
    require_not_negative("take", count);
    mark("take", {count});
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override {
    return std::make_unique<Take>(input().iterate(pass), count_);
  }
  int64_t cardinality() const override {
    const int64_t all = input().cardinality();
    if (all == Dataset::kInfinite || count_ == 0) return count_;
    return all == Dataset::kUnknown ? all : std::min(all, count_);
  }
  std::string text() const override { return cat(input().text(), ".take(", count_, ")"); }

 private:
  int64_t count_;
};

// Elements first, first + stride, ...
class Stride final : public ElementIterator {
 public:
  Stride(ElementIteratorPtr input, int64_t first, int64_t stride)
      : input_(std::move(input)), gap_(first), stride_(stride) {}
  bool next(Tensors& element) override {
    if (gap_ > 0 && input_->skip(gap_) < gap_) return false;
    gap_ = stride_ - 1;
    return input_->next(element);
  }
  int64_t skip(int64_t count) override {
    if (count == 0) return 0;
    const int64_t behind_first = saturating_product(count - 1, stride_);
    const int64_t passed = input_->skip(saturating_sum(saturating_sum(gap_, 1), behind_first));
    if (passed <= gap_) return 0;
    const int64_t skipped = (passed - gap_ - 1) / stride_ + 1;
    gap_ = stride_ - 1;
    return skipped;
  }
  void save(DatasetCursor& out) override {
    out.steps.push_back(gap_);
    input_->save(out);
  }
  void restore(CursorReader& from) override {
    gap_ = from.number("skip or shard", 0, std::max(gap_, stride_ - 1));
    input_->restore(from);
  }

 private:
  ElementIteratorPtr input_;
  int64_t gap_, stride_;
};

class SkipNode final : public DatasetStep {
 public:
  SkipNode(DatasetNodePtr input, int64_t count, Location at)
      : DatasetStep(std::move(input), at), count_(count) {
    require_not_negative("skip", count);
    mark("skip", {count});
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override {
    return std::make_unique<Stride>(input().iterate(pass), count_, 1);
  }
  int64_t cardinality() const override {
    const int64_t all = input().cardinality();
    return all < 0 ? all : std::max<int64_t>(all - count_, 0);
  }
  std::string text() const override { return cat(input().text(), ".skip(", count_, ")"); }

 private:
  int64_t count_;
};

class ShardNode final : public DatasetStep {
 public:
  ShardNode(DatasetNodePtr input, int64_t count, int64_t index, Location at)
      : DatasetStep(std::move(input), at), count_(count), index_(index) {
    if (count < 1) throw ValueError("shard.count", cat("there must be at least one shard, got ", count));
    if (index < 0 || index >= count)
      throw ValueError("shard.index", cat("shard ", index, " is outside of [0, ", count, ")"));
    mark("shard", {count, index});
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override {
    return std::make_unique<Stride>(input().iterate(pass), index_, count_);
  }
  int64_t cardinality() const override {
    const int64_t all = input().cardinality();
    if (all < 0) return all;
    return all > index_ ? (all - index_ - 1) / count_ + 1 : 0;
  }
  std::string text() const override { return cat(input().text(), ".shard(", count_, ", ", index_, ")"); }

 private:
  int64_t count_, index_;
};

class Concatenate final : public ElementIterator {
 public:
  Concatenate(ElementIteratorPtr first, ElementIteratorPtr second)
      : first_(std::move(first)), second_(std::move(second)) {}
  bool next(Tensors& element) override { return first_->next(element) || second_->next(element); }
  int64_t skip(int64_t count) override {
    const int64_t skipped = first_->skip(count);
    return skipped == count ? skipped : skipped + second_->skip(count - skipped);
  }
  void save(DatasetCursor& out) override {
    first_->save(out);
    second_->save(out);
  }
  void restore(CursorReader& from) override {
    first_->restore(from);
    second_->restore(from);
  }

 private:
  ElementIteratorPtr first_, second_;
};

class ConcatenateNode final : public DatasetNode {
 public:
  ConcatenateNode(DatasetNodePtr first, DatasetNodePtr second, Location at)
      : DatasetNode({first.get(), second.get()}, at), first_(std::move(first)), second_(std::move(second)) {
    mark("concatenate");
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override {
    return std::make_unique<Concatenate>(first_->iterate(pass), second_->iterate(pass_of_input(pass, 1)));
  }
  int64_t cardinality() const override {
    const int64_t a = first_->cardinality(), b = second_->cardinality();
    if (a == Dataset::kInfinite || b == Dataset::kInfinite) return Dataset::kInfinite;
    return a < 0 || b < 0 ? Dataset::kUnknown : saturating_sum(a, b);
  }
  std::string text() const override { return cat(first_->text(), ".concatenate(", second_->text(), ")"); }

 private:
  DatasetNodePtr first_, second_;
};

}  // namespace

Dataset Dataset::take(int64_t count, Location at) const {
  const CallScope scope(at);
  return make<TakeNode>(node(), count, at);
}

Dataset Dataset::skip(int64_t count, Location at) const {
  const CallScope scope(at);
  return make<SkipNode>(node(), count, at);
}

Dataset Dataset::shard(int64_t count, int64_t index, Location at) const {
  const CallScope scope(at);
  return make<ShardNode>(node(), count, index, at);
}

Dataset Dataset::concatenate(const Dataset& next, Location at) const {
  const CallScope scope(at);
  return make<ConcatenateNode>(node(), next.node(), at);
}

}  // namespace espalier
