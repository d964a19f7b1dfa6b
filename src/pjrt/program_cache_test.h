// Caches of compiled programs in folders of tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "pjrt/program_cache.h"

namespace espalier::pjrt {

inline ProgramKey key_of(const std::string& program) {
  return {.text = cat("module @", program, " {\n}\n"),
          .options = "options",
          .flags = "",
          .plugin = "plugin",
          .platform = "cpu 1",
          .device_kind = "some kind",
          .host = "host"};
}

inline std::string random_bytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string out(size, '\0');
  for (char& byte : out) byte = static_cast<char>(random());
  return out;
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A variable of the environment, as it was before when the test ends.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~EnvironmentVariable() { set(before_ ? before_->c_str() : nullptr); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  void set(const char* value) { value ? ::setenv(name_, value, 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

struct ProgramCacheTest : testing::Test {
  const std::string home =
      std::filesystem::absolute(
          fresh_folder(cat("program-cache-", testing::UnitTest::GetInstance()->current_test_info()->name())))
          .string();
  const std::string folder = home + "/programs";
  ProgramCache cache{folder};

  std::string file_of(const ProgramKey& key) const { return cat(folder, "/", key.name()); }
  std::vector<std::string> files() const { return posix_env().list_folder(folder); }
};

}  // namespace espalier::pjrt
