// Slices of what is no decision between two classes, from a file of scores or by a model.
#include <nlohmann/json.hpp>

#include "base/philox.h"
#include "base/rule_of_test.h"
#include "base/shortest.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "ir/golden_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct EvaluateTasks : testing::Test {
  std::string folder =
      fresh_folder(cat("tasks-", testing::UnitTest::GetInstance()->current_test_info()->name()));
  std::string progress;

  std::string file(const std::string& text, const std::string& name = "scores.csv") const {
    return write_file(cat(folder, "/", name), text);
  }
  std::string text_of(Words arguments, const Words& more = {}) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call_verb(add_evaluate, arguments, "", &progress);
  }
  Json json(Words arguments, Words more = {}) {
    more.push_back("--json");
    return Json::parse(text_of(std::move(arguments), more));
  }
};

// Errors of b are three times those of a.
std::string numbers_csv() {
  Philox random(5);
  std::string out = "y,p,g\n";
  for (int i = 0; i < 400; ++i) {
    const double truth = static_cast<double>(random.below(1000)),
                 error = static_cast<double>(random.below(21)) - 10;
    out += cat(truth, ",", truth + (i % 2 ? 3 : 1) * error, ",", i % 2 ? "b" : "a", "\n");
  }
  return out;
}

// From the text of a file to scikit-learn's own figures of the same rows.
TEST_F(EvaluateTasks, RegressionsOfGroupsAreScikitLearns) {
  const Json golden = read_golden("regression.json");
  const Json& rows = golden["rows"];
  std::string text = "y,p,weight,group\n";
  for (size_t i = 0; i < rows["label"].size(); ++i) {
    text += cat(shortest(rows["label"][i].get<double>()), ",", shortest(rows["prediction"][i].get<double>()),
                ",", shortest(rows["weight"][i].get<double>()), ",",
                golden["groups"][rows["group"][i].get<size_t>()].get<std::string>(), "\n");
  }
  const Words arguments = {"--scores", file(text), "--label",    "y",       "--score",
                           "p",        "--task",   "regression", "--slice", "group"};
  for (const char* weighted : {"plain", "weighted"}) {
    const Json said =
        json(arguments, weighted == std::string("plain") ? Words{} : Words{"--weight", "weight"});
    const Json& expected = golden["figures"][weighted];
    const auto compare = [&](const Json& slice, const Json& figures) {
      for (const auto& [name, value] : figures.items()) {
        EXPECT_NEAR(slice["metrics"][name]["value"].get<double>(), value.get<double>(), 1e-9)
            << name << " of " << slice["slice"];
        EXPECT_LT(slice["metrics"][name]["interval"][0], slice["metrics"][name]["interval"][1]);
      }
    };
    compare(said["overall"], expected[0]);
    ASSERT_EQ(said["slices"].size(), 3u);
    for (const Json& slice : said["slices"]) {
      const auto place = std::ranges::find(golden["groups"], slice["values"][0]) - golden["groups"].begin();
      compare(slice, expected[static_cast<size_t>(place) + 1]);
    }
    const Json& gap = said["gaps"][0]["metrics"]["mae"];
    EXPECT_EQ(gap["lowest"], "group=near");
    EXPECT_EQ(gap["highest"], "group=far");
    EXPECT_NEAR(gap["difference"].get<double>(),
                expected[2]["mae"].get<double>() - expected[1]["mae"].get<double>(), 1e-9);
    EXPECT_EQ(said["tests"]["count"], 5);
  }
}

TEST_F(EvaluateTasks, PeopleSeeFiguresGapsAndWhatComesNext) {
  const Words arguments = {"--scores", file(numbers_csv()), "--label", "y", "--score", "p",
                           "--task",   "regression"};
  const std::string all = text_of(arguments);
  EXPECT_TRUE(all.starts_with("400 rows\nall rows ")) << all;
  EXPECT_NE(all.find("--task regression --slice g\n"), std::string::npos) << all;
  const std::string sliced = text_of(arguments, {"--slice", "g"});
  for (const char* part :
       {"\ng=a  ", "gaps by g ", "adjusted by Holm for 5 gaps", "--slice g --metric mae\n"})
    EXPECT_NE(sliced.find(part), std::string::npos) << part << " in " << sliced;
  EXPECT_NE(text_of(arguments, {"--slice", "g", "--metric", "bias"}).find("mean_error"), std::string::npos);
  EXPECT_NE(text_of(arguments, {"--slice", "g", "--reference-group", "g=b"}).find("higher"),
            std::string::npos);
}

