#include "text/dense.h"

#include <charconv>
#include <cstring>

#include "ir/dispatch.h"

namespace espalier::text {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

template <class T>
std::string decimal_text(T value) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string out(buffer, end);
  if constexpr (std::is_floating_point_v<T>) {
    // MLIR wants a '.' in every float.
    if (out.find('.') == std::string::npos) out.insert(std::min(out.find('e'), out.size()), ".0");
  }
  return out;
}

// The shortest decimal of a 16-bit float: fewest digits that round back to it.
template <class T>
std::string half_text(T value) {
  const auto wide = static_cast<double>(static_cast<float>(value));
  for (int digits = 1; digits < 9; ++digits) {
    char buffer[32];
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, wide, std::chars_format::scientific, digits - 1).ptr;
    double back = 0;
    std::from_chars(buffer, end, back);
    if (T(back).bits() == value.bits()) return decimal_text(back);
  }
  return decimal_text(wide);
}

template <class T>
std::string bits_text(const T& value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
  std::string out = "0x";
  for (size_t i = sizeof(T); i-- > 0;) {
    out += kHex[bytes[i] >> 4];
    out += kHex[bytes[i] & 15];
  }
  return out;
}

void append_bools(std::string& out, const bool* values, const Shape& shape, size_t axis, int64_t& next) {
  if (axis == shape.size()) {
    out += values[next++] ? "true" : "false";
    return;
  }
  out += '[';
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (i) out += ", ";
    append_bools(out, values, shape, axis + 1, next);
  }
  out += ']';
}

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A blob: all elements, one element for all, or for bool also eight to the byte.
Literal parse_blob(Lexer& lexer, const TensorType& type) {
  const std::string_view text = lexer.text();
  const size_t at = lexer.offset();
  if (text.size() % 2 || text.substr(0, 2) != "0x")
    lexer.fail("text.dense", "a blob is \"0x\" and two hexadecimal digits a byte", at);
  const std::string_view digits = text.substr(2);
  const size_t count = digits.size() / 2, size = size_of(type.dtype),
               elements = static_cast<size_t>(type.elements());
  const bool is_bool = type.dtype == DType::kBool;
  const auto byte = [&](size_t i) {
    const int high = nibble(digits[2 * i]), low = nibble(digits[2 * i + 1]);
    if (high < 0 || low < 0)
      lexer.fail("text.dense", "a blob with a character that is no hexadecimal digit", at);
    return static_cast<unsigned char>(high * 16 + low);
  };
  if (count == size && elements != 1) {
    const unsigned char first = byte(0);
    if (!is_bool || first <= 1 || first == 0xff) {
      unsigned char element[8];
      for (size_t i = 0; i < size; ++i) element[i] = byte(i);
      if (is_bool) element[0] = first != 0;
      return Literal::splat(type, element);
    }
  }
  if (count == elements * size) {
    Buffer buffer = allocate_buffer(count);
    auto* bytes = reinterpret_cast<unsigned char*>(buffer.get());
    for (size_t i = 0; i < count; ++i) {
      bytes[i] = byte(i);
      if (is_bool) bytes[i] = bytes[i] != 0;
    }
    return Literal(type, std::move(buffer));
  }
  if (is_bool && count == (elements + 7) / 8) {
    Buffer buffer = allocate_buffer(elements);
    auto* bytes = reinterpret_cast<unsigned char*>(buffer.get());
    for (size_t i = 0; i < elements; ++i) bytes[i] = (byte(i / 8) >> (i % 8)) & 1;
    return Literal(type, std::move(buffer));
  }
  lexer.fail("text.dense", cat("a blob of ", count, " bytes for ", type_text(type)), at);
}

// Reads elements of one dtype.
template <class T>
class ElementReader {
 public:
  ElementReader(Lexer& lexer, const TensorType& type) : lexer_(lexer), type_(type) {}

  T element() {
    const Token kind = lexer_.kind();
    const std::string_view text = lexer_.text();
    if constexpr (std::is_same_v<T, bool>) {
      if (lexer_.accept_word("true")) return true;
      if (lexer_.accept_word("false")) return false;
      if (kind == Token::kInteger && (text == "0" || text == "1" || text == "-1")) {
        lexer_.advance();
        return text != "0";
      }
      lexer_.fail_expected("true or false");
    } else {
      if (kind == Token::kHex) return bits(text);
      if constexpr (std::is_integral_v<T>) {
        if (kind != Token::kInteger) lexer_.fail_expected("an integer");
        return integer(text);
      } else {
        if (kind != Token::kFloat && kind != Token::kInteger) lexer_.fail_expected("a number");
        lexer_.advance();
        using Parsed = std::conditional_t<is_half<T>, double, T>;
        Parsed value = 0;
        const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
        // Out of range: from_chars leaves the value, strtod knows whether it is zero or infinite.
        if (result.ec == std::errc::result_out_of_range)
          value = static_cast<Parsed>(std::strtod(std::string(text).c_str(), nullptr));
        return T(value);
      }
    }
  }

