// The verbs of `espalier data` that ask tables something: drift, leak, bias, split.
#include <set>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

struct DataQuestions : FolderTest {
  // Visits, of which the last column says what the third does where it leaks.
  std::string visits(const std::string& name, uint64_t seed, bool leaks, uint64_t women = 50,
                     const std::string& end = "") const {
    Philox random(seed);
    std::string text = "sex,weight,ill,code\n";
    for (int i = 0; i < 600; ++i) {
      const bool ill = random.below(10) < 3;
      text += cat(random.below(100) < women ? "Female" : "Male", ",", 40 + random.below(6000) / 100., ",",
                  ill ? "yes" : "no", end, ",",
                  leaks                  ? ill
                  : random.below(2) == 0 ? 1
                                         : 0,
                  "\n");
    }
    return file(name, text);
  }
  struct Said {
    int code = 0;
    std::string text;
  };
  static Said data(const std::vector<std::string>& arguments) {
    std::string line = "data";
    for (const std::string& argument : arguments) line += " " + argument;
    const Outcome outcome = call_command(line);
    return {outcome.code, outcome.output + outcome.error};
  }
};

TEST_F(DataQuestions, DriftNamesTheColumnAndIsAnExitCode) {
  const std::string before = visits("a.csv", 1, false), same = visits("b.csv", 2, false),
                    dots = visits("c.csv", 3, false, 50, ".");
  const Said quiet = data({"drift", before, same});
  EXPECT_EQ(quiet.code, 0) << quiet.text;
  EXPECT_TRUE(quiet.text.starts_with("No drift from a.csv to b.csv.\n")) << quiet.text;
  const Said loud = data({"drift", before, dots});
  EXPECT_EQ(loud.code, 1);
  EXPECT_TRUE(loud.text.starts_with("Drift: ill=")) << loud.text;
  EXPECT_NE(loud.text.find("\nnext: "), std::string::npos);
  const Said json = data({"drift", before, dots, "--json"});
  EXPECT_EQ(Json::parse(json.text)["drifted"], 1);
  EXPECT_EQ(Json::parse(json.text)["columns"][0]["column"], "ill");
  EXPECT_EQ(data({"drift", before, same, "--least", "0", "--json"}).code, 0);
  EXPECT_EQ(data({"drift", before, path("none.csv")}).code, 2);
  const std::string others = write_file(path("others.csv"), "p,q\n1,2\n3,4\n");
  EXPECT_EQ(data({"drift", before, others}).code, 2);  // nothing is compared
  EXPECT_EQ(data({"drift", before}).code, 2);
}

TEST_F(DataQuestions, WhatIsSureAndDoesNotMatterIsSaidSo) {
  const auto sizes = [&](const char* name, int more) {
    std::string text = "size,kind\n";
    for (int i = 0; i < 20000; ++i) text += cat((i * 7919 % 20000 + more) / 100., i % 2 ? ",a\n" : ",b\n");
    return write_file(path(name), text);
  };
  const Said found = data({"drift", sizes("old.csv", 0), sizes("new.csv", 500)});
  EXPECT_EQ(found.code, 0);
  EXPECT_TRUE(
      found.text.starts_with("No drift from old.csv to new.csv.\n1 difference is significant, but below the "
                             "threshold 0.03 (--least).\n"))
      << found.text;
}

TEST_F(DataQuestions, NumbersOfRowsWithoutANameDoNotDrift) {
  const auto numbered = [&](const char* name, int first) {
    std::string text = ",size,kind\n";
    for (int i = 0; i < 300; ++i)
      text += cat(first + i, ",", (first + i) * 370 % 997, i % 2 ? ",a\n" : ",b\n");
    return write_file(path(name), text);
  };
  const Said found = data({"drift", numbered("first.csv", 0), numbered("then.csv", 300)});
  EXPECT_EQ(found.code, 0) << found.text;
  EXPECT_EQ(data({"check", path("first.csv"), path("then.csv"), "--label", "kind"}).code, 0);
}

