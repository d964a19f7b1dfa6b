#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "espalier/error.h"
#include "train/unsealed_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

const char* const kRowFlagsSchema =
    R"(feature { name: "size" type: INT presence { min_fraction: 1 min_count: 1 } int_domain { min: 0 max: 59 } }
feature { name: "colour" type: BYTES presence { min_fraction: 1 min_count: 1 } string_domain { value: "red" value: "blue" } }
feature { name: "kind" type: BYTES presence { min_fraction: 1 min_count: 1 } string_domain { value: "small" value: "big" } }
)";

// Parts of two kinds by size; a model of them; and rows of which some are not as the schema says.
struct RowFlagsTest : FolderTest {
  std::string model = folder + "/model", aside = folder + "/aside.csv";
  std::string schema = file("schema.pbtxt", kRowFlagsSchema);

  std::string parts(const std::string& more = "") const {
    std::string text = "size,colour,kind\n";
    for (int i = 0; i < 60; ++i)
      text += cat(i * 7 % 60, ",", i % 2 ? "red" : "blue", ",", i * 7 % 60 < 30 ? "small" : "big", "\n");
    return file("parts.csv", text + more);
  }
  std::string train(std::vector<std::string> more, const std::string& data,
                    std::string* said = nullptr) const {
    std::vector<std::string> arguments = {"--data",  data,  "--label",  "kind",
                                          "--model", model, "--epochs", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call_verb(add_train, arguments, "", said);
  }
  std::string predict(std::vector<std::string> more, const std::string& rows,
                      std::string* said = nullptr) const {
    std::vector<std::string> arguments = {model, "-", "--schema", schema};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call_verb(add_predict, arguments, rows, said);
  }
};

const char* const kRows = "colour,size\nred,3\ngreen,4\nblue,99\n\nblue,\nred,50\n";

// Rows that nobody could ask are not as the schema says.
TEST_F(RowFlagsTest, ARuleThatNobodyOrdersIsRefused) {
  std::string rows = "size,when,kind\n";
  for (int i = 0; i < 60; ++i) rows += cat(i, ",2024-06-", 10 + i % 20, i < 30 ? ",small\n" : ",big\n");
  const std::string data = file("dated.csv", rows);
  const auto with_rule = [&](const char* kind, const char* rule) {
    return file("dated.pbtxt", cat("feature { name: 'when' type: BYTES } annotation { tag: 'espalier.", kind,
                                   "=", rule, "' }"));
  };
  const char* const unknown = "when >= \"first of June\"";
  train({"--schema", with_rule("rule", "when >= \"2024-06-01\"")}, data);
  try {
    train({"--force", "--schema", with_rule("rule", unknown)}, data);
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "expression.date");
    EXPECT_TRUE(error.message().starts_with(cat(path("dated.pbtxt"), ", dated.csv: the rule \"", unknown,
                                                "\" is asked of 0 of 60 rows, because column ")))
        << error.message();
  }
  std::string said;
  train({"--force", "--schema", with_rule("warning", unknown)}, data, &said);
  EXPECT_NE(said.find(cat("warning: dated.csv: the rule \"", unknown,
                          "\" is asked of 0 of 60 rows, because column ")),
            std::string::npos)
      << said;
}

TEST_F(RowFlagsTest, PredictRefusesRowsByTheirLines) {
  train({}, parts());
  try {
    predict({}, kRows);
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "rows.refused");
    EXPECT_EQ(error.message(), cat("standard input: 3 of 5 rows are not as ", schema,
                                   " says\n"
                                   "  size: missing in 1 row, line 6\n"
                                   "  size: above 59 in 1 row, line 4\n"
                                   "  colour: none of the 2 values of its domain in 1 row, line 3"));
    EXPECT_EQ(error.fix(), "--quarantine FILE sets such rows aside");
  }
  // Of the label nothing is asked; other columns must be there.
  EXPECT_NE(predict({}, "colour,size\nred,3\n"), "");
  EXPECT_NE(predict({}, "colour,size,kind\nred,3,small.\n"), "");
  EXPECT_EQ(rule_of([&] { predict({}, "color,size\nred,3\n"); }), "rows.column");
  EXPECT_EQ(rule_of([&] { predict({"--environment", "none"}, kRows); }), "validate.environment");
  EXPECT_EQ(rule_of([&] { predict({"--quarantine", schema}, kRows); }), "results.out");
  const Outcome outcome =
      call_command(cat("predict ", model, " ", file("rows.csv", kRows), " --schema ", schema));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.output, "");
}

