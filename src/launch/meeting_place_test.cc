#include "launch/meeting_place.h"

#include <gtest/gtest.h>

#include "espalier/error.h"

namespace espalier {
namespace {

// As the name of a host that /etc/hosts has at 127.0.1.1: it is that, and is not spelled so.
constexpr const char* kNamed = "0x7f.0.1.1:29500";

std::string refusal_of_place(const ClusterPlace& place) {
  try {
    check_meeting_place(place);
  } catch (const ValueError& error) {
    return error.rule() + ": " + error.message() + "; " + error.fix();
  }
  return "";
}

TEST(MeetingPlace, OfSeveralHostsIsNoLoopbackAddress) {
  const std::string wanted =
      "strategy.coordinator: rank 0 listens at the loopback address 127.0.1.1, which 0x7f.0.1.1 is on this "
      "host "
      "(/etc/hosts): ranks of other hosts cannot reach it; set ESPALIER_COORDINATOR=";
  for (const ClusterPlace& place :
       {ClusterPlace{.world = 4, .local_rank = 0, .local_world = 2, .coordinator = kNamed},
        ClusterPlace{.world = 2, .hosts = {"node0", "node1"}, .coordinator = kNamed}}) {
    EXPECT_TRUE(refusal_of_place(place).starts_with(wanted)) << refusal_of_place(place);
    EXPECT_TRUE(
        refusal_of_place(place).ends_with(":29500 on all ranks, or give the name that address in /etc/hosts"))
        << refusal_of_place(place);
    EXPECT_EQ(refusal_of_place(place).find("=127."), std::string::npos) << refusal_of_place(place);
  }
}

TEST(MeetingPlace, OfOneHostMayBe) {
  EXPECT_EQ(check_meeting_place({.world = 2, .local_rank = 0, .local_world = 2, .coordinator = kNamed}), "");
  // Nobody says where the other one is.
  EXPECT_EQ(
      check_meeting_place({.world = 2, .coordinator = kNamed}),
      "rank 0 listens at the loopback address 127.0.1.1, which 0x7f.0.1.1 is on this host (/etc/hosts): "
      "ranks of other hosts cannot reach it");
}

TEST(MeetingPlace, IsTakenAsItIsSpelled) {
  // Hosts that are played on one.
  for (const char* at : {"127.0.0.1:29500", "localhost:29500", "[::1]:29500"})
    EXPECT_EQ(check_meeting_place({.world = 2, .local_rank = 0, .local_world = 1, .coordinator = at}), "")
        << at;
  for (const char* at : {"10.9.8.7:29500", "nowhere.invalid:29500", ""})
    EXPECT_EQ(check_meeting_place({.world = 2, .local_rank = 0, .local_world = 1, .coordinator = at}), "")
        << at;
}

}  // namespace
}  // namespace espalier
