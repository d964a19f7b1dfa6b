#include "data/own_batches.h"

#include <algorithm>
#include <utility>

#include "ir/sink.h"

namespace espalier {
namespace {

constexpr int64_t kEnded = -1;
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

// Of places of several readers.
uint64_t own_layout() { return hash_text("per_worker"); }

int64_t own_rows_of(const Tensors& element) {
  for (const Tensor& tensor : element)
    if (tensor.rank() == 0 || tensor.size(0) != element[0].size(0))
      throw ShapeError(
          "strategy.batch",
          cat("an element of a worker's own data is its rows of a batch, got ", types_text(element)),
          "a dataset's elements are batches: .batch(32)");
  return element[0].size(0);
}

}  // namespace

OwnBatches::OwnBatches(const Dataset& dataset, uint64_t seed, uint64_t iteration, bool repeats,
                       Readers readers)
    : dataset_(dataset),
      repeats_(repeats),
      readers_(std::move(readers)),
      now_{.seed = seed, .iteration = iteration},
      own_(iterator_of_pass()) {
  const bool endless = dataset.cardinality() == Dataset::kInfinite;
  const std::vector<Given> all = of_all({endless, 0});
  for (size_t reader = 0; reader < all.size(); ++reader) {
    if (all[reader].rows == all[0].rows) continue;
    const size_t with = all[0].rows ? 0 : reader, without = reader - with;
    throw ValueError(
        "strategy.data",
        cat("the data of worker ", with, " have no end, and those of worker ", without, " have one"),
        "repeat() both or neither; take() as many batches as are meant");
  }
}

uint64_t OwnBatches::iteration_of_pass() const {
  return repeats_ ? repeated_pass(now_.iteration, pass_) : now_.iteration;
}

DatasetIterator OwnBatches::iterator_of_pass() const {
  DatasetIterator out(dataset_, iteration_of_pass());
  if (out.save().seed != now_.seed) out.restore({.seed = now_.seed, .iteration = iteration_of_pass()});
  return out;
}

void OwnBatches::begin_pass() {
  own_ = iterator_of_pass();
  elements_in_pass_ = 0;
}

auto OwnBatches::of_all(const Given& mine) const -> std::vector<Given> {
  if (readers_.count == 1) return {mine};
  std::string own;
  append(own, mine.rows);
  append(own, static_cast<int64_t>(mine.types));
  const std::string all = readers_.gather("rows of workers", own);
  std::vector<Given> out;
  for (std::string_view left = all; !left.empty();) {
    const int64_t rows = take(left);
    out.push_back({rows, static_cast<uint64_t>(take(left))});
  }
  return out;
}

void OwnBatches::agree_on_types(const std::vector<TensorType>& own) {
  const std::vector<std::string> all = readers_.texts("types of rows", packed(own));
  const std::string* first = nullptr;
  for (const std::string& types : all) {
    if (types.empty()) continue;
    if (!first) first = &types;
    if (types == *first) continue;
    throw ShapeError("batch.shape",
                     cat("rows of a batch must have the same types: of worker ", first - all.data(),
                         " they are ", types_text(types_in(*first)), ", of worker ", &types - all.data(), " ",
                         types_text(types_in(types))));
  }
  types_ = types_in(*first);
  types_hash_ = hash_text(*first);
}

std::optional<OwnBatches::Part> OwnBatches::next() {
  while (true) {
    std::optional<Tensors> element = own_.next();
    std::vector<TensorType> types;
    Given mine{kEnded, 0};
    if (element) {
      mine.rows = own_rows_of(*element);
      types = row_types(*element);
      mine.types = hash_text(packed(types));
    }
    const std::vector<Given> all = of_all(mine);
    if (std::ranges::all_of(all, [](const Given& one) { return one.rows == kEnded; })) {
      if (!repeats_ || elements_in_pass_ == 0) return std::nullopt;
      ++pass_;
      begin_pass();
      continue;
    }
    ++now_.elements;
    ++elements_in_pass_;
    if (std::ranges::any_of(all, [&](const Given& one) { return one.types && one.types != types_hash_; }))
      agree_on_types(types);
    Part out;
    for (size_t reader = 0; reader < all.size(); ++reader) {
      out.of_readers.push_back(std::max<int64_t>(all[reader].rows, 0));
      if (std::cmp_less(reader, readers_.rank)) out.first += out.of_readers.back();
    }
    if (element) {
      out.rows = std::move(*element);
      return out;
    }
    for (const TensorType& type : types_) {
      TensorType none = type;
      none.shape.insert(0, 0);
      out.rows.push_back(make_concrete(Literal(none, allocate_buffer(0))));
    }
    return out;
  }
}

DatasetState OwnBatches::save() const {
  DatasetState out = now_;
  out.layout = own_layout();
  out.steps = {readers_.count, pass_, elements_in_pass_};
  for (const std::string& place : readers_.texts("places of workers", packed(own_.save()))) {
    DatasetState theirs = state_in(place);
    const auto size = [](const auto& list) { return static_cast<int64_t>(list.size()); };
    for (const int64_t number :
         {theirs.elements, static_cast<int64_t>(theirs.layout), size(theirs.steps), size(theirs.sources)})
      out.steps.push_back(number);
    out.steps.insert(out.steps.end(), theirs.steps.begin(), theirs.steps.end());
    std::ranges::move(theirs.sources, std::back_inserter(out.sources));
  }
  return out;
}

void OwnBatches::restore(const DatasetState& state) {
  now_ = {.seed = state.seed, .iteration = state.iteration};
  pass_ = 0;
  if (state.steps.empty() && state.sources.empty() && state.layout == 0) {
    begin_pass();
    while (now_.elements < state.elements)
      if (!next()) require_restored("the dataset", state.elements, now_.elements);
    return;
  }
  CursorReader reader(state);
  const int64_t count =
      state.layout == own_layout() ? reader.number("the number of workers", 1, kMost) : int64_t{0};
  if (count != readers_.count)
    throw ValueError(
        "dataset.restore",
        count == 0 ? cat("the state is of data that all workers have, and ", dataset_, " are a worker's own")
                   : cat("the state has the places of ", Counted(static_cast<uint64_t>(count), "worker"),
                         ", each in data of its own, and here are ", readers_.count),
        count == 0 ? "" : "start as many as there were");
  now_.elements = state.elements;
  pass_ = reader.number("passes", 0, repeats_ ? kMost : 0);
  const int64_t elements_in_pass = reader.number("elements of the pass", 0, kMost);
  DatasetState own{.seed = state.seed, .iteration = iteration_of_pass()};
  for (int64_t of = 0; of < count; ++of) {
    DatasetState theirs = own;
    theirs.elements = reader.number("a worker", 0, kMost);
    theirs.layout = static_cast<uint64_t>(reader.number("a worker", kLeast, kMost));
    const int64_t steps = reader.number("a worker", 0, std::ssize(state.steps));
    const int64_t sources = reader.number("a worker", 0, std::ssize(state.sources));
    for (int64_t i = 0; i < steps; ++i) theirs.steps.push_back(reader.number("a worker", kLeast, kMost));
    for (int64_t i = 0; i < sources; ++i) theirs.sources.push_back(reader.source());
    if (of == readers_.rank) own = std::move(theirs);
  }
  reader.end();
  begin_pass();
  elements_in_pass_ = elements_in_pass;
  own_.restore(own);
}

namespace {

class PerWorkerNode final : public DatasetStep {
 public:
  PerWorkerNode(DatasetNodePtr input, Location at) : DatasetStep(std::move(input), at) {
    be_per_worker();
    mark("per_worker");
  }
  ElementIteratorPtr iterate(const DatasetPass& pass) const override { return input().iterate(pass); }
  DatasetNodePtr read_shards(int64_t count, const std::vector<int64_t>& owned) const override {
    return std::make_shared<PerWorkerNode>(shards_of_input(count, owned), at());
  }
  std::string text() const override { return cat("per_worker(", input().text(), ")"); }
};

}  // namespace

Dataset Dataset::per_worker(const Dataset& dataset, Location at) {
  const CallScope scope(at);
  return make<PerWorkerNode>(dataset.node(), at);
}

}  // namespace espalier
