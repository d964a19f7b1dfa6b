#include "evaluate/confusion.h"

namespace espalier {

Tally Confusion::positives() const {
  Tally out = of[kTruePositive];
  return out += of[kFalseNegative];
}

Tally Confusion::all() const {
  Tally out;
  for (const Tally& tally : of) out += tally;
  return out;
}

}  // namespace espalier
