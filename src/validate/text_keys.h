// Keys of a few texts, and which of these may be held, by vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/isa.h"
#include "validate/placed_texts.h"

namespace espalier {

// So many texts are looked for together; so many tags are looked at together.
inline constexpr size_t kTextGroup = 128, kTagGroup = 16;

// The keys of texts of up to 16 bytes, as SketchKey has them but for their sizes, and the keys' hashes.
struct TextKeys {
  uint64_t low[kTextGroup], high[kTextGroup], hash[kTextGroup];
};
// Sets the keys, of longer texts to anything; the largest size. Reads 16 bytes before each text's end.
// REQUIRES: at most kTextGroup.
using ReadTextKeys = uint32_t(const TextPlaces& texts, TextKeys& keys);
ReadTextKeys read_text_keys_portable;
ReadTextKeys read_text_keys_avx512;

// Parts texts by the tags of their homes, kTagGroup slots each, which are filled from the first on: those of
// which one has the tag, the first of which is in `slots`, or whose home is full, from the others. What
// stands behind the last of a list is none of it.
struct TagMatches {
  size_t found = 0, others = 0;
  uint8_t which_found[kTextGroup + kTagGroup], which_others[kTextGroup + kTagGroup];
  uint32_t slots[kTextGroup];
};
// `tags` has as many as slots, a power of two; 0 is free.
using FindTags = TagMatches(const uint8_t* tags, size_t slots, const uint64_t* hashes, size_t count);
FindTags find_tags_portable;
FindTags find_tags_avx512;

inline size_t home_of(uint64_t hash, size_t slots) { return hash & (slots - kTagGroup); }
// Not 0.
inline uint8_t tag_of(uint64_t hash) {
  const auto tag = static_cast<uint8_t>(hash >> 32);
  return static_cast<uint8_t>(tag + (tag == 0));
}

}  // namespace espalier
