#include "dist/host_slots.h"

#include <gtest/gtest.h>

#include "espalier/error.h"

namespace espalier {
namespace {

using Hosts = std::vector<HostSlots>;

template <class Call>
std::string hosts_refusal(Call&& call) {
  try {
    return "taken: " + to_string(call());
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "launch.hosts");
    return error.message();
  }
}

TEST(HostSlots, OfAFlag) {
  EXPECT_EQ(parse_host_slots("a:2,b.example.org:16,10.0.0.3"),
            (Hosts{{"a", 2}, {"b.example.org", 16}, {"10.0.0.3", 1}}));
  EXPECT_EQ(to_string(parse_host_slots("a,b:3")), "a:1,b:3");
  EXPECT_EQ(slots_of(parse_host_slots("a,b:3")), 4);
  for (const std::string part :
       {"", "a:", ":2", "a:0", "a:-1", "a:two", "a:2:3", "a b:2", "-x:1", "a:65537", "'a':2"})
    EXPECT_EQ(hosts_refusal([&] { return parse_host_slots("ok:1," + part); }),
              "\"" + part + "\" is no host with its number of slots, from 1 on");
  EXPECT_EQ(hosts_refusal([] { return parse_host_slots("a:1,a:2"); }), "host a comes twice");
}

TEST(HostSlots, OfAFile) {
  EXPECT_EQ(parse_hostfile("# two machines\n\na slots=2\n  b:3  # as Horovod\nc\r\n\td\tslots=4"),
            (Hosts{{"a", 2}, {"b", 3}, {"c", 1}, {"d", 4}}));
  EXPECT_EQ(hosts_refusal([] { return parse_hostfile("a\nb slots=x\n"); }),
            "line 2 of the hostfile: \"b slots=x\" is no host with its number of slots, from 1 on");
  EXPECT_EQ(hosts_refusal([] { return parse_hostfile("a max-slots=2"); }),
            "line 1 of the hostfile: \"a max-slots=2\" is no host with its number of slots, from 1 on");
  EXPECT_EQ(hosts_refusal([] { return parse_hostfile("a\n#\na"); }),
            "line 3 of the hostfile: host a comes twice");
  EXPECT_EQ(hosts_refusal([] { return parse_hostfile("# nothing\n"); }), "the hostfile names no host");
}

}  // namespace
}  // namespace espalier
