// What predict, info and graph do with the folder of a trained model.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "espalier/error.h"
#include "train/unsealed_test.h"

namespace espalier::cli {
namespace {

struct ModelVerbs : FolderTest {
  std::string model = folder + "/model";

  std::string table() const {
    std::string text = "key;size;kind\n";
    for (int i = 0; i < 60; ++i)
      text += cat("k-", i, ";", i * 7 % 60, ";", i * 7 % 60 < 30 ? "small" : "big", "\n");
    return write_file(folder + "/table.csv", text);
  }
  std::string train(const std::string& label, const std::string& epochs = "2",
                    const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"--data",  table(), "--label",  label,
                                      "--model", model,   "--epochs", epochs};
    words.insert(words.end(), more.begin(), more.end());
    return call_verb(add_train, words);
  }
};

TEST_F(ModelVerbs, PredictionsHaveTheirKeysAndTheDelimiterOfTheirRows) {
  train("kind");
  const std::string rows = "key;size\n\"a;b\";7\nc,d;50\n";
  const auto first_cells = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {model, "-"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    std::istringstream lines(call_verb(add_predict, arguments, rows));
    std::string out;
    for (std::string line; std::getline(lines, line);) out += line.substr(0, line.rfind(';')) + "\n";
    return out;
  };
  const std::string kept = first_cells({"--keep"}), keyed = first_cells({"--id", "key"});
  EXPECT_TRUE(kept.starts_with("key;size;prediction\n\"a;b\";7;")) << kept;
  EXPECT_NE(kept.find("\nc,d;50;"), std::string::npos) << kept;
  EXPECT_TRUE(keyed.starts_with("key;prediction\n\"a;b\";")) << keyed;
  EXPECT_NE(keyed.find("\nc,d;"), std::string::npos) << keyed;
  EXPECT_TRUE(first_cells({"--id", "size,key"}).starts_with("size;key;prediction\n7;\"a;b\";"));
  EXPECT_EQ(rule_of([&] { first_cells({"--id", "kye"}); }), "csv.column");
  EXPECT_THROW(first_cells({"--id", "key", "--keep"}), CLI::ParseError);
  EXPECT_THROW(first_cells({"--id", "key", "--json"}), CLI::ParseError);
}

TEST_F(ModelVerbs, PredictionsHaveTheDecimalCommasOfTheirRowsAndReadBack) {
  std::string rows = "size;price;kind\n";
  for (int i = 0; i < 60; ++i)
    rows += cat(i, ",5;", i * 7 % 60, ",", 25 + i % 50, ";", i % 60 < 30 ? "no" : "yes", "\n");
  const std::string file = write_file(folder + "/comma.csv", rows);
  call_verb(add_train, {"--data", file, "--label", "kind", "--model", model, "--epochs", "2"});
  const std::string said = call_verb(add_predict, {model, file, "--all", "--keep"});
  EXPECT_EQ(said.find('.'), said.npos) << said;
  const std::string scores = write_file(folder + "/scores.csv", said);
  const auto read = nlohmann::json::parse(
      call_verb(add_evaluate, {"--scores", scores, "--label", "kind", "--score", "probability of yes",
                               "--where", "size >= 10.5 and price < 40", "--json"}));
  const auto told = nlohmann::json::parse(call_verb(
      add_evaluate, {model, file, "--all-rows", "--where", "size >= 10.5 and price < 40", "--json"}));
  EXPECT_LT(told["where"]["kept"], 50);
  EXPECT_EQ(read["where"]["kept"], told["where"]["kept"]);
  EXPECT_NEAR(read["overall"]["metrics"]["log_loss"]["value"].get<double>(), told["log_loss"].get<double>(),
              1e-6);

  call_verb(add_train, {"--data", file, "--label", "price", "--model", model + "p", "--epochs", "2"});
  const std::string prices = call_verb(add_predict, {model + "p", "-", "--keep"}, "size,kind\n\"3,5\",no\n");
  EXPECT_TRUE(prices.starts_with("size,kind,prediction\n\"3,5\",no,\"")) << prices;
  EXPECT_TRUE(parse_csv(prices).number(0, 2)) << prices;
  const std::string points = call_verb(add_predict, {model, "-"}, "size;price\n3;4\n");
  EXPECT_NE(points.find('.'), points.npos) << "no number of these rows has a comma";
}

TEST_F(ModelVerbs, RowsOutsideOfTrainingAreMarked) {
  train("kind");
  EXPECT_EQ(
      call_verb(add_predict, {model, "-", "--id", "key", "--mark"}, "key;size\na;7\nb;900\n").substr(0, 37),
      "key;prediction;probability;outside\na;");
  const auto outside = [&](const std::string& rows) {
    return nlohmann::json::parse(call_verb(add_predict, {model, "-", "--mark", "--json"}, rows))["outside"];
  };
  const std::string rows = "key;size\na;7\nb;900\nc;\nd;-1\n";
  const CsvTable marked = parse_csv(call_verb(add_predict, {model, "-", "--mark"}, rows));
  EXPECT_EQ(marked.names().back(), "outside");
  for (int64_t row = 0; row < 4; ++row)
    EXPECT_EQ(marked.cell(row, marked.column("outside")), row % 2 ? "size" : "") << row;
  EXPECT_EQ(outside(rows), nlohmann::json::parse(R"([[], ["size"], [], ["size"]])"));
  EXPECT_FALSE(
      nlohmann::json::parse(call_verb(add_predict, {model, "-", "--json"}, rows)).contains("outside"));
}

TEST_F(ModelVerbs, AModelOfAnotherLabelIsReplacedByForceAlone) {
  train("kind");
  const std::string before = posix_env().read_file(model + "/model.json");
  EXPECT_NE(train("kind").find("replaced "), std::string::npos);
  try {
    train("size");
    ADD_FAILURE() << "it was replaced";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "train.model");
    EXPECT_EQ(error.fix(), "name another folder with --model, or replace that one with --force");
  }
  EXPECT_EQ(posix_env().read_file(model + "/model.json"), before);
  EXPECT_NE(train("size", "2", {"--force"}).find("replaced "), std::string::npos);
  EXPECT_NE(posix_env().read_file(model + "/columns.json").find("\"size\""), std::string::npos);
}

