// JSON that somebody else wrote.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace espalier {

// The value of a JSON text. Raises FormatError[json.size] beyond 4 MiB, [json.depth] beyond 16 levels,
// [json.keys] beyond 1000 keys of an object, [json.syntax] with the byte and [json.value] for a number beyond
// f64: memory stays below 128 MiB whatever the text is.
nlohmann::ordered_json parse_json(std::string_view text);

}  // namespace espalier
