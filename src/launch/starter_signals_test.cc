#include "launch/starter_signals.h"

#include <csignal>

#include <gtest/gtest.h>

namespace espalier {
namespace {

constexpr ProcessEnd kBroken{.number = 1}, kOfUsr1{.number = 128 + SIGUSR1};

ProcessEnd by(int signal) { return {.by_signal = true, .number = signal}; }

TEST(StarterSignals, TheFirstAsksAndTheSecondEnds) {
  for (const int first : {SIGINT, SIGTERM}) {
    for (const int second : {SIGINT, SIGTERM}) {
      StarterSignals signals;
      EXPECT_EQ(signals.sent_for(first, 10), SIGUSR1);
      EXPECT_EQ(signals.meant_by(kOfUsr1), by(first)) << "they have died of what was sent in its place";
      EXPECT_EQ(signals.meant_by(kBroken), kBroken) << "they have failed of something else";
      EXPECT_EQ(signals.sent_for(second, 12.1), SIGTERM);
      EXPECT_EQ(signals.meant_by(kBroken), by(second));
      for (const int status : {0, kPreemptedStatus})
        EXPECT_EQ(signals.meant_by({.number = status}), (ProcessEnd{.number = status}));
    }
  }
}

TEST(StarterSignals, WhoIsToldTwiceAtOnceIsToldOnce) {
  StarterSignals signals;
  EXPECT_EQ(signals.sent_for(SIGTERM, 10), SIGUSR1);
  EXPECT_EQ(signals.sent_for(SIGTERM, 10.01), 0);
  EXPECT_EQ(signals.meant_by(kBroken), kBroken);
  EXPECT_EQ(signals.sent_for(SIGINT, 10.02), SIGTERM) << "a second Ctrl-C comes as soon as a hand can";
}

TEST(StarterSignals, OthersAreTheirs) {
  StarterSignals signals;
  EXPECT_EQ(signals.meant_by(kOfUsr1), kOfUsr1) << "nobody has sent it";
  for (const int number : {SIGTSTP, SIGCONT, SIGUSR1, SIGUSR1})
    EXPECT_EQ(signals.sent_for(number, 10), number);
  EXPECT_EQ(signals.meant_by(by(SIGUSR1)), by(SIGUSR1));
  EXPECT_EQ(signals.meant_by(by(SIGKILL)), by(SIGKILL));
  EXPECT_EQ(signals.sent_for(SIGTERM, 11), SIGUSR1) << "a notice of an end is not the end";
  EXPECT_EQ(signals.sent_for(SIGHUP, 12), SIGTERM);
  EXPECT_EQ(signals.meant_by(kBroken), by(SIGHUP));
}

}  // namespace
}  // namespace espalier
