// A model held against the model before, by the command: what both say of the same rows.
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct EvaluateBaseline : FolderTest {
  std::string progress;

  std::string train(const std::string& name, const std::string& data, const std::string& label,
                    const Words& more) {
    Words words = {"--data", data, "--label", label, "--model", cat(folder, "/", name), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    call_verb(add_train, words);
    return cat(folder, "/", name);
  }
  Json evaluate(const std::string& model, const std::string& data, const std::string& before,
                const Words& more = {}) {
    Words words = {model, data, "--baseline", before, "--slice", "g", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(call_verb(add_evaluate, words, "", &progress));
  }
  // What the model says of each row by another verb.
  std::vector<Json> said(const std::string& model, const std::string& data) {
    const Json all = Json::parse(call_verb(add_predict, {model, data, "--json", "--all"}, "", &progress));
    std::vector<Json> out;
    for (const Json& row : all["predictions"]) out.push_back(row.is_object() ? row["prediction"] : row);
    return out;
  }
};

std::string rows(int from, int to, const char* kinds) {
  std::string out = "x,z,g,y\n";
  for (int i = from; i < to; ++i) {
    const std::string_view all = kinds;
    out += cat(
        i * 37 % 101, ",", i * 53 % 89, ",", i % 3 ? "u" : "v", ",",
        all.empty() ? cat(i * 37 % 101 * 2 + i % 5) : std::string(1, all[i * 37 % 101 * all.size() / 101]),
        "\n");
  }
  return out;
}

TEST_F(EvaluateBaseline, DecisionsOfTwoModelsArePaired) {
  for (const char* kinds : {"ny", "abc"}) {
    const std::string data = file("train.csv", rows(0, 300, kinds)),
                      fresh = file("new.csv", rows(300, 500, kinds));
    const std::string before = train("before", data, "y", {"--epochs", "1", "--seed", "5"}),
                      now = train("now", data, "y", {"--epochs", "6"});
    const std::vector<Json> old_said = said(before, fresh), new_said = said(now, fresh);
    int changed = 0;
    for (size_t i = 0; i < old_said.size(); ++i) changed += old_said[i] != new_said[i];
    EXPECT_GT(changed, 0);
    const Json all = evaluate(now, fresh, before), alone = evaluate(before, fresh, before);
    EXPECT_NEAR(all["baseline"][0]["changed"]["value"].get<double>(), changed / 200.0, 1e-12);
    EXPECT_NEAR(all["baseline"][0]["accuracy"]["value"].get<double>(), all["accuracy"].get<double>(), 1e-12);
    EXPECT_NEAR(all["baseline"][0]["accuracy_before"]["value"].get<double>(), alone["accuracy"].get<double>(),
                1e-12);
    EXPECT_EQ(all["baseline"].size(), 3u);
    EXPECT_EQ(alone["baseline"][0]["changed"]["value"], 0);
    std::filesystem::remove_all(before);
    std::filesystem::remove_all(now);
  }
}

TEST_F(EvaluateBaseline, NumbersOfTwoModelsArePaired) {
  const std::string data = file("train.csv", rows(0, 300, "")), fresh = file("new.csv", rows(300, 500, ""));
  const Words number = {"--task", "number", "--hidden", "8"};
  Words longer = number;
  longer.insert(longer.end(), {"--epochs", "12"});
  Words brief = number;
  brief.insert(brief.end(), {"--epochs", "1"});
  const std::string before = train("before", data, "y", brief), now = train("now", data, "y", longer);
  const std::vector<Json> old_said = said(before, fresh), new_said = said(now, fresh);
  double size = 0;
  for (size_t i = 0; i < old_said.size(); ++i)
    size += std::abs(new_said[i].get<double>() - old_said[i].get<double>()) / 200;
  const Json all = evaluate(now, fresh, before), alone = evaluate(before, fresh, before);
  const Json& overall = all["baseline"][0];
  EXPECT_NEAR(overall["mean_move_size"]["value"].get<double>(), size, 1e-4 * size);
  EXPECT_NEAR(overall["mae"]["value"].get<double>(), all["mae"].get<double>(), 1e-9);
  EXPECT_NEAR(overall["mae_before"]["value"].get<double>(), alone["mae"].get<double>(), 1e-4);
  EXPECT_NEAR(overall["rmse_before"]["value"].get<double>(), alone["rmse"].get<double>(), 1e-4);
  EXPECT_EQ(evaluate(now, fresh, before, {"--moved-by", "1e9"})["baseline"][0]["moved"]["value"], 0);
}

// Each model decides by its own threshold unless a flag says otherwise; which class is rarer may change.
TEST_F(EvaluateBaseline, ThresholdsAreEachModelsOwn) {
  const std::string data = file("train.csv", rows(0, 300, "nnny")),
                    fresh = file("new.csv", rows(300, 500, "nnny"));
  const std::string other = file("other.csv", rows(0, 300, "nyyy"));
  const std::string now = train("now", data, "y", {"--epochs", "3"}),
                    never = train("never", data, "y", {"--epochs", "3", "--threshold", "1"}),
                    of_n = train("of_n", other, "y", {"--epochs", "3"});
  const Json all = evaluate(now, fresh, never);
  EXPECT_EQ(all["baseline"][0]["accuracy_before"]["value"], all["base_rate"]) << "it never says y";
  const Json moved = evaluate(now, fresh, of_n, {"--threshold", "0"});
  EXPECT_EQ(moved["positive"], "y");
  EXPECT_EQ(moved["baseline"][0]["changed"]["value"], 0) << "both say y from 0 on";
}

TEST_F(EvaluateBaseline, AModelThatKnowsTheRowsOrAnswersAnotherQuestionIsNamed) {
  const std::string data = file("train.csv", rows(0, 300, "ny")),
                    fresh = file("new.csv", rows(300, 500, "ny"));
  const std::string now = train("now", data, "y", {"--epochs", "1"}),
                    seen = train("seen", fresh, "y", {"--epochs", "1"});
  const Json all = evaluate(now, fresh, seen);
  ASSERT_EQ(all["warnings"].size(), 1u) << all["warnings"];
  EXPECT_TRUE(
      all["warnings"][0].get<std::string>().starts_with("the baseline was trained on 160 of these 200 rows"))
      << all["warnings"];
  EXPECT_TRUE(evaluate(now, fresh, now)["warnings"].empty());
  const auto rule = [&](const std::string& before, const Words& more = {}) {
    return rule_of([&] { evaluate(now, fresh, before, more); });
  };
  EXPECT_EQ(rule(train("z", data, "g", {"--epochs", "1"})), "baseline.model") << "another label";
  EXPECT_EQ(rule(train("abc", file("abc.csv", rows(0, 300, "abc")), "y", {"--epochs", "1"})),
            "baseline.model");
  EXPECT_EQ(rule(train("numbers", file("numbers.csv", rows(0, 300, "")), "y",
                       {"--task", "number", "--epochs", "1"})),
            "baseline.model");
  EXPECT_EQ(rule(fresh), "baseline.kind");
  EXPECT_EQ(rule_of([&] {
              call_verb(add_evaluate, {"--scores", fresh, "--label", "y", "--score", "x", "--baseline", now});
            }),
            "baseline.kind");
  EXPECT_THROW(evaluate(now, fresh, now, {"--id", "x"}), CLI::RequiresError);
  EXPECT_THROW(evaluate(now, fresh, now, {"--threshold", "0.2,0.4"}), CLI::ExcludesError);
}

// The same gate by models as by files of what they say.
TEST_F(EvaluateBaseline, GatesHoldChangesAgainstAModel) {
  const std::string data = file("train.csv", rows(0, 300, "nnny")),
                    fresh = file("new.csv", rows(300, 500, "nnny"));
  const std::string now = train("now", data, "y", {"--epochs", "6"}),
                    before = train("before", data, "y", {"--epochs", "1", "--seed", "9"});
  const double gain = [&] {
    const Json all = evaluate(now, fresh, before, {"--threshold", "0.5"})["baseline"][0];
    return all["change"]["value"].get<double>();
  }();
  ASSERT_NE(gain, 0);
  const auto check = [&](double least, const std::string& more = "") {
    const std::string gates = file(
        "gates.toml", cat("[[gates]]\nmetric = \"accuracy\"\nchange = \"absolute\"\nmin = ", least, "\n"));
    return call_command(
        cat("check ", now, " ", fresh, " --baseline ", before, " --gates ", gates, " ", more));
  };
  const Outcome pass = check(gain - 0.001, cat("--html ", folder, "/page.html")),
                blocked = check(gain + 0.001);
  EXPECT_EQ(pass.code, 0) << pass.output << pass.error;
  EXPECT_EQ(blocked.code, 1) << blocked.output << blocked.error;
  EXPECT_NE(blocked.output.find(cat(" --baseline ", before)), std::string::npos) << blocked.output;
  EXPECT_EQ(check(gain - 0.001, cat("--verify ", folder, "/page.html")).code, 0);
}

}  // namespace
}  // namespace espalier::cli
