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
  void save(DatasetCursor& out) override { out.steps.push_back(now_); }
  void restore(CursorReader& from) override {
    now_ = from.number("from_tensor_slices", 0, node_.cardinality());
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
  mark("from_tensor_slices", {rows_});
  mark(types_text(row_types_));
}

SlicesNode::SlicesNode(const SlicesNode& all, int64_t shards, const std::vector<int64_t>& owned)
    : DatasetNode({}, all.at()),
      arrays_(all.arrays_),
      row_types_(all.row_types_),
      shards_(shards),
      owned_(owned) {
  for (const int64_t shard : owned) rows_ += all.rows_ > shard ? (all.rows_ - shard - 1) / shards + 1 : 0;
  mark("from_tensor_slices", {all.rows_});
  mark(types_text(row_types_));
  for (const int64_t shard : owned) mark("shard", {shards, shard});
}

DatasetNodePtr SlicesNode::read_shards(int64_t count, const std::vector<int64_t>& owned) const {
  if (shards_ != 1) return DatasetNode::read_shards(count, owned);
  return std::make_shared<SlicesNode>(*this, count, owned);
}

uint64_t SlicesNode::own_contents() const {
  uint64_t out = 0;
  for (const Tensor& array : arrays_) out = hash_bytes(array.bytes(), array.type().bytes(), out);
  return out;
}

void SlicesNode::row(int64_t number, Tensors& element) const {
  if (shards_ > 1) {
    const auto owned = static_cast<int64_t>(owned_.size());
    number = number / owned * shards_ + owned_[static_cast<size_t>(number % owned)];
  }
  element.resize(arrays_.size());
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const Buffer& all = arrays_[i].node()->dense().buffer();
    std::byte* const place = all.get() + static_cast<size_t>(number) * row_types_[i].bytes();
    element[i] = make_concrete(Literal(row_types_[i], Buffer(all, place)));
  }
}

ElementIteratorPtr SlicesNode::iterate(const DatasetPass&) const { return std::make_unique<Slices>(*this); }

std::string SlicesNode::text() const {
  return cat("from_tensor_slices(", rows_, " rows of ", types_text(row_types_),
             shards_ == 1 ? "" : cat(", ", owned_.size(), " of ", shards_, " shards"), ")");
}

Dataset Dataset::from_tensor_slices(const TensorList& tensors) {
  const CallScope scope(tensors.at());
  return make<SlicesNode>(tensors.tensors(), tensors.at());
}

}  // namespace espalier
