#include "validate/sketch_values.h"

#include <algorithm>

namespace espalier {
namespace {

constexpr size_t kFirstSlots = 64;
// Slots are too many to be at hand when they are asked for.
constexpr size_t kAhead = 16;

}  // namespace

double weight_value(FixedWeight weight) { return std::ldexp(static_cast<double>(weight), -70); }

void ValueCounts::Sums::add(double value, uint64_t times, FixedWeight weighs) {
  const auto n = static_cast<double>(times);
  sum.add_product(n, value);
  squares.add_square(n, value);
  count.add(n);
  low = any ? std::min(low, value) : value;
  high = any ? std::max(high, value) : value;
  any = true;
  // Three parts of a fixed weight are exact each.
  for (int part = 0; weighs != 0 && part < 3; ++part, weighs >>= 45) {
    const auto bits = static_cast<double>(static_cast<int64_t>(weighs & ((FixedWeight{1} << 45) - 1)));
    const double w = std::ldexp(bits, 45 * part - 70);
    weighted_sum.add_product(w, value);
    weighted_squares.add_square(w, value);
    weight.add(w);
  }
}

void ValueCounts::Sums::add(std::span<const double> values) {
  for (const double value : values) {
    sum.add(value);
    squares.add_square(value);
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
  count.add(static_cast<double>(values.size()));
}

void ValueCounts::Sums::merge(const Sums& other) {
  sum.merge(other.sum);
  squares.merge(other.squares);
  count.merge(other.count);
  weighted_sum.merge(other.weighted_sum);
  weighted_squares.merge(other.weighted_squares);
  weight.merge(other.weight);
  if (!other.any) return;
  low = any ? std::min(low, other.low) : other.low;
  high = any ? std::max(high, other.high) : other.high;
  any = true;
}

ValueCounts::ValueCounts(size_t most, bool weighted) : most_(most), weighted_(weighted) {
  put({}, {}, 0, kFirstSlots);
}

void ValueCounts::add(std::span<const double> values) {
  size_t unsummed = sums_ ? 0 : values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (i + kAhead < values.size())
      __builtin_prefetch(&slots_[first_slot(ordered(values[i + kAhead]) >> dropped_)], 1);
    const uint64_t whole = ordered(values[i]), key = whole >> dropped_;
    size_t at = slot(key);
    if (slots_[at].count == 0) {
      at = insert(key, whole);
      if (sums_) unsummed = std::min(unsummed, i);
    }
    ++slots_[at].count;
  }
  if (sums_) sums_->add(values.subspan(unsummed));
}

// Makes room for a new key; the slot where it goes.
size_t ValueCounts::insert(uint64_t key, uint64_t whole) {
  if (used_ == most_) {
    coarsen_for(whole);
    key = whole >> dropped_;
    if (const size_t at = slot(key); slots_[at].count != 0) return at;
  } else if (2 * (used_ + 1) > slots_.size()) {
    const std::vector<Slot> slots = std::move(slots_);
    const std::vector<FixedWeight> weights = std::move(weights_);
    put(slots, weights, dropped_, 2 * slots.size());
  }
  ++used_;
  const size_t at = slot(key);
  slots_[at].key = key;
  return at;
}

// Anew, of these.
void ValueCounts::put(const std::vector<Slot>& slots, const std::vector<FixedWeight>& weights, int dropped,
                      size_t size) {
  slots_.assign(size, {});
  weights_.assign(weighted_ ? size : 0, 0);
  shift_ = std::countl_zero(size) + 1;
  used_ = 0;
  const auto key_of = [&](size_t i) { return slots[i].key >> (dropped - dropped_); };
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i + kAhead < slots.size()) __builtin_prefetch(&slots_[first_slot(key_of(i + kAhead))], 1);
    if (slots[i].count == 0) continue;
    const uint64_t key = key_of(i);
    const size_t at = slot(key);
    used_ += slots_[at].count == 0;
    slots_[at].key = key;
    slots_[at].count += slots[i].count;
    if (weighted_) weights_[at] += weights[i];
  }
  dropped_ = dropped;
}

void ValueCounts::coarsen(int dropped) {
  if (!sums_) sums_ = sums_of_slots();
  const std::vector<Slot> slots = std::move(slots_);
  const std::vector<FixedWeight> weights = std::move(weights_);
  put(slots, weights, dropped, slots.size());
}

// Drops as few bits as leave `most_` keys, with this one among them.
void ValueCounts::coarsen_for(uint64_t whole) {
  // Where all numbers agree in their last bits, none become one without these. Keys of negative ones have
  // them turned around.
  const auto bits = [](uint64_t key, int width) { return key >> (width - 1) ? key : ~key; };
  uint64_t differences = 0;
  for (const Slot& slot : slots_) {
    if (slot.count) differences |= bits(slot.key, 64 - dropped_) ^ bits(whole >> dropped_, 64 - dropped_);
  }
  int dropped = dropped_ + std::countr_zero(differences);
  do coarsen(++dropped);
  while (used_ + (slots_[slot(whole >> dropped_)].count == 0) > most_);
}

