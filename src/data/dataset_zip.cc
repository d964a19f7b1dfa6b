// Steps that put more tensors into an element.
#include <algorithm>

#include "data/dataset_node.h"

namespace espalier {
namespace {

class Zip final : public ElementIterator {
 public:
  explicit Zip(std::vector<ElementIteratorPtr> inputs) : inputs_(std::move(inputs)) {}
  bool next(Tensors& element) override {
    element.clear();
    for (const ElementIteratorPtr& input : inputs_) {
      Tensors part;
      if (!input->next(part)) return false;
      element.insert(element.end(), part.begin(), part.end());
    }
    return true;
  }
  int64_t skip(int64_t count) override {
    int64_t skipped = count;
    for (const ElementIteratorPtr& input : inputs_) skipped = std::min(skipped, input->skip(count));
    return skipped;
  }
  void save(DatasetCursor& out) override {
    for (const ElementIteratorPtr& input : inputs_) input->save(out);
  }
  void restore(CursorReader& from) override {
    for (const ElementIteratorPtr& input : inputs_) input->restore(from);
  }

 private:
  std::vector<ElementIteratorPtr> inputs_;
};

std::vector<const DatasetNode*> pointers(const std::vector<DatasetNodePtr>& inputs) {
  if (inputs.empty()) throw ValueError("zip.datasets", "there is no dataset");
  std::vector<const DatasetNode*> out;
  for (const DatasetNodePtr& input : inputs) out.push_back(input.get());
  return out;
}

class ZipNode final : public DatasetNode {
 public:
  ZipNode(std::vector<DatasetNodePtr> inputs, Location at)
      : DatasetNode(pointers(inputs), at), inputs_(std::move(inputs)) {
    mark("zip", {std::ssize(inputs_)});
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override {
    std::vector<ElementIteratorPtr> iterators;
    for (size_t i = 0; i < inputs_.size(); ++i)
      iterators.push_back(inputs_[i]->iterate(pass_of_input(pass, i)));
    return std::make_unique<Zip>(std::move(iterators));
  }
  int64_t cardinality() const override {
    int64_t least = Dataset::kInfinite;
    for (const DatasetNodePtr& input : inputs_) {
      const int64_t all = input->cardinality();
      if (all == Dataset::kUnknown) return all;
      if (least < 0 || (all >= 0 && all < least)) least = all;
    }
    return least;
  }
  std::string text() const override {
    std::string out;
    for (const DatasetNodePtr& input : inputs_) out += cat(out.empty() ? "" : ", ", input->text());
    return cat("zip(", out, ")");
  }

 private:
  std::vector<DatasetNodePtr> inputs_;
};

class Enumerate final : public ElementIterator {
 public:
  Enumerate(ElementIteratorPtr input, int64_t start) : input_(std::move(input)), number_(start) {}
  bool next(Tensors& element) override {
    if (!input_->next(element)) return false;
    element.insert(element.begin(), Tensor::scalar(number_));
    advance(1);
    return true;
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = input_->skip(count);
    advance(skipped);
    return skipped;
  }
  void save(DatasetCursor& out) override {
    out.steps.push_back(number_);
    input_->save(out);
  }
  void restore(CursorReader& from) override {
    using Most = std::numeric_limits<int64_t>;
    number_ = from.number("enumerate", Most::min(), Most::max());
    input_->restore(from);
  }

 private:
  // Behind the last number comes the first.
  void advance(int64_t count) {
    number_ = static_cast<int64_t>(static_cast<uint64_t>(number_) + static_cast<uint64_t>(count));
  }
  ElementIteratorPtr input_;
  int64_t number_;
};

class EnumerateNode final : public DatasetStep {
 public:
  EnumerateNode(DatasetNodePtr input, int64_t start, Location at)
      : DatasetStep(std::move(input), at), start_(start) {
    mark("enumerate", {start});
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override {
    return std::make_unique<Enumerate>(input().iterate(pass), start_);
  }
  std::string text() const override { return cat(input().text(), ".enumerate(", start_, ")"); }

 private:
  int64_t start_;
};

}  // namespace

Dataset Dataset::zip(const std::vector<Dataset>& datasets, Location at) {
  const CallScope scope(at);
  std::vector<DatasetNodePtr> inputs;
  for (const Dataset& dataset : datasets) inputs.push_back(dataset.node());
  return make<ZipNode>(std::move(inputs), at);
}

Dataset Dataset::enumerate(int64_t start, Location at) const {
  const CallScope scope(at);
  return make<EnumerateNode>(node(), start, at);
}

}  // namespace espalier
