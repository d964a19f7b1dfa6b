#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/interrupt_once_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "espalier/saved_model.h"

namespace espalier::cli {
namespace {

// 40 images of 2x2 in four classes: the one lit pixel is the class.
std::string csv(const std::string& folder) {
  std::string text;
  for (int row = 0; row < 40; ++row) {
    for (int pixel = 0; pixel < 4; ++pixel) text += pixel == row % 4 ? "16," : "0,";
    text += cat(row % 4, "\n");
  }
  return write_file(folder + "/squares.csv", text);
}

// The same in IDX files.
std::string idx(const std::string& folder) {
  const auto header = [](char rank, std::initializer_list<char> sizes) {
    std::string out{0, 0, 8, rank};
    for (const char size : sizes) out += std::string(3, '\0') + size;
    return out;
  };
  std::string images = header(3, {40, 2, 2}), labels = header(1, {40});
  for (int row = 0; row < 40; ++row) {
    for (int pixel = 0; pixel < 4; ++pixel) images += pixel == row % 4 ? '\xff' : '\0';
    labels += static_cast<char>(row % 4);
  }
  write_file(folder + "/train-images-idx3-ubyte", images);
  write_file(folder + "/train-labels-idx1-ubyte", labels);
  return folder;
}

// Where none is named the model goes to a place of its own.
nlohmann::json train(std::vector<std::string> arguments) {
  if (std::ranges::count(arguments, "--model") == 0)
    arguments.insert(
        arguments.end(),
        {"--model",
         fresh_folder(cat("train_", ::testing::UnitTest::GetInstance()->current_test_info()->name())) +
             "/model"});
  for (const char* argument : {"--json", "--hidden", "16", "--batch", "8", "--learning-rate", "0.05"})
    arguments.emplace_back(argument);
  return nlohmann::json::parse(call_verb(add_train, arguments));
}

TEST(TrainVerb, LearnsWhatATableShows) {
  const std::string folder = fresh_folder("train");
  for (const std::string& data : {csv(folder), idx(folder)}) {
    const auto json = train({"--data", data, "--epochs", "30"});
    EXPECT_EQ(json["verb"], "train");
    EXPECT_EQ(json["data"], data);
    EXPECT_EQ(json["train_rows"], 32);
    EXPECT_EQ(json["test_rows"], 8);
    EXPECT_EQ(json["accuracy"], 1.0) << data;
    // Two test rows of each class, all on the diagonal.
    EXPECT_EQ(json["confusion"], nlohmann::json({{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 2}}));
    ASSERT_EQ(json["epochs"].size(), 30u);
    EXPECT_LT(json["epochs"][29]["loss"], json["epochs"][0]["loss"]);
  }
}

TEST(TrainVerb, ASeedDecidesTheRun) {
  const std::string data = csv(fresh_folder("train_seed"));
  const auto once = train({"--data", data, "--epochs", "3", "--seed", "5"});
  EXPECT_EQ(once, train({"--data", data, "--epochs", "3", "--seed", "5", "--threads", "2"}));
  EXPECT_EQ(once["seed"], 5);
  EXPECT_NE(once["epochs"], train({"--data", data, "--epochs", "3", "--seed", "6"})["epochs"]);
}

TEST(TrainVerb, ComputesInTheDTypeAsTold) {
  const std::string data = csv(fresh_folder("train_dtype"));
  const auto f32 = train({"--data", data, "--epochs", "30"});
  const auto bf16 = train({"--data", data, "--epochs", "30", "--dtype", "bf16"});
  EXPECT_EQ(f32["dtype"], "f32");
  EXPECT_EQ(bf16["dtype"], "bf16");
  const auto f16 = train({"--data", data, "--epochs", "30", "--dtype", "f16"});
  EXPECT_EQ(f16["dtype"], "f16");
  EXPECT_EQ(f16["accuracy"], 1.0);
  EXPECT_NEAR(f16["epochs"][0]["loss"], f32["epochs"][0]["loss"], 0.02);
  EXPECT_EQ(bf16["accuracy"], 1.0);
  EXPECT_NE(bf16["epochs"], f32["epochs"]);
  EXPECT_NEAR(bf16["epochs"][0]["loss"], f32["epochs"][0]["loss"], 0.02);
  EXPECT_NE(call_verb(add_train, {"--data", data, "--epochs", "1", "--dtype", "bf16", "--model",
                                  fresh_folder("train_bf16") + "/m"})
                .find(" on 8 images it never saw, computed in bf16\n"),
            std::string::npos);
  EXPECT_THROW(train({"--data", data, "--dtype", "mixed_bfloat16"}), CLI::ValidationError);
}

// So there is nothing to say of it.
TEST(TrainVerb, ItsLastLayerIsInFloat32) {
  const std::string folder = fresh_folder("train_last");
  std::string rows = "x,y\n";
  for (int i = 0; i < 40; ++i) rows += cat(i, ".5,", 2 * i, ".25\n");
  const std::string images = csv(folder), table = write_file(folder + "/table.csv", rows);
  for (const std::string dtype : {"bf16", "f16"}) {
    for (const std::string& data : {images, table + " --label y"}) {
      const std::string model = cat(folder, "/", dtype, data == images ? "_images" : "_table");
      const Outcome outcome = call_command(
          cat("train --data ", data, " --epochs 1 --hidden 4 --dtype ", dtype, " --model ", model));
      EXPECT_EQ(outcome.code, 0) << outcome.error;
      EXPECT_EQ(outcome.error.find("float32"), std::string::npos) << outcome.error;
      LoadedModel loaded = load_model(model);
      Shape batch = loaded.input_rows()[0].shape;
      batch.insert(0, 2);
      EXPECT_EQ(loaded.predict(full(batch, 0.5)).dtype(), DType::kF32) << data << dtype;
    }
  }
}

TEST(TrainVerb, SharesOutTheRowsAsTold) {
  const std::string data = csv(fresh_folder("train_fraction"));
  const auto json = train({"--data", data, "--epochs", "0", "--test-fraction", "0.5"});
  EXPECT_EQ(json["train_rows"], 20);
  EXPECT_EQ(json["test_rows"], 20);
  EXPECT_EQ(json["epochs"].size(), 0u);
  for (const char* fraction : {"0", "1"})
    EXPECT_THROW(train({"--data", data, "--test-fraction", fraction}), ValueError) << fraction;
  for (const auto& [fraction, message] : {std::pair{"-0.5", "-0.5 is not from 0 to 1"},
                                          {"nan", "nan is not from 0 to 1"},
                                          {"20", "20 is not from 0 to 1"},
                                          {"0,2", "\"0,2\" is no number: the decimal sign is a point"}}) {
    const Outcome outcome = call_command(cat("train --data ", data, " --test-fraction ", fraction));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.error.find(message), std::string::npos) << outcome.error;
  }
}

TEST(TrainVerb, PeopleSeeProgressATableAndTheAccuracy) {
  const std::string folder = fresh_folder("train_text"), data = csv(folder);
  std::string progress;
  const std::string text = call_verb(add_train,
                                     {"--data", data, "--epochs", "30", "--hidden", "16", "--batch", "8",
                                      "--learning-rate", "0.05", "--model", folder + "/model"},
                                     "", &progress);
  EXPECT_EQ(progress, "40 images of 2x2, labels 0 to 3; the last 8 rows are the test\n")
      << "epochs are for terminals";
  EXPECT_TRUE(text.starts_with("rows are the true digit, columns what the model says\n")) << text;
  EXPECT_NE(text.find("\n3                .        .        .        2  100.0 %\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("accuracy 100.00 % on 8 images it never saw\n"), std::string::npos) << text;
  EXPECT_NE(text.find(cat("\nsaved ", folder, "/model/: the model, and the names of its classes\n",
                          "next: espalier evaluate ", folder, "/model ", data, "\n")),
            std::string::npos)
      << text;
}

TEST(TrainVerb, CtrlCSavesARunOfImagesAndResumeGoesOnToTheSameModel) {
  const std::string folder = fresh_folder("train_resume"), data = csv(folder), model = folder + "/model";
  std::vector<std::string> arguments = {"--data", data, "--epochs", "2000", "--model", model};
  const auto weights = [&] { return posix_env().read_file(model + "/weights.safetensors"); };
  const nlohmann::json whole = train(arguments);
  const std::string wanted = weights();
  std::filesystem::remove_all(model);
  {
    const InterruptOnce interrupt(SIGINT);
    EXPECT_THROW(train(arguments), Exit);
  }
  EXPECT_FALSE(posix_env().exists(model));
  EXPECT_EQ(rule_of([&] { train(arguments); }), "train.resume");
  arguments.insert(arguments.end(), {"--resume", "--checkpoint-every", "700"});
  EXPECT_EQ(train(arguments), whole);
  EXPECT_EQ(weights(), wanted);
  EXPECT_FALSE(posix_env().exists(model + ".checkpoint"));
}

TEST(TrainVerb, CtrlCOfARunWithoutAPlaceSaysThatNothingIsSaved) {
  const std::string folder = fresh_folder("train_stopped"), few = posix_env().read_file(csv(folder));
  std::string many;
  for (int i = 0; i < 2000; ++i) many += few;
  const std::string data = write_file(folder + "/many.csv", many);
  const InterruptOnce interrupt(SIGINT);
  std::string said;
  try {
    call_verb(add_quickstart, {"--data", data}, "", &said);
    ADD_FAILURE() << "it was not interrupted";
  } catch (const Exit& exit) {
    EXPECT_EQ(exit.code, 130);
  }
  EXPECT_NE(said.find(cat("interrupted; nothing is saved: `espalier train --data ", data,
                          "` keeps a run for --resume\n")),
            std::string::npos)
      << said;
}

TEST(TrainVerb, AModelOfOtherImagesIsReplacedByForceAlone) {
  const std::string folder = fresh_folder("train_replaced"), data = csv(folder), model = folder + "/model";
  const auto again = [&](const std::string& rows, std::vector<std::string> more) {
    more.insert(more.begin(), {"--data", rows, "--model", model});
    return rule_of([&] { train(more); });
  };
  EXPECT_EQ(again(data, {"--epochs", "2"}), "nothing");
  const std::string text =
      call_verb(add_train, {"--data", data, "--model", model, "--epochs", "1", "--hidden", "3"});
  EXPECT_NE(text.find(cat("replaced ", model, "/: ")), std::string::npos) << text;
  EXPECT_EQ(again(data, {"--epochs", "0"}), "train.model") << "it has learned";
  const std::string fewer = write_file(folder + "/fewer.csv", "1,2,3,4,0\n1,2,3,4,1\n1,2,3,4,0\n1,2,3,4,1\n");
  EXPECT_EQ(again(fewer, {"--test-fraction", "0.5"}), "train.model");
  const std::string table =
      write_file(folder + "/table.csv", "a,kind\n1,x\n2,y\n3,x\n4,y\n5,x\n6,y\n7,x\n8,y\n");
  EXPECT_EQ(again(table, {"--label", "kind"}), "train.model");
  EXPECT_EQ(posix_env().exists(model + "/images.json"), true);
  EXPECT_EQ(again(table, {"--label", "kind", "--force"}), "nothing");
  EXPECT_FALSE(posix_env().exists(model + "/images.json"));
  EXPECT_EQ(again(fewer, {"--test-fraction", "0.5", "--force"}), "nothing");
  EXPECT_FALSE(posix_env().exists(model + "/columns.json"));
  std::ofstream(model + "/mine.txt") << "mine";
  EXPECT_EQ(again(table, {"--label", "kind", "--force"}), "save.path") << "what is no model's is kept";
  std::filesystem::remove_all(model);
  EXPECT_EQ(again(table, {"--label", "kind"}), "nothing");
  EXPECT_EQ(again(data, {"--epochs", "2"}), "train.model") << "and neither is a table's by one of images";
}

TEST(TrainVerb, AKilledRunGoesOnFromItsLastCheckpointToTheSameModel) {
  const std::string folder = fresh_folder("train_killed"), data = csv(folder), model = folder + "/model";
  std::vector<std::string> arguments = {"--data", data, "--epochs", "3000", "--model", model};
  const auto weights = [&] { return posix_env().read_file(model + "/weights.safetensors"); };
  const nlohmann::json whole = train(arguments);
  const std::string wanted = weights(), command = build_folder() + "/espalier";
  std::filesystem::remove_all(model);
  const pid_t child = fork();
  if (child == 0) {
    const int quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, STDOUT_FILENO);
    dup2(quiet, STDERR_FILENO);
    execl(command.c_str(), "espalier", "train", "--data", data.c_str(), "--epochs", "3000", "--model",
          model.c_str(), "--hidden", "16", "--batch", "8", "--learning-rate", "0.05", "--checkpoint-every",
          "7", nullptr);
    _exit(127);
  }
  int status = 0;
  while (!posix_env().exists(model + ".checkpoint") && waitpid(child, &status, WNOHANG) == 0) usleep(1000);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it had ended before";
  EXPECT_FALSE(posix_env().exists(model));
  EXPECT_EQ(rule_of([&] { train(arguments); }), "train.resume");
  arguments.emplace_back("--resume");
  EXPECT_EQ(train(arguments), whole);
  EXPECT_EQ(weights(), wanted);
}

TEST(TrainVerb, ASavedModelOfImagesIsQuantizedAndTheCostIsSaid) {
  const std::string folder = fresh_folder("train_quantize"), data = csv(folder), model = folder + "/model";
  train({"--data", data, "--epochs", "30", "--model", model});
  for (const std::string& rows : {data, idx(folder)}) {
    const std::string small = folder + "/small";
    std::filesystem::remove_all(small);
    const auto json = nlohmann::json::parse(
        call_verb(add_quantize, {model, "--calibrate", rows, "--out", small, "--json"}));
    EXPECT_EQ(json["cost"],
              nlohmann::json({{"rows", 40}, {"metric", "accuracy"}, {"before", 1.0}, {"after", 1.0}}));
    EXPECT_EQ(nlohmann::json::parse(call_verb(add_evaluate, {small, data, "--json"}))["accuracy"], 1.0);
  }
  EXPECT_EQ(
      rule_of([&] {
        call_verb(add_quantize, {model, "--calibrate", data, "--out", folder + "/x", "--delimiter", ","});
      }),
      "quantize.images");
}

TEST(TrainVerb, ASavedModelOfImagesIsEvaluatedOnOthers) {
  const std::string folder = fresh_folder("train_evaluate"), data = csv(folder), model = folder + "/model";
  train({"--data", data, "--epochs", "30", "--model", model});
  for (const std::string& other : {data, idx(folder)}) {
    const auto json = nlohmann::json::parse(call_verb(add_evaluate, {model, other, "--json"}));
    EXPECT_EQ(json["rows"], 40);
    EXPECT_EQ(json["accuracy"], 1.0);
    EXPECT_EQ(json["confusion"][2], nlohmann::json({0, 0, 10, 0}));
    // What it was trained on says too much. Pixels up to 255 are other ones than those up to 16.
    EXPECT_EQ(json["warnings"].size(), other == data ? 1u : 0u);
  }
  // Three images of the class 1, one of which shows the class 2.
  const std::string some = write_file(folder + "/some.csv", "0,16,0,0,1\n0,16,0,0,1\n0,0,16,0,1\n");
  const auto json = nlohmann::json::parse(call_verb(add_evaluate, {model, some, "--json"}));
  EXPECT_EQ(json["confusion"][1], nlohmann::json({0, 2, 1, 0}));
  const std::string text = call_verb(add_evaluate, {model, some});
  EXPECT_NE(text.find("accuracy 66.67 % on 3 images\n"), std::string::npos) << text;

  const auto rule = [&](AddVerb add, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), model);
    return rule_of([&] { call_verb(add, arguments); });
  };
  EXPECT_EQ(rule(add_evaluate, {write_file(folder + "/high.csv", "0,16,0,0,7\n")}), "evaluate.images");
  EXPECT_EQ(rule(add_evaluate, {write_file(folder + "/one.csv", "16,1\n")}), "evaluate.images");
  EXPECT_EQ(rule(add_evaluate, {some, "--header", "no"}), "evaluate.images");
  EXPECT_EQ(rule(add_check, {some, "--init"}), "model.columns");
  EXPECT_NE(call_command(cat("check ", model, " ", some, " --init"))
                .error.find("models of images go with evaluate"),
            std::string::npos);
  EXPECT_NE(call_verb(add_info, {model}).find("a row is f32[2,2]"), std::string::npos);
}

