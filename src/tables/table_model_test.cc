#include "espalier/table_model.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "espalier/saved_model.h"

namespace espalier {
namespace {

// Apples weigh more than plums.
std::vector<std::vector<std::string>> fruit_rows(int count) {
  std::vector<std::vector<std::string>> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(i % 2 ? std::vector<std::string>{cat(120 + i % 40), i % 3 ? "green" : "red", "apple"}
                        : std::vector<std::string>{cat(40 + i % 30), i % 3 ? "blue" : "red", "plum"});
  }
  return out;
}
const std::vector<std::string> kFruitNames = {"weight", "colour", "fruit"};

const TableModel& fruit_model() {
  static const TableModel out =
      TableModel::train(make_table(kFruitNames, fruit_rows(200)), {.label = "fruit", .epochs = 8, .seed = 3});
  return out;
}

TEST(TableModel, LearnsFromRowsInMemoryAndSaysAClassWithItsProbabilities) {
  const TableModel& model = fruit_model();
  EXPECT_EQ(model.classes(), (std::vector<std::string>{"apple", "plum"}));
  EXPECT_EQ(model.kind(), "network");
  EXPECT_EQ(model.test_figures().at("accuracy"), 1);
  EXPECT_EQ(model.columns().label(), "fruit");
  const TablePredictions said =
      model.predict(make_table({"colour", "weight"}, {{"green", "150"}, {"blue", "45"}}));
  ASSERT_EQ(said.rows.size(), 2u);
  EXPECT_EQ(said.rows[0].said, "apple");
  EXPECT_EQ(said.rows[1].said, "plum");
  for (const TablePrediction& row : said.rows) {
    ASSERT_EQ(row.probabilities.size(), 2u);
    EXPECT_FLOAT_EQ(row.probabilities[0] + row.probabilities[1], 1);
    EXPECT_EQ(row.probability, static_cast<double>(row.probabilities[row.said == "plum"]));
    EXPECT_FALSE(row.outside);
  }
  EXPECT_TRUE(said.warnings.empty());
}

TEST(TableModel, SaysWhichCellsAreUnlikeThoseOfTraining) {
  const TablePredictions said = fruit_model().predict(
      make_table({"weight", "colour"}, {{"heavy", "red"}, {"1000", "pink"}, {"50", "blue"}}));
  EXPECT_EQ(said.rows[0].unlike, std::vector<std::string>{"weight"});
  EXPECT_EQ(said.rows[1].unlike, (std::vector<std::string>{"weight", "colour"}));
  EXPECT_TRUE(said.rows[1].outside);
  EXPECT_TRUE(said.rows[2].unlike.empty());
  ASSERT_FALSE(said.warnings.empty());
  EXPECT_EQ(said.warnings[0],
            "weight: 1 of 3 cells cannot be read, the first in line 1; they count as missing");
}

TEST(TableModel, NumbersAreInTheLabelsUnitAndCutToThoseOfTraining) {
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < 200; ++i)
    rows.push_back({cat(1 + i % 6), i % 4 ? "west" : "east", cat(900 * (1 + i % 6) + i % 7)});
  const TableModel model = TableModel::train(make_table({"rooms", "district", "price"}, rows),
                                             {.label = "price", .task = "number", .epochs = 40, .seed = 1});
  EXPECT_TRUE(model.classes().empty());
  EXPECT_GT(model.test_figures().at("r2"), 0.9);
  const TablePredictions said =
      model.predict(make_table({"rooms", "district"}, {{"3", "west"}, {"40", "west"}}));
  EXPECT_NEAR(said.rows[0].value, 2700, 400);
  EXPECT_EQ(said.rows[0].said, "");
  EXPECT_TRUE(said.rows[1].outside);
  EXPECT_LE(said.rows[1].value, 5406);
  const Evaluation evaluation =
      model.evaluate(make_table({"rooms", "district", "price"}, rows), {.slices = {"district"}});
  EXPECT_GT(evaluation.figure("r2", "district=west").value.value(), 0.9);
}

TEST(TableModel, ComesBackFromItsFolderAsItWas) {
  const std::string folder = fresh_folder("table-model") + "/fruit";
  fruit_model().save(folder);
  const TableModel back = TableModel::load(folder);
  EXPECT_EQ(back.test_figures(), fruit_model().test_figures());
  EXPECT_EQ(back.classes(), fruit_model().classes());
  EXPECT_EQ(back.decision().positive, fruit_model().decision().positive);
  const CsvTable table = make_table(kFruitNames, fruit_rows(64));
  const TablePredictions one = fruit_model().predict(table), two = back.predict(table);
  for (size_t i = 0; i < one.rows.size(); ++i)
    EXPECT_EQ(one.rows[i].probabilities, two.rows[i].probabilities) << i;
  // Once more from what was loaded.
  back.save(folder + "2");
  EXPECT_EQ(posix_env().read_file(folder + "/columns.json"),
            posix_env().read_file(folder + "2/columns.json"));
  EXPECT_EQ(TableModel::load(folder + "2").predict(table).rows[5].probabilities, one.rows[5].probabilities);
}

