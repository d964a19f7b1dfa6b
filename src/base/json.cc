#include "base/json.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

nlohmann::ordered_json parse_json(std::string_view text, const JsonLimits& limits) {
  using Event = nlohmann::ordered_json::parse_event_t;
  if (text.size() > limits.bytes)
    throw FormatError("json.size", cat("the text has ", text.size(), " bytes, more than ", limits.bytes));
  std::vector<int> keys;  // of the objects around
  const auto within = [&](int depth, Event event, nlohmann::ordered_json&) {
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (depth + opens > limits.levels)
      throw FormatError("json.levels", cat("the text has more than ", limits.levels, " levels"));
    if (event == Event::object_start) keys.push_back(0);
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && ++keys.back() > limits.keys)
      throw FormatError("json.keys", cat("an object has more than ", limits.keys, " keys"));
    return true;
  };
  try {
    return nlohmann::ordered_json::parse(text, within);
  } catch (const nlohmann::ordered_json::parse_error& error) {
    throw FormatError("json.syntax", cat("the text is no JSON at byte ", error.byte));
  } catch (const nlohmann::ordered_json::exception& error) {
    throw FormatError("json.value", cat("a value is out of range: ", error.what()));
  }
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace espalier
