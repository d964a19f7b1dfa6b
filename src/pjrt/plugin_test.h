// The PJRT plugin that tests use.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace espalier::pjrt {

// ESPALIER_TEST_PLUGIN, or else what `scripts/bootstrap pjrt` has fetched; "" where there is none.
inline std::string test_plugin() {
  if (const char* given = std::getenv("ESPALIER_TEST_PLUGIN"); given && *given) return given;
  std::vector<std::string> fetched;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(".cache/pjrt", error))
    if (entry.path().extension() == ".so") fetched.push_back(entry.path().string());
  return fetched.empty() ? "" : *std::ranges::min_element(fetched);
}

// Tests leave the user's folder of compiled programs alone; those of the cache name one of their own.
inline const bool tests_keep_no_programs = [] {
  ::setenv("ESPALIER_CACHE", "off", 0);
  return true;
}();

// How many devices XLA for CPUs makes of this machine in a test's process, unless the environment says it. To
// be called before the plugin begins.
inline bool tests_have_cpu_devices(int count) {
  return ::setenv("ESPALIER_XLA_CPU_DEVICES", std::to_string(count).c_str(), 0) == 0;
}

#define ESPALIER_NEEDS_PLUGIN()                \
  if (::espalier::pjrt::test_plugin().empty()) \
  GTEST_SKIP() << "no PJRT plugin: scripts/bootstrap pjrt fetches one"

}  // namespace espalier::pjrt
