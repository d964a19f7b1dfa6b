// Where a model comes from, which rows it is evaluated on, and the way from a raw file to a page.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/common.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "espalier/error.h"
#include "tests/shared_data.h"
#include "train/unsealed_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

struct Lineage : FolderTest {
  const std::string model = folder + "/model";

  // People, of whom one group is seldom paid; the rows of `kept`, or all.
  static std::string people(const std::vector<int64_t>& kept = {}, const std::string& delimiter = ",",
                            const std::string& point = ".") {
    std::string text = cat("gender", delimiter, "height", delimiter, "paid\n");
    const auto row = [&](int64_t i) {
      const bool high = i * i % 7 < 3;
      text += cat(i % 2 ? "Female" : "Male", delimiter, 150 + i * 37 % 50, point, i % 10, delimiter,
                  (i % 2 && i % 3) != high ? "yes" : "no", "\n");
    };
    for (const int64_t i : kept) row(i);
    for (int64_t i = 0; kept.empty() && i < 400; ++i) row(i);
    return text;
  }
  std::string train(const std::string& data, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--data", data, "--label", "paid", "--model", model, "--epochs", "3"});
    return call_verb(add_train, more);
  }
  Json evaluated(const std::string& data, std::vector<std::string> more = {},
                 std::string* said = nullptr) const {
    more.insert(more.begin(), {model, data, "--json"});
    return Json::parse(call_verb(add_evaluate, more, "", said));
  }
  Json lineage() const { return Json::parse(call_verb(add_lineage, {model, "--json"})); }
  int verify() const {
    try {
      call_verb(add_lineage, {model, "--verify"});
    } catch (const Exit& exit) {
      return exit.code;
    }
    return 0;
  }
  std::vector<int64_t> held_out() const {
    const CsvTable rows = read_csv(model + "/held_out.csv", {.header = CsvHeader::kYes});
    std::vector<int64_t> out;
    for (int64_t i = 0; i < rows.rows(); ++i) out.push_back(static_cast<int64_t>(*rows.number(i, 0)) - 1);
    return out;
  }
};

TEST_F(Lineage, FilesAreToldByTheirContent) {
  const std::string data = file("people.csv", people()), test = file("test.csv", people());
  train(data, {"--licence", "CC BY 4.0", "--origin", "https://example.org/people", "--seed", "3"});
  const Json said = lineage();
  const std::string sums = folder + "/sums";
  ASSERT_EQ(std::system(cat("sha256sum ", data, " > ", sums).c_str()), 0);
  EXPECT_EQ(said["data"]["sha256"], posix_env().read_file(sums).substr(0, 64));
  EXPECT_EQ(said["data"]["file"], data);
  EXPECT_EQ(said["data"]["bytes"], std::filesystem::file_size(data));
  EXPECT_EQ(said["data"]["rows"], 400);
  EXPECT_EQ(said["data"]["licence"], "CC BY 4.0");
  EXPECT_EQ(said["data"]["origin"], "https://example.org/people");
  EXPECT_EQ(said["split"],
            Json({{"kind", "random"}, {"seed", 3}, {"learn", 288}, {"stop", 32}, {"judge", 80}}));
  const std::string text = call_verb(add_lineage, {model});
  for (const char* part :
       {"people.csv, 400 rows", "licence CC BY 4.0", "288 training, 32 validation, 80 test"})
    EXPECT_NE(text.find(part), std::string::npos) << text;

  EXPECT_EQ(verify(), 0);
  file("people.csv", people() + "Male,170.0,no\n");
  EXPECT_EQ(verify(), 1);
  std::filesystem::remove(data);
  EXPECT_EQ(verify(), 3);

  train(file("people.csv", people()), {"--test", test});
  EXPECT_EQ(lineage()["test"]["sha256"], lineage()["data"]["sha256"]);
  EXPECT_EQ(lineage()["split"]["kind"], "test file");
  EXPECT_EQ(held_out(), std::vector<int64_t>());
}

TEST_F(Lineage, NamesTheSchemaOfTheRows) {
  const std::string data = file("people.csv", people());
  const std::string schema = file("schema.pbtxt",
                                  "feature { name: 'height' type: FLOAT float_domain { min: 9 } }\n"
                                  "default_environment: 'training'\n");
  train(data, {"--schema", schema, "--environment", "training"});
  const Json said = lineage()["schema"];
  EXPECT_EQ(said["file"], schema);
  EXPECT_EQ(said["bytes"], std::filesystem::file_size(schema));
  EXPECT_EQ(said["environment"], "training");
  EXPECT_EQ(said.count("rows"), 0u);
  EXPECT_NE(call_verb(add_lineage, {model}).find("schema    schema.pbtxt\n"), std::string::npos);
  EXPECT_EQ(verify(), 0);
  file("schema.pbtxt", "");
  EXPECT_EQ(verify(), 1);
}

