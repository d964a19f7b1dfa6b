// What the plugin between knows: which call fails how, and what was made and given back.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt/abi.h"

namespace espalier::pjrt::shim {

// kDescribe: what is asked about programs and memory, and can be done without.
enum Kind { kClient, kCompile, kDescribe, kUpload, kExecute, kDownload, kAwait, kDestroy, kKinds };
constexpr const char* kKindNames[kKinds] = {"client",  "compile",  "describe", "upload",
                                            "execute", "download", "await",    "destroy"};
enum Object { kClients, kExecutables, kPrograms, kSerialized, kBuffers, kEvents, kErrors, kObjects };
constexpr const char* kObjectNames[kObjects] = {"clients", "executables", "programs", "serialized",
                                                "buffers", "events",      "errors"};

struct State {
  std::mutex mutex;
  std::string fault;
  int kind = kKinds, number = 0;  // of the call that fails; kKinds: of any kind
  int calls = 0, calls_of[kKinds] = {};
  std::string struck;  // the kind of the call that did

  std::set<const void*> living[kObjects];
  int made[kObjects] = {}, strangers = 0;  // given back twice, or never made
  std::set<const void*> lost;              // buffers of runs and uploads that failed late
  std::set<const void*> failing;           // events that will bring an error
  std::set<const void*> own;               // errors
  std::map<const void*, size_t> outputs;   // of an executable
  std::map<const void*, void (*)(AbiSerialized*)> destroys;
};
// Never destroyed: threads of the real plugin outlive main.
inline State& state() {
  static auto* const all = new State;
  return *all;
}
inline auto locked() { return std::unique_lock(state().mutex); }

inline void add(Object object, const void* one) {
  if (!one) return;
  const auto lock = locked();
  state().living[object].insert(one);
  ++state().made[object];
}
inline void remove(Object object, const void* one) {
  if (!one) return;
  const auto lock = locked();
  if (!state().living[object].erase(one)) ++state().strangers;
}

// The fault of this call, or "".
inline std::string next(Kind kind) {
  const auto lock = locked();
  State& all = state();
  const int number = ++all.calls, of_kind = ++all.calls_of[kind];
  const bool strikes = all.kind == kKinds ? number == all.number : kind == all.kind && of_kind == all.number;
  return strikes ? all.fault : "";
}
inline void strike(Kind kind) {
  const auto lock = locked();
  state().struck = kKindNames[kind];
}
inline void arm(std::string_view text) {
  const auto lock = locked();
  State& all = state();
  all.fault.clear();
  all.struck.clear();
  all.calls = 0;
  std::ranges::fill(all.calls_of, 0);
  all.kind = kKinds;
  const size_t at = text.find('@'), colon = text.find(':');
  if (at == text.npos) return;
  all.fault = text.substr(0, at);
  if (colon != text.npos)
    all.kind =
        static_cast<int>(std::ranges::find(kKindNames, text.substr(at + 1, colon - at - 1)) - kKindNames);
  all.number = std::atoi(text.data() + (colon == text.npos ? at : colon) + 1);
}

inline std::string report() {
  const auto lock = locked();
  const State& all = state();
  std::string out = "{\"struck\":\"" + all.struck + "\",\"strangers\":" + std::to_string(all.strangers);
  const auto list = [&](const char* name, const auto& names, size_t count, auto number) {
    out += std::string(",\"") + name + "\":{";
    for (size_t i = 0; i < count; ++i)
      out += std::string(i ? "," : "") + "\"" + names[i] + "\":" + std::to_string(number(i));
    out += "}";
  };
  list("calls", kKindNames, kKinds, [&](size_t i) { return all.calls_of[i]; });
  list("made", kObjectNames, kObjects, [&](size_t i) { return all.made[i]; });
  list("living", kObjectNames, kObjects, [&](size_t i) { return all.living[i].size(); });
  return out + "}\n";
}

}  // namespace espalier::pjrt::shim