ValueCounts::Sums ValueCounts::sums_of_slots() const {
  Sums out;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].count) out.add(value_of(slots_[i].key), slots_[i].count, weighted_ ? weights_[i] : 0);
  }
  return out;
}

void ValueCounts::merge(const ValueCounts& other) {
  // Slots no longer tell sums once some of them are joined.
  std::optional<Sums> sums;
  if (sums_ || other.sums_ || used_ + other.used_ > most_) {
    sums = sums_ ? *sums_ : sums_of_slots();
    sums->merge(other.sums_ ? *other.sums_ : other.sums_of_slots());
  }
  if (other.dropped_ > dropped_) coarsen(other.dropped_);
  for (size_t i = 0; i < other.slots_.size(); ++i) {
    const Slot& theirs = other.slots_[i];
    if (theirs.count == 0) continue;
    const uint64_t whole = theirs.key << other.dropped_;
    size_t at = slot(whole >> dropped_);
    if (slots_[at].count == 0) at = insert(whole >> dropped_, whole);
    slots_[at].count += theirs.count;
    if (weighted_) weights_[at] += other.weights_[i];
  }
  if (dropped_ > 0) sums_ = sums;
}

std::vector<std::pair<ValueCounts::Slot, FixedWeight>> ValueCounts::in_order() const {
  std::vector<std::pair<Slot, FixedWeight>> all;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].count) all.emplace_back(slots_[i], weighted_ ? weights_[i] : 0);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first.key < b.first.key; });
  return all;
}

std::vector<ValueRange> ValueCounts::ranges() const {
  std::vector<ValueRange> out;
  for (const auto& [slot, weight] : in_order()) {
    const uint64_t low = slot.key << dropped_, high = low | ((uint64_t{1} << dropped_) - 1);
    ValueRange range{value_of(low), value_of(high), slot.count, weight};
    // Beginnings of infinities, too, when so many bits are dropped.
    if (sums_ && !(range.low >= sums_->low)) range.low = sums_->low;
    if (sums_ && !(range.high <= sums_->high)) range.high = sums_->high;
    out.push_back(range);
  }
  return out;
}

void ValueCounts::Sums::write(SketchWriter& out) const {
  for (const ExactSum* part : {&sum, &squares, &count, &weighted_sum, &weighted_squares, &weight})
    part->write(out);
  out.real(low);
  out.real(high);
}

void ValueCounts::Sums::read(SketchReader& in) {
  for (ExactSum* part : {&sum, &squares, &count, &weighted_sum, &weighted_squares, &weight}) part->read(in);
  low = in.real();
  high = in.real();
  in.check(low <= high && std::isfinite(low) && std::isfinite(high));
  any = true;
}

// Sums are there where bits were dropped.
void ValueCounts::write(SketchWriter& out) const {
  const auto all = in_order();
  out.number(static_cast<uint64_t>(dropped_));
  if (sums_) sums_->write(out);
  out.number(all.size());
  for (const auto& [slot, weight] : all) {
    out.number(slot.key);
    out.number(slot.count);
    if (weighted_) out.wide(weight);
  }
}

void ValueCounts::read(SketchReader& in) {
  const uint64_t dropped = in.number();
  in.check(dropped < 64);
  dropped_ = static_cast<int>(dropped);
  if (dropped > 0) sums_.emplace().read(in);
  std::vector<Slot> slots(in.count(16));
  in.check(slots.size() <= most_);
  std::vector<FixedWeight> weights(weighted_ ? slots.size() : 0);
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i] = {in.number(), in.number()};
    const Slot& slot = slots[i];
    in.check(slot.key <= ~uint64_t{0} >> dropped && (i == 0 || slots[i - 1].key < slot.key) &&
             slot.count > 0 && slot.count <= kMostCount &&
             (dropped > 0 || std::isfinite(value_of(slot.key))));
    if (weighted_) weights[i] = in.weight();
  }
  put(slots, weights, dropped_, std::max(kFirstSlots, std::bit_ceil(2 * slots.size())));
}

Moments ValueCounts::moments() const {
  const Sums sums = sums_ ? *sums_ : sums_of_slots();
  return moments_of(sums.sum, sums.squares, sums.count);
}

Moments ValueCounts::weighted_moments() const {
  const Sums sums = sums_ ? *sums_ : sums_of_slots();
  return moments_of(sums.weighted_sum, sums.weighted_squares, sums.weight);
}

}  // namespace espalier
