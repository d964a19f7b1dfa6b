#include "validate/equal_cells.h"

#include <cstring>

#include "base/hash.h"

namespace espalier {
namespace {

struct Words {
  uint64_t low = 0, high = 0;
};

// By size: which of 16 bytes are kept, and the size and one more as the last of them.
struct Masks {
  Words kept, size;
};
constexpr std::array<Masks, 16> kMasks = [] {
  std::array<Masks, 16> out;
  for (uint64_t size = 0; size < 16; ++size) {
    const uint64_t part = (uint64_t{1} << 8 * (size & 7)) - 1;
    out[size] = {{size < 8 ? part : ~uint64_t{0}, size < 8 ? 0 : part}, {0, (size + 1) << 56}};
  }
  return out;
}();

// 16 bytes may be read.
Words words_of(const char* cell, size_t size) {
  Words out;
  std::memcpy(&out, cell, sizeof out);
  out.low &= kMasks[size].kept.low;
  out.high = (out.high & kMasks[size].kept.high) | kMasks[size].size.high;
  return out;
}

// A hash of a longer cell's ends, and a size that no short one has.
Words hash_of(const char* cell, size_t size) {
  uint64_t first[2], last[2];
  std::memcpy(first, cell, sizeof first);
  std::memcpy(last, cell + size - sizeof last, sizeof last);
  const uint64_t low = hash_words(first[0], first[1], size);
  return {low, hash_words(low ^ last[0], last[1], size) | uint64_t{0xff} << 56};
}

}  // namespace

void EqualCells::clear() {
  for (const uint32_t at : used_) slots_[at] = {};
  used_.clear();
  places_.clear();
  counts_.clear();
}

bool EqualCells::count(const CsvRows& rows, int64_t column) {
  Outcome outcome = run<false>(rows, column);
  if (outcome == Outcome::kLong) outcome = run<true>(rows, column);
  if (outcome != Outcome::kAll) return false;
  for (const uint32_t at : used_) counts_.push_back(slots_[at].count);
  return true;
}

template <bool kAnySize>
EqualCells::Outcome EqualCells::run(const CsvRows& rows, int64_t column) {
  clear();
  const auto count = static_cast<size_t>(rows.rows());
  const size_t stride = rows.stride();
  const char* const text = rows.origin();
  const uint32_t* starts = rows.starts(column);
  // False where there are too many.
  const auto add = [&](size_t row, const Words& words, size_t begin, size_t size) {
    const auto same = [&](const Slot& slot) {
      if (slot.high != words.high || slot.low != words.low) return false;
      if (!kAnySize || size <= kShort) return true;
      const uint32_t* const place = &places_[2 * size_t{slot.number}];
      return place[1] - 1 - place[0] == size && std::memcmp(text + place[0], text + begin, size) == 0;
    };
    size_t at = (words.low * 0x9e3779b97f4a7c15 + words.high * 0xd1b54a32d192ed03) >> kShift;
    while (!same(slots_[at])) {
      if (slots_[at].high == 0) {
        if (too_many(used_.size(), row)) return false;
        slots_[at] = {words.low, words.high, 0, static_cast<uint32_t>(used_.size())};
        used_.push_back(static_cast<uint32_t>(at));
        places_.push_back(static_cast<uint32_t>(begin));
        places_.push_back(static_cast<uint32_t>(begin + size + 1));
        break;
      }
      at = (at + 1) & (kSlots - 1);
    }
    ++slots_[at].count;
    return true;
  };
  // Of the last cells no 16 bytes may be read.
  size_t whole = count;
  while (whole > 0 && starts[(whole - 1) * stride] + 16 > rows.size()) --whole;
  for (size_t row = 0; row < count; ++row, starts += stride) {
    const size_t begin = starts[0], size = starts[1] - 1 - begin;
    if (size > kShort) {
      if (!kAnySize) return Outcome::kLong;
      if (!add(row, hash_of(text + begin, size), begin, size)) return Outcome::kTooMany;
      continue;
    }
    const char* cell = text + begin;
    char last[16];
    if (row >= whole) {
      std::memset(last, 0, sizeof last);
      cell = static_cast<const char*>(std::memcpy(last, cell, size));
    }
    if (!add(row, words_of(cell, size), begin, size)) return Outcome::kTooMany;
  }
  return Outcome::kAll;
}

}  // namespace espalier