TEST_F(DataQuestions, ColumnsOfOneTableAloneAndWordsAmongNumbersAreTold) {
  const auto flats = [&](const char* name, const char* head, int more) {
    std::string text = cat("size,kind,", head, "\n");
    for (int i = 0; i < 600; ++i)
      text += cat(i % 12 == 5 ? std::string("k.A.") : cat(40 + more + i * 37 % 199 / 2., 7),
                  i % 2 ? ",a," : ",b,", i % 5, "\n");
    return write_file(path(name), text);
  };
  const Said found = data({"drift", flats("old.csv", "floor", 0), flats("new.csv", "level", 30)});
  EXPECT_NE(found.text.find("\nOnly in old.csv: floor.\nOnly in new.csv: level.\n"), std::string::npos)
      << found.text;
  EXPECT_NE(found.text.find("old.csv, size: numbers in 92 %, where 95 % make a column of numbers: taken as "
                            "text for \"k.A.\" (8 %)"),
            std::string::npos)
      << found.text;
  const Said numbers = data({"drift", path("old.csv"), path("new.csv"), "--missing", "k.A."});
  EXPECT_EQ(numbers.code, 1);
  EXPECT_EQ(numbers.text.find("taken as text"), std::string::npos) << numbers.text;

  std::string text = "town,size,ill\n";
  for (int i = 0; i < 300; ++i)
    text += cat(i % 3   ? "Bonn,"
                : i % 2 ? "bonn,"
                        : "Ulm,",
                i % 10 == 4 ? cat("k.A.") : cat(i * 37 % 91), ",",
                i * i % 7 < 3 ? i % 9 ? "yes" : "Yes" : "no", "\n");
  const Said check = data({"check", file("towns.csv", text), "--label", "ill"});
  EXPECT_EQ(check.code, 0) << check.text;
  for (const char* part :
       {"column \"town\": 1 value differs from others in capitals or blanks alone\n",
        "column \"size\" is of numbers but for 30 cells, most often \"k.A.\"; what means no value is named "
        "as "
        "missing (--missing)\n",
        "column \"ill\": 1 value differs from others in capitals or blanks alone (--merge-labels)\n"})
    EXPECT_NE(check.text.find(part), std::string::npos) << part << check.text;
}

TEST_F(DataQuestions, WordsForNoValueMakeAColumnOneOfNumbers) {
  const auto rooms = [&](const char* name, int times) {
    std::string text = "size,kind\n";
    for (int i = 0; i < 400; ++i)
      text += cat(i % 50 == 7 ? std::string("n.v.") : cat(times * (20 + i * 37 % 100), ".", i % 9),
                  i % 2 ? ",a\n" : ",b\n");
    return write_file(path(name), text);
  };
  const std::string before = rooms("rooms.csv", 1), now = rooms("larger.csv", 3);
  EXPECT_EQ(data({"drift", before, now, "--missing", "n.v."}).code, 1);
  const Said found = data({"check", before, now, "--label", "kind", "--missing", "n.v."});
  EXPECT_EQ(found.code, 1);
  EXPECT_NE(found.text.find("column \"size\""), std::string::npos) << found.text;
  EXPECT_EQ(data({"check", before, rooms("same.csv", 1), "--label", "kind", "--missing", "n.v."}).code, 0);
}

// Cells of that word are missing to bias, leak and skew as well; their next commands keep it.
TEST_F(DataQuestions, WordsForNoValueHoldInEachOfThem) {
  std::string text = "id,sex,size,ill\n", served = text;
  for (int i = 0; i < 400; ++i) {
    const std::string head = cat(i, i % 2 ? ",f," : ",m,"), tail = i * i % 7 < 3 ? ",yes\n" : ",no\n";
    const bool none = i % 2 && i % 3 == 0;
    text += cat(head, none ? "n.v." : cat(20 + i * 37 % 100, ".5"), tail);
    served += cat(head, none ? "" : cat(20 + i * 37 % 100, ".50"), tail);
  }
  const std::string rows = file("rows.csv", text), other = file("served.csv", served);
  const auto says = [&](std::vector<std::string> words, const std::string& part, bool before, bool after) {
    EXPECT_EQ(data(words).text.find(part) != std::string::npos, before) << data(words).text;
    words.insert(words.end(), {"--missing", "n.v."});
    const Said said = data(words);
    EXPECT_EQ(said.text.find(part) != std::string::npos, after) << said.text;
    EXPECT_NE(said.text.find(" --missing n.v."), std::string::npos) << said.text;
  };
  says({"bias", rows, "--sensitive", "sex"}, "size is missing in", false, true);
  says({"skew", rows, other, "--id", "id"}, "size", true, false);
  says({"leak", rows, "--label", "ill"}, "no such part", false, false);
}

