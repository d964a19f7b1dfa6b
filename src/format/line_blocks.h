// Text of any size, some lines at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "format/byte_source.h"

namespace espalier {

// Some whole lines; the last one of a text may have no end.
struct LineBlock {
  std::string text;
  int64_t first = 1;  // the number of the first one, from 1
};

// A text cut behind ends of lines ("\n") into blocks of at most a size, but where one line is longer.
class LineBlocks {
 public:
  static constexpr size_t kLongest = size_t{16} << 20;

  explicit LineBlocks(std::unique_ptr<ByteSource> source, size_t block = size_t{1} << 20)
      : source_(std::move(source)), block_(block) {}
  // False at the end. Raises FormatError[lines.long] for a line beyond kLongest.
  bool next(LineBlock& out);

 private:
  size_t find_end();

  std::unique_ptr<ByteSource> source_;
  size_t block_;
  std::string rest_;  // begins with a line
  int64_t line_ = 1;
  bool ended_ = false;
};

}  // namespace espalier
