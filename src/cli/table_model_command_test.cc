// A model that a program trains is that of the command.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/sha256.h"
#include "cli/verb_test.h"
#include "espalier/table_model.h"

namespace espalier::cli {
namespace {

using TableModelCommand = FolderTest;

std::string people_csv() {
  std::string out = "age,job,sex,income\n";
  for (int i = 0; i < 400; ++i)
    out += cat(20 + i * 7 % 50, i % 3 ? ",clerk" : ",smith", i % 2 ? ",f" : ",m",
               i * 13 % 50 + (i % 2) * 9 > 30 ? ",high\n" : ",low\n");
  return out;
}

TEST_F(TableModelCommand, AProgramTrainsTheBitsThatTheCommandTrains) {
  const std::string data = file("people.csv", people_csv()), command = path("command"),
                    program = path("program");
  const nlohmann::json said =
      nlohmann::json::parse(call_verb(add_train, {"--data", data, "--label", "income", "--model", command,
                                                  "--epochs", "4", "--seed", "5", "--json"}));
  const TableModel model = TableModel::train(data, {.label = "income", .epochs = 4, .seed = 5});
  model.save(program);
  for (const char* name :
       {"weights.safetensors", "columns.json", "decision.json", "held_out.csv", "learned.txt"})
    EXPECT_EQ(sha256_of(posix_env().read_file(cat(program, "/", name))),
              sha256_of(posix_env().read_file(cat(command, "/", name))))
        << name;
  EXPECT_EQ(model.test_figures().at("accuracy"), said["test"]["accuracy"].get<double>());
  EXPECT_EQ(model.test_figures().at("auc"), said["test"]["auc"].get<double>());
}

TEST_F(TableModelCommand, AProgramSaysWhatTheCommandSays) {
  const std::string data = file("people.csv", people_csv()), model = path("model");
  const std::string other = file("others.csv", people_csv() + "90,smith,m,low\n");
  call_verb(add_train,
            {"--data", data, "--label", "income", "--model", model, "--epochs", "4", "--positive", "high"});
  const CsvTable table = read_csv(other);
  const CsvTable said =
      parse_csv(call_verb(add_predict, {model, other, "--all"}), {.header = CsvHeader::kYes});
  const TablePredictions predicted = TableModel::load(model).predict(table);
  ASSERT_EQ(said.rows(), table.rows());
  const std::vector<std::string> classes = TableModel::load(model).classes();
  for (int64_t row = 0; row < said.rows(); ++row) {
    const TablePrediction& one = predicted.rows[static_cast<size_t>(row)];
    EXPECT_EQ(one.said, said.cell(row, said.column("prediction")));
    for (size_t c = 0; c < classes.size(); ++c)
      EXPECT_EQ(one.probabilities[c],
                static_cast<float>(said.number(row, said.column("probability of " + classes[c])).value()))
          << row;
  }
  const nlohmann::json figures = nlohmann::json::parse(
      call_verb(add_evaluate, {model, other, "--slice", "sex", "--all-rows", "--json"}));
  const Evaluation evaluation = TableModel::load(model).evaluate(table, {.slices = {"sex"}});
  EXPECT_EQ(nlohmann::json::parse(evaluation.json())["slices"], figures["slices"]);
}

}  // namespace
}  // namespace espalier::cli
