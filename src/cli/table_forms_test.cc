// Verbs that ask a table for its rows say the same of CSV, of JSON Lines and of TFRecords.
#include <random>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "format/tfrecord.h"
#include "validate/tfmd/example.pb.h"

namespace espalier::cli {
namespace {

using nlohmann::ordered_json;

// Rows of the same cells in each form, their columns in the order of their names; lines of JSON are those of
// CSV.
struct Forms {
  std::string csv = "age,buys,city,id,sex\n", json = "\n", records;

  Forms(uint32_t seed, int rows) {
    std::mt19937 random(seed);
    for (int row = 0; row < rows; ++row) {
      const auto age = static_cast<int>(18 + random() % 60);
      const int buys = age + static_cast<int>(random() % 60) > 70;
      const bool known = random() % 10 > 0;
      const std::string city = std::vector<std::string>{"Bern", "Lyon, France", "Graz"}[random() % 3],
                        sex = random() % 3 == 0 ? "Female" : "Male";
      csv += cat(age, ",", buys, ",\"", known ? city : "", "\",i", row, ",", sex, "\n");
      ordered_json line = {
          {"age", age}, {"buys", buys}, {"city", nullptr}, {"id", cat("i", row)}, {"sex", sex}};
      if (known) line["city"] = city;
      json += line.dump() + "\n";
      tensorflow::Example example;
      auto& features = *example.mutable_features()->mutable_feature();
      features["age"].mutable_int64_list()->add_value(age);
      features["buys"].mutable_int64_list()->add_value(buys);
      features["id"].mutable_bytes_list()->add_value(cat("i", row));
      features["sex"].mutable_bytes_list()->add_value(sex);
      if (known) features["city"].mutable_bytes_list()->add_value(city);
      records += record_bytes(example.SerializeAsString());
    }
  }
  // Writes the three files and returns their names.
  std::vector<std::string> write(const std::string& stem) const {
    return {write_file(stem + ".csv", csv), write_file(stem + ".jsonl", json),
            write_file(stem + ".tfrecord", records)};
  }
};

// What a command says, without the names of its files.
std::string said(const std::string& words, const std::vector<std::string>& files) {
  const Outcome outcome = call_command(words);
  EXPECT_LT(outcome.code, 2) << words << "\n" << outcome.error;
  std::string out = cat(outcome.code, "\n", outcome.output);
  for (const std::string& file : files) {
    const std::string name = file.substr(file.rfind('/') + 1);
    for (const std::string& each : {file, name}) {
      for (size_t at = out.find(each); at != out.npos; at = out.find(each)) out.replace(at, each.size(), "F");
    }
  }
  return out;
}

TEST(TableForms, AreAlikeToVerbsOfData) {
  const std::string folder = fresh_folder("table-forms");
  const std::vector<std::string> first = Forms(1, 400).write(folder + "/first"),
                                 second = Forms(2, 300).write(folder + "/second");
  for (const std::string verb : {"bias F --label buys --positive 1", "leak F --label buys --test S",
                                 "drift F S", "check F S --label buys", "skew F S --id id"}) {
    std::vector<std::string> all;
    for (size_t form = 0; form < first.size(); ++form) {
      std::string words = "data " + verb + " --json";
      for (size_t at = words.find("F "); at != words.npos; at = words.find("F "))
        words.replace(at, 1, first[form]);
      if (const size_t at = words.find("S "); at != words.npos) words.replace(at, 1, second[form]);
      all.push_back(said(words, {first[form], second[form]}));
    }
    EXPECT_EQ(all[0], all[1]) << verb;
    // It says lines, and records count from 1.
    if (!verb.starts_with("skew")) {
      EXPECT_EQ(all[0], all[2]) << verb;
    }
  }
  for (const std::string& file : first) {
    const std::string out = folder + "/out.csv";
    EXPECT_EQ(call_command(cat("data rows ", file, " --where 'age > 60' --out ", out)).code, 0);
    EXPECT_EQ(call_command(cat("data rows ", first[0], " --where 'age > 60' --out ", out, "2")).code, 0);
    EXPECT_EQ(posix_env().read_file(out), posix_env().read_file(out + "2"));
    EXPECT_EQ(
        call_command(cat("data split ", file, " --label buys --replace --train ", out, " --test ", out, "2"))
            .code,
        0);
    EXPECT_EQ(std::ranges::count(posix_env().read_file(out), '\n'), 321);
  }
}

// A file of CSV whose name says something else could not be read again.
TEST(TableForms, WhatIsWrittenIsNamedAsItIs) {
  const std::string folder = fresh_folder("table-forms-names");
  const std::string file = Forms(5, 40).write(folder + "/rows")[1];
  for (const std::string& words :
       {cat("data head ", file, " --out ", folder, "/out.jsonl"),
        cat("data rows ", file, " --where 'age > 30' --out ", folder, "/out.JSON"),
        cat("data rows ", file, " --where 'age > 30' --out ", folder, "/out.pb"),
        cat("data rows ", file, " --where 'age > 30' --out ", folder, "/out.csv.gz"),
        cat("data split ", file, " --train ", folder, "/a.tfrecord --test ", folder, "/b.csv")}) {
    const Outcome outcome = call_command(words);
    EXPECT_EQ(outcome.code, 2) << words;
    EXPECT_NE(outcome.error.find("is to hold CSV, and its name says "), std::string::npos) << outcome.error;
  }
  // Of one column each row is one, without a value too.
  const std::string one = write_file(folder + "/one.jsonl", "{\"k\":1}\n{\"k\":null}\n{\"k\":2}\n{}\n");
  EXPECT_EQ(
      call_command(cat("data rows ", one, " --where 'k is missing or k > 0' --out ", folder, "/one.csv"))
          .code,
      0);
  EXPECT_EQ(posix_env().read_file(folder + "/one.csv"), "k\n1\n\"\"\n2\n\"\"\n");
  EXPECT_NE(call_command(cat("data stats ", folder, "/one.csv")).error.find("4 rows read"),
            std::string::npos);
  EXPECT_EQ(rule_of([] { call_verb(add_data, {"drift", "-", "-"}, "a\n1\n2\n"); }), "data.input");
  // Truths of a model that learned them as words are those of JSON.
  std::string csv = "size,big\n", json;
  for (int i = 0; i < 200; ++i) {
    const int size = i * 37 % 100;
    csv += cat(size, i % 3 ? ",True\n" : ",False\n");
    json += cat("{\"size\": ", size, ", \"big\": ", i % 3 ? "true" : "false", "}\n");
  }
  const std::string model = folder + "/sizes";
  ASSERT_EQ(call_command(cat("train --data ", write_file(folder + "/sizes.csv", csv),
                             " --label size --include big --epochs 1 --model ", model))
                .code,
            0);
  EXPECT_EQ(call_command(cat("predict ", model, " ", folder, "/sizes.csv")).output,
            call_command(cat("predict ", model, " ", write_file(folder + "/sizes.jsonl", json))).output);
  std::string kinds = "size,big,kind\n", of_json;
  for (int i = 0; i < 200; ++i) {
    const bool big = i % 3 > 0;
    kinds += cat(i * 37 % 100, big ? ",True," : ",False,", i % 5 ? "a" : "b", "\n");
    of_json +=
        cat("{\"size\": ", i * 37 % 100, ", \"big\": ", big, ", \"kind\": \"", i % 5 ? "a" : "b", "\"}\n");
  }
  ASSERT_EQ(call_command(cat("train --data ", write_file(folder + "/kinds.csv", kinds),
                             " --label kind --epochs 1 --model ", model, "2"))
                .code,
            0);
  const auto flips = [&](const std::string& rows) {
    const Outcome outcome =
        call_command(cat("evaluate ", model, "2 ", rows, " --all-rows --flip big --json"));
    return ordered_json::parse(outcome.output)["flips"];
  };
  EXPECT_EQ(flips(folder + "/kinds.csv"), flips(write_file(folder + "/kinds.jsonl", of_json)));
}

TEST(TableForms, TrainAndEvaluateAlike) {
  const std::string folder = fresh_folder("table-forms-model");
  const std::vector<std::string> files = Forms(3, 400).write(folder + "/rows"),
                                 others = Forms(4, 300).write(folder + "/others");
  std::vector<std::string> evaluated, predicted;
  for (const std::string& file : files) {
    const std::string model = folder + "/model";
    const Outcome trained =
        call_command(cat("train --data ", file, " --label buys --seed 1 --epochs 2 --model ", model));
    ASSERT_EQ(trained.code, 0) << trained.error;
    for (const std::string& other : others) {
      evaluated.push_back(said(cat("evaluate ", model, " ", other, " --json"), others));
      predicted.push_back(said(cat("predict ", model, " ", other), others));
    }
  }
  for (size_t i = 1; i < evaluated.size(); ++i) {
    EXPECT_EQ(evaluated[0], evaluated[i]) << i;
    EXPECT_EQ(predicted[0], predicted[i]) << i;
  }
}

TEST(TableForms, OfScoresAreEvaluatedAlike) {
  const std::string folder = fresh_folder("table-forms-scores");
  const std::string csv = write_file(folder + "/s.csv", "y,p,g\n1,0.9,a\n0,0.25,a\n1,0.5,b\n0,0.75,b\n"),
                    json =
                        "{\"y\":1,\"p\":0.9,\"g\":\"a\"}\n{\"y\":0,\"p\":0.25,\"g\":\"a\"}\n"
                        "{\"y\":1,\"p\":0.5,\"g\":\"b\"}\n{\"y\":0,\"p\":0.75,\"g\":\"b\"}\n";
  const std::string flags = " --label y --score p --slice g --json";
  EXPECT_EQ(
      said(cat("evaluate --scores ", csv, flags), {csv}),
      said(cat("evaluate --scores ", write_file(folder + "/s.jsonl", json), flags), {folder + "/s.jsonl"}));
  const Outcome refused = call_command(cat("evaluate --scores ", folder, "/s.jsonl", flags, " --header yes"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.error.find("s.jsonl: this is no CSV, and how CSV is read was said"), std::string::npos)
      << refused.error;
}

}  // namespace
}  // namespace espalier::cli
