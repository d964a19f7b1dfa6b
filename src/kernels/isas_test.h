// For tests of kernels: the instruction sets with vector loops that this process may use.
#pragma once

#include <vector>

#include "base/isa.h"

namespace espalier {

inline std::vector<Isa> available_isas() {
  std::vector<Isa> out;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAmx}) {
    if (isa <= current_isa()) out.push_back(isa);
  }
  return out;
}

}  // namespace espalier
