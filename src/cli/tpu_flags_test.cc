// The strategy tpu and the device that is named beside it.
#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "plan/plan.h"

namespace espalier::cli {
namespace {

struct TpuFlags : FolderTest {
  std::string table = file("table.csv", "x,kind\n1,a\n2,b\n");

  std::string device_of(const std::vector<std::string>& more, std::string* said = nullptr) const {
    std::vector<std::string> words = {"--data",  table,         "--label",     "kind",
                                      "--model", path("model"), "--write-plan"};
    words.insert(words.end(), more.begin(), more.end());
    return read_plan(call_verb(add_train, words, "", said), "written").device.name;
  }
};

TEST_F(TpuFlags, AWrittenPlanNamesTheTpu) {
  EXPECT_EQ(device_of({"--strategy", "tpu"}), "tpu");
  EXPECT_EQ(device_of({"--strategy", "tpu", "--device", "xla-cpu"}), "xla-cpu");
  EXPECT_EQ(device_of({"--strategy", "one"}), "cpu");
  EXPECT_EQ(device_of({}), "cpu");
  // It is read back as it was meant.
  const std::string plan =
      file("plan.toml", call_verb(add_train, {"--data", table, "--label", "kind", "--model", path("model"),
                                              "--strategy", "tpu", "--write-plan"}));
  std::string said;
  EXPECT_EQ(read_plan(call_verb(add_train, {plan, "--write-plan"}, "", &said), "again").device.name, "tpu");
  EXPECT_EQ(said, "");
}

TEST_F(TpuFlags, TheCpuIsNoTpu) {
  const auto rule = [](AddVerb verb, const std::vector<std::string>& words) {
    return rule_of([&] { call_verb(verb, words); });
  };
  for (const char* cpu : {"cpu", "CPU:0"}) {
    const std::vector<std::string> there = {"--strategy", "tpu", "--device", cpu};
    EXPECT_EQ(rule_of([&] { device_of(there); }), "distribute.device") << cpu;
    for (const AddVerb verb : {add_evaluate, add_predict}) {
      std::vector<std::string> words = {path("model"), table};
      words.insert(words.end(), there.begin(), there.end());
      EXPECT_EQ(rule(verb, words), "distribute.device") << cpu;
    }
  }
}

TEST_F(TpuFlags, APlanThatNamesTheCpuIsRefusedWithItsLine) {
  const std::string plan =
      file("plan.toml",
           "[data]\nfile = \"table.csv\"\nlabel = \"kind\"\n[distribute]\nstrategy = \"tpu\"\n[device]\n"
           "name = \"cpu\"\n");
  try {
    call_verb(add_train, {plan, "--write-plan"});
    ADD_FAILURE() << "it was accepted";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "distribute.device");
    EXPECT_TRUE(error.message().starts_with("plan.toml, line 7, column 8: ")) << error.message();
  }
  EXPECT_EQ(read_plan(call_verb(add_train, {plan, "--device", "tpu", "--write-plan"}), "other").device.name,
            "tpu");
  // A flag counts more than the file, and says so.
  const std::string here =
      file("here.toml", "[data]\nfile = \"table.csv\"\nlabel = \"kind\"\n[device]\nname = \"cpu\"\n");
  std::string said;
  EXPECT_EQ(read_plan(call_verb(add_train, {here, "--strategy", "tpu", "--write-plan"}, "", &said), "flag")
                .device.name,
            "tpu");
  EXPECT_NE(
      said.find("note: here.toml, line 5, column 8: the device is cpu, and --strategy tpu trains on tpu\n"),
      std::string::npos)
      << said;
}

}  // namespace
}  // namespace espalier::cli
