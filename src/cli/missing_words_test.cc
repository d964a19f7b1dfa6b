// "NA" among the countries of a schema is a value, in every verb that takes the schema.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kCountries = R"(
feature { name: "country" type: BYTES domain: "countries" presence { min_count: 1 } }
feature { name: "x" type: FLOAT }
feature { name: "p" type: FLOAT }
feature { name: "y" type: BYTES }
string_domain { name: "countries" value: "DE" value: "FR" value: "NA" value: "ZA" }
)";

// Who lives in NA is rich, of whom no country is known is poor, and of others x says it. Of the cells of x a
// few are NA, which means there what it means elsewhere.
struct MissingWordsFlag : FolderTest {
  std::string train = table("train.csv", 0), test = table("test.csv", 7),
              schema = write_file(folder + "/countries.pbtxt", kCountries), model = folder + "/model";

  std::string table(const std::string& name, int shift, int of_na = 5) const {
    constexpr const char* kNames[] = {"DE", "FR", "ZA", "NA", ""};
    std::string out = "country,x,p,y\n";
    for (int i = 0; i < 1500; ++i) {
      const int at = (i * 7 + shift + i / 13) % 5, country = at == 3 && i % 5 >= of_na ? 0 : at;
      const int x = (i * 37 + shift * 11) % 1000;
      const bool rich = country == 3 || (country < 3 && x > 500);
      out += cat(kNames[country], ",", i % 50 == 9 ? "NA" : cat(x, ".5"), ",", rich ? 0.75 : 0.25, ",",
                 rich ? "rich" : "poor", "\n");
    }
    return write_file(folder + "/" + name, out);
  }
  double accuracy(std::vector<std::string> flags) const {
    std::vector<std::string> words = {"--data", train,     "--label", "y",      "--ignore",
                                      "p",      "--model", model,     "--seed", "1"};
    words.insert(words.end(), flags.begin(), flags.end());
    call_verb(add_train, words);
    return Json::parse(call_verb(add_evaluate, {model, test, "--json"}))["accuracy"];
  }
  std::vector<std::string> slices(const std::string& words) const {
    const Outcome out = call_command(words + " --json");
    EXPECT_EQ(out.code, 0) << out.error;
    std::vector<std::string> names;
    const Json said = Json::parse(out.output);
    for (const Json& slice : said["slices"]) names.push_back(slice["slice"]);
    return names;
  }
  static bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::count(names, name) > 0;
  }
};

// Of those without a country and those of NA, 300 each, no model tells which is which where NA is none: it is
// wrong about one in five rows.
TEST_F(MissingWordsFlag, TrainingHearsTheSchemaAndTheModelRemembers) {
  EXPECT_LT(accuracy({}), 0.87);
  EXPECT_GT(accuracy({"--schema", schema}), 0.95);
  const Json columns = Json::parse(posix_env().read_file(model + "/columns.json"));
  EXPECT_EQ(columns["values"], Json::parse(R"({"country": ["NA"]})"));
  const auto names = slices(cat("evaluate ", model, " ", test, " --positive rich --slice country"));
  EXPECT_TRUE(has(names, "country=NA")) << Json(names);
  EXPECT_TRUE(has(names, "country=(missing)")) << Json(names);
  std::string said;
  const Json predicted =
      Json::parse(call_verb(add_predict, {model, "-", "--json"}, "country,x,p\nNA,NA,0\n,NA,0\n", &said));
  EXPECT_EQ(predicted["predictions"][0]["prediction"], "rich") << said;
  EXPECT_EQ(predicted["predictions"][1]["prediction"], "poor") << said;
  EXPECT_EQ(said.find("no number"), std::string::npos) << said;
  EXPECT_EQ(
      slices(cat("evaluate ", model, " ", test, " --positive rich --slice-where 'none: country is missing'")),
      (std::vector<std::string>{"none=yes", "none=no"}));
}

TEST_F(MissingWordsFlag, AFlagTakesAWordAwayAndAnotherIsNamed) {
  EXPECT_GT(accuracy({"--not-missing", "NA"}), 0.93);
  EXPECT_TRUE(
      has(slices(cat("evaluate ", model, " ", test, " --positive rich --slice country")), "country=NA"));
  EXPECT_EQ(rule_of([&] { accuracy({"--not-missing", "Na"}); }), "missing.word");
  // The run as a file has what is left.
  const std::string plan = call_verb(add_train, {"--data", train, "--label", "y", "--missing", "none",
                                                 "--not-missing", "NA,-", "--write-plan"});
  EXPECT_NE(plan.find("missing = [\"\", \"?\", \"N/A\""), std::string::npos) << plan;
  EXPECT_NE(plan.find("\"None\", \"none\"]"), std::string::npos) << plan;
}

TEST_F(MissingWordsFlag, ScoresAndGatesHearTheSchema) {
  const std::string rows = cat("--scores ", test, " --label y --score p --positive rich ");
  EXPECT_FALSE(has(slices(cat("evaluate ", rows, "--slice country")), "country=NA"));
  const auto names = slices(cat("evaluate ", rows, "--slice country --schema ", schema));
  EXPECT_TRUE(has(names, "country=NA")) << Json(names);
  const std::string gates = write_file(
      folder + "/gates.toml",
      "[[gates]]\nmetric = \"accuracy\"\nslice = \"country=NA\"\nmin = 0.9\n[[gates]]\ndata = \"schema\"\n");
  const Outcome held =
      call_command(cat("check ", rows, "--schema ", schema, " --train ", train, " --gates ", gates));
  EXPECT_EQ(held.code, 0) << held.output << held.error;
}

