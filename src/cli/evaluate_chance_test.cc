// Intervals from rows drawn again, worst slices and flips, from the command's flags to its figures.
#include <nlohmann/json.hpp>

#include "base/philox.h"
#include "base/rule_of_test.h"
#include "base/shortest.h"
#include "cli/verb_test.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct EvaluateChance : FolderTest {
  std::string scores = write_file(folder + "/scores.csv", scored_text());
  std::string progress;

  // One row in ten is said wrongly; of the red and large ones two in three.
  static std::string scored_text() {
    Philox random(5);
    std::string text = "y,p,colour,size,number,id\n";
    for (int i = 0; i < 3000; ++i) {
      constexpr const char* kColours[] = {"red", "green", "blue", "grey"};
      const uint64_t colour = random.below(4), size = random.below(6);
      const bool label = random.below(3) == 0;
      const bool wrong = colour == 0 && size == 5 ? random.below(3) > 0 : random.below(10) == 0;
      text += cat(int{label}, ",", label != wrong ? "0.8" : "0.3", ",", kColours[colour], ",s", size, ",",
                  random.below(1000), ",row", i, "\n");
    }
    return text;
  }
  std::string text(Words more) {
    Words words = {"--scores", scores, "--label", "y", "--score", "p"};
    words.insert(words.end(), more.begin(), more.end());
    return call_verb(add_evaluate, words, "", &progress);
  }
  Json json(Words more) {
    more.push_back("--json");
    return Json::parse(text(more));
  }
};

TEST_F(EvaluateChance, EveryFigureHasAnIntervalFromRowsDrawnAgain) {
  const auto interval = [](const Json& said, const char* metric) {
    return said["slices"][0]["metrics"][metric]["interval"];
  };
  const Json closed = json({"--slice", "colour"});
  EXPECT_EQ(closed["interval_method"], "closed forms");
  EXPECT_TRUE(interval(closed, "log_loss").is_null());
  for (const char* method : {"bootstrap", "jackknife"}) {
    const Json drawn = json({"--slice", "colour", "--interval", method, "--seed", "4"});
    EXPECT_LT(interval(drawn, "log_loss")[0], interval(drawn, "log_loss")[1]) << method;
    const Json &own = interval(drawn, "auc"), &formula = interval(closed, "auc");
    const double width = own[1].get<double>() - own[0].get<double>();
    EXPECT_NEAR(width / (formula[1].get<double>() - formula[0].get<double>()), 1, 0.5) << method;
    EXPECT_EQ(drawn, json({"--slice", "colour", "--interval", method, "--seed", "4"})) << method;
    EXPECT_NE(own, interval(json({"--slice", "colour", "--interval", method}), "auc")) << "another seed";
    EXPECT_FALSE(drawn["gaps"][0]["criteria"]["accuracy_equality"]["interval"].is_null());
  }
  const std::string said =
      text({"--slice", "colour", "--interval", "bootstrap", "--replicates", "30", "--metric", "f1"});
  EXPECT_NE(said.find("\nintervals: Poisson bootstrap, 30 replicates, seed 0\n"), std::string::npos) << said;
  EXPECT_NE(said.find("--interval bootstrap --replicates 30"), std::string::npos) << "the next command";
  const std::string mixed =
      text({"--slice", "colour", "--interval", "jackknife", "--metric", "auc,ece,bpsn_auc"});
  EXPECT_NE(mixed.find("seed 0; by closed forms those of ece, bpsn_auc\n"), std::string::npos) << mixed;
}

TEST_F(EvaluateChance, GapsSayWhatChanceGivesAndHowManyWereTested) {
  const Json said = json({"--slice", "colour,size"});
  EXPECT_EQ(said["tests"], Json({{"count", 14}, {"adjusted_by", "Holm"}})) << "all but two treatment ratios";
  const Json& accuracy = said["gaps"][0]["criteria"]["accuracy_equality"];
  EXPECT_GT(accuracy["by_chance"], 0.01);
  EXPECT_LT(accuracy["by_chance"], accuracy["difference"]);
  EXPECT_LT(accuracy["p"], 0.001);
  EXPECT_GE(accuracy["adjusted_p"], accuracy["p"]);
  EXPECT_TRUE(said["gaps"][0]["criteria"]["treatment_equality"]["p"].is_null());
  const std::string people = text({"--slice", "colour,size"});
  EXPECT_NE(people.find("adjusted by Holm for 14 gaps"), std::string::npos) << people;
}

TEST_F(EvaluateChance, TheWorstSliceIsNamed) {
  const Json said = json({"--worst", "3"});
  EXPECT_LE(said["worst"]["slices"].size(), 3u);
  const Json& first = said["worst"]["slices"][0];
  EXPECT_EQ(first["slice"], "colour=red, size=s5");
  EXPECT_NEAR(first["value"].get<double>(), 0.67, 0.2);
  EXPECT_EQ(first["by"], Json({"colour", "size"}));
  EXPECT_EQ(
      said["warnings"][0],
      "not searched for worst slices, with more than 50 words or numbers that do not fall into quarters: id");
  const std::string people = text({"--worst"});
  EXPECT_NE(people.find("\ncolour=red, size=s5 "), std::string::npos) << people;
  EXPECT_NE(people.find("adjusted by Benjamini and Hochberg for "), std::string::npos) << people;
  EXPECT_EQ(json({"--worst", "--depth", "1"})["worst"]["depth"], 1);
  EXPECT_EQ(json({"--worst", "--metric", "fnr"})["worst"]["metric"], "false_negative_rate");
  EXPECT_EQ(rule_of([&] { text({"--worst", "--metric", "selection_rate"}); }), "worst.metric");
}

