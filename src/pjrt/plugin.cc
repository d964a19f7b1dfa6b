#include "pjrt/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/format.h"
#include "base/thread_stacks.h"

namespace espalier::pjrt {
namespace {

constexpr char kRule[] = "device.plugin";

std::string version_of(int major, int minor) { return cat(major, ".", minor); }

// Before dlopen: plugins read it once, and would write every refusal to standard error, too.
void silence() { ::setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0); }

const AbiTable* open_table(const std::string& path) {
  silence();
  if (!std::filesystem::exists(path)) throw DeviceError(kRule, cat("there is no plugin ", path));
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw DeviceError(kRule, cat(path, " cannot be loaded: ", ::dlerror()));
  using GetTable = const AbiTable* (*)();
  const auto get = reinterpret_cast<GetTable>(::dlsym(handle, "GetPjrtApi"));
  if (!get) {
    ::dlclose(handle);
    throw DeviceError(kRule, cat(path, " is no PJRT plugin: it has no GetPjrtApi"));
  }
  const AbiTable* table = get();
  if (!table || table->head.bytes < sizeof(AbiTable))
    throw DeviceError(kRule, cat(path, " gives no table of functions"));
  if (table->major != kAbiMajor || table->minor < kAbiMinor)
    throw DeviceError(kRule,
                      cat(path, " speaks PJRT ", version_of(table->major, table->minor), "; needed is ",
                          version_of(kAbiMajor, kAbiMinor), " or later of ", kAbiMajor));
  return table;
}

}  // namespace

const Plugin& Plugin::load(const std::string& path) {
  static std::mutex mutex;
  static auto* const loaded = new std::map<std::string, std::unique_ptr<Plugin>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::error_code unknown;
  const std::string real = std::filesystem::canonical(path, unknown).string();
  auto& known = (*loaded)[unknown ? path : real];
  if (!known) {
    std::unique_ptr<Plugin> plugin(new Plugin(path, open_table(path)));
    PluginInitialize initialize;
    plugin->call(initialize, "begin");
    known = std::move(plugin);
  }
  return *known;
}

std::string Plugin::version() const { return version_of(table_->major, table_->minor); }

template <class F>
F Plugin::function(size_t slot) const {
  F f = nullptr;
  const size_t at = sizeof(AbiTable) + slot * sizeof f;
  if (at + sizeof f <= table_->head.bytes)
    std::memcpy(&f, reinterpret_cast<const char*>(table_) + at, sizeof f);
  return f;
}

void Plugin::call_slot(size_t slot, void* arguments, const char* doing) const {
  // Its threads are not those of a child, which would wait for them for ever.
  if (process_ != ::getpid())
    throw DeviceError("device.forked",
                      cat("cannot ", doing, ": this process was forked by one that had begun ", path_),
                      "fork before the first use of a device, or start a program anew (exec)");
  const auto f = function<AbiFunction>(slot);
  if (!f)
    throw DeviceError("device.call", cat(path_, " cannot ", doing, ": its table has no function ", slot,
                                         "; it speaks PJRT ", version()));
  const ThreadStacks stacks;  // of the plugin's threads
  AbiError* error = nullptr;
  try {
    error = f(arguments);
  } catch (const std::exception& thrown) {
    // Not of the interface, and yet some do.
    throw DeviceError("device.call",
                      cat("the plugin threw an exception where it was to ", doing, ": ", thrown.what()));
  } catch (...) {
    throw DeviceError("device.call", cat("the plugin threw an exception where it was to ", doing));
  }
  if (error) raise(error, doing);
}

void Plugin::raise(AbiError* error, const char* doing) const {
  const auto tell = [this]<class Function>(auto& arguments, Function) {
    arguments.head.bytes = sizeof arguments;
    if (const auto f = function<Function>(arguments.kSlot)) f(&arguments);
  };
  // Two of these give nothing back.
  using Silent = void (*)(void*);
  ErrorMessage message{.error = error};
  tell(message, Silent());
  ErrorGetCode code{.error = error};
  tell(code, AbiFunction());
  const std::string text = message.message ? std::string(message.message, message.message_size) : "";
  ErrorDestroy destroy{.error = error};
  tell(destroy, Silent());
  const char* rule = code.code == AbiCode::kOutOfMemory     ? "device.memory"
                     : code.code == AbiCode::kUnimplemented ? "device.unsupported"
                                                            : "device.call";
  throw DeviceError(rule, cat("cannot ", doing, ": ", text, " (code ", static_cast<int>(code.code), " of ",
                              std::filesystem::path(path_).filename().string(), ", PJRT ", version(), ")"));
}

void Plugin::require(const void* answer, const char* what, const char* doing) const {
  if (answer) return;
  throw DeviceError("device.call",
                    cat("cannot ", doing, ": the plugin gave no ", what, " and no error (",
                        std::filesystem::path(path_).filename().string(), ", PJRT ", version(), ")"));
}

void Plugin::wait(AbiEvent* event, const char* doing) const {
  require(event, "event", doing);
  struct Ending {
    const Plugin& plugin;
    AbiEvent* event;
    ~Ending() { plugin.destroy(EventDestroy{.event = event}); }
  } const ending{*this, event};
  EventAwait arguments{.event = event};
  call(arguments, doing);
}

}  // namespace espalier::pjrt
