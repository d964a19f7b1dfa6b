// How models are evaluated as the tags of a schema say: --schema of evaluate and check.
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "train/unsealed_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct SchemaSlicesTest : FolderTest {
  std::string tagged(const std::string& tags) const {
    std::string out;
    for (const char* name : {"y", "sex", "age", "skin"}) {
      out += cat("feature { name: \"", name, "\" annotation { ");
      for (size_t at = tags.find(cat(name, ".")); at != tags.npos; at = tags.find(cat(name, "."), at + 1)) {
        const size_t begin = tags.find('.', at) + 1;
        out += cat("tag: \"espalier.", tags.substr(begin, tags.find(' ', begin) - begin), "\" ");
      }
      out += "} } ";
    }
    return file("schema.pbtxt", out);
  }
  Json evaluate(Words words) {
    words.push_back("--json");
    return Json::parse(call_verb(add_evaluate, words));
  }
  static std::string slices(const Json& said) {
    std::string out;
    for (const Json& slice : said["slices"])
      out += cat(out.empty() ? "" : "; ", slice["slice"].get<std::string>());
    return out;
  }
};

// Tones 1 to 10 and rows that nobody is sure of; "no" is good for whom it is said of.
std::string people_table(int rows = 330) {
  std::string out = "y,p,sex,age,skin\n";
  for (int i = 0; i < rows; ++i)
    out += cat(i % 3 ? "no" : "yes", ",", i % 5 ? 0.75 : 0.25, ",", i % 2 ? "F" : "M", ",", 20 + i % 50, ",",
               i % 11 ? cat(i % 11) : "not sure", "\n");
  return out;
}

TEST_F(SchemaSlicesTest, SliceAndNameWhatIsFavourableWhereNoFlagDoes) {
  const std::string rows = file("scores.csv", people_table());
  const std::string schema =
      tagged("y.favourable=no sex.role=sensitive age.role=sensitive age.buckets=30,45 skin.scale=monk ");
  const Json said = evaluate({"--scores", rows, "--score", "p", "--schema", schema});
  EXPECT_EQ(said["label"], "y");
  EXPECT_EQ(said["positive"], "no");
  EXPECT_EQ(slices(said), "sex=F; sex=M; age=(-inf,30); age=[30,45); age=[45,inf)");
  // It is what the flags give.
  const Json flags = evaluate({"--scores", rows, "--label", "y", "--score", "p", "--positive", "no",
                               "--slice", "sex,age", "--bucket", "age=30,45"});
  EXPECT_EQ(said["slices"], flags["slices"]);
  EXPECT_EQ(said["gaps"], flags["gaps"]);
  // Flags say otherwise: other slices, other edges; edges stay where no flag has any. Not the other outcome.
  EXPECT_EQ(slices(evaluate({"--scores", rows, "--score", "p", "--schema", schema, "--slice", "age"})),
            "age=(-inf,30); age=[30,45); age=[45,inf)");
  EXPECT_EQ(slices(evaluate({"--scores", rows, "--score", "p", "--schema", schema, "--bucket", "age=50"})),
            "age=(-inf,50); age=[50,inf)");
  EXPECT_EQ(rule_of([&] {
              evaluate({"--scores", rows, "--score", "p", "--schema", schema, "--positive", "yes"});
            }),
            "positive.differs");
  const std::string text = call_verb(add_evaluate, {"--scores", rows, "--score", "p", "--schema", schema});
  EXPECT_NE(text.find(cat("--schema ", schema)), std::string::npos)
      << "the command that comes next: " << text;
}

