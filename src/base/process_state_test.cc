#include "base/process_state.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(ProcessState, OfAChildFromItsBeginToItsEnd) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NAME, ") Z 1 (\n");  // a name may hold anything
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  const auto listed = [&] {
    return std::ranges::count_if(
        all_processes(), [&](const ProcessState& of) { return of.id == child && of.parent == ::getpid(); });
  };
  siginfo_t info = {};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT);
  const auto stopped = process_state(child);
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->letter, 'T');
  EXPECT_TRUE(stopped->lives());
  EXPECT_EQ(stopped->parent, ::getpid());
  EXPECT_EQ(listed(), 1);
  ::kill(child, SIGKILL);
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  const auto ended = process_state(child);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->letter, 'Z');
  EXPECT_FALSE(ended->lives());
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_state(child));
  EXPECT_EQ(listed(), 0);
}

}  // namespace
}  // namespace espalier
