#include "data/dataset_source.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "data/shard_order.h"

namespace espalier {
namespace {

constexpr int64_t kMostShards = 1 << 16;
constexpr int64_t kMostShardElements = int64_t{1} << 62;

// One shard in one pass; opened when it is needed.
class ShardReader {
 public:
  ShardReader(const SourceNode& node, int64_t shard, uint64_t pass)
      : node_(node), shard_(shard), pass_(pass) {}

  int64_t shard() const { return shard_; }
  int64_t elements() const { return elements_; }

  std::optional<Tensors> next() {
    std::optional<Tensors> out = call("next", [&] { return source().next(); });
    if (out) ++elements_;
    changed_ = changed_ || out;
    return out;
  }
  // REQUIRES: count > 0.
  int64_t skip(int64_t count) {
    const int64_t skipped = call("skip", [&] { return source().skip(count); });
    if (skipped < 0 || skipped > count)
      throw ValueError(rule("skip"), cat("skip(", count, ") of ", shard_text(), " returned ", skipped));
    elements_ = saturating_sum(elements_, skipped);
    changed_ = true;
    return skipped;
  }
  ShardState save() {
    if (changed_) bytes_ = call("save", [&] { return source().save(); });
    changed_ = false;
    return {shard_, elements_, bytes_};
  }
  void restore(const ShardState& state) {
    if (state.elements < 0 || state.elements > kMostShardElements)
      throw ValueError("dataset.restore",
                       cat("the state is behind ", state.elements, " elements of ", shard_text()));
    if (!state.steps.empty())
      throw ValueError("dataset.restore", cat("the state has places of steps in ", shard_text(),
                                              ", and no step here works shard by shard"));
    if (state.bytes) {
      call("restore", [&] { source().restore(*state.bytes); });
      elements_ = state.elements;
      bytes_ = state.bytes;
    } else if (state.elements > 0) {
      require_restored(shard_text().c_str(), state.elements, skip(state.elements));
    }
  }

 private:
  std::string rule(const char* function) const { return cat(node_.format().name, ".", function); }
  std::string shard_text() const { return cat("shard ", shard_, " of ", node_.format().shards); }

  DataSource& source() {
    if (source_) return *source_;
    source_ = call("open", [&] { return node_.open()({shard_, node_.format().shards}, pass_); });
    if (!source_) throw ValueError(rule("function"), cat("the function gave no source for ", shard_text()));
    return *source_;
  }

  template <class F>
  auto call(const char* function, F&& f) -> decltype(f()) {
    const CallScope scope(node_.at());
    if (!node_.format().users) return f();
    try {
      return f();
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      std::throw_with_nested(IoError(
          rule(function), cat(shard_text(), " threw behind ",
                              Counted(static_cast<uint64_t>(elements_), "element"), ": ", error.what())));
    }
  }

  const SourceNode& node_;
  int64_t shard_;
  uint64_t pass_;
  std::unique_ptr<DataSource> source_;
  int64_t elements_ = 0;
  std::optional<std::string> bytes_;  // of the place, unless that has changed
  bool changed_ = false;
};

class SourceElements final : public ElementIterator {
 public:
  SourceElements(const SourceNode& node, uint64_t pass)
      : node_(node),
        signature_rule_(cat(node.format().name, ".signature")),
        signature_(signature_rule_.c_str()) {
    for (const int64_t shard : node.owned()) {
      order_.add(shard, 0);
      readers_.emplace_back(node, shard, pass);
    }
  }

  bool next(Tensors& element) override {
    while (!order_.empty()) {
      std::optional<Tensors> given = reader(order_.shard()).next();
      if (!given) {
        order_.ends();
        if (order_.empty()) check_all();
        continue;
      }
      if (node_.format().users || node_.format().shards > 1) {
        const CallScope scope(node_.at());
        check_element(*given, "the source");
        signature_.check(*given, number_++);
      }
      order_.gives();
      element = std::move(*given);
      return true;
    }
    return false;
  }

  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    while (skipped < count && !order_.empty()) {
      for (const ShardOrder::Part& part : order_.parts(count - skipped)) {
        const int64_t passed = reader(part.shard).skip(part.elements);
        order_.gives(part, passed);
        skipped += passed;
      }
    }
    return skipped;
  }

