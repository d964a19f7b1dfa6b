// A column of 0 and 1 and one of false and true are one form, whichever of them trained.
#include <nlohmann/json.hpp>

#include "base/philox.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

struct Truths : FolderTest {
  // The same rows each time; `no` and `yes` are how a column writes them, `seldom` what ten rows have
  // instead.
  std::string rows(const std::string& name, const std::string& no, const std::string& yes,
                   const std::string& seldom = "") const {
    Philox random(5);
    std::string out = "ill,age,paid\n";
    for (int i = 0; i < 400; ++i) {
      const bool ill = random.below(2) == 1;
      const auto age = static_cast<int64_t>(random.below(100));
      out += cat(i % 40 == 7 && !seldom.empty() ? seldom
                 : ill                          ? yes
                                                : no,
                 ",", age, ",", (ill && age > 30) || age > 80 ? "often" : "never", "\n");
    }
    return file(name, out);
  }
  std::string trained(const std::string& name, const std::string& table) const {
    const Outcome out =
        call_command(cat("train --data ", table, " --label paid --epochs 3 --seed 1 --model ", path(name)));
    EXPECT_EQ(out.code, 0) << out.error;
    return path(name);
  }
};

TEST_F(Truths, ZerosAndOnesAndFalseAndTrueAreOneForm) {
  const std::vector<std::string> forms = {
      rows("bits.csv", "0", "1"), rows("points.csv", "0.0", "1.0"), rows("words.csv", "false", "true"),
      rows("capitals.csv", "FALSE", "TRUE"), rows("answers.csv", "No", "Yes")};
  for (const std::string& before : forms) {
    const std::string model = trained("model-" + before.substr(before.rfind('/') + 1), before);
    const Outcome own = call_command(cat("predict ", model, " ", before)),
                  evaluated = call_command(cat("evaluate ", model, " ", before, " --all-rows --json"));
    for (const std::string& now : forms) {
      const Outcome said = call_command(cat("predict ", model, " ", now));
      EXPECT_EQ(said.code, 0) << before << " " << now << said.error;
      EXPECT_EQ(said.error.find("warning"), std::string::npos) << before << " " << now << said.error;
      EXPECT_EQ(said.output, own.output) << before << " " << now;
      const Outcome again = call_command(cat("evaluate ", model, " ", now, " --all-rows --json"));
      EXPECT_EQ(Json::parse(again.output)["accuracy"], Json::parse(evaluated.output)["accuracy"]) << now;
      const Outcome checked = call_command(cat("data check ", before, " ", now, " --json"));
      EXPECT_EQ(Json::parse(checked.output)["faults"], 0) << checked.output;
      EXPECT_EQ(checked.code, 0) << before << " " << now << checked.output;
    }
  }
}

TEST_F(Truths, WordsAreNoNumbersAmongOthers) {
  const std::string counts = rows("counts.csv", "0", "2"), halves = rows("halves.csv", "0", "1", "0.5"),
                    words = rows("words.csv", "false", "true");
  for (const std::string& before : {counts, halves}) {
    const Outcome said = call_command(cat("predict ", trained("model", before), " ", words));
    EXPECT_EQ(said.code, 2) << before;
    EXPECT_NE(said.error.find("no cell of column \"ill\" can be read as in training"), std::string::npos)
        << said.error;
    EXPECT_EQ(call_command(cat("data check ", before, " ", words)).code, 1) << before;
  }
}

// Both name the word, and take the others.
TEST_F(Truths, AWordThatIsNoTruthIsStillNamed) {
  const std::string bits = rows("bits.csv", "0", "1"), odd = rows("odd.csv", "false", "true", "perhaps");
  const Outcome said = call_command(cat("predict ", trained("model", bits), " ", odd));
  EXPECT_NE(said.error.find("ill: 10 of 400 cells cannot be read"), std::string::npos) << said.error;
  EXPECT_NE(said.error.find("fault: column \"ill\": 10 of 400 cells are of another form"), std::string::npos)
      << said.error;
  const Outcome checked = call_command(cat("data check ", bits, " ", odd));
  EXPECT_NE(checked.output.find("Fault: column \"ill\": 10 of 400 cells are of another form"),
            std::string::npos)
      << checked.output;
}

}  // namespace
}  // namespace espalier::cli
