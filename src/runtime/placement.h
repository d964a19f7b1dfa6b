// Where the values of a plan lie: found for one unit after the other, in the order in which they run.
#pragma once

#include <unordered_map>
#include <vector>

#include "runtime/constant_layout.h"
#include "runtime/exchange_layout.h"
#include "runtime/uses.h"

namespace espalier {

class Placement {
 public:
  // `open_from`: the first unit that may write into outputs. All but the layout of constants is referred to.
  Placement(const Graph& graph, const Units& units, const Donations& donations, const Uses& uses,
            const ExchangeLayout& exchange, const ConstantLayout& constants, uint32_t open_from,
            const CompileOptions& options);

  uint32_t first_input() const { return first_input_; }    // slots
  uint32_t first_output() const { return first_output_; }  // slots
  const Ref& of(ValueId root) const { return places_[root]; }
  Ref of_output(uint32_t index) const { return {first_output_ + index, 0}; }
  bool is_read(ValueId value) const { return uses_.last[value] != Uses::kNever; }

  // The output to write `value` into at `unit`; kNone: into none. `overwrites(old)`: whether that unit may
  // overwrite the input `old`, which it reads itself.
  template <class Overwrites>
  uint32_t output_for(ValueId value, uint32_t unit, Overwrites overwrites) const {
    if (unit < open_from_) return kNone;
    const auto [first, last] = wanted_outputs_.equal_range(value);
    for (auto it = first; it != last; ++it) {
      const uint32_t input = donations_.input_of[it->second];
      if (input == kNone) return it->second;
      const ValueId old = graph_.inputs()[input].value;
      if (uses_.last[old] == Uses::kNever || uses_.last[old] < unit) return it->second;
      if (uses_.last[old] == unit && overwrites(old)) return it->second;
    }
    return kNone;
  }
  // Whether `value`, which `unit` computes, may have the bytes of `root`: nothing else reads them afterwards.
  bool may_take_over(ValueId value, ValueId root, uint32_t unit) const;

  // The place of `value` from `unit` on: in an output, in memory of its own, or that of `root`, which stays
  // the place of both until it is forgotten.
  Ref put_into_output(ValueId value, uint32_t index);
  Ref put_into_memory(ValueId value, uint32_t unit);
  Ref take_over(ValueId value, ValueId root, uint32_t unit);
  void forget(ValueId root) { places_[root] = {}; }
  // Forgets a value that no unit after `unit` reads; others may have its bytes.
  void release(ValueId root, uint32_t unit);

  // Bytes of the arena for units `first` to `last`, of no value.
  uint64_t reserve(uint64_t bytes, uint32_t first, uint32_t last);
  void release_bytes(uint64_t offset, uint64_t bytes);

  uint64_t arena_bytes() const { return arena_.extent(); }
  // Empty but where plans are checked.
  std::vector<LiveRange>& live_ranges() { return live_ranges_; }

 private:
  size_t bytes(ValueId value) const { return graph_.type(value).bytes(); }
  void record(uint64_t offset, uint64_t size, uint32_t first, uint32_t last, bool in_place);

  const Graph& graph_;
  const Donations& donations_;
  const Uses& uses_;
  const ExchangeLayout& exchange_;
  const uint32_t open_from_, first_input_, first_output_;
  const bool reuse_memory_, check_;
  std::vector<Ref> places_;  // per root
  // By value that is computed: the outputs that it may be written into, when nothing stands against it. What
  // a kernel updates is written there, too, so that the update is in place.
  std::unordered_multimap<ValueId, uint32_t> wanted_outputs_;
  ArenaAllocator arena_;
  std::vector<LiveRange> live_ranges_;
};

}  // namespace espalier
