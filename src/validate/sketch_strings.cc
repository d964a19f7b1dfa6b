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
constexpr uint64_t kMostStep = 64;
constexpr std::string_view kLarge = "__LARGE_BYTES__";

}  // namespace

TextCounts::TextCounts(size_t most, size_t bytes, bool weighted)
    : most_(most),
      most_bytes_(bytes),
      weighted_(weighted),
      cell_shift_(std::countl_zero(4 * std::bit_ceil(most)) + 1) {
  put({}, kFirstTextSlots);
}

std::string TextCounts::text_of(const Slot& slot) const {
  if (slot.key().is_short()) return slot.key().text();
  return slot.size > kLongestText ? std::string(kLarge) : texts_.substr(slot.offset, slot.size);
}

void TextCounts::add(std::span<const std::string_view> texts, const char* origin) {
  // Slots are too many to be at hand when they are asked for.
  constexpr size_t kGroup = 128;
  std::array<Text, kGroup> group;
  for (; !texts.empty(); texts = texts.subspan(std::min(kGroup, texts.size()))) {
    const size_t size = std::min(kGroup, texts.size());
    for (size_t i = 0; i < size; ++i) {
      const SketchKey key = SketchKey::of(texts[i], origin);
      group[i] = {key, key.hash(), texts[i]};
      __builtin_prefetch(&tags_[group[i].hash & (slots_.size() - 1)]);
      if (forgotten_ > 0) __builtin_prefetch(&passed_[cell(group[i].hash)], 1);
    }
    for (size_t i = 0; i < size; ++i) {
      const size_t at = group[i].hash & (slots_.size() - 1);
      const bool held = tags_[at] == tag_of(group[i].hash), comes = passed(group[i].hash) >= forgotten_;
      __builtin_prefetch(held | comes ? static_cast<const void*>(&slots_[at]) : &tags_[at], 1);
    }
    for (size_t i = 0; i < size; ++i) add(group[i], 0);
  }
}

// Makes room for a new text; the slot where it goes.
size_t TextCounts::insert(const Text& text) {
  if (used_ >= room(most_) || texts_.size() + kept_bytes(text.key) > room(most_bytes_)) {
    if (forgotten_ == 0) note(text.hash);
    forget();
  }
  return place(text, passed(text.hash));
}

std::vector<size_t> TextCounts::used_slots() const {
  std::vector<size_t> out;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].count) out.push_back(i);
  }
  return out;
}

size_t TextCounts::place(const Text& text, uint64_t missed) {
  if (2 * (used_ + 1) > slots_.size()) put(used_slots(), 2 * slots_.size());
  const size_t at = slot(text);
  slots_[at] = {text.key.low, text.key.high, 0, missed, text.key.size, static_cast<uint32_t>(texts_.size())};
  tags_[at] = tag_of(text.hash);
  texts_ += text.text.substr(0, kept_bytes(text.key));
  ++used_;
  return at;
}

// Anew, of these slots alone.
void TextCounts::put(const std::vector<size_t>& kept, size_t size) {
  const std::vector<Slot> slots = std::move(slots_);
  const std::vector<FixedWeight> weights = std::move(weights_);
  const std::string texts = std::move(texts_);
  slots_.assign(size, {});
  tags_.assign(size, 0);
  weights_.assign(weighted_ ? size : 0, 0);
  texts_.clear();
  used_ = kept.size();
  for (const size_t from : kept) {
    const uint64_t hash = slots[from].key().hash();
    size_t at = hash & (size - 1);
    while (tags_[at] != 0) at = (at + 1) & (size - 1);
    slots_[at] = slots[from];
    tags_[at] = tag_of(hash);
    if (weighted_) weights_[at] = weights[from];
    slots_[at].offset = static_cast<uint32_t>(texts_.size());
    texts_.append(texts, slots[from].offset, kept_bytes(slots[from].key()));
  }
}

