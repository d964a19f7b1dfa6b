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

// Texts that are looked for together: slots are too many to be at hand when they are asked for.
struct TextCounts::Group {
  // Some of the texts, in order.
  struct Some {
    size_t count = 0;
    std::array<uint8_t, kTextGroup> which;
    bool has(size_t i) const { return std::binary_search(which.begin(), which.begin() + count, i); }
    // In its place.
    void put(size_t i) {
      size_t at = count++;
      for (; at > 0 && which[at - 1] > i; --at) which[at] = which[at - 1];
      which[at] = static_cast<uint8_t>(i);
    }
  };
  Text text(size_t i) const { return {{keys.low[i], keys.high[i], texts.sizes[i]}, keys.hash[i], texts[i]}; }

  TextPlaces texts;
  TextKeys keys;
  std::array<uint32_t, kTextGroup> slots;
  // Those that are not held, and those of them that may be more frequent than what was forgotten.
  Some missing, others;
};

void TextCounts::add(TextPlaces texts) {
  Group group;
  for (; texts.count > 0; texts = texts.part(group.texts.count, texts.count - group.texts.count)) {
    group.texts = texts.part(0, std::min(kTextGroup, texts.count));
    read(group);
    find(group);
    pass(group);
    add_others(group);
  }
}

// The keys of the texts.
void TextCounts::read(Group& group) {
  const TextPlaces& texts = group.texts;
  TextKeys& keys = group.keys;
  const auto read_alone = [&](size_t i) {
    const SketchKey key = SketchKey::of(texts[i]);
    keys.low[i] = key.low;
    keys.high[i] = key.high;
    keys.hash[i] = key.hash();
  };
  // Before the first ones' ends there are too few bytes.
  if (texts.ends[0] < SketchKey::kShort) {
    for (size_t i = 0; i < texts.count; ++i) read_alone(i);
    return;
  }
  if (ESPALIER_FROM_AVX512(read_text_keys, current_isa())(texts, keys) <= SketchKey::kShort) return;
  for (size_t i = 0; i < texts.count; ++i) {
    if (texts.sizes[i] > SketchKey::kShort) read_alone(i);
  }
}

// Counts those that are held, and parts them from the others. Neither here nor in what follows does a branch
// depend on what many texts are: no processor foresees it.
void TextCounts::find(Group& group) {
  const TagMatches matches = ESPALIER_FROM_AVX512(find_tags, current_isa())(
      tags_.data(), slots_.size(), group.keys.hash, group.texts.count);
  // Copies, since bytes that are written may be any of the object's.
  Slot* const slots = slots_.data();
  for (size_t k = 0; k < matches.found; ++k)
    __builtin_prefetch(&slots[matches.slots[matches.which_found[k]]], 1);
  group.missing.count = matches.others;
  std::copy_n(matches.which_others, matches.others, group.missing.which.begin());
  const TextKeys& keys = group.keys;
  const uint32_t* const sizes = group.texts.sizes;
  std::array<uint8_t, kTextGroup> unsure;
  size_t unsures = 0;
  for (size_t k = 0; k < matches.found; ++k) {
    const uint8_t i = matches.which_found[k];
    Slot& slot = slots[group.slots[i] = matches.slots[i]];
    const uint64_t other = (slot.low ^ keys.low[i]) | (slot.high ^ keys.high[i]) | (slot.size ^ sizes[i]);
    if ((other == 0) & (sizes[i] <= SketchKey::kShort))
      ++slot.count;
    else
      unsure[unsures++] = i;
  }
  for (size_t k = 0; k < unsures; ++k) {
    const size_t i = unsure[k], slot = this->slot(group.text(i));
    group.slots[i] = static_cast<uint32_t>(slot);
    if (holds(slot))
      ++slots[slot].count;
    else
      group.missing.put(i);
  }
}