TEST(TableModel, EvaluatesSlicesOfRowsWithALabel) {
  std::vector<std::vector<std::string>> rows = fruit_rows(60);
  rows[1][2] = "plum";  // said to be an apple
  rows[2][2] = "";      // no label
  const CsvTable table = make_table(kFruitNames, rows);
  const Evaluation evaluation = fruit_model().evaluate(table, {.slices = {"colour"}});
  EXPECT_EQ(evaluation.figure("accuracy").rows, 59);
  EXPECT_DOUBLE_EQ(evaluation.figure("accuracy").value.value(), 58.0 / 59);
  EXPECT_EQ(evaluation.figure("accuracy", "colour=red").value, 1);
  EXPECT_EQ(evaluation.figure("accuracy", "colour=red").rows, 20);
}

TEST(TableModel, AThresholdOfTheModelIsThatOfItsEvaluation) {
  const CsvTable table = make_table(kFruitNames, fruit_rows(200));
  const TableModel model = TableModel::train(
      table, {.label = "fruit", .positive = "plum", .threshold = 0.0, .epochs = 2, .seed = 3});
  EXPECT_EQ(model.decision().threshold, 0);
  EXPECT_EQ(model.predict(table).rows[1].said, "plum");
  EXPECT_EQ(model.evaluate(table).figure("recall").value, 1);
  EXPECT_EQ(model.evaluate(table).figure("precision").value, 0.5);
}

TEST(TableModel, ManyThreadsPredictTheSameBits) {
  const CsvTable all = make_table(kFruitNames, fruit_rows(200));
  const TablePredictions expected = fruit_model().predict(all);
  std::vector<std::thread> threads;
  std::vector<int> wrong(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t begin = 0, rows = 1 + t; begin < 200; begin += rows, rows = 1 + (rows * 7 + t) % 64) {
        std::vector<int64_t> which;
        for (int64_t i = begin; i < std::min<int64_t>(200, begin + rows); ++i) which.push_back(i);
        const TablePredictions said = fruit_model().predict(all.with_rows(which));
        for (size_t i = 0; i < which.size(); ++i)
          wrong[static_cast<size_t>(t)] +=
              said.rows[i].probabilities != expected.rows[static_cast<size_t>(which[i])].probabilities;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8));
}

TEST(TableModel, TellsHowFarItIsAndWhatItFound) {
  std::vector<std::string> sentences;
  int epochs = 0;
  double loss = 0;
  std::vector<std::vector<std::string>> rows = fruit_rows(200);
  rows[7][2] = "";
  TableModel::train(make_table(kFruitNames, rows), {.label = "fruit",
                                                    .epochs = 3,
                                                    .on_progress =
                                                        [&](const TableProgress& at) {
                                                          if (at.what != "training") return;
                                                          EXPECT_EQ(at.done, ++epochs);
                                                          EXPECT_EQ(at.total, 3);
                                                          loss = at.logs.at("val_loss");
                                                        },
                                                    .on_message =
                                                        [&](const std::string& sentence, bool warning) {
                                                          if (warning) sentences.push_back(sentence);
                                                        }});
  EXPECT_EQ(epochs, 3);
  EXPECT_GT(loss, 0);
  ASSERT_FALSE(sentences.empty());
  EXPECT_NE(cat(sentences[0], sentences.back()).find("1 row has no value of \"fruit\" and is left out"),
            std::string::npos)
      << sentences[0];
}

TEST(TableModel, ALinearOneHasNoHiddenLayers) {
  const CsvTable table = make_table(kFruitNames, fruit_rows(200));
  const std::string folder = fresh_folder("table-linear") + "/linear";
  const TableModel model =
      TableModel::train(table, {.label = "fruit", .kind = "linear", .epochs = 20, .learning_rate = 0.05});
  model.save(folder);
  EXPECT_EQ(model.test_figures().at("accuracy"), 1);
  EXPECT_EQ(TableModel::load(folder).kind(), "linear");
  // One kernel and one bias.
  EXPECT_EQ(load_model(folder).variables().size(), 2u);
}

TEST(TableModel, WhatIsWrongIsNamed) {
  const CsvTable table = make_table(kFruitNames, fruit_rows(60));
  const auto rule = [&](const TableOptions& options) {
    return rule_of([&] { TableModel::train(table, options); });
  };
  EXPECT_EQ(rule({.label = "fruits"}), "csv.column");
  EXPECT_EQ(rule({.label = "fruit", .kind = "forest"}), "table.kind");
  EXPECT_EQ(rule({.label = "fruit", .ignore = {"size"}}), "csv.column");
  EXPECT_EQ(rule({.label = "weight", .threshold = 0.5}), "table.threshold");
  EXPECT_EQ(rule_of([&] { fruit_model().predict(make_table({"weight"}, {{"5"}})); }), "csv.column");
  EXPECT_EQ(rule_of([&] { fruit_model().predict(make_table({"weight", "colour"}, {})); }), "table.rows");
  EXPECT_EQ(rule_of([&] {
              fruit_model().evaluate(make_table(kFruitNames, {{"5", "red", ""}}));
            }),
            "table.labels");
  EXPECT_EQ(rule_of([&] { TableModel::load("/nowhere"); }), "load_model.path");
  EXPECT_EQ(rule_of([&] { make_table({"a", "b"}, {{"1"}}); }), "csv.columns");
  EXPECT_EQ(rule_of([&] { make_table({"a", "a"}, {}); }), "csv.names");
  EXPECT_EQ(rule_of([&] { make_table({"a"}, {{std::string("\0", 1)}}); }), "csv.nul");
  const int64_t beyond[] = {60};
  EXPECT_EQ(rule_of([&] { table.with_rows(beyond); }), "csv.rows");
}

}  // namespace
}  // namespace espalier
