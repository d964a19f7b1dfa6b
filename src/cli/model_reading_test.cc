// What a model knows of how its table is read holds for slices, conditions and gates of other tables, too.
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

struct ModelReading : FolderTest {
  const std::string model = folder + "/model";

  // Flats, of which some cells are "k.A."; those with a balcony are let more often.
  static std::string flats(int first, bool header = true, const char* dot = "") {
    std::string text = header ? "size,place,balcony,let\n" : "";
    for (int i = first; i < first + 400; ++i) {
      const bool balcony = i % 3 > 0;
      text += cat(i % 20 == 7 ? std::string("k.A.") : cat(30 + i * 37 % 90), ",",
                  i % 10 == 3 ? "k.A."
                  : i % 2     ? "north"
                              : "south",
                  ",", balcony ? "with" : "without", ",", i * i % 11 < (balcony ? 7 : 2) ? "yes" : "no", dot,
                  "\n");
    }
    return text;
  }
  void train(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--data", file("flats.csv", flats(0)), "--label", "let", "--model", model,
                               "--epochs", "2", "--missing", "k.A."});
    call_verb(add_train, more);
  }
};

TEST_F(ModelReading, ItsWordsForNoValueAreMissingInSlicesConditionsAndBuckets) {
  train();
  const std::string other = file("other.csv", flats(1000));
  const Json json = Json::parse(call_verb(add_evaluate, {model, other, "--slice", "place", "--bucket",
                                                         "size=60,90", "--where", "size > 40", "--json"}));
  std::vector<std::string> names;
  for (const Json& slice : json["slices"]) names.push_back(slice["slice"]);
  EXPECT_TRUE(std::ranges::count(names, "place=(missing)")) << json.dump().substr(0, 500);
  EXPECT_FALSE(std::ranges::count(names, "place=k.A."));
  EXPECT_EQ(json["where"]["missing"], 20);
  const std::string gates = file("gates.toml",
                                 "[buckets]\nsize = [60]\n[[gates]]\nmetric = \"accuracy\"\nslice = "
                                 "\"place=(missing)\"\nmin = 0.01\n");
  EXPECT_EQ(call_command(cat("check ", model, " ", other, " --gates ", gates)).code, 0);
}

TEST_F(ModelReading, ItsNamesAreThoseOfATableWithout) {
  train();
  const std::string bare = file("bare.csv", flats(1000, false));
  const Json json = Json::parse(call_verb(add_evaluate, {model, bare, "--slice", "balcony", "--where",
                                                         "place = 'north'", "--header", "no", "--json"}));
  EXPECT_EQ(json["slices"][0]["by"], Json({"balcony"}));
  const std::string gates = folder + "/gates.toml";
  call_command(cat("check ", model, " ", bare, " --init --out ", gates));
  EXPECT_EQ(posix_env().read_file(gates).find("column_"), std::string::npos);
}

TEST_F(ModelReading, LabelsWithDotsAreItsOwnForGatesToo) {
  train({"--strip-label-dots"});
  const std::string dots = file("dots.csv", flats(1000, true, "."));
  EXPECT_EQ(call_command(cat("evaluate ", model, " ", dots)).code, 0);
  const Outcome gates =
      call_command(cat("check ", model, " ", dots, " --init --out ", folder, "/gates.toml"));
  EXPECT_EQ(gates.code, 0) << gates.error;
}

TEST_F(ModelReading, GatesAskAtItsThreshold) {
  train({"--threshold", "0.2"});
  const std::string other = file("other.csv", flats(1000)), gates = folder + "/gates.toml";
  ASSERT_EQ(call_command(cat("check ", model, " ", other, " --init --out ", gates)).code, 0);
  EXPECT_NE(posix_env().read_file(gates).find("\nthreshold = 0.2\n"), std::string::npos)
      << posix_env().read_file(gates);
  const std::string check = cat("check ", model, " ", other, " --gates ");
  EXPECT_EQ(call_command(check + gates).error.find("from a probability"), std::string::npos);
  const std::string half = file("half.toml",
                                "[[gates]]\nmetric = \"auc\"\nmin = 0.1\n[[gates]]\nname = "
                                "\"right\"\nmetric = \"accuracy\"\nmin = 0.1\n");
  const Outcome warned = call_command(check + half);
  EXPECT_NE(
      warned.error.find("from a probability of 0.2 on, and gate \"right\" asks at 0.5: with threshold = 0.2 "
                        "in half.toml what the model says is checked"),
      std::string::npos)
      << warned.error;
}

TEST_F(ModelReading, WhatIsNextKeepsWhatWasAsked) {
  train();
  const std::string other = file("other.csv", flats(1000));
  const Outcome said = call_command(cat("evaluate ", model, " ", other,
                                        " --slice place --bucket size=60 --where "
                                        "'size > 40'"));
  const std::string next = said.output.substr(said.output.rfind("next: ")) + said.error;
  for (const char* part : {" --where 'size > 40'", " --slice place", " --bucket size=60", " --init "})
    EXPECT_NE(next.find(part), std::string::npos) << part << ": " << next;
}

TEST_F(ModelReading, WhatSaysLittleIsSaidSo) {
  train();
  const std::string other = file("other.csv", flats(1000)), slices = "are by the label itself";
  EXPECT_NE(call_command(cat("evaluate ", model, " ", other, " --slice let")).error.find(slices),
            std::string::npos);
  EXPECT_EQ(call_command(cat("evaluate ", model, " ", other, " --slice place")).error.find(slices),
            std::string::npos);
  const Outcome none = call_command(cat("train --data ", folder, "/flats.csv --label let --epochs 0 --model ",
                                        folder, "/none --missing k.A."));
  EXPECT_NE(none.error.find("has learned nothing"), std::string::npos) << none.error;
}

}  // namespace
}  // namespace espalier::cli
