#include <nlohmann/json.hpp>

#include "cli/verb_test.h"
#include "cli/workloads.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

TEST(BenchVerbSlow, PrintsLimitsAndAWorkloadALine) {
  const std::string text = call_verb(add_bench, {"op_traced", "--rounds", "1", "--json"});
  std::istringstream lines(text);
  std::vector<nlohmann::json> found;
  for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(found.size(), 4u) << text;
  EXPECT_EQ(found[0]["peer"], "machine");
  EXPECT_EQ(found[0]["workload"], "fma");
  EXPECT_EQ(found[1]["workload"], "triad");
  EXPECT_EQ(found[2]["workload"], "cache");
  EXPECT_EQ(found[3]["peer"], "espalier");
  EXPECT_EQ(found[3]["workload"], "op_traced");
  EXPECT_EQ(found[3]["unit"], "us");
  for (const auto& line : found) EXPECT_GT(line["value"].get<double>(), 0);
}

TEST(BenchVerbSlow, WhyNamesEveryStep) {
  const std::string text = call_verb(add_bench, {"mlp", "--rounds", "1", "--why"});
  for (const char* step : {"dot_general f32[784,128]", "dot_general f32[64,10]", "adam f32[784,128]",
                           "softmax_cross_entropy_gradient f32[64,10]"})
    EXPECT_NE(text.find(step), std::string::npos) << step << " is missing in\n" << text;
}

TEST(BenchVerb, UnknownWorkloadsListTheNearest) {
  try {
    call_verb(add_bench, {"mpl"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.rule(), "bench.workload");
    EXPECT_NE(std::string(error.what()).find("mlp"), std::string::npos) << error.what();
  }
}

// Every workload's own check passes after a step.
TEST(BenchVerbSlow, EveryWorkloadComputesWhatItShould) {
  for (const Workload& workload : workloads()) {
    if (std::string_view(workload.name) == "mlp_fit") continue;  // an epoch is long under sanitizers
    const Prepared prepared = workload.prepare();
    for (int i = 0; i < 4; ++i) prepared.step();
    EXPECT_NO_THROW(prepared.check()) << workload.name;
    EXPECT_GT(prepared.amount, 0) << workload.name;
  }
}

}  // namespace
}  // namespace espalier::cli
