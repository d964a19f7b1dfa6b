#include "launch/control_secret.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

namespace espalier {
namespace {

constexpr const char* kSecretVariable = "ESPALIER_SECRET";
// Fields of /proc/PID/stat behind the name, the first of which is 3: between these two addresses lies the
// environment that the process began with, env_start and env_end of proc(5).
constexpr int kEnvironmentStart = 50 - 3;

// Whether `text` is of the block that /proc/PID/environ shows. Others, of setenv() or a program's own, may
// not be writable.
bool is_of_first_environment(const char* text) {
  std::ifstream in("/proc/self/stat");
  std::string line, field;
  std::getline(in, line);
  const size_t name_end = line.rfind(')');  // it may hold anything
  if (name_end == line.npos) return false;
  std::istringstream fields(line.substr(name_end + 1));
  for (int i = 0; i < kEnvironmentStart; ++i) fields >> field;
  uintptr_t start = 0, end = 0;
  fields >> start >> end;
  const auto at = reinterpret_cast<uintptr_t>(text);
  return fields && start <= at && at + std::strlen(text) < end;
}

}  // namespace

std::string take_secret() {
  static std::mutex mutex;
  static std::string& kept = *new std::string;  // of the process, also while others end
  const std::lock_guard lock(mutex);
  char* const said = std::getenv(kSecretVariable);
  if (!said) return kept;
  kept = said;
  if (is_of_first_environment(said)) ::explicit_bzero(said, std::strlen(said));
  ::unsetenv(kSecretVariable);
  return kept;
}

}  // namespace espalier