// Parts those that are as rare as what was forgotten, as most are then, from the others.
void TextCounts::pass(Group& group) {
  if (forgotten_ == 0) {
    group.others = group.missing;
    return;
  }
  const uint64_t* const hashes = group.keys.hash;
  uint16_t* const cells = passed_.data();
  DistinctHashes& distinct = *distinct_;
  const auto most = static_cast<uint16_t>(std::min<uint64_t>(forgotten_, kMostPassed));
  const int shift = cell_shift_;
  size_t others = 0;
  for (size_t i = 0; i < group.missing.count; ++i) {
    const uint8_t which = group.missing.which[i];
    const uint64_t hash = hashes[which];
    distinct.note(hash);
    uint16_t& cell = cells[hash >> shift];
    if (cell < most)
      ++cell;
    else
      group.others.which[others++] = which;
  }
  group.others.count = others;
}

// Those that come to be held. One that makes others be forgotten comes before all that stand behind it.
void TextCounts::add_others(Group& group) {
  for (size_t i = 0; i < group.others.count; ++i)
    __builtin_prefetch(&slots_[slot(group.text(group.others.which[i]))], 1);
  for (size_t i = 0; i < group.others.count; ++i) {
    const size_t at = group.others.which[i];
    const Text text = group.text(at);
    const size_t slot = this->slot(text);
    if (!holds(slot)) {
      if (is_full(text) || is_dense()) return move(group, at);
      place_at(slot, text, passed(text.hash));
    }
    ++slots_[slot].count;
  }
}

void TextCounts::move(const Group& group, size_t at) {
  for (size_t k = at + 1; k < group.texts.count; ++k) {
    if (!group.missing.has(k))
      --slots_[group.slots[k]].count;
    else if (!group.others.has(k))
      --passed_[cell(group.keys.hash[k])];
  }
  ++slots_[insert(group.text(at))].count;
  for (size_t k = at + 1; k < group.texts.count; ++k) add(group.text(k), 0);
}

bool TextCounts::is_full(const Text& text) const {
  return used_ >= room(most_) || texts_.size() + kept_bytes(text.key) > room(most_bytes_);
}

