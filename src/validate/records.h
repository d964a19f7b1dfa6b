// TFRecord: records of bytes, each behind its length and between two checksums.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// CRC-32C, as SSE 4.2 and TFRecord have it.
uint32_t crc32c_of(std::string_view bytes);

// Whether `bytes` begin with the length of a record and its checksum.
bool is_records(std::string_view bytes);
// Views into `bytes`. Raises FormatError[record.*] with the offset of what is damaged or cut off.
std::vector<std::string_view> parse_records(std::string_view bytes);
std::string record_bytes(std::string_view record);

}  // namespace espalier