TEST_F(Lineage, OfTheTrainingFileTheTestRowsAreEvaluated) {
  const std::string data = file("people.csv", people());
  train(data);
  std::string said;
  const Json scored = evaluated(data, {"--slice", "gender"}, &said);
  EXPECT_NE(said.find("only its 80 test rows are evaluated; --all-rows"), std::string::npos) << said;
  // Those rows in a file of their own.
  const Json alone = evaluated(file("alone.csv", people(held_out())), {"--slice", "gender"});
  for (const char* figure : {"rows", "accuracy", "log_loss", "auc", "slices", "gaps"})
    EXPECT_EQ(scored[figure], alone[figure]) << figure;
  EXPECT_EQ(scored["rows"], 80);
  EXPECT_EQ(scored["warnings"], Json::array());

  // A quantised one was trained on the same rows.
  const std::string quantised = folder + "/model8";
  call_verb(add_quantize, {model, "--calibrate", data, "--out", quantised});
  EXPECT_EQ(Json::parse(call_verb(add_evaluate, {quantised, data, "--json"}))["rows"], 80);
  EXPECT_EQ(Json::parse(call_verb(add_lineage, {quantised, "--json"}))["data"], lineage()["data"]);

  const Json all = evaluated(data, {"--all-rows"}, &said);
  EXPECT_EQ(all["rows"], 400);
  EXPECT_NE(said.find("warning: the model was trained on rows of "), std::string::npos) << said;
  // The same rows under another name are the same, and other rows under this name are others.
  EXPECT_EQ(evaluated(file("copy.csv", people()))["rows"], 80);
  const std::string others = people().replace(people().find(",no"), 3, ",yes");
  EXPECT_EQ(evaluated(file("people.csv", others))["rows"], 400);
}

// What gates on data lack, the model knows by name.
TEST_F(Lineage, TheTableThatTrainedIsNamedWhereGatesOnDataLackIt) {
  const std::string data = file("people.csv", people());
  train(data);
  const std::string gates = file("gates.toml", "[[gates]]\ndata = \"drift\"\nmax = 0\n"),
                    page = folder + "/page.html";
  const auto next = [&](const std::string& rows) {
    EXPECT_EQ(call_command(cat("check ", model, " ", rows, " --gates ", gates, " --html ", page)).code, 3);
    const std::string html = read_text(page);
    const size_t at = html.find(" --train ");
    return at == html.npos ? "" : html.substr(at + 9, html.find('<', at) - at - 9);
  };
  EXPECT_EQ(next(file("alone.csv", people(held_out()))), data);
  EXPECT_EQ(next(data), "train.csv") << "what is evaluated is not what trained";
}

// Files that grow are the usual ones.
TEST_F(Lineage, RowsThatCameLaterAreEvaluatedBesideTestRows) {
  const std::string data = file("people.csv", people());
  train(data);
  std::string said;
  const Json scored =
      evaluated(file("people.csv", people() + "Male,170.0,no\nFemale,160.0,yes\n"), {}, &said);
  EXPECT_EQ(scored["rows"], 82);
  EXPECT_NE(said.find("was trained on the first rows of "), std::string::npos) << said;
  EXPECT_NE(said.find("only its 80 test rows and 2 rows that came later are evaluated;"), std::string::npos)
      << said;
  EXPECT_EQ(evaluated(data, {"--all-rows"})["rows"], 402);
  // One whose last row goes on is another.
  const std::string cut = people().substr(0, people().size() - 1);
  train(file("people.csv", cut));
  EXPECT_EQ(evaluated(file("people.csv", cut + "\nMale,170.0,no\n"))["rows"], 81);
  EXPECT_EQ(evaluated(file("people.csv", cut + " \n"))["rows"], 400);
}

TEST_F(Lineage, OfAPipeNothingMoreIsKnown) {
  const std::string data = file("people.csv", people()), schema = folder + "/schema.pbtxt";
  call_verb(add_data, {"schema", data, "--out", schema});
  const std::string call = cat(" --label paid --epochs 1 --model ", model);
  const Outcome table = call_with_pipe(data, folder + "/rows",
                                       cat("train --schema ", schema, " --data ", folder, "/rows", call));
  EXPECT_EQ(table.code, 0) << table.error;
  EXPECT_EQ(lineage()["data"]["rows"], 400);
  EXPECT_FALSE(lineage()["data"].contains("sha256"));
  EXPECT_NE(call_verb(add_lineage, {model}).find("read from a stream: what it held is not known"),
            std::string::npos);
  const Outcome rules = call_with_pipe(schema, folder + "/rules",
                                       cat("train --data ", data, " --schema ", folder, "/rules", call));
  EXPECT_EQ(rules.code, 0) << rules.error;
  const std::string gates = folder + "/gates.toml", page = folder + "/page.html";
  call_verb(add_check, {model, data, "--init", "--all-rows", "--out", gates});
  const Outcome checked = call_with_pipe(
      data, folder + "/new.csv",
      cat("check --all-rows ", model, " ", folder, "/new.csv --gates ", gates, " --html ", page));
  EXPECT_NE(checked.code, 124) << checked.error;
  EXPECT_NE(posix_env().read_file(page).find("evaluated"), std::string::npos);
  file("other.csv", people());
  const Outcome held = call_with_pipe(schema, folder + "/held",
                                      cat("check --all-rows ", model, " ", data, " --train ", folder,
                                          "/other.csv --schema ", folder, "/held --gates ", gates));
  EXPECT_NE(held.code, 124) << held.error;
}

