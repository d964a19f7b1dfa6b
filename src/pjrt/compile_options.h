// Options of one compilation in the form that plugins read: xla.CompileOptionsProto.
#pragma once

#include <string>

namespace espalier::pjrt {

struct CompileOptions {
  // False: a 16-bit value between two operations is rounded to 16 bits, as our own executor does it.
  bool excess_precision = false;
  int device = 0;  // the client's number of the device it is compiled for
};

// The message's bytes, for one replica in one partition. Never empty: plugins end the process over that.
std::string encode(const CompileOptions& options);

}  // namespace espalier::pjrt
