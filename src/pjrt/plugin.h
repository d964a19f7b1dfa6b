// A PJRT plugin: a shared library that compiles StableHLO for some kind of device and runs it there.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>
#include <type_traits>

#include "espalier/error.h"
#include "pjrt/abi.h"

namespace espalier::pjrt {

// A loaded plugin. It stays loaded until the process ends: its threads do.
class Plugin {
 public:
  // Loads the file, once a process. Raises DeviceError[device.plugin] where it is no shared library that can
  // be loaded, no PJRT plugin, of a version before 0.81, or refuses to begin. Safe from several threads.
  static const Plugin& load(const std::string& path);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const std::string& path() const { return path_; }
  // "0.81"
  std::string version() const;

  // Calls the function of these arguments. Raises DeviceError[device.call], [device.memory] where the device
  // has none left, or [device.unsupported] where the plugin cannot do that at all, with the plugin's words;
  // `doing` says what was tried: "compile the program".
  template <class Arguments>
  void call(Arguments& arguments, const char* doing) const {
    static_assert(std::is_standard_layout_v<Arguments>);
    arguments.head.bytes = sizeof arguments;
    call_slot(Arguments::kSlot, &arguments, doing);
  }
  // Without errors: for destructors.
  template <class Arguments>
  void destroy(Arguments arguments) const noexcept {
    try {
      call(arguments, "destroy");
    } catch (...) {  // NOLINT: what cannot be given back is gone with the process
    }
  }
  // Raises DeviceError[device.call] where an answer lacks what it is about: an "executable".
  void require(const void* answer, const char* what, const char* doing) const;
  // Until the event has come, then destroys it. Raises what came of it, and where there is none.
  void wait(AbiEvent* event, const char* doing) const;

 private:
  Plugin(std::string path, const AbiTable* table) : path_(std::move(path)), table_(table) {}
  void call_slot(size_t slot, void* arguments, const char* doing) const;
  // Null where the table is too short for it.
  template <class F>
  F function(size_t slot) const;
  [[noreturn]] void raise(AbiError* error, const char* doing) const;

  std::string path_;
  const AbiTable* table_;
  const pid_t process_ = ::getpid();
};

}  // namespace espalier::pjrt
