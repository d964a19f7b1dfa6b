#include "validate/key_places_body.h"

namespace espalier {

void find_keys_avx512(const double* values, size_t count, const KeyRange& range, uint32_t* places) {
  find_keys_of(values, count, range, places);
}

}  // namespace espalier