  void save(DatasetCursor& out) override {
    SourceState& state = out.sources.emplace_back();
    state.shards = node_.format().shards;
    for (ShardReader& reader : readers_) state.owned.push_back(reader.save());
  }

  void restore(CursorReader& from) override {
    const SourceState& state = from.source();
    node_.require_shards(state);
    order_ = {};
    std::map<int64_t, const ShardState*> places;
    for (const ShardState& one : state.owned) places[one.shard] = &one;
    for (ShardReader& reader : readers_) {
      const auto found = places.find(reader.shard());
      if (found == places.end())
        throw ValueError("dataset.restore",
                         cat("the state has no place for shard ", reader.shard(), " of ", state.shards));
      reader.restore(*found->second);
      order_.add(reader.shard(), reader.elements());
    }
  }

 private:
  ShardReader& reader(int64_t shard) {
    const auto& owned = node_.owned();
    return readers_[static_cast<size_t>(std::lower_bound(owned.begin(), owned.end(), shard) - owned.begin())];
  }

  void check_all() const {
    if (!node_.owns_all()) return;
    int64_t all = 0;
    for (const ShardReader& reader : readers_) all = saturating_sum(all, reader.elements());
    node_.require_elements(all);
  }

  const SourceNode& node_;
  ShardOrder order_;
  std::vector<ShardReader> readers_;
  std::string signature_rule_;
  ElementSignature signature_;
  int64_t number_ = 0;
};

std::vector<int64_t> all_shards(int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), int64_t{0});
  return out;
}

int64_t checked_shards(const SourceFormat& format) {
  if (format.shards < 1 || format.shards > kMostShards)
    throw ValueError(cat(format.name, ".shards"),
                     cat("shards must be from 1 to ", kMostShards, ", got ", format.shards));
  return format.shards;
}

}  // namespace

int64_t DataSource::skip(int64_t count) {
  int64_t skipped = 0;
  while (skipped < count && next()) ++skipped;
  return skipped;
}

std::optional<std::string> DataSource::save() { return std::nullopt; }

void DataSource::restore(std::string_view) {
  throw StateError("from_source.restore", "this source gave bytes of its place and takes none",
                   "override restore() as well as save()");
}

std::vector<int64_t> owned_shards(int64_t shards, int64_t rank, int64_t ranks, Location at) {
  const CallScope scope(at);
  if (shards < 1) throw ValueError("owned_shards.shards", cat("shards must be positive, got ", shards));
  if (ranks < 1) throw ValueError("owned_shards.ranks", cat("ranks must be positive, got ", ranks));
  if (rank < 0 || rank >= ranks)
    throw ValueError("owned_shards.rank", cat("rank ", rank, " is outside of [0, ", ranks, ")"));
  const auto first = [&](int64_t of) { return shards / ranks * of + (shards % ranks) * of / ranks; };
  std::vector<int64_t> out;
  for (int64_t shard = first(rank); shard < first(rank + 1); ++shard) out.push_back(shard);
  return out;
}

void ElementSignature::check(const Tensors& element, int64_t number) {
  if (number == 0) {
    first_ = types_of(element);
    return;
  }
  bool ranks = element.size() == first_.size(), dtypes = true;
  for (size_t i = 0; ranks && i < element.size(); ++i) {
    ranks = element[i].rank() == first_[i].rank();
    dtypes = dtypes && element[i].dtype() == first_[i].dtype;
  }
  if (ranks && dtypes) return;
  const std::string both =
      cat("the first is ", types_text(first_), ", number ", number, " is ", types_text(element));
  if (!ranks) throw ShapeError(rule_, cat("elements must have as many tensors of the same ranks: ", both));
  throw DTypeError(rule_, cat("elements must have the same dtypes: ", both));
}

