#include "launch/host_list.h"

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "base/version.h"
#include "espalier/error.h"
#include "launch/agent_orders.h"
#include "launch/host_address.h"

namespace espalier {
namespace {

using HostsOfRun = std::vector<RunHost>;

std::string error_of_hosts(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.message());
  }
  return {};
}

HostsOfRun of_file(const std::string& text) {
  const std::string path = fresh_folder("hostfile") + "/hosts";
  std::ofstream(path) << text;
  return read_hostfile(path);
}

TEST(HostList, WordsOfTheFlag) {
  EXPECT_EQ(parse_hosts("a:2,b:2"), (HostsOfRun{{"a", 2}, {"b", 2}}));
  EXPECT_EQ(parse_hosts(" n01.x.org , 10.0.0.2:16"), (HostsOfRun{{"n01.x.org", 1}, {"10.0.0.2", 16}}));
  EXPECT_EQ(parse_hosts("[fe80::1%eth0]:3,me@b"), (HostsOfRun{{"fe80::1%eth0", 3}, {"me@b", 1}}));
  for (const char* bad :
       {"", ",", "a,", "a:2,,b", "a:", "a:0", "a:-1", "a:x", "a:2x", "a b", "a;b", "$(x)", "a:1,a:1",
        "-oProxyCommand=x:1", "a:257", "a:200,b:57", "fe80::1:2", "[]:2", "a:99999999999"})
    EXPECT_EQ(rule_of([&] { parse_hosts(bad); }), "launch.hosts") << bad;
  EXPECT_EQ(parse_hosts("a:200,b:56")[1].ranks, 56);
}

TEST(HostList, FilesOfMpirunAndHorovodrun) {
  EXPECT_EQ(of_file("# the cluster\n\na slots=4  # big\nb\tslots=2\r\nc:3\n  d\n[::1]:2"),
            (HostsOfRun{{"a", 4}, {"b", 2}, {"c", 3}, {"d", 1}, {"::1", 2}}));
  for (const char* bad :
       {"", "# none\n", "a slots=x", "a slots=", "a max_slots=4", "a slots=2 max_slots=4", "a\na"})
    EXPECT_EQ(rule_of([&] { of_file(bad); }), "launch.hosts") << bad;
  EXPECT_NE(error_of_hosts([] { of_file("a\n\nb slots=0\n"); }).find("hosts:3: \"b slots=0\""),
            std::string::npos);
}

TEST(HostList, FewerRanksFillHostsInOrder) {
  const HostsOfRun hosts{{"a", 2}, {"b", 3}};
  EXPECT_EQ(take_ranks(hosts, 1), (HostsOfRun{{"a", 1}}));
  EXPECT_EQ(take_ranks(hosts, 2), (HostsOfRun{{"a", 2}}));
  EXPECT_EQ(take_ranks(hosts, 4), (HostsOfRun{{"a", 2}, {"b", 2}}));
  EXPECT_EQ(host_sizes(take_ranks(hosts, 5)), "2,3");
  EXPECT_EQ(error_of_hosts([&] { take_ranks(hosts, 6); }), "-n 6 is more than the 5 ranks of 2 hosts");
}

// As sh splits them.
TEST(HostList, WordsOfTheAgent) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(agent_words("ssh -o BatchMode=yes {host}", "b", {"/x/espalier", "agent"}),
            (Words{"ssh", "-o", "BatchMode=yes", "b", "/x/espalier", "agent"}));
  EXPECT_EQ(split_words(R"( a  'b c'"d e"\ f "" '\' "\"\x" )"), (Words{"a", "b cd e f", "", "\\", "\"\\x"}));
  EXPECT_EQ(agent_words("x={host},{host} {hos}", "n1", {"{host}"}), (Words{"x=n1,n1", "{hos}", "{host}"}));
  for (const char* shell : {"/usr/bin/ssh {host}", "timeout 9 rsh b"})
    EXPECT_EQ(agent_words(shell, "b", {"/x y/it's", "agent"})[agent_words(shell, "b", {}).size()],
              R"('/x y/it'\''s')");
  EXPECT_EQ(agent_words("env sshd=1", "b", {"/x y/z"}), (Words{"env", "sshd=1", "/x y/z"}));
  for (const char* bad : {"", "  ", "'a", "a \"b"})
    EXPECT_EQ(rule_of([&] { split_words(bad); }), "launch.agent") << bad;
}

