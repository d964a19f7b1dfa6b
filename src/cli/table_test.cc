#include <cmath>
#include <csignal>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "cli/interrupt_once_test.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

// Rows whose class follows two of the columns; a third is noise, one names the row, one never changes.
std::string shapes_csv(int rows, uint64_t seed, const std::string& dot = "", bool header = true) {
  Philox random(seed);
  std::string text = header ? "name,size,colour,weight,planet,kind\n" : "";
  for (int i = 0; i < rows; ++i) {
    const float size = random.uniform() * 10;
    const bool red = random.below(2);
    const bool big = size > (red ? 3.0f : 7.0f);
    text += cat("part-", static_cast<int64_t>(seed), "-", i, ", ", i % 17 == 3 ? "?" : cat(size), ", ",
                red ? "red" : "blue", ", ", random.uniform(), ", earth, ", big ? "big" : "small", dot, "\n");
  }
  return text;
}

// A number that follows two columns.
std::string prices_csv(int rows, uint64_t seed) {
  Philox random(seed);
  std::string text = "rooms,district,price\n";
  for (int i = 0; i < rows; ++i) {
    const auto rooms = 1 + random.below(9), district = random.below(3);
    text += cat(rooms, ",",
                district == 0   ? "north"
                : district == 1 ? "south"
                                : "west",
                ",", 1000 * rooms * (1 + district) + random.below(90), "\n");
  }
  return text;
}

// One a test: they run side by side.
struct Folder {
  std::string path =
      fresh_folder(cat("tables-", testing::UnitTest::GetInstance()->current_test_info()->name()));
  std::string file(const std::string& name, const std::string& text) const {
    return write_file(path + "/" + name, text);
  }
  std::string model() const { return path + "/model"; }
};

nlohmann::json json_of_verb(AddVerb add, std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  return nlohmann::json::parse(call_verb(add, arguments));
}

