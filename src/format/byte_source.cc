#include "format/byte_source.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/format.h"
#include "espalier/error.h"
#include "format/gzip.h"
#include "format/utf8.h"

namespace espalier {
namespace {

constexpr size_t kPart = 1 << 16;

class File : public ByteSource {
 public:
  explicit File(const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail();
  }
  ~File() override { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  size_t read(char* out, size_t size) override {
    size_t done = 0;
    while (done < size) {
      const ssize_t count = ::read(descriptor_, out + done, size - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail();
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    return done;
  }

 private:
  [[noreturn]] void fail() const {
    throw IoError("file.read", cat("cannot read ", path_, ": ", std::strerror(errno)));
  }
  std::string path_;
  int descriptor_;
};

// Some bytes that were read already, then the rest.
class Resumed : public ByteSource {
 public:
  Resumed(std::string first, std::unique_ptr<ByteSource> rest)
      : first_(std::move(first)), rest_(std::move(rest)) {}
  size_t read(char* out, size_t size) override {
    const size_t held = std::min(size, first_.size() - at_);
    std::memcpy(out, first_.data() + at_, held);
    at_ += held;
    return held + (held < size ? rest_->read(out + held, size - held) : 0);
  }

 private:
  std::string first_;
  size_t at_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

class Gzip : public ByteSource {
 public:
  explicit Gzip(std::unique_ptr<ByteSource> packed) : packed_(std::move(packed)), part_(kPart, '\0') {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw InternalError("zlib does not start");
  }
  ~Gzip() override { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  size_t read(char* out, size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) refill();
      if (stream_.avail_in == 0 && between_) break;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      between_ = status == Z_STREAM_END;
      if (between_ && inflateReset(&stream_) != Z_OK) throw InternalError("zlib does not restart");
      if (status == Z_OK || between_) continue;
      const bool early = status == Z_BUF_ERROR && stream_.avail_in == 0;
      throw FormatError("gzip.data", cat(early ? "the data ends early" : "the data is damaged", " at byte ",
                                         taken_ - stream_.avail_in));
    }
    return size - stream_.avail_out;
  }

 private:
  void refill() {
    const size_t count = packed_->read(part_.data(), part_.size());
    stream_.next_in = reinterpret_cast<Bytef*>(part_.data());
    stream_.avail_in = static_cast<uInt>(count);
    taken_ += count;
  }

  std::unique_ptr<ByteSource> packed_;
  std::string part_;
  z_stream stream_{};
  bool between_ = true;  // two members, or before the first
  size_t taken_ = 0;
};

class Utf16 : public ByteSource {
 public:
  Utf16(std::unique_ptr<ByteSource> units, bool little) : units_(std::move(units)), little_(little) {}
  size_t read(char* out, size_t size) override {
    size_t done = 0;
    while (done < size && (at_ < text_.size() || refill())) {
      const size_t count = std::min(size - done, text_.size() - at_);
      std::memcpy(out + done, text_.data() + at_, count);
      at_ += count;
      done += count;
    }
    return done;
  }

 private:
  bool refill() {
    std::string part = little_ ? "\xff\xfe" : "\xfe\xff";
    part += half_pair_;
    const size_t held = part.size();
    part.resize(held + kPart);
    part.resize(held + units_->read(part.data() + held, kPart));
    if (part.size() == held && half_pair_.empty()) return false;
    const bool last = part.size() < held + kPart;
    const auto high = static_cast<unsigned char>(part[part.size() - (little_ ? 1 : 2)]);
    const bool split = !last && high >= 0xd8 && high < 0xdc;
    half_pair_ = split ? part.substr(part.size() - 2) : "";
    if (split) part.resize(part.size() - 2);
    text_ = *utf8_of_utf16(part);
    at_ = 0;
    return true;
  }

  std::unique_ptr<ByteSource> units_;
  bool little_;
  std::string half_pair_, text_;
  size_t at_ = 0;
};

// The first bytes, and the source with them before it again.
std::string peek(std::unique_ptr<ByteSource>& source, size_t size) {
  std::string first(size, '\0');
  first.resize(source->read(first.data(), size));
  source = std::make_unique<Resumed>(first, std::move(source));
  return first;
}

void skip(ByteSource& source, size_t size) {
  char bytes[4];
  source.read(bytes, size);
}

// Whether it is UTF-16, and if so whether the low byte comes first.
std::optional<bool> little_utf16(std::string_view first) {
  if (first.starts_with("\xff\xfe")) return true;
  if (first.starts_with("\xfe\xff")) return false;
  const std::optional<std::string> text = utf8_of_utf16(first);
  if (!text) return std::nullopt;
  return text == utf8_of_utf16(cat("\xff\xfe", first));
}

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) { return std::make_unique<File>(path); }

std::unique_ptr<ByteSource> open_unpacked(const std::string& path) {
  std::unique_ptr<ByteSource> source = open_bytes(path);
  if (is_gzip(peek(source, 2))) source = std::make_unique<Gzip>(std::move(source));
  return source;
}

std::unique_ptr<ByteSource> as_text(std::unique_ptr<ByteSource> source) {
  const std::string first = peek(source, 1 << 12);
  if (first.starts_with("\xef\xbb\xbf")) skip(*source, 3);
  const std::optional<bool> little = little_utf16(first);
  if (!little) return source;
  if (first.starts_with("\xff\xfe") || first.starts_with("\xfe\xff")) skip(*source, 2);
  return std::make_unique<Utf16>(std::move(source), *little);
}

std::unique_ptr<ByteSource> open_text(const std::string& path) { return as_text(open_unpacked(path)); }

}  // namespace espalier