TEST_F(DataQuestions, CheckAsksThemAll) {
  const std::string train = visits("train.csv", 1, false), same = visits("same.csv", 2, false),
                    dots = visits("dots.csv", 3, false, 50, "."), leaks = visits("leaks.csv", 4, true);
  const Said quiet = data({"check", train, same, "--label", "ill"});
  EXPECT_EQ(quiet.code, 0) << quiet.text;
  EXPECT_TRUE(quiet.text.starts_with("No fault, 3 notes: 600 rows, 4 columns, and same.csv.\n"))
      << quiet.text;
  EXPECT_NE(quiet.text.find("\nAsked: columns, types and values of the new rows, "), std::string::npos)
      << quiet.text;
  EXPECT_NE(quiet.text.find("train --data"), std::string::npos) << quiet.text;
  const Said unasked = data({"check", train, same});
  EXPECT_NE(unasked.text.find(cat("data stats ", train, "\n")), std::string::npos) << unasked.text;
  const Said schema = data({"check", train, dots, "--label", "ill"});
  EXPECT_EQ(schema.code, 1);
  EXPECT_TRUE(schema.text.starts_with(
      "Faults: column \"ill\": 600 of 600 cells are of another form than in the training rows; and "))
      << schema.text;
  const Said leak = data({"check", leaks, "--label", "last"});
  EXPECT_EQ(leak.code, 1);
  EXPECT_TRUE(leak.text.starts_with("Fault: column \"ill\" ")) << leak.text;
  EXPECT_NE(leak.text.find("data leak "), std::string::npos) << leak.text;
  const Json json = Json::parse(data({"check", train, dots, "--label", "ill", "--json"}).text);
  EXPECT_EQ(json["findings"][0]["of"], "schema");
  EXPECT_EQ(json["findings"][0]["column"], "ill");
  EXPECT_EQ(json["sensitive"], Json({"sex"}));
  EXPECT_EQ(data({"check", train, path("none.csv")}).code, 2);
  EXPECT_EQ(data({"check", train, "--label", "none"}).code, 2);
}

TEST_F(DataQuestions, SkewNamesTheColumnAndIsAnExitCode) {
  const std::string train = file("train.csv", "id,fare,kind\n1,7,oak\n2,8,ash\n3,9,oak\n3,9,oak\n5,1,ash\n");
  const std::string served = file("served.csv", "id,kind,fare\n2,ash,8.25\n1,oak,7.0\n4,oak,9\n,oak,9\n");
  const Said same = data({"skew", train, served, "--id", "id", "--tolerance", "0.25"});
  EXPECT_EQ(same.code, 0) << same.text;
  EXPECT_TRUE(
      same.text.starts_with("No skew in 2 rows that both have.\n"
                            "train.csv: 2 ids that served.csv has not, as in lines 4, 6\n"
                            "train.csv: 1 id of several rows, not compared, as in line 5\n"
                            "served.csv: 1 id that train.csv has not, as in line 4\n"
                            "served.csv: 1 row without an id, as in line 5\n"
                            "next: "))
      << same.text;
  const Said skewed = data({"skew", train, served, "--id", "id"});
  EXPECT_EQ(skewed.code, 1) << skewed.text;
  EXPECT_TRUE(skewed.text.starts_with("Skew: fare is not the same in 1 of 2 rows that both have (0.500).\n"))
      << skewed.text;
  EXPECT_EQ(data({"skew", train, served, "--id", "id", "--least", "0.6"}).code, 0);
  EXPECT_EQ(data({"skew", train, served, "--id", "id", "--ignore", "fare"}).code, 0);
  const Json json = Json::parse(data({"skew", train, served, "--id", "id", "--json"}).text);
  EXPECT_EQ(json["pairs"], 2);
  EXPECT_EQ(json["columns"][0]["lines"], Json({3}));
  EXPECT_EQ(json["second"]["without_id"], 1);
  EXPECT_EQ(data({"skew", train, served, "--id", "name"}).code, 2);
  EXPECT_EQ(data({"skew", train, served}).code, 2);
  EXPECT_EQ(data({"skew", train, file("none.csv", "id,fare\n9,1\n"), "--id", "id"}).code, 2);
}