TEST(TrainTableSlow, FromACsvToPredictionsOfRawRows) {
  const Folder folder;
  const std::string data = folder.file("shapes.csv", shapes_csv(1500, 1));
  std::string progress;
  const auto json = nlohmann::json::parse(call_verb(
      add_train, {"--data", data, "--label", "kind", "--model", folder.model(), "--json"}, "", &progress));
  EXPECT_EQ(json["task"], "classification");
  EXPECT_GT(json["test"]["accuracy"], 0.95);
  EXPECT_LT(json["test"]["base_rate"], 0.7);
  EXPECT_GT(json["test"]["auc"], 0.98);
  EXPECT_NE(progress.find("name: "), std::string::npos) << progress;
  EXPECT_NE(progress.find("planet: "), std::string::npos) << progress;

  // The same figures from the folder, on new rows; and what it says of each is what evaluate counts.
  const std::string fresh = folder.file("fresh.csv", shapes_csv(400, 2));
  const auto scores = json_of_verb(add_evaluate, {folder.model(), fresh});
  EXPECT_GT(scores["accuracy"], 0.94);
  const auto said = json_of_verb(add_predict, {folder.model(), fresh, "--all"});
  ASSERT_EQ(said["predictions"].size(), 400u);
  int64_t big = 0;
  for (const auto& row : said["predictions"]) {
    big += row["prediction"] == "big";
    EXPECT_NEAR(row["probabilities"][0].get<double>() + row["probabilities"][1].get<double>(), 1, 1e-5);
  }
  EXPECT_EQ(big, scores["confusion"][0][0].get<int64_t>() + scores["confusion"][1][0].get<int64_t>());

  // Rows without a label, from standard input, as a CSV that keeps them.
  const std::string rows = "colour,size,name,weight,planet\nred,9,a,0.5,earth\nblue,1,b,0.5,mars\n";
  const std::string csv = call_verb(add_predict, {folder.model(), "-", "--keep"}, rows);
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "colour,size,name,weight,planet,prediction,probability");
  EXPECT_NE(csv.find("red,9,a,0.5,earth,big,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("blue,1,b,0.5,mars,small,"), std::string::npos) << csv;
}

TEST(TrainTableSlow, LearnsNumbersInTheirUnit) {
  const Folder folder;
  const std::string data = folder.file("prices.csv", prices_csv(1200, 1));
  const auto json = json_of_verb(add_train, {"--data", data, "--label", "price", "--model", folder.model()});
  EXPECT_EQ(json["task"], "regression");
  EXPECT_GT(json["test"]["r2"], 0.98);
  const std::string csv = call_verb(add_predict, {folder.model(), "-"}, "rooms,district\n5,west\n");
  EXPECT_NEAR(std::stod(csv.substr(csv.find('\n') + 1)), 15000, 1000) << csv;
}

TEST(TrainTable, AFewRowsThatCarryR2AreCounted) {
  const Folder folder;
  const std::string data = folder.file("prices.csv", prices_csv(300, 1));
  call_verb(add_train, {"--data", data, "--label", "price", "--model", folder.model(), "--epochs", "3"});
  std::string others = prices_csv(400, 2);
  const auto evaluated = [&] {
    const std::string rows = folder.file("others.csv", others);
    const std::string text = call_verb(add_evaluate, {folder.model(), rows});
    return std::pair(text, json_of_verb(add_evaluate, {folder.model(), rows}));
  };
  const auto [plain, as_they_are] = evaluated();
  EXPECT_EQ(plain.find("carr"), plain.npos) << plain;
  // By brute force, from what predict says.
  const nlohmann::json said =
      nlohmann::json::parse(call_verb(add_predict, {folder.model(), folder.path + "/others.csv", "--json"}));
  const CsvTable table = parse_csv(others);
  std::vector<double> errors;
  for (int64_t row = 0; row < table.rows(); ++row)
    errors.push_back(
        std::abs(said["predictions"][static_cast<size_t>(row)].get<double>() - *table.number(row, 2)));
  std::ranges::sort(errors);
  EXPECT_NEAR(as_they_are["median_error"].get<double>(), (errors[199] + errors[200]) / 2, 1e-3);
  double all = 0, carried = 0;
  for (const double error : errors) all += error * error;
  int64_t rows = 0;
  while (carried < all / 2) carried += std::pow(errors[errors.size() - static_cast<size_t>(++rows)], 2);
  EXPECT_EQ(as_they_are["half_error_rows"], rows);

  for (size_t line = others.find('\n'), i = 0; i < 2; ++i, line = others.find('\n', line + 1))
    others.insert(others.find('\n', line + 1), "0000");
  const auto [text, json] = evaluated();
  EXPECT_GE(json["half_error_rows"], 1);
  EXPECT_NE(text.find(" of the 400 rows carr"), text.npos) << text;
  EXPECT_NE(
      text.find(
          " half of the squared error, by which r2 and rmse go: half of all rows are off by less than "),
      text.npos)
      << text;
  EXPECT_NEAR(json["median_error"].get<double>(), as_they_are["median_error"].get<double>(), 100);
}

TEST(TrainTable, TheSeedSaysAllOfIt) {
  const Folder folder;
  const std::string data = folder.file("shapes.csv", shapes_csv(200, 1));
  const auto run = [&](const char* seed, const char* threads) {
    auto json = json_of_verb(add_train, {"--data", data, "--label", "kind", "--model", folder.model(),
                                         "--epochs", "2", "--seed", seed, "--threads", threads});
    return cat(json["test"].dump(), posix_env().read_file(folder.model() + "/weights.safetensors"));
  };
  const std::string once = run("1", "1");
  EXPECT_EQ(run("1", "2"), once);
  EXPECT_NE(run("2", "2"), once);
  call_verb(add_train, {"--data", data, "--label", "kind", "--model", folder.model() + "-2", "--threads", "2",
                        "--epochs", "0"});
}

TEST(TrainTable, CtrlCSavesTheRunAndResumeGoesOnToTheSameModel) {
  const Folder folder;
  const std::string data = folder.file("shapes.csv", shapes_csv(400, 1));
  const std::string checkpoint = folder.model() + ".checkpoint";
  std::vector<std::string> arguments = {"--data",       data,       "--label", "kind",  "--model",
                                        folder.model(), "--epochs", "15",      "--json"};
  const auto weights = [&] { return posix_env().read_file(folder.model() + "/weights.safetensors"); };
  const std::string whole = call_verb(add_train, arguments), wanted = weights();
  EXPECT_FALSE(posix_env().exists(checkpoint));
  const CsvTable tests = read_csv(folder.model() + "/held_out.csv", {.header = CsvHeader::kYes});

  std::filesystem::remove_all(folder.model());
  std::string progress;
  for (const int signal : {SIGTERM, SIGINT}) {
    std::filesystem::remove(checkpoint);
    const InterruptOnce interrupt(signal);
    try {
      call_verb(add_train, arguments, "", &progress);
      ADD_FAILURE() << "it was not interrupted";
    } catch (const Exit& exit) {
      EXPECT_EQ(exit.code, 130);
    }
  }
  EXPECT_NE(progress.find("with --resume goes on"), std::string::npos) << progress;
  EXPECT_TRUE(posix_env().exists(checkpoint));
  EXPECT_FALSE(posix_env().exists(folder.model()));

  EXPECT_EQ(rule_of([&] { call_verb(add_train, arguments); }), "train.resume");
  arguments.insert(arguments.end(), {"--resume", "--checkpoint-every", "2"});
  arguments.insert(arguments.end(), {"--seed", "1"});
  try {
    call_verb(add_train, arguments);
    ADD_FAILURE() << "it goes on with another seed";
  } catch (const ValueError& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.rule(), "train.resume");
    EXPECT_NE(text.find("begun with seed = 0,"), std::string::npos) << text;
    EXPECT_NE(text.find("now it is seed = 1\n"), std::string::npos) << text;
  }
  arguments.resize(arguments.size() - 2);
  // Other rows are another run.
  const std::string text = posix_env().read_file(data);
  posix_env().write_file(data, shapes_csv(400, 2));
  const auto refused = [&] {
    try {
      call_verb(add_train, arguments);
    } catch (const ValueError& error) {
      return cat(error.rule(), ": ", error.message());
    }
    return std::string("accepted");
  };
  const std::string other = "train.resume: the data is not that of the run, which trains on 288 rows of ";
  EXPECT_EQ(refused(), other + "6 numbers: now there are as many of other values");
  posix_env().write_file(data, shapes_csv(410, 1));
  EXPECT_EQ(refused(), other + "6 numbers: now there are 295 rows of 6 numbers");
  // So is one whose only other row is a test row.
  size_t line = 0;
  for (auto row = static_cast<int64_t>(*tests.number(0, 0)); row > 0; --row) line = text.find('\n', line) + 1;
  const size_t size = text.find(", ", line) + 2;
  posix_env().write_file(data, cat(text.substr(0, size), "9", text.substr(size)));
  EXPECT_EQ(refused(), other + "6 numbers: now there are as many of other values");
  posix_env().write_file(data, text);
  EXPECT_EQ(call_verb(add_train, arguments), whole);
  EXPECT_EQ(weights(), wanted);
  EXPECT_FALSE(posix_env().exists(checkpoint));

  // A run that has ended has nothing to go on with.
  const auto again = nlohmann::json::parse(call_verb(add_train, arguments, "", &progress));
  EXPECT_EQ(again["ended_before"], true);
  EXPECT_EQ(again["test"], nlohmann::json::parse(whole)["test"]);
  EXPECT_EQ(progress.find("epoch"), std::string::npos) << progress;
  std::erase(arguments, "--json");
  const std::string model = folder.model();
  EXPECT_EQ(
      call_verb(add_train, arguments),
      cat(model, " is the model of this run, which had ended: nothing is left to do\nnext: espalier info ",
          model, "\n"));
  std::ranges::replace(arguments, model, model + "/");
  EXPECT_TRUE(call_verb(add_train, arguments).starts_with(model + "/ is the model of this run"));
  std::ranges::replace(arguments, model + "/", model);
  EXPECT_EQ(weights(), wanted);
  // Another begins anew, and replaces the model.
  arguments.insert(arguments.end(), {"--seed", "1"});
  EXPECT_NE(call_verb(add_train, arguments, "", &progress).find("replaced "), std::string::npos);
  EXPECT_NE(progress.find(cat("note: there is no ", checkpoint, ", and ", model,
                              " is of another run: this one begins anew, and takes its place\n")),
            std::string::npos)
      << progress;
  EXPECT_NE(weights(), wanted);
}

