#include <algorithm>
#include <deque>

#include "base/philox.h"
#include "data/sharded_step.h"
#include "espalier/source.h"

namespace espalier {
namespace {

// Numbers of rows in memory.
struct RowNumbers {
  using Kept = int64_t;
  const SlicesNode& rows;
  int64_t now = 0;
  bool next(int64_t& number) {
    if (now == rows.cardinality()) return false;
    number = now++;
    return true;
  }
  void give(int64_t number, Tensors& element) const { rows.row(number, element); }
  void save(const std::vector<int64_t>&, DatasetCursor&) const {}
  void forget_some(const std::vector<int64_t>&) const {}
  int64_t restore_all(CursorReader&) const { return rows.cardinality(); }
  std::vector<int64_t> restore(std::vector<int64_t> numbers, int64_t read, CursorReader&) {
    now = read;
    return numbers;
  }
};

// Elements with their numbers. Where places may be saved, the input's places on the way are kept, as
// far back as to the oldest element in the buffer: a restored iterator reads from there what waited in it.
class ShuffledElements {
 public:
  struct Kept {
    int64_t number = 0;
    Tensors element;
  };
  ShuffledElements(ElementIteratorPtr input, bool seeks, int64_t size)
      : input_(std::move(input)), seeks_(seeks), gap_(std::max<int64_t>(size / 16, 1)) {}

  bool next(Kept& kept) {
    if (ended_) return false;
    keep_place_if_due();
    if (!input_->next(kept.element)) {
      ended_ = true;
      return false;
    }
    kept.number = now_++;
    return true;
  }
  static void give(Kept&& kept, Tensors& element) { element = std::move(kept.element); }
  void save(const std::vector<Kept>& buffer, DatasetCursor& out) {
    out.steps.push_back(ended_ ? now_ : -1);
    if (buffer.empty()) {
      out.steps.push_back(now_);
      return input_->save(out);
    }
    forget(buffer);
    out.steps.push_back(places_[0].number);
    out.append(places_[0].cursor);
  }
  // How many elements there are, if that was seen; else -1.
  int64_t restore_all(CursorReader& from) {
    const int64_t all = from.number("shuffle", -1, std::numeric_limits<int64_t>::max());
    ended_ = all >= 0;
    return all;
  }
  // What is in the buffer after `read` elements, by their numbers.
  std::vector<Kept> restore(const std::vector<int64_t>& numbers, int64_t read, CursorReader& from) {
    const int64_t oldest = numbers.empty() ? read : *std::min_element(numbers.begin(), numbers.end());
    now_ = from.number("shuffle", 0, oldest);
    input_->restore(from);
    keep_place();
    std::vector<std::pair<int64_t, size_t>> order;
    for (size_t i = 0; i < numbers.size(); ++i) order.emplace_back(numbers[i], i);
    std::sort(order.begin(), order.end());
    std::vector<Kept> out(numbers.size());
    for (const auto& [number, place] : order) {
      go_to(number);
      keep_place_if_due();
      out[place].number = number;
      if (!input_->next(out[place].element)) require_restored("what shuffle() reads", number + 1, number);
      ++now_;
    }
    go_to(read);
    return out;
  }
  // Places before the oldest element of the buffer, when there may be many.
  void forget_some(const std::vector<Kept>& buffer) {
    if (places_.size() < most_places_) return;
    forget(buffer);
    most_places_ = 2 * places_.size() + 16;
  }

 private:
  struct Place {
    int64_t number;
    DatasetCursor cursor;
  };
  void keep_place_if_due() {
    if (seeks_ && now_ % gap_ == 0 && (places_.empty() || places_.back().number < now_)) keep_place();
  }
  void keep_place() {
    Place place{now_, {}};
    input_->save(place.cursor);
    places_.push_back(std::move(place));
  }
  void forget(const std::vector<Kept>& buffer) {
    int64_t oldest = now_;
    for (const Kept& kept : buffer) oldest = std::min(oldest, kept.number);
    while (places_.size() > 1 && places_[1].number <= oldest) places_.pop_front();
  }
  // Over the places that would have been kept on the way, so that what is saved then is the same.
  void go_to(int64_t number) {
    while (now_ < number) {
      keep_place_if_due();
      const int64_t next = std::min(number, (now_ / gap_ + 1) * gap_);
      require_restored("what shuffle() reads", next, now_ + input_->skip(next - now_));
      now_ = next;
    }
  }

  ElementIteratorPtr input_;
  bool seeks_, ended_ = false;
  int64_t gap_, now_ = 0;
  std::deque<Place> places_;
  size_t most_places_ = 32;
};

template <class Source>
class Shuffle final : public ElementIterator {
 public:
  using Kept = typename Source::Kept;
  Shuffle(Source source, int64_t size, Philox random)
      : source_(std::move(source)), size_(static_cast<size_t>(size)), random_(random) {}

  bool next(Tensors& element) override {
    Kept kept;
    if (!take(kept)) return false;
    source_.give(std::move(kept), element);
    return true;
  }
  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    for (Kept kept; skipped < count && take(kept);) ++skipped;
    return skipped;
  }
  void save(DatasetCursor& out) override {
    out.steps.push_back(given_);
    source_.save(buffer_, out);
  }
  // What is in the buffer follows from the draws, which are made again with numbers alone.
  void restore(CursorReader& from) override {
    given_ = from.number("shuffle", 0, std::numeric_limits<int64_t>::max());
    const int64_t all = source_.restore_all(from);
    if (all >= 0) require_restored("what shuffle() reads", given_, std::min(given_, all));
    std::vector<int64_t> numbers;
    int64_t read = 0;
    for (int64_t i = 0; i < given_; ++i) {
      while (numbers.size() < size_ && read != all) numbers.push_back(read++);
      std::swap(numbers[random_.below(numbers.size())], numbers.back());
      numbers.pop_back();
    }
    buffer_ = source_.restore(std::move(numbers), read, from);
  }