TEST_F(DataQuestions, LeakNamesTheColumnAndIsAnExitCode) {
  const std::string clean = visits("clean.csv", 1, false), leaking = visits("leaking.csv", 2, true);
  EXPECT_EQ(data({"leak", clean, "--label", "ill"}).code, 0);
  const Said leak = data({"leak", leaking, "--label", "ill"});
  EXPECT_EQ(leak.code, 1);
  EXPECT_TRUE(leak.text.starts_with("Leak: column \"code\" ")) << leak.text;
  EXPECT_NE(leak.text.find("--label ill --ignore code\n"), std::string::npos) << leak.text;
  const Said both = data({"leak", clean, "--label", "ill", "--test", clean, "--json"});
  EXPECT_EQ(both.code, 1);
  EXPECT_EQ(Json::parse(both.text)["findings"][0]["kind"], "overlap");
  EXPECT_EQ(Json::parse(both.text)["findings"][0]["rows"], 600);
  EXPECT_EQ(data({"leak", clean, "--label", "ils"}).code, 2);
  EXPECT_NE(data({"leak", clean}).text.find(cat("data stats ", clean, "\n")), std::string::npos);
  const std::string test = visits("test.csv", 5, false);
  const Said apart = data({"leak", clean, "--label", "ill", "--test", test});
  EXPECT_NE(apart.text.find(cat("train --data ", clean, " --test ", test, " --label ill\n")),
            std::string::npos)
      << apart.text;
  const Said overlap = data({"leak", clean, "--label", "ill", "--test", clean});
  EXPECT_NE(overlap.text.find(
                cat("data split ", clean, " --train clean-train.csv --test clean-test.csv --label ill\n")),
            std::string::npos)
      << overlap.text;
}

TEST_F(DataQuestions, OfFewRowsLittleIsSaid) {
  std::string rows = "x,z,y\n";
  for (int i = 0; i < 10; ++i) rows += cat(i * 37 % 11, ".5,", i * i, ",", i % 2, "\n");
  const std::string few = file("few.csv", rows);
  const Said same = data({"leak", few, "--test", few});
  EXPECT_EQ(same.code, 1);
  EXPECT_TRUE(same.text.starts_with("Leak: 10 of 10 rows of the test are training rows too.\n")) << same.text;
  EXPECT_EQ(data({"check", few, few}).code, 1);
  const Said alone = data({"leak", few});
  EXPECT_EQ(alone.code, 3);
  EXPECT_TRUE(alone.text.starts_with("Too few rows to say: 10 rows, 3 columns.\n")) << alone.text;
}

TEST_F(DataQuestions, BiasCountsTheLabelThatSaysYes) {
  const std::string rows = visits("rows.csv", 1, false, 35);
  const auto positive = [&](const std::string& file, const std::string& label) {
    return Json::parse(data({"bias", file, "--label", label, "--json"}).text)["positive"];
  };
  EXPECT_EQ(positive(rows, "ill"), "yes");
  EXPECT_EQ(positive(rows, "code"), "1");
  std::string kinds = "sex,kind,paid\n";
  for (int i = 0; i < 90; ++i) kinds += cat(i % 2 ? "Female" : "Male", i % 3 ? ",oak,yes\n" : ",ash,no\n");
  const std::string trees = file("kinds.csv", kinds);
  EXPECT_EQ(positive(trees, "paid"), "yes");
  // Of other words none: the rarer one may be another in the next file.
  const Said none = data({"bias", trees, "--label", "kind"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.text.find("fix: --positive ash, or --positive oak"), std::string::npos) << none.text;
  EXPECT_EQ(data({"bias", trees, "--label", "kind", "--positive", "ash"}).code, 0);
  const Said many = data({"bias", rows, "--label", "weight"});
  EXPECT_EQ(many.code, 2);
  EXPECT_NE(many.text.find("fix: --positive "), std::string::npos) << many.text;
}

// As in UCI's adult.test: labels "yes." of training rows as "yes".
TEST_F(DataQuestions, LabelsWithDotsAreThoseWithout) {
  const std::string train = visits("train.csv", 1, false), dots = visits("dots.csv", 1, false, 50, ".");
  const auto overlap = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"leak", train, "--label", "ill", "--test", dots, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Json said = Json::parse(data(words).text);
    for (const Json& each : said["findings"]) {
      if (each["kind"] == "overlap") return each["rows"].get<int>();
    }
    return 0;
  };
  EXPECT_EQ(overlap({}), 0);
  EXPECT_EQ(overlap({"--strip-label-dots"}), 600);
  const Said dotted = data({"check", train, dots, "--label", "ill"});
  EXPECT_TRUE(dotted.text.starts_with("Faults: column \"ill\": 600 of 600 cells are of another form"))
      << dotted.text;
  const Said stripped = data({"check", train, dots, "--label", "ill", "--strip-label-dots"});
  EXPECT_TRUE(stripped.text.starts_with("Fault: 600 of 600 rows of the test are training rows too"))
      << stripped.text;
  EXPECT_NE(stripped.text.find(" --label ill --strip-label-dots\n"), std::string::npos) << stripped.text;
  EXPECT_EQ(data({"leak", train, "--test", dots, "--strip-label-dots"}).code, 2);
}

