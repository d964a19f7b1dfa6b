#include "espalier/run_events.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "base/told.h"

namespace espalier {
namespace {

using Kind = Activity::Kind;

void expect_count(const ActivityCounts& counts, Kind kind, int64_t begun, int64_t ended, int64_t bytes) {
  const ActivityCounts::Count count = counts.of(kind);
  EXPECT_EQ(count.begun, begun);
  EXPECT_EQ(count.ended, ended);
  EXPECT_EQ(count.bytes, bytes);
}

TEST(RunEvents, ABeginHasItsEndWhereTheScopeEnds) {
  ActivityCounts counts;
  {
    const Told upload(&counts, {Kind::kUpload, "gpu:0", 100});
    expect_count(counts, Kind::kUpload, 1, 0, 0);
    const Told run(&counts, {Kind::kRun, "step"});
  }
  expect_count(counts, Kind::kUpload, 1, 1, 100);
  expect_count(counts, Kind::kRun, 1, 1, 0);
  for (const Kind other : {Kind::kCompile, Kind::kExchange, Kind::kDownload})
    expect_count(counts, other, 0, 0, 0);
}

TEST(RunEvents, AnExceptionEndsWhatHasBegun) {
  ActivityCounts counts;
  try {
    const Told download(&counts, {Kind::kDownload, "gpu:0", 7});
    throw std::runtime_error("a test wants it so");
  } catch (const std::runtime_error&) {
  }
  expect_count(counts, Kind::kDownload, 1, 1, 7);
}

TEST(RunEvents, WhatGoesOnEndsWhereItIsResumed) {
  ActivityCounts counts;
  const Activity sum{Kind::kExchange, "sum", 12};
  {
    Told begun(&counts, sum);
    begun.goes_on();
  }
  expect_count(counts, Kind::kExchange, 1, 0, 0);
  { const Told ended = Told::resumed(&counts, sum); }
  expect_count(counts, Kind::kExchange, 1, 1, 12);
}

TEST(RunEvents, NobodyNeedListen) {
  const Told run(nullptr, {Kind::kRun, "step"});
  Told resumed = Told::resumed(nullptr, {Kind::kRun, "step"});
  resumed.goes_on();
}

}  // namespace
}  // namespace espalier
