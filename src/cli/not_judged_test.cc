// What was not judged is never said to pass: too few rows, columns that no comparison takes; and what `check`
// calls a fault of new rows `predict` calls one, and the other way round.
#include <functional>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "cli/verb_test.h"
#include "train/unsealed_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

struct NotJudged : FolderTest {
  std::string gates(const std::vector<std::string>& kinds) const {
    std::string text;
    for (const std::string& kind : kinds) text += cat("[[gates]]\ndata = \"", kind, "\"\n");
    return file(cat("gates", kinds.size(), ".toml"), text);
  }
};

// Scored rows of people: ages in years, or in thousandths; of four towns, or of one that is new.
std::string scored_rows(int rows, int unit, const std::string& city, int first = 0) {
  std::string out = "y,p,age,city\n";
  for (int i = first; i < first + rows; ++i)
    out += cat(i * 31 % 7 / 4, ",0.", 200 + i * 61 % 599, ",", (25 + i * 37 % 40) * unit, ",",
               city.empty() ? cat("town ", i % 4) : city, "\n");
  return out;
}

TEST_F(NotJudged, FewRowsAreUndecidedByDriftAndBlockedByWhatNeedsNone) {
  const std::string train = file("train.csv", scored_rows(300, 1, "")),
                    all = gates({"drift", "range", "schema"}), one = gates({"drift"});
  for (const int rows : {8, 15, 19, 20}) {
    const std::string now = file("now.csv", scored_rows(rows, 1000, "Rom"));
    const auto check = [&](const std::string& gate, const std::string& more) {
      return call_command(
          cat("check --scores ", now, " --label y --score p --train ", train, " --gates ", gate, more));
    };
    const Outcome blocked = check(all, " --json");
    EXPECT_EQ(blocked.code, 1) << blocked.output << blocked.error;
    const Json gate = Json::parse(blocked.output)["gates"];
    EXPECT_EQ(gate[0]["verdict"], rows < 20 ? "undecided" : "blocked");
    EXPECT_EQ(gate[1]["verdict"], "blocked");
    EXPECT_EQ(gate[2]["verdict"], "blocked");
    EXPECT_NE(gate[1]["sentence"].get<std::string>().find(cat(
                  "column \"age\": ", rows, " of ", rows, " rows lie above and 0 below all training rows")),
              std::string::npos);
    const std::string reason = cat(rows, " rows, 20 needed");
    if (rows < 20) {
      EXPECT_EQ(gate[0]["findings"][0]["reason"], reason);
      const Json listed = Json::parse(blocked.output)["not_compared"][0];
      EXPECT_EQ(listed["column"], nullptr);
      EXPECT_EQ(listed["have"], rows);
      EXPECT_EQ(listed["needed"], 20);
    }
    const Outcome drift_alone = check(one, "");
    EXPECT_EQ(drift_alone.code, rows < 20 ? 3 : 1) << drift_alone.output;
    const Outcome drift = call_command(cat("data drift ", train, " ", now));
    EXPECT_EQ(drift.code, rows < 20 ? 3 : 1) << drift.output;
    EXPECT_EQ(drift.output.find("No drift"), std::string::npos) << drift.output;
    EXPECT_EQ(drift.output.starts_with(cat("Undecided: ", reason, ".\n")), rows < 20) << drift.output;
    EXPECT_EQ(call_command(cat("data check ", train, " ", now, " --label y")).code, 1);
    const std::string same = file("same.csv", scored_rows(rows, 1, "", 300));
    const Outcome quiet = call_command(cat("data check ", train, " ", same, " --label y"));
    EXPECT_EQ(quiet.code, rows < 20 ? 3 : 0) << quiet.output;
    EXPECT_EQ(quiet.output.starts_with(cat("Undecided: drift of the data: ", reason, ".\n")), rows < 20)
        << quiet.output;
  }
}

