// Gates of a release, from a file of scores or a model to a verdict, its reports and its page.
#include <cmath>
#include <filesystem>
#include <map>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "tests/shared_data.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

struct Check : FolderTest {
  std::string text(const std::string& name) const { return posix_env().read_file(path(name)); }
  // Of 2,000 rows, where of group a so many in a thousand are said to be positive, and of b half.
  std::string scores(int64_t share) const {
    Philox random(3);
    std::string out = "y,p,g\n";
    for (int i = 0; i < 2000; ++i) {
      const bool a = i % 2, said = i / 2 < (a ? share : 500);
      out += cat(random.below(10) < 7 ? said : !said, ",", said ? 0.75 : 0.25, ",", a ? "a" : "b", "\n");
    }
    return file("scores.csv", out);
  }
  Outcome check(const std::string& scores, const std::string& gates, const std::string& more = "") const {
    return call_command(cat("check --scores ", scores, " --label y --score p --gates ",
                            file("gates.toml", gates), " --today 2030-05-01 ", more));
  }
};

std::string parity(const std::string& more) {
  return "[[gates]]\nname = \"parity\"\ncriterion = \"demographic_parity\"\nbetween = \"g\"\nmax = 0.1\n" +
         more;
}

// Shares of 1,000 rows each: 0.5 against 0.45 differ by 0.05, against 0.2 by 0.3.
TEST_F(Check, TheVerdictIsTheExitCode) {
  const Outcome pass = check(scores(450), parity(""));
  EXPECT_EQ(pass.code, 0) << pass.output << pass.error;
  EXPECT_TRUE(pass.output.starts_with("Pass")) << pass.output;
  const Outcome blocked = check(scores(200), parity(""));
  EXPECT_EQ(blocked.code, 1) << blocked.output << blocked.error;
  const std::string first = blocked.output.substr(0, blocked.output.find('\n'));
  EXPECT_TRUE(first.starts_with("Blocked: ")) << first;
  for (const char* part : {"g=a", "0.20", "0.50", "0.30", "limit 0.1"})
    EXPECT_NE(first.find(part), std::string::npos) << part << " in " << first;
  // The interval of 0.05, about 0.006 to 0.094, lies below the limit; that of 0.08 straddles it.
  EXPECT_EQ(check(scores(450), parity("decide = \"proven-under\"\n")).code, 0);
  const Outcome undecided = check(scores(420), parity("decide = \"proven-under\"\n"));
  EXPECT_EQ(undecided.code, 3) << undecided.output << undecided.error;
  EXPECT_TRUE(undecided.output.starts_with("Undecided: ")) << undecided.output;
  EXPECT_NE(undecided.output.find("next: "), std::string::npos);
}

TEST_F(Check, WhatIsAbsentNeverPasses) {
  const std::string rows = scores(450);
  const auto code = [&](const std::string& gate) { return check(rows, "[[gates]]\n" + gate).code; };
  EXPECT_EQ(code("metric = \"accuracy\"\nmin = 0.1\n"), 0);
  EXPECT_EQ(code("metric = \"accuracy\"\nslice = \"g=c\"\nmin = 0.1\n"), 3);
  EXPECT_EQ(code("metric = \"accuracy\"\nchange = \"absolute\"\nmin = -1\n"), 3);
  EXPECT_EQ(code("metric = \"accuracy\"\nslice = \"h=c\"\nmin = 0.1\n"), 2);
}

TEST_F(Check, ReportsAreWrittenBesideTheVerdict) {
  const std::string rows = scores(200);
  const Outcome said = check(rows, parity(""),
                             cat("--json --junit ", path("junit.xml"), " --prometheus ", path("gates.prom"),
                                 " --csv ", path("slices.csv"), " --html ", path("report.html")));
  EXPECT_EQ(said.code, 1) << said.error;
  const Json json = Json::parse(said.output);
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["verdict"], "blocked");
  EXPECT_NE(text("junit.xml").find("<failure"), std::string::npos);
  EXPECT_NE(text("gates.prom").find("# TYPE "), std::string::npos);
  const CsvTable slices = parse_csv(text("slices.csv"));
  EXPECT_GT(slices.rows(), 30);
  const std::string page = text("report.html");
  EXPECT_NE(page.find("Blocked"), std::string::npos);
  EXPECT_LT(page.size(), size_t{2} << 20);
  EXPECT_EQ(check(rows, parity(""), cat("--html ", path("again.html"))).code, 1);
  EXPECT_EQ(text("again.html"), page) << "the same input gives the same bytes";
}

