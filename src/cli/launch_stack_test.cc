// Runs under a small `ulimit -s`, as sites set it for programs of many threads.
#include <link.h>

#include <functional>
#include <string>

#include "cli/engines_test.h"
#include "cli/launched_test.h"

namespace espalier::cli {
namespace {

constexpr const char* kLimited = "ulimit -s 256 && ";

void expect_learns_under_a_limit(const std::string& name,
                                 const std::function<std::string(const std::string& train)>& words_of) {
  const std::string folder = folder_to_launch(name);
  const std::string wanted = one_device_hash(folder);
  const Outcome run = call_shell(kLimited + words_of(worker_words(folder, "--deterministic --threads 2")));
  EXPECT_EQ(run.code, 0) << run.error;
  if (run.code == 0) {
    EXPECT_EQ(weights_hash(folder + "/model"), wanted);
  }
}

TEST(LaunchStack, SlowRanksLearnUnderASmallOne) {
  expect_learns_under_a_limit("launch-stack",
                              [](const std::string& train) { return launch_words(2, "", train); });
}

TEST(LaunchStack, SlowReplicasLearnUnderASmallOne) {
  expect_learns_under_a_limit("launch-stack-mirrored", [](std::string train) {
    const std::string by = "--strategy multiworker";
    return train.replace(train.find(by), by.size(), "--strategy mirrored --devices 2");
  });
}

TEST(LaunchStack, NightlyRanksOfHostsLearnUnderASmallOne) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  expect_learns_under_a_limit("launch-stack-gloo", [](const std::string& train) {
    return cat(build_folder(), "/espalier launch --hosts a:1,b:1 --interface lo --agent env -- ", train);
  });
}

// A thread's own storage is a part of its stack, whoever makes the thread.
TEST(LaunchStack, LittleIsInTheStorageOfEachThread) {
  size_t bytes = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* program, size_t, void* out) {
        for (int i = 0; i < program->dlpi_phnum; ++i) {
          if (program->dlpi_phdr[i].p_type == PT_TLS)
            *static_cast<size_t*>(out) += program->dlpi_phdr[i].p_memsz;
        }
        return 1;  // the first is the program, which holds the library
      },
      &bytes);
  EXPECT_GT(bytes, 0u);
  EXPECT_LT(bytes, 16u << 10);
}

}  // namespace
}  // namespace espalier::cli
