// A PJRT plugin that fails as ESPALIER_BROKEN says, for tests: "old" speaks 0.50, "short" has a table without
// its last functions, "begins" refuses to begin, "client" has no device, "memory" has none left, "lacks"
// cannot make one, "throws" throws.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "pjrt/abi.h"

namespace espalier::pjrt {

struct AbiError {
  std::string message;
  AbiCode code;
};

namespace {

constexpr size_t kFunctions = 100;
struct Table {
  AbiTable head;
  void* functions[kFunctions];
};

bool is(std::string_view fault) {
  const char* given = std::getenv("ESPALIER_BROKEN");
  return given && fault == given;
}

void destroy_error(ErrorDestroy* arguments) { delete arguments->error; }
void message_of_error(ErrorMessage* arguments) {
  arguments->message = arguments->error->message.c_str();
  arguments->message_size = arguments->error->message.size();
}
AbiError* code_of_error(ErrorGetCode* arguments) {
  arguments->code = arguments->error->code;
  return nullptr;
}
AbiError* begin(PluginInitialize*) {
  if (is("begins")) return new AbiError{"the driver is of yesterday", static_cast<AbiCode>(9)};
  return nullptr;
}
AbiError* create_client(ClientCreate*) {
  if (is("throws")) throw std::runtime_error("out of the interface");
  if (is("memory"))
    return new AbiError{"Out of memory allocating 4398046511104 bytes.", AbiCode::kOutOfMemory};
  if (is("lacks")) return new AbiError{"There are no clients.", AbiCode::kUnimplemented};
  return new AbiError{"No visible GPU devices.", static_cast<AbiCode>(9)};
}

}  // namespace
}  // namespace espalier::pjrt

extern "C" const espalier::pjrt::AbiTable* GetPjrtApi() {
  using namespace espalier::pjrt;
  static Table table;
  table.head.head.bytes = is("short") ? sizeof(AbiTable) + 10 * sizeof(void*) : sizeof table;
  table.head.major = kAbiMajor;
  table.head.minor = is("old") ? 50 : kAbiMinor;
  table.functions[ErrorDestroy::kSlot] = reinterpret_cast<void*>(destroy_error);
  table.functions[ErrorMessage::kSlot] = reinterpret_cast<void*>(message_of_error);
  table.functions[ErrorGetCode::kSlot] = reinterpret_cast<void*>(code_of_error);
  table.functions[PluginInitialize::kSlot] = reinterpret_cast<void*>(begin);
  table.functions[ClientCreate::kSlot] = reinterpret_cast<void*>(create_client);
  return &table.head;
}
