#include "validate/feature_path.h"

#include <algorithm>

namespace espalier {
namespace {

// Without quotes: all within one pair of parentheses, as extensions of protobuf are named, or none of ( ) . '
bool is_plain(const std::string& step) {
  std::string_view rest = step;
  if (rest.size() >= 2 && rest.front() == '(' && rest.back() == ')') {
    rest = rest.substr(1, rest.size() - 2);
    return rest.find_first_of("()") == std::string_view::npos;
  }
  return !rest.empty() && rest.find_first_of("().'") == std::string_view::npos;
}

std::string quoted_step(const std::string& step) {
  std::string out = "'";
  for (const char c : step) out.append(c == '\'' ? 2 : 1, c);
  return out + "'";
}

}  // namespace

std::string path_text(const FeaturePath& path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i)
    out += (i == 0 ? "" : ".") + (is_plain(path[i]) ? path[i] : quoted_step(path[i]));
  return out;
}

tfmd::Path path_message(const FeaturePath& path) {
  tfmd::Path out;
  for (const std::string& step : path) out.add_step(step);
  return out;
}

FeaturePath child_of(FeaturePath path, const std::string& step) {
  path.push_back(step);
  return path;
}

}  // namespace espalier
