#include "launch/host_port.h"

#include <string>

#include <gtest/gtest.h>

namespace espalier {
namespace {

// "HOST PORT", or "none".
std::string read_place(const std::string& text) {
  const auto place = parse_host_port(text);
  return place ? place->host + " " + std::to_string(place->port) : "none";
}

TEST(HostPort, IsReadAndWritten) {
  const std::string longest(255, 'h');
  for (const auto& [text, wanted] : {std::pair<std::string, std::string>{"a:1", "a 1"},
                                     {"a.b-c_d:65535", "a.b-c_d 65535"},
                                     {"10.0.0.1:29500", "10.0.0.1 29500"},
                                     {"[::1]:7", "::1 7"},
                                     {"[fe80::1%eth0]:80", "fe80::1%eth0 80"},
                                     {longest + ":1", longest + " 1"}}) {
    EXPECT_EQ(read_place(text), wanted);
    EXPECT_EQ(to_string(parse_host_port(text).value_or(HostPort())), text);
  }
  EXPECT_EQ(read_place("[a]:5"), "a 5");
  EXPECT_EQ(read_place("a:007"), "a 7");
  for (const std::string& text :
       {std::string(),        std::string("a"),       std::string(":1"),           std::string("a:"),
        std::string("a:0"),   std::string("a:65536"), std::string("a:-1"),         std::string("a:+1"),
        std::string("a:1x"),  std::string("a: 1"),    std::string("::1:7"),        std::string("[]:7"),
        std::string("[:7"),   std::string("[::1:7"),  std::string("::1]:7"),       std::string("[[::1]]:7"),
        std::string("a b:7"), std::string("a/b:7"),   std::string("a,b:7"),        std::string("a\x7f:7"),
        std::string("a\n:7"), longest + "h:1",        std::string("a:99999999999")})
    EXPECT_EQ(read_place(text), "none") << text;
}

TEST(HostPort, WhatIsLoopback) {
  for (const char* host :
       {"localhost", "::1", "0:0:0:0:0:0:0:1", "127.0.0.1", "127.9.9.9", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host :
       {"", "localhost.x.org", "::11", "128.0.0.1", "12.7.0.1", "10.127.0.1", "::ffff:10.0.0.1", "127", "a"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

}  // namespace
}  // namespace espalier
