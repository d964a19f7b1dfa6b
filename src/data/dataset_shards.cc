#include "data/dataset_shards.h"

#include <algorithm>
#include <map>
#include <utility>

#include "data/dataset_source.h"
#include "eager/trace.h"
#include "ir/sink.h"

namespace espalier {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 62;

}  // namespace

// A batch on its way.
struct SharedBatches::Taken {
  Taken(size_t shards, size_t owned) : of_shards(shards), rows(owned), places(owned) {}
  int64_t count = 0;   // rows of all
  int64_t placed = 0;  // of earlier passes
  std::vector<int64_t> of_shards;
  std::vector<std::vector<Tensors>> rows;          // of owned shards
  std::vector<std::vector<int64_t>> places;        // of those
  std::vector<std::pair<int64_t, int64_t>> turns;  // element and shard of rows of this pass
};

bool SharedBatches::Level::begin() {
  if (passes == count || size == 0) return false;
  ++passes;
  given = 0;
  return begun = true;
}

void SharedBatches::Level::end() {
  size = given;
  begun = false;
}

SharedBatches::SharedBatches(ShardedBatches dataset, uint64_t seed, uint64_t iteration, Readers readers)
    : dataset_(std::move(dataset)),
      readers_(std::move(readers)),
      shards_(dataset_.source->format().shards),
      owned_(owned_shards(shards_, readers_.rank, readers_.count)),
      now_{seed, iteration} {
  for (const int64_t shard : owned_) nodes_.push_back(dataset_.elements->read_shards(shards_, {shard}));
  for (const auto& repeat : dataset_.repeats) elements_from_ += repeat.of_batches;
  begin();
}

void SharedBatches::begin() {
  levels_.clear();
  for (const auto& repeat : dataset_.repeats) levels_.push_back({repeat.count, repeat.size});
  open_.clear();
  order_ = {};
  if (levels_.empty()) open_pass();
}

void SharedBatches::open_pass() {
  uint64_t number = now_.iteration;
  for (const Level& level : levels_) number = repeated_pass(number, level.passes - 1);
  open_.clear();
  for (const DatasetNodePtr& node : nodes_) open_.push_back(node->iterate({now_.seed, number, true}));
  order_ = {};
  for (int64_t shard = 0; shard < shards_; ++shard) order_.add(shard, 0);
  given_.assign(static_cast<size_t>(shards_), 0);
}

bool SharedBatches::next_pass(size_t first, size_t last) {
  for (size_t i = last; i-- > first;) {
    if (levels_[i].begun) levels_[i].end();
    if ((i > 0 && !levels_[i - 1].begun) || !levels_[i].begin()) continue;
    for (size_t inner = i + 1; inner < levels_.size(); ++inner) {
      levels_[inner] = {dataset_.repeats[inner].count, dataset_.repeats[inner].size};
      if (!levels_[inner].begin()) return true;
    }
    open_pass();
    return true;
  }
  return false;
}

void SharedBatches::agree_on_types() {
  if (std::exchange(types_agreed_, true)) return;
  const std::vector<std::string> all = readers_.texts("types of rows", packed(types_));
  const std::string* first = nullptr;
  for (const std::string& types : all) {
    if (types.empty()) continue;
    if (!first) first = &types;
    if (types == *first) continue;
    throw ShapeError("batch.shape",
                     cat("elements of a batch must have the same types: of worker ", first - all.data(),
                         " they are ", types_text(types_in(*first)), ", of worker ", &types - all.data(), " ",
                         types_text(types_in(types))));
  }
  if (first) types_ = types_in(*first);
}

std::vector<int64_t> SharedBatches::given_by_all(const std::vector<int64_t>& own) const {
  if (readers_.count == 1) return own;
  const auto most = static_cast<size_t>((shards_ + readers_.count - 1) / readers_.count);
  std::string mine;
  for (const int64_t given : own) append(mine, given);
  mine.resize(most * sizeof(int64_t));
  const std::string all = readers_.gather("rows of shards", mine);
  std::vector<int64_t> out;
  for (int64_t reader = 0; reader < readers_.count; ++reader) {
    std::string_view theirs = std::string_view(all).substr(static_cast<size_t>(reader) * mine.size());
    const size_t count = owned_shards(shards_, reader, readers_.count).size();
    for (size_t i = 0; i < count; ++i) out.push_back(take(theirs));
  }
  return out;
}

// Rows of one pass have their places in the order of turns.
void SharedBatches::place(Taken& taken) const {
  std::ranges::sort(taken.turns);
  for (const auto& [element, shard] : taken.turns) {
    const auto own = std::ranges::lower_bound(owned_, shard);
    if (own != owned_.end() && *own == shard)
      taken.places[static_cast<size_t>(own - owned_.begin())].push_back(taken.placed);
    ++taken.placed;
  }
  taken.turns.clear();
}

