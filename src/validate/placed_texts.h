// Many texts of one piece of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// Texts by where each ends behind `origin`, and its size; all bytes from `origin` to there may be read. None
// ends before one that stands before it.
struct TextPlaces {
  const char* origin = nullptr;
  const uint32_t *ends = nullptr, *sizes = nullptr;
  size_t count = 0;

  std::string_view operator[](size_t i) const { return {origin + ends[i] - sizes[i], sizes[i]}; }
  TextPlaces part(size_t first, size_t size) const { return {origin, ends + first, sizes + first, size}; }
};

// Some of the texts of a memory that lives elsewhere, or texts of their own.
class PlacedTexts {
 public:
  PlacedTexts() = default;
  explicit PlacedTexts(const char* origin) : origin_(origin) {}

  size_t size() const { return ends_.size(); }
  TextPlaces places() const { return {origin_ ? origin_ : own_.data(), ends_.data(), sizes_.data(), size()}; }
  std::string_view operator[](size_t i) const { return places()[i]; }

  // REQUIRES: a text of the memory.
  void add(std::string_view text) {
    add(static_cast<uint32_t>(text.data() + text.size() - origin_), text.size());
  }
  // Keeps a copy. REQUIRES: made without a memory, and no more than 4 GiB in all.
  void write(std::string_view text) {
    own_ += text;
    add(static_cast<uint32_t>(own_.size()), text.size());
  }
  // Those of a memory from now on, so many, which are to be set.
  void restart(const char* origin, size_t count) {
    origin_ = origin;
    ends_.resize(count);
    sizes_.resize(count);
  }
  uint32_t* ends() { return ends_.data(); }
  uint32_t* sizes() { return sizes_.data(); }

 private:
  void add(uint32_t end, size_t size) {
    ends_.push_back(end);
    sizes_.push_back(static_cast<uint32_t>(size));
  }

  const char* origin_ = nullptr;
  std::string own_;
  std::vector<uint32_t> ends_, sizes_;
};

}  // namespace espalier
