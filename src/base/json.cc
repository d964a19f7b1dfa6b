#include "base/json.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

nlohmann::ordered_json parse_json(std::string_view text) {
  constexpr size_t kMostBytes = size_t{4} << 20;
  constexpr int kMostDepth = 16, kMostKeys = 1000;
  using Event = nlohmann::ordered_json::parse_event_t;
  if (text.size() > kMostBytes)
    throw FormatError("json.size", cat("the text has ", text.size(), " bytes, more than ", kMostBytes));
  std::vector<int> keys;  // of the objects around
  const auto limit = [&](int depth, Event event, nlohmann::ordered_json&) {
    if (depth > kMostDepth)
      throw FormatError("json.depth", cat("the text nests deeper than ", kMostDepth, " levels"));
    if (event == Event::object_start) keys.push_back(0);
    if (event == Event::object_end) keys.pop_back();
    // Each key is held against all before it.
    if (event == Event::key && ++keys.back() > kMostKeys)
      throw FormatError("json.keys", cat("an object has more than ", kMostKeys, " keys"));
    return true;
  };
  try {
    return nlohmann::ordered_json::parse(text, limit);
  } catch (const nlohmann::ordered_json::parse_error& error) {
    throw FormatError("json.syntax", cat("the text is no JSON at byte ", error.byte));
  } catch (const nlohmann::ordered_json::exception& error) {
    throw FormatError("json.value", cat("a value is out of range: ", error.what()));
  }
}

}  // namespace espalier
