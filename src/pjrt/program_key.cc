#include "pjrt/program_key.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/env.h"
#include "base/format.h"
#include "base/sha256.h"
#include "espalier/error.h"

namespace espalier::pjrt {
namespace {

// Its length stands before each part, so that none runs into the next one.
std::string part_of_key(std::string_view part) { return cat(part.size(), ":", part); }

// "" of what cannot be read: whoever compiles with it says so.
std::string text_of_file(const char* path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  try {
    return posix_env().read_file(path);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

std::string ProgramKey::name() const {
  // A field that is added must be named here, or this does not compile.
  const auto& [text_, options_, flags_, plugin_, platform_, kind_, host_] = *this;
  std::string all = "espalier program 1\n";
  for (const std::string* part : {&text_, &options_, &flags_, &plugin_, &platform_, &kind_, &host_})
    all += part_of_key(*part);
  return sha256_of(all);
}

std::string ProgramKey::program() const {
  constexpr std::string_view kModule = "module @";
  if (!text.starts_with(kModule)) return "";
  const std::string_view rest = std::string_view(text).substr(kModule.size());
  if (rest.starts_with('"')) return std::string(rest.substr(1, rest.find('"', 1) - 1));
  return std::string(rest.substr(0, rest.find_first_of(" {\n")));
}

std::string host_features_in(std::string_view cpuinfo) {
  constexpr std::string_view kLasting[] = {
      "vendor_id", "cpu family", "model",           "model name",       "stepping",    "flags",
      "Features",  "CPU part",   "CPU implementer", "CPU architecture", "CPU variant", "CPU revision"};
  std::string known;
  // The first processor stands for all.
  for (size_t at = 0; at < cpuinfo.size() && cpuinfo[at] != '\n';) {
    const size_t end = std::min(cpuinfo.find('\n', at), cpuinfo.size());
    const std::string_view line = cpuinfo.substr(at, end - at);
    std::string_view head = line.substr(0, line.find(':'));
    head = head.substr(0, head.find_last_not_of(" \t") + 1);
    if (std::ranges::count(kLasting, head)) known += part_of_key(line);
    at = end + 1;
  }
  return sha256_of(known);
}

std::string host_features() {
  static const std::string features = [] {
    utsname system = {};
    ::uname(&system);
    return sha256_of(cat(system.machine, " ", host_features_in(text_of_file("/proc/cpuinfo"))));
  }();
  return features;
}

std::string compiler_flags() {
  std::string out;
  for (const char* name : {"XLA_FLAGS", "LIBTPU_INIT_ARGS"}) {
    const char* value = std::getenv(name);
    if (!value) continue;
    const std::string_view text = value;
    const size_t first = text.find_first_not_of(" \t\r\n");
    const bool is_file = first != text.npos && text[first] != '-';
    out += cat(name, "=", part_of_key(text), is_file ? part_of_key(text_of_file(value)) : "", ";");
  }
  return out;
}

}  // namespace espalier::pjrt