TEST_F(RowFlagsTest, PredictSetsRowsAside) {
  train({}, parts());
  const std::string plain = predict({}, "colour,size\nred,3\nred,50\n");
  std::string said;
  EXPECT_EQ(predict({"--quarantine", aside}, kRows, &said), plain);
  EXPECT_NE(said.find("standard input: size: above 59 in 1 row, line 4: set aside\n"), std::string::npos)
      << said;
  EXPECT_NE(said.find("standard input: 3 of 5 rows set aside in " + aside), std::string::npos) << said;
  EXPECT_EQ(posix_env().read_file(aside),
            "file,line,reason,colour,size\n"
            "standard input,3,colour: none of the 2 values of its domain,green,4\n"
            "standard input,4,size: above 59,blue,99\n"
            "standard input,6,size: missing,blue,\n");
  const Json json = Json::parse(predict({"--quarantine", aside, "--json"}, kRows));
  EXPECT_EQ(json["predictions"].size(), 2u);
  const Json& table = json["schema"]["tables"][0];
  EXPECT_EQ(table["rows"], 5);
  EXPECT_EQ(table["kept"], 2);
  EXPECT_EQ(table["set_aside"], 3);
  EXPECT_EQ(table["findings"][1]["rule"], "above");
  EXPECT_EQ(table["findings"][1]["lines"], Json({4}));
  EXPECT_EQ(table["findings"][1]["policy"], "quarantine");
  // Good rows leave an empty file behind.
  predict({"--quarantine", aside}, "colour,size\nred,3\n");
  EXPECT_EQ(posix_env().read_file(aside), "file,line,reason,colour,size\n");
  // What the schema sets aside needs a file.
  schema = file("quarantine.pbtxt", cat(kRowFlagsSchema, "annotation { tag: 'espalier.policy=quarantine' }"));
  EXPECT_EQ(rule_of([&] { predict({}, kRows); }), "rows.quarantine");
}

TEST_F(RowFlagsTest, PredictTakesDefaults) {
  train({}, parts());
  schema = file("defaults.pbtxt",
                R"(feature { name: "size" type: INT int_domain { max: 59 } presence { min_fraction: 1 }
  annotation { tag: "espalier.policy=default" tag: "espalier.default=50" } }
feature { name: "colour" type: BYTES } annotation { tag: "espalier.rule=size < 55" })");
  std::string said;
  const std::string rows = predict({"--keep"}, "colour,size\nred,3\nblue,99\nblue,\n", &said);
  EXPECT_EQ(rows, predict({"--keep"}, "colour,size\nred,3\nblue,50\nblue,50\n"));
  EXPECT_NE(said.find("size: above 59 in 1 row, line 3: the default stands for them\n"), std::string::npos)
      << said;
  EXPECT_EQ(rule_of([&] { predict({}, "colour,size\nred,57\n"); }), "rows.refused");
}

TEST_F(RowFlagsTest, RowsWithoutNamesAreThoseOfTheModel) {
  train({}, parts());
  EXPECT_EQ(rule_of([&] { predict({"--header", "no"}, "3,red\n70,red\n"); }), "rows.refused");
  EXPECT_NE(predict({"--header", "no"}, "3,red\n50,red\n"), "");
}