TEST_F(NotJudged, ColumnsThatAreNotComparedAreListedWithTheReason) {
  const auto rows = [](int first, int count) {
    std::string out = "order,seldom,size\n";
    for (int i = 0; i < count; ++i)
      out += cat("A", first + i, ",", i % 10 ? "" : "x", ",", i * 37 % 101 / 7.0, "\n");
    return out;
  };
  const std::string before = file("before.csv", rows(0, 300)), now = file("now.csv", rows(1000, 110));
  for (const std::string& verb :
       {cat("data drift ", before, " ", now), cat("data check ", before, " ", now)}) {
    const Outcome said = call_command(verb);
    EXPECT_EQ(said.code, 0) << said.output;
    EXPECT_NE(
        said.output.find("Not compared:\n  order: it names the rows: no two are alike in it\n  seldom: 11 "
                         "values, 20 needed\n"),
        std::string::npos)
        << said.output;
    const Json listed = Json::parse(call_command(verb + " --json").output)["not_compared"];
    ASSERT_EQ(listed.size(), 2u) << listed;
    EXPECT_EQ(listed[0], (Json{{"column", "order"},
                               {"why", "it names the rows: no two are alike in it"},
                               {"have", nullptr},
                               {"needed", nullptr}}));
    EXPECT_EQ(listed[1]["have"], 11);
  }
  const std::string names = file("names.csv", "order\nA1\nA2\n");
  EXPECT_EQ(call_command(cat("data skew ", names, " ", names, " --id order")).code, 3)
      << "nothing beside the id";
}

// Orders of half a year, of amounts and towns; y follows amounts a little.
using Cells = std::function<std::string(int)>;
std::string placed_on(int month, int i) { return cat("2031-0", month, "-", 10 + i % 19); }
std::string order_rows(int rows, const Cells& placed, const Cells& amount, const Cells& town) {
  std::string out = "placed,amount,town,paid,y\n";
  for (int i = 0; i < rows; ++i)
    out += cat(placed(i), ",", amount(i), ",", town(i), ",", i % 3 ? "yes" : "no", ",",
               i * 31 % 7 < 3 ? "a" : "b", "\n");
  return out;
}

TEST_F(NotJudged, CheckAndPredictCallTheSameAFault) {
  const Cells placed = [](int i) { return placed_on(1 + i % 6, i); };
  const Cells amount = [](int i) { return cat(10 + i * 37 % 113 / 4.0); };
  const Cells town = [](int i) { return cat("town ", i % 5); };
  const std::string train = file("train.csv", order_rows(600, placed, amount, town)),
                    model = folder + "/model";
  ASSERT_EQ(call_command(cat("train --data ", train, " --label y --epochs 1 --model ", model)).code, 0);
  struct Plant {
    const char* what;
    bool fault;
    Cells placed, amount, town;
  };
  const Plant plants[] = {
      {"nothing", false, placed, amount, town},
      {"the next month", false, [](int i) { return placed_on(7, i); }, amount, town},
      {"dates of 1970", true, [](int i) { return cat("1970-01-", 10 + i % 19); }, amount, town},
      {"dates of the next year", true, [](int i) { return cat("2032-08-", 10 + i % 19); }, amount, town},
      {"dates in another form", true, [](int i) { return cat(10 + i % 19, ".7.2031"); }, amount, town},
      {"seconds for dates", true, [](int i) { return cat(1941000000 + i); }, amount, town},
      {"cents for euros", true, placed, [](int i) { return cat((10 + i * 37 % 113 / 4.0) * 100); }, town},
      {"a unit behind numbers", true, placed, [](int i) { return cat(10 + i * 37 % 113 / 4.0, " kg"); },
       town},
      {"decimal commas", true, placed, [](int i) { return cat("\"", 10 + i % 20, ",5\""); }, town},
      {"words for numbers", true, placed, [](int) { return "many"; }, town},
      {"no amounts", true, placed, [](int) { return ""; }, town},
      {"a new town", true, placed, amount, [](int) { return "Rom"; }},
      {"towns in capitals", true, placed, amount, [](int i) { return cat("TOWN ", i % 5); }},
  };
  const std::string gate = gates({"range", "schema"});
  for (const int rows : {15, 60}) {
    for (const Plant& plant : plants) {
      const std::string now = file("now.csv", order_rows(rows, plant.placed, plant.amount, plant.town));
      const Outcome check = call_command(cat("data check ", train, " ", now, " --label y --json"));
      bool fault = false;
      const Json findings = Json::parse(check.output)["findings"];
      for (const Json& found : findings)
        fault |= found["severity"] == "warning" && (found["of"] == "range" || found["of"] == "schema");
      EXPECT_EQ(fault, plant.fault) << plant.what << rows << check.output;
      const Outcome predict = call_command(cat("predict ", model, " ", now));
      const bool refused = predict.code == 2, warned = predict.error.find("fault: ") != std::string::npos;
      EXPECT_EQ(refused || warned, plant.fault) << plant.what << rows << predict.error;
      if (refused) continue;  // the model cannot take such rows, either
      const Outcome gated =
          call_command(cat("check ", model, " ", now, " --train ", train, " --gates ", gate));
      EXPECT_EQ(gated.code, plant.fault ? 1 : 0) << plant.what << rows << gated.output << gated.error;
    }
  }
}

