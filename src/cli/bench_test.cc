#include <nlohmann/json.hpp>

#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "cli/workloads.h"
#include "espalier/error.h"
#include "espalier/threads.h"
#include "kernels/probe.h"

namespace espalier::cli {
namespace {

TEST(BenchVerbSlow, PrintsLimitsAndAWorkloadALine) {
  const std::string text = call_verb(add_bench, {"op_traced", "--rounds", "1", "--json"});
  std::istringstream lines(text);
  std::vector<nlohmann::json> found;
  for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line));
  std::vector<const char*> names{"fma", "triad", "stream_4r3w", "cache", "op_traced"};
  if (current_isa() >= Isa::kAmx) names.insert(names.begin() + 1, "tiles");
  ASSERT_EQ(found.size(), names.size()) << text;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i]["peer"], i + 1 < found.size() ? "machine" : "espalier");
    EXPECT_EQ(found[i]["workload"], names[i]);
    EXPECT_GT(found[i]["value"].get<double>(), 0);
  }
  const nlohmann::json& last = found.back();
  EXPECT_EQ(last["unit"], "us");
  // 50 sums and 50 hyperbolic tangents of 256 elements; at least two arrays are read and one is written.
  EXPECT_GE(last["flops"].get<double>(), 100 * 256);
  EXPECT_GE(last["bytes"].get<double>(), 3 * 256 * 4);
  EXPECT_GT(last["peak_mib"].get<double>(), 1);
}

// Far apart, one of the two is counted wrong. Below, a busy machine may take most of the cycles.
TEST(BenchVerbSlow, TheProbeIsWhatTheCyclesAllow) {
  const Limits limits = probe_limits();
  EXPECT_GT(limits.fma_of_cycles(threads()), 0.2) << limits.fma_gflops << " at " << limits.clock_ghz;
  EXPECT_LT(limits.fma_of_cycles(threads()), 1.1) << limits.fma_gflops << " at " << limits.clock_ghz;
  EXPECT_GT(limits.stream_4r3w_gbs, 0.5 * limits.triad_gbs);
}

TEST(BenchVerbSlow, WhyNamesEveryStep) {
  const std::string text = call_verb(add_bench, {"mlp", "--rounds", "1", "--why"});
  for (const char* step :
       {"dot_general, add, relu f32[64,128]", "dot_general f32[784,128]", "dot_general, add f32[64,10]",
        "adam f32[784,128]", "softmax_cross_entropy_gradient f32[64,10]"})
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
void expect_sound(DTypePolicy dtype, bool mixed_only) {
  for (const Workload& workload : workloads()) {
    if (std::string_view(workload.name) == "mlp_fit") continue;  // mlp_fit_over_step runs it
    if (mixed_only && !workload.mixed) continue;
    const Prepared prepared = workload.prepare(dtype);
    for (int i = 0; i < 4; ++i) {
      prepared.step();
      if (prepared.without) prepared.without();
    }
    EXPECT_NO_THROW(prepared.check()) << workload.name;
    EXPECT_GT(prepared.amount, 0) << workload.name;
  }
}

TEST(BenchVerbSlow, EveryWorkloadComputesWhatItShould) { expect_sound("float32", false); }
TEST(BenchVerbSlow, EveryMixedWorkloadComputesWhatItShould) { expect_sound("mixed_bfloat16", true); }

TEST(BenchVerbSlow, ADTypeIsWhatTheWorkloadComputesIn) {
  const std::string text = call_verb(add_bench, {"mlp_infer1", "--dtype", "bf16", "--rounds", "1", "--json"});
  const std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  EXPECT_EQ(nlohmann::json::parse(last)["dtype"], "bf16");
  EXPECT_GT(nlohmann::json::parse(last)["of_limit"].get<double>(), 0);
  const std::string why = call_verb(add_bench, {"mlp_infer1", "--dtype", "bf16", "--rounds", "1", "--why"});
  EXPECT_NE(why.find("bf16[1,128]"), std::string::npos) << why;
}

TEST(BenchVerb, WorkloadsWithoutLayersAreF32) {
  EXPECT_EQ(rule_of([] { call_verb(add_bench, {"adam", "--dtype", "bf16"}); }), "bench.dtype");
  EXPECT_THROW(call_verb(add_bench, {"mlp", "--dtype", "f16"}), CLI::ValidationError);
}

}  // namespace
}  // namespace espalier::cli