// Makes room for a new text; the slot where it goes.
size_t TextCounts::insert(const Text& text) {
  if (is_full(text)) {
    forget();
    distinct_->note(text.hash);
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
  if (is_dense()) {
    const size_t enough = std::max(2 * slots_.size(), std::bit_ceil(2 * most_));
    put(used_slots(), std::min(4 * slots_.size(), enough));
  }
  return place_at(slot(text), text, missed);
}

size_t TextCounts::place_at(size_t at, const Text& text, uint64_t missed) {
  slots_[at] = {text.key.low, text.key.high, 0, text.key.size, static_cast<uint32_t>(texts_.size())};
  missed_[at] = missed;
  tags_[at] = tag_of(text.hash);
  texts_ += text.text.substr(0, kept_bytes(text.key));
  ++used_;
  return at;
}

// Anew, of these slots alone.
void TextCounts::put(const std::vector<size_t>& kept, size_t size) {
  const std::vector<Slot> slots = std::move(slots_);
  const std::vector<uint64_t> missed = std::move(missed_);
  const std::vector<FixedWeight> weights = std::move(weights_);
  const std::string texts = std::move(texts_);
  slots_.assign(size, {});
  tags_.assign(size, 0);
  missed_.assign(size, 0);
  weights_.assign(weighted_ ? size : 0, 0);
  texts_.clear();
  used_ = kept.size();
  for (const size_t from : kept) {
    const uint64_t hash = slots[from].key().hash();
    size_t at = home(hash);
    while (holds(at)) at = (at + 1) & (size - 1);
    slots_[at] = slots[from];
    missed_[at] = missed[from];
    tags_[at] = tag_of(hash);
    if (weighted_) weights_[at] = weights[from];
    slots_[at].offset = static_cast<uint32_t>(texts_.size());
    texts_.append(texts, slots[from].offset, kept_bytes(slots[from].key()));
  }
}

// Leaves those of which the most may be, half of the room then; of equally frequent ones all or none.
// What is forgotten then is up to twice as frequent as before.
void TextCounts::forget() {
  if (forgotten_ == 0) {
    distinct_.emplace();
    note_all(*this);
    passed_.assign(size_t{1} << (64 - cell_shift_), 0);
  }
  const auto most = [&](size_t at) { return slots_[at].count + missed_[at]; };
  struct Held {
    size_t count = 0, bytes = 0;
  };
  // Most are rare.
  constexpr size_t kRare = 512;
  std::array<Held, kRare> rare;
  std::map<uint64_t, Held, std::greater<>> by_most;
  std::vector<size_t> order = used_slots();
  for (const size_t i : order) {
    Held& held = most(i) < kRare ? rare[most(i)] : by_most[most(i)];
    ++held.count;
    held.bytes += kept_bytes(slots_[i].key());
  }
  for (size_t i = 0; i < kRare; ++i) {
    if (rare[i].count > 0) by_most[i] = rare[i];
  }
  Held kept;
  for (const auto& [times, held] : by_most) {
    kept.count += held.count;
    kept.bytes += held.bytes;
    if (kept.count <= most_ / parts() / 2 && kept.bytes <= most_bytes_ / parts() / 2) continue;
    // By steps of one, ids that occur once would be held and forgotten again and again.
    forgotten_ = std::max(times, forgotten_ + std::min(forgotten_, kMostStep));
    break;
  }
  std::erase_if(order, [&](size_t i) {
    if (most(i) > forgotten_) return false;
    uint16_t& passed = passed_[cell(slots_[i].key().hash())];
    passed = std::max(passed, static_cast<uint16_t>(std::min(most(i), kMostPassed)));
    return true;
  });
  put(order, std::max(kFirstTextSlots, std::bit_ceil(2 * room(most_))));
}

void TextCounts::note_all(const TextCounts& other) {
  for (const Slot& slot : other.slots_) {
    if (slot.count) distinct_->note(slot.key().hash());
  }
}

void TextCounts::merge(const TextCounts& other) {
  if (!distinct_ && other.distinct_) {
    distinct_.emplace();
    note_all(*this);
  }
  if (other.distinct_)
    distinct_->merge(*other.distinct_);
  else if (distinct_)
    note_all(other);
  // What one does not hold it may have forgotten.
  for (size_t i = 0; i < slots_.size(); ++i)
    missed_[i] += slots_[i].count ? other.passed(slots_[i].key().hash()) : 0;
  for (size_t i = 0; i < other.slots_.size(); ++i) {
    const Slot& theirs = other.slots_[i];
    if (theirs.count == 0) continue;
    const std::string_view kept = other.texts_;
    const Text text{theirs.key(), theirs.key().hash(), kept.substr(theirs.offset, kept_bytes(theirs.key()))};
    size_t at = slot(text);
    if (!holds(at))
      at = place(text, other.missed_[i] + passed(text.hash));
    else
      missed_[at] += other.missed_[i] - other.passed(text.hash);
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
    out.number(missed_[i]);
    out.number(slot.size);
    if (slot.size > kLongestText)
      out.number(slot.low);
    else
      out.text(text_of(slot));
    if (weighted_) out.wide(weights_[i]);
  }
  out.number(forgotten_);
  for (const uint16_t passed : passed_) out.number(passed);
  if (distinct_) distinct_->write(out);
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
    in.check(!holds(slot(text)));
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
  in.check(forgotten_ <= kMostCount);
  if (forgotten_ > 0) distinct_.emplace().read(in);
}

uint64_t TextCounts::distinct() const {
  return exact() ? used_ : std::max<uint64_t>(used_, distinct_->estimate());
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
    out.push_back(
        {text_of(slot), slot.count, missed_[order[i]], weighted_ ? weight_value(weights_[order[i]]) : 0});
  }
  return out;
}

}  // namespace espalier
