// espalier check on a device: the same rows, the same gates.
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "pjrt/plugin_test.h"

namespace espalier::cli {
namespace {

struct CheckDevice : FolderTest {
  std::string data, gates, model = path("model");

  void SetUp() override {
    std::string rows = "size,kind\n";
    for (int i = 0; i < 200; ++i) rows += cat(i * 37 % 101, i * 37 % 101 > 50 ? ",yes\n" : ",no\n");
    data = file("rows.csv", rows);
    gates = file("gates.toml", "[[gates]]\nmetric = \"accuracy\"\nmin = 0.5\n");
    call_verb(add_train, {"--data", data, "--label", "kind", "--model", model, "--epochs", "5"});
  }
  std::vector<std::string> words(std::vector<std::string> more) const {
    more.insert(more.begin(), {model, data, "--gates", gates});
    return more;
  }
};

TEST_F(CheckDevice, SlowIsAskedForByItsName) {
  EXPECT_EQ(call_verb(add_check, words({"--device", "cpu"})), call_verb(add_check, words({})));
  EXPECT_EQ(rule_of([&] { call_verb(add_check, words({"--device", "gpu:77"})); }), "device.unknown");
  // Scores are said already.
  const std::string scores = file("scores.csv", "y,p\n1,0.9\n0,0.2\n");
  EXPECT_THROW(call_verb(add_check, {"--scores", scores, "--label", "y", "--score", "p", "--gates", gates,
                                     "--device", "gpu"}),
               CLI::ExcludesError);
}

TEST_F(CheckDevice, SlowJudgesAsTheCpuDoes) {
  ESPALIER_NEEDS_PLUGIN();
  const std::string there = cat(" --device xla-cpu --plugin ", pjrt::test_plugin());
  const std::string line = cat("check ", model, " ", data, " --gates ", gates);
  const Outcome here = call_command(line), far = call_command(line + there);
  EXPECT_EQ(far.code, 0) << far.error;
  const auto verdict = [](const std::string& text) { return text.substr(0, text.find("next: ")); };
  EXPECT_EQ(verdict(far.output), verdict(here.output));
  EXPECT_NE(far.output.find(there), std::string::npos) << "the next command runs there, too";
}

}  // namespace
}  // namespace espalier::cli
