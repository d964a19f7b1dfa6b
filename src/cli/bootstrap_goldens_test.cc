// Intervals by bootstrap against those of tests/golden/bootstraps.py, which are drawn by chance too.
#include <nlohmann/json.hpp>

#include "base/shortest.h"
#include "cli/evaluate_test.h"
#include "evaluate/golden_rows_test.h"

namespace espalier::cli {
namespace {

struct BootstrapGoldens : EvaluateTest {
  GoldenRows data;

  Json figures(const Words& more) {
    std::string rows = "y,p,weight,group\n";
    for (size_t i = 0; i < data.scores.size(); ++i)
      rows += cat(data.labels[i] ? 1 : 0, ",", shortest(data.scores[i]), ",", shortest(data.weights[i]), ",",
                  data.group.codes[i], "\n");
    Words flags = {"--scores",  file(rows),     "--label", "y",      "--score",
                   "p",         "--slice",      "group",   "--json", "--interval",
                   "bootstrap", "--replicates", "2000",    "--seed", "5"};
    flags.insert(flags.end(), more.begin(), more.end());
    return Json::parse(text_of(flags));
  }
  // Both ends lie within `share` of the width of the other interval.
  static void expect_alike(const Json& slice, const Json& theirs, double share) {
    for (const auto& [name, ends] : theirs.items()) {
      const Json& rate = slice["at"][0]["rates"][name];
      const double low = ends[0], high = ends[1], bound = share * (high - low);
      EXPECT_NEAR(rate["interval"][0].get<double>(), low, bound) << name << " of " << slice["slice"];
      EXPECT_NEAR(rate["interval"][1].get<double>(), high, bound) << name << " of " << slice["slice"];
    }
  }
  // Of all rows and the groups of 180 and 80, whose figures are no handful of values.
  static void expect_alike(const Json& said, const Json& theirs, const char* by, double share) {
    const Json& parts = theirs.at(by);
    expect_alike(said["overall"], parts[0], share);
    for (size_t group = 0; group < 2; ++group) expect_alike(said["slices"][group], parts[group + 1], share);
  }
};

// A quantile at 0.025 of 2,000 replicates errs by 0.06 deviations, 0.015 of the width; ours are Student's t,
// which lean to neither side.
TEST_F(BootstrapGoldens, QuantilesAreFairlearnsButForChance) {
  expect_alike(figures({}), read_golden("bootstraps.json"), "fairlearn", 0.09);
}

// Of 200 replicates the deviation errs by 5 % and the mean by 0.07 deviations: an end by 0.03 of the width.
TEST_F(BootstrapGoldens, PoissonReplicatesAreTfmasButForChance) {
  expect_alike(figures({"--weight", "weight", "--at-threshold", "above"}), read_golden("bootstraps.json"),
               "tfma", 0.13);
}

}  // namespace
}  // namespace espalier::cli
