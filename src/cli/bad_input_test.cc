// What the commands for data, scores and gates make of files that are no good: one test for each kind. They
// are refused with the line, the rule and what to do, or read as what they mean, which a plain table says
// too.
#include <algorithm>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

struct BadInput : FolderTest {
  // 60 rows of a label, a score and two groups, one row a line, ended as is said.
  static std::string table(const std::string& end = "\n", const std::string& between = ",") {
    std::string out = cat("y", between, "p", between, "g", end);
    for (int i = 0; i < 60; ++i)
      out += cat(i % 2, between, "0.", i % 9, i % 7, between, i % 3 ? "ab" : "cd", end);
    return out;
  }
  std::string good() const { return file("good.csv", table()); }
  std::string schema() const {
    const std::string out = folder + "/schema.pbtxt";
    EXPECT_EQ(call_command(cat("data schema ", good(), " --out ", out)).code, 0);
    return out;
  }
  std::string of_scores(const std::string& path) const {
    return cat(" --scores ", path, " --label y --score p ");
  }
  std::string gates() const {
    return cat("--gates ", file("gates.toml", "[[gates]]\nmetric = \"accuracy\"\neach = \"g\"\nmin = 0\n"));
  }
  std::vector<std::string> commands(const std::string& path) const {
    return {cat("data stats ", path),
            cat("data schema ", path),
            cat("data validate ", path, " --schema ", schema()),
            cat("data check ", path),
            cat("data check ", good(), " ", path),
            cat("evaluate", of_scores(path), "--slice g"),
            cat("check", of_scores(path), gates())};
  }
  static void expect_refused(const std::string& command, const std::vector<std::string>& parts) {
    const Outcome said = call_command(command);
    EXPECT_EQ(said.code, 2) << command << "\n" << said.output << said.error;
    for (const std::string& part : parts)
      EXPECT_NE(said.error.find(part), std::string::npos) << part << " of " << command << "\n" << said.error;
    EXPECT_LT(said.error.size(), 2000u);
  }
  void expect_all_refuse(const std::string& text, const std::vector<std::string>& parts) const {
    for (const std::string& command : commands(file("bad.csv", text))) expect_refused(command, parts);
  }
  // Statistics, figures of slices and verdicts are those of the plain table.
  void expect_means(const std::string& text, const std::string& plain) const {
    const auto said = [&](const std::string& rows) {
      const std::string path = file("table.csv", rows);
      Json out = Json::array();
      for (const std::string& command :
           {cat("data stats ", path), cat("data schema ", path),
            cat("evaluate", of_scores(path), "--slice g"), cat("check", of_scores(path), gates())}) {
        const Outcome one = call_command(command + " --json");
        EXPECT_EQ(one.code, 0) << command << one.error;
        out.push_back(Json::parse(one.output));
      }
      return out;
    };
    const Json same = said(plain);
    EXPECT_EQ(same[0]["rows"], 60);
    EXPECT_EQ(said(text), same);
    EXPECT_EQ(call_command(cat("data validate ", file("table.csv", text), " --schema ", schema())).code,
              call_command(cat("data validate ", file("plain.csv", plain), " --schema ", schema())).code);
  }
};

TEST_F(BadInput, EmptyFiles) {
  for (const char* nothing : {"", "\n\n", "   \n"})
    expect_all_refuse(nothing, {"bad.csv: line 1: no rows, nothing but blanks [csv.empty]"});
}

TEST_F(BadInput, NamesOfColumnsAndNoRow) {
  const std::string path = file("names.csv", "y,p,g\n");
  const Outcome stats = call_command("data stats " + path);
  EXPECT_TRUE(stats.output.starts_with("0 rows"));
  EXPECT_NE(stats.error.find("names.csv has no rows"), std::string::npos) << stats.error;
  const Outcome validated = call_command(cat("data validate ", path, " --schema ", schema()));
  EXPECT_EQ(validated.code, 1);
  EXPECT_TRUE(validated.output.starts_with("There is no data")) << validated.output;
  expect_refused("data schema " + path, {"names.csv", "[data.rows]"});
  expect_refused("data check " + path, {"names.csv", "[data.rows]"});
  expect_refused(cat("data check ", good(), " ", path), {"names.csv", "[data.rows]"});
  expect_refused("evaluate" + of_scores(path), {"names.csv: no row has a label [scores.label]"});
  expect_refused(cat("check", of_scores(path), gates()), {"names.csv: no row has a label [scores.label]"});
}