// Leaves those of which the most may be, a quarter of the room at most; of equally frequent ones all or none.
// What is forgotten then is up to twice as frequent as before.
void TextCounts::forget() {
  if (forgotten_ == 0) {
    note_all(*this);
    passed_.assign(size_t{1} << (64 - cell_shift_), 0);
  }
  const auto most = [](const Slot& slot) { return slot.count + slot.missed; };
  struct Held {
    size_t count = 0, bytes = 0;
  };
  std::map<uint64_t, Held, std::greater<>> by_most;
  for (const Slot& slot : slots_) {
    if (slot.count == 0) continue;
    Held& held = by_most[most(slot)];
    ++held.count;
    held.bytes += kept_bytes(slot.key());
  }
  Held kept;
  for (const auto& [times, held] : by_most) {
    kept.count += held.count;
    kept.bytes += held.bytes;
    if (kept.count <= most_ / 4 && kept.bytes <= most_bytes_ / 4) continue;
    // By steps of one, ids that occur once would be held and forgotten again and again.
    forgotten_ = std::max(times, forgotten_ + std::min(forgotten_, kMostStep));
    break;
  }
  std::vector<size_t> order = used_slots();
  std::erase_if(order, [&](size_t i) {
    if (most(slots_[i]) > forgotten_) return false;
    uint16_t& passed = passed_[cell(slots_[i].key().hash())];
    passed = std::max(passed, static_cast<uint16_t>(std::min(most(slots_[i]), kMostPassed)));
    return true;
  });
  put(order, std::max(kFirstTextSlots, std::bit_ceil(2 * room(most_))));
}

void TextCounts::keep(uint64_t hash) {
  hashes_.push_back(hash);
  if (hashes_.size() >= 2 * most_hashes()) shorten();
}

void TextCounts::note_all(const TextCounts& other) {
  for (const Slot& slot : other.slots_) {
    if (slot.count) note(slot.key().hash());
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
  for (Slot& slot : slots_) slot.missed += slot.count ? other.passed(slot.key().hash()) : 0;
  for (size_t i = 0; i < other.slots_.size(); ++i) {
    const Slot& theirs = other.slots_[i];
    if (theirs.count == 0) continue;
    const std::string_view kept = other.texts_;
    const Text text{theirs.key(), theirs.key().hash(), kept.substr(theirs.offset, kept_bytes(theirs.key()))};
    size_t at = slot(text);
    if (tags_[at] == 0)
      at = place(text, theirs.missed + passed(text.hash));
    else
      slots_[at].missed += theirs.missed - other.passed(text.hash);
    slots_[at].count += theirs.count;
    if (weighted_) weights_[at] += other.weights_[i];
  }
  forgotten_ += other.forgotten_;
  if (passed_.empty())
    passed_ = other.passed_;
  else
    std::ranges::transform(passed_, other.passed_, passed_.begin(), [](uint64_t mine, uint64_t theirs) {
      return static_cast<uint16_t>(std::min(mine + theirs, kMostPassed));
    });
}

void TextCounts::write(SketchWriter& out) const {
  std::vector<size_t> order = used_slots();
  std::ranges::sort(order, {}, [&](size_t i) {
    return std::tuple(slots_[i].key().hash(), slots_[i].size, text_of(slots_[i]));
  });
  out.number(order.size());
  for (const size_t i : order) {
    const Slot& slot = slots_[i];
    out.number(slot.count);
    out.number(slot.missed);
    out.number(slot.size);
    if (slot.size > kLongestText)
      out.number(slot.low);
    else
      out.text(text_of(slot));
    if (weighted_) out.wide(weights_[i]);
  }
  out.number(forgotten_);
  for (const uint16_t passed : passed_) out.number(passed);
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
    Text text{};
    if (size > kLongestText) {
      text.key = {.low = in.number(), .size = static_cast<uint32_t>(size)};
    } else {
      text.text = in.text();
      text.key = SketchKey::of(text.text);
      in.check(text.text.size() == size);
    }
    text.hash = text.key.hash();
    in.check(tags_[slot(text)] == 0);
    const size_t at = place(text, missed);
    slots_[at].count = count;
    if (weighted_) weights_[at] = in.weight();
  }
  forgotten_ = in.number();
  if (forgotten_ > 0) passed_.resize(size_t{1} << (64 - cell_shift_));
  for (uint16_t& passed : passed_) {
    const uint64_t count = in.number();
    in.check(count <= std::min(forgotten_, kMostPassed));
    passed = static_cast<uint16_t>(count);
  }
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
    const std::string first = text_of(slots_[a]), second = text_of(slots_[b]);
    return first != second ? first > second : slots_[a].low > slots_[b].low;
  };
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(), before);
  std::vector<TextCount> out;
  for (size_t i = 0; i < count; ++i) {
    const Slot& slot = slots_[order[i]];
    out.push_back({text_of(slot), slot.count, slot.missed, weighted_ ? weight_value(weights_[order[i]]) : 0});
  }
  return out;
}

}  // namespace espalier
