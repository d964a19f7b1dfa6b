// sort's attributes, for composites that sort by a comparison of their own.
#pragma once

#include "ir/op.h"

namespace espalier {

enum class Comparator : uint8_t { kRegion, kAscending, kDescending };
inline constexpr const char* kComparatorWords[] = {"region", "ascending", "descending"};

struct SortAttributes final : Attributes {
  int64_t axis = -1;
  bool stable = false;
  Comparator comparator = Comparator::kRegion;
  void fields(FieldVisitor& v) override {
    v.field("dimension", axis);
    v.field("is_stable", stable);
    v.word("comparator", comparator, kComparatorWords);
  }
};

}  // namespace espalier