TEST_F(EvaluateTasks, AModelOfNumbersIsJudgedBySlice) {
  std::string table = "size;kind;price\n";
  for (int i = 0; i < 200; ++i) table += cat(i, ";", i % 2 ? "new" : "old", ";", 3 * i + i % 7, "\n");
  const std::string data = file(table, "table.csv"), model = folder + "/model";
  call_verb(add_train, {"--data", data, "--label", "price", "--model", model, "--epochs", "2"});
  const Json said = json({model, data, "--all-rows"}, {"--slice", "kind"});
  EXPECT_NEAR(said["overall"]["metrics"]["mae"]["value"].get<double>(), said["mae"].get<double>(), 1e-9);
  EXPECT_NEAR(said["overall"]["metrics"]["r2"]["value"].get<double>(), said["r2"].get<double>(), 1e-9);
  EXPECT_EQ(said["slices"].size(), 2u);
  EXPECT_NE(text_of({model, data, "--all-rows"}, {"--slice", "kind"}).find("gaps by kind"),
            std::string::npos);
}

TEST_F(EvaluateTasks, GatesHoldRegressions) {
  const Words arguments = {"--scores", file(numbers_csv()), "--label", "y", "--score", "p",
                           "--task",   "regression"};
  std::string first;
  const auto check = [&](const std::string& gate) {
    Words words = arguments;
    words.insert(words.end(), {"--gates", file("[[gates]]\n" + gate, "gates.toml")});
    std::string joined;
    for (const std::string& word : words) joined += " " + word;
    const Outcome outcome = call_command("check" + joined);
    first = outcome.output.substr(0, outcome.output.find('\n')) + outcome.error;
    return outcome.code;
  };
  // Errors are 5.2 and 15.7 on average.
  EXPECT_EQ(check("metric = \"mae\"\nmax = 12\ndecide = \"proven-under\""), 0) << first;
  EXPECT_EQ(check("metric = \"mae\"\nmax = 10.5\ndecide = \"proven-under\""), 3) << first;
  EXPECT_EQ(check("metric = \"mae\"\neach = \"g\"\nmax = 12\ndecide = \"proven-over\""), 1) << first;
  EXPECT_TRUE(first.starts_with("Blocked: mae for g=b is 15.")) << first;
  EXPECT_EQ(check("metric = \"mae\"\nbetween = \"g\"\nmax = 2"), 1) << first;
  EXPECT_NE(first.find("gap 10."), std::string::npos) << first;
  EXPECT_EQ(check("metric = \"r2\"\nmin = 0.9"), 0) << first;
  // What the rows do not have never passes.
  EXPECT_EQ(check("metric = \"recall\"\nmin = 0.1"), 3) << first;
  EXPECT_NE(first.find("these rows have no such figure"), std::string::npos) << first;
  const std::string gates = folder + "/first.toml";
  Words init = arguments;
  init.insert(init.end(), {"--init", "--slice", "g", "--out", gates});
  call_verb(add_check, init);
  Words words = arguments;
  words.insert(words.end(), {"--gates", gates, "--csv", folder + "/slices.csv", "--json"});
  Json verdict;
  try {
    call_verb(add_check, words);
    FAIL() << "errors of b are three times those of a";
  } catch (const Exit& exit) {
    EXPECT_EQ(exit.code, 1);
  }
  std::stringstream csv;
  csv << std::ifstream(folder + "/slices.csv").rdbuf();
  EXPECT_NE(csv.str().find("\ng,g=b,200,,,mae,15."), std::string::npos) << csv.str();
}

TEST_F(EvaluateTasks, WhatDoesNotFitIsNamed) {
  const std::string path = file("y,p,g\n1,2,a\n2,3,b\n3,x,a\n");
  const auto message = [&](const char* label, const char* score, const Words& more = {}) -> std::string {
    try {
      text_of({"--scores", path, "--label", label, "--score", score, "--task", "regression"}, more);
    } catch (const Error& error) {
      return cat(error.rule(), ": ", error.message());
    } catch (const CLI::Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message("y", "p"), "scores.score: scores.csv, line 4: a prediction is a number, got \"x\"");
  EXPECT_EQ(message("g", "y"), "scores.label: scores.csv, line 2: a label is a number, got \"a\"");
  const auto with = [&](const Words& more) { return message("y", "y", more); };
  EXPECT_EQ(with({}), "accepted");
  EXPECT_TRUE(with({"--interval", "bootstrap"}).starts_with("evaluate.interval"));
  EXPECT_TRUE(with({"--worst"}).starts_with("evaluate.task: --worst"));
  EXPECT_TRUE(with({"--slice", "g", "--metric", "tpr"}).starts_with("evaluate.metric"));
  EXPECT_NE(with({"--threshold", "0.5"}).find("--threshold"), std::string::npos);
  const auto page = [&] {
    call_verb(add_check,
              {"--scores", path, "--label", "y", "--score", "y", "--task", "regression", "--gates",
               file("[[gates]]\nmetric = \"mae\"\nmax = 1", "gates.toml"), "--html", folder + "/page.html"});
  };
  EXPECT_EQ(rule_of(page), "evaluate.task");
}

}  // namespace
}  // namespace espalier::cli
