// `evaluate` and `predict` by several devices and launched workers, as a shell runs them.
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/pictures_test.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

using JudgedJson = nlohmann::json;

// `rows` of two classes, and models of them that learned for an epoch, from a seed each.
struct DistributeJudging : FolderTest {
  std::string table(int rows) const {
    std::string text = "a,b,kind,label\n";
    for (int i = 0; i < rows; ++i) {
      const double a = std::sin(i * 1.7), b = std::cos(i * 2.3);
      text += cat(a, ",", b, ",", i % 3 == 0 ? "x" : "y", ",", a * b > 0 ? "yes" : "no", "\n");
    }
    return file("table.csv", text);
  }
  std::string model(const std::string& name, int seed) const {
    call_verb(add_train, {"--data", path("table.csv"), "--label", "label", "--hidden", "8", "--epochs", "1",
                          "--positive", "yes", "--seed", cat(seed), "--model", path(name)});
    return path(name);
  }
};

std::string by_workers(int workers, const std::string& line) {
  return cat("launch -n ", workers, " -- ", build_folder(), "/espalier ", line, " --strategy multiworker");
}

// Equal but for the rounding of numbers.
void expect_alike(const JudgedJson& a, const JudgedJson& b, const std::string& at = "") {
  if (a.is_number() && b.is_number()) {
    const double x = a.get<double>(), y = b.get<double>();
    EXPECT_NEAR(x, y, 1e-6 * std::max(1.0, std::abs(x))) << at;
  } else if (a.is_structured() && a.type() == b.type() && a.size() == b.size()) {
    const JudgedJson x = a.flatten(), y = b.flatten();
    ASSERT_EQ(x.size(), y.size()) << at;
    for (const auto& [key, value] : x.items()) {
      ASSERT_TRUE(y.contains(key)) << key;
      expect_alike(value, y[key], key);
    }
  } else {
    EXPECT_EQ(a, b) << at;
  }
}

TEST_F(DistributeJudging, SlowResultsAreThoseOfOneDevice) {
  const std::string data = table(1501), said = model("model", 1), before = model("before", 2);
  for (const std::string& call :
       {cat("evaluate ", said, " ", data, " --json"),
        cat("evaluate ", said, " ", data, " --json --slice kind --worst --flip kind --individual --all-rows ",
            "--interval bootstrap --replicates 50 --baseline ", before),
        cat("predict ", said, " ", data, " --json --all --mark")}) {
    SCOPED_TRACE(call);
    const Outcome one = call_command(call);
    ASSERT_EQ(one.code, 0) << one.error;
    const JudgedJson wanted = JudgedJson::parse(one.output);
    ASSERT_GT(wanted.flatten().size(), 20u);
    for (const std::string& line : {cat(call, " --strategy mirrored --devices 3"),
                                    cat(call, " --strategy multiworker"), by_workers(3, call)}) {
      SCOPED_TRACE(line);
      const Outcome many = call_command(line);
      ASSERT_EQ(many.code, 0) << many.error;
      // One text, of one worker, or it were no JSON.
      expect_alike(wanted, JudgedJson::parse(many.output, nullptr, false));
      EXPECT_EQ(many.error, one.error);
    }
  }
}

TEST_F(DistributeJudging, NightlyWhatIsSaidHasTheSameBitsOnAnyNumber) {
  const std::string data = table(411), said = model("model", 1);
  for (const std::string& call : {cat("evaluate ", said, " ", data, " --json --deterministic"),
                                  cat("predict ", said, " ", data, " --json --all --deterministic")}) {
    const Outcome one = call_command(call);
    ASSERT_EQ(one.code, 0) << one.error;
    for (const int many : {2, 3, 5}) {
      const Outcome mirrored = call_command(cat(call, " --strategy mirrored --devices ", many));
      EXPECT_EQ(mirrored.output, one.output) << many;
      EXPECT_EQ(call_command(by_workers(many, call)).output, one.output) << many;
    }
  }
}

TEST_F(DistributeJudging, SlowTheFirstWorkerAloneWritesAndSpeaks) {
  const std::string data = table(400), said = model("model", 1);
  const auto prefixed = [&](const std::string& line) {
    std::string out = by_workers(3, line);
    return call_command(out.insert(out.find(" -- "), " --prefix"));
  };
  for (const std::string& line : {cat("evaluate ", said, " ", data), cat("predict ", said, " ", data)}) {
    const Outcome run = prefixed(line);
    ASSERT_EQ(run.code, 0) << run.error;
    EXPECT_NE(run.output.find("[rank 0] "), std::string::npos);
    for (const char* other : {"[rank 1]", "[rank 2]"}) {
      EXPECT_EQ(run.output.find(other), std::string::npos) << run.output;
      EXPECT_EQ(run.error.find(other), std::string::npos) << run.error;
    }
  }
  const Outcome one = call_command(cat("predict ", said, " ", data, " --out ", path("one.csv")));
  const Outcome run = prefixed(cat("predict ", said, " ", data, " --out ", path("many.csv")));
  ASSERT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(posix_env().read_file(path("many.csv")), posix_env().read_file(path("one.csv")));
  // A mistake all of them make is told as JSON by one.
  const Outcome wrong = prefixed(cat("evaluate ", path("none"), " ", data, " --json"));
  EXPECT_NE(wrong.code, 0);
  EXPECT_EQ(wrong.output.find("[rank 1]"), std::string::npos) << wrong.output;
  EXPECT_NE(wrong.output.find("[rank 0]     \"rule\": \"load_model.path\""), std::string::npos)
      << wrong.output;
}

