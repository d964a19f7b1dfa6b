#include "base/json.h"

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

nlohmann::ordered_json parse_json(std::string_view text) {
  constexpr size_t kMostBytes = size_t{4} << 20;
  constexpr int kMostDepth = 16;
  if (text.size() > kMostBytes)
    throw FormatError("json.size", cat("the text has ", text.size(), " bytes, more than ", kMostBytes));
  const auto limit = [&](int depth, nlohmann::ordered_json::parse_event_t, nlohmann::ordered_json&) {
    if (depth > kMostDepth)
      throw FormatError("json.depth", cat("the text nests deeper than ", kMostDepth, " levels"));
    return true;
  };
  try {
    return nlohmann::ordered_json::parse(text, limit);
  } catch (const nlohmann::ordered_json::parse_error& error) {
    throw FormatError("json.syntax", cat("the text is no JSON at byte ", error.byte));
  }
}

}  // namespace espalier