TEST_F(Lineage, ABrokenFolderIsRefused) {
  const std::string data = file("people.csv", people());
  train(data);
  drop_checksums(model);
  for (const char* rows : {"row\n-1\n", "row\nx\n", "row\n1e300\n", "row\n1.5\n"}) {
    write_file(model + "/held_out.csv", rows);
    EXPECT_EQ(rule_of([&] { evaluated(data); }), "model.lineage") << rows;
  }
  // Rows that the file does not have keep nothing apart.
  write_file(model + "/held_out.csv", "row\n9000\n");
  EXPECT_EQ(evaluated(data)["rows"], 400);
  Json history = Json::parse(posix_env().read_file(model + "/training.json"));
  const Json whole = history["lineage"];
  for (const Json& broken : {Json(3), Json::object(), Json({{"data", {{"file", 3}}}}),
                             Json({{"data", history["lineage"]["data"]}, {"split", {{"kind", "x"}}}})}) {
    history["lineage"] = broken;
    write_file(model + "/training.json", history.dump());
    EXPECT_EQ(rule_of([&] { lineage(); }), "model.lineage") << broken;
    if (broken.is_object()) continue;
    EXPECT_NE(call_command("lineage " + model).error.find("training.json: the lineage is no object"),
              std::string::npos);
  }
  for (const Json& count : {Json(-1), Json(1.5), Json(1e300), Json(uint64_t{1} << 60)}) {
    history["lineage"] = whole;
    history["lineage"]["split"]["judge"] = count;
    write_file(model + "/training.json", history.dump());
    EXPECT_EQ(rule_of([&] { lineage(); }), "model.lineage") << count;
    history["lineage"] = whole;
    history["lineage"]["data"]["rows"] = count;
    write_file(model + "/training.json", history.dump());
    EXPECT_EQ(rule_of([&] { lineage(); }), "model.lineage") << count;
  }
  history["data"] = 3;
  write_file(model + "/training.json", history.dump());
  EXPECT_NE(call_verb(add_info, {model}).find("trained"), std::string::npos);
  history.erase("lineage");
  write_file(model + "/training.json", history.dump());
  EXPECT_EQ(rule_of([&] { lineage(); }), "model.lineage");
  EXPECT_EQ(evaluated(data)["rows"], 400);
}

// Runs `train`, then what each command names next, as it stands there. REQUIRES: flags of `espalier train`.
void expect_page(const std::string& folder, const std::string& train) {
  const std::string program = std::filesystem::absolute(build_folder() + "/espalier").string();
  const std::string home = std::filesystem::absolute(folder).string();
  std::string line = cat(program, " train ", train, " --model model");
  for (int i = 0; i < 3; ++i) {
    const int status = std::system(cat("cd ", home, " && ", line, " > log 2> err < /dev/null").c_str());
    const int code = WEXITSTATUS(status);
    ASSERT_TRUE(code == 0 || (i == 2 && (code == 1 || code == 3)))
        << line << posix_env().read_file(home + "/err");
    const std::string text = "\n" + posix_env().read_file(home + "/log"), last = "\nnext: ";
    ASSERT_NE(text.rfind(last), text.npos) << text;
    line = text.substr(text.rfind(last) + last.size());
    ASSERT_EQ(line.find('\n') + 1, line.size()) << "the last line names the next command: " << text;
    line.pop_back();
  }
  EXPECT_TRUE(line.ends_with(" --verify report.html")) << line;
  ASSERT_TRUE(posix_env().exists(home + "/report.html"));
  EXPECT_NE(posix_env().read_file(home + "/report.html").find("Release check"), std::string::npos);
}

TEST_F(Lineage, SlowThreeLinesLeadFromSemicolonsAndDecimalCommasToThePage) {
  file("people.csv", people({}, ";", ","));
  expect_page(folder, "--data people.csv --label paid --epochs 3");
}

TEST_F(Lineage, SlowThreeLinesLeadFromTitanicToThePage) {
  const std::string data = std::filesystem::absolute(shared_data("tabular/titanic.csv")).string();
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "there is no " << data;
  expect_page(folder, cat("--data ", data, " --label survived"));
}

TEST_F(Lineage, SlowThreeLinesLeadFromAdultToThePage) {
  const std::string data = std::filesystem::absolute(shared_data("adult")).string();
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "there is no " << data;
  expect_page(folder, cat("--data ", data, "/adult-train.csv --test ", data,
                          "/adult-test.csv --label last --strip-label-dots --epochs 3"));
}

TEST_F(Lineage, AFileThatIsNotFoundFromHereIsSaidWhereItWasLookedFor) {
  const std::string data = std::filesystem::relative(file("people.csv", people())).string();
  train(data);
  std::filesystem::remove(data);
  const Outcome outcome = call_command(cat("lineage ", model, " --verify"));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.output.find(
                cat("today: not there: looked for ", std::filesystem::absolute(data).string(), "\n")),
            std::string::npos)
      << outcome.output;
}

}  // namespace
}  // namespace espalier::cli