TEST_F(Check, APageIsHeldAgainstWhatTheRowsGive) {
  const std::string rows = scores(200), page = path("report.html"), verify = cat("--verify ", page);
  ASSERT_EQ(check(rows, parity(""), cat("--html ", page)).code, 1);
  const Outcome same = check(rows, parity(""), verify);
  EXPECT_EQ(same.code, 0) << same.output << same.error;
  EXPECT_TRUE(same.output.starts_with("Verified: report.html says what these rows give.\n")) << same.output;

  const std::string written = text("report.html");
  const size_t number = written.find("0.200");
  ASSERT_NE(number, std::string::npos);
  file("report.html", std::string(written).replace(number, 5, "0.300"));
  const Outcome edited = check(rows, parity(""), verify);
  EXPECT_EQ(edited.code, 1);
  EXPECT_TRUE(edited.output.starts_with("Different: report.html\n  the page says ")) << edited.output;
  EXPECT_NE(edited.output.find("0.300"), std::string::npos) << edited.output;
  file("report.html", written + " ");
  EXPECT_EQ(check(rows, parity(""), verify).code, 1);
  file("report.html", written);
  const Json other = Json::parse(check(scores(201), parity(""), verify + " --json").output);
  EXPECT_EQ(other["verified"], false);
  EXPECT_GT(other["differences"].size(), 0u);
  EXPECT_EQ(check(scores(200), parity("severity = \"warn\"\n"), verify).code, 1);
  EXPECT_EQ(check(rows, parity(""), "--verify " + path("none.html")).code, 2);
  EXPECT_EQ(check(rows, parity(""), cat(verify, " --html ", path("new.html"))).code, 2);
}

TEST_F(Check, APageNamesTheFilesBehindIt) {
  const std::string rows = scores(200);
  ASSERT_EQ(check(rows, parity(""), cat("--html ", path("report.html"))).code, 1);
  const std::string page = text("report.html");
  EXPECT_NE(page.find(" rows, threshold 0.5, positive is y=true<"), std::string::npos);
  for (const char* name : {"scores.csv", "gates.toml"}) {
    ASSERT_EQ(std::system(cat("sha256sum ", path(name), " > ", path("sums")).c_str()), 0);
    EXPECT_NE(page.find(text("sums").substr(0, 64)), std::string::npos) << name;
  }
}

// Without them the page that was just written would be said to differ.
TEST_F(Check, TheNextLineKeepsTheSlicesThatWereAsked) {
  const std::string asked = "--cross 'g*y' --min-slice 5 --missing-group leave-out --at-threshold above ";
  const Outcome said = check(scores(450), parity(""), cat(asked, "--html ", path("report.html")));
  EXPECT_EQ(said.code, 0) << said.error;
  EXPECT_NE(said.output.find(asked), std::string::npos) << said.output;
}

TEST_F(Check, TheDataIsCheckedAgainstTheTrainingRows) {
  const auto table = [&](const std::string& name, uint64_t seed, bool scored, double heavier) {
    Philox random(seed);
    std::string out = scored ? "y,g,weight,p\n" : "y,g,weight\n";
    for (int i = 0; i < 1000; ++i) {
      const bool ill = random.below(2);
      out += cat(ill, ",", random.below(2) ? "a" : "b", ",",
                 40 + heavier + static_cast<double>(random.below(40000000)) / 1e6,
                 scored ? ill ? ",0.75" : ",0.25" : "", "\n");
    }
    return file(name, out);
  };
  const std::string train = table("train.csv", 1, false, 0), same = table("same.csv", 2, true, 0),
                    heavy = table("heavy.csv", 3, true, 9);
  const std::string gates = "[[gates]]\ndata = \"schema\"\n[[gates]]\ndata = \"drift\"\n";
  const std::string with_train = cat("--train ", train, " ");
  EXPECT_EQ(check(same, gates, with_train).code, 0);
  const Outcome drifted = check(heavy, gates, with_train + "--html " + path("report.html"));
  EXPECT_EQ(drifted.code, 1) << drifted.error;
  EXPECT_TRUE(drifted.output.starts_with("Blocked: drift of the data: distributions of weight are "))
      << drifted.output;
  const std::string page = text("report.html");
  EXPECT_NE(page.find("id=\"data-columns\""), std::string::npos);
  EXPECT_NE(page.find("distributions of weight are "), std::string::npos);
  EXPECT_EQ(check(heavy, gates, with_train + "--verify " + path("report.html")).code, 0);
  EXPECT_EQ(check(same, gates, with_train + "--verify " + path("report.html")).code, 1);
  EXPECT_EQ(check(same, gates).code, 3);  // nothing to hold it against
  EXPECT_EQ(check(same, gates, "--train " + same).code, 2);
  const Outcome first =
      call_command(cat("check --scores ", heavy, " --label y --score p --slice g --init ", with_train));
  EXPECT_NE(first.output.find("# Today blocked: drift of the data: distributions of weight are "),
            std::string::npos)
      << first.output;
}