TEST_F(RowFlagsTest, TrainLearnsFromGoodRowsAlone) {
  std::string said;
  const std::string clean = train({"--json"}, parts());
  const std::string bad = parts("900,red,big\n5,red,tiny\n");
  EXPECT_EQ(rule_of([&] { train({"--schema", schema}, bad); }), "rows.refused");
  const std::string test = file("test.csv", "kind,size,colour\nbig,40,red\nsmall,2,none\nsmall,3,blue\n");
  const Json json =
      Json::parse(train({"--schema", schema, "--quarantine", aside, "--test", test, "--json"}, bad, &said));
  EXPECT_EQ(json["train_rows"].get<int>() + json["validation_rows"].get<int>(), 60);
  EXPECT_EQ(json["test"]["rows"], 2);
  EXPECT_EQ(json["schema"]["tables"][0]["set_aside"], 2);
  EXPECT_EQ(json["schema"]["tables"][1]["set_aside"], 1);
  EXPECT_EQ(posix_env().read_file(aside),
            "file,line,reason,size,colour,kind\n"
            "parts.csv,62,size: above 59,900,red,big\n"
            "parts.csv,63,kind: none of the 2 values of its domain,5,red,tiny\n"
            "test.csv,3,colour: none of the 2 values of its domain,2,none,small\n");
  // The rows at hand are the same, so the model is.
  const std::string weights = posix_env().read_file(model + "/weights.safetensors");
  const Json alone =
      Json::parse(train({"--test", file("good.csv", "kind,size,colour\nbig,40,red\n"), "--json"}, parts()));
  EXPECT_EQ(alone["train_rows"], json["train_rows"]);
  EXPECT_EQ(posix_env().read_file(model + "/weights.safetensors"), weights);
  // As a plan.
  const std::string plan =
      file("plan.toml", cat("[data]\nfile = \"parts.csv\"\nlabel = \"kind\"\nschema = "
                            "\"schema.pbtxt\"\nquarantine = \"aside.csv\"\n[model]\npath = "
                            "\"model\"\n[fit]\nepochs = 1\n"));
  parts("-1,red,small\n");
  call_verb(add_train, {plan});
  EXPECT_EQ(read_csv(aside).cell(0, 2), "size: below 0");
}

TEST_F(RowFlagsTest, AModelKeepsTheSchemaOfItsRows) {
  train({}, parts());
  EXPECT_FALSE(posix_env().exists(model + "/schema.pbtxt"));
  EXPECT_EQ(rule_of([&] {
              call_verb(add_predict, {model, "-", "--quarantine", aside}, kRows);
            }),
            "rows.schema");
  train({"--schema", schema}, parts());
  const auto kept = [&](std::vector<std::string> more, const std::string& rows = kRows) {
    more.insert(more.begin(), {model, "-"});
    return call_verb(add_predict, more, rows);
  };
  // The file it was is no longer asked.
  file("schema.pbtxt", "feature { name: \"other\" }");
  try {
    kept({});
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "rows.refused");
    EXPECT_NE(error.message().find(cat("3 of 5 rows are not as ", model, "/schema.pbtxt says")),
              std::string::npos)
        << error.message();
  }
  EXPECT_EQ(kept({"--quarantine", aside}), kept({}, "colour,size\nred,3\nred,50\n"));
  EXPECT_EQ(read_csv(aside).rows(), 3);
  EXPECT_EQ(Json::parse(kept({"--json", "--quarantine", aside}))["schema"]["file"], model + "/schema.pbtxt");
  // Another one, or none, counts where it is named.
  EXPECT_EQ(rule_of([&] { kept({"--schema", schema}, "colour,size\nred,99\n"); }), "nothing");
  EXPECT_EQ(Json::parse(kept({"--no-schema", "--json"})).count("schema"), 0u);
  EXPECT_THROW(kept({"--no-schema", "--schema", schema}), CLI::ExcludesError);
  drop_checksums(model);
  file("model/schema.pbtxt", "feature {");
  EXPECT_EQ(rule_of([&] { kept({}); }), "metadata.text");
  // A model of rows that nothing was asked of forgets it.
  train({}, parts());
  EXPECT_FALSE(posix_env().exists(model + "/schema.pbtxt"));
}

