// Confusions of so many rows.
#pragma once

#include "evaluate/confusion.h"

namespace espalier {

inline Confusion counted(int tp, int fp, int tn, int fn) {
  Confusion out;
  const int counts[] = {tp, fp, tn, fn};
  for (size_t i = 0; i < kOutcomes; ++i) {
    for (int row = 0; row < counts[i]; ++row) out.of[i].add(1);
  }
  return out;
}

}  // namespace espalier
