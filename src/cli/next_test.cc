// The last line of every command names the next one, which works as it stands there.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/env.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

// Rows that a model can learn, of which some are missing their city.
std::string people(int rows) {
  std::string text = "id,age,sex,city,paid\n";
  for (int i = 0; i < rows; ++i) {
    const int age = 18 + i * 37 % 60;
    text += cat("k", i, ",", age, ",", i % 2 ? "Female" : "Male", ",",
                i % 9 == 0   ? ""
                : i % 3 == 0 ? "Oslo"
                             : "Bonn",
                ",", (age > 45) != (i % 11 == 0) ? "yes" : "no", "\n");
  }
  return text;
}

struct Next : testing::Test {
  const std::string home =
      std::filesystem::absolute(
          fresh_folder(cat("next-", testing::UnitTest::GetInstance()->current_test_info()->name())))
          .string();
  const std::string program = std::filesystem::absolute(build_folder() + "/espalier").string();

  void SetUp() override { write_file(home + "/people.csv", people(600)); }
  // Exit codes of no mistake: done, a check that says no, and undecided.
  std::string run(const std::string& line) const {
    const int status = std::system(cat("cd ", home, " && ", line, " > log 2> err < /dev/null").c_str());
    const int code = WEXITSTATUS(status);
    EXPECT_TRUE(code == 0 || code == 1 || code == 3) << line << "\n" << posix_env().read_file(home + "/err");
    return posix_env().read_file(home + "/log");
  }
  // What stands on the last line behind "next: ".
  static std::string next_of(const std::string& text) {
    const std::string mark = "next: ";
    if (text.empty() || text.back() != '\n') return "";
    const size_t end = text.size() - 1, begin = end == 0 ? 0 : text.rfind('\n', end - 1) + 1;
    const std::string last = text.substr(begin, end - begin);
    return last.starts_with(mark) ? last.substr(mark.size()) : "";
  }
  void expect_next(const std::string& arguments) const {
    const std::string said = run(cat(program, " ", arguments)), next = next_of(said);
    ASSERT_NE(next, "") << arguments << "\n" << said;
    EXPECT_TRUE(next.starts_with(program + " ") || next.starts_with("cc ")) << arguments << "\n" << next;
    run(next);
  }
};

TEST_F(Next, NewFilesHaveFreeNames) {
  const auto next = [&](const char* arguments) { return next_of(run(cat(program, " ", arguments))); };
  EXPECT_TRUE(next("data schema people.csv").ends_with(" --out schema.pbtxt"));
  run("touch schema.pbtxt rows.csv people-train.csv people-train-2.csv");
  EXPECT_TRUE(next("data schema people.csv").ends_with(" --out schema-2.pbtxt"));
  EXPECT_TRUE(next("data rows people.csv --where 'age > 70'").ends_with(" --out rows-2.csv"));
  std::string rows = "x,z,y\n";
  for (int i = 0; i < 90; ++i) rows += cat(i * 37 % 80, ".25,", i * 53 % 70, ".5,", i % 2, "\n");
  write_file(home + "/people.csv", rows);
  const std::string split = next("data leak people.csv --test people.csv");
  EXPECT_NE(split.find(" --train people-train-3.csv --test people-test.csv"), std::string::npos) << split;
}

TEST_F(Next, FilesThatBeginWithADashStayFiles) {
  run("cp people.csv ./-d.csv");
  expect_next("train --data ./-d.csv --label paid --epochs 1");
  EXPECT_NE(next_of(run(cat(program, " train --data ./-d.csv --label paid --epochs 1"))).find(" ./-d.csv "),
            std::string::npos);
  expect_next("data split ./-d.csv --train=-a.csv --test=-b.csv");
  expect_next("data leak ./-d.csv --test ./-d.csv");
}

TEST_F(Next, OfEveryCommandWorksAsItStands) {
  for (const char* arguments : {
           "train --data people.csv --label paid --epochs 3",
           "evaluate model people.csv",
           "evaluate model people.csv --slice sex --out evaluated.txt",
           "check model people.csv --init --slice sex --out sex.toml",
           "check model people.csv --gates sex.toml",
           "check model people.csv --gates sex.toml --html report.html",
           "check model people.csv --gates sex.toml --verify report.html",
           "predict model people.csv --id id --out predictions.csv",
           "export model --to c --out net.c",
           "export model --to onnx --out net.onnx",
           "export model --to stablehlo --out net.mlir",
           "graph net.mlir",
           "import net.onnx --out again",
           "quantize model --calibrate people.csv --out small",
           "info",
           "info --ops",
           "info model",
           "lineage model",
           "lineage model --verify",
           "data stats people.csv",
           "data stats people.csv --out stats.pb",
           "data schema people.csv",
           "data schema people.csv --out schema.pbtxt",
           "data schema schema.pbtxt --show",
           "data validate people.csv --schema schema.pbtxt",
           "data check people.csv",
           "data drift people.csv people.csv",
           "data skew people.csv people.csv --id id",
           "data leak people.csv",
           "data leak people.csv --label paid",
           "data leak people.csv --label paid --test people.csv",
           "data bias people.csv",
           "data split people.csv --label paid",
           "data head people.csv",
           "data rows people.csv --where 'age > 70'",
           "data rows people.csv --where 'age > 70' --out old.csv",
       })
    expect_next(arguments);
  // What other programs read is left alone.
  EXPECT_EQ(next_of(run(cat(program, " predict model people.csv"))), "");
  EXPECT_EQ(next_of(run(cat(program, " data stats people.csv --json"))), "");
}