TEST_F(SchemaSlicesTest, TonesOfSkinAreTenInOrderOrThreeGroups) {
  const std::string rows = file("scores.csv", people_table());
  const Words of_rows = {"--scores", rows, "--label", "y", "--positive", "yes", "--score", "p"};
  const auto sliced = [&](const Words& more) {
    Words words = of_rows;
    words.insert(words.end(), more.begin(), more.end());
    return slices(evaluate(words));
  };
  const std::string ten =
      "skin=1; skin=2; skin=3; skin=4; skin=5; skin=6; skin=7; skin=8; skin=9; skin=10; skin=(missing)";
  EXPECT_EQ(sliced({"--bucket", "skin=monk"}), ten);
  EXPECT_EQ(sliced({"--schema", tagged("skin.role=sensitive skin.scale=monk ")}), ten);
  const std::string three = "skin=light 1-3; skin=medium 4-6; skin=dark 7-10; skin=(missing)";
  EXPECT_EQ(sliced({"--bucket", "skin=monk3"}), three);
  EXPECT_EQ(sliced({"--schema", tagged("skin.role=sensitive skin.scale=monk skin.buckets=monk3 ")}), three);
  EXPECT_EQ(sliced({"--bucket", "skin=monk3", "--cross", "sex*skin", "--missing-group", "leave-out"}),
            "sex=F, skin=light 1-3; sex=F, skin=medium 4-6; sex=F, skin=dark 7-10; "
            "sex=M, skin=light 1-3; sex=M, skin=medium 4-6; sex=M, skin=dark 7-10");
  // A metric's slices stay in this order, too, and thin ones are named with the reason.
  Words words = of_rows;
  words.insert(words.end(), {"--bucket", "skin=monk", "--min-slice", "40"});
  std::string text = call_verb(add_evaluate, words);
  EXPECT_NE(
      text.find("thin, fewer than 40 rows, too few to say much: skin=1; skin=2; skin=3; skin=4; skin=5; and "
                "6 more\n"),
      std::string::npos)
      << text;
  words.insert(words.end(), {"--metric", "recall"});
  text = call_verb(add_evaluate, words);
  size_t last = 0;
  for (int tone = 1; tone <= 10; ++tone) {
    const size_t at = text.find(cat("\nskin=", tone, " "));
    EXPECT_GT(at, last) << text;
    last = at;
  }
  // What is no tone is named with its line.
  for (const char* bad : {"11", "0", "2.5", "brown"}) {
    const std::string other = file("bad.csv", people_table(33) + cat("no,0.5,F,30,", bad, "\n"));
    try {
      call_verb(add_evaluate, {"--scores", other, "--label", "y", "--positive", "yes", "--score", "p",
                               "--bucket", "skin=monk"});
      FAIL() << bad;
    } catch (const ValueError& error) {
      EXPECT_EQ(error.message(), cat("line 35: \"", bad,
                                     "\" of column \"skin\" is no tone of the Monk Skin Tone "
                                     "Scale: 1 to 10, or not sure"));
    }
  }
}

TEST_F(SchemaSlicesTest, ModelsCountFromTheFavourableClass) {
  const std::string data = file("train.csv", people_table()), model = folder + "/model";
  call_verb(add_train, {"--data", data, "--label", "y", "--ignore", "p", "--model", model, "--epochs", "2"});
  const auto said = [&](const std::string& tags) {
    return evaluate({model, data, "--all-rows", "--schema", tagged(tags + "sex.role=sensitive ")});
  };
  const Json rarer = said(""), good = said("y.favourable=no ");
  EXPECT_EQ(rarer["positive"], "yes");
  EXPECT_EQ(good["positive"], "no");
  EXPECT_EQ(slices(good), "sex=F; sex=M");
  EXPECT_EQ(rarer["confusion"], good["confusion"]) << "what is said stays";
  for (size_t i = 0; i < 2; ++i) {
    const Json &one = rarer["slices"][i]["at"][0]["rates"], &other = good["slices"][i]["at"][0]["rates"];
    EXPECT_NEAR(one["selection_rate"]["value"].get<double>(),
                1 - other["selection_rate"]["value"].get<double>(), 1e-12);
    EXPECT_EQ(one["accuracy"]["value"], other["accuracy"]["value"]);
  }
  EXPECT_EQ(rule_of([&] { said("y.favourable=maybe "); }), "schema.favourable");
  drop_checksums(model);
  write_file(model + "/decision.json", "{\"positive\": \"yes\", \"threshold\": 0.3}");
  EXPECT_EQ(rule_of([&] { said("y.favourable=no "); }), "positive.threshold") << "it is of yes";
}

