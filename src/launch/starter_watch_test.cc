#include "launch/starter_watch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(StarterWatch, OnlyAProgramWithoutRanksIsStuck) {
  StarterWatch watch;
  EXPECT_FALSE(watch.is_stuck(100));
  watch.see(false, false, 100);
  watch.see(false, false, 119.9);
  EXPECT_FALSE(watch.is_stuck(119.9));
  EXPECT_TRUE(watch.is_stuck(120));
  EXPECT_EQ(watch.text("mpirun", 7),
            "mpirun (pid 7) has not started a rank in 20 s; a stranger who connects to its port and says "
            "nothing makes it wait");
  watch.see(true, false, 121);
  EXPECT_FALSE(watch.is_stuck(140));
  watch.see(false, true, 150);  // its reader is slow
  watch.see(false, false, 169);
  EXPECT_FALSE(watch.is_stuck(169.9));
  EXPECT_TRUE(watch.is_stuck(170));
  EXPECT_EQ(watch.text("mpirun", 7),
            "mpirun (pid 7) has not ended, and its ranks have, for 20 s; a stranger who connects to its port "
            "and says nothing makes it wait");
}

TEST(StarterWatch, ChildrenThatHaveEndedDoNotRun) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_TRUE(has_running_children(::getpid()));
  EXPECT_FALSE(has_running_children(child));
  ::kill(child, SIGKILL);
  siginfo_t info = {};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(has_running_children(::getpid()));
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace espalier
