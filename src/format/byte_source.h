// Bytes of files, a part at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace espalier {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // The next bytes, at most `size`; fewer at the end alone, 0 behind it. Raises IoError, FormatError[gzip.*].
  virtual size_t read(char* out, size_t size) = 0;
};

// A text that is there already.
class TextSource : public ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  size_t read(char* out, size_t size) override {
    const size_t count = text_.copy(out, size, at_);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  size_t at_ = 0;
};

// The text of a file: of a gzip file what it holds, of UTF-16 (with its mark, or known by its NUL bytes) the
// same in UTF-8; a mark of UTF-8 is left out. Memory does not grow with the file. Raises IoError.
std::unique_ptr<ByteSource> open_text(const std::string& path);
// The bytes as they are; of a gzip file what it holds.
std::unique_ptr<ByteSource> open_unpacked(const std::string& path);
// The bytes as they are.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

}  // namespace espalier
