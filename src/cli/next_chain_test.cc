// Whoever follows the last line of each command comes to an end, and never to a command that was there
// before.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "base/env.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

struct NextChain : testing::Test {
  const std::string home =
      std::filesystem::absolute(
          fresh_folder(cat("chain-", testing::UnitTest::GetInstance()->current_test_info()->name())))
          .string();
  const std::string program = std::filesystem::absolute(build_folder() + "/espalier").string();

  void SetUp() override {
    std::string people = "id,age,sex,city,paid\n", colours = "size,side\n";
    for (int i = 0; i < 600; ++i) {
      const int age = 18 + i * 37 % 60;
      people += cat("k", i, ",", age, ",", i % 2 ? "Female" : "Male", ",", i % 3 == 0 ? "Oslo" : "Bonn", ",",
                    (age > 45) != (i % 11 == 0) ? "yes" : "no", "\n");
      colours += cat(i * 37 % 101, ".", i % 7, i * 37 % 101 > 50 ? ",left\n" : ",right\n");
    }
    write_file(home + "/people.csv", people);
    write_file(home + "/colours.csv", colours);
  }
  std::string run(const std::string& line) const {
    const int status = std::system(cat("cd ", home, " && ", line, " > log 2> err < /dev/null").c_str());
    const int code = WEXITSTATUS(status);
    EXPECT_TRUE(code == 0 || code == 1 || code == 3) << line << "\n" << posix_env().read_file(home + "/err");
    return posix_env().read_file(home + "/log");
  }
  static std::string next_of(const std::string& text) {
    const size_t at = text.rfind("next: ");
    if (at == text.npos || (at > 0 && text[at - 1] != '\n')) return "";
    return text.substr(at + 6, text.find('\n', at) - at - 6);
  }
  // "schema-3.pbtxt" of a name that was free is "schema.pbtxt".
  static std::string plain(const std::string& line) {
    return std::regex_replace(line, std::regex("-[0-9]+\\."), ".");
  }
  // Of programs of others, of files that nobody has here, of helps and of JSON nothing follows.
  bool is_end(const std::string& line) const {
    return !line.starts_with(program + " ") || line.find("YOUR_") != line.npos || line.ends_with(" --help") ||
           line.ends_with(" --json");
  }
  void follow(const std::string& arguments) {
    std::set<std::string> seen;
    std::string shown;
    for (std::string line = cat(program, " ", arguments);;) {
      shown += line + "\n";
      ASSERT_TRUE(seen.insert(plain(line)).second) << "it goes in circles:\n" << shown;
      ASSERT_LT(seen.size(), 20u) << shown;
      if (ends_.contains(plain(line))) break;  // it was followed to its end
      line = next_of(run(line));
      if (line.empty() || is_end(line)) break;
    }
    ends_.insert(seen.begin(), seen.end());
  }

 private:
  std::set<std::string> ends_;
};

TEST_F(NextChain, SlowEndsFromEachCommand) {
  for (const char* arguments : {
           "train --data people.csv --label paid --epochs 3",
           "evaluate model people.csv --slice sex",
           "check model people.csv --init --slice sex --out sex.toml",
           "info model",
           "lineage model",
           "threshold model 0.4 --out bold",
           "quantize model --calibrate people.csv --out small",
           "predict model people.csv --out said.csv",
           "export model --to stablehlo --out net.mlir",
           "graph net.mlir",
           "export model --to onnx --out net.onnx",
           "import net.onnx --out again",
           "data stats people.csv",
           "data schema people.csv --out schema.pbtxt",
           "data validate people.csv --schema schema.pbtxt",
           "data check people.csv",
           "data check people.csv --label paid",
           "data drift people.csv people.csv",
           "data skew people.csv people.csv --id id",
           "data bias people.csv",
           "data split people.csv --label paid",
           "data leak people.csv --label paid --test people.csv",
           "data head people.csv",
           "data rows people.csv --where 'age > 70'",
           "cache",
           "info",
           // Two classes of which nothing says which one is counted.
           "train --data colours.csv --label side --epochs 2 --model sides",
           "evaluate sides colours.csv",
           "info sides",
       })
    follow(arguments);
}

TEST_F(NextChain, SlowEndsOfScores) {
  std::string scores = "truth,score,sex\n";
  for (int i = 0; i < 400; ++i)
    scores += cat(i % 7 < 3 ? "yes" : "no", ",0.", 10 + i * 37 % 80, i % 2 ? ",Female\n" : ",Male\n");
  write_file(home + "/scores.csv", scores);
  follow("evaluate --scores scores.csv --label truth --score score");
  follow("check --scores scores.csv --label truth --score score --slice sex --init --out gates.toml");
}

}  // namespace
}  // namespace espalier::cli
