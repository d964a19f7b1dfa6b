#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/saved_model.h"

namespace espalier::cli {
namespace {

// Labels that x tells three times in four; 0 has no label of its own.
struct ThresholdVerb : FolderTest {
  std::string data = write_file(folder + "/table.csv", table()), model = folder + "/model";

  static std::string table() {
    std::string out = "x,y,kind\n";
    for (int i = 0; i < 400; ++i)
      out += cat(i * 7 % 100, ",", i * 7 % 100 + i % 4 * 20 > 90 ? "late" : "good", ",", "abc"[i % 3], "\n");
    return out;
  }
  void train(const std::string& label = "y") const {
    call_verb(add_train, {"--data", data, "--label", label, "--model", model, "--epochs", "5", "--force"});
  }
  nlohmann::json set(std::vector<std::string> words) const {
    words.insert(words.begin(), model);
    words.emplace_back("--json");
    return nlohmann::json::parse(call_verb(add_threshold, words));
  }
  // Of the rows, how many the model says to be late; by brute force from the probabilities, and by itself.
  std::pair<int64_t, int64_t> late(const std::string& of, double threshold) const {
    const auto said = nlohmann::json::parse(call_verb(add_predict, {of, data, "--json", "--all"}));
    std::pair<int64_t, int64_t> out;
    for (const auto& row : said["predictions"]) {
      out.first += row["probabilities"][1].get<double>() >= threshold;
      out.second += row["prediction"] == "late";
    }
    return out;
  }
};

TEST_F(ThresholdVerb, TheModelSaysWhatItIsToldFromThenOn) {
  train();
  const std::string weights = posix_env().read_file(model + "/weights.safetensors");
  const auto first = set({"0.125"});
  EXPECT_EQ(first["positive"], "late");
  EXPECT_EQ(first["before"], nullptr);
  EXPECT_EQ(first["threshold"], 0.125);
  const auto low = late(model, 0.125);
  EXPECT_EQ(low.first, low.second);
  EXPECT_EQ(set({"0.875"})["before"], 0.125);
  const auto high = late(model, 0.875);
  EXPECT_EQ(high.first, high.second);
  EXPECT_GT(low.second, high.second);
  EXPECT_EQ(posix_env().read_file(model + "/weights.safetensors"), weights);
  // Any number that evaluate --threshold reads, too small for a normal one too.
  EXPECT_EQ(set({"1e-320"})["threshold"], 1e-320);
  EXPECT_EQ(set({"+0.25"})["before"], 1e-320);
  EXPECT_EQ(set({"0.875"})["before"], 0.25);
  const std::string copy = folder + "/copy";
  EXPECT_EQ(set({"none", "--out", copy})["threshold"], nullptr);
  EXPECT_EQ(late(copy, 0.5).second, late(copy, 0.5).first);
  EXPECT_EQ(late(model, 0.875), high) << "the copy alone changed";
  EXPECT_EQ(call_verb(add_threshold, {model, "0.25"}),
            cat("wrote ", model,
                ": a row is late from a probability of 0.25 on; before: a row is late from a "
                "probability of 0.875 on\nnext: espalier info ",
                model, "\n"));
}

TEST_F(ThresholdVerb, SetsTheClassThatIsPositiveToo) {
  train();
  EXPECT_EQ(set({"none", "--positive", "good"})["positive"], "good");
  const auto of_good = set({"0.75"});
  EXPECT_EQ(of_good["positive"], "good");
  // Good from 0.75 on is late from above 0.25 on.
  const auto said = nlohmann::json::parse(call_verb(add_predict, {model, data, "--json", "--all"}));
  EXPECT_EQ(said["positive_because"], "model");
  for (const auto& row : said["predictions"])
    EXPECT_EQ(row["prediction"] == "good", row["probabilities"][0].get<double>() >= 0.75);
  EXPECT_EQ(nlohmann::json::parse(call_verb(add_info, {model, "--json"}))["columns"]["positive_because"],
            "flag");
  EXPECT_EQ(rule_of([&] { set({"0.75", "--positive", "god"}); }), "positive.class");
}

TEST_F(ThresholdVerb, WhatIsNoModelOfTwoClassesIsRefused) {
  train("kind");
  const std::string before = posix_env().read_file(model + "/model.json");
  try {
    set({"0.3"});
    ADD_FAILURE() << "of three classes";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "table.threshold");
    EXPECT_EQ(error.message(), cat("a threshold is of two classes, and \"kind\" of ", model, " has 3"));
  }
  train("x");
  EXPECT_EQ(rule_of([&] { set({"0.3"}); }), "table.threshold") << "of a number";
  train();
  for (const char* wrong : {"1.5", "-0.1", "x", ""}) EXPECT_THROW(set({wrong}), CLI::ParseError) << wrong;
  // Edited by hand, a model says so, and the threshold is not written on top.
  write_file(model + "/decision.json", "{\"positive\": \"good\", \"threshold\": 0.3}");
  try {
    set({"0.3"});
    ADD_FAILURE() << "it was edited";
  } catch (const FormatError& error) {
    EXPECT_EQ(error.rule(), "saved_model.content");
    EXPECT_EQ(error.fix(), "the files as they were; `espalier threshold` sets a threshold");
  }
  train();
  write_file(folder + "/file", "");
  EXPECT_EQ(rule_of([&] { set({"0.3", "--out", folder + "/file"}); }), "save.path");
  EXPECT_EQ(rule_of([&] { set({"0.3", "--out", folder + "/none/there"}); }), "save.path");
}

}  // namespace
}  // namespace espalier::cli