// Columns that the model does not read change nothing of what is said of those that it reads.
TEST_F(NotJudged, ColumnsThatAreIgnoredDoNotPartCheckAndPredict) {
  const auto table = [](int rows, int first, int odd, bool town) {
    std::string out = "amount,town";
    for (int c = 0; c < 20; ++c) out += cat(",x", c);
    out += ",y\n";
    for (int i = first; i < first + rows; ++i) {
      const bool is_odd = i - first < odd;
      out += cat(10 + i * 37 % 113 / 4.0 + (is_odd && !town ? 300 : 0), ",",
                 is_odd && town ? "Rom" : cat("town ", i % 5));
      for (int c = 0; c < 20; ++c) out += cat(",", (i * (c + 3) % 23 + c) % 23);
      out += cat(",", i * 31 % 7 < 3 ? "a" : "b", "\n");
    }
    return out;
  };
  const std::string train = file("train.csv", table(300, 0, 0, false)), model = folder + "/model";
  std::string ignored;
  for (int c = 0; c < 20; ++c) ignored += cat(c ? "," : "", "x", c);
  ASSERT_EQ(call_command(
                cat("train --data ", train, " --label y --ignore ", ignored, " --epochs 1 --model ", model))
                .code,
            0);
  const std::string gate = gates({"range", "schema"});
  int faults = 0;
  for (const int rows : {15, 60}) {
    for (const int odd : {1, 2, 3}) {
      for (const bool town : {false, true}) {
        const std::string now = file("now.csv", table(rows, 300, odd, town));
        const Outcome check =
            call_command(cat("check ", model, " ", now, " --train ", train, " --gates ", gate));
        const Outcome predict = call_command(cat("predict ", model, " ", now));
        ASSERT_EQ(predict.code, 0) << predict.error;
        const bool fault = predict.error.find("fault: ") != std::string::npos;
        EXPECT_EQ(check.code, fault ? 1 : 0) << rows << " " << odd << town << check.output << predict.error;
        faults += fault;
      }
    }
  }
  EXPECT_GT(faults, 0);
  EXPECT_LT(faults, 12);
}

TEST_F(NotJudged, AModelWithoutCountsSaysThatRowsAreNotHeldAgainstChance) {
  const std::string train = file("train.csv", scored_rows(300, 1, "")), model = folder + "/model";
  ASSERT_EQ(call_command(cat("train --data ", train, " --label y --epochs 1 --model ", model)).code, 0);
  const std::string now = file("now.csv", scored_rows(15, 1, "Rom"));
  const auto said = [&] { return call_command(cat("predict ", model, " ", now)).error; };
  const std::string uncounted =
      "the model keeps no counts of its training cells, so rows are not held against chance";
  EXPECT_NE(said().find("fault: column \"city\""), std::string::npos);
  EXPECT_EQ(said().find(uncounted), std::string::npos);
  drop_checksums(model);
  std::string columns = posix_env().read_file(model + "/columns.json");
  for (const std::string key : {"\"cells_read\"", "\"cells_unread\"", "\"cells_missing\""}) {
    for (size_t at = columns.find(key); at != columns.npos; at = columns.find(key))
      columns.replace(at, 7, "\"other_");
  }
  write_file(model + "/columns.json", columns);
  const std::string old = said();
  EXPECT_EQ(old.find("fault: "), std::string::npos) << old;
  const size_t first = old.find(uncounted);
  EXPECT_NE(first, std::string::npos) << old;
  EXPECT_EQ(old.find(uncounted, first + 1), std::string::npos) << old;
}

}  // namespace
}  // namespace espalier::cli
