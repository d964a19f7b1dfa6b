// Names with the signs of lists, in flags, gates and conditions.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "base/shell_words.h"
#include "cli/verb_test.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

// The same rows twice, with nasty names and values and with plain ones.
struct QuotedNames : FolderTest {
  std::string nasty = table("nasty.csv", "\"age, years\",\"a=b\",\"c*\"\"d\"\"\",p,\"y:z\"",
                            {"\"u, v=2\"", "\"q\"\"x\"", "\"(missing)\""});
  std::string plain = table("plain.csv", "age,group,cell,p,y", {"u", "q", "m"});

  std::string table(const std::string& name, const std::string& header,
                    const std::vector<std::string>& values) const {
    std::string out = header + "\n";
    for (size_t i = 0; i < 400; ++i)
      out +=
          cat(20 + i * 7 % 60, ",", values[i % 3], ",", i % 2 ? "one" : "two", ",",
              static_cast<double>(i * 37 % 100) / 100, ",", (i * 37 % 100 + i * 11 % 40) > 70 ? 1 : 0, "\n");
    return write_file(folder + "/" + name, out);
  }
  // A command that must end well; what it says.
  Outcome said(const std::string& words, int code = 0) const {
    const Outcome out = call_command(words);
    EXPECT_EQ(out.code, code) << words << "\n" << out.output << out.error;
    return out;
  }
  Json evaluated(const std::string& file, const std::string& flags) const {
    return Json::parse(said(cat("evaluate --scores ", file, " --score p --json ", flags)).output);
  }
};

// Each slice's rows and figures, without the names.
Json figures(Json said) {
  Json out = Json::array();
  for (Json& slice : said["slices"]) {
    slice.erase("by");
    slice.erase("slice");
    slice.erase("values");
    out.push_back(slice);
  }
  return out;
}

