#include "validate/sketch_strings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

namespace espalier {
namespace {

constexpr size_t kFirstTextSlots = 64;
constexpr std::string_view kLarge = "__LARGE_BYTES__";

}  // namespace

TextCounts::TextCounts(size_t most, size_t bytes, bool weighted)
    : most_(most), most_bytes_(bytes), weighted_(weighted) {
  put({}, kFirstTextSlots);
}

std::string_view TextCounts::text_of(const Slot& slot) const {
  return slot.size > kLongestText ? kLarge : std::string_view(texts_).substr(slot.offset, slot.size);
}

void TextCounts::add(std::span<const std::string_view> texts) {
  // Slots are too many to be at hand when they are asked for.
  constexpr size_t kGroup = 32;
  std::array<uint64_t, kGroup> hashes;
  for (size_t begin = 0; begin < texts.size(); begin += kGroup) {
    const std::span group = texts.subspan(begin, std::min(kGroup, texts.size() - begin));
    for (size_t i = 0; i < group.size(); ++i) {
      hashes[i] = hash_text(group[i]);
      __builtin_prefetch(&slots_[hashes[i] & (slots_.size() - 1)], 1);
    }
    for (size_t i = 0; i < group.size(); ++i) add(hashes[i], group[i], 0);
  }
}

// Makes room for a new text; the slot where it goes.
size_t TextCounts::insert(uint64_t hash, std::string_view text) {
  const size_t bytes = text.size() > kLongestText ? 0 : text.size();
  if (used_ >= most_ || texts_.size() + bytes > most_bytes_) forget();
  if (forgotten_ > 0) note(hash);
  return place(hash, text.size(), text, forgotten_);
}

std::vector<size_t> TextCounts::used_slots() const {
  std::vector<size_t> out;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].count) out.push_back(i);
  }
  return out;
}

size_t TextCounts::place(uint64_t hash, size_t size, std::string_view text, uint64_t missed) {
  if (2 * (used_ + 1) > slots_.size()) put(used_slots(), 2 * slots_.size());
  const size_t at = slot(hash, size, text);
  slots_[at] = {hash, 0, missed, static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(size)};
  if (size <= kLongestText) texts_ += text;
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

// Leaves those of which the most may be, half of the room at most; of equally frequent ones all or none.
void TextCounts::forget() {
  if (forgotten_ == 0) note_all(*this);
  const auto most = [](const Slot& slot) { return slot.count + slot.missed; };
  const auto bytes_of = [](const Slot& slot) { return slot.size > kLongestText ? 0 : slot.size; };
  struct Held {
    size_t count = 0, bytes = 0;
  };
  std::map<uint64_t, Held, std::greater<>> by_most;
  for (const Slot& slot : slots_) {
    if (slot.count == 0) continue;
    Held& held = by_most[most(slot)];
    ++held.count;
    held.bytes += bytes_of(slot);
  }
  Held kept;
  for (const auto& [times, held] : by_most) {
    kept.count += held.count;
    kept.bytes += held.bytes;
    if (kept.count <= most_ / 2 && kept.bytes <= most_bytes_ / 2) continue;
    forgotten_ = times;
    break;
  }
  std::vector<size_t> order = used_slots();
  std::erase_if(order, [&](size_t i) { return most(slots_[i]) <= forgotten_; });
  put(order, slots_.size());
}

void TextCounts::note(uint64_t hash) {
  if (hash > largest_) return;
  hashes_.push_back(hash);
  if (hashes_.size() >= 2 * most_hashes()) shorten();
}

void TextCounts::note_all(const TextCounts& other) {
  for (const Slot& slot : other.slots_) {
    if (slot.count) note(slot.hash);
  }
}

void TextCounts::shorten() {
  std::sort(hashes_.begin(), hashes_.end());
  hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
  if (hashes_.size() < most_hashes()) return;
  hashes_.resize(most_hashes());
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
    const std::string_view text = other.text_of(theirs);
    size_t at = slot(theirs.hash, theirs.size, text);
    if (slots_[at].count == 0)
      at = place(theirs.hash, theirs.size, text, theirs.missed + forgotten_);
    else
      slots_[at].missed += theirs.missed - other.forgotten_;
    slots_[at].count += theirs.count;
    if (weighted_) weights_[at] += other.weights_[i];
  }
  forgotten_ += other.forgotten_;
}

void TextCounts::write(SketchWriter& out) const {
  std::vector<size_t> order = used_slots();
  std::ranges::sort(order, {},
                    [&](size_t i) { return std::tuple(slots_[i].hash, slots_[i].size, text_of(slots_[i])); });
  out.number(order.size());
  for (const size_t i : order) {
    const Slot& slot = slots_[i];
    out.number(slot.count);
    out.number(slot.missed);
    out.number(slot.size);
    if (slot.size > kLongestText)
      out.number(slot.hash);
    else
      out.text(text_of(slot));
    if (weighted_) out.wide(weights_[i]);
  }
  out.number(forgotten_);
  TextCounts copy(most_, 0, false);
  copy.hashes_ = hashes_;
  copy.largest_ = largest_;
  copy.shorten();
  out.number(copy.largest_);
  out.number(copy.hashes_.size());
  for (const uint64_t hash : copy.hashes_) out.number(hash);
}

void TextCounts::read(SketchReader& in) {
  for (uint64_t left = in.count(25); left > 0; --left) {
    const uint64_t count = in.number(), missed = in.number(), size = in.number();
    in.check(count > 0 && count <= kMostCount && missed <= kMostCount && size <= ~uint32_t{0});
    const bool large = size > kLongestText;
    const uint64_t large_hash = large ? in.number() : 0;
    const std::string_view text = large ? kLarge : in.text();
    in.check(large || text.size() == size);
    const uint64_t hash = large ? large_hash : hash_text(text);
    in.check(slots_[slot(hash, size, text)].count == 0);
    const size_t at = place(hash, size, text, missed);
    slots_[at].count = count;
    if (weighted_) weights_[at] = in.weight();
  }
  forgotten_ = in.number();
  largest_ = in.number();
  hashes_.resize(in.count(8));
  for (uint64_t& hash : hashes_) hash = in.number();
  in.check(forgotten_ <= kMostCount && hashes_.size() <= 2 * most_hashes());
}

uint64_t TextCounts::distinct() const {
  if (exact()) return used_;
  TextCounts copy(most_, 0, false);
  copy.hashes_ = hashes_;
  copy.largest_ = largest_;
  copy.shorten();
  if (copy.hashes_.size() < most_hashes()) return copy.hashes_.size();
  const double share = std::ldexp(static_cast<double>(copy.largest_), -64);
  return static_cast<uint64_t>(std::llround(static_cast<double>(most_hashes() - 1) / share));
}

double TextCounts::distinct_error() const {
  return exact() ? 0 : 1 / std::sqrt(static_cast<double>(most_hashes() - 2));
}

std::vector<TextCount> TextCounts::top(size_t count, bool by_weight) const {
  std::vector<size_t> order = used_slots();
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
