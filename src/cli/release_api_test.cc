// What a program is told by <espalier/release.h> is what the command says.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "cli/verb_test.h"
#include "espalier/release.h"

namespace espalier::cli {
namespace {

TEST(ReleaseApi, SaysWhatTheCommandSays) {
  using namespace std::chrono_literals;
  const std::string folder = fresh_folder("release-api");
  Philox random(11);
  BinaryScores scores{.scores = {}, .labels = {}, .positive = "y=1"};
  std::string text = "y,p,w,sex,age\n";
  for (int i = 0; i < 3000; ++i) {
    const double score = static_cast<double>(random.below(1000)) / 1000;
    const auto label = static_cast<uint8_t>(random.below(1000) < 1000 * score);
    const double weight = static_cast<double>(1 + random.below(3));
    scores.scores.push_back(score);
    scores.labels.push_back(label);
    scores.weights.push_back(weight);
    text += cat(int{label}, ",", score, ",", weight,
                random.below(3) ? ",f,"
                : i % 50        ? ",m,"
                                : ",,",
                18 + random.below(60), "\n");
  }
  const std::string file = write_file(folder + "/scores.csv", text);
  const std::string gates = write_file(folder + "/gates.toml", R"(where = "age < 70"
positive = 1
[buckets]
age = [30, 50]
[slices]
old = "age >= 65"
senior = "age >= 60"
[[gates]]
criterion = "equalised_odds"
between = "sex"
max = 0.05
[[gates]]
metric = "auc"
each = "sex*age"
min = 0.8
[[gates]]
metric = "recall"
slice = "senior=yes"
min = 0.6
threshold = 0.4
)");
  const Outcome said =
      call_command(cat("check --scores ", file, " --label y --score p --weight w --gates ", gates,
                       " --today 2030-05-01 --json --html ", folder, "/page.html --junit ", folder,
                       "/junit.xml --csv ", folder, "/slices.csv --prometheus ", folder, "/prom.txt"));
  const CsvTable table = parse_csv(text);
  const ReleaseVerdict verdict =
      ReleaseGates::load(gates).judge(scores, {.columns = table, .today = 2030y / 5 / 1});
  nlohmann::json command = nlohmann::json::parse(said.output);
  for (const char* of_the_command : {"verb", "where"}) command.erase(of_the_command);
  EXPECT_EQ(nlohmann::json::parse(verdict.json()), command);
  EXPECT_EQ(verdict.exit_code(), said.code);
  EXPECT_EQ(verdict.junit(), posix_env().read_file(folder + "/junit.xml"));
  EXPECT_EQ(verdict.prometheus(), posix_env().read_file(folder + "/prom.txt"));
  EXPECT_EQ(verdict.csv(), posix_env().read_file(folder + "/slices.csv"));

  const Outcome evaluated = call_command(
      cat("evaluate --scores ", file,
          " --label y --score p --weight w --slice sex --bucket age=30,50 --threshold 0.3,0.6 --json"));
  EXPECT_EQ(evaluated.code, 0) << evaluated.error;
  const nlohmann::json ours = nlohmann::json::parse(
      evaluate_scores(
          scores,
          {.columns = table, .slices = {"sex"}, .buckets = {{"age", {30, 50}}}, .thresholds = {0.3, 0.6}})
          .json());
  const nlohmann::json theirs = nlohmann::json::parse(evaluated.output);
  for (const auto& [key, value] : ours.items()) EXPECT_EQ(value, theirs[key]) << key;
  EXPECT_TRUE(ours.contains("gaps")) << ours.dump().substr(0, 300);
}

TEST(ReleaseApi, SaysWhatWasNotComparedAsTheCommandDoes) {
  const std::string folder = fresh_folder("release-api-data");
  BinaryScores scores{.scores = {}, .labels = {}, .positive = "y=1"};
  std::string train = "y,p,order,age\n", now = train;
  for (int i = 0; i < 100; ++i) {
    train += cat(i % 2, ",0.5,A", i, ",", 20 + i * 37 % 41, "\n");
    now += cat(i % 2, ",0.", 100 + i, ",B", i, ",", 20 + i * 37 % 41, "\n");
    scores.scores.push_back((100 + i) / 1000.0);
    scores.labels.push_back(static_cast<uint8_t>(i % 2));
  }
  const std::string toml = "positive = 1\n[[gates]]\ndata = \"range\"\n";
  const Outcome said =
      call_command(cat("check --scores ", write_file(folder + "/now.csv", now),
                       " --label y --score p --train ", write_file(folder + "/train.csv", train), " --gates ",
                       write_file(folder + "/gates.toml", toml), " --json"));
  const nlohmann::json command = nlohmann::json::parse(said.output);
  const ReleaseVerdict verdict =
      ReleaseGates::parse(toml, "gates.toml")
          .judge(scores, {.columns = parse_csv(now), .training = parse_csv(train), .label = "y"});
  const nlohmann::json ours = nlohmann::json::parse(verdict.json());
  ASSERT_EQ(ours["not_compared"].size(), 1u) << ours;
  EXPECT_EQ(ours["not_compared"][0]["column"], "order");
  EXPECT_EQ(ours["not_compared"], command["not_compared"]);
}

}  // namespace
}  // namespace espalier::cli
