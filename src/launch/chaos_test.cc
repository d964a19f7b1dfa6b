#include "launch/chaos.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"

namespace espalier {
namespace {

TEST(Chaos, IsReadInItsOrder) {
  const std::vector<ChaosEvent> wanted{{ChaosKind::kKill, 2, 40, 0},
                                       {ChaosKind::kStop, 1, 60, 5},
                                       {ChaosKind::kThrow, 0, 9, 0},
                                       {ChaosKind::kExit, 3, 2, 0}};
  EXPECT_TRUE(parse_chaos("kill:2@step40,stop:1@step60:5s,throw:0@step9,exit:3@step2", 4) == wanted);
  EXPECT_TRUE(parse_chaos("", 1).empty());
  EXPECT_EQ(parse_chaos("stop:0@step0:0.25s", 1)[0].seconds, 0.25);
}

TEST(Chaos, WhatIsNoneIsRefused) {
  for (const char* text : {",",
                           "kill",
                           "kill:",
                           "kill:1",
                           "kill:1@",
                           "kill:1@step",
                           "kill:1@40",
                           "kill:@step4",
                           "kill:-1@step4",
                           "kill:1@step-4",
                           "kill:1@step4.5",
                           "kill:1@step4:5s",
                           "stop:1@step4",
                           "stop:1@step4:",
                           "stop:1@step4:5",
                           "stop:1@step4:s",
                           "stop:1@step4:-1s",
                           "stop:1@step4:infs",
                           "stop:1@step4:nans",
                           "stop:1@step4:3601s",
                           "stop:1@step4:5s:5s",
                           "Kill:1@step4",
                           "kill :1@step4",
                           "kill:1@step4,",
                           ",kill:1@step4",
                           "kill:1@step4 ",
                           "kill:99999999999@step1",
                           "kill:1@step99999999999999999999",
                           "pause:1@step4"})
    EXPECT_EQ(rule_of([&] { parse_chaos(text, 4); }), "chaos.syntax") << text;
  EXPECT_EQ(rule_of([] { parse_chaos("kill:3@step1,kill:4@step1", 4); }), "chaos.rank");
  try {
    parse_chaos("kill:1@step4,stop:1@step5", 4);
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "\"stop:1@step5\" has no time, as in :5s");
  }
}

TEST(Chaos, OfOneRank) {
  ::setenv("ESPALIER_CHAOS", "kill:2@step40,stop:1@step60:5s,throw:2@step9", 1);
  EXPECT_EQ(chaos_from_environment(2, 3).size(), 2u);
  EXPECT_EQ(chaos_from_environment(0, 3).size(), 0u);
  ::unsetenv("ESPALIER_CHAOS");
  EXPECT_EQ(chaos_from_environment(2, 3).size(), 0u);
}

}  // namespace
}  // namespace espalier