// Training rows may have no line of names, as evaluated rows; tables without a common column are no pass.
TEST_F(Check, TablesWithoutNamesAreComparedByTheModels) {
  const auto rows = [&](const std::string& name, uint64_t seed, double heavier) {
    Philox random(seed);
    std::string out;
    for (int i = 0; i < 600; ++i) {
      const bool ill = random.below(2);
      out += cat(40 + heavier + static_cast<double>(random.below(40000)) / 1000 + (ill ? 20 : 0), ",",
                 random.below(2) ? "a" : "b", ",", ill ? "ill" : "well", "\n");
    }
    return file(name, out);
  };
  const std::string train = rows("train.csv", 1, 0), model = path("model");
  ASSERT_EQ(call_command(cat("train --data ", train, " --label last --epochs 1 --model ", model)).code, 0);
  const std::string gates = file("gates.toml", "[[gates]]\ndata = \"drift\"\n[[gates]]\ndata = \"schema\"\n");
  const auto judge = [&](const std::string& data, const std::string& against) {
    return call_command(cat("check ", model, " ", data, " --train ", against, " --gates ", gates));
  };
  const Outcome same = judge(rows("same.csv", 2, 0), train), heavy = judge(rows("heavy.csv", 3, 15), train);
  EXPECT_EQ(same.code, 0) << same.output << same.error;
  EXPECT_EQ(heavy.code, 1) << heavy.output << heavy.error;
  EXPECT_NE(heavy.output.find("drift of the data"), std::string::npos) << heavy.output;
  const std::string others = file("others.csv", "p,q,r\n1,x,ill\n2,y,well\n3,x,ill\n");
  EXPECT_EQ(judge(path("same.csv"), others).code, 2);
  const std::string few = file("few.csv", "y,p,g\n1,0.7,a\n0,0.2,b\n");
  const Outcome partly = check(few, "[[gates]]\ndata = \"drift\"\n",
                               cat("--train ", file("more.csv", "y,g,age\n1,a,30\n0,b,40\n"), " "));
  EXPECT_NE(partly.error.find("1 column is not in the evaluated rows, and not compared: age"),
            std::string::npos)
      << partly.error;
}

// What tells the label, but not to the model.
TEST_F(Check, LeaksOfColumnsThatTheModelDoesNotReadAreNoFaults) {
  const auto rows = [&](const std::string& name, uint64_t seed) {
    Philox random(seed);
    std::string out = "weight,kind,code,ill\n";
    for (int i = 0; i < 600; ++i) {
      const bool ill = random.below(3) == 0;
      out += cat(40 + static_cast<double>(random.below(40000)) / 1000 + (ill ? 5 : 0), ",",
                 random.below(2) ? "a" : "b", ",", ill ? 7 : 4, ",", ill ? "yes" : "no", "\n");
    }
    return file(name, out);
  };
  const std::string train = rows("train.csv", 1), test = rows("test.csv", 2);
  const std::string gates = file("gates.toml", "[[gates]]\ndata = \"leak\"\n");
  const auto judge = [&](const std::string& ignored) {
    EXPECT_EQ(call_command(cat("train --data ", train, " --label ill --epochs 1 ", ignored, " --model ",
                               path("model")))
                  .code,
              0);
    return call_command(cat("check ", path("model"), " ", test, " --train ", train, " --gates ", gates));
  };
  const Outcome ignored = judge("--ignore code"), read = judge("--include code");
  EXPECT_EQ(ignored.code, 0) << ignored.output << ignored.error;
  EXPECT_EQ(read.code, 1) << read.output << read.error;
  EXPECT_NE(read.output.find("column \"code\" is the label under another name"), std::string::npos)
      << read.output;
}

