// How often each of many texts occurs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "validate/sketch_bytes.h"
#include "validate/sketch_values.h"

namespace espalier {

// A text with what is known of its count: it occurs at least `count` times and at most `count` + `missed`.
struct TextCount {
  std::string text;
  uint64_t count = 0, missed = 0;
  double weight = 0;  // of the `count`
};

// Counts of texts. Exact while they are few enough; then the rarest are forgotten time and again (lossy
// counting: Manku and Motwani, 2002), and how many there are is estimated from the smallest hashes
// (Bar-Yossef and others, 2002). A text that is longer than kLongestText is known by its hash alone.
// What it holds then depends on the order of the texts; merging is commutative and associative, and keeps
// what both hold.
class TextCounts {
 public:
  static constexpr size_t kLongestText = 1024;

  // Room for `most` texts of together `bytes` bytes, and for half as many hashes.
  TextCounts(size_t most, size_t bytes, bool weighted);

  void add(std::string_view text, FixedWeight weight = 0) { add(hash_text(text), text, weight); }
  // All of these. REQUIRES: not weighted.
  void add(std::span<const std::string_view> texts);
  // REQUIRES: both were made with the same arguments.
  void merge(const TextCounts& other);

  // As bytes, which are equal for equal counts. read() REQUIRES: nothing was added, and the same arguments;
  // raises FormatError[sketch.*].
  void write(SketchWriter& out) const;
  void read(SketchReader& in);

  bool exact() const { return forgotten_ == 0; }
  // How many there are; when not exact, an estimate whose deviation is distinct_error() of it.
  uint64_t distinct() const;
  double distinct_error() const;
  // A text that is not held occurs at most so often.
  uint64_t forgotten() const { return forgotten_; }
  // The most frequent ones (by weight if so), the larger of two that are equally frequent first.
  std::vector<TextCount> top(size_t count, bool by_weight) const;

 private:
  struct Slot {
    uint64_t hash = 0, count = 0, missed = 0;
    uint32_t offset = 0, size = 0;
  };
  // Of a text that is longer than kLongestText, hash and size are all that counts.
  bool equals(const Slot& slot, uint64_t hash, size_t size, std::string_view text) const {
    if (slot.hash != hash || slot.size != size) return false;
    return size > kLongestText || std::string_view(texts_).substr(slot.offset, size) == text;
  }
  size_t slot(uint64_t hash, size_t size, std::string_view text) const {
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].count != 0 && !equals(slots_[at], hash, size, text))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void add(uint64_t hash, std::string_view text, FixedWeight weight) {
    size_t at = slot(hash, text.size(), text);
    if (slots_[at].count == 0) at = insert(hash, text);
    ++slots_[at].count;
    if (weighted_) weights_[at] += weight;
  }
  std::string_view text_of(const Slot& slot) const;
  size_t insert(uint64_t hash, std::string_view text);
  size_t place(uint64_t hash, size_t size, std::string_view text, uint64_t missed);
  std::vector<size_t> used_slots() const;
  void put(const std::vector<size_t>& kept, size_t size);
  void forget();
  void note(uint64_t hash);
  void note_all(const TextCounts& other);
  void shorten();

  size_t most_hashes() const { return most_ / 2; }

  size_t most_, most_bytes_;
  bool weighted_;
  size_t used_ = 0;
  uint64_t forgotten_ = 0;
  std::vector<Slot> slots_;
  std::vector<FixedWeight> weights_;
  std::string texts_;
  // When something was forgotten: hashes of texts, those beyond the least ones left out.
  std::vector<uint64_t> hashes_;
  uint64_t largest_ = ~uint64_t{0};
};

}  // namespace espalier
