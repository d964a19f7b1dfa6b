// What evaluate and check say of Adult's people against the figures of tests/golden/adult_fairness.py.
#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/shortest.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "ir/golden_test.h"
#include "tests/shared_data.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

// The scores that the script computes.
std::string scored_adults(const std::string& path) {
  const CsvTable table = read_csv(path, {.header = CsvHeader::kNo});
  std::string out = "y,p,weight,sex,race\n";
  for (int64_t row = 0; row < table.rows(); ++row) {
    const auto number = [&](int64_t column) { return *table.number(row, column); };
    const bool married = table.cell(row, 5) == "Married-civ-spouse";
    const double points = 30 * number(4) + 2 * number(0) + 3 * number(12) + (married ? 200 : 0) - 400;
    out +=
        cat(table.cell(row, 14).front() == '>' ? 1 : 0, ",", shortest(std::clamp(points, 0.0, 1000.0) / 1000),
            ",", table.cell(row, 2), ",", table.cell(row, 9), ",", table.cell(row, 8), "\n");
  }
  return out;
}

// A gate on the difference and one on the ratio of each criterion that the golden has.
std::string gates_between(const Json& golden, const std::string& threshold) {
  std::string out = cat("threshold = ", threshold, "\n");
  for (const auto& [criterion, gaps] : golden.at("gaps").items()) {
    for (const char* limit : {"max = 0.1", "measure = \"ratio\"\nmin = 0.8"})
      out += cat("[[gates]]\ncriterion = \"", criterion, "\"\nbetween = \"",
                 golden.at("column").get<std::string>(), "\"\n", limit, "\n");
  }
  return out;
}

TEST(AdultFairness, RatesGapsAndGatesAreFairlearns) {
  const std::string adult = shared_data("adult/adult-test.csv");
  if (!std::filesystem::exists(adult)) GTEST_SKIP() << "there is no " << adult;
  const std::string folder = fresh_folder("adult-fairness");
  const std::string scores = write_file(folder + "/scores.csv", scored_adults(adult));
  const Json goldens = read_golden("adult_fairness.json");
  const std::string threshold = shortest(goldens.at("threshold").get<double>());
  constexpr double kNear = 1e-12;
  for (const Json& golden : goldens.at("of")) {
    SCOPED_TRACE(golden.at("column").get<std::string>() + ", " + golden.at("weights").get<std::string>());
    const std::string flags = cat("--scores ", scores, " --label y --score p --json",
                                  golden.at("weights") == "weighted" ? " --weight weight" : "");
    const Json said = Json::parse(call_command(cat("evaluate ", flags, " --threshold ", threshold,
                                                   " --slice ", golden.at("column").get<std::string>()))
                                      .output);
    const auto expect_rates = [&](const Json& slice, const Json& rates) {
      for (const auto& [name, value] : rates.items())
        EXPECT_NEAR(slice["at"][0]["rates"][name]["value"].get<double>(), value.get<double>(), kNear)
            << name << " of " << slice["slice"];
    };
    expect_rates(said["overall"], golden.at("overall"));
    ASSERT_EQ(said["slices"].size(), golden.at("groups").size());
    for (const Json& slice : said["slices"])
      expect_rates(slice, golden.at("groups").at(slice["values"][0].get<std::string>()));
    const Outcome checked = call_command(cat(
        "check ", flags, " --gates ", write_file(folder + "/gates.toml", gates_between(golden, threshold))));
    EXPECT_EQ(checked.code, 1) << checked.error;
    const Json gates = Json::parse(checked.output)["gates"];
    size_t gate = 0;
    for (const auto& [criterion, gaps] : golden.at("gaps").items()) {
      for (const char* measure : {"difference", "ratio"}) {
        const double value = gaps.at(measure);
        EXPECT_NEAR(said["gaps"][0]["criteria"][criterion][measure].get<double>(), value, kNear)
            << criterion << " " << measure;
        EXPECT_NEAR(gates[gate++]["findings"][0]["judged"].get<double>(), value, kNear)
            << criterion << " " << measure;
      }
    }
  }
}

}  // namespace
}  // namespace espalier::cli