TEST_F(DataQuestions, WhatNobodyKnowsThenIsToBeIgnored) {
  Philox random(7);
  std::string text = "placed,sent,weight,late\n";
  for (int i = 0; i < 200; ++i)
    text += cat("2031-01-", 10 + i % 18, ",2031-02-", 10 + i % 18, ",", random.below(90000), ",",
                random.below(2) ? "no" : "yes", "\n");
  const Said said = data({"leak", file("orders.csv", text), "--label", "late", "--time", "placed"});
  EXPECT_EQ(said.code, 1) << said.text;
  EXPECT_NE(said.text.find("future column"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find(" --label late --ignore sent\n"), std::string::npos) << said.text;
}

TEST_F(DataQuestions, BiasHoldsGroupsAgainstAPopulation) {
  const std::string rows = visits("rows.csv", 1, false, 35);
  const std::string half = file("half.csv", "column,group,share\nsex,Female,0.5\nsex,Male,0.5\n");
  const Said said = data({"bias", rows, "--reference", half, "--label", "ill", "--positive", "yes"});
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_NE(said.text.find("sex=Female is 0.3"), std::string::npos) << said.text;
  for (const char* part : {"too few", "too many", "ill=yes"})
    EXPECT_NE(said.text.find(part), std::string::npos);
  const Json json = Json::parse(data({"bias", rows, "--sensitive", "sex", "--json"}).text);
  EXPECT_EQ(json["proposed"], false);
  EXPECT_EQ(Json::parse(data({"bias", rows, "--json"}).text)["proposed"], true);
  // The proposal is a line that works and gives a schema with the role.
  EXPECT_EQ(data({"bias", rows, "--sensitive", "sex"}).text.find("Taken for sensitive"), std::string::npos);
  const std::string schema = path("roles.pbtxt");
  EXPECT_NE(said.text.find(cat("data schema ", rows, " --set sex.role=sensitive --out schema.pbtxt\n")),
            std::string::npos)
      << said.text;
  EXPECT_EQ(data({"schema", rows, "--set", "sex.role=sensitive", "--out", schema}).code, 0);
  EXPECT_NE(posix_env().read_file(schema).find("espalier.role=sensitive"), std::string::npos);
  EXPECT_EQ(json["sensitive"], Json({"sex"}));
  EXPECT_EQ(json["columns"][0]["groups"][0]["group"], "Male");
  EXPECT_EQ(
      data({"bias", rows, "--reference", file("bad.csv", "column,group,share\nsex,Female,lots\n")}).code, 2);
  EXPECT_EQ(data({"bias", file("bare.csv", "x\n1\n2\n")}).code, 2);
}

TEST_F(DataQuestions, DatesOfTwoReadingsAreWarnedOf) {
  std::string either = "placed,y\n", sure = either;
  for (int i = 0; i < 40; ++i) {
    either += cat(1 + i % 12, "/", 1 + i % 11, "/2024,", i % 2, "\n");
    sure += cat(1 + i % 12, "/", 1 + i % 28, "/2024,", i % 2, "\n");
  }
  const std::string path = file("either.csv", either), clear = file("sure.csv", sure);
  const std::string out = cat(" --replace --train ", folder, "/train.csv --test ", folder, "/test.csv");
  for (const auto& [verb, more] : std::initializer_list<std::pair<std::string, std::string>>{
           {"data split", cat(" --by-time placed", out)},
           {"data leak", " --time placed"},
           {"data check", " --time placed"}}) {
    const Outcome said = call_command(cat(verb, " ", path, more));
    EXPECT_NE(said.error.find("warning: column \"placed\": no day is above 12, so that 2/3/2022 is read as "
                              "month 2, day 3, and may be the other way; dates that begin with the year, "
                              "2022-02-03, leave no doubt\n"),
              std::string::npos)
        << verb << said.error;
    EXPECT_EQ(Json::parse(call_command(cat(verb, " ", path, more, " --json")).output)["warnings"].size(), 1u);
    EXPECT_EQ(call_command(cat(verb, " ", clear, more)).error.find("warning"), std::string::npos) << verb;
  }
}

// Rows without a value are told: nobody knows whether two of them are of one group.
TEST_F(DataQuestions, SplitSaysWhichRowsHaveNoGroup) {
  const auto visits_of = [&](const char* name, int without) {
    std::string text = "patient,x\n";
    for (int i = 0; i < 200; ++i)
      text += cat(i < without ? std::string("NA") : cat("p", i / 4), ",", i, "\n");
    return file(name, text);
  };
  const auto split = [&](const std::string& rows, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"split",  rows,          "--replace",  "--train", path("a.csv"),
                                      "--test", path("b.csv"), "--by-group", "patient"};
    words.insert(words.end(), more.begin(), more.end());
    return data(words).text;
  };
  const std::string some = visits_of("some.csv", 30), one = visits_of("one.csv", 1),
                    none = visits_of("none.csv", 0);
  EXPECT_NE(split(some, {}).find("\n30 rows have no \"patient\": each was taken as a group of its own\n"),
            std::string::npos)
      << split(some, {});
  EXPECT_NE(split(one, {}).find("\n1 row has no \"patient\": it was taken as a group of its own\n"),
            std::string::npos)
      << split(one, {});
  EXPECT_EQ(split(none, {}).find("of its own"), std::string::npos);
  EXPECT_EQ(split(some, {"--not-missing", "NA"}).find("of its own"), std::string::npos);
  EXPECT_EQ(Json::parse(split(some, {"--json"}))["without_group"], 30);
  EXPECT_EQ(Json::parse(split(none, {"--json"}))["without_group"], 0);
}

