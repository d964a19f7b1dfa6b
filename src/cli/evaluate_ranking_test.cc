// How well scores order the rows of queries, from the text of a file or by a model.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/evaluate_test.h"
#include "espalier/error.h"
#include "ir/golden_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct EvaluateRanking : EvaluateTest {
  // The rows of tests/golden/ndcg.py.
  Words golden_rows(const Json& rows) const {
    std::string text = "query,gain,score,weight,place\n";
    for (size_t i = 0; i < rows["query"].size(); ++i) {
      text += cat("q", rows["query"][i].dump(), ",", rows["gain"][i].dump(), ",", rows["score"][i].dump(),
                  ",", rows["weight"][i].dump(), ",", rows["place"][i].get<std::string>(), "\n");
    }
    return {"--scores", file(text), "--label", "gain", "--score", "score", "--query", "query"};
  }
};

TEST_F(EvaluateRanking, NdcgOfSlicesIsTensorflowModelAnalysis) {
  const Json golden = read_golden("ndcg.json");
  const Json said = json(golden_rows(golden["rows"]), {"--weight", "weight", "--slice", "place"});
  EXPECT_EQ(said["query"], "query");
  const auto compare = [&](const Json& slice, const Json& figures) {
    for (const auto& [first, value] : figures.items()) {
      const Json& figure = slice["metrics"]["ndcg@" + first];
      EXPECT_NEAR(figure["value"].get<double>(), value.get<double>(), 1e-9) << first << slice["slice"];
      EXPECT_LT(figure["interval"][0].get<double>(), value.get<double>());
      EXPECT_GT(figure["interval"][1].get<double>(), value.get<double>());
    }
  };
  compare(said["overall"], golden["tfma"][""]);
  ASSERT_EQ(said["slices"].size(), 2u);
  for (const Json& slice : said["slices"])
    compare(slice, golden["tfma"][slice["values"][0].get<std::string>()]);
  EXPECT_NEAR(said["gaps"][0]["metrics"]["ndcg@10"]["difference"].get<double>(),
              golden["tfma"]["south"]["10"].get<double>() - golden["tfma"]["north"]["10"].get<double>(),
              1e-9);
}

TEST_F(EvaluateRanking, PeopleSeeHowManyQueriesCount) {
  const Words arguments = golden_rows(read_golden("ndcg.json")["rows"]);
  const std::string all = text_of(arguments);
  EXPECT_TRUE(all.starts_with("371 rows of 60 queries\nall rows")) << all;
  EXPECT_NE(all.find("of queries"), std::string::npos) << all;
  EXPECT_NE(all.find("--query query --slice "), std::string::npos) << all;
  EXPECT_NE(text_of(arguments, {"--slice", "place", "--metric", "ndcg@3"}).find("ndcg@3"), std::string::npos);
}

TEST_F(EvaluateRanking, IntervalsOfQueriesDrawnAgainAreAboutThoseByLinearisation) {
  const Words arguments = golden_rows(read_golden("ndcg.json")["rows"]);
  const auto width = [&](const Words& how) {
    const Json said = json(arguments, how);
    const Json& interval = said["slices"][0]["metrics"]["ndcg@3"]["interval"];
    return interval[1].get<double>() - interval[0].get<double>();
  };
  const double formula = width({"--slice", "place"});
  for (const char* method : {"bootstrap", "jackknife"})
    EXPECT_NEAR(width({"--slice", "place", "--interval", method, "--seed", "2"}) / formula, 1, 0.4) << method;
  EXPECT_NE(
      text_of(arguments, {"--interval", "jackknife"}).find("intervals: jackknife, 20 buckets, seed 0\n"),
      std::string::npos);
}

