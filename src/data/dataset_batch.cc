#include <algorithm>
#include <cstring>

#include "data/dataset_node.h"
#include "ir/op.h"
#include "ir/sink.h"

namespace espalier {
namespace {

// Raises what batch says of element `number` unless it is as the first; `alike` compares two types.
template <class Alike>
void require_alike(const char* step, const std::vector<Tensors>& elements, const Alike& alike,
                   const std::string& what, const char* fix) {
  const Tensors& first = elements[0];
  for (size_t number = 1; number < elements.size(); ++number) {
    const Tensors& element = elements[number];
    if (element.size() != first.size()) {
      throw ShapeError(cat(step, ".shape"),
                       cat("elements of a batch must have as many tensors: element 0 is ", types_text(first),
                           ", element ", number, " is ", types_text(element)));
    }
    for (size_t i = 0; i < first.size(); ++i) {
      const TensorType &a = first[i].type(), &b = element[i].type();
      const std::string both =
          cat("tensor ", i, " of element 0 is ", a, ", of element ", number, " it is ", b);
      if (a.dtype != b.dtype)
        throw DTypeError(cat(step, ".dtype"), cat("elements of a batch must have the same dtypes: ", both));
      if (!alike(a.shape, b.shape))
        throw ShapeError(cat(step, ".shape"),
                         cat("elements of a batch must have the same ", what, ": ", both), fix);
    }
  }
}

Tensor make_array(const TensorType& row, size_t rows, Buffer& buffer) {
  TensorType type = row;
  type.shape.insert(0, static_cast<int64_t>(rows));
  check_type(type);
  buffer = allocate_buffer(type.bytes());
  return make_concrete(Literal(std::move(type), buffer));
}

Tensors stacked(const std::vector<Tensors>& elements) {
  require_alike(
      "batch", elements, [](const Shape& a, const Shape& b) { return a == b; }, "shapes",
      "padded_batch() fills up shorter ones");
  Tensors out;
  for (size_t i = 0; i < elements[0].size(); ++i) {
    const TensorType& row = elements[0][i].type();
    Buffer buffer;
    out.push_back(make_array(row, elements.size(), buffer));
    std::byte* to = buffer.get();
    for (const Tensors& element : elements) {
      if (row.bytes() > 0) std::memcpy(to, element[i].bytes(), row.bytes());
      to += row.bytes();
    }
  }
  return out;
}

// Copies `from` to the begin of every axis of an array of the larger shape `to`.
void copy_corner(const std::byte* from, const Shape& from_shape, std::byte* to, const Shape& to_shape,
                 size_t element_bytes) {
  const size_t rank = from_shape.size();
  if (num_elements(from_shape) == 0) return;
  const size_t run = rank ? static_cast<size_t>(from_shape[rank - 1]) * element_bytes : element_bytes;
  std::vector<int64_t> at(rank, 0);
  while (true) {
    int64_t place = 0;
    for (size_t axis = 0; axis < rank; ++axis) place = place * to_shape[axis] + at[axis];
    std::memcpy(to + static_cast<size_t>(place) * element_bytes, from, run);
    from += run;
    size_t axis = rank < 2 ? 0 : rank - 1;
    while (axis > 0 && ++at[axis - 1] == from_shape[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

Tensors padded(const std::vector<Tensors>& elements, const std::vector<Operand>& values) {
  require_alike(
      "padded_batch", elements, [](const Shape& a, const Shape& b) { return a.size() == b.size(); }, "ranks",
      "");
  const Tensors& first = elements[0];
  if (!values.empty() && values.size() != first.size())
    throw ValueError("padded_batch.padding_values",
                     cat("there must be one for each of ", first.size(), " tensors, got ", values.size()));
  Tensors out;
  for (size_t i = 0; i < first.size(); ++i) {
    TensorType row = first[i].type();
    for (const Tensors& element : elements) {
      for (size_t axis = 0; axis < row.rank(); ++axis)
        row.shape[axis] = std::max(row.shape[axis], element[i].shape()[axis]);
    }
    const Tensor value = (values.empty() ? Operand(0) : values[i]).as(row.dtype);
    if (value.type() != TensorType{row.dtype, {}})
      throw ValueError("padded_batch.padding_values",
                       cat("that of tensor ", i, " must be one ", row.dtype, ", got ", value.type()));
    Buffer buffer;
    out.push_back(make_array(row, elements.size(), buffer));
    const size_t element_bytes = size_of(row.dtype);
    fill_elements(buffer.get(), value.bytes(), element_bytes, out.back().type().elements());
    std::byte* to = buffer.get();
    for (const Tensors& element : elements) {
      copy_corner(static_cast<const std::byte*>(element[i].bytes()), element[i].shape(), to, row.shape,
                  element_bytes);
      to += row.bytes();
    }
  }
  return out;
}

class BatchNode final : public DatasetStep {
 public:
  using Join = std::function<Tensors(const std::vector<Tensors>&)>;
  BatchNode(DatasetNodePtr input, const char* name, int64_t size, bool drop_remainder, bool pads, Join join,
            Location at)
      : DatasetStep(std::move(input), at),
        name_(name),
        size_(size),
        drops_(drop_remainder),
        pads_(pads),
        join_(std::move(join)) {
    if (size < 1) throw ValueError(cat(name, ".size"), cat("size must be positive, got ", size));
    mark(name, {size, drop_remainder});
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override;
  int64_t cardinality() const override {
    const int64_t all = input().cardinality();
    return all < 0 ? all : batches(all);
  }
  std::string text() const override { return cat(input().text(), ".", name_, "(", size_, ")"); }
  std::optional<ShardedBatches> sharded_batches() const override {
    std::optional<ShardedBatches> out = input().sharded_batches();
    // How far padded_batch() fills up follows from all elements of a batch.
    if (!out || out->batch > 0 || pads_) return std::nullopt;
    out->batch = size_;
    out->drops = drops_;
    out->join = [join = join_, at = at()](const std::vector<Tensors>& elements) {
      const CallScope scope(at);
      return join(elements);
    };
    return out;
  }

  int64_t batches(int64_t elements) const {
    return elements / size_ + (drops_ || elements % size_ == 0 ? 0 : 1);
  }
  int64_t size() const { return size_; }
  bool drops() const { return drops_; }
  Tensors join(const std::vector<Tensors>& elements) const {
    const CallScope scope(at());
    return join_(elements);
  }

 private:
  const char* name_;
  int64_t size_;
  bool drops_, pads_;
  Join join_;
};

class Batch final : public ElementIterator {
 public:
  Batch(ElementIteratorPtr input, const BatchNode& node) : input_(std::move(input)), node_(node) {}
  bool next(Tensors& element) override {
    elements_.clear();
    for (Tensors one; static_cast<int64_t>(elements_.size()) < node_.size() && input_->next(one);)
      elements_.push_back(std::move(one));
    if (node_.batches(static_cast<int64_t>(elements_.size())) == 0) return false;
    element = node_.join(elements_);
    elements_.clear();
    return true;
  }
  int64_t skip(int64_t count) override {
    return node_.batches(input_->skip(saturating_product(count, node_.size())));
  }

  void save(DatasetCursor& out) override { input_->save(out); }
  void restore(CursorReader& from) override { input_->restore(from); }

 private:
  ElementIteratorPtr input_;
  const BatchNode& node_;
  std::vector<Tensors> elements_;
};

ElementIteratorPtr BatchNode::iterate(const DatasetPass& pass) const {
  return std::make_unique<Batch>(input().iterate(pass), *this);
}

}  // namespace

Dataset Dataset::batch(int64_t size, BatchOptions options, Location at) const {
  const CallScope scope(at);
  return make<BatchNode>(node(), "batch", size, options.drop_remainder, false, stacked, at);
}

Dataset Dataset::padded_batch(int64_t size, PaddedBatchOptions options, Location at) const {
  const CallScope scope(at);
  const auto join = [values = std::move(options.padding_values)](const std::vector<Tensors>& elements) {
    return padded(elements, values);
  };
  return make<BatchNode>(node(), "padded_batch", size, options.drop_remainder, true, join, at);
}

}  // namespace espalier