TEST_F(DataQuestions, LeakTakesWhateverSplitTakesAsATime) {
  std::string text = "at,x,y\n", test = text;
  for (int i = 0; i < 100; ++i) {
    const std::string at = cat(8 + i / 10, ":", 10 + i % 10 * 5);
    text += cat(at, ",", i * 37 % 1000, ",", i % 3 ? "yes" : "no", "\n");
    test += cat(at, ",", 5000 + i * 37 % 1000, ",", i % 3 ? "yes" : "no", "\n");
  }
  const std::string rows = file("rows.csv", text), others = file("others.csv", test);
  EXPECT_EQ(
      data({"split", rows, "--by-time", "at", "--replace", "--train", path("a.csv"), "--test", path("b.csv")})
          .code,
      0);
  const Said apart = data({"leak", path("a.csv"), "--test", path("b.csv"), "--time", "at"});
  EXPECT_EQ(apart.code, 0) << apart.text;
  const Said leak = data({"leak", rows, "--test", others, "--time", "at"});
  EXPECT_EQ(leak.code, 1) << leak.text;
  EXPECT_NE(leak.text.find("of the test lie before the last training row"), std::string::npos) << leak.text;
  // Without a test such a time is held against nothing, and that is said.
  const Outcome alone = call_command(cat("data leak ", rows, " --time at"));
  EXPECT_EQ(alone.code, 0) << alone.error;
  EXPECT_NE(alone.error.find("warning: column \"at\" holds no dates: it says which of the rows of --test "
                             "came before others, and nothing of other columns\n"),
            std::string::npos)
      << alone.error;
  const Said words = data({"leak", file("words.csv", "at,x\n" + std::string(30 * 8, 'a')), "--time", "x"});
  EXPECT_EQ(words.code, 2);
}

