// Consistency and entropies of a model of tables, from flags to figures.
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/philox.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct IndividualFlagsTest : testing::Test {
  const std::string folder = fresh_folder(testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string data = folder + "/kinds.csv", model = folder + "/model";

  // Eight kinds of rows, of which a model knows the likelier class.
  void train(const Words& more = {}) const {
    Philox random(7);
    std::string text = "size,colour,kind\n";
    for (int i = 0; i < 800; ++i) {
      const auto size = random.below(4);
      const bool red = random.below(2);
      text +=
          cat(size, ",", red ? "red" : "blue", ",", random.below(10) < (red ? 2 : 7) ? "big" : "small", "\n");
    }
    write_file(data, text);
    Words all = {"--data", data, "--label", "kind", "--model", model, "--epochs", "10", "--positive", "big"};
    all.insert(all.end(), more.begin(), more.end());
    call_verb(add_train, all);
  }
  Json evaluated(Words more = {}) const {
    more.insert(more.begin(), {model, data, "--individual", "--json"});
    return Json::parse(call_verb(add_evaluate, more));
  }
};

TEST_F(IndividualFlagsTest, EqualRowsAreDecidedAlikeAndEntropiesAreOfTheConfusion) {
  train();
  const Json said = evaluated({"--slice", "colour"});
  const Json& individual = said["individual"];
  // A row's nearest are rows of its own kind, and a model says one thing of equal rows.
  EXPECT_EQ(individual["consistency"]["value"], 1);
  EXPECT_EQ(individual["consistency"]["neighbours"], 5);
  EXPECT_EQ(individual["consistency"]["rows"], said["overall"]["rows"]);
  // Theil's index of benefits 2, 1 and 0, of which the last add nothing.
  const auto theil = [](double fp, double fn, double right) {
    const double rows = fp + fn + right, mean = (2 * fp + right) / rows;
    return (fp * 2 / mean * std::log(2 / mean) + right / mean * std::log(1 / mean)) / rows;
  };
  struct Counts {
    double fp, fn, right;
  };
  std::vector<Counts> groups;
  Counts all{};
  for (const Json& slice : said["slices"]) {
    const Json& confusion = slice["at"][0]["confusion"];
    const auto rows = [&](const char* what) { return confusion[what]["rows"].get<double>(); };
    const Counts& own = groups.emplace_back(Counts{rows("false_positives"), rows("false_negatives"),
                                                   rows("true_positives") + rows("true_negatives")});
    all = {all.fp + own.fp, all.fn + own.fn, all.right + own.right};
  }
  const double rows = all.fp + all.fn + all.right, mean = (2 * all.fp + all.right) / rows;
  double between = 0;
  for (const Counts& own : groups) {
    const double benefits = 2 * own.fp + own.right, own_mean = benefits / (own.fp + own.fn + own.right);
    between += benefits / mean * std::log(own_mean / mean) / rows;
  }
  EXPECT_NEAR(individual["theil_index"].get<double>(), theil(all.fp, all.fn, all.right), 1e-12);
  EXPECT_NEAR(individual["theil_between"]["colour"].get<double>(), between, 1e-12);
  EXPECT_GT(between, 0);
  EXPECT_GT(individual["generalised_entropy"], 0);
}

// Of a file of scores the other columns say which rows are alike.
TEST_F(IndividualFlagsTest, OfScoresItIsThatOfTheirModel) {
  train();
  const Json of_model = evaluated({"--all-rows", "--slice", "colour"});
  const Json said = Json::parse(call_verb(add_predict, {model, data, "--all", "--json"}));
  const std::string positive = of_model["positive"];
  const size_t place = said["classes"][1] == positive ? 1 : 0;
  const CsvTable table = read_csv(data);
  std::string scores = "size,colour,kind,probability of it,outside\n";
  for (int64_t row = 0; row < table.rows(); ++row) {
    const Json& all = said["predictions"][static_cast<size_t>(row)]["probabilities"];
    scores += cat(table.cell(row, 0), ",", table.cell(row, 1), ",", table.cell(row, 2), ",",
                  all[place].dump(), ",", row, "\n");
  }
  const std::string path = write_file(folder + "/scores.csv", scores);
  const auto of_scores = [&](Words more) {
    const Words words = {"--scores",   path,     "--label",      "kind",    "--score", "probability of it",
                         "--positive", positive, "--individual", "--slice", "colour"};
    more.insert(more.begin(), words.begin(), words.end());
    return call_verb(add_evaluate, more);
  };
  EXPECT_EQ(Json::parse(of_scores({"--json"}))["individual"], of_model["individual"]);
  // Entropies are metrics too, of slices and for gates.
  const Json by = Json::parse(of_scores({"--metric", "theil_index", "--json"}));
  EXPECT_EQ(by["overall"]["at"][0]["rates"]["theil_index"]["value"], of_model["individual"]["theil_index"]);
  const std::string shown = of_scores({"--neighbours", "3"});
  EXPECT_NE(shown.find("1 where each row is decided as its 3 nearest are"), std::string::npos) << shown;
  EXPECT_NE(shown.find(" --individual --neighbours 3"), std::string::npos) << shown;
}

TEST_F(IndividualFlagsTest, ItIsShownAndRefusedWithReasons) {
  train();
  const std::string shown = call_verb(add_evaluate, {model, data, "--individual", "--neighbours", "3"});
  EXPECT_NE(shown.find("1 where each row is decided as its 3 nearest are"), std::string::npos) << shown;
  EXPECT_NE(shown.find("Theil index"), std::string::npos) << shown;
  EXPECT_THROW(call_verb(add_evaluate, {model, data, "--neighbours", "3"}), CLI::RequiresError);
  EXPECT_EQ(rule_of([&] { evaluated({"--neighbours", "900"}); }), "consistency.rows");
  write_file(data, "x,y\n1,2\n2,3\n3,5\n4,6\n5,8\n6,9\n7,11\n8,12\n9,14\n10,15\n11,17\n12,18\n");
  const std::string number = folder + "/number";
  call_verb(add_train, {"--data", data, "--label", "y", "--model", number, "--epochs", "1"});
  EXPECT_EQ(rule_of([&] { call_verb(add_evaluate, {number, data, "--individual"}); }), "evaluate.individual");
}

}  // namespace
}  // namespace espalier::cli
