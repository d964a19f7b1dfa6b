#include "base/shortest.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace espalier {
namespace {

template <class T>
std::string decimal(T value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

std::string shortest(double value) { return decimal(value); }
std::string shortest(float value) { return decimal(value); }

std::string plain_number(double value) {
  constexpr double kMost = 1e15;
  if (value != std::trunc(value) || std::abs(value) >= kMost) return shortest(value);
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr};
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace espalier