TEST_F(BadInput, RaggedRows) {
  expect_all_refuse(
      table() + "1,0.5\n" + "1,0.5,ab\n",
      {"bad.csv: line 62 ends after 2 cells, the first line has 3 [csv.columns]", "stands in double quotes"});
  expect_all_refuse(table() + "1,0.5,ab,7\n",
                    {"line 62", "after 4 cells, the first line has 3 [csv.columns]"});
}

TEST_F(BadInput, TwoColumnsOfOneName) {
  std::string twice = table();
  twice.replace(0, 5, "y,p,p");
  const std::string path = file("twice.csv", twice);
  const Outcome outcome = call_command(cat("data stats ", path, " --json"));
  EXPECT_NE(outcome.error.find("a name stands twice: the column that is \"p\" once more is called \"p_2\""),
            std::string::npos)
      << outcome.error;
  const Json said = Json::parse(outcome.output);
  std::vector<std::string> names;
  for (const Json& feature : said["stats"]["datasets"][0]["features"])
    for (const Json& step : feature["path"]["step"]) names.push_back(step);
  EXPECT_EQ(names, (std::vector<std::string>{"y", "p", "p_2"}));
  EXPECT_EQ(call_command(cat("evaluate", of_scores(path), "--slice p_2")).code, 0);
  expect_refused(cat("evaluate", of_scores(path), "--slice g"),
                 {"unknown column \"g\": known are y, p, p_2"});
}

TEST_F(BadInput, MixedLineEnds) {
  std::string mixed;
  for (const char c : table()) {
    if (c == '\n' && mixed.size() % 2) mixed += '\r';
    mixed += c;
  }
  expect_means(mixed, table());
  expect_all_refuse(table("\r"), {"bad.csv: line 1: lines that end in carriage returns alone [csv.line_end]",
                                  "tr '\\r' '\\n'"});
}

TEST_F(BadInput, AByteOrderMark) { expect_means("\xef\xbb\xbf" + table(), table()); }

TEST_F(BadInput, Utf16) {
  for (const bool big : {false, true}) {
    std::string wide = big ? "\xfe\xff" : "\xff\xfe";
    for (const char c : table()) {
      if (big) wide += '\0';
      wide += c;
      if (!big) wide += '\0';
    }
    expect_means(wide, table());
  }
}

TEST_F(BadInput, Latin1) {
  const auto with = [](const std::string& name) {
    std::string out = table();
    for (size_t at = out.find("ab"); at != out.npos; at = out.find("ab", at)) out.replace(at, 2, name);
    return out;
  };
  const std::string latin = file("latin.csv", with("Z\xfcrich")),
                    utf8 = file("utf8.csv", with("Z\xc3\xbcrich"));
  const auto slices = [&](const std::string& path) {
    return Json::parse(call_command(cat("evaluate", of_scores(path), "--slice g --json")).output)["slices"];
  };
  EXPECT_EQ(slices(latin), slices(utf8));
  EXPECT_EQ(slices(latin)[0]["slice"], "g=Z\xc3\xbcrich");
  EXPECT_EQ(call_command(cat("check", of_scores(latin), gates())).code, 0);
  const Outcome held = call_command(cat("data validate ", latin, " --schema ", schema()));
  EXPECT_EQ(held.code, 1);
  EXPECT_NE(held.output.find("Invalid UTF8 strings: 40 values"), std::string::npos) << held.output;
}

TEST_F(BadInput, NulBytes) {
  std::string nul = table();
  nul[nul.find("ab")] = '\0';
  expect_all_refuse(nul,
                    {"bad.csv: line 3: a NUL byte, which no text has [csv.nul]", "save the table as CSV"});
}

TEST_F(BadInput, AQuoteThatDoesNotEndInABigFile) {
  std::string big = table();
  const std::string rows = big.substr(6);
  while (big.size() < size_t{3} << 20) big += rows;
  const int64_t line = std::count(big.begin(), big.end(), '\n') + 1;
  big += "1,0.5,\"ab\n";
  while (big.size() < size_t{6} << 20) big += rows;
  expect_all_refuse(big, {cat("bad.csv: line ", line, ", column 7: a quote that does not end"), "[csv.quote]",
                          "written twice"});
}

TEST_F(BadInput, BlanksAfterCommas) { expect_means(table("\n", ", "), table()); }

