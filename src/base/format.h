// cat("axis ", 3, " of ", type): one string from anything that has to_string or an obvious text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace espalier {

inline std::string text_of(std::string_view value) { return std::string(value); }
inline std::string text_of(const char* value) { return value; }
inline std::string text_of(bool value) { return value ? "true" : "false"; }
template <class T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) std::string text_of(T value) {
  return std::to_string(value);
}
template <class T>
requires(std::is_class_v<T> && !std::is_convertible_v<T, std::string_view>) std::string
    text_of(const T& value) {
  return to_string(value);
}
template <class T>
requires(std::is_enum_v<T>) std::string text_of(T value) { return std::string(name(value)); }

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (out.append(text_of(parts)), ...);
  return out;
}

// "1 tensor", "2 tensors"; written where it is put into a text, since most errors do not happen.
struct Counted {
  uint64_t count;
  std::string_view noun;
};
inline std::string to_string(const Counted& of) {
  return cat(of.count, " ", of.noun, of.count == 1 ? "" : "s");
}
template <class Count>
Counted counted(Count count, std::string_view noun) {
  return {static_cast<uint64_t>(count), noun};
}

}  // namespace espalier
