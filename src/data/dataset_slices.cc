#include <algorithm>

#include "data/dataset_node.h"
#include "ir/sink.h"

namespace espalier {
namespace {

class Slices final : public ElementIterator {
 public:
  explicit Slices(const SlicesNode& node) : node_(node) {}
  bool next(Tensors& element) override {
    if (now_ == node_.cardinality()) return false;
    node_.row(now_++, element);
    return true;
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = std::min(count, node_.cardinality() - now_);
    now_ += skipped;
    return skipped;
  }

 private:
  const SlicesNode& node_;
  int64_t now_ = 0;
};

}  // namespace

SlicesNode::SlicesNode(Tensors arrays, Location at) : DatasetNode({}, at), arrays_(std::move(arrays)) {
  rows_ = common_rows("from_tensor_slices.rows", arrays_);
  check_element(arrays_, "from_tensor_slices");
  row_types_ = row_types(arrays_);
}

void SlicesNode::row(int64_t number, Tensors& element) const {
  element.resize(arrays_.size());
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const Buffer& all = arrays_[i].node()->dense().buffer();
    std::byte* const place = all.get() + static_cast<size_t>(number) * row_types_[i].bytes();
    element[i] = make_concrete(Literal(row_types_[i], Buffer(all, place)));
  }
}

ElementIteratorPtr SlicesNode::iterate(const DatasetPass&) const { return std::make_unique<Slices>(*this); }

std::string SlicesNode::text() const {
  return cat("from_tensor_slices(", rows_, " rows of ", types_text(row_types_), ")");
}

Dataset Dataset::from_tensor_slices(const TensorList& tensors) {
  const CallScope scope(tensors.at());
  return make<SlicesNode>(tensors.tensors(), tensors.at());
}

}  // namespace espalier
