// Loading an engine: a shared object, espalier_gloo.so, which needs packages that not every machine has. It
// is searched beside the program, in ../lib/espalier of there, where the library is installed, and where the
// launcher has it (kLauncherModules); where ESPALIER_MODULES names a folder, in that alone. The first one of
// this program's version counts. It stays loaded.
#pragma once

#include <memory>
#include <string>

#include "base/wire_version.h"
#include "comm/wire.h"

namespace espalier {

struct WireOptions {
  int rank = 0, world = 1;
  KeyStore* store = nullptr;    // Gloo meets in it; MPI needs none
  std::string generation = {};  // tells starts of one run apart: a prefix of keys
  std::string interface = {};   // "eth0" or an address of this host; Gloo listens at it and nowhere else
  double timeout = 330;         // seconds that one message may take
};

// Loads "gloo" or "mpi" and makes its wire, on the thread that will use it. Raises ValueError[comm.engine]
// for another name; RunError[comm.engine] where the module is not there, with the package that it needs and
// the folders that were searched, and where it is of another version of the library; RunError[comm.join] with
// the engine's words where ranks do not find each other.
std::unique_ptr<Wire> load_wire(const std::string& engine, const WireOptions& options);
// Whether load_wire() would find the module; where not, why.
bool has_wire(const std::string& engine, std::string* why = nullptr);
// Why a program that lies in this folder would not find it, with the environment of this process; "" where it
// would.
std::string why_no_wire(const std::string& engine, const std::string& program_folder);
// Where this process finds it; "" where it does not.
std::string wire_folder(const std::string& engine);
// The variable by which `espalier launch` hands that folder on to its ranks.
inline constexpr const char* kLauncherModules = "ESPALIER_LAUNCHER_MODULES";

// The C symbol of a module, by name, and what it points to.
struct WireModule {
  const char* version = nullptr;  // kWireVersion of the library that it was built with
  // Throws std::exception; what() is in the engine's words.
  std::unique_ptr<Wire> (*make)(const WireOptions& options) = nullptr;
};
inline constexpr const char* kWireModule = "espalier_wire_module";

}  // namespace espalier
