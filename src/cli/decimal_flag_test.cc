// --decimal, and what is said where a guess changes numbers a thousandfold.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kDoubtSaid =
    "48.001 is read as 48001; where the point is the decimal sign: --decimal .";

// Latitudes 48.001 to 48.995, and y, which says whether they are above 48.5.
struct DecimalFlag : FolderTest {
  int above = 0;
  std::string points(const std::string& name, const std::string& last = "") {
    std::string out = "lat;lon;y\n";
    above = 0;
    for (int i = 0; i < 300; ++i) {
      const int a = 1 + 613 * i % 997, b = 1 + 401 * i % 997;
      const auto digits = [](int of) { return cat(1000 + of).substr(1); };
      out += cat("48.", digits(a), ";11.", digits(b), ";", a > 500 ? "yes" : "no", "\n");
      above += a > 500;
    }
    return write_file(path(name), out + last);
  }
  static Json kept(const std::string& words, std::string* error = nullptr) {
    const Outcome out = call_command(words + " --json");
    EXPECT_EQ(out.code, 0) << out.error;
    if (error) *error = out.error;
    return Json::parse(out.output)["where"]["kept"];
  }
};

TEST_F(DecimalFlag, ConditionsAreOfTheNumbersThatAreSaidOrTold) {
  const std::string rows = cat("data rows ", points("points.csv"), " --where 'lat > 48.5'");
  std::string error;
  EXPECT_EQ(kept(rows, &error), 300);
  EXPECT_NE(error.find(kDoubtSaid), error.npos) << error;
  EXPECT_EQ(kept(rows + " --decimal .", &error), above);
  EXPECT_EQ(error.find("is read as"), error.npos) << error;
  EXPECT_EQ(kept(cat("data rows ", path("points.csv"), " --where 'lat > 48500' --decimal ,")), above);
  const Outcome wrong = call_command(rows + " --decimal point");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.error.find("--decimal: \"point\" is not guess, . or ,"), wrong.error.npos) << wrong.error;
}

TEST_F(DecimalFlag, AModelReadsItsRowsAsInTraining) {
  const std::string file = points("points.csv"), model = path("model");
  std::string said;
  const std::vector<std::string> words = {"--data", file, "--label", "y", "--epochs", "1", "--model", model};
  call_verb(add_train, words, "", &said);
  EXPECT_NE(said.find(kDoubtSaid), said.npos) << said;
  const auto asked = [&](const std::string& words_of) {
    return kept(cat("evaluate ", model, " ", file, " --all-rows --where '", words_of, "'"), &said);
  };
  EXPECT_EQ(asked("lat > 48500"), above);
  EXPECT_EQ(said.find("is read as"), said.npos) << "said in training\n" << said;
  std::vector<std::string> told = words;
  told.insert(told.end(), {"--decimal", "."});
  call_verb(add_train, told, "", &said);
  EXPECT_EQ(said.find("is read as"), said.npos) << said;
  EXPECT_NE(said.find("  lat: numeric, 48.0"), said.npos) << said;
  EXPECT_EQ(asked("lat > 48.5"), above);
  EXPECT_EQ(Json::parse(posix_env().read_file(model + "/columns.json"))["decimal"], ".");
  // The same number, as the rows say it or as the flag does.
  const auto predicted = [&](const std::string& cells, std::vector<std::string> more) {
    std::vector<std::string> all = {model, "-", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const Json out = Json::parse(call_verb(add_predict, all, cat("lat;lon\n", cells, "\n"), &said));
    return out["predictions"][0]["probability"].dump();
  };
  EXPECT_EQ(predicted("48.730;11.500", {}), predicted("48,73;11,5", {"--decimal", ","}));
  EXPECT_EQ(predicted("48.730;11.500", {}), predicted("48.73;11.5", {}));
}

TEST_F(DecimalFlag, EveryVerbThatReadsATableHearsIt) {
  const std::string file = points("points.csv"), other = points("other.csv");
  for (const std::string& words :
       {cat("data head ", file), cat("data stats ", file, " --show"), cat("data check ", file, " --label y"),
        cat("data leak ", file, " --label y"), cat("data drift ", file, " ", other),
        cat("data split ", file, " --replace --train ", path("a.csv"), " --test ", path("b.csv")),
        cat("data bias ", file, " --sensitive y --label y"),
        cat("data schema ", file, " --out ", path("s.pbtxt")),
        cat("evaluate --scores ", file, " --label y --score lat --positive yes")}) {
    const Outcome guessed = call_command(words), told = call_command(words + " --decimal .");
    EXPECT_NE(guessed.error.find(kDoubtSaid), guessed.error.npos) << words << "\n" << guessed.error;
    EXPECT_EQ(told.error.find("is read as"), told.error.npos) << words << "\n" << told.error;
    EXPECT_EQ(told.error.find("not expected"), told.error.npos) << words << "\n" << told.error;
  }
  const Outcome stats = call_command(cat("data stats ", file, " --show --decimal ."));
  EXPECT_NE(stats.output.find("48.995"), stats.output.npos) << stats.output;
  EXPECT_EQ(stats.output.find("48995"), stats.output.npos) << stats.output;
  EXPECT_NE(call_command(cat("data stats ", file, " --show")).output.find("48995"), std::string::npos);
}

// Rows beside others are read alike, and what is next says the flag again.
TEST_F(DecimalFlag, BesideOthersAndInWhatIsNext) {
  const std::string file = points("points.csv"),
                    decimals = points("decimals.csv", "48.5;11.5;no\n12.25;7.5;no\n");
  const Outcome drift = call_command(cat("data drift ", decimals, " ", file, " --json"));
  EXPECT_EQ(drift.error.find("is read as"), drift.error.npos) << drift.error;
  const Outcome next = call_command(cat("data head ", file, " --decimal ."));
  EXPECT_NE(next.output.find("--decimal ."), next.output.npos) << next.output << next.error;
}

}  // namespace
}  // namespace espalier::cli
