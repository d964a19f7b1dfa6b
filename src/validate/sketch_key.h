// What tells a text from others.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace espalier {

// All of up to 16 bytes, the last of them last and zeros before; of a longer text its hash.
struct SketchKey {
  static constexpr size_t kShort = 16;
  uint64_t low = 0, high = 0;
  uint32_t size = 0;

  static SketchKey of(std::string_view text) {
    SketchKey out{.size = static_cast<uint32_t>(text.size())};
    if (!out.is_short()) {
      out.low = hash_text(text);
      return out;
    }
    char bytes[kShort] = {};
    if (!text.empty()) std::memcpy(bytes + kShort - text.size(), text.data(), text.size());
    std::memcpy(&out.low, bytes, 8);
    std::memcpy(&out.high, bytes + 8, 8);
    return out;
  }
  // Of a text of so many bytes before `end`, all of which are the last of 16 that may be read.
  static SketchKey of_last(const char* end, uint32_t size) {
    const auto word = [](const void* at) {
      uint64_t bytes;
      std::memcpy(&bytes, at, sizeof bytes);
      return bytes;
    };
    return {word(end - kShort) & word(kLast + size), word(end - kShort / 2) & word(kLast + size + kShort / 2),
            size};
  }
  bool is_short() const { return size <= kShort; }
  // REQUIRES: is_short().
  std::string text() const {
    char bytes[kShort];
    std::memcpy(bytes, &low, 8);
    std::memcpy(bytes + 8, &high, 8);
    return {bytes + kShort - size, size};
  }
  uint64_t hash() const { return is_short() ? hash_words_narrowly(low, high, size) : low; }
  bool operator==(const SketchKey&) const = default;

 private:
  // From the nth byte on, its last n bytes are ones.
  static constexpr uint8_t kLast[2 * kShort] = {0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
                                                0,   0,   0,   0,   0,   255, 255, 255, 255, 255, 255,
                                                255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
};

}  // namespace espalier