 private:
  bool take(Kept& out) {
    Kept next;
    while (buffer_.size() < size_ && source_.next(next)) buffer_.push_back(std::move(next));
    if (buffer_.empty()) return false;
    source_.forget_some(buffer_);
    std::swap(buffer_[random_.below(buffer_.size())], buffer_.back());
    out = std::move(buffer_.back());
    buffer_.pop_back();
    ++given_;
    return true;
  }

  Source source_;
  size_t size_;
  Philox random_;
  std::vector<Kept> buffer_;
  int64_t given_ = 0;
};

// Of one shard, whose place holds that of the shuffle: how many elements it has given, then the two numbers
// of ShuffledElements and how many its input had given at the place that stands there.
class ShardShuffle final : public ElementIterator {
 public:
  ShardShuffle(DataShard shard, Shuffle<ShuffledElements> shuffle)
      : shard_(shard), shuffle_(std::move(shuffle)) {}

  bool next(Tensors& element) override { return shuffle_.next(element); }
  int64_t skip(int64_t count) override { return shuffle_.skip(count); }
  void save(DatasetCursor& out) override {
    DatasetCursor cursor;
    shuffle_.save(cursor);
    ShardState state = std::move(cursor.sources.at(0).owned.at(0));
    const std::vector<int64_t> own{cursor.steps.at(1), cursor.steps.at(2), state.elements};
    state.steps.insert(state.steps.begin(), own.begin(), own.end());
    state.elements = cursor.steps.at(0);
    out.sources.push_back({shard_.count, {std::move(state)}});
  }
  void restore(CursorReader& from) override {
    const ShardState& place = place_of_shard(from.source(), shard_.count, shard_.index);
    if (place.steps.size() < 3)
      throw ValueError("dataset.restore",
                       cat("the state has no place for the shuffle of shard ", shard_.index));
    ShardState input{shard_.index, place.steps[2], place.bytes, {place.steps.begin() + 3, place.steps.end()}};
    const DatasetState own{.steps = {place.elements, place.steps[0], place.steps[1]},
                           .sources = {{shard_.count, {std::move(input)}}}};
    CursorReader reader(own);
    shuffle_.restore(reader);
    reader.end();
  }

 private:
  const DataShard shard_;
  Shuffle<ShuffledElements> shuffle_;
};

class ShuffleNode final : public ShardedStep {
 public:
  ShuffleNode(DatasetNodePtr input, int64_t size, ShuffleOptions options, Location at)
      : ShardedStep(std::move(input), at), size_(size), options_(options), place_(depth()) {
    if (size < 1) throw ValueError("shuffle.buffer_size", cat("buffer_size must be positive, got ", size));
    describe();
  }
  ShuffleNode(const ShuffleNode& like, DatasetNodePtr input)
      : ShardedStep(std::move(input), like.at()),
        size_(like.size_),
        options_(like.options_),
        place_(like.place_) {
    describe();
  }
  ShuffleNode(const ShuffleNode& whole, const std::vector<int64_t>& owned)
      : ShardedStep(whole, owned), size_(whole.size_), options_(whole.options_), place_(whole.place_) {
    describe();
  }
  std::string text() const override { return cat(input().text(), ".shuffle(", size_, ")"); }

 protected:
  DatasetNodePtr over(DatasetNodePtr input) const override {
    return std::make_shared<ShuffleNode>(*this, std::move(input));
  }
  DatasetNodePtr over_some(const std::vector<int64_t>& owned) const override {
    return std::make_shared<ShuffleNode>(*this, owned);
  }
  ElementIteratorPtr iterate_all(const DatasetPass& pass) const override {
    const Philox random(seed(pass), number(pass));
    if (const auto* rows = dynamic_cast<const SlicesNode*>(&input()))
      return std::make_unique<Shuffle<RowNumbers>>(RowNumbers{*rows}, size_, random);
    return std::make_unique<Shuffle<ShuffledElements>>(
        ShuffledElements(input().iterate(pass), pass.seeks, size_), size_, random);
  }
  ElementIteratorPtr iterate_shard(int64_t shard, const DatasetPass& pass) const override {
    const int64_t size = (size_ - 1) / shards() + 1;
    const Philox random(hash_combine(seed(pass), static_cast<uint64_t>(shard)), number(pass));
    return std::make_unique<ShardShuffle>(
        DataShard{shard, shards()},
        Shuffle<ShuffledElements>(ShuffledElements(input().iterate(pass), pass.seeks, size), size, random));
  }

 private:
  void describe() {
    if (options_.reshuffle_each_iteration) vary_order();
    if (!options_.seed) follow_seed();
    mark(shards() > 1 ? "shuffle of shards" : "shuffle",
         {size_, options_.reshuffle_each_iteration, options_.seed.has_value(),
          static_cast<int64_t>(options_.seed.value_or(0))});
  }
  // Another order for each shuffle of a dataset.
  uint64_t seed(const DatasetPass& pass) const {
    return hash_combine(options_.seed.value_or(pass.seed), static_cast<uint64_t>(place_));
  }
  uint64_t number(const DatasetPass& pass) const {
    return options_.reshuffle_each_iteration ? pass.number : 0;
  }

  int64_t size_;
  ShuffleOptions options_;
  int64_t place_;  // among the steps of the dataset that the user made
};

}  // namespace

Dataset Dataset::shuffle(int64_t buffer_size, ShuffleOptions options, Location at) const {
  const CallScope scope(at);
  return make<ShuffleNode>(node(), buffer_size, options, at);
}

}  // namespace espalier
