// Slices of what is no decision between two classes, from a file of scores or by a model.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "base/shortest.h"
#include "cli/evaluate_test.h"
#include "espalier/error.h"
#include "ir/golden_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct EvaluateTasks : EvaluateTest {};

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
  const std::string worst = text_of(arguments, {"--worst"});
  EXPECT_TRUE(worst.find("\nworst slices  rows  ") != worst.npos ||
              worst.find("no slice is worse") != worst.npos)
      << worst;
  EXPECT_EQ(worst.find("Fisher"), std::string::npos) << worst;
  EXPECT_NE(text_of(arguments, {"--slice", "g", "--metric", "bias"}).find("  bias  "), std::string::npos);
  EXPECT_NE(text_of(arguments, {"--slice", "g", "--reference-group", "g=b"}).find("higher"),
            std::string::npos);
}

TEST_F(EvaluateTasks, AModelOfNumbersIsEvaluatedBySlice) {
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

// The rows of tests/golden/classes.json: columns y, said, p_ant, ..., weight, group.
std::string classes_csv(const Json& golden) {
  const Json &rows = golden["rows"], &classes = golden["classes"];
  std::string out = "y,said,p_ant,p_bee,p_cow,p_dog,weight,group\n";
  for (size_t i = 0; i < rows["label"].size(); ++i) {
    out += cat(classes[rows["label"][i].get<size_t>()].get<std::string>(), ",",
               classes[rows["said"][i].get<size_t>()].get<std::string>());
    for (size_t c = 0; c < 4; ++c) out += cat(",", shortest(rows["probabilities"][4 * i + c].get<double>()));
    out += cat(",", shortest(rows["weight"][i].get<double>()), ",",
               golden["groups"][rows["group"][i].get<size_t>()].get<std::string>(), "\n");
  }
  return out;
}

// From the text of a file to scikit-learn's own figures of the same rows.
TEST_F(EvaluateTasks, SeveralClassesOfGroupsAreScikitLearns) {
  const Json golden = read_golden("classes.json");
  const std::string path = file(classes_csv(golden));
  for (const char* score : {"ant=p_ant,bee=p_bee,cow=p_cow,dog=p_dog", "said"}) {
    const Json said = json({"--scores", path, "--label", "y", "--score", score, "--task", "classes"},
                           {"--slice", "group", "--weight", "weight"});
    EXPECT_EQ(said["classes"], golden["classes"]);
    const auto compare = [&](const Json& slice, const Json& expected) {
      for (const auto& [name, value] : expected["metrics"].items()) {
        if (name.starts_with("micro_") || (name == "log_loss" && score == std::string("said"))) continue;
        const Json& got = slice["metrics"][name]["value"];
        ASSERT_EQ(got.is_null(), value.is_null()) << name << " of " << slice["slice"];
        if (!value.is_null()) {
          EXPECT_NEAR(got.get<double>(), value.get<double>(), 1e-9) << name << " of " << slice["slice"];
        }
      }
      std::vector<int64_t> matrix;
      for (const Json& row : slice["confusion"]) {
        for (const Json& count : row) matrix.push_back(count);
      }
      EXPECT_EQ(Json(matrix), expected["matrix"]);
    };
    const Json& expected = golden["figures"]["weighted"];
    compare(said["overall"], expected[0]);
    for (const Json& slice : said["slices"]) {
      const auto place = std::ranges::find(golden["groups"], slice["values"][0]) - golden["groups"].begin();
      compare(slice, expected[static_cast<size_t>(place) + 1]);
    }
    EXPECT_EQ(said["overall"]["metrics"].contains("log_loss"), score != std::string("said"));
  }
  const std::string text = text_of({"--scores", path, "--label", "y", "--score", "said", "--task", "classes"},
                                   {"--slice", "group", "--metric", "micro_f1,recall[cow]"});
  for (const char* part : {"precision  66.7 %  66.7 %", "\naccuracy ", "recall[cow]"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST_F(EvaluateTasks, AModelOfSeveralClassesIsEvaluatedBySlice) {
  std::string table = "size,kind,color\n";
  for (int i = 0; i < 240; ++i)
    table += cat(i % 60, ",", i % 2 ? "new" : "old", ",",
                 i % 60 < 20   ? "red"
                 : i % 60 < 40 ? "green"
                               : "blue",
                 "\n");
  const std::string data = file(table, "table.csv"), model = folder + "/model";
  call_verb(add_train, {"--data", data, "--label", "color", "--model", model, "--epochs", "3"});
  const Json said = json({model, data, "--all-rows"}, {"--slice", "kind"});
  const Json& overall = said["overall"];
  EXPECT_NEAR(overall["metrics"]["accuracy"]["value"].get<double>(), said["accuracy"].get<double>(), 1e-12);
  EXPECT_NEAR(overall["metrics"]["log_loss"]["value"].get<double>(), said["log_loss"].get<double>(), 1e-5);
  EXPECT_EQ(overall["confusion"], said["confusion"]);
  EXPECT_EQ(said["slices"].size(), 2u);
}

TEST_F(EvaluateTasks, GatesHoldSeveralClasses) {
  const std::string path = file(classes_csv(read_golden("classes.json")));
  const auto check = [&](const std::string& gate, const std::string& first) {
    const std::string gates = file("[[gates]]\n" + gate, "gates.toml");
    const Outcome outcome =
        call_command(cat("check --scores ", path, " --label y --score said --task classes --gates ", gates));
    EXPECT_TRUE(outcome.output.starts_with(first)) << outcome.output << outcome.error;
    return outcome.code;
  };
  EXPECT_EQ(check("metric = \"accuracy\"\nmin = 0.6\ndecide = \"proven-over\"", "Pass"), 0);
  EXPECT_EQ(check("metric = \"recall[bee]\"\nmin = 0.7\ndecide = \"proven-over\"",
                  "Undecided: recall[bee] is 0.67"),
            3);
  EXPECT_EQ(
      check("metric = \"macro_f1\"\nbetween = \"group\"\nmax = 0.05", "Blocked: macro f1 for group=large"),
      1);
  EXPECT_EQ(check("metric = \"recall[cat]\"\nmin = 0.1",
                  "Undecided: recall[cat] cannot be judged: these rows have no such figure, but recall[ant]"),
            3);
}

TEST_F(EvaluateTasks, ColumnsOfClassesAreNamedOrRefused) {
  const auto said = [&](const std::string& text, const std::string& score) -> std::string {
    try {
      return json({"--scores", file(text), "--label", "y", "--score", score, "--task", "classes"})["classes"]
          .dump();
    } catch (const Error& error) {
      return cat(error.rule(), ": ", error.message());
    }
  };
  const std::string fine = "y,a,probability of b,q\na,0.5,0.2,0.3\nb,0.1,0.9,0\n";
  EXPECT_EQ(said(fine, "a,probability of b,c=q"), "[\"a\",\"b\",\"c\"]");
  EXPECT_EQ(said(fine, "a,a=q"), "scores.classes: --score has two columns of the class \"a\"");
  EXPECT_EQ(said(fine, "a,b=r"),
            "csv.column: unknown column of scores.csv \"r\": known are y, a, probability of b, q");
  EXPECT_EQ(said(fine, "a,c=q"),
            "scores.label: scores.csv, line 3: --score has no column of the class \"b\"");
  EXPECT_EQ(
      said(fine, "a,b=q"),
      "scores.score: scores.csv, line 2: the probabilities of all classes add up to 1, and these to 0.8");
  EXPECT_EQ(said("y,a,b\na,0.5,1.5\n", "a,b"),
            "scores.score: scores.csv, line 2: a score is a probability from 0 to 1, got \"1.5\"");
  EXPECT_EQ(said("y,s\na,b\nb,\n", "s"), "scores.score: scores.csv, line 3: no class is said");
  std::string many = "y,s\n";
  for (int i = 0; i < 300; ++i) many += cat(i, ",", i, "\n");
  EXPECT_TRUE(
      said(many, "s").starts_with("scores.label: scores.csv: at most 200 classes, and column \"y\" has 300"));
}

// Of 400 rows half are of group b, where every tenth that was right is wrong now.
TEST_F(EvaluateTasks, WhatIsDecidedOtherwiseThanBeforeIsCountedAndTheSliceThatLostIsNamed) {
  std::string before = "k,y,p,g\n", now = before, turned;
  for (int i = 0; i < 400; ++i) {
    const int label = i / 2 % 2;
    const bool lost = i % 20 == 1;
    const auto line = [&](bool right) {
      return cat(i, ",", label, ",", right == (label == 1) ? 0.8 : 0.2, ",", i % 2 ? "b" : "a", "\n");
    };
    before += line(true);
    now += line(!lost);
    turned = line(!lost) + turned;
  }
  const std::string old = file(before, "before.csv");
  const Words words = {"--label", "y", "--score", "p", "--slice", "g", "--baseline", old};
  const auto with = [&](const std::string& text, const Words& more) {
    Words out = {"--scores", file(text)};
    out.insert(out.end(), words.begin(), words.end());
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  const Json all = json(with(now, {}))["baseline"];
  // In any order, but for the rounding of sums.
  const Json other = json(with("k,y,p,g\n" + turned, {"--id", "k"}))["baseline"];
  for (size_t i = 0; i < 3; ++i) {
    for (const char* key : {"slice", "changed", "accuracy", "better", "worse", "adjusted_p"})
      EXPECT_EQ(all[i][key], other[i][key]) << key;
  }
  ASSERT_EQ(all.size(), 3u);
  EXPECT_DOUBLE_EQ(all[0]["changed"]["value"].get<double>(), 0.05);
  EXPECT_DOUBLE_EQ(all[2]["change"]["value"].get<double>(), -0.1);
  EXPECT_EQ(all[2]["worse"], 20);
  EXPECT_EQ(all[2]["lost"], true);
  EXPECT_EQ(all[1]["lost"], false);
  EXPECT_EQ(all[1]["changed"]["value"], 0);
  const std::string text = text_of(with(now, {}));
  EXPECT_NE(
      text.find(
          "0.0500 of the decisions changed against the baseline; lost: overall (accuracy 0.9500 now and "
          "1.0000"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("; g=b (accuracy 0.9000 now and 1.0000 before, change -0.14"), std::string::npos)
      << text;
  // Everything moves where the threshold does.
  EXPECT_EQ(json(with(now, {"--threshold", "0.1"}))["baseline"][0]["changed"]["value"], 0);
  const auto rule = [&](const std::string& text, const Words& more) {
    return rule_of([&] { text_of(with(text, more)); });
  };
  EXPECT_EQ(rule("k,y,p,g\n" + turned, {}), "baseline.rows") << "labels differ";
  EXPECT_EQ(rule("k,y,p,g\n1,0,0.2,a\n2,1,0.2,a\n", {}), "baseline.rows") << "fewer rows";
  EXPECT_EQ(rule("k,y,p,g\n1,0,0.2,a\n1000,1,0.2,a\n", {"--id", "k"}), "baseline.rows") << "an unknown id";
  EXPECT_EQ(rule(now, {"--id", "y"}), "baseline.rows") << "no id at all";
  EXPECT_EQ(rule(now, {"--moved-by", "1"}), "baseline.moved");
}

// Of 400 rows half are of group b, whose predictions are 3 further off; two of a moved by 0.5.
TEST_F(EvaluateTasks, NumbersThatMovedSinceBeforeAreMeasured) {
  std::string before = "k,y,p,g\n", now = before, turned;
  for (int i = 0; i < 400; ++i) {
    const double error = i % 3 + 1 + 0.125 * (i % 5);
    const auto line = [&](double off) {
      return cat(i, ",", 100 + i, ",", 100 + i + error + off, ",", i % 2 ? "b" : "a", "\n");
    };
    const double off = i % 2 ? 3 + 0.25 * (i % 7) : i < 4 ? 0.5 : 0;
    before += line(0);
    now += line(off);
    turned = line(off) + turned;
  }
  const std::string old = file(before, "before.csv");
  const auto with = [&](const std::string& text, const Words& more) {
    Words out = {"--scores", file(text),   "--label", "y", "--score",    "p",
                 "--task",   "regression", "--slice", "g", "--baseline", old};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  const Json all = json(with(now, {}))["baseline"];
  ASSERT_EQ(all.size(), 3u);
  EXPECT_DOUBLE_EQ(all[0]["moved"]["value"].get<double>(), 202.0 / 400);
  EXPECT_DOUBLE_EQ(all[1]["mean_move"]["value"].get<double>(), 2 * 0.5 / 200);
  EXPECT_EQ(all[1]["lost"], false);
  EXPECT_EQ(all[2]["lost"], true);
  EXPECT_NEAR(all[2]["mae_change"]["value"].get<double>(),
              all[2]["mae"]["value"].get<double>() - all[2]["mae_before"]["value"].get<double>(), 1e-12);
  EXPECT_NEAR(all[2]["mae_change"]["value"].get<double>(), all[2]["mean_move_size"]["value"].get<double>(),
              1e-12);
  EXPECT_GT(all[2]["mae_change"]["interval"][0], 3);
  EXPECT_GT(all[2]["rmse_change"]["interval"][0], 2);
  EXPECT_DOUBLE_EQ(json(with(now, {"--moved-by", "0.5"}))["baseline"][0]["moved"]["value"].get<double>(),
                   0.5);
  const Json other = json(with("k,y,p,g\n" + turned, {"--id", "k"}))["baseline"];
  for (size_t i = 0; i < 3; ++i) {
    for (const char* key : {"moved", "mae_before"})
      EXPECT_NEAR(all[i][key]["value"].get<double>(), other[i][key]["value"].get<double>(), 1e-9) << key;
  }
  const std::string text = text_of(with(now, {}));
  EXPECT_NE(text.find("0.5050 of the predictions moved against the baseline, by "), std::string::npos)
      << text;
  EXPECT_NE(text.find("; g=b (mae "), std::string::npos) << text;
  EXPECT_EQ(rule_of([&] { text_of(with("k,y,p,g\n" + turned, {})); }), "baseline.rows") << "labels differ";
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
  EXPECT_EQ(with({"--interval", "bootstrap"}), "accepted");
  EXPECT_TRUE(with({"--slice", "g", "--metric", "tpr"}).starts_with("evaluate.metric"));
  EXPECT_NE(with({"--threshold", "0.5"}).find("--threshold"), std::string::npos);
}

// The page is written, says what its rows give, and the command that it names next runs.
TEST_F(EvaluateTasks, RegressionsAndClassesHavePages) {
  std::string classes = "y,p,g\n";
  for (int i = 0; i < 300; ++i)
    classes += cat("abc"[i % 3], ",", "abc"[(i + (i % 5 == 0)) % 3], ",", i % 2 ? "u" : "v", "\n");
  for (const auto& [task, rows, metric, part] :
       {std::tuple("regression", numbers_csv(), "mae", "Predicted against true"),
        std::tuple("classes", classes, "accuracy", "Confusion matrix")}) {
    const std::string page = cat(folder, "/", task, ".html");
    const std::string of_rows =
        cat("check --scores ", file(rows), " --label y --score p --task ", task, " --gates ",
            file(cat("[[gates]]\nmetric = \"", metric, "\"\neach = \"g\"\nmin = 0\n"), "gates.toml"));
    const Outcome written = call_command(cat(of_rows, " --html ", page));
    EXPECT_EQ(written.code, 0) << written.output << written.error;
    const std::string html = posix_env().read_file(page);
    EXPECT_NE(html.find(part), html.npos);
    EXPECT_EQ(call_command(cat(of_rows, " --verify ", page)).code, 0);
    const size_t next = html.find("<code>espalier evaluate ");
    ASSERT_NE(next, html.npos);
    const size_t begin = next + std::string("<code>espalier ").size();
    const Outcome closer = call_command(html.substr(begin, html.find("</code>", begin) - begin));
    EXPECT_EQ(closer.code, 0) << closer.error;
    EXPECT_NE(closer.output.find("gaps by g"), std::string::npos) << closer.output;
  }
}

}  // namespace
}  // namespace espalier::cli
