// How the rows of a table are parted, what is compared with the model, and what is said of its figures.
#include <cmath>
#include <numeric>
#include <regex>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "base/shortest.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "ir/golden_test.h"
#include "tables/scores.h"
#include "tables/split.h"
#include "train/unsealed_test.h"

namespace espalier::cli {
namespace {

struct TableEvaluate : FolderTest {
  std::string progress, output;

  nlohmann::json train(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--model", folder + "/model", "--json"});
    return nlohmann::json::parse(call_verb(add_train, arguments, "", &progress));
  }
  bool says(const std::string& part) const { return progress.find(part) != std::string::npos; }
};

// A level for each day.
std::string days(int first, int last) {
  std::string text = "day,level\n";
  for (int i = first; i < last; ++i)
    text += cat("2024-", i / 28 % 12 < 9 ? "0" : "", i / 28 % 12 + 1, "-", i % 28 < 9 ? "0" : "", i % 28 + 1,
                ",", 100 + i % 7, "\n");
  return text;
}

TEST_F(TableEvaluate, InOrderTheLastRowsAreTheTest) {
  const CsvTable table = parse_csv("x,y\n" + [] {
    std::string rows;
    for (int i = 0; i < 100; ++i) rows += cat(i, ",", i % 3, "\n");
    return rows;
  }());
  std::vector<int64_t> rows(100);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  const TrainingSplit split = split_rows(rows, table, {.label = "y"}, {.split = "order"}, 1);
  ASSERT_EQ(split.test.size(), 20u);
  ASSERT_EQ(split.validation.size(), 8u);
  EXPECT_EQ(split.train.front(), 0);
  EXPECT_EQ(split.train.back() + 1, split.validation.front());
  EXPECT_EQ(split.validation.back() + 1, split.test.front());
  EXPECT_EQ(split.test.back(), 99);
}

TEST_F(TableEvaluate, DaysAtRandomAreNamed) {
  const std::string data = file("days.csv", days(0, 200));
  const std::vector<std::string> arguments = {"--data", data,     "--label",  "level",
                                              "--task", "number", "--epochs", "1"};
  train(arguments);
  EXPECT_TRUE(says(" --by-time day\n")) << progress;
  auto ordered = arguments;
  ordered.insert(ordered.end(), {"--split", "order"});
  train(ordered);
  EXPECT_FALSE(says("--split order")) << progress;
}

TEST_F(TableEvaluate, ATrainingThatDivergesEndsAndNamesItsRate) {
  const std::string data = file("days.csv", days(0, 200));
  const auto json =
      train({"--data", data, "--label", "level", "--task", "number", "--learning-rate", "1000000"});
  // The line says when: a step, and the epoch that was the last.
  EXPECT_TRUE(std::regex_search(
      progress, std::regex("the loss is (NaN|infinite) from step [1-9][0-9]* of epoch 1 on: the training "
                           "diverged with the learning rate 1e\\+06 and ends; --learning-rate sets a "
                           "smaller one")))
      << progress;
  EXPECT_FALSE(says("check_numerics")) << progress;
  EXPECT_FALSE(says("nan")) << progress;
  EXPECT_TRUE(says("ended after 1 of 60 epochs")) << progress;
}

TEST_F(TableEvaluate, AModelWithoutNumbersReplacesNone) {
  const std::string data = file("days.csv", days(0, 200)), model = folder + "/kept";
  const std::vector<std::string> good = {"--data", data,      "--label", "level",    "--task",
                                         "number", "--model", model,     "--epochs", "2"};
  call_verb(add_train, good);
  const std::string before = posix_env().read_file(model + "/weights.safetensors");
  auto bad = good;
  bad.insert(bad.end(), {"--hidden", "64", "--learning-rate", "1000000"});
  EXPECT_EQ(rule_of([&] { call_verb(add_train, bad); }), "train.diverged");
  EXPECT_EQ(posix_env().read_file(model + "/weights.safetensors"), before);
  EXPECT_FALSE(posix_env().exists(model + ".checkpoint"));
}

TEST_F(TableEvaluate, RowsInTrainingAndTestAreCounted) {
  std::string text = "x,kind\n", others = text;
  for (int i = 0; i < 100; ++i) {
    text += cat(i * 37 % 101, ".", i, ",", i % 2 ? "a" : "b", "\n");
    others += cat(i * 41 % 101, ".5", i, ",", i % 2 ? "a" : "b", "\n");
  }
  const std::string data = file("rows.csv", text);
  train({"--data", data, "--test", data, "--label", "kind", "--epochs", "1"});
  EXPECT_TRUE(says("90 training rows, 10 validation rows, 100 test rows of ")) << progress;
  EXPECT_TRUE(says("are training rows too")) << progress;
  train({"--data", data, "--test", file("others.csv", others), "--label", "kind", "--epochs", "1"});
  EXPECT_FALSE(says("are training rows too")) << progress;
  // Where rows are alike anyway, that they come again says nothing.
  std::string alike = "x,kind\n";
  for (int i = 0; i < 100; ++i) alike += cat(i % 4, ",", i % 2 ? "a" : "b", "\n");
  train({"--data", file("alike.csv", alike), "--test", folder + "/alike.csv", "--label", "kind", "--epochs",
         "1"});
  EXPECT_FALSE(says("are training rows too")) << progress;
}

// Many columns, few rows, a plain sum: layers learn the noise.
TEST_F(TableEvaluate, ALinearModelIsKeptWhereItIsBetter) {
  Philox random(5);
  std::string text;
  for (int c = 0; c < 60; ++c) text += cat("c", c, ",");
  text += "y\n";
  for (int i = 0; i < 250; ++i) {
    double y = 0;
    for (int c = 0; c < 60; ++c) {
      const double x = random.uniform() * 2 - 1;
      text += cat(x, ",");
      y += (c == 3 ? 2 : c == 20 ? -1 : c == 41 ? 0.5 : 0) * x;
    }
    text += cat(y, "\n");
  }
  const std::string data = file("wide.csv", text);
  const auto json = train({"--data", data, "--label", "y"});
  EXPECT_TRUE(json["linear"]["linear_kept"]);
  EXPECT_LT(json["linear"]["linear_val_loss"], json["linear"]["val_loss"]);
  EXPECT_GT(json["test"]["r2"], 0.8);
  EXPECT_TRUE(says("the linear model is kept")) << progress;
  // What was saved is that model.
  EXPECT_EQ(nlohmann::json::parse(call_verb(add_info, {folder + "/model", "--json"}))["parameters"], 61);
  // Layers that somebody names are not replaced.
  EXPECT_FALSE(train({"--data", data, "--label", "y", "--hidden", "8", "--epochs", "2"}).contains("linear"));
  const std::string plan = call_verb(add_train, {"--data", data, "--label", "y", "--write-plan"});
  EXPECT_NE(plan.find("compare_linear = true"), std::string::npos) << plan;
}

TEST_F(TableEvaluate, ALineWithTheLabelsNameIsOneOfNames) {
  std::string text = "id,2019,2020,y\n";
  for (int i = 0; i < 40; ++i) text += cat(i, ",", i * 7 % 40, ",", i * 3 % 11, ",", i % 2, "\n");
  const std::string data = file("years.csv", text);
  EXPECT_EQ(train({"--data", data, "--label", "y", "--epochs", "1"})["label"], "y");
  EXPECT_FALSE(says("--header yes")) << progress;
  std::filesystem::remove_all(folder + "/model");
  train({"--data", data, "--label", "last", "--epochs", "1"});
  EXPECT_TRUE(says("--header yes where it holds their names")) << progress;
}

TEST_F(TableEvaluate, ColumnsAreIgnoredByNumberToo) {
  std::string text = "a,b,kind\n";
  for (int i = 0; i < 60; ++i) text += cat(i * 7 % 60, ",", i % 5, ",", i % 2 ? "x" : "y", "\n");
  train({"--data", file("table.csv", text), "--label", "3", "--ignore", "2", "--epochs", "1"});
  EXPECT_TRUE(says("b: left out, as told")) << progress;
}

TEST_F(TableEvaluate, FewRowsAreSaidToBeFew) {
  std::string text = "a,kind\n";
  for (int i = 0; i < 50; ++i) text += cat(i, ",", i < 25 ? "x" : "y", "\n");
  const std::string data = file("few.csv", text);
  const std::string said =
      call_verb(add_train, {"--data", data, "--label", "kind", "--model", folder + "/model"});
  EXPECT_NE(said.find("few rows: the accuracy on others may well lie between "), std::string::npos) << said;
}

TEST_F(TableEvaluate, RowsOutsideOfWhatTrainingSawAreReportedApart) {
  const auto row = [](double x, const char* city, const char* kind) {
    return cat(x, ",", city, ",", kind, "\n");
  };
  const std::string head = "x,city,kind\n";
  std::string text = head, inside = head, outside = head, both = head;
  for (int i = 0; i < 200; ++i) text += row(i % 10, i % 3 ? "a" : "b", i % 10 < 5 ? "no" : "yes");
  for (int i = 0; i < 30; ++i) inside += row(i % 10, i % 4 ? "a" : "b", i % 10 < 5 ? "no" : "yes");
  for (int i = 0; i < 6; ++i) outside += row(i < 4 ? 50 : 2, i < 3 ? "z" : "a", i % 2 ? "no" : "yes");
  both += inside.substr(head.size()) + outside.substr(head.size());
  train({"--data", file("train.csv", text), "--label", "kind", "--epochs", "20"});
  const auto evaluate = [&](const std::string& name, const std::string& rows) {
    return nlohmann::json::parse(call_verb(add_evaluate, {folder + "/model", file(name, rows), "--json"}));
  };
  const nlohmann::json envelope = evaluate("both.csv", both)["envelope"];
  EXPECT_EQ(envelope["rows"], 36);
  EXPECT_EQ(envelope["outside"], 4);
  ASSERT_EQ(envelope["columns"].size(), 2u);
  EXPECT_EQ(envelope["columns"][0]["column"], "x");
  EXPECT_EQ(envelope["columns"][0]["rows"], 4);
  EXPECT_EQ(envelope["columns"][0]["why"], "outside 0 to 9");
  EXPECT_EQ(envelope["columns"][1]["column"], "city");
  EXPECT_EQ(envelope["columns"][1]["rows"], 3);
  ASSERT_EQ(envelope["slices"].size(), 2u);
  // The figures of each side are those of a file of its rows alone; the last two of `outside` lie inside.
  size_t known = outside.size();
  for (int i = 0; i < 2; ++i) known = outside.rfind('\n', known - 2) + 1;
  const std::string last = outside.substr(known), beyond = outside.substr(0, known);
  const auto& in = envelope["slices"][0];
  const auto& out = envelope["slices"][1];
  EXPECT_EQ(in["slice"], "inside");
  EXPECT_EQ(out["slice"], "outside");
  EXPECT_EQ(in["rows"].get<int>() + out["rows"].get<int>(), 36);
  for (const auto& [side, rows] : {std::pair(in, inside + last), std::pair(out, beyond)}) {
    const nlohmann::json alone = evaluate("side.csv", rows);
    EXPECT_EQ(side["rows"], alone["rows"]);
    EXPECT_NEAR(side["figures"]["accuracy"]["value"].get<double>(), alone["accuracy"].get<double>(), 1e-12);
    EXPECT_NEAR(side["figures"]["auc"]["value"].get<double>(), alone["auc"].get<double>(), 1e-12);
  }
  const std::string said = call_verb(add_evaluate, {folder + "/model", folder + "/both.csv"});
  EXPECT_NE(
      said.find("4 of 36 rows lie outside of what the model was trained on\n  x: 4 rows outside 0 to 9\n"
                "  city: 3 rows with a value that no training row had\n"),
      std::string::npos)
      << said;
  EXPECT_EQ(evaluate("inside.csv", inside)["envelope"]["outside"], 0);
}

TEST(Scores, TheIntervalOfFewRowsIsWilsons) {
  const CsvTable table = parse_csv("x,kind\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n7,a\n8,b\n9,a\n10,b\n");
  const std::vector<int64_t> rows = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const ColumnProgram columns = ColumnProgram::fit(table, rows, {.label = "kind"});
  // By R's prop.test(10, 10, correct = FALSE) 0.7225 to 1; of 8 of 10 0.4902 to 0.9433.
  Scores all{.rows = 10, .accuracy = 1, .counts = {5, 0, 0, 5}};
  EXPECT_NE(report_of(all, columns, {}).find("between 72 % and 100 %"), std::string::npos)
      << report_of(all, columns, {});
  all.accuracy = 0.8;
  EXPECT_NE(report_of(all, columns, {}).find("between 49 % and 94 %"), std::string::npos)
      << report_of(all, columns, {});
  all.rows = 100;
  EXPECT_EQ(report_of(all, columns, {}).find("few rows"), std::string::npos);
}

// Of saturated probabilities, too, the figure of a model is that of an assessment of its scores.
TEST(Scores, LogLossesAreScikitLearns) {
  const nlohmann::json golden = read_golden("log_loss.json");
  const auto columns = [](const char* kinds) {
    std::string text = "x,kind\n";
    for (int i = 0; kinds[i]; ++i) text += cat(i, ",", kinds[i], "\n");
    const CsvTable table = parse_csv(text);
    std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
    std::iota(rows.begin(), rows.end(), 0);
    return ColumnProgram::fit(table, rows, {.label = "kind", .task = ColumnTask::kClassification});
  };
  const std::vector<double> scores = golden["scores"], probabilities = golden["probabilities"];
  const std::vector<int32_t> labels = golden["labels"], classes = golden["classes"];
  for (const int64_t positive : {0, 1}) {
    Predictions two;
    two.positive = positive;
    std::vector<int32_t> is;
    for (size_t i = 0; i < scores.size(); ++i) {
      const auto p = static_cast<float>(scores[i]);
      two.outputs.insert(two.outputs.end(), {positive ? 1 - p : p, positive ? p : 1 - p});
      is.push_back(labels[i] ? static_cast<int32_t>(positive) : 1 - static_cast<int32_t>(positive));
      two.best.push_back(is.back());
    }
    const Scores of_two = score(columns("abababab"), two, Tensor::of(is, {std::ssize(is)}));
    EXPECT_NEAR(of_two.log_loss, golden["log_loss"].get<double>(), 1e-12) << positive;
  }
  Predictions three;
  three.outputs.assign(probabilities.begin(), probabilities.end());
  three.best.assign(classes.begin(), classes.end());
  const Scores of_three = score(columns("abcabcabc"), three, Tensor::of(classes, {std::ssize(classes)}));
  EXPECT_NEAR(of_three.log_loss, golden["log_loss_of_classes"].get<double>(), 1e-12);
}

// Against every threshold between two probabilities, by the definition of F1.
TEST(Scores, TheBestThresholdIsThatOfAllThresholds) {
  Philox random(3);
  for (int round = 0; round < 50; ++round) {
    const int64_t rows = 1 + random.below(30), positive = random.below(2);
    Predictions said;
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < rows; ++i) {
      const float p = static_cast<float>(random.below(20)) / 20;
      said.outputs.insert(said.outputs.end(), {1 - p, p});
      labels.push_back(random.below(4) == 0);
    }
    const auto f1_at = [&](double threshold) {
      const std::vector<int64_t> best = Decision{positive, threshold}(said.outputs, 2);
      double right = 0, either = 0;
      for (size_t i = 0; i < best.size(); ++i) {
        const auto p = static_cast<double>(said.outputs[2 * i + static_cast<size_t>(positive)]);
        EXPECT_EQ(best[i] == positive, p >= threshold);
        right += best[i] == positive && labels[i] == positive;
        either += (best[i] == positive) + (labels[i] == positive);
      }
      return either == 0 ? 0 : 2 * right / either;
    };
    double most = 0;
    for (int i = 0; i <= 80; ++i) most = std::max(most, f1_at(i / 80.0));
    const BestThreshold best = best_threshold(said, Tensor::of(labels, {rows}), positive);
    if (std::ranges::count(labels, static_cast<int32_t>(positive)) == 0) {
      EXPECT_EQ(best.f1, -1);
      continue;
    }
    EXPECT_NEAR(best.f1, most, 1e-12);
    EXPECT_NEAR(f1_at(best.threshold), most, 1e-12) << best.threshold;
    EXPECT_LE(shortest(best.threshold).size(), 4u) << "twentieths have two digits";
  }
}

TEST_F(TableEvaluate, RareClassesHaveAThreshold) {
  Philox random(7);
  std::string text = "x,late\n", three = "x,kind\n";
  for (int i = 0; i < 1200; ++i) {
    const float x = random.uniform();
    text += cat(x, random.uniform() < 0.35f * x * x ? ",yes\n" : ",no\n");
    three += cat(x, ",", i % 3, "\n");
  }
  const std::string data = file("late.csv", text), model = folder + "/model";
  const std::vector<std::string> arguments = {"--data", data, "--label", "late", "--epochs", "5"};
  const auto json = train(arguments);
  EXPECT_EQ(json["positive"], "yes");
  const auto evaluated = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {model, data, "--json", "--all-rows"});
    return nlohmann::json::parse(call_verb(add_evaluate, more));
  };
  // Hardly any row is likelier late than not, and a lower threshold finds them; what is said of it holds.
  const auto plain = evaluated({});
  EXPECT_FALSE(plain.contains("threshold"));
  const double best = plain["best_of_these_rows"]["threshold"], f1 = plain["best_of_these_rows"]["f1"];
  EXPECT_GT(f1, plain["per_class"][1]["f1"].get<double>() + 0.1);
  const std::string said = call_verb(add_evaluate, {model, data, "--all-rows"});
  EXPECT_NE(said.find(cat(" with --threshold ", shortest(best), ", which was chosen on these very rows")),
            std::string::npos)
      << said;
  const auto moved = evaluated({"--threshold", shortest(best)});
  EXPECT_EQ(moved["per_class"][1]["f1"], f1);
  EXPECT_EQ(moved["threshold"], best);
  EXPECT_EQ(moved["auc"], plain["auc"]);
  EXPECT_EQ(call_verb(add_evaluate, {model, data, "--all-rows", "--threshold", shortest(best)})
                .find("with --threshold"),
            std::string::npos);
  const std::string few = file("few.csv", "x,late\n0.9,yes\n0.95,yes\n0.1,no\n0.2,no\n0.3,no\n");
  EXPECT_NE(
      call_verb(add_evaluate, {model, few}, "", &progress).find("too few rows are yes to choose one by: 2\n"),
      std::string::npos);
  EXPECT_FALSE(says("the model was trained on rows of"));
  EXPECT_EQ(plain["warnings"][0],
            cat("the model was trained on rows of ", data, ": other rows may fare worse"));
  // Test rows choose nothing in train.
  const std::string trained = call_verb(
      add_train, {"--data", data, "--label", "late", "--epochs", "5", "--model", model, "--seed", "1"});
  EXPECT_NE(trained.find("which the validation rows choose"), std::string::npos) << trained;

  // predict says yes where the probability is at least that, and the model keeps one.
  auto with = arguments;
  with.insert(with.end(), {"--threshold", "0.125"});
  EXPECT_EQ(train(with)["threshold"], 0.125);
  const auto predictions =
      nlohmann::json::parse(call_verb(add_predict, {model, data, "--json", "--all"}, "", &progress));
  EXPECT_EQ(predictions["threshold"], 0.125);
  EXPECT_TRUE(says("note: a row is yes from a probability of 0.125 on")) << progress;
  for (const auto& row : predictions["predictions"])
    EXPECT_EQ(row["prediction"] == "yes", row["probabilities"][1].get<double>() >= 0.125);
  call_verb(add_quantize, {model, "--calibrate", data, "--out", model + "8"});
  EXPECT_EQ(nlohmann::json::parse(call_verb(add_evaluate, {model + "8", data, "--json"}))["threshold"],
            0.125);
  EXPECT_EQ(evaluated({"--threshold", "0.25"})["threshold"], 0.25);
  EXPECT_EQ(nlohmann::json::parse(call_verb(add_info, {model, "--json"}))["columns"]["threshold"], 0.125);
  EXPECT_NE(call_verb(add_info, {model}).find("decided   a row is yes from a probability of 0.125 on\n"),
            std::string::npos);

  write_file(model + "/decision.json", "{}");
  EXPECT_EQ(rule_of([&] { evaluated({}); }), "saved_model.content") << "the checksum is another";
  drop_checksums(model);
  write_file(model + "/decision.json", "{\"positive\": \"maybe\"}");
  EXPECT_EQ(rule_of([&] { evaluated({}); }), "model.decision");
  write_file(model + "/decision.json", "{\"positive\": \"no\", \"threshold\": 2}");
  EXPECT_EQ(rule_of([&] { evaluated({}); }), "model.decision");
  write_file(model + "/decision.json", "{}");
  EXPECT_EQ(rule_of([&] { evaluated({}); }), "model.decision");
  std::filesystem::remove_all(model);
  EXPECT_EQ(rule_of([&] {
              train({"--data", file("three.csv", three), "--label", "kind", "--threshold", "0.5"});
            }),
            "table.threshold");
  EXPECT_THROW(train({"--data", data, "--label", "late", "--threshold", "1.5"}), CLI::ParseError);
}