TEST_F(BadInput, TenThousandColumns) {
  std::string wide = "y,p,g";
  for (int c = 3; c < 10000; ++c) wide += cat(",c", c);
  for (int row = 0; row < 20; ++row) {
    wide += cat("\n", row % 2, ",0.", row % 9, ",", row % 3 ? "ab" : "cd");
    for (int c = 3; c < 10000; ++c) wide += cat(",", (c * row + c) % 10);
  }
  const std::string path = file("wide.csv", wide + "\n");
  EXPECT_TRUE(call_command("data stats " + path).output.starts_with("20 rows, 10000 features"));
  EXPECT_EQ(call_command("data schema " + path).code, 0);
  EXPECT_EQ(call_command(cat("data validate ", path, " --schema ", schema())).code, 1);
  EXPECT_EQ(call_command(cat("data check ", good(), " ", path)).code, 1);
  EXPECT_EQ(call_command(cat("evaluate", of_scores(path), "--slice g")).code, 0);
  EXPECT_EQ(call_command(cat("check", of_scores(path), gates())).code, 0);
  expect_refused(cat("evaluate --scores ", path, " --label y --score q"),
                 {"wide.csv \"q\"", "and 9900 more"});
}

// Neighbours are one number for doubles, and two values of the column.
TEST_F(BadInput, WholeNumbersBeyondTheDoubles) {
  std::string text = "id,y,p,g\n";
  for (int i = 0; i < 60; ++i) text += cat(9007199254740992 + i, ",", i % 2, ",0.", i % 9, ",ab\n");
  const std::string path = file("ids.csv", text);
  const Json said = Json::parse(call_command(cat("data stats ", path, " --json")).output);
  const Json& numbers = said["stats"]["datasets"][0]["features"][0]["num_stats"];
  EXPECT_EQ(numbers["common_stats"]["num_non_missing"], 60);
  EXPECT_EQ(numbers["min"].get<double>(), 9007199254740992.0);
  EXPECT_EQ(numbers["max"].get<double>(), 9007199254740992.0 + 60);  // the nearest double to 59 more
  const Json kept =
      Json::parse(call_command(cat("evaluate", of_scores(path), "--where 'y == 1' --slice g --json")).output);
  EXPECT_EQ(kept["overall"]["rows"], 30);
}

// The text is right, and cells without one are wrong.
TEST_F(BadInput, TextsThatReadAsTheNameOfMissingCells) {
  std::string text = "y,p,g\n";
  for (int i = 0; i < 80; ++i) {
    const bool there = i % 2, yes = i / 2 % 2;
    text += cat(yes, ",", yes == there ? 0.9 : 0.1, ",", there ? "(missing)" : "", "\n");
  }
  const std::string path = file("odd.csv", text), prometheus = folder + "/gates.prom";
  const std::string gates = file("gates.toml",
                                 "[[gates]]\nmetric = \"accuracy\"\nslice = \"g=(missing)\"\nmin = 0.5\n"
                                 "[[gates]]\nmetric = \"accuracy\"\nslice = 'g=\"(missing)\"'\nmin = 0.5\n"
                                 "[[gates]]\nmetric = \"accuracy\"\neach = \"g\"\nmin = 0.5\n");
  const Outcome said =
      call_command(cat("check", of_scores(path), "--gates ", gates, " --json --prometheus ", prometheus));
  const Json verdicts = Json::parse(said.output)["gates"];
  EXPECT_EQ(verdicts[0]["findings"][0]["value"], 0) << said.output;
  EXPECT_EQ(verdicts[1]["findings"][0]["value"], 1) << said.output;
  std::set<std::string> series;
  std::istringstream lines(posix_env().read_file(prometheus));
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.starts_with("#") || series.insert(line.substr(0, line.rfind(' '))).second) << line;
}

TEST_F(BadInput, ColumnsWithoutAnyCell) {
  std::string groups = "y,p,g\n", scores = groups, labels = groups;
  for (int i = 0; i < 40; ++i)
    groups += cat(i % 2, ",0.", i % 9, ",\n"), scores += cat(i % 2, ",,ab\n"), labels += ",0.5,ab\n";
  const std::string path = file("groups.csv", groups);
  const Json said = Json::parse(call_command(cat("evaluate", of_scores(path), "--slice g --json")).output);
  ASSERT_EQ(said["slices"].size(), 1u);
  EXPECT_EQ(said["slices"][0]["slice"], "g=(missing)");
  EXPECT_EQ(said["slices"][0]["rows"], 40);
  EXPECT_EQ(call_command("data stats " + path).code, 0);
  EXPECT_NE(call_command(cat("data validate ", path, " --schema ", schema())).output.find("Column dropped"),
            std::string::npos);
  expect_refused("evaluate" + of_scores(file("scores.csv", scores)),
                 {"scores.csv, line 2: ", "[scores.score]"});
  expect_refused("evaluate" + of_scores(file("labels.csv", labels)), {"labels.csv: no row has a label"});
}

