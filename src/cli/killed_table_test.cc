// Training of a table by a command that is killed again and again.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <tuple>
#include <utility>

#include "base/comes_true_test.h"
#include "base/env.h"
#include "base/philox.h"
#include "base/process_state.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

struct KilledTableSlow : testing::Test {
  std::string folder = fresh_folder("killed_table"), model = folder + "/model";
  std::string checkpoint = model + ".checkpoint";
  std::string data = write_file(folder + "/rows.csv", rows());

  static std::string rows() {
    Philox random(9);
    std::string text = "size,colour,weight,kind\n";
    for (int i = 0; i < 1500; ++i) {
      const float size = random.uniform(), weight = random.uniform();
      const bool red = random.below(2);
      text += cat(size, red ? ",red," : ",blue,", weight, size + (red ? 0.2f : 0) > weight ? ",a\n" : ",b\n");
    }
    return text;
  }
  pid_t start() const {
    const std::string command = build_folder() + "/espalier";
    const pid_t child = fork();
    if (child == 0) {
      const int quiet = open("/dev/null", O_WRONLY);
      dup2(quiet, STDOUT_FILENO);
      dup2(quiet, STDERR_FILENO);
      execl(command.c_str(), "espalier", "train", "--data", data.c_str(), "--label", "kind", "--model",
            model.c_str(), "--epochs", "25", "--batch", "16", "--checkpoint-every", "5", "--resume", nullptr);
      _exit(127);
    }
    return child;
  }
  static int end_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }
  // Until the child has written the checkpoint so many times, as far as they are seen, or has ended.
  void wait_for_checkpoints(pid_t child, int times) const {
    const auto written = [&] {
      struct stat now = {};
      ::stat(checkpoint.c_str(), &now);
      return std::tuple(now.st_ino, now.st_mtim.tv_sec, now.st_mtim.tv_nsec);
    };
    auto last = written();
    EXPECT_TRUE(comes_true([&] {
      times -= std::exchange(last, written()) != last;
      return times <= 0 || !process_state(child).value_or(ProcessState()).lives();
    }));
  }
};

TEST_F(KilledTableSlow, EndsInTheSameModel) {
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_EQ(end_of(start()), 0);
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begun;
  const auto wanted = posix_env().read_folder(model);
  ASSERT_TRUE(wanted.contains("weights.safetensors"));
  ASSERT_FALSE(posix_env().exists(checkpoint));
  std::filesystem::remove_all(model);

  // At random instants, and in turn somewhere behind the first checkpoints that a run writes.
  Philox random(11);
  int on_the_way = 0;
  for (int run = 0; run < 15 || on_the_way < 5; ++run) {
    ASSERT_LT(run, 100) << "no kill leaves a checkpoint";
    const pid_t child = start();
    double share = 0.6;
    if (run % 2 == 0) {
      wait_for_checkpoints(child, 1 + static_cast<int>(random.below(4)));
      share = 0.005;  // the time between two of them
    }
    std::this_thread::sleep_for(whole * (share * static_cast<double>(random.uniform())));
    kill(child, SIGKILL);
    const int status = end_of(child);
    on_the_way += WIFSIGNALED(status) && posix_env().exists(checkpoint);
    EXPECT_TRUE(WIFSIGNALED(status) || status == 0);
    if (status == 0) std::filesystem::remove_all(model);  // else the next has nothing left to do
  }
  ASSERT_EQ(end_of(start()), 0);
  const auto got = posix_env().read_folder(model);
  EXPECT_EQ(got.size(), wanted.size());
  for (const auto& [name, bytes] : wanted) EXPECT_TRUE(got.contains(name) && got.at(name) == bytes) << name;
  EXPECT_FALSE(posix_env().exists(checkpoint));
}

}  // namespace
}  // namespace espalier::cli