TEST_F(SchemaSlicesTest, GatesTakeTheirEdgesAndFirstGatesTheirSlices) {
  const std::string rows = file("scores.csv", people_table());
  const std::string schema = tagged("y.favourable=no sex.role=sensitive age.buckets=30,45 ");
  const std::string of_rows = cat("check --scores ", rows, " --score p --schema ", schema);
  const auto check = [&](const std::string& slice) {
    const std::string gates =
        file("gates.toml", cat("[[gates]]\nmetric = \"accuracy\"\nslice = \"", slice, "\"\nmin = 0\n"));
    return call_command(cat(of_rows, " --gates ", gates));
  };
  const Outcome held = check("age=[30,45)");
  EXPECT_EQ(held.code, 0) << held.output << held.error;
  EXPECT_EQ(check("age=[30,46)").code, 3);
  const Outcome first = call_command(of_rows + " --init");
  EXPECT_EQ(first.code, 0) << first.error;
  EXPECT_NE(first.output.find("\"sex\""), std::string::npos) << first.output;
  EXPECT_EQ(first.output.find("\"age\""), std::string::npos) << first.output;
}

// What no name tells: that cells of x are missing in one kind of rows.
TEST_F(SchemaSlicesTest, DataIsAskedOfTheSensitiveColumns) {
  std::string table = "y,p,kind,x\n";
  for (int i = 0; i < 600; ++i)
    table += cat(i % 3 == 0, ",", i % 5 ? 0.75 : 0.25, ",", i % 2 ? "a" : "b", ",",
                 i % 4 == 1 ? "" : cat(i * 7 % 100), "\n");
  const std::string train = file("train.csv", table), rows = file("scores.csv", table);
  const std::string gates = file("gates.toml", "[[gates]]\ndata = \"groups\"\nmax = 0\n");
  const std::string schema =
      file("schema.pbtxt",
           "feature { name: \"y\" } feature { name: \"p\" } feature { name: \"x\" } "
           "feature { name: \"kind\" annotation { tag: \"espalier.role=sensitive\" } }");
  const std::string of_rows =
      cat("check --scores ", rows, " --label y --score p --train ", train, " --gates ", gates);
  EXPECT_EQ(call_command(of_rows).code, 3) << "no column says which group a row is of";
  const Outcome held = call_command(cat(of_rows, " --schema ", schema));
  EXPECT_EQ(held.code, 1) << held.output << held.error;
}

TEST_F(SchemaSlicesTest, SchemasThatSayNothingOfItAreNamed) {
  const std::string rows = file("scores.csv", people_table());
  const auto rule = [&](const std::string& tags, Words more) {
    more.insert(more.begin(), {"--scores", rows, "--score", "p", "--schema", tagged(tags)});
    return rule_of([&] { evaluate(more); });
  };
  EXPECT_EQ(rule("age.unit=years ", {"--label", "y"}), "schema.tag");
  EXPECT_EQ(rule("age.buckets=4,3 ", {"--label", "y"}), "schema.tag");
  EXPECT_EQ(rule("y.favourable=no sex.favourable=F ", {}), "schema.favourable");
  EXPECT_EQ(rule("y.favourable=maybe ", {}), "schema.favourable");
}

TEST_F(SchemaSlicesTest, TheTableOfASchemaShowsHowTonesLook) {
  const std::string shown = call_verb(add_data, {"schema", tagged("skin.scale=monk "), "--show"});
  EXPECT_NE(shown.find("\nskin: tones of the Monk Skin Tone Scale\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("   7  dark 7-10   #825c43\n"), std::string::npos) << shown;
  EXPECT_EQ(call_verb(add_data, {"schema", tagged("age.unit=years "), "--show"}).find("Monk"),
            std::string::npos);
}

}  // namespace
}  // namespace espalier::cli