TEST_F(BadInput, LabelsOfOneClass) {
  std::string text = "y,p,g\n";
  for (int i = 0; i < 40; ++i) text += cat("good,0.", i % 9, ",ab\n");
  const std::string path = file("one.csv", text);
  for (const std::string& command :
       {cat("evaluate", of_scores(path)), cat("check", of_scores(path), gates())})
    expect_refused(command, {"one.csv: every row of column \"y\" is \"good\"", "[scores.label]",
                             "fix: --positive good, or --positive with the label that no row has"});
  EXPECT_EQ(call_command("data stats " + path).code, 0);
}

TEST_F(BadInput, WeightsThatAreNone) {
  for (const char* weight : {"-1", "NaN", "inf", "", "heavy", "1e308"}) {
    std::string text = "y,p,g,w\n";
    for (int i = 0; i < 40; ++i) text += cat(i % 2, ",0.", i % 9, ",ab,", i == 7 ? weight : "1", "\n");
    const std::string path = file("weights.csv", text);
    for (const char* verb : {"stats", "schema"})
      expect_refused(cat("data ", verb, " ", path, " --weight w"), {"weights.csv: line 9", "[stats.weight]"});
    const std::string of_rows = of_scores(path) + "--weight w ";
    for (const std::string& command : {cat("evaluate", of_rows), cat("check", of_rows, gates())})
      expect_refused(command, {"weights.csv, line 9: a weight is a number from 0 to 1e9", "[scores.weight]",
                               "fix: --where"});
  }
}

TEST_F(BadInput, ScoresThatAreNoProbabilities) {
  const std::pair<const char*, const char*> scores[] = {{"1.5", "fix: --task regression"},
                                                        {"-0.1", "fix: --task regression"},
                                                        {"nan", "fix: --where 'p is not missing'"},
                                                        {"high", "fix: --where 'p != \"high\"'"}};
  for (const auto& [score, fix] : scores) {
    const std::string path = file("scores.csv", cat(table(), "1,", score, ",ab\n"));
    for (const std::string& command :
         {cat("evaluate", of_scores(path)), cat("check", of_scores(path), gates())})
      expect_refused(command,
                     {cat("scores.csv, line 62: a score is a probability from 0 to 1, got \"", score, "\""),
                      "[scores.score]", fix});
  }
}

TEST_F(BadInput, LabelsYesAndNo) {
  std::string words = "y,p,g\n", others = words;
  for (int i = 0; i < 60; ++i) {
    const std::string rest = cat(",0.", i % 9, i % 7, ",", i % 3 ? "ab" : "cd", "\n");
    words += cat(i % 2 ? "yes" : "no", rest), others += cat(i % 2 ? "good" : "bad", rest);
  }
  const std::string yes = file("yes.csv", words), good_bad = file("other.csv", others);
  const auto figures = [&](const std::string& path, const std::string& more) {
    Json out = Json::parse(call_command(cat("evaluate", of_scores(path), "--slice g --json ", more)).output);
    return std::pair(out["positive"], out["slices"]);
  };
  const auto plain = figures(good(), ""), said = figures(yes, "");
  EXPECT_EQ(said.first, "yes");
  EXPECT_EQ(said.second, plain.second);
  EXPECT_EQ(figures(good_bad, "--positive good").second, plain.second);
  expect_refused("evaluate" + of_scores(good_bad), {"other.csv", "which of them do high scores stand for",
                                                    "--positive bad, or --positive good"});
}

// Of a group that no gate and no schema has met.
TEST_F(BadInput, GroupsUnseenBefore) {
  std::string text = table();
  for (int i = 0; i < 40; ++i) text += cat(i % 2, ",0.", i % 9, ",new\n");
  const std::string path = file("unseen.csv", text);
  const Json said = Json::parse(call_command(cat("evaluate", of_scores(path), "--slice g --json")).output);
  ASSERT_EQ(said["slices"].size(), 3u);
  EXPECT_EQ(said["slices"][2]["slice"], "g=new");
  EXPECT_EQ(said["slices"][2]["rows"], 40);
  const Outcome held = call_command(cat("data validate ", path, " --schema ", schema()));
  EXPECT_EQ(held.code, 1);
  EXPECT_NE(held.output.find("Unexpected string values: new (~40%)"), std::string::npos) << held.output;
  EXPECT_EQ(call_command(cat("data check ", good(), " ", path)).code, 1);
  const std::string gate =
      file("gone.toml", "[[gates]]\nmetric = \"accuracy\"\nslice = \"g=gone\"\nmin = 0\n");
  const Outcome gone = call_command(cat("check", of_scores(path), "--gates ", gate));
  EXPECT_EQ(gone.code, 3) << gone.output;
  EXPECT_NE(gone.output.find("there is no such slice"), std::string::npos) << gone.output;
}

}  // namespace
}  // namespace espalier::cli
