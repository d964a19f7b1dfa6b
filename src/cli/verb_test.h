// Calling verbs as the command does, from tests.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "cli/verbs.h"

namespace espalier::cli {

inline std::string write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// A test with a folder of its own, which is empty at first.
struct FolderTest : testing::Test {
  std::string folder =
      fresh_folder(cat(testing::UnitTest::GetInstance()->current_test_info()->test_suite_name(), "-",
                       testing::UnitTest::GetInstance()->current_test_info()->name()));

  std::string path(const std::string& name) const { return cat(folder, "/", name); }
  std::string file(const std::string& name, const std::string& text) const {
    return write_file(path(name), text);
  }
};

// What the verb writes to standard output; its errors come through. `progress`: what it writes to standard
// error.
inline std::string call_verb(AddVerb add, std::vector<std::string> arguments, const std::string& input = "",
                             std::string* progress = nullptr) {
  CLI::App app;
  add(app);
  arguments.insert(arguments.begin(), app.get_subcommands({})[0]->get_name());
  std::reverse(arguments.begin(), arguments.end());
  std::istringstream standard_input(input);
  std::streambuf* before = std::cin.rdbuf(standard_input.rdbuf());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  std::exception_ptr error;
  try {
    app.parse(arguments);
  } catch (...) {
    error = std::current_exception();
  }
  std::cin.rdbuf(before);
  const std::string output = ::testing::internal::GetCapturedStdout();
  const std::string written = ::testing::internal::GetCapturedStderr();
  if (progress) *progress = written;
  if (error) std::rethrow_exception(error);
  return output;
}

// Whether all that was said is which command is next.
inline bool is_next(const std::string& output) {
  return output.starts_with("next: ") && output.find('\n') + 1 == output.size();
}

// The built command, as a shell calls it.
struct Outcome {
  int code = 0;
  std::string output, error;
};
inline Outcome call_shell(const std::string& line) {
  // Another suite's test of the same name may run beside this one.
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder = fresh_folder(cat("command-", test.test_suite_name(), "-", test.name())),
                    out = folder + "/out", err = folder + "/err";
  const int status = std::system(cat("{ ", line, "; } > ", out, " 2> ", err, " < /dev/null").c_str());
  const auto text = [](const std::string& path) {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  };
  return {WEXITSTATUS(status), text(out), text(err)};
}
inline Outcome call_command(const std::string& arguments) {
  return call_shell(cat(build_folder(), "/espalier ", arguments));
}
// With the bytes of `file` written once into a new pipe at `pipe`: one that opens it again hangs, and ends
// with 124.
inline Outcome call_with_pipe(const std::string& file, const std::string& pipe,
                              const std::string& arguments) {
  return call_shell(cat("mkfifo ", pipe, " && { cat ", file, " > ", pipe, " & timeout ", kTooLong, " ",
                        build_folder(), "/espalier ", arguments, "; }"));
}

}  // namespace espalier::cli
