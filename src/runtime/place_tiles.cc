#include "runtime/place_tiles.h"

#include <algorithm>

namespace espalier {
namespace {

bool holds(std::span<const ValueId> values, ValueId value) { return std::ranges::count(values, value) > 0; }

// A load that is read element by element, for the last time by instruction `i`, whose result may have its
// bytes; kNone where there is none.
ValueId load_to_overwrite(const TileDraft& draft, uint32_t i, uint32_t unit, const Placement& placement,
                          std::span<const ValueId> kept, std::span<const ValueId> taken) {
  for (const auto& load : draft.loads()) {
    const ValueId root = load.access.value;
    if (load.splat || !load.access.direct || load.last_read > i || holds(kept, root) || holds(taken, root) ||
        !placement.may_take_over(draft.result(i), root, unit))
      continue;
    const auto is_root = [&](const TileDraft::Load& other) { return other.access.value == root; };
    if (std::ranges::count_if(draft.loads(), is_root) == 1) return root;
  }
  return kNone;
}

}  // namespace

Step place_tiles(TileDraft& draft, uint32_t unit, std::span<const ValueId> kept, Placement& placement,
                 Executable::Plan& plan) {
  std::vector<ValueId> taken;
  for (uint32_t i = 0; i < draft.size(); ++i) {
    const ValueId value = draft.result(i);
    if (!placement.is_read(value)) continue;
    // What overwrites an input is stored after the tile has been read.
    bool late = false;
    const uint32_t output = placement.output_for(value, unit, [&](ValueId old) {
      bool direct = !holds(kept, old);
      for (const auto& load : draft.loads()) {
        if (load.access.value != old) continue;
        direct = direct && load.access.direct;
        late = late || load.last_read > i;
      }
      return direct;
    });
    if (output != kNone) {
      draft.store(i, placement.put_into_output(value, output), late);
      continue;
    }
    const ValueId dying = load_to_overwrite(draft, i, unit, placement, kept, taken);
    if (dying == kNone) {
      draft.store(i, placement.put_into_memory(value, unit), false);
    } else {
      taken.push_back(dying);
      draft.store(i, placement.take_over(value, dying, unit), false);
    }
  }
  const Step step = draft.finish(plan, [&](ValueId root) { return placement.of(root); });
  for (const ValueId root : taken) placement.forget(root);
  return step;
}

void release_loads(const TileDraft& draft, uint32_t unit, Placement& placement) {
  for (const auto& load : draft.loads()) {
    if (!load.splat) placement.release(load.access.value, unit);
  }
}

}  // namespace espalier