TEST_F(MissingWordsFlag, QuestionsOfTablesHearTheSchemaAndTheFlag) {
  const std::string fewer = table("fewer.csv", 7, 1);
  const auto said = [&](const std::string& words) {
    const Outcome out = call_command("data " + words);
    return out.output + out.error;
  };
  const auto tells = [&](const std::string& words, const std::string& part) {
    const std::string text = said(words);
    EXPECT_NE(text.find(part), std::string::npos) << words << "\n" << text;
  };
  for (const char* verb : {"drift", "check"}) {
    const std::string words = cat(verb, " ", train, " ", fewer);
    tells(words, "country was missing in 0.400 of the rows");
    std::vector<std::string> heard = {" --not-missing NA"};
    if (verb == std::string("check")) heard.push_back(cat(" --schema ", schema));
    for (const std::string& flags : heard) {
      tells(words + flags, "country=DE was 0.250 of the rows");
      EXPECT_EQ(said(words + flags).find("country was missing"), std::string::npos) << words << flags;
    }
  }
  tells(cat("bias ", train, " --sensitive country --not-missing NA"), "NA");
  EXPECT_EQ(said(cat("bias ", train, " --sensitive country")).find("NA "), std::string::npos);
  // Though NA is said to mean that none is there, in the column of the domain it is a value.
  const auto missing = [&](const std::string& path) {
    const Outcome out =
        call_command(cat("data validate ", path, " --missing NA --schema ", schema, " --json"));
    EXPECT_EQ(out.code, 0) << out.output << out.error;
    return out.output;
  };
  missing(train);
  const std::string required =
      write_file(folder + "/required.pbtxt",
                 "feature { name: \"country\" type: BYTES domain: \"countries\" presence { "
                 "min_fraction: 1 min_count: 1 } }\nstring_domain { name: \"countries\" value: "
                 "\"NA\" value: \"DE\" }\n");
  const std::string all = write_file(folder + "/all.csv", "country\nNA\nDE\nNA\n");
  EXPECT_EQ(call_command(cat("data validate ", all, " --missing NA --schema ", required)).code, 0);
  EXPECT_EQ(call_command(cat("data validate ", all, " --missing DE,NA --schema ", required)).code, 0);
}

// Each says something else with the flag, and with the schema; of `split` other rows are the test.
TEST_F(MissingWordsFlag, SlowEveryVerbThatReadsCellsHearsBoth) {
  const std::string fewer = table("fewer.csv", 7, 1);
  const std::string part = folder + "/part.csv",
                    split = cat(" --replace --train ", folder, "/rest.csv --test ", part);
  std::string ids = "id,country,y,p\n", others = ids;
  for (int i = 0; i < 40; ++i) {
    ids += cat(i, ",", i % 2 ? "NA" : "", ",", i % 2 ? "rich" : "poor", ",0.5\n");
    others += cat(i, ",", i % 4 == 1 ? "" : i % 2 ? "NA" : "", ",", i % 2 ? "rich" : "poor", ",0.5\n");
  }
  const std::string before = write_file(folder + "/ids.csv", ids),
                    now = write_file(folder + "/now.csv", others);
  const std::string gates = write_file(
      folder + "/gates.toml", "[[gates]]\nmetric = \"accuracy\"\nslice = \"country=NA\"\nmin = 0.9\n");
  struct Asked {
    std::string words, file;
  };
  for (const auto& [words, file] :
       {Asked{cat("data drift ", train, " ", fewer, " --json"), ""},
        Asked{cat("data leak ", before, " --label y --json"), ""},
        Asked{cat("data skew ", before, " ", now, " --id id --json"), ""},
        Asked{cat("data bias ", train, " --sensitive country --json"), ""},
        Asked{cat("data split ", train, " --by-group country", split), part},
        Asked{cat("data split ", train, " --by-group country --label y", split), part},
        Asked{cat("data rows ", train, " --where 'country is missing' --json"), ""},
        Asked{cat("data check ", train, " ", fewer, " --json"), ""},
        Asked{cat("evaluate --scores ", test, " --label y --score p --positive rich --slice country --json"),
              ""},
        Asked{cat("check --scores ", test, " --label y --score p --positive rich --json --gates ", gates),
              ""}}) {
    const auto answer = [&](const std::string& flags) {
      const Outcome out = call_command(words + flags);
      EXPECT_NE(out.code, 2) << words << flags << out.error;
      return file.empty() ? out.output : posix_env().read_file(file);
    };
    const std::string plain = answer(""), by_flag = answer(" --not-missing NA");
    EXPECT_NE(by_flag, plain) << words;
    EXPECT_NE(answer(cat(" --schema ", schema)), plain) << words;
    const Outcome unknown = call_command(words + " --not-missing Na");
    EXPECT_EQ(unknown.code, 2) << words;
    EXPECT_NE(unknown.error.find("[missing.word]"), std::string::npos) << words << unknown.error;
  }
}

}  // namespace
}  // namespace espalier::cli