TEST_F(Check, ChangesAreAgainstABaseline) {
  const std::string before = file("before.csv", text(std::filesystem::path(scores(450)).filename()));
  const std::string gate =
      "[[gates]]\nmetric = \"selection_rate\"\nslice = \"g=a\"\nchange = \"absolute\"\nmin = -0.05\nmax = "
      "0.05\n";
  EXPECT_EQ(check(scores(430), gate, cat("--baseline ", before)).code, 0);
  EXPECT_EQ(check(scores(300), gate, cat("--baseline ", before)).code, 1);
}

TEST_F(Check, FirstGatesAreWrittenReadAndHeldAgainstTheSameRows) {
  const std::string rows = scores(450), gates = path("first.toml");
  const Outcome init =
      call_command(cat("check --scores ", rows, " --label y --score p --init --slice g --out ", gates));
  EXPECT_EQ(init.code, 0) << init.error;
  EXPECT_NE(init.output.find(cat("--gates ", gates)), std::string::npos) << init.output;
  const Outcome said = call_command(cat("check --scores ", rows, " --label y --score p --gates ", gates));
  EXPECT_EQ(said.code, 0) << said.output << said.error;
  EXPECT_NE(said.output.find("\npositive is y=true: "), std::string::npos) << said.output;
  EXPECT_NE(text("first.toml").find("\npositive = \"true\" "), std::string::npos);
  // Limits that somebody chose stay.
  const Outcome again =
      call_command(cat("check --scores ", rows, " --label y --score p --init --slice g --out ", gates));
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.error.find("is there already"), std::string::npos) << again.error;
  const Outcome blocked = call_command(
      cat("check --scores ", scores(200), " --label y --score p --init --slice g --out ", path("b.toml")));
  EXPECT_NE(blocked.error.find(" would block today"), std::string::npos) << blocked.error;
}

TEST_F(Check, FirstGatesSayWhyTheirSlicesWereChosen) {
  std::string rows = "y,p,shoe,sex,age,price\n";
  for (int i = 0; i < 600; ++i)
    rows += cat(i % 2, ",", i % 5 ? 0.75 : 0.25, ",", i % 4, ",", i % 3 ? "m" : "f", ",", 20 + i % 50, ",", i,
                ".5\n");
  const Outcome said = call_command(cat("check --scores ", file("people.csv", rows),
                                        " --label y --score p --init --out ", path("gates.toml")));
  EXPECT_EQ(said.code, 0) << said.error;
  const std::string sex = "sex: its name tells who a row is about, for a person to confirm; 2 groups",
                    age =
                        "age: its name tells who a row is about, for a person to confirm; thirds of its "
                        "numbers, parted at 36,53";
  for (const std::string& reason : {sex, age}) {
    EXPECT_NE(said.error.find(cat("note: ", reason, "\n")), std::string::npos) << said.error;
    EXPECT_NE(text("gates.toml").find(cat("\n# Slices by ", reason, ".\n")), std::string::npos)
        << text("gates.toml");
  }
  EXPECT_EQ(text("gates.toml").find("shoe"), std::string::npos);
  const Outcome other = call_command(
      cat("check --scores ", scores(450), " --label y --score p --init --out ", path("other.toml")));
  EXPECT_NE(other.error.find("note: g: it parts the rows well; 2 groups\n"), std::string::npos)
      << other.error;
  call_command(cat("check --scores ", scores(450), " --label y --score p --init --slice g --out ",
                   path("named.toml")));
  EXPECT_EQ(text("named.toml").find("# Slices by"), std::string::npos) << "a person chose them";
}

// Ages have more values than slices may: without the edges in the file nothing could be judged.
TEST_F(Check, EdgesOfChosenSlicesStandInTheGates) {
  std::string rows = "y,p,age\n";
  for (int i = 0; i < 600; ++i) rows += cat(i % 2, ",", i % 5 ? 0.75 : 0.25, ",", 20 + i % 60, "\n");
  const std::string of_rows = cat("check --scores ", file("people.csv", rows), " --label y --score p ");
  const Outcome init = call_command(cat(of_rows, "--init --out ", path("gates.toml")));
  EXPECT_EQ(init.code, 0) << init.error;
  EXPECT_EQ(init.output.find("--bucket"), std::string::npos) << init.output;
  EXPECT_NE(text("gates.toml").find("\n[buckets]\n\"age\" = [40, 60]\n"), std::string::npos)
      << text("gates.toml");
  const Outcome said = call_command(cat(of_rows, "--json --gates ", path("gates.toml")));
  EXPECT_NE(said.output.find("age=(-inf,40)"), std::string::npos) << said.output << said.error;
  EXPECT_EQ(call_command(cat(of_rows, "--json --bucket age=40,60 --gates ", path("gates.toml"))).output,
            said.output);
  const Outcome other = call_command(cat(of_rows, "--bucket age=30 --gates ", path("gates.toml")));
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.error.find("the gates and --bucket part \"age\" at other edges"), std::string::npos)
      << other.error;
}

