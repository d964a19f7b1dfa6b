#include "validate/sketch_strings.h"

#include <algorithm>
#include <cmath>

namespace espalier {
namespace {

constexpr size_t kFirstSlots = 64;
constexpr std::string_view kLarge = "__LARGE_BYTES__";

}  // namespace

TextCounts::TextCounts(size_t most, size_t bytes, bool weighted)
    : most_(most), most_bytes_(bytes), weighted_(weighted) {
  put({}, kFirstSlots);
}

std::string_view TextCounts::text_of(const Slot& slot) const {
  return slot.size > kLongestText ? kLarge : std::string_view(texts_).substr(slot.offset, slot.size);
}

// Makes room for a new text; the slot where it goes.
size_t TextCounts::insert(uint64_t hash, std::string_view text) {
  const size_t bytes = text.size() > kLongestText ? 0 : text.size();
  if (used_ >= most_ || texts_.size() + bytes > most_bytes_) forget();
  if (forgotten_ > 0) note(hash);
  return place(hash, text, forgotten_);
}

size_t TextCounts::place(uint64_t hash, std::string_view text, uint64_t missed) {
  if (2 * (used_ + 1) > slots_.size()) {
    std::vector<size_t> all;
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].count) all.push_back(i);
    }
    put(all, 2 * slots_.size());
  }
  const size_t at = slot(hash, text);
  slots_[at] = {hash, 0, missed, static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(text.size())};
  if (text.size() <= kLongestText) texts_ += text;
  ++used_;
  return at;
}

// Anew, of these slots alone.
void TextCounts::put(const std::vector<size_t>& kept, size_t size) {
  const std::vector<Slot> slots = std::move(slots_);
  const std::vector<FixedWeight> weights = std::move(weights_);
  const std::string texts = std::move(texts_);
  slots_.assign(size, {});
  weights_.assign(weighted_ ? size : 0, 0);
  texts_.clear();
  used_ = kept.size();
  for (const size_t from : kept) {
    size_t at = slots[from].hash & (size - 1);
    while (slots_[at].count != 0) at = (at + 1) & (size - 1);
    slots_[at] = slots[from];
    if (weighted_) weights_[at] = weights[from];
    if (slots[from].size > kLongestText) continue;
    slots_[at].offset = static_cast<uint32_t>(texts_.size());
    texts_.append(texts, slots[from].offset, slots[from].size);
  }
}

// Leaves those of which the most may be, half of the room at most.
void TextCounts::forget() {
  if (forgotten_ == 0) note_all(*this);
  std::vector<size_t> order;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].count) order.push_back(i);
  }
  const auto most = [&](size_t i) { return slots_[i].count + slots_[i].missed; };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return most(a) != most(b) ? most(a) > most(b) : slots_[a].hash < slots_[b].hash;
  });
  size_t kept = 0, bytes = 0;
  for (; kept < order.size() && kept < most_ / 2; ++kept) {
    bytes += slots_[order[kept]].size > kLongestText ? 0 : slots_[order[kept]].size;
    if (bytes > most_bytes_ / 2) break;
  }
  if (kept < order.size()) {
    forgotten_ = most(order[kept]);
    while (kept > 0 && most(order[kept - 1]) <= forgotten_) --kept;
  }
  order.resize(kept);
  put(order, slots_.size());
}

void TextCounts::note(uint64_t hash) {
  if (hash > largest_) return;
  hashes_.push_back(hash);
  if (hashes_.size() >= 2 * most_) shorten();
}

void TextCounts::note_all(const TextCounts& other) {
  for (const Slot& slot : other.slots_) {
    if (slot.count) note(slot.hash);
  }
}

void TextCounts::shorten() {
  std::sort(hashes_.begin(), hashes_.end());
  hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
  if (hashes_.size() < most_) return;
  hashes_.resize(most_);
  largest_ = hashes_.back();
}

void TextCounts::merge(const TextCounts& other) {
  if (forgotten_ > 0 || other.forgotten_ > 0) {
    if (forgotten_ == 0) note_all(*this);
    for (const uint64_t hash : other.hashes_) note(hash);
    if (other.forgotten_ == 0) note_all(other);
  }
  // What one does not hold it may have forgotten.
  for (Slot& slot : slots_) slot.missed += slot.count ? other.forgotten_ : 0;
  for (size_t i = 0; i < other.slots_.size(); ++i) {
    const Slot& theirs = other.slots_[i];
    if (theirs.count == 0) continue;
    std::string_view text = std::string_view(other.texts_).substr(theirs.offset, theirs.size);
    const std::string large = theirs.size > kLongestText ? std::string(theirs.size, '\0') : "";
    if (!large.empty()) text = large;
    size_t at = slot(theirs.hash, text);
    if (slots_[at].count == 0)
      at = place(theirs.hash, text, theirs.missed + forgotten_);
    else
      slots_[at].missed += theirs.missed - other.forgotten_;
    slots_[at].count += theirs.count;
    if (weighted_) weights_[at] += other.weights_[i];
  }
  forgotten_ += other.forgotten_;
}

uint64_t TextCounts::distinct() const {
  if (exact()) return used_;
  TextCounts copy(most_, 0, false);
  copy.hashes_ = hashes_;
  copy.largest_ = largest_;
  copy.shorten();
  if (copy.hashes_.size() < most_) return copy.hashes_.size();
  const double share = std::ldexp(static_cast<double>(copy.largest_), -64);
  return static_cast<uint64_t>(std::llround(static_cast<double>(most_ - 1) / share));
}

double TextCounts::distinct_error() const {
  return exact() ? 0 : 1 / std::sqrt(static_cast<double>(most_ - 2));
}

std::vector<TextCount> TextCounts::top(size_t count, bool by_weight) const {
  std::vector<size_t> order;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].count) order.push_back(i);
  }
  const auto before = [&](size_t a, size_t b) {
    if (by_weight && weights_[a] != weights_[b]) return weights_[a] > weights_[b];
    if (!by_weight && slots_[a].count != slots_[b].count) return slots_[a].count > slots_[b].count;
    const std::string_view first = text_of(slots_[a]), second = text_of(slots_[b]);
    return first != second ? first > second : slots_[a].hash > slots_[b].hash;
  };
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(), before);
  std::vector<TextCount> out;
  for (size_t i = 0; i < count; ++i) {
    const Slot& slot = slots_[order[i]];
    out.push_back({std::string(text_of(slot)), slot.count, slot.missed,
                   weighted_ ? weight_value(weights_[order[i]]) : 0});
  }
  return out;
}

}  // namespace espalier