TEST_F(DataQuestions, SplitWritesAllRowsOnceAndKeepsItsInput) {
  const std::string rows = visits("rows.csv", 1, false), train = path("train.csv"), test = path("test.csv");
  const Said said =
      data({"split", rows, "--label", "ill", "--fraction", "0.25", "--train", train, "--test", test});
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_NE(said.text.find(cat(train, ": 450 training rows\n", test, ": 150 test rows\n")), std::string::npos)
      << said.text;
  const CsvTable all = read_csv(rows), training = read_csv(train), tests = read_csv(test);
  EXPECT_EQ(training.rows(), 450);
  EXPECT_EQ(tests.rows(), 150);
  const auto cells = [](const CsvTable& table, std::vector<std::string> into) {
    for (int64_t row = 0; row < table.rows(); ++row) {
      std::string line;
      for (int64_t c = 0; c < table.columns(); ++c) line += cat(table.cell(row, c), "|");
      into.push_back(line);
    }
    std::ranges::sort(into);
    return into;
  };
  EXPECT_EQ(cells(training, cells(tests, {})), cells(all, {}));
  EXPECT_EQ(data({"split", rows, "--train", rows, "--test", test}).code, 2);
  EXPECT_EQ(data({"split", rows, "--by-group", "sex", "--by-time", "weight"}).code, 2);
  EXPECT_EQ(data({"split", rows, "--fraction", "0", "--train", train, "--test", test}).code, 2);
  const std::string whole =
      data({"split", rows, "--fraction", "1", "--train", train, "--test", test, "--replace"}).text;
  EXPECT_NE(whole.find("0 training rows and "), std::string::npos) << whole;
  EXPECT_NE(whole.find("fix: a smaller --fraction\n"), std::string::npos) << whole;
  EXPECT_EQ(data({"split", rows, "--by-time", "sex", "--train", train, "--test", test}).code, 2);
  EXPECT_EQ(data({"split", rows, "--by-time", "weight", "--train", train, "--test", test}).code, 2);
  EXPECT_EQ(data({"split", rows, "--by-time", "weight", "--train", train, "--test", test, "--replace"}).code,
            0);
}

// Names of columns aside.
void collect_keys(const Json& json, std::set<std::string>& keys) {
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) keys.insert(key);
    if (value.is_structured() && key != "cells") collect_keys(value, keys);
  }
}

TEST_F(DataQuestions, EveryKeyOfJsonStandsInTheDocumentOfFormats) {
  const std::string before = visits("before.csv", 1, true), now = visits("now.csv", 2, true, 90),
                    shares = file("shares.csv", "column,group,share\nsex,Female,0.5\nsex,Male,0.5\n");
  std::set<std::string> keys;
  for (const std::string& line :
       {cat("data check ", before, " ", now, " --label ill"), cat("data leak ", before, " --label ill"),
        cat("data drift ", before, " ", now), cat("data skew ", before, " ", before, " --id weight"),
        cat("data bias ", now, " --label ill --reference ", shares),
        cat("data split ", before, " --train ", path("a.csv"), " --test ", path("b.csv")),
        cat("data head ", before), cat("data rows ", before, " --where 'weight > 50'"),
        cat("check --scores ", file("scores.csv", "y,p\n1,0.9\n0,0.2\n1,0.4\n0,0.6\n"),
            " --label y --score p --gates ",
            file("gates.toml", "[[gates]]\nmetric = \"accuracy\"\nmin = 0.1\n"))}) {
    const Outcome said = call_command(line + " --json");
    ASSERT_TRUE(said.code == 0 || said.code == 1) << line << said.error;
    const Json json = Json::parse(said.output);
    EXPECT_EQ(json["version"], 1) << line;
    EXPECT_TRUE(line.starts_with(json["verb"].get<std::string>())) << line << json["verb"];
    collect_keys(json, keys);
  }
  const std::string documents =
      posix_env().read_file("docs/formats.md") + posix_env().read_file("docs/gates.md");
  EXPECT_GE(keys.size(), 60u);
  for (const std::string& key : keys) {
    const bool there = documents.find(cat("`", key, "`")) != documents.npos ||
                       documents.find(cat("\"", key, "\"")) != documents.npos;
    EXPECT_TRUE(there) << key;
  }
}

}  // namespace
}  // namespace espalier::cli
