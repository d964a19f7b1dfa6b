// Messages of protobuf as JSON for programs.
#pragma once

#include <google/protobuf/message.h>

#include <nlohmann/json_fwd.hpp>

namespace espalier {

// Fields that are set, by their names in the order of their numbers; numbers are numbers, but "nan", "inf"
// and "-inf" strings, which JSON has no numbers for; enums their names, bytes hexadecimal. Fields without a
// name are left out.
nlohmann::ordered_json json_of_message(const google::protobuf::Message& message);

}  // namespace espalier
