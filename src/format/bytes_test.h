// Bytes of memory as a source, for tests.
#pragma once

#include <string>

#include "format/byte_source.h"

namespace espalier {

class Bytes : public ByteSource {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
  size_t read(char* out, size_t size) override {
    const size_t count = bytes_.copy(out, size, at_);
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

}  // namespace espalier
