// What every command that takes a table makes of files that are no good: it reads them, or says which file or
// column it is.
#include <functional>

#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

struct BadTable : FolderTest {
  std::string bad = folder + "/bad.csv", good = folder + "/good.csv", model = folder + "/model";

  // 60 rows of an id, a label, a number and two groups.
  static std::string table(const std::string& end = "\n", const std::string& between = ",") {
    std::string out = cat("id", between, "y", between, "p", between, "g", end);
    for (int i = 0; i < 60; ++i)
      out += cat("r", i, between, i % 2 ? "yes" : "no", between, "0.", i % 9, i % 7, between,
                 i % 3 ? "ab" : "cd", end);
    return out;
  }
  static std::string with(const std::string& from, const std::string& to, size_t most = 1000) {
    std::string out = table();
    for (size_t at = out.find(from); at != out.npos && most--; at = out.find(from, at + to.size()))
      out.replace(at, from.size(), to);
    return out;
  }
  static std::string rows(const std::function<std::string(int row)>& row, int count = 60) {
    std::string out = "id,y,p,g\n";
    for (int i = 0; i < count; ++i) out += row(i) + "\n";
    return out;
  }
  static std::string wide(bool big) {
    std::string out = big ? "\xfe\xff" : "\xff\xfe";
    for (const char c : table()) out += big ? std::string{'\0', c} : std::string{c, '\0'};
    return out;
  }
  static std::string columns(int count) {
    std::string out = "id,y,p,g";
    for (int c = 4; c < count; ++c) out += cat(",c", c);
    for (int row = 0; row < 20; ++row) {
      out += cat("\n", row, row % 2 ? ",yes" : ",no", ",0.", row % 9, row % 3 ? ",ab" : ",cd");
      for (int c = 4; c < count; ++c) out += cat(",", (c * row + c) % 10);
    }
    return out + "\n";
  }
  static std::string big_with_a_quote() {
    std::string out = table();
    const std::string rows = out.substr(out.find('\n') + 1);
    while (out.size() < size_t{1} << 20) out += rows;
    return out + "r,yes,0.5,\"ab\n" + rows;
  }
  static std::vector<std::pair<const char*, std::string>> tables() {
    return {
        {"empty", ""},
        {"blanks", "   \n\n"},
        {"names and no row", "id,y,p,g\n"},
        {"one row", "id,y,p,g\nr0,yes,0.5,ab\n"},
        {"ragged rows", table() + "r60,yes\n"},
        {"two columns of one name", with("id,y,p,g", "id,y,p,p")},
        {"mixed line ends", with("\n", "\r\n", 7)},
        {"carriage returns", table("\r")},
        {"a byte order mark", "\xef\xbb\xbf" + table()},
        {"UTF-16, little end", wide(false)},
        {"UTF-16, big end", wide(true)},
        {"Latin-1", with("ab", "Z\xfcrich")},
        {"a NUL byte", with("ab", std::string("a\0b", 3), 1)},
        {"a quote that does not end", big_with_a_quote()},
        {"blanks after commas", table("\n", ", ")},
        {"10,000 columns", columns(10000)},
        {"whole numbers beyond the doubles",
         rows([](int i) { return cat(9007199254740992 + i, i % 2 ? ",yes,0." : ",no,0.", i, ",ab"); })},
        {"a column without a cell",
         rows([](int i) { return cat("r", i, i % 2 ? ",yes,," : ",no,,", "ab"); })},
        {"no label", rows([](int i) { return cat("r", i, ",,0.5,ab"); })},
        {"labels of one class", rows([](int i) { return cat("r", i, ",yes,0.", i, ",ab"); })},
        {"no column known", "a,b\n1,2\n3,4\n"},
    };
  }
  void expect_no_harm(const std::string& command) const {
    for (const auto& [what, text] : tables()) {
      write_file(bad, text);
      const Outcome said = call_command(command);
      const std::string all = cat(command, " of ", what, ", exit ", said.code, "\n", said.error);
      EXPECT_TRUE(said.code >= 0 && said.code <= 3) << all;
      if (said.code != 2) continue;
      const auto says = [&](const char* part) { return said.error.find(part) != std::string::npos; };
      EXPECT_TRUE(says("bad.csv") || says("\"y\"") || says("\"g\"") || says("\"id\"") || says("\"p\"") ||
                  says("p > 0.1") || says("id: set aside"))
          << all;
    }
  }
  void SetUp() override { write_file(good, table()); }
  void train_good() const {
    const Outcome said = call_command(cat("train --data ", good, " --label y --epochs 2 --model ", model));
    ASSERT_EQ(said.code, 0) << said.error;
  }
};

TEST_F(BadTable, TrainsOrSaysWhatIsWrong) {
  expect_no_harm(cat("train --data ", bad, " --label y --epochs 2 --model ", model));
}
TEST_F(BadTable, IsTestedOnOrSaysWhatIsWrong) {
  expect_no_harm(cat("train --data ", good, " --test ", bad, " --label y --epochs 2 --model ", model));
}
TEST_F(BadTable, IsPredictedOrSaysWhatIsWrong) {
  train_good();
  expect_no_harm(cat("predict ", model, " ", bad));
}
TEST_F(BadTable, IsEvaluatedOrSaysWhatIsWrong) {
  train_good();
  expect_no_harm(cat("evaluate ", model, " ", bad, " --slice g"));
}
TEST_F(BadTable, AnswersQuestionsOfBias) {
  expect_no_harm(cat("data bias ", bad, " --sensitive g --label y --positive yes"));
}
TEST_F(BadTable, AnswersQuestionsOfLeaks) {
  expect_no_harm(cat("data leak ", bad, " --label y"));
  expect_no_harm(cat("data leak ", good, " --test ", bad, " --label y"));
}
TEST_F(BadTable, AnswersQuestionsOfDrift) {
  expect_no_harm(cat("data drift ", bad, " ", good));
  expect_no_harm(cat("data drift ", good, " ", bad));
}
TEST_F(BadTable, AnswersQuestionsOfSkew) {
  expect_no_harm(cat("data skew ", bad, " ", good, " --id id"));
  expect_no_harm(cat("data skew ", good, " ", bad, " --id id"));
}
TEST_F(BadTable, IsSplitOrSaysWhatIsWrong) {
  expect_no_harm(cat("data split ", bad, " --label y --replace --train ", folder, "/train.csv --test ",
                     folder, "/test.csv"));
}
TEST_F(BadTable, ShowsItsRowsOrSaysWhatIsWrong) {
  expect_no_harm(cat("data rows ", bad, " --where 'p > 0.1'"));
  expect_no_harm(cat("data head ", bad));
}

}  // namespace
}  // namespace espalier::cli
