#include "comm/wire_module.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/format.h"
#include "base/shortened.h"
#include "base/version.h"
#include "espalier/error.h"

namespace espalier {
namespace {

struct Engine {
  const char* name;
  const char* packages;
};
constexpr Engine kEngines[] = {{"gloo", "libgloo-dev is"}, {"mpi", "libopenmpi-dev and openmpi-bin are"}};

const Engine& engine_of(const std::string& name) {
  for (const Engine& engine : kEngines)
    if (name == engine.name) return engine;
  throw ValueError("comm.engine",
                   cat("there is no engine \"", shortened(name), "\" between hosts: known are gloo and mpi"));
}

std::vector<std::filesystem::path> module_folders() {
  if (const char* given = std::getenv("ESPALIER_MODULES"); given && *given) return {given};
  std::vector<std::filesystem::path> out;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) {
    out.push_back(program);
    out.push_back((program / "../lib/espalier").lexically_normal());
  }
  out.emplace_back(ESPALIER_MODULE_FOLDER);
  return out;
}

// The module, or why there is none.
struct Loaded {
  const WireModule* module = nullptr;
  std::string why = {}, fix = {};
};

// It stays loaded: what an engine has started outlives its wire.
Loaded load_module(const Engine& engine) {
  const std::string file = cat("espalier_", engine.name, ".so");
  std::string searched;
  for (const std::filesystem::path& folder : module_folders()) {
    const std::string path = folder / file;
    if (::access(path.c_str(), F_OK) != 0) {
      searched += cat(searched.empty() ? "" : ", ", folder.string());
      continue;
    }
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return {nullptr, cat("the engine ", engine.name, " cannot be loaded; ", engine.packages,
                           " to be installed: ", ::dlerror())};
    const auto* module = static_cast<const WireModule*>(::dlsym(handle, kWireModule));
    if (!module) return {nullptr, cat(path, " is no engine of this library: it has no ", kWireModule)};
    if (std::strcmp(module->version, kVersion) != 0)
      return {nullptr, cat(path, " is of version ", module->version, ", and this program of ", kVersion)};
    return {module, {}};
  }
  return {nullptr,
          cat("the engine ", engine.name, " is not there: it is built where ", engine.packages,
              " installed, as ", file, ", and searched in ", searched),
          cat("ESPALIER_MODULES=FOLDER, the one that has ", file)};
}

}  // namespace

std::unique_ptr<Wire> load_wire(const std::string& engine, const WireOptions& options) {
  const Loaded loaded = load_module(engine_of(engine));
  if (!loaded.module) throw RunError("comm.engine", loaded.why, loaded.fix);
  try {
    return loaded.module->make(options);
  } catch (const Error&) {
    throw;  // of the store
  } catch (const std::exception& error) {
    throw RunError("comm.join", cat("rank ", options.rank, " of ", options.world, " cannot join over ",
                                    engine, ": ", error.what()));
  }
}

bool has_wire(const std::string& engine, std::string* why) {
  const Loaded loaded = load_module(engine_of(engine));
  if (why) *why = loaded.why;
  return loaded.module != nullptr;
}

}  // namespace espalier
