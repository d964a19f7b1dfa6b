// Options of one compilation in the form that plugins read: xla.CompileOptionsProto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::pjrt {

struct CompileOptions {
  // False: a 16-bit value between two operations is rounded to 16 bits, as our own executor does it.
  bool excess_precision = false;
  // Of XLA for CPUs. True: a maximum or minimum of NaN is NaN also where it would take the other operand,
  // faster.
  bool keeps_nan = false;
  // Seconds that replicas may wait for each other in a collective before it ends the process; 0: its own 40.
  int64_t collective_seconds = 0;
  // The client's numbers of the devices it is compiled for, one a replica; none: the first ones.
  std::vector<int> devices = {};
  int replicas = 1;
};

// The message's bytes, for one partition. Never empty: plugins end the process over that. REQUIRES: there are
// as many devices as replicas, or none.
std::string encode(const CompileOptions& options);

}  // namespace espalier::pjrt