TEST_F(EvaluateChance, FlagsWithoutWhatTheyNeedAreNamed) {
  EXPECT_THROW(text({"--flip", "colour"}), CLI::RequiredError);
  EXPECT_THROW(text({"--depth", "2"}), CLI::RequiresError);
  EXPECT_THROW(text({"--worst", "0"}), CLI::ValidationError);
  EXPECT_THROW(text({"--slice", "colour", "--interval", "exact"}), CLI::ValidationError);
  EXPECT_THROW(text({"--slice", "colour", "--interval", "bootstrap", "--replicates", "1"}),
               CLI::ValidationError);
  EXPECT_THROW(call_verb(add_evaluate, {"model", scores, "--interval", "bootstrap"}), CLI::RequiresError);
}

// A model that reads the colour, which decides, and one that cannot.
TEST_F(EvaluateChance, DecisionsFlipWithWhatAModelReads) {
  Philox random(5);
  std::string text = "size,colour,flag,kind\n";
  for (int i = 0; i < 600; ++i) {
    const auto size = static_cast<int64_t>(random.below(100));
    const bool red = random.below(2), flag = random.below(2);
    text += cat(size, ",", red ? "red" : "blue", ",", flag ? "yes" : "no", ",",
                size + static_cast<int64_t>(random.below(30)) > (red ? 30 : 90) ? "big" : "small", "\n");
  }
  const std::string data = write_file(folder + "/kinds.csv", text);
  const auto flips = [&](const std::string& model, const Words& more) {
    Words train = {"--data", data,       "--label", "kind",       "--model",
                   model,    "--epochs", "30",      "--positive", "big"};
    train.insert(train.end(), more.begin(), more.end());
    call_verb(add_train, train);
    return Json::parse(call_verb(add_evaluate, {model, data, "--flip", "colour,flag", "--json"}))["flips"];
  };
  const Json reads = flips(folder + "/reads", {});
  EXPECT_TRUE(reads[0]["read"]);
  EXPECT_GT(reads[0]["overall"]["rate"], 0.2);
  const int64_t evaluated = reads[0]["overall"]["rows"];
  int64_t rows = 0, changed = 0;
  for (const Json& group : reads[0]["groups"]) {
    rows += group["rows"].get<int64_t>();
    changed += group["to_positive"].get<int64_t>() + group["to_negative"].get<int64_t>();
    // Which kind counts as positive is the model's; a group changes one way alone, or nearly.
    EXPECT_GT(std::max(group["to_positive"], group["to_negative"]), 20);
    EXPECT_LT(std::min(group["to_positive"], group["to_negative"]), 10);
  }
  EXPECT_EQ(rows, evaluated);
  EXPECT_DOUBLE_EQ(reads[0]["overall"]["rate"].get<double>(),
                   static_cast<double>(changed) / static_cast<double>(evaluated));
  EXPECT_LT(reads[1]["overall"]["rate"], 0.1) << "a flag of no meaning";
  const Json cannot = flips(folder + "/cannot", {"--ignore", "colour"});
  EXPECT_FALSE(cannot[0]["read"]);
  EXPECT_EQ(cannot[0]["overall"]["rate"], 0);
  EXPECT_EQ(cannot[0]["groups"].size(), 2u);
  const std::string people = call_verb(add_evaluate, {folder + "/cannot", data, "--flip", "colour"});
  EXPECT_NE(people.find("the model does not read colour: no decision can change"), std::string::npos)
      << people;
}

// Of few numbers each is a value, however rare; of one nothing can be said.
TEST_F(EvaluateChance, RareNumbersFlipToo) {
  Philox random(13);
  std::string text = "x,disabled,one,kind\n";
  for (int i = 0; i < 1000; ++i) {
    const bool disabled = random.below(100) < 7;
    const auto x = static_cast<int>(random.below(100));
    text +=
        cat(x, ",", disabled ? 1 : 0, ",", i < 990 ? 3 : i, ",", x > 10 && !disabled ? "yes" : "no", "\n");
  }
  const std::string data = write_file(folder + "/rare.csv", text), model = folder + "/rare";
  call_verb(add_train,
            {"--data", data, "--label", "kind", "--model", model, "--epochs", "40", "--include", "one"});
  const Json flips = Json::parse(
      call_verb(add_evaluate, {model, data, "--all-rows", "--flip", "disabled", "--json"}))["flips"][0];
  EXPECT_EQ(flips["values"], Json({"0", "1"}));
  EXPECT_GT(flips["overall"]["rate"], 0.6);
  const std::string people = call_verb(add_evaluate, {model, data, "--all-rows", "--flip", "disabled"});
  EXPECT_NE(people.find("with one of the other numbers, of 2 that these rows have"), std::string::npos)
      << people;
  EXPECT_EQ(rule_of([&] {
              call_verb(add_evaluate, {model, data, "--all-rows", "--flip", "one"});
            }),
            "evaluate.flip");
  const std::string words =
      write_file(folder + "/words.csv", "x,disabled,one,kind\n1,old,3,yes\n2,1,3,no\n3,0,3,no\n");
  const Json odd =
      Json::parse(call_verb(add_evaluate, {model, words, "--flip", "disabled", "--json"}))["flips"][0];
  EXPECT_EQ(odd["groups"].back()["group"], "(missing)");
  EXPECT_EQ(odd["groups"].back()["rows"], 1);
}

