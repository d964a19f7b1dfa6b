// A PJRT plugin between us and a real one, for tests: it passes each call on to the plugin that
// ESPALIER_SHIM_PLUGIN names, but for one, which fails as ESPALIER_SHIM says, and counts what was made and
// given back. "FAULT@N" strikes the call N, from 1 on, "FAULT@KIND:N" the call N of a kind: client, compile,
// upload, execute, download, await or destroy. Faults:
//   refuse    the call is not made, an error comes back
//   memory    the same with the code of a device that has no memory left
//   throws    the same by a C++ exception
//   delay     the call is made 300 ms late
//   dies      the process is killed instead of the call
//   hangs     the call never comes back; ESPALIER_SHIM_HANGS is a file that is written before
//   late      an upload, run or download begins well, and its event brings the error; arrays of it are lost
//   truncate  the call is made, and its answer lacks something: an even N lacks the event, where there is one
// Where a call has no such fault, none strikes. ESPALIER_SHIM_REPORT is the file of the report at the end of
// the process. In one process, espalier_shim_arm and espalier_shim_report do the work of both variables.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include "plugins/real_plugin.h"
#include "plugins/shim_state.h"

namespace espalier::pjrt {

struct AbiError {
  std::string message;
  AbiCode code;
};

namespace {

using namespace shim;

// Never destroyed, as state() is not.
RealPlugin& behind_shim() {
  static auto* const one = new RealPlugin;
  return *one;
}
template <class Result = AbiError*, class Arguments>
Result really(Arguments& arguments) {
  return behind_shim().call<Result>(arguments);
}
template <class Arguments>
void quietly(Arguments arguments) {
  if (AbiError* error = really(arguments)) {
    ErrorDestroy destroy{.error = error};
    really<void>(destroy);
  }
}

AbiError* own_error(const char* message, AbiCode code) {
  auto* const error = new AbiError{message, code};
  add(kErrors, error);
  const auto lock = locked();
  state().own.insert(error);
  return error;
}
bool is_own(const AbiError* error) {
  const auto lock = locked();
  return state().own.contains(error);
}

bool lacks_event() { return state().number % 2 == 0; }

void wait_for(AbiEvent* event) { quietly(EventAwait{.event = event}); }
void take_event(AbiEvent*& event) {
  if (!event) return;
  // What it stands for is done, so that nothing is written later.
  wait_for(event);
  remove(kEvents, event);
  quietly(EventDestroy{.event = event});
  event = nullptr;
}
void take_buffer(AbiBuffer*& buffer) {
  remove(kBuffers, buffer);
  quietly(BufferDestroy{.buffer = buffer});
  buffer = nullptr;
}
void fail(const AbiEvent* event) {
  const auto lock = locked();
  state().failing.insert(event);
}
bool is_lost(const AbiBuffer* buffer) {
  const auto lock = locked();
  return state().lost.contains(buffer);
}
void lose(const AbiBuffer* buffer) {
  const auto lock = locked();
  state().lost.insert(buffer);
}

// What each call makes, of which kinds its faults are. Overloads stand for calls that differ from the first.

template <class A>
void give_back(A&) {}
void give_back(EventDestroy& a) {
  remove(kEvents, a.event);
  const auto lock = locked();
  state().failing.erase(a.event);
}
void give_back(BufferDestroy& a) {
  remove(kBuffers, a.buffer);
  const auto lock = locked();
  state().lost.erase(a.buffer);
}
void give_back(ClientDestroy& a) { remove(kClients, a.client); }
void give_back(LoadedDestroy& a) { remove(kExecutables, a.executable); }
void give_back(ExecutableDestroy& a) { remove(kPrograms, a.executable); }
// A call that is refused ends what it waits for all the same: the host's memory may go then.
void give_back(EventAwait& a) {
  if (a.event) wait_for(a.event);
}

void note_loaded(AbiLoadedExecutable* loaded) {
  add(kExecutables, loaded);
  LoadedGetExecutable get{.loaded = loaded};
  ExecutableNumOutputs count;
  if (really(get)) std::abort();
  count.executable = get.executable;
  if (really(count)) std::abort();
  quietly(ExecutableDestroy{.executable = get.executable});
  const auto lock = locked();
  state().outputs[loaded] = count.count;
}
size_t outputs_of(const LoadedExecute& a) {
  const auto lock = locked();
  return state().outputs.at(a.executable);
}

template <class A>
void note(A&) {}
void note(ClientCreate& a) { add(kClients, a.client); }
void note(ClientCompile& a) { note_loaded(a.executable); }
void note(ExecutableDeserializeAndLoad& a) { note_loaded(a.loaded); }
void note(LoadedGetExecutable& a) { add(kPrograms, a.executable); }
void destroy_serialized(AbiSerialized* serialized) {
  remove(kSerialized, serialized);
  auto lock = locked();
  const auto destroy = state().destroys.at(serialized);
  lock.unlock();
  destroy(serialized);
}
void note(ExecutableSerialize& a) {
  add(kSerialized, a.serialized);
  const auto lock = locked();
  state().destroys[a.serialized] = std::exchange(a.destroy, destroy_serialized);
}
void note(ClientBufferFromHost& a) {
  add(kEvents, a.done_with_host);
  add(kBuffers, a.buffer);
}
void note(LoadedExecute& a) {
  bool lost = false;
  for (size_t i = 0; i < a.argument_count; ++i) lost |= is_lost(a.arguments[0][i]);
  for (size_t i = 0; i < outputs_of(a); ++i) {
    add(kBuffers, a.outputs[0][i]);
    if (lost) lose(a.outputs[0][i]);
  }
  if (!a.done) return;
  add(kEvents, a.done[0]);
  if (lost) fail(a.done[0]);
}
void note(BufferToHost& a) {
  add(kEvents, a.done);
  if (is_lost(a.buffer)) fail(a.done);
}

// Whether there is such a fault.
template <class A>
bool spoil(A&) {
  return false;
}
bool spoil(ClientBufferFromHost& a) {
  fail(a.done_with_host);
  lose(a.buffer);
  return true;
}
bool spoil(LoadedExecute& a) {
  for (size_t i = 0; i < outputs_of(a); ++i) lose(a.outputs[0][i]);
  if (a.done) fail(a.done[0]);
  return true;
}
bool spoil(BufferToHost& a) {
  fail(a.done);
  return true;
}

// `before`: the second half of what a download was given to fill.
template <class A>
bool cut(A&, std::string_view) {
  return false;
}
bool cut(ClientCreate& a, std::string_view) {
  remove(kClients, a.client);
  quietly(ClientDestroy{.client = std::exchange(a.client, nullptr)});
  return true;
}
bool cut(ClientPlatformName& a, std::string_view) {
  a.name_size = 0;
  return true;
}
bool cut(ClientPlatformVersion& a, std::string_view) {
  a.version_size = 0;
  return true;
}
bool cut(ClientAddressableDevices& a, std::string_view) {
  a.count = 0;
  return true;
}
bool cut(ClientDevices& a, std::string_view) {
  a.count = 0;
  return true;
}
bool cut(DeviceGetDescription& a, std::string_view) {
  a.description = nullptr;
  return true;
}
bool cut(DescriptionKind& a, std::string_view) {
  a.kind_size = 0;
  return true;
}
bool cut_loaded(AbiLoadedExecutable*& loaded) {
  remove(kExecutables, loaded);
  quietly(LoadedDestroy{.executable = std::exchange(loaded, nullptr)});
  return true;
}
bool cut(ClientCompile& a, std::string_view) { return cut_loaded(a.executable); }
bool cut(ExecutableDeserializeAndLoad& a, std::string_view) { return cut_loaded(a.loaded); }
bool cut(LoadedGetExecutable& a, std::string_view) {
  remove(kPrograms, a.executable);
  quietly(ExecutableDestroy{.executable = std::exchange(a.executable, nullptr)});
  return true;
}
bool cut(ExecutableNumOutputs& a, std::string_view) {
  a.count = 0;
  return true;
}
bool cut(ExecutableSerialize& a, std::string_view) {
  a.size /= 2;
  return true;
}
bool cut(ClientBufferFromHost& a, std::string_view) {
  if (lacks_event()) {
    take_event(a.done_with_host);
  } else {
    take_buffer(a.buffer);
  }
  return true;
}
bool cut(LoadedExecute& a, std::string_view) {
  const size_t count = outputs_of(a);
  if (!lacks_event() && count) {
    take_buffer(a.outputs[0][count - 1]);
  } else if (a.done) {
    take_event(a.done[0]);
  }
  return true;
}
bool cut(BufferToHost& a, std::string_view before) {
  if (lacks_event()) {
    take_event(a.done);
  } else if (a.to) {
    wait_for(a.done);
    std::memcpy(static_cast<char*>(a.to) + a.size - before.size(), before.data(), before.size());
  } else {
    a.size /= 2;
  }
  return true;
}

template <class A>
std::string second_half(A&) {
  return "";
}
std::string second_half(BufferToHost& a) {
  const size_t half = a.to ? a.size - a.size / 2 : 0;
  return std::string(static_cast<const char*>(a.to) + a.size - half, half);
}

template <class A>
AbiError* late_error(A&) {
  return nullptr;
}
AbiError* late_error(EventAwait& a) {
  auto lock = locked();
  if (!state().failing.contains(a.event)) return nullptr;
  lock.unlock();
  return own_error("shim failed late", static_cast<AbiCode>(13));
}

template <class A, Kind kKind>
AbiError* passed(A* given) {
  A& a = *given;
  const std::string fault = next(kKind);
  const bool is_made = fault != "refuse" && fault != "memory" && fault != "throws";
  if (!is_made || kKind == kDestroy) give_back(a);
  if (!is_made) {
    strike(kKind);
    if (fault == "throws") throw std::runtime_error("out of the shim");
    if (fault == "memory") return own_error("shim has no memory left", AbiCode::kOutOfMemory);
    return own_error("shim refused", static_cast<AbiCode>(13));
  }
  if (fault == "dies") ::raise(SIGKILL);
  if (fault == "hangs") {
    strike(kKind);
    if (const char* path = std::getenv("ESPALIER_SHIM_HANGS")) std::fclose(std::fopen(path, "w"));
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  if (fault == "delay") {
    strike(kKind);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  const std::string before = fault == "truncate" ? second_half(a) : "";
  if (AbiError* error = really(a)) {
    add(kErrors, error);
    return error;
  }
  note(a);
  if ((fault == "late" && spoil(a)) || (fault == "truncate" && cut(a, before))) strike(kKind);
  return late_error(a);
}

void destroy_any_error(ErrorDestroy* a) {
  remove(kErrors, a->error);
  if (!is_own(a->error)) return really<void>(*a);
  const auto lock = locked();
  state().own.erase(a->error);
  delete a->error;
}
void message_of_any_error(ErrorMessage* a) {
  if (!is_own(a->error)) return really<void>(*a);
  a->message = a->error->message.c_str();
  a->message_size = a->error->message.size();
}
AbiError* code_of_any_error(ErrorGetCode* a) {
  if (!is_own(a->error)) return really(*a);
  a->code = a->error->code;
  return nullptr;
}

template <Kind kKind, class... A>
void wrap() {
  (behind_shim().put<A>(passed<A, kKind>), ...);
}

// Behind all destructors of the program's own: those of what the loader has loaded come last.
__attribute__((destructor)) void write_report() {
  const char* path = std::getenv("ESPALIER_SHIM_REPORT");
  if (!path) return;
  if (std::FILE* file = std::fopen(path, "w")) {
    std::fputs(report().c_str(), file);
    std::fclose(file);
  }
}

}  // namespace
}  // namespace espalier::pjrt

extern "C" const espalier::pjrt::AbiTable* GetPjrtApi() {
  using namespace espalier::pjrt;
  RealPlugin& plugin = behind_shim();
  if (plugin.is_open()) return plugin.table();
  if (!plugin.open("ESPALIER_SHIM_PLUGIN")) return nullptr;
  if (const char* given = std::getenv("ESPALIER_SHIM")) arm(given);
  plugin.put<ErrorDestroy>(destroy_any_error);
  plugin.put<ErrorMessage>(message_of_any_error);
  plugin.put<ErrorGetCode>(code_of_any_error);
  wrap<kClient, PluginInitialize, ClientCreate, ClientPlatformName, ClientPlatformVersion,
       ClientAddressableDevices, ClientProcessIndex, ClientDevices, DescriptionId, DescriptionKind,
       DescriptionProcessIndex, DeviceGetDescription>();
  wrap<kCompile, ClientCompile, ExecutableNumOutputs>();
  wrap<kDescribe, ExecutableSerialize, LoadedGetExecutable, ExecutableDeserializeAndLoad,
       ExecutableMemoryStats, DeviceMemoryStats>();
  wrap<kUpload, ClientBufferFromHost>();
  wrap<kExecute, LoadedExecute>();
  wrap<kDownload, BufferToHost, BufferElementType, BufferDimensions, BufferIsDeleted>();
  wrap<kAwait, EventAwait>();
  wrap<kDestroy, EventDestroy, BufferDestroy, LoadedDestroy, ExecutableDestroy, ClientDestroy>();
  return plugin.table();
}

extern "C" void espalier_shim_arm(const char* text) { espalier::pjrt::arm(text); }
// Valid until the next call.
extern "C" const char* espalier_shim_report() {
  static std::string text;
  text = espalier::pjrt::report();
  return text.c_str();
}
