// espalier compile, as far as no compiler of a TPU is needed, and with one where it is named.
#include <nlohmann/json.hpp>

#include "cli/verb_test.h"
#include "pjrt/compiler_test.h"

namespace espalier::cli {
namespace {

struct CompileVerb : FolderTest {
  void SetUp() override {
    std::string table = "a,b,label\n";
    for (int i = 0; i < 100; ++i) table += cat(i % 7, ",", i % 11, ",", i % 7 > i % 11 ? "yes" : "no", "\n");
    file("rows.csv", table);
    plan = file(
        "plan.toml",
        "[data]\nfile = \"rows.csv\"\nlabel = \"label\"\n[[model.layers]]\ntype = \"Dense\"\nunits = 16\n"
        "[fit]\nbatch_size = 30\n");
  }
  Outcome call(const std::string& words) const { return call_command(cat("compile ", plan, " ", words)); }
  std::string plan;
};

TEST_F(CompileVerb, WhatIsNoTopologyIsRefused) {
  for (const char* topology : {"v5e:", "v5e:2xx2", "v5e:axb", "v5e:0x1", "v5e:9999x9999", "v5e:16x32", "x",
                               "\"\"", "\"\" --devices 2", "v5e:2x2 --devices 5", "v3:2x2 --devices 9",
                               "1x1x4", "v5e:2x2 --target tests/golden/h100.txtpb"}) {
    const Outcome refused = call(cat("--topology ", topology));
    EXPECT_EQ(refused.code, 2) << topology;
    EXPECT_NE(refused.error.find("[compile.topology]"), std::string::npos) << refused.error;
  }
  const Outcome none = call_shell(cat("env -u ESPALIER_PJRT_PLUGINS HOME=/nowhere VIRTUAL_ENV=/nowhere ",
                                      build_folder(), "/espalier compile ", plan, " --topology v5e:2x2"));
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.error.find("no plugin for TPUs was found"), std::string::npos) << none.error;
  EXPECT_EQ(call("").code, 2);
}

// The night's, since the compiler is not ours to fetch.
TEST_F(CompileVerb, SlowATpusCompilerSaysWhatAStepTakes) {
  ESPALIER_NEEDS_COMPILER(pjrt::kTpuV5e);
  const std::string plugin = cat(" --plugin ", pjrt::kTpuV5e.file());
  const Outcome four = call(cat("--topology v5e:2x2 --json", plugin));
  ASSERT_EQ(four.code, 0) << four.error;
  const auto body = nlohmann::json::parse(four.output);
  EXPECT_EQ(body.at("devices"), 4);
  EXPECT_EQ(body.at("rows_a_step"), 32);
  EXPECT_GT(body.at("donated_bytes").get<int64_t>(), 100);
  EXPECT_GE(body.at("aliased_bytes").get<int64_t>(), body.at("donated_bytes").get<int64_t>());
  EXPECT_EQ(body.at("memory_bytes"), int64_t{16} << 30);
  EXPECT_TRUE(body.at("fits").get<bool>());
  const Outcome small = call(cat("--topology V5E:2x2 --memory 0.001", plugin));
  EXPECT_EQ(small.code, small.output.find("does not fit") == std::string::npos ? 0 : 1) << small.output;
}

}  // namespace
}  // namespace espalier::cli