TEST(TrainVerb, RefusesWrongFlagsAndFiles) {
  const std::string folder = fresh_folder("train_wrong"), data = csv(folder);
  EXPECT_THROW(train({}), CLI::RequiredError);
  EXPECT_THROW(train({"--data", data, "--epochs", "-1"}), CLI::ValidationError);
  EXPECT_THROW(train({"--data", data, "--batch", "0"}), CLI::ValidationError);
  const auto refusal = [&](const char* flag, const char* value) -> std::string {
    try {
      train({"--data", data, flag, value});
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("--epochs", "three"), "--epochs: \"three\" is no whole number");
  EXPECT_EQ(refusal("--batch", "2.5"), "--batch: \"2.5\" is no whole number");
  EXPECT_EQ(refusal("--batch", "9999999999999999999"),
            "--batch: 9999999999999999999 is not from 1 to 1073741824");
  EXPECT_EQ(refusal("--hidden", "64,,32"), "--hidden: \"\" is no whole number");
  EXPECT_EQ(refusal("--hidden", "64,0"), "--hidden: 0 is not from 1 to 1048576");
  EXPECT_EQ(refusal("--learning-rate", "fast"), "--learning-rate: \"fast\" is no number");
  EXPECT_THROW(train({"--data", data, "--epoch", "3"}), CLI::ExtrasError);
  EXPECT_THROW(train({"--data", folder + "/absent.csv"}), IoError);
  EXPECT_THROW(train({"--data", write_file(folder + "/wrong.csv", "1,2,3\n")}), FormatError);
  const std::string words = write_file(folder + "/words.csv", "1,2,3,4,0\n1,2,x,4,0\n");
  try {
    train({"--data", words});
    FAIL() << "a word was read as a number";
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("words.csv"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
  }
}

TEST(QuickstartVerb, TrainsOnGivenDigitsAndNamesWhatComesNext) {
  const std::string data = csv(fresh_folder("quickstart"));
  std::string progress;
  const std::string text = call_verb(add_quickstart, {"--data", data}, "", &progress);
  EXPECT_TRUE(progress.starts_with(cat("training on the digits of ", data, "\n"))) << progress;
  for (const char* part : {"true ", "precision ", "accuracy ", "\nnext:\n", "make test", "info --ops"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  const auto json = nlohmann::json::parse(call_verb(add_quickstart, {"--data", data, "--json"}));
  EXPECT_EQ(json["verb"], "quickstart");
  EXPECT_EQ(json["epochs"].size(), 5u);
  EXPECT_THROW(call_verb(add_quickstart, {"--data", "/nowhere"}), IoError);
}

TEST(QuickstartVerb, FindsMnistInTheFolderOfDataSets) {
  const std::string folder = fresh_folder("quickstart-sets");
  const std::string command = std::filesystem::absolute(cat(build_folder(), "/espalier")).string();
  std::filesystem::create_directories(folder + "/sets/mnist");
  std::filesystem::create_directories(folder + "/build/data/mnist");
  idx(folder + "/sets/mnist");
  const auto begins = [&](const std::string& variable, const std::string& place) {
    const Outcome outcome = call_shell(cat("cd ", folder, " && ", variable, " ", command, " quickstart"));
    EXPECT_TRUE(outcome.error.starts_with(cat("training on the digits of ", place, "\n"))) << outcome.error;
    return outcome.code;
  };
  EXPECT_EQ(begins("ESPALIER_DATA=sets", "sets/mnist"), 0);
  EXPECT_EQ(begins("env -u ESPALIER_DATA", "build/data/mnist"), 2) << "it is empty";
}

// As where the command is installed: no sources, no Makefile.
TEST(QuickstartVerb, ElsewhereItHasDigitsOfItsOwn) {
  const std::string folder = fresh_folder("quickstart-elsewhere");
  const std::string command = std::filesystem::absolute(cat(build_folder(), "/espalier")).string();
  Outcome outcome = call_shell(cat("cd ", folder, " && env -u ESPALIER_DATA ", command, " quickstart"));
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_NE(outcome.error.find("training on the digits of "), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.output.find("make test"), std::string::npos) << outcome.output;
  for (const char* part :
       {"info --ops", "train --data table.csv --label COLUMN", "digits.csv.gz --hidden 256"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
  // A copy without them names what is there.
  outcome =
      call_shell(cat("cd ", folder, " && cp ", command, " alone && env -u ESPALIER_DATA ./alone quickstart"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find("no digits lie beside"), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("train --data table.csv --label COLUMN"), std::string::npos) << outcome.error;
}

}  // namespace
}  // namespace espalier::cli
