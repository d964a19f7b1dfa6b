// The loop of find_keys(), which compilers make one of vectors.
#include "validate/key_places.h"

namespace espalier {
namespace {

void find_keys_of(const double* values, size_t count, const KeyRange& range, uint32_t* places) {
  const uint64_t first = range.first, keys = range.count;
  const int dropped = range.dropped;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t place = (ordered_key(values[i]) >> dropped) - first;
    places[i] = place < keys ? static_cast<uint32_t>(place) : KeyRange::kNone;
  }
}

}  // namespace
}  // namespace espalier
