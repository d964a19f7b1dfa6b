// What somebody who never programmed gets from real tables, in one line each.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/verb_test.h"
#include "tests/shared_data.h"

namespace espalier::cli {
namespace {

const std::string kTables = shared_data("");

struct RealTablesSlow : testing::Test {
  void SetUp() override {
    if (!std::filesystem::exists(kTables + "adult/adult-train.csv"))
      GTEST_SKIP() << "there is no " << kTables;
  }
  const std::string model =
      fresh_folder(testing::UnitTest::GetInstance()->current_test_info()->name()) + "/model";
  nlohmann::json train(std::vector<std::string> arguments) const {
    for (const std::string& word : {std::string("--model"), model, std::string("--json")})
      arguments.push_back(word);
    return nlohmann::json::parse(call_verb(add_train, arguments))["test"];
  }
};

TEST_F(RealTablesSlow, AdultFromItsRawFiles) {
  const std::string test = kTables + "adult/adult-test.csv";
  std::vector<double> accuracies;
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    const auto trained = train({"--data", kTables + "adult/adult-train.csv", "--test", test, "--label",
                                "last", "--strip-label-dots", "--seed", seed});
    const auto evaluated =
        nlohmann::json::parse(call_verb(add_evaluate, {model, test, "--strip-label-dots", "--json"}));
    EXPECT_EQ(evaluated["accuracy"], trained["accuracy"]);
    EXPECT_EQ(evaluated["rows"], 16281);
    accuracies.push_back(evaluated["accuracy"]);
  }
  std::ranges::sort(accuracies);
  EXPECT_GE(accuracies[2], 0.845);
}

TEST_F(RealTablesSlow, AdultOnEightBitIntegersIsWithinAPoint) {
  const std::string learned = kTables + "adult/adult-train.csv", test = kTables + "adult/adult-test.csv",
                    small = model + "-int8";
  const double before =
      train({"--data", learned, "--test", test, "--label", "last", "--strip-label-dots"})["accuracy"];
  const auto quantized = [&](const std::string& rows) {
    return nlohmann::json::parse(call_verb(
        add_quantize, {model, "--calibrate", rows, "--out", small, "--strip-label-dots", "--json"}));
  };
  const auto evaluated = [&] {
    return nlohmann::json::parse(
               call_verb(add_evaluate, {small, test, "--strip-label-dots", "--json"}))["accuracy"]
        .get<double>();
  };
  quantized(learned);
  EXPECT_GE(evaluated(), before - 0.01) << "by rows that the ranges are not from";
  const auto said = quantized(test);
  const double after = evaluated();
  EXPECT_GE(after, before - 0.01);
  EXPECT_EQ(said["cost"],
            nlohmann::json({{"rows", 16281}, {"metric", "accuracy"}, {"before", before}, {"after", after}}));
  EXPECT_NE(after, before) << "the same to the last row: were there integers?";
}

TEST_F(RealTablesSlow, Titanic) {
  const auto test = train({"--data", kTables + "tabular/titanic.csv", "--label", "survived"});
  EXPECT_GT(test["accuracy"], 0.75);
  EXPECT_LT(test["accuracy"], 0.95) << "a column that gives the label away was not set aside";
}

TEST_F(RealTablesSlow, Diamonds) {
  EXPECT_GE(train({"--data", kTables + "tabular/diamonds.csv", "--label", "price"})["r2"], 0.97);
}

TEST_F(RealTablesSlow, ChicagoTaxi) {
  EXPECT_GT(train({"--data", kTables + "tabular/chicago_taxi.csv", "--label", "tips"})["r2"], 0.6);
}

}  // namespace
}  // namespace espalier::cli
