#include "data/dataset_node.h"

namespace espalier {
namespace {

class FilterNode final : public DatasetStep {
 public:
  FilterNode(DatasetNodePtr input, TensorFunction predicate, Location at)
      : DatasetStep(std::move(input), at), predicate_(std::move(predicate)) {
    if (this->input().order_varies()) vary_count();
    mark("filter");
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override;
  int64_t cardinality() const override {
    const int64_t all = input().cardinality();
    return all > 0 ? Dataset::kUnknown : all;
  }
  std::string text() const override { return input().text() + ".filter()"; }

  bool keeps(const Tensors& element) const {
    const CallScope scope(at());
    const Tensors out = predicate_(std::span<const Tensor>(element));
    check_element(out, "the predicate of filter()");
    const auto refuse = [&](const char* what) {
      return cat("the predicate of filter() must give ", what, ", it gave ", types_text(out));
    };
    if (out.size() != 1 || out[0].rank() != 0) throw ShapeError("filter.predicate", refuse("one scalar"));
    if (out[0].dtype() != DType::kBool) throw DTypeError("filter.predicate", refuse("a bool"));
    return out[0].item<bool>();
  }

 private:
  TensorFunction predicate_;
};

class Filter final : public ElementIterator {
 public:
  Filter(ElementIteratorPtr input, const FilterNode& node) : input_(std::move(input)), node_(node) {}
  bool next(Tensors& element) override {
    while (input_->next(element)) {
      if (node_.keeps(element)) return true;
    }
    return false;
  }

  void save(DatasetCursor& out) override { input_->save(out); }
  void restore(CursorReader& from) override { input_->restore(from); }

 private:
  ElementIteratorPtr input_;
  const FilterNode& node_;
};

ElementIteratorPtr FilterNode::iterate(const DatasetPass& pass) const {
  return std::make_unique<Filter>(input().iterate(pass), *this);
}

}  // namespace

Dataset Dataset::filter(TensorFunction predicate, Location at) const {
  const CallScope scope(at);
  return make<FilterNode>(node(), std::move(predicate), at);
}

}  // namespace espalier