TEST_F(Check, WrongUseIsNamed) {
  const std::string rows = scores(450);
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Outcome said = call_command("check " + arguments);
    EXPECT_EQ(said.code, 2) << arguments;
    EXPECT_NE(said.error.find(part), std::string::npos) << said.error;
  };
  const std::string of_rows = cat("--scores ", rows, " --label y --score p ");
  refused("", "--scores");
  refused(of_rows, "--gates");
  refused(cat("--scores ", rows, " --label y --gates x.toml"), "--score");
  refused(of_rows + "--gates " + path("none.toml"), "none.toml");
  refused(of_rows + "--gates " + file("bad.toml", "[[gates]]\nmetrik = \"auc\"\n"), "metric");
  refused(of_rows + "--gates " + file("sex.toml", "[[gates]]\nmetric = \"auc\"\neach = \"sex\"\nmin = 0.5\n"),
          "sex.toml, line 3, column 8: unknown column \"sex\"");
  refused(of_rows + "--gates " + file("good.toml", parity("")) + " --today soon", "--today");
  refused(of_rows + "--gates " + path("good.toml") + " --html " + rows, "scores.csv");
}

// A model of raw rows, its gap counted again from what predict says of each row.
TEST_F(Check, SlowAPlainModelOfAdultIsBlockedForSex) {
  const std::string adult = shared_data("adult/"), test = adult + "adult-test.csv", model = path("model");
  if (!std::filesystem::exists(test)) GTEST_SKIP() << "there is no " << test;
  const std::string names =
      " --names "
      "age,workclass,fnlwgt,education,education-num,marital,occupation,relationship,race,sex,gain,loss,hours,"
      "country,income";
  ASSERT_EQ(
      call_command(cat("train --data ", adult, "adult-train.csv --label income --model ", model, names)).code,
      0);
  const auto check_model = [&](const std::string& gate) {
    return call_command(cat(
        "check ", model, " ", test, " --strip-label-dots --json --gates ",
        file("adult.toml", cat("[[gates]]\ncriterion = \"demographic_parity\"\nbetween = \"sex\"\n", gate)),
        names));
  };
  const Outcome said = check_model("max = 0.1\n");
  EXPECT_EQ(said.code, 1) << said.error;
  const Json finding = Json::parse(said.output)["gates"][0]["findings"][0];
  const Json predicted =
      Json::parse(call_command(cat("predict ", model, " ", test, " --json", names)).output);
  std::map<std::string, std::pair<double, double>> counts;
  const CsvTable table = read_csv(test, {.header = CsvHeader::kNo});
  for (int64_t row = 0; row < table.rows(); ++row) {
    auto& [rows, selected] = counts[std::string(table.cell(row, 9))];
    rows += 1;
    selected += predicted["predictions"][static_cast<size_t>(row)]["prediction"] == ">50K";
  }
  const double gap =
      counts["Male"].second / counts["Male"].first - counts["Female"].second / counts["Female"].first;
  EXPECT_NEAR(finding["judged"].get<double>(), gap, 1e-12);
  EXPECT_GT(gap, 0.1);
  // A limit inside of the interval of that gap, where a proof was asked.
  const double straddled = gap + 0.001;
  EXPECT_EQ(check_model(cat("max = ", straddled, "\ndecide = \"proven-under\"\n")).code, 3);
  EXPECT_EQ(check_model(cat("max = ", straddled, "\n")).code, 0);
}

