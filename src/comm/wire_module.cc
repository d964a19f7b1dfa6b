#include "comm/wire_module.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/format.h"
#include "base/shortened.h"
#include "base/thread_stacks.h"
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

// Of the program in this folder; "" where it is not known.
std::vector<std::filesystem::path> module_folders(const std::filesystem::path& program) {
  if (const char* given = std::getenv("ESPALIER_MODULES"); given && *given) return {given};
  std::vector<std::filesystem::path> out;
  if (!program.empty()) {
    out.push_back(program);
    out.push_back((program / "../lib/espalier").lexically_normal());
  }
  out.emplace_back(ESPALIER_MODULE_FOLDER);
  if (const char* launchers = std::getenv(kLauncherModules); launchers && *launchers)
    out.emplace_back(launchers);
  return out;
}

std::filesystem::path own_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

// The module and its folder, or why there is none.
struct Loaded {
  const WireModule* module = nullptr;
  std::string why = {}, fix = {}, folder = {};
};

// It stays loaded: what an engine has started outlives its wire.
Loaded load_module(const Engine& engine, const std::filesystem::path& program = own_folder()) {
  const std::string file = cat("espalier_", engine.name, ".so");
  std::string searched, refused;
  const auto refuse = [&](const std::string& why) {
    if (refused.empty()) refused = why;
  };
  for (const std::filesystem::path& folder : module_folders(program)) {
    const std::string path = folder / file;
    if (::access(path.c_str(), F_OK) != 0) {
      searched += cat(searched.empty() ? "" : ", ", folder.string());
      continue;
    }
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      refuse(cat("the engine ", engine.name, " cannot be loaded; ", engine.packages,
                 " to be installed: ", ::dlerror()));
      continue;
    }
    const auto* module = static_cast<const WireModule*>(::dlsym(handle, kWireModule));
    if (module && std::strcmp(module->version, kWireVersion) == 0)
      return {.module = module, .folder = folder};
    refuse(module ? cat(path, " is of version ", module->version, ", and this program of ", kWireVersion)
                  : cat(path, " is no engine of this library: it has no ", kWireModule));
    ::dlclose(handle);
  }
  if (!refused.empty()) return {.why = refused};
  return {nullptr,
          cat("the engine ", engine.name, " is not there: it is built where ", engine.packages,
              " installed, as ", file, ", and searched in ", searched),
          cat("ESPALIER_MODULES=FOLDER, the one that has ", file)};
}

}  // namespace

std::unique_ptr<Wire> load_wire(const std::string& engine, const WireOptions& options) {
  const Loaded loaded = load_module(engine_of(engine));
  if (!loaded.module) throw RunError("comm.engine", loaded.why, loaded.fix);
  const ThreadStacks stacks;  // of the engine's threads
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

std::string why_no_wire(const std::string& engine, const std::string& program_folder) {
  return load_module(engine_of(engine), program_folder).why;
}

std::string wire_folder(const std::string& engine) { return load_module(engine_of(engine)).folder; }

}  // namespace espalier
