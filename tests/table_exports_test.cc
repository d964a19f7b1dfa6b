// Models of tables, from a CSV through the command to the programs that other runtimes take: each gives what
// our executor gives for the rows of a table that was not trained on. The runtimes of others are skipped by
// name, as in exports_test.cc.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/philox.h"
#include "base/scratch_test.h"
#include "cli/verb_test.h"
#include "espalier/array.h"
#include "espalier/columns.h"
#include "espalier/ops.h"
#include "espalier/saved_model.h"
#include "format/npy.h"
#include "format/onnx.h"
#include "ir/sink.h"
#include "tests/shared_data.h"
#include "text/compiled_c_test.h"
#include "text/text.h"

namespace espalier {
namespace {

using cli::call_verb;

constexpr double kTolerance = 1e-5;

// A trained model and rows that it has not seen.
struct TableModel {
  std::string folder;
  std::vector<std::string> train_arguments;
  std::string test_csv;
  std::string path = folder + "/model";

  LoadedModel model = trained();
  Tensor x = ColumnProgram::from_json(model.file("columns.json")).inputs(read_csv(test_csv));

  LoadedModel trained() const {
    std::vector<std::string> arguments = train_arguments;
    for (const std::string& word :
         {std::string("--model"), path, std::string("--epochs"), std::string("3"), std::string("--json")})
      arguments.push_back(word);
    call_verb(cli::add_train, arguments);
    return load_model(path);
  }
  // The same on 8-bit integers.
  TableModel quantized() const {
    call_verb(cli::add_quantize,
              {path, "--calibrate", test_csv, "--out", path + "-int8", "--strip-label-dots"});
    return {folder, {}, test_csv, path + "-int8", load_model(path + "-int8")};
  }
  std::string exported(const std::string& format, const std::string& file,
                       std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {path, "--to", format, "--out", folder + "/" + file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    call_verb(cli::add_export, arguments);
    return posix_env().read_file(folder + "/" + file);
  }
  // Rows [begin, begin + count), and what the executor makes of them.
  Literal rows(int64_t begin, int64_t count) const {
    return slice(x, {begin, 0}, {begin + count, x.size(1)}).node()->dense();
  }
  Literal outputs(int64_t begin, int64_t count) {
    return model.predict(make_concrete(rows(begin, count)), count).node()->dense();
  }
};

constexpr int64_t kTableExportsBatches[] = {1, 7, 64};

void expect_same_in_c(TableModel& table) {
  const auto graph = parse_program(table.exported("stablehlo", "row.mlir"));
  const CompiledC compiled(*graph, {.source = table.exported("c", "net.c", {"--name", "net"}), .header = {}},
                           "net");
  const Tensor wanted = table.model.predict(table.x);
  EXPECT_GT(stddev(wanted).item<float>(), 0.1f) << "the model says the same of all rows";
  for (int64_t row = 0; row < table.x.size(0) && !testing::Test::HasFailure(); ++row) {
    const Literal output = slice(wanted, {row, 0}, {row + 1, wanted.size(1)}).node()->dense();
    expect_near(compiled({table.rows(row, 1)})[0], output, kTolerance, cat("row ", row));
  }
}

void expect_same_read_back(TableModel& table) {
  const std::string onnx = table.exported("onnx", "net.onnx");
  for (const int64_t batch : kTableExportsBatches) {
    const Literal x = table.rows(0, batch), wanted = table.outputs(0, batch);
    const OnnxProgram program = parse_onnx(std::as_bytes(std::span(onnx)), {.sizes = {{"N", batch}}});
    std::vector<Literal> inputs;
    for (const GraphInput& input : program.graph->inputs())
      inputs.push_back(input.kind == InputKind::kVariable ? program.variables.at(input.name) : x);
    expect_near(interpret(*program.graph, inputs, RunContext::current())[0], wanted, kTolerance,
                cat("ONNX of ", batch, " rows"));
    const std::string module = table.exported("stablehlo", "net.mlir", {"--batch", std::to_string(batch)});
    expect_near(interpret(*parse_program(module), std::span(&x, 1), RunContext::current())[0], wanted,
                kTolerance, cat("StableHLO of ", batch, " rows"));
  }
}

void expect_same_in_onnxruntime(TableModel& table, const std::string& python) {
  const std::string folder = fresh_folder(std::filesystem::path(table.folder).filename().string() + "_ort");
  posix_env().write_file(folder + "/table.onnx", table.exported("onnx", "net.onnx"));
  for (const int64_t batch : kTableExportsBatches) {
    write_npy(cat(folder, "/table.", batch, ".in0.npy"), table.rows(0, batch));
    write_npy(cat(folder, "/table.", batch, ".out0.npy"), table.outputs(0, batch));
  }
  EXPECT_EQ(std::system(cat(python, " tests/peers/ort_runs.py ", folder).c_str()), 0);
}

void expect_same_in_jax(TableModel& table, const std::string& python) {
  const std::string folder = fresh_folder(std::filesystem::path(table.folder).filename().string() + "_jax");
  posix_env().write_file(folder + "/table.mlir", table.exported("stablehlo", "net.mlir", {"--batch", "64"}));
  write_npy(folder + "/table.in0.npy", table.rows(0, 64));
  write_npy(folder + "/table.out0.npy", table.outputs(0, 64));
  EXPECT_EQ(std::system(cat(python, " tests/peers/jax_runs.py ", folder).c_str()), 0);
}

// Numbers, some of them far out, categories, truth values, dates, and missing cells of each.
std::string people_csv(uint64_t seed, int rows) {
  Philox random(seed);
  const char *const jobs[] = {"clerk", "smith", "nurse", "?"}, *const truth[] = {"yes", "no", ""};
  std::string text = "age,savings,job,member,since,paid\n";
  for (int i = 0; i < rows; ++i) {
    const auto age = 18 + static_cast<int>(random.below(60)), job = static_cast<int>(random.below(4)),
               year = 1990 + static_cast<int>(random.below(30)),
               month = 1 + static_cast<int>(random.below(12));
    const bool paid = age + 10 * job + static_cast<int>(random.below(10)) > 60;
    text +=
        cat(random.below(10) ? std::to_string(age) : "", ",",
            static_cast<int>(std::exp(random.uniform() * 12)), ",", jobs[job], ",", truth[random.below(3)],
            ",", year, month < 10 ? "-0" : "-", month, "-15,", paid ? "yes" : "no", "\n");
  }
  return text;
}

TableModel people() {
  const std::string folder =
      fresh_folder(cat("table_", testing::UnitTest::GetInstance()->current_test_info()->name()));
  const std::string train = cli::write_file(folder + "/train.csv", people_csv(1, 400)),
                    test = cli::write_file(folder + "/test.csv", people_csv(2, 100));
  return {folder, {"--data", train, "--label", "paid", "--hidden", "16"}, test};
}

struct AdultExportsSlow : testing::Test {
  const std::string data = shared_data("adult/");
  void SetUp() override {
    if (!std::filesystem::exists(data + "adult-train.csv")) GTEST_SKIP() << "there is no " << data;
  }
  TableModel adult() const {
    return {fresh_folder(cat("adult_", testing::UnitTest::GetInstance()->current_test_info()->name())),
            {"--data", data + "adult-train.csv", "--label", "last"},
            data + "adult-test.csv"};
  }
};

TEST(TableExports, CGivesTheExecutorsValues) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  TableModel table = people();
  ASSERT_EQ(table.x.size(0), 100);
  expect_same_in_c(table);
  TableModel integers = table.quantized();
  expect_same_in_c(integers);
}

TEST(TableExports, OnnxAndStablehloReadBackGiveTheExecutorsValues) {
  TableModel table = people();
  expect_same_read_back(table);
}

TEST_F(AdultExportsSlow, CGivesTheExecutorsValues) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  TableModel table = adult();
  ASSERT_EQ(table.x.size(0), 16281);
  expect_same_in_c(table);
  TableModel integers = table.quantized();
  expect_same_in_c(integers);
}

TEST_F(AdultExportsSlow, OnnxAndStablehloReadBackGiveTheExecutorsValues) {
  TableModel table = adult();
  expect_same_read_back(table);
}

TEST_F(AdultExportsSlow, OnnxruntimeGivesTheExecutorsValues) {
  const std::string python = python_with("ESPALIER_ORT_PYTHON", "onnx, onnxruntime");
  if (python.empty()) GTEST_SKIP() << "no python3 with onnx and onnxruntime";
  TableModel table = adult();
  expect_same_in_onnxruntime(table, python);
}

TEST_F(AdultExportsSlow, JaxGivesTheExecutorsValues) {
  const std::string python = python_with("ESPALIER_JAX_PYTHON", "jax");
  if (python.empty()) GTEST_SKIP() << "no python3 with jax";
  TableModel table = adult();
  expect_same_in_jax(table, python);
}

}  // namespace
}  // namespace espalier
