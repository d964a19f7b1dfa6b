// Comparing secrets.
#pragma once

#include <string_view>

namespace espalier {

// In a time that does not depend on where they differ.
inline bool same_secret(std::string_view a, std::string_view b) {
  unsigned differ = a.size() != b.size();
  for (size_t i = 0; i < a.size(); ++i)
    differ |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 1 : b[i % b.size()]);
  return differ == 0;
}

}  // namespace espalier