// What was read is gone, and the verb's help says how to name a file.
TEST_F(Next, OfStandardInputIsAHelp) {
  run(cat(program, " train --data people.csv --label paid --epochs 1"));
  write_file(home + "/scores.csv", "y,p\n1,0.9\n0,0.2\n1,0.4\n0,0.6\n");
  for (const char* arguments :
       {"data stats -", "data schema - --show", "data schema -", "data drift - people.csv",
        "data drift people.csv -", "data check -", "data leak - --label paid", "data bias -", "data head -",
        "data rows - --where \"age > 40\"", "data validate - --schema s.pbtxt", "evaluate model -",
        "train --data - --label paid --epochs 1 --model other"}) {
    run(cat(program, " data schema people.csv --out s.pbtxt"));
    const std::string said = run(cat("sh -c '", program, " ", arguments, " < people.csv'"));
    const std::string next = next_of(said);
    ASSERT_TRUE(next.starts_with(program + " ")) << arguments << "\n" << said;
    EXPECT_EQ(next.find(" -\n"), next.npos) << next;
    run(next);
  }
  const std::string said =
      run(cat("sh -c '", program, " evaluate --scores - --label y --score p < scores.csv'"));
  EXPECT_NE(next_of(said), "") << said;
  run(next_of(said));
}

TEST_F(Next, OfScoresKeepsEveryFlag) {
  std::string scores = "truth;score;weight;sex\n";
  for (int i = 0; i < 400; ++i) {
    scores += cat(i % 7 < 3 ? "gut" : "schlecht", ";0.", 10 + i * 37 % 80, ";", 1 + i % 2, ";",
                  i % 2 ? "Female" : "Male", "\n");
  }
  write_file(home + "/scores.csv", scores);
  write_file(home + "/answers.toml",
             "harm = \"a person is refused\"\nworry = \"errors\"\nlabels = \"trustworthy\"\n"
             "action = \"punitive\"\nhurt = \"acted-upon\"\n");
  const std::string flags =
      " --label truth --score score --positive gut --weight weight --delimiter ';' --slice sex";
  for (const std::string& arguments :
       {cat("evaluate --scores scores.csv", flags),
        // Before there are gates, and with them.
        cat("evaluate --scores scores.csv", flags, " --metric tpr"),
        cat("evaluate --scores scores.csv", flags, " --metric tpr"),
        cat("check --scores scores.csv", flags, " --init --out of-scores.toml"),
        cat("fairness choose --answers answers.toml --data scores.csv --out fair.toml", flags),
        std::string("data split scores.csv --label truth --delimiter ';'")})
    expect_next(arguments);
}

