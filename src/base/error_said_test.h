// What errors say, for tests of whole sentences.
#pragma once

#include <string>

#include "espalier/error.h"

namespace espalier {

// "rule: message" of the error that `call` raises; "" when it raises none.
template <class F>
std::string error_said(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.rule() + ": " + error.message();
  }
  return "";
}

}  // namespace espalier