TEST_F(QuotedNames, FlagsTakeThemAndGiveTheFiguresOfPlainNames) {
  const Json here = evaluated(
      nasty,
      R"(--label '"y:z"' --slice '"a=b","c*""d"""' --cross '"a=b"*"c*""d"""' --bucket '"age, years"=30,50' --slice-where '"o:k": `age, years` > 50')");
  const Json there = evaluated(
      plain,
      "--label y --slice group,cell --cross 'group*cell' --bucket age=30,50 --slice-where 'ok: age > 50'");
  EXPECT_EQ(here["overall"], there["overall"]);
  EXPECT_EQ(figures(here), figures(there));
  EXPECT_EQ(figures(here).size(), 3u + 2 + 6 + 3 + 2);
  std::vector<std::string> names;
  for (const Json& slice : here["slices"]) names.push_back(slice["slice"]);
  EXPECT_EQ(names[0], R"x("a=b"="(missing)")x");
  EXPECT_EQ(names[1], R"x("a=b"=q"x)x");
  EXPECT_EQ(names[2], R"("a=b"="u, v=2")");
  EXPECT_EQ(names[3], R"("c*""d"""=one)");
  EXPECT_TRUE(std::ranges::count(names, R"("age, years"=[30,50))")) << here["slices"];
  EXPECT_TRUE(std::ranges::count(names, R"("a=b"="u, v=2", "c*""d"""=two)")) << here["slices"];
  // As a name is read that nobody quoted.
  const Outcome split =
      said(cat("evaluate --scores ", nasty, " --label 'y:z' --score p --slice 'age, years'"), 2);
  EXPECT_NE(split.error.find("\"age, years\""), std::string::npos) << split.error;
  EXPECT_NE(said(cat("evaluate --scores ", nasty, " --label 'y:z' --score p --slice '\"a=b'"), 2)
                .error.find("names.quote"),
            std::string::npos);
}

TEST_F(QuotedNames, AReferenceGroupIsFoundWithQuotesAndWithout) {
  for (const char* group : {R"("a=b"="u, v=2")", R"("a=b"=q"x)"}) {
    const Json out =
        evaluated(nasty, cat("--label y:z --slice '\"a=b\"' --reference-group ", shell_words({group})));
    EXPECT_EQ(out["slices"].size(), 3u);
  }
}

// What --init writes judges every slice that was asked for, and what it says next works as it stands.
TEST_F(QuotedNames, GatesAreWrittenReadAndJudgedAsThoseOfPlainNames) {
  const std::string rows = cat("--scores ", nasty, " --label y:z --score p "), gates = folder + "/gates.toml";
  const Outcome first = said(cat(
      "check ", rows,
      R"(--slice '"a=b"' --cross '"c*""d"""*"a=b"' --bucket '"age, years"=50' --slice-where '"o:k": `age, years` > 50' --init --out )",
      gates));
  const std::string text = posix_env().read_file(gates), plain_gates = folder + "/plain.toml";
  said(cat("check --scores ", plain,
           " --label y --score p --slice group --cross 'cell*group' --bucket age=50 ",
           "--slice-where 'ok: age > 50' --init --out ", plain_gates));
  const auto verdict = [&](const std::string& words) {
    std::vector<std::pair<std::string, Json>> out;
    const Json said = Json::parse(call_command(words + " --json").output);
    for (const Json& gate : said["gates"]) {
      for (const Json& finding : gate["findings"]) out.emplace_back(gate["verdict"], finding["value"]);
    }
    return out;
  };
  const auto here = verdict(cat("check ", rows, "--gates ", gates));
  EXPECT_EQ(here, verdict(cat("check --scores ", plain, " --label y --score p --gates ", plain_gates)))
      << text;
  EXPECT_GE(here.size(), 4u * 4) << text;
  for (const auto& [ruling, value] : here) EXPECT_NE(ruling, "undecided") << text;
  const size_t next = first.output.rfind("next: ");
  ASSERT_NE(next, std::string::npos) << first.output;
  const Outcome again =
      call_shell(cat("cd ", std::filesystem::current_path().string(), " && ",
                     first.output.substr(next + 6, first.output.find('\n', next) - next - 6)));
  EXPECT_TRUE(again.code == 0 || again.code == 1) << first.output << again.error;
}

TEST_F(QuotedNames, GatesOfOneSliceTakeItsNameAsItIsPrinted) {
  const auto judged = [&](const std::string& keys) {
    const std::string gates =
        write_file(folder + "/gates.toml", cat("[[gates]]\nmetric = \"accuracy\"\n", keys, "\nmin = 0\n"));
    return call_command(cat("check --scores ", nasty, " --label y:z --score p --gates ", gates));
  };
  for (const char* slice : {R"x('"a=b"="u, v=2"')x", R"x('"a=b"=q"x')x", R"x('"a=b"="q""x", "c*""d"""=one')x",
                            R"x('`a=b` = "(missing)"')x"}) {
    const Outcome one = judged(cat("slice = ", slice));
    EXPECT_EQ(one.code, 0) << slice << one.output << one.error;
  }
  EXPECT_EQ(judged("slice = '\"a=b\"=(missing)'").code, 3) << "no cell is missing";
  // As `between` was meant: the fix works.
  const Outcome bare = judged("between = 'a=b'\nmeasure = 'ratio'");
  EXPECT_EQ(bare.code, 2);
  EXPECT_NE(bare.error.find("between = \"\\\"a=b\\\"\""), std::string::npos) << bare.error;
  EXPECT_EQ(judged("between = \"\\\"a=b\\\"\"\nmeasure = 'ratio'").code, 0);
  EXPECT_EQ(judged("each = '\"a=b'").code, 2);
}

TEST_F(QuotedNames, AGroupWithoutItsQuotesIsShownAsItIsTyped) {
  const std::string words =
      cat("evaluate --scores ", nasty, " --label y:z --score p --json --slice '\"a=b\"' ");
  const auto fix = [&](const std::string& flags) {
    const std::string error = said(words + flags, 2).error;
    const size_t at = error.find("fix: ");
    return at == error.npos ? error : error.substr(at + 5, error.find('\n', at) - at - 5);
  };
  const std::string typed = fix("--reference-group 'a=b=q\"x'");
  EXPECT_EQ(typed, R"(--reference-group '"a=b"=q"x')");
  said(words + typed);
  // Of a value that none has, and of a column that is not there.
  const std::string near = fix(R"(--reference-group '"a=b"=q"y')");
  EXPECT_EQ(near, R"(did you mean '"a=b"=q"x'?)");
  EXPECT_EQ(fix("--reference-group 'p=1'"), "add --slice p");
  // Slices that are all of what is given.
  EXPECT_EQ(fix("--given 'a=b'"), R"(--slice with another column, or no --given '"a=b"')");
}

TEST_F(QuotedNames, SlicesByConditionsSayHowNamesAreQuoted) {
  const std::string words = cat("evaluate --scores ", nasty, " --label y:z --score p --json --slice-where ");
  const auto error = [&](const std::string& condition) {
    return said(words + shell_words({condition}), 2).error;
  };
  const auto shows = [&](const std::string& condition, const std::string& fix) {
    const std::string all = error(condition);
    EXPECT_NE(all.find(cat("fix: ", fix, "\n")), std::string::npos) << all;
  };
  shows("a=b: p > 0.5", R"(a name with such signs stands in quotes: '"a=b": p > 0.5')");
  shows("p > 0.5", "--slice-where 'NAME: p > 0.5', with a name of a column that holds signs in backticks");
  shows("x: a=b = \"(missing)\"", "a column of this name is written `a=b`");
  shows("x: a,b = \"(missing)\"", "a column of this name is written `a,b`");
  shows("x: y:z > 0", "a column of this name is written `y:z`");
  shows("x: age > 50", "did you mean `age, years`?");
  said(words + shell_words({"\"a=b?\": `a=b` = \"(missing)\""}));
}

TEST_F(QuotedNames, ExpressionsNameColumnsAsTheyAreTyped) {
  const auto error = [&](const std::string& condition) {
    return said(cat("data rows ", nasty, " --where ", shell_words({condition})), 2).error;
  };
  const std::string type = error("`a=b` > 3");
  EXPECT_NE(type.find("column `a=b` is text, since line 2 holds"), std::string::npos) << type;
  const std::string unknown = error("`a=c` > 3");
  EXPECT_NE(unknown.find("unknown column `a=c`: known are `age, years`, `a=b`, `c*\"d\"`, p, `y:z`"),
            std::string::npos)
      << unknown;
  EXPECT_NE(unknown.find("fix: did you mean `a=b`?"), std::string::npos) << unknown;
  const std::string dates = write_file(folder + "/dates.csv", "\"a,b\"\n2024-06-01\n2024-06-02\n");
  const std::string date = said(cat("data rows ", dates, " --where '`a,b` > \"in June\"'"), 2).error;
  EXPECT_NE(date.find("column `a,b` is of dates"), std::string::npos) << date;
}

TEST_F(QuotedNames, SchemasAreEditedByThem) {
  const std::string schema = cat("data schema ", nasty, " --show ");
  said(schema + R"(--set '"a=b".policy=quarantine' --allow '"a=b"=w=3' --set '`y:z`.max=1')");
  // As it is named by itself, too.
  said(schema + "--set 'a=b.policy=quarantine' --allow 'a=b=w=3'");
  said(schema + R"(--environment SERVING --not-in 'SERVING:"a=b"' --not-in SERVING:y:z)");
  // And mended by them.
  const std::string narrow = folder + "/narrow.pbtxt";
  said(cat("data schema ", plain, " --out ", narrow));
  for (const char* feature : {R"('"a=b"')", "a=b"})
    said(cat("data validate ", nasty, " --schema ", narrow, " --apply-fix ", folder, "/wide.pbtxt --feature ",
             feature),
         1);
  const std::string wrong = said(schema + R"(--set '"a=c".policy=refuse')", 2).error;
  EXPECT_NE(wrong.find("unknown feature \"a=c\""), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("did you mean \"a=b\"?"), std::string::npos) << wrong;
}

TEST_F(QuotedNames, TrainLeavesOutWhatIsNamedSo) {
  const std::string model = folder + "/model";
  const Outcome out = said(cat("train --data ", nasty,
                               " --label '\"y:z\"' --ignore '\"age, years\",p' --epochs 1 --model ", model));
  const std::string columns = posix_env().read_file(model + "/columns.json");
  const auto steps = Json::parse(columns)["steps"];
  std::vector<std::string> read;
  for (const auto& step : steps) read.push_back(step["column"]);
  EXPECT_EQ(read, (std::vector<std::string>{"a=b", "c*\"d\""})) << columns;
}

}  // namespace
}  // namespace espalier::cli
