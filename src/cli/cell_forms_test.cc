// Cells that are written otherwise than those of training.
#include <nlohmann/json.hpp>

#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

using nlohmann::ordered_json;

// Rates of 0.1 to 99.9 %, each as `form` writes its tenths of a percent in that row, and whether it is
// above 50.
std::string rates(const std::string& name, const std::function<std::string(int, int)>& form, int rows = 300) {
  std::string csv = "rate,other,y\n";
  for (int i = 0; i < rows; ++i) {
    const int tenths = 1 + i * 331 % 999;
    csv += cat(form(i, tenths), ",", i * i % 7, ",", tenths > 500 ? "yes" : "no", "\n");
  }
  return write_file(name, csv);
}
std::string with_unit(int, int tenths) { return cat(tenths / 10, ".", tenths % 10, "%"); }
std::string bare(int, int tenths) { return cat("0.", tenths < 10 ? "00" : tenths < 100 ? "0" : "", tenths); }

TEST(CellForms, PredictAndEvaluateNameAnotherUnit) {
  const std::string folder = fresh_folder("cell-forms"), model = folder + "/model";
  const std::string data = rates(folder + "/train.csv", with_unit),
                    other = rates(folder + "/bare.csv", bare, 60);
  ASSERT_EQ(call_command(cat("train --data ", data, " --label y --epochs 2 --model ", model)).code, 0);
  const std::string said =
      "rate: 60 of 60 numbers are written in another form than in training: 1234.5 % there, 0.001 here, the "
      "first in line 2; they are read as if they had the unit";
  const Outcome predicted = call_command(cat("predict ", model, " ", other));
  EXPECT_EQ(predicted.code, 0) << predicted.error;
  EXPECT_NE(predicted.error.find(said), std::string::npos) << predicted.error;
  const auto warnings = [&](const std::string& verb, const std::string& file) {
    const Outcome outcome = call_command(cat(verb, " ", model, " ", file, " --json"));
    return ordered_json::parse(outcome.output)["warnings"].dump();
  };
  for (const std::string verb : {"predict", "evaluate"}) {
    EXPECT_NE(warnings(verb, other).find(said), std::string::npos) << warnings(verb, other);
    const std::string same = rates(folder + "/same.csv", with_unit, 60);
    EXPECT_EQ(warnings(verb, same).find("another form"), std::string::npos) << warnings(verb, same);
  }
}

TEST(CellForms, TrainingNamesBothFormsOfAColumn) {
  const std::string folder = fresh_folder("cell-forms-mixed");
  const std::string data = rates(folder + "/mixed.csv", [](int row, int tenths) {
    return row % 2 ? with_unit(row, tenths) : bare(row, tenths);
  });
  const Outcome trained =
      call_command(cat("train --data ", data, " --label y --epochs 1 --model ", folder, "/model"));
  EXPECT_NE(trained.error.find("rate: numbers in % in "), std::string::npos) << trained.error;
  EXPECT_NE(trained.error.find(": all are read as %; where that is wrong, write them alike"),
            std::string::npos);
  const Outcome checked = call_command(cat("data check ", data, " --label y"));
  EXPECT_NE(checked.output.find(
                "column \"rate\" has numbers in % in 150 cells, and without a unit in 150: write them alike"),
            std::string::npos)
      << checked.output;
}

TEST(CellForms, DatesAreNamedWithTheirShare) {
  const std::string folder = fresh_folder("cell-forms-dates");
  std::string csv = "v,when,y\n";
  for (int i = 0; i < 300; ++i) {
    const bool none = i % 15 == 4;
    csv += cat(i * 37 % 101, ",", none ? "0000-00-00" : cat("2023-0", 1 + i % 9, "-", 10 + i * 7 % 19), ",",
               i % 3 ? "a\n" : "b\n");
  }
  const std::string data = write_file(folder + "/dates.csv", csv);
  const Outcome trained =
      call_command(cat("train --data ", data, " --label y --epochs 1 --model ", folder, "/model"));
  EXPECT_NE(trained.error.find("where 95 % make a column of dates: taken as text for \"0000-00-00\""),
            std::string::npos)
      << trained.error;
  const Outcome checked = call_command(cat("data check ", data, " --label y"));
  EXPECT_NE(checked.output.find("column \"when\" is of dates but for 20 cells, most often \"0000-00-00\""),
            std::string::npos)
      << checked.output;
}

}  // namespace
}  // namespace espalier::cli