TEST(TrainTable, LabelsByNumberWithoutAHeaderAndATestFileWithDots) {
  const Folder folder;
  const std::string data = folder.file("train.csv", shapes_csv(300, 1, "", false));
  const std::string test = folder.file("test.csv", shapes_csv(100, 2, ".", false));
  const std::vector<std::string> arguments = {"--data", data,      "--test",       test,       "--label",
                                              "6",      "--model", folder.model(), "--epochs", "1"};
  try {
    json_of_verb(add_train, arguments);
    FAIL() << "labels with dots are other labels";
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("strip-label-dots"), std::string::npos) << error.what();
  }
  auto with_dots = arguments;
  with_dots.emplace_back("--strip-label-dots");
  const auto json = json_of_verb(add_train, with_dots);
  EXPECT_EQ(json["test"]["rows"], 100);
  EXPECT_EQ(json["label"], "column_6");
  const auto scores = json_of_verb(add_evaluate, {folder.model(), test, "--strip-label-dots"});
  EXPECT_EQ(scores["accuracy"], json["test"]["accuracy"]);
  call_verb(add_train, {"--data", data, "--label", "6", "--model", folder.model(), "--epochs", "1"});
  try {
    call_verb(add_evaluate, {folder.model(), test});
    FAIL() << "labels with dots are other labels";
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("add --strip-label-dots"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("test.csv"), std::string::npos) << error.what();
  }
}

