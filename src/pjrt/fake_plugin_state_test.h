// What the fake plugin answers, and what it was asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pjrt/abi.h"

namespace espalier::pjrt::fake {

struct Device {
  int id = 0;
  int process = 0;
  std::string kind = "some kind";
};
// What a program takes, as the compiler says it.
struct Estimate {
  int64_t arguments = 0, outputs = 0, aliases = 0, temporary = 0;
};
struct Memory {
  int64_t in_use = 0;
  DeviceMemoryStats::Figure peak = {}, limit = {};
};

struct State {
  std::string platform = "fake", version = "1.2";
  std::vector<Device> devices = {{}};  // of all processes
  int process = 0;
  size_t unlisted = 0;                    // devices of all processes that are not told of
  std::optional<Memory> memory = {};      // of the device 0; others have 1 byte more in use. None: an error
  std::optional<Estimate> estimate = {};  // of the next programs. None: an error
  std::string refused_option;             // a compilation that names it fails
  size_t outputs = 1;                     // of each program: copies of its first arguments
  int programs = 0;                       // that were compiled, which numbers them
  size_t withheld = 0;                    // bytes that a download lacks at its end
  // One line a call that tests ask about, and the options of each compilation.
  std::vector<std::string> log, options;
};

}  // namespace espalier::pjrt::fake
