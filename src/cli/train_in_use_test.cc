// Two runs of training that write to one place.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cli/launched_test.h"

namespace espalier::cli {
namespace {

// `words` in a shell's child, until it has written the file of its place.
struct Beside {
  Beside(const std::string& words, const std::string& lock) {
    pid = ::fork();
    if (pid == 0) {
      ::setpgid(0, 0);
      ::execl("/bin/sh", "sh", "-c", cat("exec ", words, " > /dev/null 2>&1").c_str(), nullptr);
      ::_exit(127);
    }
    EXPECT_TRUE(comes_true([&] {
      std::error_code none;
      return std::filesystem::file_size(lock, none) > 0 && !none;
    }));
  }
  ~Beside() { kill(); }
  void kill() {
    if (pid > 0) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    pid = 0;
  }
  pid_t pid = 0;
};

struct TrainInUse : testing::Test {
  std::string folder =
      folder_to_launch(cat("in-use-", testing::UnitTest::GetInstance()->current_test_info()->name()));
  std::string model = folder + "/model", lock = model + ".lock";
  void SetUp() override {
    const std::string plan = folder + "/plan.toml";
    write_file(plan, cat(posix_env().read_file(plan),
                         "\n[[callbacks]]\ntype = \"EarlyStopping\"\npatience = 100000000\n"));
  }
  std::string train = cat(build_folder(), "/espalier train ", folder, "/plan.toml --model ", model);

  static void expect_refused(const Outcome& run, int code, const std::string& holder) {
    EXPECT_EQ(run.code, code) << run.error;
    EXPECT_NE(run.error.find("[train.in_use]"), std::string::npos) << run.error;
    EXPECT_NE(run.error.find(cat(" is the place of a run that goes on now: process ", holder)),
              std::string::npos)
        << run.error;
  }
};

TEST_F(TrainInUse, SlowASecondRunIsRefusedUntilTheFirstIsGone) {
  const std::string endless = train + " --epochs 1000000";
  Beside first(endless, lock);
  const std::string holder = cat(first.pid, " of host ");
  expect_refused(call_shell(train), 2, holder);
  expect_refused(call_shell(cat(train, "/ --force --resume")), 2, holder);
  EXPECT_EQ(call_shell(cat(train, "-2")).code, 0) << "another place is free";
  EXPECT_FALSE(posix_env().exists(model + "-2.lock"));
  // What a killed run leaves keeps nobody out.
  first.kill();
  EXPECT_TRUE(posix_env().exists(lock));
  const Outcome next = call_shell(train);
  EXPECT_EQ(next.code, 0) << next.error;
  EXPECT_FALSE(posix_env().exists(lock));
}

TEST_F(TrainInUse, NightlyASecondLaunchIsRefused) {
  const std::string words = cat(train, " --strategy multiworker --checkpoint-every 4 --epochs ");
  const Beside first(launch_words(2, "", words + "1000000"), lock);
  const std::string holder = posix_env().read_file(lock);
  const Outcome second = call_shell(launch_words(2, "", words + "1"));
  expect_refused(second, 43, holder.substr(std::string("process ").size()));
  EXPECT_EQ(posix_env().read_file(lock), holder) << "the first goes on";
}

}  // namespace
}  // namespace espalier::cli