void SharedBatches::fill(Taken& taken) {
  while (taken.count < dataset_.batch) {
    if (order_.empty()) {
      place(taken);
      if (!next_pass(elements_from_, levels_.size())) return;
      continue;
    }
    const std::vector<ShardOrder::Part> parts = order_.parts(dataset_.batch - taken.count);
    std::vector<int64_t> own(owned_.size());
    for (const ShardOrder::Part& part : parts) {
      const auto found = std::ranges::lower_bound(owned_, part.shard);
      if (found == owned_.end() || *found != part.shard) continue;
      const auto i = static_cast<size_t>(found - owned_.begin());
      for (Tensors row; own[i] < part.elements && open_[i]->next(row); ++own[i])
        taken.rows[i].push_back(std::move(row));
    }
    const std::vector<int64_t> gave = given_by_all(own);
    for (const ShardOrder::Part& part : parts) {
      const auto shard = static_cast<size_t>(part.shard);
      order_.gives(part, gave[shard]);
      for (int64_t i = 0; i < gave[shard]; ++i) taken.turns.emplace_back(given_[shard]++, part.shard);
      taken.of_shards[shard] += gave[shard];
      taken.count += gave[shard];
      for (size_t i = elements_from_; i < levels_.size(); ++i) levels_[i].given += gave[shard];
    }
    if (!order_.empty()) continue;
    int64_t all = 0;
    for (const int64_t of_shard : given_) all = saturating_sum(all, of_shard);
    dataset_.source->require_elements(all);
  }
  place(taken);
}

std::optional<SharedBatches::Part> SharedBatches::next() {
  const EagerScope eager;
  if (elements_from_ > 0 && !levels_[elements_from_ - 1].begun && !next_pass(0, elements_from_))
    return std::nullopt;
  while (true) {
    Taken taken(static_cast<size_t>(shards_), owned_.size());
    fill(taken);
    if (taken.count < dataset_.batch && (taken.count == 0 || dataset_.drops)) {
      if (!next_pass(0, elements_from_)) return std::nullopt;
      continue;
    }
    for (size_t i = 0; i < elements_from_; ++i) ++levels_[i].given;
    ++now_.elements;
    Part out;
    std::vector<Tensors> rows;
    for (size_t i = 0; i < owned_.size(); ++i) {
      std::ranges::move(taken.rows[i], std::back_inserter(rows));
      out.places.insert(out.places.end(), taken.places[i].begin(), taken.places[i].end());
    }
    out.of_shards = std::move(taken.of_shards);
    if (!rows.empty()) types_ = types_of(rows[0]);
    agree_on_types();
    if (!rows.empty()) {
      out.rows = dataset_.join(rows);
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

DatasetState SharedBatches::save() const {
  const EagerScope eager;
  DatasetState out = now_;
  for (const Level& level : levels_) {
    for (const int64_t number : {level.passes, level.given, level.size, int64_t{level.begun}})
      out.steps.push_back(number);
    if (!level.begun) return out;
  }
  std::vector<ShardState> own;
  for (const ElementIteratorPtr& iterator : open_) {
    DatasetCursor cursor;
    iterator->save(cursor);
    own.push_back(cursor.sources.at(0).owned.at(0));
  }
  SourceState& source = out.sources.emplace_back(SourceState{shards_, {}});
  for (const std::string& states : readers_.texts("places in shards", packed(own)))
    add_states(states, source.owned);
  return out;
}

void SharedBatches::restore(const DatasetState& state) {
  const EagerScope eager;
  now_ = {state.seed, state.iteration};
  begin();
  if (state.steps.empty() && state.sources.empty()) return skip(state.elements);
  now_.elements = state.elements;
  CursorReader reader(state);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (Level& level : levels_) {
    level.passes = reader.number("repeat", 0, level.count < 0 ? kMost / 2 : level.count);
    level.given = reader.number("repeat", 0, kMost / 2);
    level.size = reader.number("repeat", -1, kMost);
    level.begun = reader.number("repeat", 0, level.passes > 0) == 1;
    if (!level.begun) return reader.end();
  }
  const SourceState& source = reader.source();
  reader.end();
  dataset_.source->require_shards(source);
  open_pass();
  order_ = {};
  std::map<int64_t, const ShardState*> places;
  for (const ShardState& one : source.owned) places[one.shard] = &one;
  for (int64_t shard = 0; shard < shards_; ++shard) {
    const auto found = places.find(shard);
    if (found == places.end() || found->second->elements < 0 || found->second->elements > kMostElements)
      throw ValueError("dataset.restore", cat("the state has no place for shard ", shard, " of ", shards_));
    given_[static_cast<size_t>(shard)] = found->second->elements;
    order_.add(shard, found->second->elements);
  }
  for (size_t i = 0; i < owned_.size(); ++i) {
    const DatasetState own{.sources = {{shards_, {*places.at(owned_[i])}}}};
    CursorReader place(own);
    open_[i]->restore(place);
  }
}

void SharedBatches::skip(int64_t batches) {
  if (!levels_.empty() && elements_from_ > 0 && levels_[0].size > 0) {
    Level& level = levels_[0];
    level.passes = batches / level.size;
    if (level.count >= 0) level.passes = std::min(level.passes, level.count);
    now_.elements = level.passes * level.size;
  }
  while (now_.elements < batches) {
    if (!next()) require_restored("the dataset", batches, now_.elements);
  }
}

}  // namespace espalier