  Literal array() {
    const auto elements = static_cast<size_t>(type_.elements());
    const size_t at = lexer_.offset();
    // Each element takes a character of text, so a hostile type cannot ask for more memory than that.
    if (elements > lexer_.source().size() - at)
      lexer_.fail("text.dense", cat("fewer elements than ", type_text(type_), " holds"), at);
    Buffer buffer = allocate_buffer(elements * sizeof(T));
    out_ = reinterpret_cast<T*>(buffer.get());
    last_ = out_ + elements;
    nested(0, at);
    if (out_ != last_) lexer_.fail("text.dense", cat("fewer elements than ", type_text(type_), " holds"), at);
    return Literal(type_, std::move(buffer));
  }

 private:
  void nested(size_t axis, size_t at) {
    Lexer::Nesting nesting(lexer_);
    lexer_.expect('[');
    int64_t count = 0;
    while (!lexer_.at(']')) {
      if (count++) lexer_.expect(',');
      if (axis + 1 < type_.rank()) {
        nested(axis + 1, at);
      } else {
        if (out_ == last_)
          lexer_.fail("text.dense", cat("more elements than ", type_text(type_), " holds"), lexer_.offset());
        *out_++ = element();
      }
    }
    lexer_.advance();
    if (count != type_.shape[axis]) {
      lexer_.fail("text.dense", cat("a list of ", count, " on axis ", axis, " of ", type_text(type_)), at);
    }
  }

  T integer(std::string_view text) {
    const bool negative = text[0] == '-';
    uint64_t magnitude = 0;
    const char* first = text.data() + negative;
    const bool fits = std::from_chars(first, text.data() + text.size(), magnitude).ec == std::errc();
    const uint64_t highest = std::numeric_limits<std::make_unsigned_t<T>>::max();
    const uint64_t lowest = std::is_signed_v<T> ? highest / 2 + 1 : 0;
    if (!fits || magnitude > (negative ? lowest : highest))
      lexer_.fail("text.dense", cat(text, " does not fit ", dtype_of<T>()), lexer_.offset());
    lexer_.advance();
    return static_cast<T>(negative ? 0 - magnitude : magnitude);
  }

  T bits(std::string_view text) {
    uint64_t pattern = 0;
    const bool negative = text[0] == '-';
    const std::string_view digits = text.substr(negative ? 3 : 2);
    const bool fits =
        std::from_chars(digits.data(), digits.data() + digits.size(), pattern, 16).ec == std::errc();
    if (!fits || pattern > std::numeric_limits<uint64_t>::max() >> (64 - 8 * sizeof(T)) ||
        (negative && is_floating<T>))
      lexer_.fail("text.dense", cat(text, " does not fit ", dtype_of<T>()), lexer_.offset());
    lexer_.advance();
    if (negative) pattern = 0 - pattern;
    T value;
    std::memcpy(static_cast<void*>(&value), &pattern, sizeof value);
    return value;
  }

  Lexer& lexer_;
  const TensorType& type_;
  T* out_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace

std::string type_text(const TensorType& type) {
  std::string out = "tensor<";
  for (const int64_t size : type.shape) out += cat(size, "x");
  out += stablehlo_name(type.dtype);
  return out + ">";
}

std::string scalar_text(DType dtype, const void* element) {
  return visit_dtype(dtype, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(static_cast<void*>(&value), element, sizeof value);
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (is_floating<T>) {
      if (!std::isfinite(static_cast<double>(value))) return bits_text(value);
      if constexpr (is_half<T>) {
        return half_text(value);
      } else {
        return decimal_text(value);
      }
    } else {
      return decimal_text(value);
    }
  });
}

void append_dense(std::string& out, const Literal& literal) {
  const TensorType& type = literal.type();
  out += "dense<";
  if (type.elements() == 0) {
  } else if (literal.is_splat() || type.elements() == 1) {
    out += scalar_text(type.dtype, literal.raw());
  } else if (type.dtype == DType::kBool) {
    int64_t next = 0;
    append_bools(out, static_cast<const bool*>(literal.raw()), type.shape, 0, next);
  } else {
    const auto* bytes = static_cast<const unsigned char*>(literal.raw());
    out.reserve(out.size() + 2 * literal.raw_bytes() + 64);
    out += "\"0x";
    for (size_t i = 0; i < literal.raw_bytes(); ++i) {
      out += kHex[bytes[i] >> 4];
      out += kHex[bytes[i] & 15];
    }
    out += '"';
  }
  out += "> : ";
  out += type_text(type);
}

Literal parse_dense_body(Lexer& lexer, const TensorType& type) {
  const size_t at = lexer.offset();
  if (lexer.kind() == Token::kString) {
    Literal literal = parse_blob(lexer, type);
    lexer.advance();
    return literal;
  }
  if (lexer.at('>')) {
    if (type.elements() != 0) lexer.fail("text.dense", cat("no elements for ", type_text(type)), at);
    return Literal(type, allocate_buffer(0));
  }
  return visit_dtype(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    ElementReader<T> reader(lexer, type);
    if (lexer.at('[')) return reader.array();
    const T element = reader.element();
    return Literal::splat(type, &element);
  });
}

}  // namespace espalier::text