// Results of several models, or of rows that are not the same, would be nobody's.
TEST_F(DistributeJudging, SlowWorkersThatJudgeWithOthersAreTold) {
  const std::string data = table(400);
  for (const int rank : {0, 1}) model(cat("model", rank), rank);
  file("table0.csv", posix_env().read_file(data));
  std::string other = posix_env().read_file(data);
  other[other.find('\n') + 1] = '3';
  file("table1.csv", other);
  const std::string of_rank = "$((ESPALIER_RANK == 1))";
  for (const char* const verb : {"evaluate", "predict"}) {
    const auto expect_named = [&](const std::string& words, const std::string& wanted) {
      const Outcome run = call_command(cat("launch -n 3 -- sh -c '", build_folder(), "/espalier ", verb, " ",
                                           words, " --strategy multiworker'"));
      EXPECT_EQ(run.code, 43) << run.error;
      EXPECT_EQ(run.output, "");
      EXPECT_NE(run.error.find(cat("espalier launch: ", wanted)), std::string::npos) << wanted << "\n"
                                                                                     << run.error;
    };
    expect_named(cat(path("model"), of_rank, " ", data),
                 "variable \"sequential/dense_1/bias\" of rank 1 differs from that of ranks 0, 2 in predict");
    expect_named(cat(path("model0"), " ", path("table"), of_rank, ".csv"),
                 "the data of rank 1 differs from that of ranks 0, 2 in predict");
  }
}

TEST_F(DistributeJudging, ModelsOfImagesAreJudgedByDevicesToo) {
  std::string rows;
  for (int i = 0; i < 80; ++i) {
    for (int k = 0; k < 16; ++k) rows += cat((i * 7 + k * 3) % 256, ",");
    rows += cat(i % 2, "\n");
  }
  const std::string data = file("digits.csv", rows), said = path("model");
  call_verb(add_train, {"--data", data, "--epochs", "1", "--model", said});
  for (const auto& [add, verb] :
       {std::pair<AddVerb, const char*>{add_evaluate, "confusion"}, {add_predict, "predictions"}}) {
    std::vector<std::string> words = {said, data, "--json"};
    const JudgedJson one = JudgedJson::parse(call_verb(add, words));
    words.insert(words.end(), {"--strategy", "mirrored", "--devices", "3"});
    EXPECT_TRUE(one.contains(verb));
    expect_alike(one, JudgedJson::parse(call_verb(add, words)));
  }
}

// All end with the status of one, and nobody is said to have failed in the middle.
TEST_F(DistributeJudging, NightlyImagesThatCannotBeReadEndAllWorkersAlike) {
  for (int i = 0; i < 6; ++i) {
    for (const bool bright : {false, true})
      write_png(cat(path("seen/"), bright ? "bright/" : "dark/", i, ".png"), gray(bright, i));
  }
  call_verb(add_train, {"--data", path("seen"), "--epochs", "1", "--model", path("model")});
  file("seen/dark/broken.png", "no image");
  const std::string line = cat("predict ", path("model"), " ", path("seen/dark"));
  const Outcome one = call_command(line), run = call_command(by_workers(2, line));
  EXPECT_EQ(one.code, 2);
  EXPECT_EQ(run.output, one.output);
  EXPECT_EQ(run.error.find("threw"), std::string::npos) << run.error;
  EXPECT_NE(run.error.find("1 of 7 images cannot be read"), std::string::npos) << run.error;
}

TEST_F(DistributeJudging, WhatCountsForNothingIsRefused) {
  const std::string data = table(60), said = model("model", 1);
  for (const AddVerb verb : {add_evaluate, add_predict})
    EXPECT_EQ(rule_of([&] { call_verb(verb, {said, data, "--devices", "2"}); }), "distribute.devices");
  EXPECT_THROW(call_verb(add_evaluate,
                         {"--scores", data, "--label", "label", "--score", "a", "--strategy", "mirrored"}),
               CLI::ExcludesError);
}

// The first alone has standard input; one device of several is no worker of its own.
TEST_F(DistributeJudging, NightlyAStreamIsForOneProcess) {
  const std::string data = table(60), said = model("model", 1);
  for (const std::string& line : {cat("predict ", said, " -"), cat("evaluate ", said, " -"),
                                  cat("train --data - --label label --model ", path("new"))}) {
    const auto fed = [&](const std::string& words) {
      return call_shell(cat(build_folder(), "/espalier ", words, " < ", data));
    };
    const Outcome run = fed(by_workers(2, line));
    EXPECT_EQ(run.code, 2) << run.error;
    EXPECT_NE(run.error.find("standard input can be read once, and each of 2 workers would read it "
                             "[distribute.input]"),
              std::string::npos)
        << run.error;
    EXPECT_EQ(fed(by_workers(1, line)).code, 0);
    EXPECT_EQ(fed(cat(line, " --strategy mirrored --devices 2 ", line[0] == 't' ? "--force" : "")).code, 0);
  }
}

}  // namespace
}  // namespace espalier::cli
