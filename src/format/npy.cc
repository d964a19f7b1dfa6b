#include "format/npy.h"

#include <charconv>
#include <cstring>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"
#include "ir/dispatch.h"

namespace espalier {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;

struct Descr {
  DType dtype;
  std::string_view text;
};
constexpr Descr kDescrs[] = {{DType::kBool, "|b1"}, {DType::kI8, "|i1"},  {DType::kI16, "<i2"},
                             {DType::kI32, "<i4"},  {DType::kI64, "<i8"}, {DType::kU8, "|u1"},
                             {DType::kU16, "<u2"},  {DType::kU32, "<u4"}, {DType::kU64, "<u8"},
                             {DType::kF16, "<f2"},  {DType::kF32, "<f4"}, {DType::kF64, "<f8"}};

// The header is a Python dictionary of three known keys.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  void read(TensorType& type, bool& column_major) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        type.dtype = dtype(string());
      } else if (key == "fortran_order" && !order) {
        order = true;
        column_major = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        type.shape = tuple();
      } else {
        fail(cat("unknown key '", key, "'"));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    space();
    if (at_ != text_.size() || !descr || !order || !shape) fail("must hold descr, fortran_order and shape");
  }

 private:
  [[noreturn]] void fail(std::string_view message) const {
    throw FormatError("npy.header", cat(message, " at byte ", at_, " of the header"));
  }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(cat("expected '", std::string(1, c), "'"));
  }
  bool accept_word(std::string_view word) {
    space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string_view string() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a string without its end");
    const std::string_view out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail("expected True or False");
  }
  Dims tuple() {
    Dims out;
    expect('(');
    while (!accept(')')) {
      space();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) fail("expected a size");
      if (out.size() == kMaxRank) fail(cat("more than ", kMaxRank, " axes"));
      at_ = static_cast<size_t>(end - text_.data());
      accept_word("L");
      out.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }
  DType dtype(std::string_view text) const {
    for (const Descr& known : kDescrs) {
      const bool any_order =
          size_of(known.dtype) == 1 && text.size() == 3 && known.text.substr(1) == text.substr(1);
      if (known.text == text || any_order) return known.dtype;
    }
    fail(cat("unsupported dtype '", text, "'"));
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Row-major from column-major: the axes of the stored array are reversed.
Literal from_column_major(const TensorType& type, const std::byte* data) {
  Buffer buffer = allocate_buffer(type.bytes());
  const size_t size = size_of(type.dtype), rank = type.rank();
  Dims strides = Dims::filled(rank, 1), index = Dims::filled(rank, 0);
  for (size_t i = 1; i < rank; ++i) strides[i] = strides[i - 1] * type.shape[i - 1];
  int64_t source = 0;
  for (int64_t i = 0; i < type.elements(); ++i) {
    std::memcpy(buffer.get() + static_cast<size_t>(i) * size, data + static_cast<size_t>(source) * size,
                size);
    for (size_t axis = rank; axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < type.shape[axis]) break;
      source -= strides[axis] * type.shape[axis];
      index[axis] = 0;
    }
  }
  return Literal(type, std::move(buffer));
}

Literal as_float32(const Literal& literal) {
  const TensorType type{DType::kF32, literal.type().shape};
  const auto* values = static_cast<const BFloat16*>(literal.raw());
  Buffer buffer = allocate_buffer(type.bytes());
  auto* out = reinterpret_cast<float*>(buffer.get());
  for (int64_t i = 0; i < type.elements(); ++i) out[i] = values[i];
  return Literal(type, std::move(buffer));
}

}  // namespace

Literal parse_npy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic))
    throw FormatError("npy.magic", "no .npy file: it must begin with \\x93NUMPY");
  const auto byte = [&](size_t i) -> size_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const size_t version = byte(6);
  if (version < 1 || version > 3)
    throw FormatError("npy.version", cat("version ", version, " is not 1, 2 or 3"));
  const size_t start = version == 1 ? 10 : 12;
  const size_t length = byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (text.size() < start || text.size() - start < length)
    throw FormatError("npy.size", cat("a header of ", length, " bytes in a file of ", text.size()));
  TensorType type;
  bool column_major = false;
  HeaderReader(text.substr(start, length)).read(type, column_major);
  const size_t available = text.size() - start - length;
  size_t needed = size_of(type.dtype);
  bool empty = false;
  for (const int64_t size : type.shape) empty |= size == 0;
  for (const int64_t size : type.shape) {
    if (!empty && (__builtin_mul_overflow(needed, static_cast<size_t>(size), &needed) || needed > available))
      throw FormatError("npy.size", cat(available, " bytes hold no ", name(type.dtype), type.shape));
  }
  if ((empty ? 0 : needed) != available)
    throw FormatError("npy.size", cat(available, " bytes for ", type, ", which has ", empty ? 0 : needed));
  if (empty) {
    for (const int64_t size : type.shape) {
      if (size > (int64_t{1} << 31))
        throw FormatError("npy.size", cat("an axis of ", size, " in an empty array"));
    }
    return Literal(type, allocate_buffer(0));
  }
  const std::byte* data = bytes.data() + start + length;
  if (type.dtype == DType::kBool) {
    for (size_t i = 0; i < available; ++i) {
      if (data[i] > std::byte{1})
        throw FormatError("npy.bool", cat("element ", i, " of a bool array is no 0 or 1"));
    }
  }
  return column_major ? from_column_major(type, data) : Literal::copy(type, data);
}

std::string npy_bytes(const Literal& literal) {
  const Literal dense =
      literal.type().dtype == DType::kBF16 ? as_float32(literal.expanded()) : literal.expanded();
  std::string_view descr;
  for (const Descr& known : kDescrs) {
    if (known.dtype == dense.type().dtype) descr = known.text;
  }
  std::string header = cat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (const int64_t size : dense.type().shape) header += cat(size, ",");
  header += "), }";
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  out += header;
  out.append(static_cast<const char*>(dense.raw()), dense.raw_bytes());
  return out;
}

Literal read_npy(const std::string& path) {
  const std::string text = posix_env().read_file(path);
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
  try {
    return parse_npy(bytes);
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, ": ", error.message()));
  }
}

void write_npy(const std::string& path, const Literal& literal) {
  posix_env().write_file(path, npy_bytes(literal));
}

}  // namespace espalier