// Of 1, 3, 5, ..., 399: variance (n^2 - 1) / 3 of n = 200. Of 4^k for k below 20 log(1 + y), nearly k log 4:
// variance (n^2 - 1) / 12 of n = 20.
TEST_F(TableEvaluate, TheUnitOfEachEpochIsSaid) {
  std::string odd = "x,y\n", powers = "x,y\n";
  for (int i = 0; i < 200; ++i) {
    odd += cat(i * 7 % 13, ",", 2 * i + 1, ".0\n");
    powers += cat(i * 7 % 13, ",", int64_t{1} << 2 * (i % 20), "\n");
  }
  const auto unit = [&](const std::string& name, const std::string& text) {
    train({"--data", file(name, text), "--label", "y", "--task", "number", "--epochs", "1"});
    const size_t begin = progress.find("losses and errors of each epoch");
    return begin == progress.npos ? "" : progress.substr(begin, progress.find('\n', begin) - begin);
  };
  const std::string plain = unit("odd.csv", odd);
  const auto read = ColumnProgram::from_json(posix_env().read_file(folder + "/model/columns.json"));
  EXPECT_NEAR(read.label_scale(), std::sqrt((200.0 * 200 - 1) / 3), 4);
  EXPECT_EQ(plain, cat("losses and errors of each epoch count in standard deviations of y: 1 is ",
                       rounded(read.label_scale()), "; squared errors count in its square"));
  const std::string log = unit("powers.csv", powers);
  EXPECT_TRUE(
      log.starts_with("losses and errors of each epoch count in standard deviations of y's logarithm: "
                      "1 is a factor of "))
      << log;
  const double factor = std::stod(log.substr(log.find("factor of ") + 10));
  EXPECT_NEAR(std::log(factor), std::log(4) * std::sqrt((20.0 * 20 - 1) / 12), 0.2) << log;
}

TEST_F(TableEvaluate, WhatIsRightOfOneClassIsNoMistake) {
  std::string text = "x,kind\n";
  for (int i = 0; i < 100; ++i) text += cat(i % 13, ".", i, ",", i >= 60 || i % 2 ? "a" : "b", "\n");
  train({"--data", file("end.csv", text), "--label", "kind", "--split", "order", "--epochs", "1"});
  EXPECT_TRUE(says("the test rows are all of one class")) << progress;
  EXPECT_FALSE(says("of every row")) << progress;
}

TEST_F(TableEvaluate, ManyPlainColumnsAreOneLine) {
  std::string text;
  for (int c = 0; c < 80; ++c) text += cat("c", c, ",");
  text += "kind\n";
  for (int i = 0; i < 40; ++i) {
    for (int c = 0; c < 80; ++c) text += cat((i * (c % 7 + 3) + c) % 37, ",");
    text += i % 2 ? "a\n" : "b\n";
  }
  train({"--data", file("wide.csv", text), "--label", "kind", "--epochs", "1"});
  EXPECT_TRUE(says("80 more columns: numeric")) << progress;
  EXPECT_TRUE(says("kind: the label")) << progress;
}

}  // namespace
}  // namespace espalier::cli
