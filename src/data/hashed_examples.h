// Images that are known again by their pixels, wherever they lie and whatever they are called.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "espalier/data.h"

namespace espalier {

struct HashedExamples : Examples {
  std::vector<uint64_t> hashes;  // one a row
};

// Of an image's pixels as its file has them, before they are scaled or resized: what is computed of them
// differs from one processor, or from one file of many images, to the next.
uint64_t pixel_hash(std::span<const uint8_t> pixels, int64_t width);
// The hash of bytes, where all of them are whole numbers from 0 to 255.
uint64_t pixel_hash(std::span<const float> pixels, int64_t width);

// load_digits and digits_of with the hashes of the rows.
HashedExamples read_digits(const std::string& path);
HashedExamples digits_in(const CsvTable& table, const std::string& path);

}  // namespace espalier