TEST_F(RowFlagsTest, WhatBecomesOfRowsIsCountedBySlice) {
  train({}, parts());
  std::string said;
  const std::string rows = "colour,size,kind\nred,3,a\nred,99,a\nblue,-4,b\nblue,5,a\nblue,7,\n";
  const std::string table =
      "kind       rows  good  replaced  set aside  refused\n"
      "---------  ----  ----  --------  ---------  -------\n"
      "b             1     0         0          1        0\n"
      "a             3     2         0          1        0\n"
      "(missing)     1     1         0          0        0\n";
  predict({"--quarantine", aside, "--slice", "kind"}, rows, &said);
  EXPECT_NE(said.find(table), std::string::npos) << said;
  const Json json = Json::parse(predict({"--quarantine", aside, "--slice", "kind", "--json"}, rows));
  const Json& slices = json["schema"]["tables"][0]["slices"];
  EXPECT_EQ(slices["column"], "kind");
  EXPECT_EQ(slices["values"][1], Json::parse(R"({"value": "a", "rows": 3, "good": 2, "replaced": 0,
                                                 "set_aside": 1, "refused": 0})"));
  try {
    predict({"--slice", "kind"}, rows);
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_NE(error.message().find("a             3     2         0          0        1\n"),
              std::string::npos)
        << error.message();
  }
  EXPECT_EQ(rule_of([&] { predict({"--slice", "none"}, rows); }), "rows.slice");
  std::string many = "colour,size\n";
  for (int i = 0; i < 201; ++i) many += cat("red,", i, "\n");
  EXPECT_EQ(rule_of([&] { predict({"--slice", "size", "--quarantine", aside}, many); }), "rows.slice");
  // Of rows that are to be learned from, too.
  train({"--schema", schema, "--quarantine", aside, "--slice", "colour"}, parts("900,red,big\n"), &said);
  EXPECT_NE(said.find("red       31    30         0          1        0\n"), std::string::npos) << said;
}

TEST_F(RowFlagsTest, RulesAreWrittenWithACaretAndAskedOfRows) {
  train({}, parts());
  const std::string out = folder + "/ruled.pbtxt";
  const std::string call = cat("data schema ", schema, " --out ", out);
  const Outcome outcome =
      call_command(call + " --rule 'size != 3  or colour=\"blue\"' --warn-rule 'size<40' --show");
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_NE(outcome.output.find("\nrule=size != 3 or colour = \"blue\"\nwarning=size < 40\n"),
            std::string::npos)
      << outcome.output;
  const Outcome wrong = call_command(call + " --rule 'size > \"x\"'");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.error.find("size > \"x\"\n"), std::string::npos) << wrong.error;
  EXPECT_NE(wrong.error.find("         ^ [expression.type]\n"), std::string::npos) << wrong.error;
  EXPECT_NE(call_command(call + " --rule 'sise > 1'").error.find("expression.column"), std::string::npos);
  schema = out;
  std::string said;
  predict({}, "colour,size\nred,41\n", &said);
  EXPECT_NE(said.find("not size < 40 in 1 row, line 2\n"), std::string::npos) << said;
  EXPECT_EQ(rule_of([&] { predict({}, "colour,size\nred,3\n"); }), "rows.refused");
  // Until it is dropped.
  const Outcome dropped = call_command(cat(
      "data schema ", out, " --drop-rule 'size != 3 or colour = \"blue\"' --out ", folder, "/dropped.pbtxt"));
  EXPECT_EQ(dropped.code, 0) << dropped.error;
  schema = folder + "/dropped.pbtxt";
  EXPECT_NE(predict({}, "colour,size\nred,3\n"), "");
  EXPECT_EQ(call_command(cat("data schema ", out, " --drop-rule 'size > 9'")).code, 2);
}

}  // namespace
}  // namespace espalier::cli
