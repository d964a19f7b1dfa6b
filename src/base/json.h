// JSON that somebody else wrote, and JSON as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace espalier {

struct JsonLimits {
  size_t bytes = size_t{4} << 20;
  int levels = 16;
  int keys = 1000;  // of an object: each is held against all before it
};

// The value of a JSON text. Raises FormatError[json.size], [json.levels] and [json.keys] beyond the limits,
// [json.syntax] with the byte and [json.value] for a number beyond f64: memory stays below 32 times the limit
// of bytes whatever the text is.
nlohmann::ordered_json parse_json(std::string_view text, const JsonLimits& limits = {});
// Lines of JSON; what is no UTF-8 in it (a path) becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace espalier
