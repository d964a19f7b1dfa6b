#include "text/c_types.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "base/shortened.h"
#include "ir/dispatch.h"

namespace espalier::c_text {
namespace {

template <class T>
std::string spelled(T value) {
  std::array<char, 64> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

// `suffix` marks a float.
template <class T>
std::string floating(T value, const std::string& suffix) {
  const std::string one = "1.0" + suffix, zero = "0.0" + suffix;
  if (std::isnan(value)) return "(" + zero + " / " + zero + ")";
  if (std::isinf(value)) return (value < 0 ? "(-" : "(") + one + " / " + zero + ")";
  std::string text = spelled(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

template <class T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (is_half<T>) {
    return {};
  } else if constexpr (std::is_same_v<T, float>) {
    return floating(value, "f");
  } else if constexpr (std::is_same_v<T, double>) {
    return floating(value, "");
  } else if constexpr (std::is_unsigned_v<T>) {
    return spelled(value) + "u";
  } else {
    // The smallest number has no literal of its own: its size is no number of the type.
    if (sizeof(T) >= 4 && value == std::numeric_limits<T>::min())
      return "(" + spelled(static_cast<T>(value + 1)) + " - 1)";
    return spelled(value);
  }
}

}  // namespace

std::string c_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kBool:
      return "uint8_t";
    case DType::kF16:
    case DType::kBF16:
      throw InternalError(cat("C99 has no type for ", dtype));
    default:
      return cat(is_unsigned_integer(dtype) ? "uint" : "int", 8 * size_of(dtype), "_t");
  }
}

std::string sum_type(DType dtype) {
  if (is_float(dtype)) return c_type(dtype);
  return size_of(dtype) == 8 ? "uint64_t" : "uint32_t";
}

std::string number(DType dtype, const void* element) {
  return visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, element, sizeof value);
    const std::string text = element_text(value);
    return text[0] == '-' ? "(" + text + ")" : text;
  });
}

std::string number(DType dtype, double value) {
  std::array<std::byte, 8> element{};
  store_scalar(dtype, value, element.data());
  return number(dtype, element.data());
}

std::string array(const std::string& name, DType dtype, const void* elements, int64_t count) {
  std::string out = cat("static const ", c_type(dtype), " ", name, "[", count, "] = {");
  size_t line = out.size();
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = static_cast<const T*>(elements);
    for (int64_t i = 0; i < count; ++i) {
      if (i == 0 || out.size() - line > 100) {
        out += "\n  ";
        line = out.size();
      }
      out += element_text(values[i]);
      out += i + 1 < count ? ", " : "};\n";
    }
  });
  return out;
}

Literal without_repeats(const Literal& literal, Dims& strides) {
  const TensorType& type = literal.type();
  const size_t size = size_of(type.dtype);
  Shape shape = type.shape;
  Buffer data = literal.expanded().buffer();
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    const size_t inner = static_cast<size_t>(row_major_strides(shape)[axis]) * size;
    const size_t block = inner * static_cast<size_t>(shape[axis]);
    const size_t blocks = static_cast<size_t>(num_elements(shape)) * size / block;
    bool repeats = true;
    for (size_t b = 0; b < blocks && repeats; ++b) {
      const std::byte* first = data.get() + b * block;
      repeats = std::memcmp(first, first + inner, block - inner) == 0;
    }
    if (!repeats) continue;
    const Buffer kept = allocate_buffer(blocks * inner);
    for (size_t b = 0; b < blocks; ++b) std::memcpy(kept.get() + b * inner, data.get() + b * block, inner);
    data = kept;
    shape[axis] = 1;
  }
  strides = row_major_strides(shape);
  for (size_t axis = 0; axis < shape.size(); ++axis) strides[axis] = shape[axis] == 1 ? 0 : strides[axis];
  return {{type.dtype, shape}, data};
}

namespace {}  // namespace

std::string comment_text(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const char last = out.empty() ? ' ' : out.back();
    if (c >= ' ' && c <= '~') {
      // No end of a comment, no begin of one, no trigraph.
      if ((last == '*' && c == '/') || (last == '/' && c == '*') || (last == '?' && c == '?')) out += ' ';
      out += c;
      ++i;
      continue;
    }
    const auto [character, size] = beyond_ascii(std::string_view(text).substr(i));
    if (size && is_seen(character)) {
      out += text.substr(i, size);
    } else if (size) {
      // As C spells it: \u202e.
      char spelled[16];
      std::snprintf(spelled, sizeof spelled, character < 0x10000 ? "\\u%04x" : "\\U%08x", character);
      out += spelled;
    } else if (last != '?') {
      out += '?';
    }
    i += std::max<size_t>(size, 1);
  }
  return out;
}

}  // namespace espalier::c_text
