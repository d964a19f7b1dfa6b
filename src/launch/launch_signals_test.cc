// Signals that come to the launcher's loop as bytes.
#include "launch/launch_signals.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

namespace espalier {
namespace {

// Of a signal while it lives; then what was before.
class Disposition {
 public:
  Disposition(int number, void (*handler)(int)) : number_(number) {
    struct sigaction now = {};
    now.sa_handler = handler;
    ::sigaction(number, &now, &before_);
  }
  ~Disposition() { ::sigaction(number_, &before_, nullptr); }
  Disposition(const Disposition&) = delete;
  Disposition& operator=(const Disposition&) = delete;

 private:
  const int number_;
  struct sigaction before_ = {};
};

bool readable(const LaunchSignals& signals, int milliseconds) {
  pollfd one{signals.descriptor(), POLLIN, 0};
  int ready = 0;
  // The signal may come while it waits.
  do ready = ::poll(&one, 1, milliseconds);
  while (ready < 0 && errno == EINTR);
  return ready == 1;
}

// As a shell or a supervisor may have left it: the system then reaps children by itself and tells nobody.
TEST(LaunchSignals, ThatAChildHasEndedIsHeardWhereItWasIgnored) {
  const Disposition ignored(SIGCHLD, SIG_IGN);
  {
    LaunchSignals signals;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(7);
    ASSERT_GT(child, 0);
    EXPECT_TRUE(readable(signals, 5000));
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child) << "it was reaped already";
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_TRUE(signals.take().empty());
  }
  struct sigaction now = {};
  ::sigaction(SIGCHLD, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN) << "what was before comes back";
}

TEST(LaunchSignals, OthersThatWereIgnoredStayIgnored) {
  const Disposition ignored(SIGHUP, SIG_IGN);
  LaunchSignals signals;
  ::raise(SIGHUP);
  EXPECT_FALSE(readable(signals, 0));
  ::raise(SIGTSTP);
  EXPECT_TRUE(readable(signals, 1000));
  EXPECT_EQ(signals.take(), std::vector<int>{SIGTSTP});
}

}  // namespace
}  // namespace espalier
