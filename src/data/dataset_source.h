// Sources in shards as a node of datasets.
#pragma once

#include "data/dataset_node.h"
#include "espalier/source.h"

namespace espalier {

struct SourceFormat {
  const char* name;  // of the function that made it, in errors
  std::string text;  // what stands in its parentheses
  int64_t shards = 1;
  std::optional<int64_t> elements = {};
  // Whose elements are checked, and whose std::exceptions become errors of this library.
  bool users = true;
  // A hash of what it reads, as it is now, where that can be known.
  std::function<uint64_t()> contents = {};
};

class SourceNode final : public DatasetNode {
 public:
  // Raises ValueError[name.shards], [name.elements].
  SourceNode(OpenSource open, SourceFormat format, Location at);
  SourceNode(OpenSource open, SourceFormat format, std::vector<int64_t> owned, Location at);
  ElementIteratorPtr iterate(const DatasetPass& pass) const override;
  int64_t cardinality() const override;
  std::string text() const override;
  DatasetNodePtr read_shards(int64_t count, const std::vector<int64_t>& owned) const override;
  std::optional<ShardedBatches> sharded_batches() const override;
  uint64_t own_contents() const override { return format_.contents ? format_.contents() : 0; }
  // Raises ValueError[name.elements] where a pass over all shards must give another number.
  void require_elements(int64_t all) const;
  // Raises ValueError[dataset.restore] for the places of another number of shards.
  void require_shards(const SourceState& state) const;

  const OpenSource& open() const { return open_; }
  const SourceFormat& format() const { return format_; }
  const std::vector<int64_t>& owned() const { return owned_; }
  bool owns_all() const { return static_cast<int64_t>(owned_.size()) == format_.shards; }

 private:
  OpenSource open_;
  SourceFormat format_;
  std::vector<int64_t> owned_;
};

// What the elements of a generator or a source have in common: raises ShapeError[rule] and DTypeError[rule]
// for one of another number of tensors, other ranks or dtypes than the first.
class ElementSignature {
 public:
  explicit ElementSignature(const char* rule) : rule_(rule) {}
  void check(const Tensors& element, int64_t number);

 private:
  const char* rule_;
  std::vector<TensorType> first_;
};

}  // namespace espalier
