#include "espalier/dataset.h"

#include <algorithm>
#include <exception>

#include "data/dataset_node.h"
#include "eager/trace.h"
#include "espalier/random.h"

namespace espalier {

DatasetNode::DatasetNode(const std::vector<const DatasetNode*>& inputs, Location at)
    : inputs_(inputs), at_(at) {
  constexpr int64_t kDeepest = 4096, kMost = 1 << 16;
  for (const DatasetNode* input : inputs) {
    depth_ = std::max(depth_, input->depth_ + 1);
    nodes_ += input->nodes_;
    order_varies_ = order_varies_ || input->order_varies_;
    count_varies_ = count_varies_ || input->count_varies_;
    seeks_ = seeks_ || input->seeks_;
    per_worker_ = per_worker_ || input->per_worker_;
    follows_seed_ = follows_seed_ || input->follows_seed_;
    layout_ = inputs.size() == 1 ? input->layout_ : hash_combine(layout_, input->layout_);
  }
  if (nodes_ > kMost)
    throw UnsupportedError("dataset.depth",
                           cat("a dataset has at most ", kMost, " steps, counted wherever they stand"));
  if (depth_ > kDeepest)
    throw UnsupportedError("dataset.depth", cat("a dataset has at most ", kDeepest, " steps one on another"));
}

DatasetNodePtr DatasetNode::read_shards(int64_t, const std::vector<int64_t>&) const {
  throw ValueError("read_shards.dataset",
                   cat("in ", text(), " the elements of shards are mixed, or have no shards"),
                   "call read_shards() behind from_source(), from_files() or from_tensor_slices(), or map(), "
                   "shuffle(), cache(), prefetch() and repeat() of them");
}

uint64_t DatasetNode::contents() const {
  uint64_t out = own_contents();
  for (const DatasetNode* input : inputs_) out = hash_combine(out, input->contents());
  return out;
}

void DatasetNode::require_layout(const DatasetState& state) const {
  if (state.layout == 0 || state.layout == layout()) return;
  throw ValueError("dataset.restore",
                   cat("the state is of a dataset of other steps, rows or seeds than ", text()),
                   "restore it into the dataset that it was saved of");
}

int64_t ElementIterator::skip(int64_t count) {
  int64_t skipped = 0;
  for (Tensors element; skipped < count && next(element);) ++skipped;
  return skipped;
}

int64_t saturating_product(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

void check_element(const Tensors& element, const char* maker) {
  if (element.empty()) throw ValueError("dataset.element", cat(maker, " gave an element without a tensor"));
  for (size_t i = 0; i < element.size(); ++i) {
    if (!element[i].defined() || !element[i].concrete())
      throw ValueError("dataset.element", cat(maker, " gave an element whose tensor ", i, " has no data"));
  }
}

std::string types_text(const std::vector<TensorType>& types) {
  std::string out;
  for (const TensorType& type : types) out += cat(out.empty() ? "" : ", ", type);
  return out;
}

std::string types_text(const Tensors& element) { return types_text(types_of(element)); }

std::vector<TensorType> types_of(const Tensors& element) {
  std::vector<TensorType> out;
  for (const Tensor& tensor : element) out.push_back(tensor.type());
  return out;
}

std::vector<TensorType> row_types(const Tensors& arrays) {
  std::vector<TensorType> out = types_of(arrays);
  for (TensorType& type : out) type.shape.erase(0);
  return out;
}

int64_t common_rows(const std::string& rule, const Tensors& arrays, const std::string& where) {
  bool fits = !arrays.empty();
  for (const Tensor& array : arrays) fits = fits && array.rank() > 0;
  for (const Tensor& array : arrays) fits = fits && array.size(0) == arrays[0].size(0);
  if (fits) return arrays[0].size(0);
  throw ShapeError(rule, cat(where, "all tensors must have one row per element: ",
                             arrays.empty() ? "there is none" : types_text(arrays)));
}

const std::shared_ptr<const DatasetNode>& Dataset::node() const {
  if (!node_) throw StateError("dataset.undefined", "this dataset holds nothing", "assign it before use");
  return node_;
}

int64_t Dataset::cardinality(Location at) const {
  const CallScope scope(at);
  return node()->cardinality();
}
DatasetRange Dataset::begin(Location at) const { return {DatasetIterator(*this, at), at}; }
std::string to_string(const Dataset& dataset, Location at) {
  const CallScope scope(at);
  return dataset.node()->text();
}

struct DatasetIterator::Inside {
  Inside(std::shared_ptr<const DatasetNode> dataset, const DatasetState& state)
      : node(std::move(dataset)),
        now(state),
        elements(node->iterate({now.seed, now.iteration, node->seeks()})) {}
  std::shared_ptr<const DatasetNode> node;
  DatasetState now;
  ElementIteratorPtr elements;
  std::exception_ptr error;
};

namespace {

uint64_t default_seed() {
  const EagerScope eager;
  return default_generator().key().item<uint64_t>();
}

}  // namespace

DatasetIterator::DatasetIterator(const Dataset& dataset, Location at)
    : DatasetIterator(dataset, (CallScope(at), dataset.node()->next_iteration()), at) {}

DatasetIterator::DatasetIterator(const Dataset& dataset, uint64_t iteration, Location at) {
  const CallScope scope(at);
  const EagerScope eager;
  inside_ = std::make_unique<Inside>(dataset.node(), DatasetState{default_seed(), iteration});
}

DatasetIterator::DatasetIterator(DatasetIterator&&) noexcept = default;
DatasetIterator& DatasetIterator::operator=(DatasetIterator&&) noexcept = default;
DatasetIterator::~DatasetIterator() = default;

std::optional<Tensors> DatasetIterator::next(Location at) {
  const CallScope scope(at);
  if (inside_->error) std::rethrow_exception(inside_->error);
  const EagerScope eager;
  try {
    Tensors element;
    if (!inside_->elements->next(element)) return std::nullopt;
    ++inside_->now.elements;
    return element;
  } catch (...) {
    inside_->error = std::current_exception();
    throw;
  }
}

DatasetState DatasetIterator::save(Location at) const {
  const CallScope scope(at);
  DatasetState out = inside_->now;
  out.layout = inside_->node->layout();
  if (!inside_->node->seeks() || inside_->error) return out;
  const EagerScope eager;
  DatasetCursor cursor;
  inside_->elements->save(cursor);
  out.steps = std::move(cursor.steps);
  out.sources = std::move(cursor.sources);
  return out;
}

void DatasetIterator::restore(const DatasetState& state, Location at) {
  const CallScope scope(at);
  const EagerScope eager;
  if (state.elements < 0)
    throw ValueError("dataset.restore",
                     cat("the number of elements must not be negative, got ", state.elements));
  inside_->node->require_layout(state);
  auto restored =
      std::make_unique<Inside>(inside_->node, DatasetState{state.seed, state.iteration, state.elements});
  if (!state.steps.empty() || !state.sources.empty()) {
    if (!restored->node->seeks())
      throw ValueError("dataset.restore", cat("the state is of a dataset with sources or files, ",
                                              restored->node->text(), " has none"));
    CursorReader reader(state);
    restored->elements->restore(reader);
    reader.end();
    inside_ = std::move(restored);
    return;
  }
  const int64_t skipped = restored->elements->skip(state.elements);
  if (skipped != state.elements) {
    throw ValueError("dataset.restore", cat("the state is of an iterator that had given ", state.elements,
                                            " elements, ", restored->node->text(), " gives ", skipped));
  }
  inside_ = std::move(restored);
}

}  // namespace espalier
