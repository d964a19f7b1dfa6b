// What somebody meets in the first hour with the command: files that are there already, words of other
// languages, what is asked in the wrong order.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "espalier/saved_model.h"

namespace espalier::cli {
namespace {

struct FirstHour : FolderTest {
  std::string model = folder + "/shops";
  // Amounts as a German spreadsheet writes them; who spends much comes again.
  std::string rows(const std::string& name, int count, int first = 0) const {
    std::string text = "umsatz;stadt;alter;kommt\n";
    for (int i = first; i < first + count; ++i) {
      const int cents = 20000 + 7919 * i % 200000;
      const std::string euros = cents < 100000
                                    ? cat(cents / 100)
                                    : cat(cents / 100000, ".", cat(1000 + cents / 100 % 1000).substr(1));
      text += cat(euros, ",", cat(100 + cents % 100).substr(1), ";", i % 3 ? "Bonn" : "Ulm", ";", 20 + i % 50,
                  ";", cents > 90000 ? "ja" : "nein", "\n");
    }
    return write_file(folder + "/" + name, text);
  }
  std::string train(const std::string& file, std::string* progress = nullptr) const {
    return call_verb(add_train, {"--data", file, "--label", "kommt", "--model", model, "--epochs", "2"}, "",
                     progress);
  }
};

TEST_F(FirstHour, ThousandsWithPointsAreNumbersEverywhere) {
  const std::string file = rows("kunden.csv", 400);
  std::string progress;
  train(file, &progress);
  EXPECT_NE(progress.find("umsatz: numeric"), progress.npos) << progress;
  const auto kept = [&](const std::string& where) {
    return nlohmann::json::parse(
        call_verb(add_evaluate, {model, file, "--all-rows", "--where", where, "--json"}))["where"]["kept"];
  };
  int above = 0;
  for (int i = 0; i < 400; ++i) above += 20000 + 7919 * i % 200000 > 100000;
  EXPECT_EQ(kept("umsatz > 1000"), above);
  EXPECT_EQ(kept("number(umsatz) > 1000"), above);
  const auto slices = nlohmann::json::parse(
      call_verb(add_evaluate, {model, file, "--all-rows", "--bucket", "umsatz=1000", "--json"}));
  EXPECT_NE(slices.dump().find("umsatz"), std::string::npos);
  const std::string stats = call_verb(add_data, {"stats", file, "--show"});
  EXPECT_NE(stats.find("2198.19"), stats.npos) << "the most of a column of numbers\n" << stats;
}

// The same cells as people write them in two languages.
struct Twins {
  std::string german, english;
};
Twins twins(const std::string& folder, const std::string& name, int rows, double factor) {
  std::string german = "umsatz;einwohner;quote;brutto;kommt\n",
              english = "umsatz,einwohner,quote,brutto,kommt\n";
  for (int i = 0; i < rows; ++i) {
    const int cents = static_cast<int>(factor * (1000000 + 791931 * i % 20000000));
    const int people = 100000 + 7919 * i % 900000, per_mille = 1000 + 337 * i % 1000;
    const auto digits = [](int value, size_t count) {
      const std::string text = cat(value);
      return std::string(count - text.size(), '0') + text;
    };
    const auto money = [&](int of, const char* thousands, const char* point) {
      const int whole = of / 100;
      return cat(whole / 1000, thousands, digits(whole % 1000, 3), point, digits(of % 100, 2));
    };
    const char* comes = (i * 7 % 10 < 4) ? "ja" : "nein";
    german +=
        cat(money(cents, ".", ","), ";", people / 1000, ".", digits(people % 1000, 3), ";", per_mille / 1000,
            ",", digits(per_mille % 1000, 3), ";", money(2 * cents, ".", ","), ";", comes, "\n");
    english += cat(money(cents, "", "."), ",", people, ",", per_mille / 1000, ".",
                   digits(per_mille % 1000, 3), ",", money(2 * cents, "", "."), ",", comes, "\n");
  }
  return {write_file(cat(folder, "/", name, "_de.csv"), german),
          write_file(cat(folder, "/", name, "_en.csv"), english)};
}

TEST_F(FirstHour, ATableWithDecimalCommasSaysWhatItsTwinWithPointsSays) {
  const Twins before = twins(folder, "before", 400, 1), now = twins(folder, "now", 300, 1.7);
  const auto said = [&](const char* verb, const char* between, const std::string Twins::*of) {
    std::string text =
        call_command(cat("data ", verb, " ", before.*of, " ", between, " ", now.*of, " --json")).output;
    for (const char* end : {"_de.csv", "_en.csv"}) {
      for (size_t at; (at = text.find(end)) != text.npos;) text.erase(at, 7);
    }
    return text;
  };
  const auto both_say = [&](const char* verb, const char* between, const char* what) {
    const std::string german = said(verb, between, &Twins::german);
    EXPECT_EQ(german, said(verb, between, &Twins::english)) << verb;
    EXPECT_NE(german.find(what), german.npos) << german;
  };
  both_say("drift", "", "\"numbers\"");
  both_say("check", "--label kommt", "umsatz");
  both_say("leak", "--label umsatz --test", "correlation");
  const auto kept = [&](const std::string& file) {
    return call_verb(
        add_data, {"rows", file, "--where", "einwohner > 500000 and umsatz < 100000", "--columns", "kommt"});
  };
  const std::string rows = kept(before.german);
  EXPECT_EQ(rows.substr(0, rows.find("next: ")), kept(before.english).substr(0, rows.find("next: ")));
  EXPECT_EQ(rows.find("no row is left"), std::string::npos);
  const auto learnt = [&](const std::string& file) {
    std::string progress;
    call_verb(add_train,
              {"--data", file, "--label", "umsatz", "--ignore", "brutto", "--epochs", "2", "--model", model},
              "", &progress);
    return posix_env().read_file(model + "/weights.safetensors");
  };
  EXPECT_EQ(learnt(before.german), learnt(before.english)) << "the same rows train, on the same numbers";
}

TEST_F(FirstHour, FilesThatAreThereAreNotReplaced) {
  const std::string file = rows("kunden.csv", 120), mine = write_file(folder + "/train.csv", "mine\n");
  const std::vector<std::string> split = {"split",   file, "--label", "kommt",
                                          "--train", mine, "--test",  folder + "/test.csv"};
  EXPECT_EQ(rule_of([&] { call_verb(add_data, split); }), "split.exists");
  EXPECT_EQ(posix_env().read_file(mine), "mine\n");
  EXPECT_FALSE(posix_env().exists(folder + "/test.csv"));
  std::vector<std::string> anew = split;
  anew.emplace_back("--replace");
  call_verb(add_data, anew);
  EXPECT_NE(posix_env().read_file(mine), "mine\n");

  train(file);
  const std::string weights = posix_env().read_file(model + "/weights.safetensors");
  for (const std::string& same : {model, model + "/", folder + "/./shops"})
    EXPECT_EQ(rule_of([&] {
                call_verb(add_quantize, {model, "--calibrate", file, "--out", same});
              }),
              "quantize.out");
  EXPECT_EQ(rule_of([&] {
              call_verb(add_quantize, {model, "--calibrate", file, "--out", folder});
            }),
            "save.path");
  EXPECT_EQ(posix_env().read_file(model + "/weights.safetensors"), weights);
}

TEST_F(FirstHour, AQuantisedModelSaysThatItIsOneAndWhatIsNext) {
  const std::string file = rows("kunden.csv", 200), small = folder + "/small";
  train(file);
  std::string progress;
  const std::string evaluated =
      call_verb(add_quantize, {model, "--calibrate", file, "--out", small}, "", &progress);
  EXPECT_NE(evaluated.find(cat("evaluate ", small, " ", file)), evaluated.npos) << evaluated;
  EXPECT_EQ(progress.find("--all-rows"), progress.npos) << progress;
  const std::string text = call_verb(add_info, {small});
  EXPECT_NE(text.find("products on 8-bit integers"), text.npos) << text;
  EXPECT_EQ(call_verb(add_info, {model}).find("8-bit"), std::string::npos);
  const std::string bare =
      write_file(folder + "/neu.csv", "umsatz;stadt;alter\n1.500,10;Ulm;40\n200,00;Bonn;30\n");
  const std::string unevaluated =
      call_verb(add_quantize, {model, "--calibrate", bare, "--out", folder + "/other"});
  EXPECT_NE(unevaluated.find(cat("predict ", folder, "/other ", bare)), unevaluated.npos) << unevaluated;
}

TEST_F(FirstHour, EachModelHasGatesOfItsOwn) {
  const std::string file = rows("kunden.csv", 200);
  EXPECT_NE(train(file).find(cat("--out ", folder, "/shops-gates.toml")), std::string::npos);
  model = folder + "/model";
  EXPECT_NE(train(file).find(cat("--out ", folder, "/gates.toml")), std::string::npos);
  EXPECT_EQ(rule_of([&] { call_verb(add_check, {model, file, "--init", "--json"}); }), "check.init");
}

TEST_F(FirstHour, RowsThatStandOftenAreNamed) {
  std::string progress, text = posix_env().read_file(rows("once.csv", 150));
  train(folder + "/once.csv", &progress);
  EXPECT_EQ(progress.find("test rows are training rows"), progress.npos) << progress;
  const std::string body = text.substr(text.find('\n') + 1);
  for (int i = 0; i < 9; ++i) text += body;
  train(write_file(folder + "/often.csv", text), &progress);
  EXPECT_NE(progress.find("test rows are training rows too"), progress.npos) << progress;
  // Where columns have few values, rows are alike by chance.
  std::string few = "a,b,kommt\n";
  for (int i = 0; i < 400; ++i) few += cat(i % 3, ",", i % 4, i % 3 == 1 || i % 7 == 0 ? ",ja\n" : ",nein\n");
  train(write_file(folder + "/few.csv", few), &progress);
  EXPECT_EQ(progress.find("test rows are training rows"), progress.npos) << progress;
}

TEST_F(FirstHour, AReadersCommaIsNamed) {
  try {
    call_verb(add_data, {"rows", rows("kunden.csv", 60), "--where", "alter > 20,5"});
    FAIL() << "a comma is no point";
  } catch (const FormatError& error) {
    EXPECT_NE(error.fix().find("a point"), std::string::npos) << error.what();
  }
}

TEST_F(FirstHour, OfTwoRowsNothingFollows) {
  std::string progress;
  train(rows("tiny.csv", 10), &progress);
  EXPECT_EQ(progress.find("of every row"), progress.npos) << progress;
}

TEST_F(FirstHour, WhatNoTrainingRowHadIsMarkedAndItsLineNamed) {
  train(rows("kunden.csv", 200));
  std::string progress;
  const std::string said =
      call_verb(add_predict, {model, "-", "--mark"},
                "umsatz;stadt;alter\n300,00;Ulm;40\n300,00;Wien;abc\n300,00;Bonn;30\n", &progress);
  EXPECT_NE(said.find("stadt, alter"), said.npos) << said;
  EXPECT_NE(progress.find("the first in line 3; rare ones"), progress.npos) << progress;
  try {
    call_verb(add_predict, {model, "-"}, "umsatz;stadt\n300,00;Ulm\n");
    FAIL() << "a column is missing";
  } catch (const ValueError& error) {
    EXPECT_NE(error.fix().find("add what is lacking"), std::string::npos) << error.what();
  }
}

TEST_F(FirstHour, AFolderThatCannotBeWrittenIsRefusedBeforeTheTraining) {
  const std::string locked = folder + "/locked";
  ASSERT_EQ(::mkdir(locked.c_str(), 0555), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // Nothing is locked for root.
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(9);
    try {
      check_save_path(locked + "/model", {});
    } catch (const IoError& error) {
      ::_exit(error.rule() == "save.path" ? 3 : 4);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(FirstHour, HelpOfAVerbIsAskedInBothWays) {
  const Outcome verb = call_command("train --help"), help = call_command("help train");
  EXPECT_EQ(help.code, 0) << help.error;
  EXPECT_EQ(help.output, verb.output);
  EXPECT_EQ(call_command("help data stats").output, call_command("data stats --help").output);
  EXPECT_EQ(call_command("help").code, 0);
  const Outcome unknown = call_command("trian --data x.csv");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.error.find("did you mean train"), unknown.error.npos);
  EXPECT_EQ(unknown.error.find("unknown flag"), unknown.error.npos) << unknown.error;
  const Outcome comma = call_command("train --data x.csv --label y --threshold 0,3");
  EXPECT_NE(comma.error.find("the decimal sign is a point"), comma.error.npos) << comma.error;
}

TEST_F(FirstHour, PicturesAndModelsAreNamed) {
  const std::string picture = write_file(folder + "/p.csv", "\x89PNG\r\n\x1a\nxxxx");
  for (const auto& arguments : {std::vector<std::string>{"stats", picture}, {"head", picture}})
    EXPECT_EQ(rule_of([&] { call_verb(add_data, arguments); }), "csv.kind");
  train(rows("kunden.csv", 60));
  EXPECT_EQ(rule_of([&] { call_verb(add_graph, {model}); }), "graph.model");
}

}  // namespace
}  // namespace espalier::cli
