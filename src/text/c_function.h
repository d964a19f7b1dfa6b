// The elementary functions of C files, as texts.
#pragma once

#include <span>
#include <vector>

namespace espalier::c_text {

struct Function {
  const char* name;
  std::vector<const char*> calls;  // functions of this list and of those before it
  const char* text;                // the definition; errors that its comment states are those that tests hold
};

// In this order: each function stands behind those that it calls.
std::span<const Function> exponential_functions();  // and powers, rounding, the error function
std::span<const Function> angle_functions();
std::span<const Function> special_functions();  // roots, remainders, the gamma function, bits

}  // namespace espalier::c_text
