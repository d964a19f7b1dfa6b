#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/verbs.h"
#include "ops/registry.h"

namespace espalier::cli {
namespace {

std::string run_info(std::vector<std::string> arguments) {
  CLI::App app;
  add_info(app);
  arguments.insert(arguments.begin(), "info");
  std::reverse(arguments.begin(), arguments.end());
  ::testing::internal::CaptureStdout();
  app.parse(arguments);
  return ::testing::internal::GetCapturedStdout();
}

std::string line_of(const std::string& table, const std::string& op) {
  const size_t begin = table.find(cat("\n", op, " "));
  return begin == std::string::npos ? "" : table.substr(begin + 1, table.find('\n', begin + 1) - begin - 1);
}

TEST(Info, TableOfOps) {
  const std::string table = run_info({"--ops"});
  const std::string add = line_of(table, "add"), exponential = line_of(table, "exponential");
  EXPECT_NE(add.find("primitive"), std::string::npos) << table;
  EXPECT_TRUE(add.ends_with("rule      rule      a + b")) << add;
  EXPECT_NE(exponential.find("-     -      -     rule"), std::string::npos) << exponential;
  EXPECT_NE(line_of(table, "softmax").find("composite"), std::string::npos);
  for (const OpDef* op : all_ops()) EXPECT_NE(line_of(table, op->name), "") << op->name;
}

TEST(Info, JsonSaysTheSame) {
  const auto json = nlohmann::json::parse(run_info({"--ops", "--json"}));
  ASSERT_EQ(json["ops"].size(), all_ops().size());
  for (const auto& op : json["ops"]) {
    EXPECT_EQ(op["dtypes"].size(), 13u);
    if (op["op"] == "log") {
      EXPECT_NE(op["dtypes"]["f16"], "-");
      EXPECT_EQ(op["dtypes"]["i32"], "-");
      EXPECT_EQ(op["dtypes"]["bool"], "-");
      EXPECT_EQ(op["gradient"], "rule");
    }
    if (op["op"] == "compare") {
      EXPECT_EQ(op["gradient"], "zero");
    }
  }
}

}  // namespace
}  // namespace espalier::cli
