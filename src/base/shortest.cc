#include "base/shortest.h"

#include <charconv>

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

}  // namespace espalier
