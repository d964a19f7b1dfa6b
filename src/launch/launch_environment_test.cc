#include "launch/launch_environment.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "comm/ranks_test.h"
#include "espalier/error.h"
#include "launch/agent_orders.h"
#include "launch/mpirun_words.h"

namespace espalier {
namespace {

// Those of `names` that go to other hosts, all of them set.
std::vector<std::string> forwarded_of(const std::vector<std::string>& names, const char* value = "value") {
  std::map<std::string, std::string> before;
  for (const std::string& name : names) {
    if (const char* const is = std::getenv(name.c_str())) before[name] = is;
    ::setenv(name.c_str(), value, 1);
  }
  const std::vector<std::string> all = forwarded_environment();
  for (const std::string& name : names) {
    ::unsetenv(name.c_str());
    if (before.contains(name)) ::setenv(name.c_str(), before[name].c_str(), 1);
  }
  std::vector<std::string> out;
  for (const std::string& name : names)
    if (std::ranges::find(all, name + "=" + value) != all.end()) out.push_back(name);
  return out;
}

TEST(LaunchEnvironment, OthersHostsGetWhatOurProgramsRead) {
  const std::vector<std::string> read{"PATH",
                                      "LD_LIBRARY_PATH",
                                      "LANG",
                                      "LC_ALL",
                                      "LC_NUMERIC",
                                      "TZ",
                                      "OMP_NUM_THREADS",
                                      "MKL_DYNAMIC",
                                      "XLA_FLAGS",
                                      "LIBTPU_INIT_ARGS",
                                      "PJRT_DEVICE",
                                      "CUDA_VISIBLE_DEVICES",
                                      "TPU_TOPOLOGY",
                                      "VIRTUAL_ENV",
                                      "TF_FORCE_GPU_ALLOW_GROWTH",
                                      "ASAN_OPTIONS",
                                      "UBSAN_OPTIONS",
                                      "TSAN_OPTIONS",
                                      "NO_COLOR",
                                      "ESPALIER_THREADS",
                                      "ESPALIER_CACHE",
                                      "ESPALIER_MODULES",
                                      "ESPALIER_ISA"};
  EXPECT_EQ(forwarded_of(read), read);
  EXPECT_EQ(forwarded_of(read, "\xff"), std::vector<std::string>()) << "it is no UTF-8";
}

TEST(LaunchEnvironment, KeysAndPlacesStayHere) {
  EXPECT_EQ(forwarded_of({"AWS_SECRET_ACCESS_KEY",
                          "GITHUB_TOKEN",
                          "WANDB_API_KEY",
                          "HOME",
                          "USER",
                          "TMPDIR",
                          "SSH_AUTH_SOCK",
                          "DISPLAY",
                          "SLURM_PROCID",
                          "PMI_RANK",
                          "OMPI_COMM_WORLD_RANK",
                          "TPU_WORKER_ID",
                          "CLOUD_TPU_TASK_ID",
                          "RANK",
                          "PYTHONPATH",
                          "ESPALIER_RANK",
                          "ESPALIER_SECRET",
                          "ESPALIER_CONTROL",
                          "PATHS",
                          "LANGUAGES"}),
            std::vector<std::string>());
}

TEST(LaunchEnvironment, AGivenVariableIsThatOfHereOrWhatItSays) {
  ::setenv("GIVEN_HERE", "a=b c", 1);
  EXPECT_EQ(given_variable("GIVEN_HERE"), "GIVEN_HERE=a=b c");
  EXPECT_EQ(given_variable("GIVEN_HERE=x=y"), "GIVEN_HERE=x=y");
  EXPECT_EQ(given_variable("_1="), "_1=");
  EXPECT_EQ(given_variable("ESPALIER_THREADS=2"), "ESPALIER_THREADS=2");
  ::unsetenv("GIVEN_HERE");
  EXPECT_EQ(error_of([] { given_variable("GIVEN_HERE"); }),
            "launch.env: --env GIVEN_HERE: there is no such variable here");
  for (const char* word : {"", "=x", "1A=x", "A B=x", "A-B", "\xc3\xa4=x", "A\n=x", "[A]=x", "A@=x", "A`=x"})
    EXPECT_EQ(error_of([&] { given_variable(word); }).find("launch.env: --env "), 0u) << word;
  for (const char* word : {"ESPALIER_SECRET=x", "ESPALIER_RANK", "ESPALIER_CONTROL=x", "PMI_RANK=1",
                           "OMPI_COMM_WORLD_RANK=1", "PMIX_RANK=1", "TPU_WORKER_ID=0"})
    EXPECT_NE(error_of([&] { given_variable(word); }).find("each rank gets its own from its launcher"),
              std::string::npos)
        << word;
}

TEST(LaunchEnvironment, TheLastOneGivenCounts) {
  EXPECT_EQ(with_variables({"A=1", "AB=2", "C=3"}, {"A=4", "D=", "A=5"}),
            (std::vector<std::string>{"AB=2", "C=3", "D=", "A=5"}));
}

TEST(LaunchEnvironment, WhatIsNoTextDoesNotGoToOtherHosts) {
  const AgentOrders orders{.sizes = {1}, .hosts = {"a"}, .environment = {"A=\xff"}, .program = {"true"}};
  EXPECT_EQ(rule_of([&] { line_of(orders); }), "launch.words");
}

// By name: their values are on no command line.
TEST(LaunchEnvironment, MpirunIsToldTheNames) {
  const LaunchOptions options{.ranks = 2, .program = {"true"}, .environment = {"TOKEN=xyz", "B=1"}};
  std::vector<std::string> words;
  try {
    words = mpirun_words(options, MpiFolders());
  } catch (const IoError& error) {
    GTEST_SKIP() << error.message();
  }
  for (const char* name : {"TOKEN", "B", "ESPALIER_SECRET"}) {
    const auto at = std::ranges::find(words, name);
    ASSERT_NE(at, words.end()) << name;
    EXPECT_EQ(*(at - 1), "-x");
  }
}

}  // namespace
}  // namespace espalier
