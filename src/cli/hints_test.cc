// A fix that an error shows is done as it stands, and the command goes on.
#include <nlohmann/json.hpp>

#include "base/shell_words.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

struct Hints : FolderTest {
  // The fix of a command that is refused.
  std::string fix_of(const std::string& words) const {
    const Outcome refused = call_command(words);
    EXPECT_EQ(refused.code, 2) << words << "\n" << refused.output << refused.error;
    const size_t at = refused.error.find("fix: ");
    if (at == std::string::npos) return "";
    return refused.error.substr(at + 5, refused.error.find('\n', at) - at - 5);
  }
  // The command with the flags of its fix.
  Outcome with_fix(const std::string& words) const {
    const std::string fix = fix_of(words);
    EXPECT_TRUE(fix.starts_with("--")) << fix;
    return call_command(cat(words, " ", fix));
  }
};

// 100 rows of two groups, of which this cell stands in the column p of ten.
std::string scores_with(const std::string& cell) {
  std::string out = "y,p,g\n";
  for (int i = 0; i < 100; ++i)
    out += cat(i % 3 == 0 ? 1 : 0, ",", i % 10 == 4 ? cell : cat(static_cast<double>(i * 37 % 100) / 100),
               ",", i % 2 ? "a" : "b", "\n");
  return out;
}

TEST_F(Hints, RowsWhoseScoreIsMissingOrAWordAreLeftOut) {
  for (const char* cell : {"NA", "", "nan", "none given", "a, b=\"c\""}) {
    std::string quoted = cell;
    if (quoted.find(',') != quoted.npos) quoted = "\"a, b=\"\"c\"\"\"";
    const std::string rows = file("scores.csv", scores_with(quoted));
    for (const char* task : {"", " --task regression", " --query g"}) {
      const std::string words = cat("evaluate --scores ", rows, " --label y --score p --json", task);
      const Outcome done = with_fix(words);
      EXPECT_EQ(done.code, 0) << words << done.error;
      EXPECT_EQ(nlohmann::json::parse(done.output)["where"]["kept"], 90) << cell << done.output;
    }
    // A condition that was there stays.
    const std::string fix =
        fix_of(cat("evaluate --scores ", rows, " --label y --score p --where 'g = \"b\" or y = 1'"));
    const Outcome both = call_command(cat("evaluate --scores ", rows, " --label y --score p --json ", fix));
    int64_t kept = 0;
    for (int i = 0; i < 100; ++i) kept += i % 10 != 4 && (i % 2 == 0 || i % 3 == 0);
    EXPECT_EQ(nlohmann::json::parse(both.output)["where"]["kept"], kept) << fix;
  }
  const std::string beyond = file("beyond.csv", scores_with("1.5"));
  EXPECT_EQ(with_fix(cat("evaluate --scores ", beyond, " --label y --score p")).code, 2)
      << "the fix stands for what follows it";
  EXPECT_EQ(call_command(cat("evaluate --scores ", beyond, " --label y --score p --task regression")).code,
            0);
}

TEST_F(Hints, WeightsLabelsAndQueriesAreNamedByTheirColumn) {
  std::string weights = "y,p,the weight\n", queries = "y,p,the query\n", classes = "y,p\n", worth = "y,p,q\n";
  for (int i = 0; i < 40; ++i) {
    weights += cat(i % 2, ",0.5,", i % 8 == 3 ? "-1" : "2", "\n");
    queries += cat(i % 2, ",0.5,", i % 8 == 3 ? "" : cat(i % 3), "\n");
    classes += cat("abc"[i % 3], ",", i % 8 == 3 ? "?" : "b", "\n");
    worth += cat(i % 8 == 3 ? -1 : i % 3, ",", i, ",", i % 4, "\n");
  }
  const auto kept = [&](const std::string& words) {
    const Outcome done = with_fix(cat("evaluate --label y --score p --json --scores ", words));
    EXPECT_EQ(done.code, 0) << words << done.error;
    return nlohmann::json::parse(done.output)["where"]["kept"];
  };
  EXPECT_EQ(kept(cat(file("weights.csv", weights), " --weight 'the weight'")), 35);
  EXPECT_EQ(kept(cat(file("queries.csv", queries), " --query 'the query'")), 35);
  EXPECT_EQ(kept(cat(file("classes.csv", classes), " --task classes")), 35);
  EXPECT_EQ(kept(cat(file("worth.csv", worth), " --task regression --query q")), 35);
}

// Of numbers of several widths; 2134 is another place.
TEST_F(Hints, ACodeWithAZeroIsComparedAsItStands) {
  const std::string rows = file("zip.csv", "zip,x\n02134,1\n2134,2\n7,3\n02134,4\n12,5\n");
  const std::string fix = fix_of(cat("data rows ", rows, " --where 'zip = \"02134\"'"));
  EXPECT_EQ(fix, "text(zip) = \"02134\"");
  const Outcome done = call_command(cat("data rows ", rows, " --json --where ", shell_words({fix})));
  EXPECT_EQ(nlohmann::json::parse(done.output)["of"], 2) << done.output << done.error;
}

TEST_F(Hints, RowsWithoutATimeArePartedFromTheOthers) {
  for (const char* cell : {"", "NA", "n.d."}) {
    for (const bool dates : {true, false}) {
      if (dates && cell == std::string("n.d.")) continue;  // such a column is of texts
      std::string table = "at,x\n";
      for (int i = 0; i < 40; ++i)
        table += cat(i % 8 == 3 ? cell : dates ? cat("2024-01-", 10 + i % 20) : cat(i), ",", i, "\n");
      const std::string rows = file("times.csv", table), out = folder + "/dated.csv";
      const std::string fix = fix_of(cat("data split ", rows, " --by-time at --replace --train ", folder,
                                         "/a.csv --test ", folder, "/b.csv"));
      const size_t command = fix.find("data rows FILE");
      ASSERT_NE(command, std::string::npos) << fix;
      std::string words = fix.substr(command);
      words.replace(words.find("FILE"), 4, rows);
      words.replace(words.find("DATED.csv"), 9, out);
      EXPECT_EQ(call_command(words).code, 0) << words;
      EXPECT_EQ(call_command(cat("data split ", out, " --by-time at --replace --train ", folder,
                                 "/a.csv --test ", folder, "/b.csv"))
                    .code,
                0)
          << cell << fix;
    }
  }
}

TEST_F(Hints, AQuarantineIsNamedOnlyWhereItSetsRowsAside) {
  const std::string table = file("rows.csv", "x,y\n1,a\n2,b\n99,a\n3,b\n4,a\n5,b\n6,a\n7,b\n8,a\n9,b\n");
  const auto refused = [&](const std::string& tags) {
    const std::string schema = file(
        "schema.pbtxt",
        cat("feature { name: \"x\" type: INT int_domain { max: 50 } }\nfeature { name: \"y\" type: BYTES }"));
    const std::string tagged = folder + "/tagged.pbtxt";
    EXPECT_EQ(call_command(cat("data schema ", schema, " ", tags, " --out ", tagged)).code, 0);
    return fix_of(cat("train --data ", table, " --label y --schema ", tagged, " --model ", folder,
                      "/model --epochs 1"));
  };
  EXPECT_EQ(refused("--set x.max=50"), "--quarantine FILE sets such rows aside");
  EXPECT_EQ(refused("--set x.policy=refuse"), "");
  EXPECT_EQ(refused("--set dataset.policy=refuse"), "");
}

}  // namespace
}  // namespace espalier::cli
