// A run on a device whose program never ends, and that is told to end.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/env.h"
#include "cli/verb_test.h"
#include "pjrt/plugin_test.h"

namespace espalier::cli {
namespace {

struct HungDevices : FolderTest {
  std::string hangs = path("hangs"), said = path("said");

  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    std::string rows = "size,kind\n";
    for (int i = 0; i < 200; ++i) rows += cat(i * 37 % 101, i * 37 % 101 > 50 ? ",yes\n" : ",no\n");
    file("rows.csv", rows);
  }
  // The run `execute` of a program never comes back. By the time this does it is there.
  pid_t start(const std::string& grace, int execute) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string line =
          cat("exec env ESPALIER_CACHE=off ESPALIER_GRACE=", grace, " ESPALIER_SHIM=hangs@execute:", execute,
              " ESPALIER_SHIM_HANGS=", hangs,
              " ESPALIER_SHIM_PLUGIN=", std::filesystem::absolute(pjrt::test_plugin()).string(), " ",
              build_folder(), "/espalier train --data ", path("rows.csv"),
              " --label kind --epochs 100000 --model ", path("model"), " --device ", build_folder(),
              "/shim_plugin.so > /dev/null 2> ", said);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    EXPECT_TRUE(comes_true([&] { return posix_env().exists(hangs); })) << posix_env().read_file(said);
    return child;
  }
  static int end_of(pid_t child) {
    int status = 0;
    const bool ended = comes_true([&] { return ::waitpid(child, &status, WNOHANG) == child; });
    if (!ended) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
    }
    EXPECT_TRUE(ended);
    return status;
  }
};

TEST_F(HungDevices, SlowTheFirstSignalEndsThemBehindTheGrace) {
  for (const int signal : {SIGTERM, SIGINT}) {
    std::filesystem::remove(hangs);
    const pid_t child = start("1", 40);
    ::kill(child, signal);
    const int status = end_of(child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    const std::string text = posix_env().read_file(said);
    EXPECT_NE(text.find(cat("told to end by signal ", signal, ", and nothing on ")), std::string::npos)
        << text;
    EXPECT_NE(text.find(" has ended for 1 s: the run ends here"), std::string::npos) << text;
  }
}

TEST_F(HungDevices, SlowTheSecondSignalEndsThemAtOnce) {
  const pid_t child = start("3600", 40);
  ::kill(child, SIGTERM);
  const auto is_default = [&] {
    // SigCgt is a mask of the signals that have handlers.
    const std::string status = posix_env().read_file(cat("/proc/", child, "/status"));
    const size_t at = status.find("SigCgt:");
    return at != status.npos && (std::stoull(status.substr(at + 7), nullptr, 16) >> (SIGTERM - 1) & 1) == 0;
  };
  EXPECT_TRUE(comes_true(is_default)) << "the first one was heard";
  ::kill(child, SIGTERM);
  const int status = end_of(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_EQ(posix_env().read_file(said).find("told to end"), std::string::npos);
}

}  // namespace
}  // namespace espalier::cli
