// Messages of protobuf as text, in the very letters of TensorFlow Data Validation.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

namespace espalier {

// As protobuf prints from Python, where "1.0" and "1e+16" are what is "1" and "10000000000000000" from C++.
// Unknown fields are left out.
std::string text_of_message(const google::protobuf::Message& message);

// Raises FormatError[metadata.text] with line and column; `message` is then anything. Memory stays within
// 64 MiB and 16 times the text: FormatError[metadata.memory].
void parse_message_text(std::string_view text, google::protobuf::Message& message);

}  // namespace espalier
