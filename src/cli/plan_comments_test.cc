// Comments and white space of a plan are no part of the run that --resume goes on with.
#include <csignal>

#include "base/env.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "cli/interrupt.h"
#include "cli/interrupt_once_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "format/checkpoint.h"
#include "ir/sink.h"
#include "plan/text.h"

namespace espalier::cli {
namespace {

TEST(PlanComments, AreTakenOffOutsideOfQuotes) {
  EXPECT_EQ(without_comments("# first\n\n  a = 1   # one\n\tb\t=  \"x  # y\"  # two\r\n"),
            "a = 1\nb = \"x  # y\"\n");
  EXPECT_EQ(without_comments("a = \"\\\" # in\" # out\nb = 'C:\\' # out\n#\n"),
            "a = \"\\\" # in\"\nb = 'C:\\'\n");
  EXPECT_EQ(without_comments("a = \"\\\\\" # out\n\n\n[b] # \"out\nc = []"), "a = \"\\\\\"\n[b]\nc = []");
  EXPECT_NE(without_comments("a = \"x # y\"\n"), without_comments("a = \"x # z\"\n"));
  EXPECT_NE(without_comments("a = \"x  y\"\n"), without_comments("a = \"x y\"\n"));
  EXPECT_EQ(without_comments(""), "");
}

struct ResumedPlan : FolderTest {
  std::string data = path("rows # 1.csv");
  std::string model = path("model"), checkpoint = model + ".checkpoint";
  std::vector<std::string> arguments = {"--data", data,       "--label", "kind",  "--model",
                                        model,    "--epochs", "15",      "--json"};

  void SetUp() override {
    Philox random(5);
    std::string rows = "size,kind\n";
    for (int i = 0; i < 300; ++i) {
      const float size = random.uniform();
      rows += cat(size, size > 0.5f ? ",big\n" : ",small\n");
    }
    write_file(data, rows);
  }
  std::string weights() const { return posix_env().read_file(model + "/weights.safetensors"); }
  void interrupt() const {
    const InterruptOnce signal(SIGINT);
    EXPECT_THROW(call_verb(add_train, arguments), Exit);
    ASSERT_TRUE(posix_env().exists(checkpoint));
  }
  // In the checkpoint, as if another version had written it.
  template <class F>
  void change_plan(F&& changed) const {
    Checkpoint kept = parse_checkpoint(posix_env().read_file(checkpoint));
    int changes = 0;
    for (auto& state : kept.callbacks) {
      const auto found = state.find(kPlanState);
      if (found == state.end()) continue;
      const Literal& bytes = found->second;
      const std::string text = changed(std::string(static_cast<const char*>(bytes.raw()), bytes.raw_bytes()));
      state.erase(found);
      CallbackState other;
      other.put_text(kPlanState, text);
      state.emplace(kPlanState, other.tensors.at(kPlanState).node()->dense());
      ++changes;
    }
    ASSERT_EQ(changes, 1);
    write_checkpoint(checkpoint, kept);
  }
};

TEST_F(ResumedPlan, GoesOnWhereCommentsAndWhiteSpaceAreOthers) {
  const std::string whole = call_verb(add_train, arguments), wanted = weights();
  std::filesystem::remove_all(model);
  interrupt();
  change_plan([](const std::string& plan) {
    std::string out = "# Words of another version\n\n";
    for (size_t at = 0, end = 0; at < plan.size(); at = end + 1) {
      end = std::min(plan.find('\n', at), plan.size());
      const std::string line = plan.substr(at, end - at);
      out += line.starts_with("data: ") ? line + "\n" : cat("  ", line, "   # is explained otherwise\n");
    }
    return out;
  });
  arguments.emplace_back("--resume");
  EXPECT_EQ(call_verb(add_train, arguments), whole);
  EXPECT_EQ(weights(), wanted);
}

TEST_F(ResumedPlan, RefusesWhatIsNoComment) {
  interrupt();
  arguments.emplace_back("--resume");
  const auto changed = [](const std::string& from, const std::string& to) {
    return [=](std::string plan) {
      const size_t at = plan.find(from);
      EXPECT_NE(at, plan.npos) << plan;
      return plan.replace(at, from.size(), to);
    };
  };
  change_plan(changed("rows # 1.csv", "rows # 2.csv"));
  EXPECT_EQ(rule_of([&] { call_verb(add_train, arguments); }), "train.resume");
  change_plan(changed("rows # 2.csv", "rows # 1.csv"));
  EXPECT_EQ(rule_of([&] { call_verb(add_train, arguments); }), "nothing");
}

}  // namespace
}  // namespace espalier::cli
