// The whole text of an error, for tests of what it says.
#pragma once

#include <string>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

// "ValueError[fit.labels] message | fix" of the error that `call` raises, without " | " where it has no fix;
// "nothing" when it raises none.
template <class F>
std::string error_text(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return cat(error.kind(), "[", error.rule(), "] ", error.message(), error.fix().empty() ? "" : " | ",
               error.fix());
  }
  return "nothing";
}

}  // namespace espalier
