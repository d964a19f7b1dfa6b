#include "launch/node_list.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"

namespace espalier {
namespace {

TEST(NodeList, NamesAreThoseOfSlurm) {
  std::ifstream golden("tests/golden/hostnames.txt");  // of scontrol show hostnames
  int lists = 0, refused = 0;
  for (std::string line; std::getline(golden, line);) {
    std::istringstream words(line);
    std::string list;
    words >> list;
    std::vector<std::string> wanted;
    for (std::string name; words >> name;) wanted.push_back(name);
    ++lists;
    if (wanted == std::vector<std::string>{"-"}) {
      ++refused;
      EXPECT_EQ(rule_of([&] { expand_node_list(list); }), "cluster.nodes") << list;
    } else {
      EXPECT_EQ(expand_node_list(list), wanted) << list;
    }
  }
  EXPECT_EQ(lists, 27);
  EXPECT_EQ(refused, 4);
}

// Slurm reads some of these as something.
TEST(NodeList, WhatIsNoneIsRefused) {
  for (const std::string list : {"",
                                 ",",
                                 "a,",
                                 ",a",
                                 "a,,b",
                                 "a[",
                                 "a]",
                                 "a[1",
                                 "a[1-",
                                 "a[1-2",
                                 "a[-1]",
                                 "a[1-]",
                                 "a[1,]",
                                 "a[,1]",
                                 "a[x]",
                                 "a[1-2-3]",
                                 "a[[1]]",
                                 "a b",
                                 "a[1, 2]",
                                 "a\n",
                                 "a[1][2]b",
                                 "n[0-65536]",
                                 "n[1-300][1-300]",
                                 "n[1-65536],m",
                                 "n[1-999999999999]",
                                 "n[1-9999999999999]",
                                 "a[1][1][1][1][1][1][1][1][1]"})
    EXPECT_EQ(rule_of([&] { expand_node_list(list); }), "cluster.nodes") << list;
  EXPECT_EQ(rule_of([&] { expand_node_list(std::string(256, 'a')); }), "cluster.nodes");
  EXPECT_EQ(expand_node_list(std::string(255, 'a')).size(), 1u);
  EXPECT_EQ(expand_node_list("n[1-65536]").size(), 65536u);
}

TEST(NodeList, TaskCounts) {
  EXPECT_EQ(expand_task_counts("2"), (std::vector<int>{2}));
  EXPECT_EQ(expand_task_counts("2(x3),1"), (std::vector<int>{2, 2, 2, 1}));
  EXPECT_EQ(expand_task_counts("1,2,1(x2)"), (std::vector<int>{1, 2, 1, 1}));
  for (const std::string list : {"", ",", "2,", "x3", "2(x)", "2(x0)", "2(3)", "(x3)", "-1", "2(x3",
                                 "2(x65537)", "2(x999999999999)", "99999999999999"})
    EXPECT_EQ(rule_of([&] { expand_task_counts(list); }), "cluster.nodes") << list;
}

}  // namespace
}  // namespace espalier
