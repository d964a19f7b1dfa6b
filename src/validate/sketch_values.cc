#include "validate/sketch_values.h"

#include <algorithm>
#include <array>

#include "validate/whole_sums.h"

namespace espalier {
namespace {

constexpr size_t kFirstSlots = 64;
// Slots are too many to be at hand when they are asked for.
constexpr size_t kAhead = 16;
// Keys are found for so many numbers together.
constexpr size_t kTogether = 64;

}  // namespace

double weight_value(FixedWeight weight) { return std::ldexp(static_cast<double>(weight), -70); }

void ValueCounts::Sums::add(double value, uint64_t times, FixedWeight weighs) {
  const auto n = static_cast<double>(times);
  sum.add_product(n, value);
  squares.add_square(n, value);
  count.add(n);
  // Adding 0 makes one of both zeros.
  low = any ? std::min(low, value + 0.0) : value + 0.0;
  high = any ? std::max(high, value + 0.0) : value + 0.0;
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
  if (values.empty()) return;
  const auto [least, most] = range_of(values);
  low = any ? std::min(low, least + 0.0) : least + 0.0;
  high = any ? std::max(high, most + 0.0) : most + 0.0;
  any = true;
  count.add(static_cast<double>(values.size()));
  add_to_sums(values, std::max(-least, most), sum, squares);
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
  put_in_slots({}, 0);
}

void ValueCounts::add(std::span<const double> values) {
  size_t unsummed = sums_ ? 0 : values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    i += add_known(values.subspan(i));
    if (i == values.size()) break;
    const bool exact = !sums_;
    add(ordered_key(values[i]), 1, 0);
    if (exact && sums_) unsummed = i + 1;
  }
  if (sums_) sums_->add(values.subspan(unsummed));
}

size_t ValueCounts::add_known(std::span<const double> values) {
  if (pages_) return add_known_to(*pages_, values);
  const auto key_of = [&](size_t i) { return ordered_key(values[i]) >> dropped_; };
  for (size_t i = 0; i < values.size(); ++i) {
    if (i + kAhead < values.size()) __builtin_prefetch(&slots_[first_slot(key_of(i + kAhead))], 1);
    Slot& held = slots_[slot(key_of(i))];
    if (held.count == 0) return i;
    ++held.count;
  }
  return values.size();
}

size_t ValueCounts::add_known_to(CountPages& pages, std::span<const double> values) const {
  std::array<uint32_t, kTogether> places;
  const KeyRange range{pages.first_key(), pages.keys(), dropped_};
  for (size_t done = 0; done < values.size(); done += kTogether) {
    const auto some = values.subspan(done, std::min(kTogether, values.size() - done));
    find_keys(some, range, places.data());
    const size_t known = pages.count_known(std::span(places).first(some.size()));
    if (known < some.size()) return done + known;
  }
  return values.size();
}

void ValueCounts::add(uint64_t whole, uint64_t count, FixedWeight weight) {
  const uint64_t key = whole >> dropped_;
  uint64_t* held = pages_ ? pages_->make(key) : nullptr;
  if (!held) {
    if (pages_ || 2 * used_ > slots_.size()) put_in_slots(all_counts(), 0);
    const size_t at = slot(key);
    slots_[at].key = key;
    if (weighted_) weights_[at] += weight;
    held = &slots_[at].count;
  }
  used_ += *held == 0;
  *held += count;
  if (used_ <= room()) return;
  const std::vector<Count> counts = in_order();
  coarsen(counts, bits_to_drop(counts, most_coarse()));
}

bool ValueCounts::put_in_pages(const std::vector<Count>& counts, int more) {
  if (weighted_ || dropped_ == 0) return false;
  CountPages pages(8 * most_coarse(), most_coarse() / 4);
  size_t used = 0;
  for (const Count& count : counts) {
    uint64_t* const held = pages.make(count.key >> more);
    if (!held) return false;
    used += *held == 0;
    *held += count.count;
  }
  used_ = used;
  pages_ = std::move(pages);
  slots_ = {};
  return true;
}

void ValueCounts::put_in_slots(const std::vector<Count>& counts, int more) {
  // As many more, but no more than all need.
  const size_t size = std::max(kFirstSlots, std::bit_ceil(2 * std::min(2 * counts.size() + 1, most_)));
  pages_.reset();
  slots_.assign(size, {});
  weights_.assign(weighted_ ? size : 0, 0);
  shift_ = std::countl_zero(size) + 1;
  used_ = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i + kAhead < counts.size())
      __builtin_prefetch(&slots_[first_slot(counts[i + kAhead].key >> more)], 1);
    const uint64_t key = counts[i].key >> more;
    const size_t at = slot(key);
    used_ += slots_[at].count == 0;
    slots_[at].key = key;
    slots_[at].count += counts[i].count;
    if (weighted_) weights_[at] += counts[i].weight;
  }
}

void ValueCounts::coarsen(const std::vector<Count>& counts, int more) {
  if (!sums_) sums_ = sums_of_counts();
  dropped_ += more;
  if (!put_in_pages(counts, more)) put_in_slots(counts, more);
}

