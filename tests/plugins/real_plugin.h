// The plugin behind one that stands before it, and the table of the latter: the real one's, but for some
// calls.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "pjrt/abi.h"

namespace espalier::pjrt {

class RealPlugin {
 public:
  // Loads the file that a variable of the environment names; false where that fails. Once.
  bool open(const char* variable) {
    const char* const path = std::getenv(variable);
    void* const handle = path ? ::dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    const auto get =
        handle ? reinterpret_cast<const AbiTable* (*)()>(::dlsym(handle, "GetPjrtApi")) : nullptr;
    const AbiTable* const real = get ? get() : nullptr;
    if (!real) return false;
    const auto* const bytes = reinterpret_cast<const char*>(real);
    functions_ = bytes + sizeof(AbiTable);
    table_.assign(bytes, bytes + real->head.bytes);
    return true;
  }
  bool is_open() const { return functions_ != nullptr; }
  const AbiTable* table() const { return reinterpret_cast<const AbiTable*>(table_.data()); }
  // The call of `A` in our table.
  template <class A, class F>
  void put(F* f) {
    std::memcpy(table_.data() + sizeof(AbiTable) + A::kSlot * sizeof f, &f, sizeof f);
  }
  // The real one's.
  template <class Result, class A>
  Result call(A& arguments) const {
    Result (*f)(A*) = nullptr;
    std::memcpy(&f, functions_ + A::kSlot * sizeof f, sizeof f);
    arguments.head.bytes = sizeof arguments;
    return f(&arguments);
  }

 private:
  const char* functions_ = nullptr;
  std::vector<char> table_;
};

}  // namespace espalier::pjrt