TEST_F(EvaluateRanking, GatesNameTheMetric) {
  const Words arguments = golden_rows(read_golden("ndcg.json")["rows"]);
  const auto check = [&](const std::string& gate, const std::string& first) {
    Words words = arguments;
    words.insert(words.end(), {"--gates", file("[[gates]]\n" + gate, "gates.toml")});
    std::string line = "check";
    for (const std::string& word : words) line += " " + word;
    const Outcome outcome = call_command(line);
    EXPECT_TRUE(outcome.output.starts_with(first)) << outcome.output << outcome.error;
    return outcome.code;
  };
  EXPECT_EQ(check("metric = \"ndcg@10\"\nmin = 0.99\n", "Blocked: ndcg@10 is 0.90 (95 % interval 0."), 1);
  EXPECT_EQ(check("metric = \"ndcg@10\"\nmin = 0.5\ndecide = \"proven-over\"\n", "Pass"), 0);
  EXPECT_EQ(check("metric = \"ndcg\"\neach = \"place\"\nmin = 0.5\nleast_rows = 25\n",
                  "Undecided: ndcg for place=south cannot be judged: it counts 22 queries, fewer than 25"),
            3);
  EXPECT_EQ(check("metric = \"ndcg@7\"\nmin = 0.5\n", ""), 2);
  Words init = arguments;
  init.insert(init.begin(), "check");
  init.insert(init.end(), {"--init", "--slice", "place", "--out", folder + "/first.toml"});
  std::string line;
  for (const std::string& word : init) line += word + " ";
  EXPECT_EQ(call_command(line).code, 0);
  EXPECT_NE(posix_env().read_file(folder + "/first.toml").find("metric = \"ndcg\"\nbetween = \"place\""),
            std::string::npos);
}

// The best order of numbers is that of a model which has learned them.
TEST_F(EvaluateRanking, AModelOrdersTheRowsOfQueries) {
  std::string table = "size,kind,price\n";
  for (int i = 0; i < 200; ++i) table += cat(i, ",", i % 2 ? "new" : "old", ",", 3 * i + i % 7, "\n");
  const std::string data = file(table, "table.csv"), model = folder + "/model";
  call_verb(add_train, {"--data", data, "--label", "price", "--model", model, "--epochs", "20"});
  const Json said = json({model, data, "--all-rows"}, {"--query", "kind"});
  EXPECT_EQ(said["overall"]["metrics"]["ndcg"]["rows"], 2);
  EXPECT_GT(said["overall"]["metrics"]["ndcg"]["value"].get<double>(), 0.99);
  EXPECT_TRUE(said.contains("mae"));
}

TEST_F(EvaluateRanking, RowsOfNoUseAreNamedWithTheirLine) {
  const auto refused = [&](const std::string& text, const Words& more) -> std::string {
    Words arguments = {"--scores", file(text), "--label", "y", "--score", "p"};
    try {
      return text_of(arguments, more);
    } catch (const Error& error) {
      return cat(error.rule(), ": ", error.message());
    }
  };
  const Words query = {"--query", "q"};
  EXPECT_EQ(refused("y,p,q\n1,2,a\n-1,2,a\n", query),
            "scores.label: scores.csv, line 3: a row is worth a number from 0 on to its query, got -1");
  EXPECT_EQ(refused("y,p,q\n1,2,a\n1,2,\n", query),
            "scores.query: scores.csv, line 3: column \"q\" names no query");
  EXPECT_EQ(refused("y,p,q\n1,x,a\n", query),
            "scores.score: scores.csv, line 2: a prediction is a number, got \"x\"");
  EXPECT_TRUE(refused("y,p,q\n1,2,a\n", {"--query", "r"}).starts_with("csv.column: "));
  EXPECT_TRUE(refused("y,p,q\n1,2,a\n", {"--query", "q", "--worst"}).starts_with("evaluate.task: "));
  EXPECT_EQ(refused("y,p,q\n1,2,a\n", {"--query", "q", "--baseline", folder + "/scores.csv"}),
            "evaluate.task: --baseline is for decisions and numbers, not for orders of queries");
}

}  // namespace
}  // namespace espalier::cli