TEST(TrainTable, WhatIsOddAboutRowsIsSaid) {
  const Folder folder;
  const std::string data = folder.file("shapes.csv", shapes_csv(300, 1));
  call_verb(add_train, {"--data", data, "--label", "kind", "--model", folder.model(), "--epochs", "1"});
  const auto said = [&](AddVerb add, const std::string& file) {
    std::string progress;
    call_verb(add, {folder.model(), file}, "", &progress);
    return progress;
  };
  // A file of one row and the names.
  const std::string names = "colour,size,name,weight,planet";
  EXPECT_EQ(said(add_predict, folder.file("names.csv", names + "\nred,2,a,0.5,earth\n")), "");
  const std::string header_only = folder.file("strings.csv", "colour,name,planet,size,weight\n");
  EXPECT_EQ(rule_of([&] { call_verb(add_predict, {folder.model(), header_only}); }), "table.rows");
  // The same without names.
  EXPECT_NE(
      said(add_predict, folder.file("nameless.csv", shapes_csv(50, 2, "", false))).find("no line of names"),
      std::string::npos);
  const std::string other = said(
      add_predict,
      folder.file("other.csv", names + "\nred,2,a,0.5,earth\nmauve,2,a,0.5,earth\nteal,3,a,0.5,earth\n"));
  EXPECT_NE(other.find("warning: colour: 2 of 3 values are none of those that training met often, the first "
                       "in line 3; rare"),
            std::string::npos)
      << other;
  // Rows without a label.
  const std::string some = folder.file("some.csv", shapes_csv(60, 3) + "red,2,a,0.5,earth,\n");
  EXPECT_NE(said(add_evaluate, some).find("warning: 1 of 61 rows of "), std::string::npos);
  EXPECT_EQ(json_of_verb(add_evaluate, {folder.model(), some})["rows"], 60);
}

// 7 of 100 rows are rare: a test of 20 and a validation of 8 rows have their share, whatever the seed.
TEST(TrainTable, EachSideHasItsShareOfEachClass) {
  const Folder folder;
  std::string text = "size,kind\n";
  for (int i = 0; i < 200; ++i) text += cat(i * 7 % 201, ",", i % 100 < 7 ? "rare" : "common", "\n");
  const std::string data = folder.file("rare.csv", text);
  for (const char* seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    const auto json = json_of_verb(add_train, {"--data", data, "--label", "kind", "--model", folder.model(),
                                               "--epochs", "0", "--seed", seed});
    const auto& rare = json["test"]["confusion"][1];
    const int64_t count = rare[0].get<int64_t>() + rare[1].get<int64_t>();
    EXPECT_EQ(json["test"]["rows"], 40);
    EXPECT_GE(count, 2);
    EXPECT_LE(count, 3);
  }
}