TEST_F(ModelVerbs, AModelIsNotReplacedByOneThatLearnedNothing) {
  train("kind", "0");
  const std::string untrained = posix_env().read_file(model + "/model.json");
  train("kind");
  const std::string before = posix_env().read_file(model + "/model.json");
  EXPECT_NE(before, untrained);
  EXPECT_EQ(rule_of([&] { train("kind", "0"); }), "train.model");
  EXPECT_EQ(posix_env().read_file(model + "/model.json"), before);
}

TEST_F(ModelVerbs, InfoSaysWhatAModelIs) {
  train("kind");
  const std::string text = call_verb(add_info, {model});
  for (const char* part :
       {"kind as a class", "43 rows of ", "2 epochs", "accuracy ", "size: numeric", "f32[1,128]"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("/random/"), std::string::npos) << "what dropout draws from was not learned: " << text;
  const auto json = nlohmann::json::parse(call_verb(add_info, {model, "--json"}));
  EXPECT_EQ(json["inputs"], nlohmann::json({"f32[1]"}));
  EXPECT_EQ(json["columns"]["classes"], nlohmann::json({"big", "small"}));
  EXPECT_EQ(json["training"]["epochs"], 2);
  int64_t elements = 0;
  for (const auto& variable : json["variables"]) {
    if (variable["trainable"]) elements += variable["elements"].get<int64_t>();
  }
  EXPECT_EQ(json["parameters"], elements);
  EXPECT_EQ(elements, 1 * 128 + 128 + 128 * 64 + 64 + 64 * 2 + 2);
  // A damaged note is named.
  drop_checksums(model);
  write_file(model + "/training.json", "{");
  EXPECT_EQ(rule_of([&] { call_verb(add_info, {model}); }), "json.syntax");
}

TEST_F(ModelVerbs, ProgramsOfAModelAreTemplates) {
  train("kind");
  for (const AddVerb add : {add_graph, add_run}) {
    try {
      call_verb(add, {model + "/inference.mlir"});
      FAIL() << "a template is no program";
    } catch (const FormatError& error) {
      EXPECT_NE(error.message().find("templates"), std::string::npos) << error.message();
      EXPECT_NE(error.fix().find("export"), std::string::npos) << error.fix();
    }
  }
}

TEST_F(ModelVerbs, ScoresOfEachClassFollowFromTheTableOfMistakes) {
  train("kind");
  const auto json = nlohmann::json::parse(call_verb(add_evaluate, {model, folder + "/table.csv", "--json"}));
  const auto& counts = json["confusion"];
  const auto at = [&](int truth, int said) { return counts[truth][said].get<double>(); };
  for (int c = 0; c < 2; ++c) {
    const auto& one = json["per_class"][c];
    EXPECT_EQ(one["class"], json["classes"][c]);
    EXPECT_EQ(one["rows"], at(c, 0) + at(c, 1));
    const double precision = at(c, c) / (at(0, c) + at(1, c)), recall = at(c, c) / (at(c, 0) + at(c, 1));
    EXPECT_NEAR(one["precision"].get<double>(), precision, 1e-12);
    EXPECT_NEAR(one["recall"].get<double>(), recall, 1e-12);
    EXPECT_NEAR(one["f1"].get<double>(), 2 / (1 / precision + 1 / recall), 1e-12);
  }
}

}  // namespace
}  // namespace espalier::cli