TEST(HostList, TheAgentOfMpirun) {
  EXPECT_EQ(rsh_agent("ssh -o BatchMode=yes {host}"), "ssh -o BatchMode=yes");
  EXPECT_EQ(rsh_agent("'/x/rsh' {host}"), "/x/rsh");
  for (const char* bad :
       {"ip netns exec {host}", "ssh {host} env", "ssh", "ssh root@{host}", "'/x y/ssh' {host}",
        "ssh -o 'A b' {host}", "ssh -F a:b {host}", "{host}/ssh {host}"})
    EXPECT_EQ(rule_of([&] { rsh_agent(bad); }), "launch.agent") << bad;
}

AgentOrders some_orders() {
  return {.version = "",
          .job = "j",
          .restart = 2,
          .control = "tcp:10.0.0.1:5",
          .secret = "s",
          .host = 1,
          .name = "b",
          .first = 2,
          .sizes = {2, 3},
          .hosts = {"a", "b"},
          .folder = "/tmp/\xc3\xa4",
          .environment = {"A=1\n2", "B="},
          .program = {"sh", "-c", "echo \"$1\""},
          .chaos = "kill:1@step2",
          .prefix = true,
          .engine = "gloo",
          .interface = "eth0",
          .stall_after = 2.5};
}

std::string line_of_this_version(AgentOrders orders) {
  orders.version = kVersion;
  return line_of(orders);
}

TEST(AgentOrders, ComeAsTheyWent) {
  AgentOrders orders = some_orders();
  orders.version = kVersion;
  const std::string line = line_of(orders);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(read_orders(line), orders);
  EXPECT_EQ(orders.world(), 5);
  EXPECT_EQ(orders.count(), 3);
  EXPECT_EQ(read_word(line_of(AgentWord{.signal = 15})).signal, 15);
  EXPECT_TRUE(read_word(line_of(AgentWord{.end = true})).end);
  EXPECT_EQ(read_word(line_of(AgentWord{.end = true, .verdict = "\xff\n"})).verdict, "\xef\xbf\xbd\n");
}

TEST(AgentOrders, OthersAreRefused) {
  EXPECT_EQ(error_of_hosts([] { read_orders(line_of(some_orders())); }),
            cat("the launcher is espalier , and this host's is ", kVersion));
  std::vector<AgentOrders> bad(6, some_orders());
  bad[5].hosts = {"a"};
  bad[0].host = 2;
  bad[1].first = 3;
  bad[2].sizes = {2, 0};
  bad[3].program = {};
  bad[4].host = -1;
  for (const AgentOrders& orders : bad)
    EXPECT_EQ(rule_of([&] { read_orders(line_of_this_version(orders)); }), "agent.orders");
  const std::string good = line_of_this_version(some_orders());
  for (const char* key : {"job", "secret", "sizes", "environment", "stall_after", "version"}) {
    std::string without = good;
    without.replace(without.find(cat("\"", key, "\"")), 2, "\"-");
    EXPECT_EQ(rule_of([&] { read_orders(without); }), "agent.orders") << key;
  }
  for (const char* text : {"[]", "3", "{}"}) EXPECT_EQ(rule_of([&] { read_orders(text); }), "agent.orders");
  for (const char* text :
       {"[]", "{}", "{\"signal\":0}", "{\"signal\":65}", "{\"signal\":\"9\"}", "{\"end\":1}"})
    EXPECT_EQ(rule_of([&] { read_word(text); }), "agent.orders") << text;
  AgentOrders orders = some_orders();
  orders.program[2] = "\xff";
  EXPECT_EQ(rule_of([&] { line_of(orders); }), "launch.words");
}

TEST(HostAddress, OfThisHost) {
  EXPECT_EQ(address_of_interface("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(address_of_interface("lo"), "127.0.0.1");
  EXPECT_EQ(network_of_interface("127.0.0.1"), "127.0.0.1/8");
  EXPECT_EQ(network_of_interface("lo"), "lo");
  EXPECT_NE(error_of_hosts([] { network_of_interface("192.0.2.77"); }).find("--interface 192.0.2.77 is no"),
            std::string::npos);
  EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_TRUE(has_interface("lo"));
  EXPECT_FALSE(has_interface("lo0x"));
  std::string why;
  EXPECT_EQ(address_towards("nowhere.invalid", &why), "");
  EXPECT_NE(why, "");
  const std::string error = error_of_hosts([] { address_of_interface("eth77"); });
  EXPECT_NE(error.find("--interface eth77 is no interface"), std::string::npos) << error;
  EXPECT_NE(error.find("lo (127.0.0.1)"), std::string::npos) << error;
  EXPECT_EQ(control_address("10.0.0.1"), "tcp:10.0.0.1:0");
  EXPECT_EQ(control_address("fe80::1"), "tcp:[fe80::1]:0");
}

}  // namespace
}  // namespace espalier
