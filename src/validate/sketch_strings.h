// How often each of many texts occurs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/sketch_bytes.h"
#include "validate/sketch_distinct.h"
#include "validate/sketch_key.h"
#include "validate/sketch_tags.h"
#include "validate/sketch_values.h"
#include "validate/text_keys.h"

namespace espalier {

// A text with what is known of its count: it occurs at least `count` times and at most `count` + `missed`.
struct TextCount {
  std::string text;
  uint64_t count = 0, missed = 0;
  double weight = 0;  // of the `count`
};

// Counts of texts. Exact while they are few enough; then the rarest are forgotten time and again, and a text
// that is not held is only counted together with all whose hashes share a cell, until it may be more frequent
// than what was forgotten (filtered space-saving: Homem and Carvalho, 2010). How many there are is estimated
// from then on. A text that is longer than kLongestText is known by its hash alone. What it holds then
// depends on the order of the texts; merging is commutative and associative, and keeps what both hold.
class TextCounts {
 public:
  static constexpr size_t kLongestText = 1024;

  // Room for `most` texts of together `bytes` bytes; when some were forgotten for half of them, but no more
  // than 2,048: what is asked for time and again stays at hand. And for four to eight times `most` cells.
  TextCounts(size_t most, size_t bytes, bool weighted);

  // So many times the same; once, if it has a weight.
  void add(std::string_view text, FixedWeight weight = 0, uint64_t times = 1) {
    const SketchKey key = SketchKey::of(text);
    add({key, key.hash(), text}, weight, times);
  }
  // All of these. REQUIRES: not weighted.
  void add(TextPlaces texts);
  // REQUIRES: both were made with the same arguments.
  void merge(const TextCounts& other);

  // As bytes, which are equal for equal counts. read() REQUIRES: nothing was added, and the same arguments;
  // raises FormatError[sketch.*].
  void write(SketchWriter& out) const;
  void read(SketchReader& in);

  bool exact() const { return forgotten_ == 0; }
  // How many there are; when not exact, an estimate whose deviation is distinct_error() of it.
  uint64_t distinct() const;
  double distinct_error() const { return exact() ? 0 : DistinctHashes::error(); }
  // A text that is not held occurs at most so often.
  uint64_t forgotten() const { return forgotten_; }
  // The most frequent ones (by weight if so), the larger of two that are equally frequent first.
  std::vector<TextCount> top(size_t count, bool by_weight) const;

 private:
  struct Text {
    SketchKey key;
    uint64_t hash;
    std::string_view text;  // not of one that is longer than kLongestText
  };
  struct alignas(32) Slot {
    uint64_t low = 0, high = 0, count = 0;
    // One that is free is no text's. The offset is of one that is not short.
    uint32_t size = ~uint32_t{0}, offset = 0;
    SketchKey key() const { return {low, high, size}; }
  };
  // The bytes that are kept besides the slot.
  static size_t kept_bytes(const SketchKey& key) {
    return key.is_short() || key.size > kLongestText ? 0 : key.size;
  }
  bool equals(const Slot& slot, const Text& text) const {
    if (!(slot.key() == text.key)) return false;
    const size_t size = kept_bytes(text.key);
    return size == 0 || std::memcmp(texts_.data() + slot.offset, text.text.data(), size) == 0;
  }
  size_t home(uint64_t hash) const { return home_of(hash, slots_.size()); }
  // Where the text is, or is to go.
  size_t slot(const Text& text) const {
    for (size_t at = home(text.hash);; at = (at + kTagGroup) & (slots_.size() - 1)) {
      const auto behind = [&](uint32_t tags) { return at + static_cast<size_t>(std::countr_zero(tags)); };
      for (uint32_t same = equal_tags(&tags_[at], tag_of(text.hash)); same != 0; same &= same - 1) {
        if (equals(slots_[behind(same)], text)) return behind(same);
      }
      const uint32_t free = equal_tags(&tags_[at], 0);
      if (free != 0) return behind(free);
    }
  }
  bool holds(size_t at) const { return tags_[at] != 0; }
  void add(const Text& text, FixedWeight weight, uint64_t times = 1) {
    size_t at = slot(text);
    if (!holds(at)) {
      for (; forgotten_ > 0 && times > 0 && passes(text.hash); --times) {
      }
      if (times == 0) return;
      at = insert(text);
    }
    slots_[at].count += times;
    if (weighted_) weights_[at] += weight;
  }
  struct Group;
  static void read(Group& group);
  void find(Group& group);
  void pass(Group& group);
  void add_others(Group& group);
  void move(const Group& group, size_t at);
  size_t cell(uint64_t hash) const { return hash >> cell_shift_; }
  // Whether a text that is not held is as rare as those forgotten; then it is counted in its cell.
  bool passes(uint64_t hash) {
    distinct_->note(hash);
    uint16_t& passed = passed_[cell(hash)];
    const bool passes = passed < std::min<uint64_t>(forgotten_, kMostPassed);
    passed = static_cast<uint16_t>(passed + passes);
    return passes;
  }
  // What a text that is not held may have at most.
  uint64_t passed(uint64_t hash) const {
    if (forgotten_ == 0) return 0;
    const uint64_t passed = passed_[cell(hash)];
    return passed < kMostPassed ? passed : forgotten_;
  }
  std::string text_of(const Slot& slot) const;
  bool is_full(const Text& text) const;
  size_t insert(const Text& text);
  bool is_dense() const { return 2 * (used_ + 1) > slots_.size(); }
  size_t place(const Text& text, uint64_t missed);
  size_t place_at(size_t at, const Text& text, uint64_t missed);
  std::vector<size_t> used_slots() const;
  void put(const std::vector<size_t>& kept, size_t size);
  void forget();
  void note_all(const TextCounts& other);

  static constexpr uint64_t kMostPassed = 0xffff;
  static constexpr size_t kAtHand = 2048;
  size_t parts() const { return std::max<size_t>(2, most_ / kAtHand); }
  size_t room(size_t all) const { return forgotten_ > 0 ? all / parts() : all; }

  size_t most_, most_bytes_;
  bool weighted_;
  size_t used_ = 0;
  uint64_t forgotten_ = 0;
  std::vector<Slot> slots_;
  // Of the slots: some bits of the hash, 0 of none; how many more they may have; weights.
  std::vector<uint8_t> tags_;
  std::vector<uint64_t> missed_;
  std::vector<FixedWeight> weights_;
  std::string texts_;
  // When something was forgotten: occurrences of texts that were not held, by the first bits of their hashes;
  // no text that is not held has more than its cell, but for one of kMostPassed.
  std::vector<uint16_t> passed_;
  int cell_shift_;
  std::optional<DistinctHashes> distinct_;
};

}  // namespace espalier