TEST_F(Check, GatesComeFromAnEvalConfig) {
  const std::string config = file("eval_config.pbtxt", R"(
model_specs { label_key: "y" prediction_key: "p" }
slicing_specs {} slicing_specs { feature_keys: "g" }
metrics_specs {
  metrics { class_name: "Recall" threshold { value_threshold { lower_bound { value: 0.1 } } } }
  metrics { class_name: "AUC" threshold { value_threshold { lower_bound { value: 0.99 } } } } }
options { min_slice_size { value: 10 } })");
  const Outcome made = call_command(cat("check --init --from ", config, " --out ", path("new.toml")));
  EXPECT_EQ(made.code, 0) << made.error;
  EXPECT_NE(made.error.find("note: not in the gates: options: has no place"), std::string::npos)
      << made.error;
  EXPECT_NE(made.error.find("4 gates\n"), std::string::npos) << made.error;
  EXPECT_NE(
      made.output.find(cat(" check --scores scores.csv --label y --score p --gates ", path("new.toml"))),
      std::string::npos)
      << made.output;
  const Outcome judged = call_command(
      cat("check --scores ", scores(450), " --label y --score p --json --gates ", path("new.toml")));
  EXPECT_EQ(judged.code, 1) << judged.error;
  const Json gates = Json::parse(judged.output)["gates"];
  ASSERT_EQ(gates.size(), 4u);
  EXPECT_EQ(gates[0]["verdict"], "pass");
  EXPECT_EQ(gates[1]["slice"], "g");
  EXPECT_EQ(gates[2]["verdict"], "blocked");
  // What is there stays; what is none is named.
  EXPECT_EQ(call_command(cat("check --init --from ", config, " --out ", path("new.toml"))).code, 2);
  const Outcome none = call_command(cat("check --init --from ", file("none.pbtxt", "metrics_specs {}")));
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.error.find("none.pbtxt: no threshold"), std::string::npos) << none.error;
  EXPECT_EQ(call_command(cat("check --from ", config)).code, 2);
}

TEST_F(Check, AGateThatCouldNeverBeDecidedIsRefused) {
  const Outcome refused =
      check(scores(450), "[[gates]]\nmetric = \"log_loss\"\nmax = 0.9\ndecide = \"proven-under\"\n");
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_NE(refused.error.find("gates.options"), std::string::npos) << refused.error;
}

TEST_F(Check, ASchemaOfOnesOwnIsHeldAndDrawn) {
  std::string table = "y,p,g,age\n";
  for (int i = 0; i < 200; ++i)
    table += cat(i % 2, ",", i % 3 ? 0.75 : 0.25, ",", i % 2 ? "a" : "b", ",", 20 + i % 50, "\n");
  const std::string rows = file("scores.csv", table), train = file("train.csv", table);
  const std::string schema =
      file("schema.pbtxt",
           "feature { name: \"age\" type: INT int_domain { min: 30 } } feature { name: \"y\" type: INT } "
           "feature { name: \"p\" type: FLOAT } feature { name: \"g\" type: BYTES }");
  const std::string gate = "[[gates]]\ndata = \"schema\"\nmax = 0\n";
  const std::string more = cat("--html ", path("report.html"), " --train ", train);
  EXPECT_EQ(check(rows, gate, more).code, 0);
  const Outcome held = check(rows, gate, cat(more, " --schema ", schema));
  EXPECT_EQ(held.code, 1) << held.output << held.error;
  EXPECT_NE(held.output.find("column \"age\": out-of-range values"), std::string::npos) << held.output;
  EXPECT_NE(text("report.html").find(">at least 30<"), std::string::npos);
  EXPECT_EQ(check(rows, gate, cat("--schema ", schema)).code, 2) << "--schema needs --train";
}

// Of shares in large slices both say nearly the same, by other ways.
TEST_F(Check, IntervalsOfThePageAreThoseThatWereAsked) {
  const std::string rows = scores(450), asked = "--interval bootstrap --replicates 300 --seed 4";
  const auto page = [&](const std::string& more) {
    EXPECT_EQ(check(rows, parity(""), cat(more, " --html ", path("report.html"))).code, 0);
    return text("report.html");
  };
  const auto interval = [](const std::string& html) {
    const size_t at = html.find(" = 0.450000, of 1,000 rows, 95 % interval ");
    EXPECT_NE(at, html.npos);
    const size_t low = html.find("interval ", at) + 9;
    return std::pair(std::stod(html.substr(low)), std::stod(html.substr(html.find("to ", low) + 3)));
  };
  const std::string closed = page(""), drawn = page(asked);
  EXPECT_NE(drawn.find("Poisson bootstrap, 300 replicates, seed 4"), drawn.npos);
  EXPECT_EQ(closed.find("Poisson bootstrap"), closed.npos);
  const auto wilson = interval(closed), bootstrap = interval(drawn);
  EXPECT_NE(wilson, bootstrap);
  EXPECT_NEAR(bootstrap.first, wilson.first, 0.01);
  EXPECT_NEAR(bootstrap.second, wilson.second, 0.01);
  EXPECT_EQ(page(asked), drawn);
}

}  // namespace
}  // namespace espalier::cli
