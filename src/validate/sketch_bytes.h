// Numbers and texts as bytes: what sketches write of themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier {

// No column of any table has more cells.
inline constexpr uint64_t kMostCount = uint64_t{1} << 48;

class SketchWriter {
 public:
  __extension__ using Wide = __int128;
  void number(uint64_t value);
  void wide(Wide value);
  void real(double value);
  void text(std::string_view value);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// The same in the same order. Raises FormatError[sketch.size] where bytes are missing, [sketch.value] for
// what no writer writes, with the offset.
class SketchReader {
 public:
  using Wide = SketchWriter::Wide;
  explicit SketchReader(std::string_view bytes) : bytes_(bytes) {}
  uint64_t number();
  // A number of items of at least so many bytes each, which are there.
  uint64_t count(size_t bytes);
  // Of sums: few enough that many can be added.
  Wide wide();
  // Of rows: 0 or more.
  Wide weight();
  double real();
  std::string_view text();
  bool at_end() const { return at_ == bytes_.size(); }
  void check(bool valid) const;

 private:
  std::string_view take(size_t size);
  std::string_view bytes_;
  size_t at_ = 0;
};

}  // namespace espalier