// The next verb takes the same words for missing, or has no such flag and none is said to it: `data stats`,
// `schema` and `validate` take every word for a value but those of --missing.
TEST_F(Next, KeepsTheWordsForMissingCells) {
  std::string visits = "id,sex,at,size,weight,ill\n", later = visits,
              labelled = "id,sex,at,size,weight,ill,told\n";
  for (int i = 0; i < 300; ++i) {
    const std::string row = cat(i, i % 2 ? ",Female," : ",Male,", "2031-01-", 10 + i % 18, ",",
                                i % 2 && i % 3 == 0 ? "NA" : cat(i * 37 % 100, ".", i % 7)),
                      ill = i * i % 7 < 3 ? "yes" : "no";
    visits += cat(row, ",", i * 53 % 300, ".5,", ill, "\n");
    later += cat("9", row, ",", 200 + i * 53 % 300, ".5,", ill, "\n");
    labelled += cat(row, ",", i * 53 % 300, ".5,", ill, ",", ill == "yes" ? "1" : "0", "\n");
  }
  write_file(home + "/visits.csv", visits);
  write_file(home + "/later.csv", later);
  write_file(home + "/labelled.csv", labelled);
  run(cat(program, " data schema visits.csv --out visits.pbtxt"));
  const std::string both = " --missing none --not-missing NA";
  const struct {
    std::string words, next, flags;
  } asked[] = {
      {"data leak visits.csv", "data stats", " --missing none"},
      {"data leak visits.csv --label ill", "train", both},
      {"data leak visits.csv --label ill --test visits.csv", "data split", both},
      {"data drift visits.csv later.csv", "data leak", both},
      {"data skew visits.csv visits.csv --id id", "data drift", both},
      {"data bias visits.csv --label ill --positive yes", "data leak", both},
      {"data split visits.csv --replace", "data leak", both},
      {"data rows visits.csv --where 'weight > 40'", "data rows", both},
      {"data check visits.csv", "data stats", " --missing none"},
      {"data check visits.csv --label ill", "train", both},
      {"data check labelled.csv --label ill", "data leak", both},
      {"data check visits.csv later.csv", "data drift", both},
      {"data check visits.csv labelled.csv", "data schema", " --missing none"},
      {"data check visits.csv labelled.csv --schema visits.pbtxt", "data validate", " --missing none"},
  };
  for (const auto& [words, expected, flags] : asked) {
    const std::string said = run(cat(program, " ", words, both)), next = next_of(said);
    EXPECT_TRUE(next.starts_with(cat(program, " ", expected, " "))) << words << "\n" << said;
    EXPECT_NE((next + " ").find(flags + " "), next.npos) << words << "\n" << next;
    EXPECT_EQ(next.find("--not-missing") != next.npos, flags == both) << words << "\n" << next;
    run(next);
    const std::string plain = next_of(run(cat(program, " ", words)));
    EXPECT_EQ(plain.find("missing NA"), plain.npos) << plain;
  }
  // A column of numbers is a time to the next verb as well.
  expect_next("data split visits.csv --by-time id --replace");
}

TEST_F(Next, OfAModelKeepsEveryFlag) {
  run(cat(program, " train --data people.csv --label paid --epochs 3"));
  run(cat(program, " train --data people.csv --label paid --epochs 1 --model before"));
  run(cat(program, " data schema people.csv --set sex.role=sensitive --out schema.pbtxt"));
  for (const std::string flags :
       {"--all-rows", "--all-rows --baseline before", "--query city --where \"city is not missing\"",
        "--schema schema.pbtxt --slice sex --interval jackknife --seed 3"}) {
    std::filesystem::remove(home + "/gates.toml");
    const std::string evaluated = next_of(run(cat(program, " evaluate model people.csv ", flags)));
    std::istringstream words(flags);
    for (std::string word; words >> word;) {
      word.erase(std::remove(word.begin(), word.end(), '"'), word.end());
      EXPECT_NE(evaluated.find(word), evaluated.npos) << flags << "\n" << evaluated;
    }
    const std::string verdict = run(next_of(run(evaluated)));
    EXPECT_EQ(verdict.find("600") != verdict.npos, flags.starts_with("--all-rows")) << verdict;
  }
}

// What is the content of a file stays alone on standard output.
TEST_F(Next, OfAFileOnStandardOutputIsSaidBesideIt) {
  run(cat(program, " train --data people.csv --label paid --epochs 3"));
  const std::string gates = run(cat(program, " check model people.csv --init --slice sex"));
  EXPECT_EQ(gates.find("next: "), gates.npos);
  const std::string next = next_of(posix_env().read_file(home + "/err"));
  EXPECT_TRUE(next.ends_with(" check model people.csv --init --slice sex --out gates.toml")) << next;
  const std::string after = next_of(run(next));
  EXPECT_EQ(posix_env().read_file(home + "/gates.toml"), gates);
  EXPECT_NE(after.find(" --gates gates.toml"), after.npos) << after;
}

TEST_F(Next, WhatIsNotAtHandIsInCapitals) {
  run(cat(program, " train --data people.csv --label paid --epochs 1"));
  std::filesystem::remove(home + "/people.csv");
  EXPECT_TRUE(next_of(run(cat(program, " info model"))).ends_with(" predict model YOUR_ROWS.csv"));
}

TEST_F(Next, OfTrainingOnFewRowsLeadsToGatesOfAllOfThem) {
  write_file(home + "/people.csv", people(100));
  const std::string trained = run(cat(program, " train --data people.csv --label paid --epochs 3"));
  const std::string evaluated = next_of(run(next_of(trained)));
  const std::string gates = posix_env().read_file(home + "/gates.toml");
  EXPECT_NE(gates.find("metric = \"accuracy\""), gates.npos) << gates;
  EXPECT_EQ(gates.find("between"), gates.npos) << gates;
  const std::string verified = next_of(run(evaluated)), verdict = run(verified);
  EXPECT_NE(verdict.find("Verified: "), verdict.npos) << verified << "\n" << verdict;
  EXPECT_TRUE(next_of(verdict).ends_with(" predict model people.csv")) << verdict;
}

}  // namespace
}  // namespace espalier::cli
