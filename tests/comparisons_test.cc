// What is drawn and compared each night (scripts/compare-*), a few of each.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/scratch_test.h"

namespace espalier {
namespace {

struct Compared {
  int code = -1;
  std::string said;
};

// A script with these words behind it, on what this build made.
Compared compared(const std::string& words) {
  const std::string command = cat("scripts/compare-", words, " --build ", build_folder(), " 2>&1");
  Compared out;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return out;
  std::array<char, 4096> part;
  while (const size_t count = std::fread(part.data(), 1, part.size(), pipe))
    out.said.append(part.data(), count);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) out.code = WEXITSTATUS(status);
  return out;
}

TEST(ComparisonsSlow, FitsAreThoseOfKeras) {
  for (const char* words : {"fits --fits 4", "fits --self-test --fits 6"}) {
    const Compared found = compared(words);
    if (found.code == 3) GTEST_SKIP() << found.said;
    EXPECT_EQ(found.code, 0) << found.said;
  }
}

TEST(ComparisonsSlow, KilledPipelinesGoOnAsIfTheyWereNot) {
  for (const char* words : {"pipelines --pipelines 12", "pipelines --self-test --pipelines 4"}) {
    const Compared found = compared(words);
    EXPECT_EQ(found.code, 0) << found.said;
  }
}

TEST(ComparisonsSlow, MadeTablesAreReadAsTheyWereMeant) {
  for (const char* words : {"tables --tables 8", "tables --self-test --tables 4"}) {
    const Compared found = compared(words);
    EXPECT_EQ(found.code, 0) << found.said;
  }
}

}  // namespace
}  // namespace espalier
