// What messages of protobuf take in memory, told before they are read.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier {

// What a look at the wire format of a message tells.
struct WireLook {
  uint64_t memory = 0;    // bytes that reading takes at most
  uint64_t unknown = 0;   // fields that the type does not have, or has as another kind
  std::string flaw = {};  // why these bytes are no message, with the offset; "" when they are one
};
WireLook look_at_wire(std::string_view bytes, const google::protobuf::Descriptor& type);

// Raise FormatError[metadata.memory] beyond 64 MiB and 16 times the bytes.
void check_wire_memory(const WireLook& look, size_t size);
void check_text_memory(std::string_view text);

}  // namespace espalier