TEST(TrainTable, MoreWordsCanMeanNoValue) {
  const Folder folder;
  std::string text = "size,more,kind\n";
  for (int i = 0; i < 90; ++i)
    text += cat(i % 3 ? cat(i) : "not given", ",", i, ",", i % 2 ? "a" : "b", "\n");
  const std::string data = folder.file("words.csv", text);
  std::vector<std::string> arguments = {"--data",  data,           "--label",  "kind",
                                        "--model", folder.model(), "--epochs", "1"};
  std::string progress;
  call_verb(add_train, arguments, "", &progress);
  EXPECT_NE(progress.find("taken as text for \"not given\""), std::string::npos) << progress;
  arguments.insert(arguments.end(), {"--missing", "unknown, not given", "--ignore", " more"});
  call_verb(add_train, arguments, "", &progress);
  EXPECT_NE(progress.find("size: numeric, 1 to 8"), std::string::npos) << progress;
  EXPECT_NE(progress.find("more: left out, as told"), std::string::npos) << progress;
}

TEST(TrainTable, ResultsReplaceNoInput) {
  const Folder folder;
  const std::string text = shapes_csv(80, 1), data = folder.file("shapes.csv", text);
  const std::vector<std::string> train = {"--data",  data,           "--label",  "kind",
                                          "--model", folder.model(), "--epochs", "1"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  call_verb(add_train, train);
  const std::string same =
      folder.path + "/../" + std::filesystem::path(folder.path).filename().string() + "/shapes.csv";
  EXPECT_EQ(rule_of([&] { call_verb(add_train, with(train, {"--out", same})); }), "results.out");
  EXPECT_EQ(rule_of([&] {
              call_verb(add_train, with(train, {"--write-plan", "--out", data}));
            }),
            "results.out");
  EXPECT_EQ(rule_of([&] { call_verb(add_predict, {folder.model(), data, "--out", data}); }), "results.out");
  EXPECT_EQ(rule_of([&] { call_verb(add_evaluate, {folder.model(), data, "--out", data}); }), "results.out");
  EXPECT_EQ(posix_env().read_file(data), text);
}

TEST(TrainTable, AModelThatSaysOneClassIsNamed) {
  const Folder folder;
  std::string text = "size,more,kind\n";
  for (int i = 0; i < 300; ++i)
    text += cat(i * 7919 % 1009, ",", i * 31 % 97, ",", i % 11 == 3 ? "rare" : "common", "\n");
  const std::vector<std::string> arguments = {
      "--data", folder.file("rare.csv", text), "--label", "kind", "--model", folder.model(), "--epochs", "2"};
  std::string progress;
  call_verb(add_train, arguments, "", &progress);
  EXPECT_NE(progress.find("warning: it says common of every row; --class-weight balanced"), std::string::npos)
      << progress;
  auto balanced = arguments;
  balanced.insert(balanced.end(), {"--class-weight", "balanced"});
  call_verb(add_train, balanced, "", &progress);
  EXPECT_EQ(progress.find("commonest class would be better"), std::string::npos) << progress;
}

TEST(TrainTable, PredictionsBeyondTheTrainingRowsAreSaid) {
  const Folder folder;
  std::string text = "a,c,b\n";
  for (int i = 0; i < 200; ++i) text += cat(i % 60, ",", i % 7, ",", 3 * (i % 60), "\n");
  call_verb(add_train, {"--data", folder.file("line.csv", text), "--label", "b", "--model", folder.model(),
                        "--task", "number"});
  std::string progress;
  const std::string said = call_verb(add_predict, {folder.model(), "-"}, "a,c\n10,1\n300,2\n", &progress);
  EXPECT_NE(said.find("\n177\n"), std::string::npos) << said;
  EXPECT_NE(progress.find("warning: 1 of 2 predictions lay beyond every b"), std::string::npos) << progress;
  EXPECT_TRUE(call_verb(add_predict, {folder.model(), "-", "--mark"}, "a,c\n10,1\n300,2\n")
                  .ends_with("\n177,\"a, b\"\n"));
  // No b is below 0, and a prediction below it says 0 without a word.
  progress.clear();
  EXPECT_NE(call_verb(add_predict, {folder.model(), "-"}, "a,c\n-30,1\n", &progress).find("\n0\n"),
            std::string::npos);
  EXPECT_EQ(progress.find("predictions lay beyond"), std::string::npos) << progress;
}

TEST(TrainTable, ARareLabelTrains) {
  const Folder folder;
  std::string text = "size,kind\n";
  for (int i = 0; i < 60; ++i) text += cat(i, ",", i % 2 ? "odd" : "even", "\n");
  const std::string data = folder.file("rare.csv", text + "99,neither\n");
  for (const char* seed : {"1", "2", "3", "4", "5", "6"}) {
    const auto json = json_of_verb(add_train, {"--data", data, "--label", "kind", "--model", folder.model(),
                                               "--epochs", "1", "--seed", seed});
    EXPECT_EQ(json["test"]["classes"].size(), 3u);
  }
}

TEST(TrainTable, AModelThatDivergedIsNotSaved) {
  const Folder folder;
  const std::string data = folder.file("shapes.csv", shapes_csv(200, 1));
  EXPECT_EQ(rule_of([&] {
              call_verb(add_train, {"--data", data, "--label", "kind", "--model", folder.model(), "--epochs",
                                    "3", "--learning-rate", "1000000", "--hidden", "64,64,64,64,64,64"});
            }),
            "train.diverged");
  EXPECT_FALSE(posix_env().exists(folder.model()));
}

TEST(TrainTable, ALabelOfFewNumbersIsAClassUnlessToldOtherwise) {
  const Folder folder;
  std::string text = "size,stars\n";
  for (int i = 0; i < 80; ++i) text += cat(i % 23, ",", 1 + i % 4, "\n");
  const std::string data = folder.file("stars.csv", text);
  const std::vector<std::string> arguments = {"--data",  data,           "--label",  "stars",
                                              "--model", folder.model(), "--epochs", "1"};
  EXPECT_EQ(json_of_verb(add_train, arguments)["task"], "classification");
  auto number = arguments;
  number.insert(number.end(), {"--task", "number"});
  EXPECT_EQ(json_of_verb(add_train, number)["task"], "regression");
}

TEST(TrainTable, WrongUseIsNamed) {
  const Folder folder;
  const std::string data = folder.file("shapes.csv", shapes_csv(60, 1));
  const auto message = [&](AddVerb add, const std::vector<std::string>& arguments) {
    try {
      call_verb(add, arguments);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(message(add_train, {"--data", data}).find("--label kind"), std::string::npos);
  EXPECT_NE(message(add_train, {"--data", data, "--label", "kid"}).find("kind"), std::string::npos);
  EXPECT_NE(message(add_train, {"--data", data, "--label", "9"}).find("as numbers they go from 1 to 6"),
            std::string::npos);
  EXPECT_NE(message(add_train, {"--data", data, "--label", "kind", "--task", "number"})
                .find("learn it as a class: --task class"),
            std::string::npos);
  EXPECT_NE(message(add_train, {"--data", data, "--label", "kind", "--test-fraction", "1"}).find("share"),
            std::string::npos);
  EXPECT_NE(
      message(add_train, {"--data", folder.file("two.csv", "a,b\n1,x\n2,y\n"), "--label", "b"}).find("few"),
      std::string::npos);
  EXPECT_NE(message(add_predict, {folder.path, data}).find("no saved model"), std::string::npos);
  // Before the training, not after it.
  EXPECT_NE(message(add_train, {"--data", data, "--label", "kind", "--model", data}).find("is no folder"),
            std::string::npos);
  call_verb(add_train, {"--data", data, "--label", "kind", "--model", folder.model(), "--epochs", "1"});
  const std::string few = folder.file("few.csv", "colour,weight\nred,1\n");
  EXPECT_NE(message(add_predict, {folder.model(), few})
                .find("few.csv: the table lacks a column that is needed: \"size\""),
            std::string::npos)
      << message(add_predict, {folder.model(), few});
  const std::string unknown = folder.file("unknown.csv", "colour,weight,size\nred,1,2\n");
  EXPECT_NE(message(add_evaluate, {folder.model(), unknown}).find("`espalier predict` takes rows without it"),
            std::string::npos)
      << message(add_evaluate, {folder.model(), unknown});
  const std::string words = folder.file("words.csv", "colour,weight,size\nred,much,1\nred,little,2\n");
  EXPECT_NE(message(add_predict, {folder.model(), words}).find("no cell of column \"weight\""),
            std::string::npos);
  EXPECT_NE(message(add_predict,
                    {folder.model(), folder.file("none.csv", "colour,weight,size\n"), "--header", "yes"})
                .find("no rows"),
            std::string::npos);
  EXPECT_NE(message(add_export, {folder.model(), "--to", "c", "--out", folder.model() + "/model.c"})
                .find("own folder"),
            std::string::npos);
}

}  // namespace
}  // namespace espalier::cli