// Held against what predict says of the rows with each of the numbers in place of their own.
TEST_F(EvaluateChance, NumbersFlipTheDecisionsOfSeveralClasses) {
  Philox random(11);
  std::string head = "size;colour;when;kind\n", text = head;
  std::vector<std::array<std::string, 4>> people;
  for (int i = 0; i < 400; ++i) {
    const double size = static_cast<double>(random.below(1000)) / 10;
    const std::string kind = size < 30 ? "low" : size < 70 ? "mid" : "high";
    std::string written = cat(static_cast<int>(size), ",", static_cast<int>(size * 10) % 10, " kg");
    if (random.below(20) == 0) written = "?";
    people.push_back({written, random.below(2) ? "red" : "blue", cat("2031-01-", 10 + i % 18), kind});
    text += cat(written, ";", people.back()[1], ";", people.back()[2], ";", kind, "\n");
  }
  const std::string data = write_file(folder + "/sizes.csv", text), model = folder + "/sizes";
  call_verb(add_train, {"--data", data, "--label", "kind", "--model", model, "--epochs", "30"});
  const auto said = [&](const std::string& rows) {
    const std::string file = write_file(folder + "/rows.csv", rows);
    std::vector<std::string> out;
    const Json all = Json::parse(call_verb(add_predict, {model, file, "--json"}));
    for (const Json& each : all["predictions"]) out.push_back(each["prediction"]);
    return out;
  };
  const Json all = Json::parse(
      call_verb(add_evaluate, {model, data, "--all-rows", "--flip", "size,colour", "--json"}))["flips"];
  const Json& flips = all[0];
  ASSERT_EQ(flips["values"].size(), 5u);
  EXPECT_FALSE(flips["overall"].contains("to_positive"));
  EXPECT_LT(all[1]["overall"]["rate"], 0.1) << "a colour of no meaning";
  const std::string people_read =
      call_verb(add_evaluate, {model, data, "--all-rows", "--flip", "size,colour"});
  EXPECT_NE(people_read.find("of 5, the middles of the fifths of these rows"), std::string::npos)
      << people_read;
  const std::vector<std::string> own = said(text);
  std::vector<std::vector<std::string>> with;
  for (const std::string value : flips["values"]) {
    std::string rows = head;
    for (const auto& person : people)
      rows += cat(value, ";", person[1], ";", person[2], ";", person[3], "\n");
    with.push_back(said(rows));
  }
  const auto number = [](const std::string& written) {
    std::string plain = written;
    std::ranges::replace(plain, ',', '.');
    return std::stod(plain);
  };
  std::map<std::string, std::pair<int, int>> expected;
  for (size_t row = 0; row < people.size(); ++row) {
    std::string group = "(missing)";
    size_t nearest = with.size();
    for (size_t value = 0; value < with.size() && people[row][0] != "?"; ++value) {
      const auto apart = [&](size_t other) {
        return std::abs(number(flips["values"][other]) - number(people[row][0]));
      };
      if (nearest == with.size() || apart(value) < apart(nearest)) nearest = value;
    }
    if (nearest < with.size()) group = flips["values"][nearest];
    bool changes = false;
    for (size_t value = 0; value < with.size(); ++value)
      changes = changes || (value != nearest && with[value][row] != own[row]);
    ++expected[group].first;
    expected[group].second += changes;
  }
  ASSERT_EQ(flips["groups"].size(), expected.size());
  int changed = 0;
  for (const Json& group : flips["groups"]) {
    const auto& [rows, flipping] = expected[group["group"]];
    EXPECT_EQ(group["rows"], rows) << group["group"];
    EXPECT_NEAR(group["rate"].get<double>() * rows, flipping, 1e-9) << group["group"];
    changed += flipping;
  }
  EXPECT_NEAR(flips["overall"]["rate"].get<double>() * static_cast<double>(people.size()), changed, 1e-9);
  EXPECT_GT(changed, 300);
  const std::string people_see = call_verb(add_evaluate, {model, data, "--all-rows", "--flip", "size"});
  EXPECT_NE(people_see.find("\nnear "), std::string::npos) << people_see;
  EXPECT_EQ(rule_of([&] { call_verb(add_evaluate, {model, data, "--flip", "when"}); }), "evaluate.flip");
}

}  // namespace
}  // namespace espalier::cli
