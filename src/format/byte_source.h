// Bytes of files, a part at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace espalier {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // The next bytes, at most `size`; fewer at the end alone, 0 behind it. Raises IoError, FormatError[gzip.*].
  virtual size_t read(char* out, size_t size) = 0;
};

// A text that is there already, and stays there.
class TextView : public ByteSource {
 public:
  explicit TextView(std::string_view text) : text_(text) {}
  size_t read(char* out, size_t size) override {
    const size_t count = text_.copy(out, size);
    text_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view text_;
};

// A text of its own.
class TextSource : public ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)), view_(text_) {}
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;
  size_t read(char* out, size_t size) override { return view_.read(out, size); }

 private:
  const std::string text_;
  TextView view_;
};

// The text of a file: of a gzip file what it holds, of UTF-16 (with its mark, or known by its NUL bytes) the
// same in UTF-8; a mark of UTF-8 is left out. Memory does not grow with the file. Raises IoError.
std::unique_ptr<ByteSource> open_text(const std::string& path);
// The same of bytes that are no gzip.
std::unique_ptr<ByteSource> as_text(std::unique_ptr<ByteSource> bytes);
// The bytes as they are; of a gzip file what it holds.
std::unique_ptr<ByteSource> open_unpacked(const std::string& path);
// The bytes as they are.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

}  // namespace espalier
