// What a compiled program depends on.
#pragma once

#include <string>
#include <string_view>

namespace espalier::pjrt {

// Where anything differs, the program must be compiled anew.
struct ProgramKey {
  std::string text;         // as the plugin is given it
  std::string options;      // of its compilation, encoded
  std::string flags;        // of the compiler: compiler_flags()
  std::string plugin;       // its content's digest
  std::string platform;     // name and version, driver
  std::string device_kind;  // with its compute capability
  std::string host;         // host_features()

  // 64 hexadecimal digits: another one for another key.
  std::string name() const;
  // What people call it: the name of its module, "" where it has none.
  std::string program() const;
};

// A digest of the CPU that code is compiled for.
std::string host_features();
// The same of what /proc/cpuinfo says: model and flags, nothing that changes while it runs.
std::string host_features_in(std::string_view cpuinfo);

// XLA_FLAGS and LIBTPU_INIT_ARGS of the environment. One that does not begin with a dash names a file of
// flags, whose text then counts.
std::string compiler_flags();

}  // namespace espalier::pjrt