SourceNode::SourceNode(OpenSource open, SourceFormat format, Location at)
    : SourceNode(std::move(open), format, all_shards(checked_shards(format)), at) {
  if (format_.elements && *format_.elements < 0)
    throw ValueError(cat(format_.name, ".elements"),
                     cat("elements must not be negative, got ", *format_.elements));
}

SourceNode::SourceNode(OpenSource open, SourceFormat format, std::vector<int64_t> owned, Location at)
    : DatasetNode({}, at), open_(std::move(open)), format_(std::move(format)), owned_(std::move(owned)) {
  if (!open_) throw ValueError(cat(format_.name, ".function"), "the function is empty");
  make_seekable();
  mark(format_.name);
}

ElementIteratorPtr SourceNode::iterate(const DatasetPass& pass) const {
  return std::make_unique<SourceElements>(*this, pass.number);
}

void SourceNode::require_elements(int64_t all) const {
  if (!format_.elements || all == *format_.elements) return;
  const CallScope scope(at());
  throw ValueError(
      cat(format_.name, ".elements"),
      cat("a pass must give ", *format_.elements, " elements, as the options say, it has ended with ", all));
}

void SourceNode::require_shards(const SourceState& state) const {
  if (state.shards == format_.shards) return;
  throw ValueError("dataset.restore",
                   cat("the state is of a source in ", Counted(static_cast<uint64_t>(state.shards), "shard"),
                       ", ", text(), " has ", format_.shards),
                   cat("set shards to ", state.shards));
}

std::optional<ShardedBatches> SourceNode::sharded_batches() const {
  if (!owns_all() || cardinality() == 0) return std::nullopt;
  const auto source = std::make_shared<const SourceNode>(open_, format_, owned_, at());
  return ShardedBatches{.source = source, .elements = source};
}

int64_t SourceNode::cardinality() const {
  if (owned_.empty() || format_.elements == 0) return 0;
  return owns_all() ? format_.elements.value_or(Dataset::kUnknown) : Dataset::kUnknown;
}

std::string SourceNode::text() const {
  return cat(format_.name, "(", format_.text, owns_all() ? "" : cat(", ", owned_.size(), " of them read"),
             ")");
}

DatasetNodePtr SourceNode::read_shards(int64_t count, const std::vector<int64_t>& owned) const {
  if (!owns_all()) return DatasetNode::read_shards(count, owned);
  if (count != format_.shards)
    throw ValueError("read_shards.count",
                     cat(text(), " has ", format_.shards, " shards, they are read as some of ", count),
                     cat("set its shards to ", count));
  return std::make_shared<SourceNode>(open_, format_, owned, at());
}

Dataset Dataset::from_source(OpenSource open, SourceOptions options, Location at) {
  const CallScope scope(at);
  return make<SourceNode>(
      std::move(open),
      SourceFormat{"from_source", cat(options.shards, " shards"), options.shards, options.elements, true},
      at);
}

Dataset Dataset::read_shards(int64_t count, const std::vector<int64_t>& owned, Location at) const {
  const CallScope scope(at);
  if (count < 1 || count > kMostShards)
    throw ValueError("read_shards.count", cat("count must be from 1 to ", kMostShards, ", got ", count));
  std::vector<int64_t> sorted = owned;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] < 0 || sorted[i] >= count)
      throw ValueError("read_shards.owned", cat("shard ", sorted[i], " is outside of [0, ", count, ")"));
    if (i > 0 && sorted[i] == sorted[i - 1])
      throw ValueError("read_shards.owned", cat("shard ", sorted[i], " is named twice"));
  }
  return Dataset(node()->read_shards(count, sorted));
}

}  // namespace espalier