// The fewest that leave at most `most` of these, which are in order.
int ValueCounts::bits_to_drop(const std::vector<Count>& counts, size_t most) {
  // Neighbours become one when the highest bit is dropped in which they differ.
  std::array<size_t, 65> joined{};
  for (size_t i = 1; i < counts.size(); ++i) ++joined[std::bit_width(counts[i - 1].key ^ counts[i].key)];
  size_t left = counts.size();
  int dropped = 0;
  while (left > most) left -= joined[++dropped];
  return dropped;
}

ValueCounts::Sums ValueCounts::sums_of_counts() const {
  Sums out;
  std::vector<double> single;
  for_each([&](uint64_t key, uint64_t count, FixedWeight weight) {
    if (count == 1 && weight == 0)
      single.push_back(value_of(key));
    else
      out.add(value_of(key), count, weight);
  });
  out.add(single);
  return out;
}

void ValueCounts::merge(const ValueCounts& other) {
  // Counts no longer tell sums once some of them are joined.
  std::optional<Sums> sums;
  if (sums_ || other.sums_ || used_ + other.used_ > most_) {
    sums = sums_ ? *sums_ : sums_of_counts();
    sums->merge(other.sums_ ? *other.sums_ : other.sums_of_counts());
  }
  if (other.dropped_ > dropped_) coarsen(all_counts(), other.dropped_ - dropped_);
  other.for_each(
      [&](uint64_t key, uint64_t count, FixedWeight weight) { add(key << other.dropped_, count, weight); });
  if (dropped_ > 0) sums_ = sums;
}

std::vector<ValueCounts::Count> ValueCounts::all_counts() const {
  // One that is written behind the last is none of them: which slots are used no processor foresees.
  std::vector<Count> out(used_ + 1);
  size_t size = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    out[size] = {slots_[i].key, slots_[i].count, weighted_ ? weights_[i] : 0};
    size += slots_[i].count != 0;
  }
  if (pages_) pages_->for_each([&](uint64_t key, uint64_t count) { out[size++] = {key, count}; });
  out.resize(size);
  return out;
}

std::vector<ValueCounts::Count> ValueCounts::in_order() const {
  std::vector<Count> out = all_counts();
  if (!pages_) sort_by_key(out);
  return out;
}

// By one byte of the keys after another, from the lowest on, which keeps the order of those before; bytes
// that are the same in all keys are left out.
void ValueCounts::sort_by_key(std::vector<Count>& counts) {
  std::vector<Count> from(counts.size());
  for (int shift = 0; shift < 64; shift += 8) {
    std::array<size_t, 257> places{};
    for (const Count& count : counts) ++places[(count.key >> shift & 0xff) + 1];
    if (std::ranges::find(places, counts.size()) != places.end()) continue;
    for (size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
    from.swap(counts);
    for (const Count& count : from) counts[places[count.key >> shift & 0xff]++] = count;
  }
}

ValueCounts::Settled ValueCounts::settled() const {
  Settled out{in_order(), dropped_};
  const int more = sums_ ? bits_to_drop(out.counts, most_coarse()) : 0;
  if (more == 0) return out;
  out.dropped += more;
  size_t used = 0;
  for (const Count count : out.counts) {
    const uint64_t key = count.key >> more;
    if (used == 0 || out.counts[used - 1].key != key) out.counts[used++] = {key};
    out.counts[used - 1].count += count.count;
    out.counts[used - 1].weight += count.weight;
  }
  out.counts.resize(used);
  return out;
}

std::vector<ValueRange> ValueCounts::ranges() const {
  std::vector<ValueRange> out;
  const auto [counts, dropped] = settled();
  for (const auto& [key, count, weight] : counts) {
    const uint64_t low = key << dropped, high = low | ((uint64_t{1} << dropped) - 1);
    ValueRange range{value_of(low), value_of(high), count, weight};
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
  const auto [counts, dropped] = settled();
  out.number(static_cast<uint64_t>(dropped));
  if (sums_) sums_->write(out);
  out.number(counts.size());
  for (const auto& [key, count, weight] : counts) {
    out.number(key);
    out.number(count);
    if (weighted_) out.wide(weight);
  }
}

void ValueCounts::read(SketchReader& in) {
  const uint64_t dropped = in.number();
  in.check(dropped < 64);
  dropped_ = static_cast<int>(dropped);
  if (dropped > 0) sums_.emplace().read(in);
  std::vector<Count> counts(in.count(16));
  in.check(counts.size() <= most_);
  for (size_t i = 0; i < counts.size(); ++i) {
    Count& count = counts[i];
    count.key = in.number();
    count.count = in.number();
    in.check(count.key <= ~uint64_t{0} >> dropped && (i == 0 || counts[i - 1].key < count.key) &&
             count.count > 0 && count.count <= kMostCount &&
             (dropped > 0 || std::isfinite(value_of(count.key))));
    if (weighted_) count.weight = in.weight();
  }
  if (!put_in_pages(counts, 0)) put_in_slots(counts, 0);
}

Moments ValueCounts::moments() const {
  const Sums sums = sums_ ? *sums_ : sums_of_counts();
  return moments_of(sums.sum, sums.squares, sums.count);
}

Moments ValueCounts::weighted_moments() const {
  const Sums sums = sums_ ? *sums_ : sums_of_counts();
  return moments_of(sums.weighted_sum, sums.weighted_squares, sums.weight);
}

}  // namespace espalier
