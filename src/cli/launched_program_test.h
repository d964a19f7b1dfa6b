// Programs of ranks that tests write: the binary of the tests is the program, and runs a disabled test of the
// suite, which calls what the environment names.
//
//   TEST(Suite, DISABLED_Program) {
//     run_named_program([](const std::string& name) { kPrograms.at(name)(); });
//   }
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier::cli {

inline std::string test_binary() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

// The words that run a program of the suite whose test runs.
inline std::string program_words(const std::string& name, const std::string& binary = test_binary()) {
  return cat("env LAUNCHED_PROGRAM=\"", name, "\" ", binary,
             " --gtest_also_run_disabled_tests --gtest_filter=",
             testing::UnitTest::GetInstance()->current_test_info()->test_suite_name(), ".DISABLED_Program");
}

// Calls `program` with the name, and ends the process; says its errors as the command does.
template <class F>
void run_named_program(F&& program) {
  const char* const name = std::getenv("LAUNCHED_PROGRAM");
  if (!name) GTEST_SKIP() << "it is no rank";
  int code = 0;
  try {
    program(std::string(name));
  } catch (const Error& error) {
    // In one piece: ranks share the stream.
    std::cerr << cat("espalier: ", error.message(), " [", error.rule(), "]\n");
    code = 1;
  }
  ::_exit(code);
}

}  // namespace espalier::cli
