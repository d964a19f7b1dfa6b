// Runs of plans, beside those of flags.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "plan/plan.h"

namespace espalier::cli {
namespace {

struct TrainPlans : testing::Test {
  // Relative, as the paths of a plan are.
  std::string folder =
      std::filesystem::relative(
          fresh_folder(cat("plans-", testing::UnitTest::GetInstance()->current_test_info()->name())))
          .string();

  std::string file(const std::string& name, const std::string& text) const {
    return write_file(folder + "/" + name, text);
  }
  // A class and a number that follow from a size and a colour; small ones are rare.
  std::string table(int rows = 200) const {
    Philox random(3);
    std::string text = "size,colour,price,kind\n";
    for (int i = 0; i < rows; ++i) {
      const float size = random.uniform() * 10;
      const bool red = random.below(2);
      text +=
          cat(size, red ? ",red," : ",blue,", size * (red ? 2.0f : 1.0f), size < 1 ? ",small\n" : ",big\n");
    }
    return file("table.csv", text);
  }
  // Images of 2x2, the lit pixel is the class.
  std::string images() const {
    std::string text;
    for (int row = 0; row < 40; ++row) {
      for (int pixel = 0; pixel < 4; ++pixel) text += pixel == row % 4 ? "16," : "0,";
      text += cat(row % 4, "\n");
    }
    return file("images.csv", text);
  }
  std::string weights(const std::string& model) const {
    return posix_env().read_file(folder + "/" + model + "/weights.safetensors");
  }
  nlohmann::json run(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    return nlohmann::json::parse(call_verb(add_train, arguments));
  }
  std::string message(const std::vector<std::string>& arguments) const {
    try {
      call_verb(add_train, arguments);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(TrainPlans, TheWrittenPlanGivesTheBitsOfItsFlags) {
  const std::string data = table();
  const std::vector<std::string> flags = {
      "--data",          data,   "--label",  "kind", "--model",  folder + "/flags",
      "--hidden",        "9,5",  "--epochs", "9",    "--batch",  "16",
      "--learning-rate", "0.02", "--seed",   "4",    "--ignore", "price",
      "--delimiter",     ",",    "--header", "yes"};
  const auto by_flags = run(flags);
  auto writing = flags;
  writing[5] = folder + "/plan";
  writing.insert(writing.end(), {"--write-plan", "--out", folder + "/plan.toml"});
  std::string progress;
  EXPECT_EQ(call_verb(add_train, writing, "", &progress),
            cat("next: espalier train ", folder, "/plan.toml\n"));
  const std::string text = posix_env().read_file(folder + "/plan.toml");
  EXPECT_FALSE(posix_env().exists(folder + "/plan"));
  EXPECT_EQ(progress, "");
  auto by_plan = run({folder + "/plan.toml"});
  EXPECT_TRUE(weights("plan") == weights("flags"));
  by_plan["model"] = by_flags["model"];
  by_plan["data"] = by_flags["data"];
  by_plan["run"] = by_flags["run"];  // the plan says where the model goes
  EXPECT_EQ(by_plan, by_flags);
  // From standard input, as the verb itself says it again.
  EXPECT_EQ(call_verb(add_train, {"-", "--write-plan"}, text), text);
  writing[3] = "knid";
  EXPECT_EQ(rule_of([&] { call_verb(add_train, writing); }), "csv.column");
  // Nothing of what happens is hidden.
  for (const char* part : {"EarlyStopping", "ReduceLROnPlateau", "he_normal", "rate = 0.1", "beta_2 = 0.999"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(TrainPlans, ThePlanOfImagesGivesTheBitsOfItsFlags) {
  const std::vector<std::string> flags = {"--data",   images(), "--hidden", "7",
                                          "--epochs", "3",      "--batch",  "8"};
  auto saving = flags;
  saving.insert(saving.end(), {"--model", folder + "/flags"});
  const auto by_flags = run(saving);
  auto writing = flags;
  writing.insert(writing.end(),
                 {"--model", folder + "/plan", "--write-plan", "--out", folder + "/plan.toml"});
  call_verb(add_train, writing);
  const std::string text = posix_env().read_file(folder + "/plan.toml");
  EXPECT_NE(text.find("Flatten"), std::string::npos) << text;
  EXPECT_EQ(run({folder + "/plan.toml"})["epochs"], by_flags["epochs"]);
  EXPECT_TRUE(weights("plan") == weights("flags"));
  // Also what saves the run on its way.
  const auto saved = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--data", folder + "/images.csv", "--checkpoint-every", "7", "--write-plan"});
    return read_plan(call_verb(add_train, more), "written").fit.checkpoint_every;
  };
  EXPECT_EQ(saved({"--model", "m"}), 7);
  EXPECT_EQ(saved({"--label", "1", "--model", "m"}), 7);
  const std::string places =
      file("places.toml", "[data]\nfile = \"images.csv\"\n[fit]\ncheckpoint_every = 7\n");
  EXPECT_EQ(rule_of([&] { run({places, "--model", ""}); }), "save.path") << "it has no place";
  EXPECT_EQ(run({places, "--model", folder + "/m"})["train_rows"], 32);
}

TEST_F(TrainPlans, FlagsCountMoreThanThePlanAndThePlanMoreThanDefaults) {
  table();
  const std::string plan = file("plan.toml",
                                "[data]\nfile = \"table.csv\"\nlabel = \"price\"\nheader = \"yes\"\n"
                                "[model]\npath = \"model\"\n[[model.layers]]\ntype = \"Dense\"\nunits = 3\n"
                                "[optimizer]\ntype = \"SGD\"\nmomentum = 0.5\n[fit]\nepochs = 2\nseed = 7\n");
  const auto written = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), plan);
    flags.emplace_back("--write-plan");
    return read_plan(call_verb(add_train, flags), "written");
  };
  const TrainPlan alone = written({});
  EXPECT_EQ(alone.data.label, "price");
  EXPECT_EQ(alone.fit.epochs, 2);
  EXPECT_EQ(alone.fit.seed, 7u);
  EXPECT_EQ(alone.fit.batch_size, 64);
  EXPECT_EQ(alone.model.layers.size(), 1u);
  EXPECT_EQ(alone.callbacks.size(), 2u);
  const TrainPlan both = written({"--label",
                                  "kind",
                                  "--epochs",
                                  "3",
                                  "--seed",
                                  "0",
                                  "--dtype",
                                  "f32",
                                  "--learning-rate",
                                  "0.5",
                                  "--hidden",
                                  "4",
                                  "--model",
                                  "elsewhere",
                                  "--task",
                                  "class",
                                  "--test-fraction",
                                  "0.5",
                                  "--header",
                                  "guess",
                                  "--batch",
                                  "8",
                                  "--delimiter",
                                  "tab",
                                  "--names",
                                  "a,b",
                                  "--ignore",
                                  "a",
                                  "--test",
                                  "t.csv",
                                  "--strip-label-dots",
                                  "--merge-labels",
                                  "--checkpoint-every",
                                  "5",
                                  "--data",
                                  "d.csv"});
  EXPECT_EQ(both.data.label, "kind");
  EXPECT_EQ(both.fit.epochs, 3);
  EXPECT_EQ(both.fit.seed, 0u);
  EXPECT_EQ(both.fit.batch_size, 8);
  EXPECT_EQ(both.fit.checkpoint_every, 5);
  EXPECT_EQ(std::get<double>(std::get<OptimizerOf<SGD>>(both.optimizer).learning_rate), 0.5);
  EXPECT_EQ(std::get<OptimizerOf<SGD>>(both.optimizer).rule.momentum, 0.5);
  EXPECT_EQ(std::get<DensePlan>(both.model.layers.at(0)).units, 4);
  EXPECT_EQ(both.model.path, "elsewhere");
  EXPECT_EQ(both.data.file, "d.csv");
  EXPECT_EQ(both.data.test, "t.csv");
  EXPECT_EQ(both.data.task, "class");
  EXPECT_EQ(both.data.test_fraction, 0.5);
  EXPECT_EQ(both.data.header, "guess");
  EXPECT_EQ(both.data.delimiter, "\t");
  EXPECT_EQ(both.data.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(both.data.ignore, (std::vector<std::string>{"a"}));
  EXPECT_TRUE(both.data.strip_label_dots);
  EXPECT_TRUE(both.data.merge_labels);
  // A label beside a plan makes it one for tables, with their defaults.
  const std::string bare = file("bare.toml", "[data]\nfile = \"table.csv\"\n");
  EXPECT_EQ(read_plan(call_verb(add_train, {bare, "--label", "kind", "--write-plan"}), "written").fit.epochs,
            60);
}

TEST_F(TrainPlans, PathsInAPlanBeginAtItsFolder) {
  table();
  const std::string plan =
      file("plan.toml",
           "[data]\nfile = \"table.csv\"\nlabel = \"kind\"\n[model]\npath = \"m\"\n"
           "[fit]\nepochs = 2\n[[callbacks]]\ntype = \"CSVLogger\"\npath = \"log.csv\"\n");
  run({plan});
  const std::string bits = weights("m");
  EXPECT_TRUE(posix_env().read_file(folder + "/log.csv").starts_with("epoch,"));
  // Written into a folder it is right for that folder.
  std::filesystem::create_directories(folder + "/inner");
  call_verb(add_train, {plan, "--write-plan", "--out", folder + "/inner/plan.toml"});
  const std::string text = posix_env().read_file(folder + "/inner/plan.toml");
  EXPECT_NE(text.find("file = \"../table.csv\""), std::string::npos) << text;
  std::filesystem::remove_all(folder + "/m");
  run({folder + "/inner/plan.toml"});
  EXPECT_TRUE(weights("m") == bits);
}

using TrainPlansSlow = TrainPlans;
TEST_F(TrainPlansSlow, EveryPartOfAPlanActs) {
  const std::string data = table();
  const std::string head = cat("[data]\nfile = \"", std::filesystem::path(data).filename().string(),
                               "\"\nlabel = \"kind\"\nignore = [\"price\"]\n");
  const auto bits = [&](const std::string& rest, const std::string& epochs = "2") {
    call_verb(add_train, {file("plan.toml", head + rest), "--epochs", epochs, "--json"});
    return weights("model");
  };
  const std::string plain = bits("");
  EXPECT_EQ(bits("[optimizer]\ntype = \"Adam\"\n[loss]\ntype = \"SparseCategoricalCrossentropy\"\n"), plain);
  std::vector<std::string> others = {plain};
  for (const char* part :
       {"validation_fraction = 0.3",
        "max_categories = 1",
        "missing = [\"blue\"]",
        "[[model.layers]]\ntype = \"ReLU\"",
        "[[model.layers]]\ntype = \"Dense\"\nunits = 5\nkernel_regularizer = { l1 = 0.1 }",
        "[[model.layers]]\ntype = \"Dense\"\nunits = 5",
        "[[model.layers]]\ntype = \"Dense\"\nunits = 5\nkernel_initializer = { type = \"Constant\", value = "
        "1 }",
        "[[model.layers]]\ntype = \"Dense\"\nunits = 5\nactivation = \"gelu\"\nuse_bias = false",
        "[[model.layers]]\ntype = \"BatchNormalization\"",
        "[[model.layers]]\ntype = \"LayerNormalization\"",
        "[[model.layers]]\ntype = \"Activation\"\nactivation = \"tanh\"",
        "[[model.layers]]\ntype = \"Dropout\"\nrate = 0.5",
        "[optimizer]\ntype = \"SGD\"",
        "[optimizer]\ntype = \"AdamW\"",
        "[optimizer]\ntype = \"RMSprop\"",
        "[optimizer]\ntype = \"Adagrad\"",
        "[optimizer]\nclipvalue = 0.001",
        "[optimizer]\nbeta_1 = 0.5",
        "[optimizer]\nlearning_rate = { schedule = \"cosine\", initial_learning_rate = 0.001, decay_steps = "
        "4 }",
        "[optimizer]\nlearning_rate = { schedule = \"exponential\", initial_learning_rate = 0.001, "
        "decay_steps = 4, "
        "decay_rate = 0.5 }",
        "[optimizer]\nlearning_rate = { schedule = \"polynomial\", initial_learning_rate = 0.001, "
        "decay_steps = 4 }",
        "[optimizer]\nlearning_rate = { schedule = \"piecewise_constant\", boundaries = [1], values = [0.1, "
        "0.01] }",
        "[fit]\nshuffle = false",
        "[fit]\nsteps_per_epoch = 1",
        "[fit]\nclass_weight = \"balanced\"",
        "[fit]\nclass_weight = { small = 3 }"}) {
    others.push_back(bits(part));
    for (size_t i = 0; i + 1 < others.size(); ++i) EXPECT_TRUE(others[i] != others.back()) << part;
  }
  // Callbacks act, and only those that stand there.
  const auto epochs = [&](const std::string& top, const std::string& rest) {
    return run({file("plan.toml", top + head + rest), "--epochs", "5"})["epochs"].get<int>();
  };
  EXPECT_EQ(epochs("", "[[callbacks]]\ntype = \"EarlyStopping\"\nmonitor = \"loss\"\nmode = \"max\"\n"), 2);
  EXPECT_EQ(epochs("", "[[callbacks]]\ntype = \"TerminateOnNaN\"\n"), 5);
  call_verb(add_train,
            {file("plan.toml", head + "[[callbacks]]\ntype = \"ModelCheckpoint\"\npath = \"at-{epoch}\"\n"),
             "--epochs", "2"});
  EXPECT_TRUE(posix_env().exists(folder + "/at-2/model.json"));
}

TEST_F(TrainPlans, LossesAndMetricsFitTheLabel) {
  table();
  const auto plan = [&](const char* label, const std::string& rest) {
    return file("plan.toml",
                cat("[data]\nfile = \"table.csv\"\nlabel = \"", label, "\"\n[fit]\nepochs = 2\n", rest));
  };
  std::string squares;
  for (const char* loss : {"MeanAbsoluteError", "Huber", "MeanSquaredError"}) {
    call_verb(add_train,
              {plan("price", cat("metrics = [\"mean_absolute_error\"]\n[loss]\ntype = \"", loss, "\"\n"))});
    EXPECT_TRUE(weights("model") != squares) << loss;
    squares = weights("model");
  }
  call_verb(add_train, {plan("price", "")});
  EXPECT_TRUE(weights("model") == squares);
  std::filesystem::remove_all(folder + "/model");
  EXPECT_NE(message({plan("kind", "[loss]\ntype = \"Huber\"\n")}).find("the label is a class"),
            std::string::npos);
  EXPECT_NE(
      message({plan("price", "[loss]\ntype = \"SparseCategoricalCrossentropy\"\n")}).find("is a number"),
      std::string::npos);
  EXPECT_NE(message({plan("price", "metrics = [\"accuracy\"]\n")}).find("accuracy is of classes"),
            std::string::npos);
  EXPECT_NE(message({plan("price", "class_weight = \"balanced\"\n")}).find("is a number"), std::string::npos);
  const std::string unknown = message({plan("kind", "class_weight = { smal = 3 }\n")});
  EXPECT_NE(unknown.find("did you mean \"small\""), std::string::npos) << unknown;
}

// What only the data can prove wrong is named with its place, unless a flag says it.
TEST_F(TrainPlans, AFileThatIsNotThereHasItsLine) {
  table();
  const std::string plan = file("plan.toml", "[data]\nlabel = \"kind\"\nfile = \"tabel.csv\"\n");
  EXPECT_NE(message({plan}).find("plan.toml, line 3, column 8: cannot read "), std::string::npos)
      << message({plan});
  EXPECT_NE(message({plan}).find("did you mean "), std::string::npos);
}

TEST_F(TrainPlans, MistakesAboutTheDataNameTheLineOfThePlan) {
  table();
  const auto said = [&](const std::string& data, const std::string& rest = "",
                        std::vector<std::string> more = {}) {
    more.insert(more.begin(), file("plan.toml", cat("[data]\nfile = \"table.csv\"\n", data,
                                                    "\n[fit]\nepochs = 0\n", rest)));
    return message(more);
  };
  const auto expect = [&](const std::string& text, const std::string& place, const std::string& part) {
    EXPECT_NE(text.find(cat("plan.toml, ", place, ": ")), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string label = "label = \"kind\"";
  expect(said("label = \"knid\""), "line 3, column 9", "knid");
  expect(said(label + "\nignore = [\"size\", \"prize\"]"), "line 4, column 19", "prize");
  expect(said(label + "\ninclude = [\n  \"prize\"]"), "line 5, column 3", "prize");
  expect(said(label, "class_weight = { tiny = 3 }"), "line 6, column 16", "tiny");
  expect(said(label, "metrics = [\"r2_score\"]"), "line 6, column 11", "numbers");
  expect(said(label, "[loss]\ntype = \"MeanSquaredError\""), "line 6, column 1", "numbers");
  expect(said("label = \"price\"", "[model]\nthreshold = 0.5"), "line 7, column 13", "two classes");
  const std::string flag = said(label, "", {"--label", "knid"});
  EXPECT_EQ(flag.find("plan.toml"), std::string::npos) << flag;
}

TEST_F(TrainPlans, ConvolutionsOnImages) {
  images();
  const auto json = run({file("plan.toml",
                              "[data]\nfile = \"images.csv\"\n[fit]\nepochs = 30\nbatch_size = 8\n"
                              "[optimizer]\nlearning_rate = 0.05\n"
                              "[[model.layers]]\ntype = \"Reshape\"\ntarget_shape = [2, 2, 1]\n"
                              "[[model.layers]]\ntype = \"Conv2D\"\nfilters = 8\nkernel_size = [2, 2]\n"
                              "padding = \"same\"\nactivation = \"relu\"\n"
                              "[[model.layers]]\ntype = \"MaxPooling2D\"\npool_size = [1, 2]\n"
                              "[[model.layers]]\ntype = \"Flatten\"\n")});
  EXPECT_EQ(json["accuracy"], 1.0);
}

TEST_F(TrainPlans, WhatCallbacksCannotWatchOrWriteIsSaidBeforeTheTraining) {
  table();
  const auto plan = [&](const std::string& callback) {
    return file("plan.toml", cat("[data]\nfile = \"table.csv\"\nlabel = \"kind\"\n[model]\npath = \"m\"\n",
                                 "[fit]\nepochs = 2\n[optimizer]\nlearning_rate = { schedule = \"cosine\", "
                                 "initial_learning_rate = 0.01, decay_steps = 9 }\n[[callbacks]]\n",
                                 callback));
  };
  const auto said = [&](const std::string& callback) { return message({plan(callback)}); };
  EXPECT_NE(
      said("type = \"ReduceLROnPlateau\"\nmonitor = \"val_xyz\"\n")
          .find("plan.toml, line 12, column 11: callbacks[0].monitor: unknown value of this run \"val_xyz\""),
      std::string::npos);
  EXPECT_NE(said("type = \"CSVLogger\"\npath = \"no/log.csv\"\n")
                .find("plan.toml, line 12, column 8: callbacks[0].path: there is no folder "),
            std::string::npos);
  EXPECT_NE(said("type = \"ModelCheckpoint\"\npath = \"no/ck\"\n")
                .find("plan.toml, line 12, column 8: callbacks[0].path: there is no folder "),
            std::string::npos);
  EXPECT_FALSE(posix_env().exists(folder + "/m"));
  const std::string several = said(
      "type = \"CSVLogger\"\npath = \"no/log.csv\"\n[[callbacks]]\ntype = "
      "\"ModelCheckpoint\"\npath = \"none/{epoch}\"\n");
  for (const std::string& part : {cat("plan.toml, line 12, column 8: callbacks[0].path: ", folder, "/no\n"),
                                  cat("plan.toml, line 15, column 8: callbacks[1].path: ", folder, "/none"),
                                  cat("mkdir -p ", folder, "/no ")})
    EXPECT_NE(several.find(part), std::string::npos) << several;
  std::string progress;
  call_verb(add_train, {plan("type = \"ReduceLROnPlateau\"\n")}, "", &progress);
  EXPECT_NE(progress.find("note: plan.toml, line 10, column 1: ReduceLROnPlateau has nothing to do"),
            std::string::npos)
      << progress;
}

TEST_F(TrainPlans, ACheckpointOfATableIsAModelOfATable) {
  const std::string data = table();
  const std::string plan =
      file("plan.toml",
           "[data]\nfile = \"table.csv\"\nlabel = \"kind\"\nlicence = \"CC0\"\n[model]\npath = \"m\"\n"
           "compare_linear = false\n[fit]\nepochs = 2\n[[callbacks]]\ntype = \"ModelCheckpoint\"\n"
           "path = \"at-{epoch}\"\n");
  run({plan});
  const auto said = [&](AddVerb add, const std::string& model, std::vector<std::string> more) {
    more.insert(more.begin(), folder + "/" + model);
    return call_verb(add, more);
  };
  EXPECT_EQ(said(add_predict, "at-2", {data}), said(add_predict, "m", {data}));
  EXPECT_EQ(said(add_evaluate, "at-2", {data}).substr(0, 300), said(add_evaluate, "m", {data}).substr(0, 300))
      << "of the test rows";
  EXPECT_NE(said(add_predict, "at-1", {data, "--all"}), said(add_predict, "m", {data, "--all"}));
  EXPECT_NE(said(add_lineage, "at-2", {}).find("CC0"), std::string::npos);
  EXPECT_NE(said(add_info, "at-2", {}).find("kind"), std::string::npos);
}

TEST_F(TrainPlans, WrongUseIsNamed) {
  const std::string data = table();
  EXPECT_NE(message({data}).find(cat("--data ", data)), std::string::npos) << message({data});
  EXPECT_NE(message({folder + "/absent.toml"}).find("absent.toml"), std::string::npos);
  EXPECT_NE(message({file("empty.toml", "")}).find("add --data FILE"), std::string::npos);
  EXPECT_NE(message({"-", "--data", "-", "--label", "kind"}).find("elsewhere"), std::string::npos);
  EXPECT_NE(message({"--data", data, "--write-plan"}).find("add --label kind"), std::string::npos);
  EXPECT_EQ(
      rule_of([&] {
        call_verb(add_train, {"--data", data, "--label", "kind", "--write-plan", "--test-fraction", "1"});
      }),
      "train.test_fraction");
  const Outcome outcome = call_command("train " + file("wrong.toml", "[fit]\nepoch = 3\n"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find("wrong.toml, line 2, column 1: unknown key of fit"), std::string::npos)
      << outcome.error;
  const Outcome adam = call_command(
      "train " +
      file("sgd.toml", "[optimizer]\ntype = \"SGD\"\nbeta_1 = 0.9\nbeta_2 = 0.9\nepsilon = 1e-7\n"));
  EXPECT_NE(adam.error.find(
                "line 3, column 1: unknown key of optimizer (SGD), without a label, \"beta_1\": known are "),
            std::string::npos)
      << adam.error;
  EXPECT_NE(adam.error.find("; unknown there, too: beta_2, epsilon [plan.key]"), std::string::npos)
      << adam.error;
}

TEST_F(TrainPlans, WhatTheRunProvesWrongNamesItsPlace) {
  table();
  const auto said = [&](const std::string& more) {
    return message(
        {file("plan.toml", cat("[data]\nfile = \"table.csv\"\nlabel = \"kind\"\n[model]\npath = \"m\"\n",
                               "[fit]\nepochs = 1\n", more))});
  };
  const std::string convolution = said("[[model.layers]]\ntype = \"Conv2D\"\nfilters = 3\n");
  for (const char* part : {"plan.toml, line 8, column 1", "model.layers[0] (Conv2D)", "conv2d.rank"})
    EXPECT_NE(convolution.find(part), std::string::npos) << convolution;
  const std::string shape = said("[[model.layers]]\ntype = \"Reshape\"\ntarget_shape = [-1, 1, 1]\n");
  for (const char* part : {"plan.toml, line 8, column 1", "plan.layers", "Flatten"})
    EXPECT_NE(shape.find(part), std::string::npos) << shape;
  const std::string monitor = said("[[callbacks]]\ntype = \"EarlyStopping\"\nmonitor = \"val_acc\"\n");
  for (const char* part :
       {"plan.toml, line 10, column 11", "callbacks[0].monitor", "did you mean \"val_accuracy\"?"})
    EXPECT_NE(monitor.find(part), std::string::npos) << monitor;
}

}  // namespace
}  // namespace espalier::cli
