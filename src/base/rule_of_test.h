// What tests of errors ask for.
#pragma once

#include <string>

#include "espalier/error.h"

namespace espalier {

// The rule of the error that `call` raises; "nothing" when it raises none.
template <class F>
std::string rule_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.rule();
  }
  return "nothing";
}

}  // namespace espalier
