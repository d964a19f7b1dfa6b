#include <algorithm>
#include <bit>
#include <cstring>

#include "validate/sketch_key.h"
#include "validate/sketch_tags.h"
#include "validate/text_keys.h"

namespace espalier {

uint32_t read_text_keys_portable(const TextPlaces& texts, TextKeys& keys) {
  uint32_t longest = 0;
  for (size_t i = 0; i < texts.count; ++i) {
    longest = std::max(longest, texts.sizes[i]);
    const uint32_t size = std::min<uint32_t>(texts.sizes[i], SketchKey::kShort);
    const SketchKey key = SketchKey::of_last(texts.origin + texts.ends[i], size);
    keys.low[i] = key.low;
    keys.high[i] = key.high;
    keys.hash[i] = key.hash();
  }
  return longest;
}

TagMatches find_tags_portable(const uint8_t* tags, size_t slots, const uint64_t* hashes, size_t count) {
  TagMatches out;
  for (size_t i = 0; i < count; ++i) {
    const size_t home = home_of(hashes[i], slots);
    const uint32_t same = equal_tags(tags + home, tag_of(hashes[i]));
    const auto first = static_cast<size_t>(std::countr_zero(same | 1u << kTagGroup));
    out.slots[i] = static_cast<uint32_t>((home + first) & (slots - 1));
    const size_t found = size_t{same != 0} | size_t{tags[home + kTagGroup - 1] != 0};
    out.which_found[out.found] = out.which_others[out.others] = static_cast<uint8_t>(i);
    out.found += found;
    out.others += 1 - found;
  }
  return out;
}

}  // namespace espalier
