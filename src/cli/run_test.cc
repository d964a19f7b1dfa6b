#include <array>

#include <nlohmann/json.hpp>

#include "cli/verb_test.h"
#include "espalier/error.h"
#include "format/npy.h"

namespace espalier::cli {
namespace {

// (a + b, a < b)
constexpr const char* kProgram =
    R"(func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>) {
  %0 = "stablehlo.add"(%a, %b) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  "func.return"(%0, %1) : (tensor<3xf32>, tensor<3xi1>) -> ()
})";
constexpr const char* kConstant = R"(func.func @main() -> tensor<2xf64> {
  %0 = "stablehlo.constant"() {value = dense<[1.5, 0x7FF0000000000000]> : tensor<2xf64>} : () -> tensor<2xf64>
  "func.return"(%0) : (tensor<2xf64>) -> ()
})";

struct Files {
  explicit Files(const std::string& name) : folder(fresh_folder(name)) {
    program = write_file(folder + "/program.mlir", kProgram);
    a = folder + "/a.npy";
    b = folder + "/b.npy";
    write_npy(a, Literal::of<float>({1, 2, 3}));
    write_npy(b, Literal::of<float>({10, 2, -30}));
  }
  std::string folder, program, a, b;
};

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Run, ArraysFromFilesToFiles) {
  const Files files("run_files");
  for (const bool reference : {false, true}) {
    const std::string out = files.folder + (reference ? "/reference" : "/plan");
    std::vector<std::string> arguments{files.program, "--inputs", files.a, files.b, "--outputs", out};
    if (reference) arguments.emplace_back("--reference");
    EXPECT_TRUE(is_next(call_verb(add_run, arguments)));
    EXPECT_EQ(read_npy(out + "/out0.npy"), Literal::of<float>({11, 4, -27}));
    const bool less[] = {true, false, false};
    EXPECT_EQ(read_npy(out + "/out1.npy"), Literal::copy({DType::kBool, {3}}, less));
    EXPECT_FALSE(std::filesystem::exists(out + "/out2.npy"));
  }
}

TEST(Run, PrintsValues) {
  const Files files("run_prints");
  for (const char* flag : {"--threads=1", "--reference"}) {
    const std::string text = call_verb(add_run, {files.program, "--inputs", files.a, files.b, flag});
    EXPECT_TRUE(
        text.starts_with("out0 result0 f32[3]: 11 4 -27\nout1 result1 bool[3]: true false false\nnext: "))
        << text;
  }
  const auto json =
      nlohmann::json::parse(call_verb(add_run, {files.program, "--inputs", files.a, files.b, "--json"}));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["verb"], "run");
  ASSERT_EQ(json["outputs"].size(), 2u);
  EXPECT_EQ(json["outputs"][0]["type"], "f32[3]");
  EXPECT_EQ(json["outputs"][0]["values"], (std::vector<double>{11, 4, -27}));
  EXPECT_EQ(json["outputs"][1]["values"], (std::vector<bool>{true, false, false}));
}

TEST(Run, ReadsTheProgramFromStandardInput) {
  const std::string text = call_verb(add_run, {"-"}, kConstant);
  EXPECT_TRUE(text.starts_with("out0 result0 f64[2]: 1.5 inf\n")) << text;
  const auto json = nlohmann::json::parse(call_verb(add_run, {"-", "--json"}, kConstant));
  EXPECT_EQ(json["outputs"][0]["values"], (nlohmann::json{1.5, "inf"}));
}

TEST(Run, WritesResultsToAFile) {
  const std::string folder = fresh_folder("run_out"), file = folder + "/results.json";
  EXPECT_EQ(call_verb(add_run, {"-", "--json", "--out", file}, kConstant), "");
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(file))["verb"], "run");
}

TEST(Run, BF16IsReadFromAndWrittenAsFloat32) {
  const std::string folder = fresh_folder("run_bf16");
  write_npy(folder + "/x.npy", Literal::of<float>({1, 1.00390625f, -3.14159f}));
  const std::string program = R"(func.func @main(%x: tensor<3xbf16>) -> tensor<3xbf16> {
    "func.return"(%x) : (tensor<3xbf16>) -> ()
  })";
  call_verb(add_run, {"-", "--inputs", folder + "/x.npy", "--outputs", folder}, program);
  EXPECT_EQ(read_npy(folder + "/out0.npy"), Literal::of<float>({1, 1, -3.140625f}));  // ties go to even
}

// The interpreter sums a dot in double, where the small term survives between the large ones.
TEST(Run, TheReferenceIsTheInterpreter) {
  const std::string program = R"(func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<f32> {
    %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
    "func.return"(%0) : (tensor<f32>) -> ()
  })";
  const std::string folder = fresh_folder("run_reference");
  write_npy(folder + "/a.npy", Literal::of<float>({1e8f, 1, -1e8f}));
  write_npy(folder + "/b.npy", Literal::of<float>({1, 1, 1}));
  const std::vector<std::string> arguments{"-", "--inputs", folder + "/a.npy", folder + "/b.npy"};
  EXPECT_TRUE(call_verb(add_run, arguments, program).starts_with("out0 result0 f32[]: 0\n"));
  std::vector<std::string> by_reference = arguments;
  by_reference.emplace_back("--reference");
  EXPECT_TRUE(call_verb(add_run, by_reference, program).starts_with("out0 result0 f32[]: 1\n"));
}

TEST(Run, WrongInputsAreNamed) {
  const Files files("run_wrong");
  const std::string few = error_of([&] { call_verb(add_run, {files.program, "--inputs", files.a}); });
  EXPECT_NE(few.find("takes 2 inputs, got 1 file"), std::string::npos) << few;
  const std::string none = error_of([&] { call_verb(add_run, {files.program}); });
  EXPECT_NE(none.find("takes 2 inputs, got 0 files"), std::string::npos) << none;
  write_npy(files.b, Literal::of<float>({1, 2}));
  for (const char* flag : {"--threads=1", "--reference"}) {
    const std::string shape = error_of([&] {
      call_verb(add_run, {files.program, "--inputs", files.a, files.b, flag});
    });
    EXPECT_NE(shape.find("f32[3], got f32[2]"), std::string::npos) << shape;
  }
  const std::string absent = error_of([&] { call_verb(add_run, {files.folder + "/absent.mlir"}); });
  EXPECT_NE(absent.find("absent.mlir"), std::string::npos) << absent;
}

TEST(Run, WhatIsUnsupportedIsNamedWithItsLine) {
  std::string program = kProgram;
  program.replace(program.find("stablehlo.compare"), 17, "stablehlo.fft");
  const std::string error = error_of([&] { call_verb(add_run, {"-"}, program); });
  EXPECT_NE(error.find("unsupported op stablehlo.fft"), std::string::npos) << error;
  EXPECT_NE(error.find("3:8"), std::string::npos) << error;
}

TEST(Run, FlagsThatContradictAreRefused) {
  EXPECT_THROW(call_verb(add_run, {"-", "--outputs", "x", "--json"}, kConstant), CLI::ExcludesError);
  EXPECT_THROW(call_verb(add_run, {"-", "--outputs", "x", "--out", "y"}, kConstant), CLI::ExcludesError);
  EXPECT_THROW(call_verb(add_run, {}), CLI::RequiredError);
  EXPECT_THROW(call_verb(add_run, {"-", "--threads", "0"}, kConstant), Error);
}

TEST(Command, ExitCodesAndWhatStandsBesideThem) {
  const Files files("command_run");
  const Outcome good = call_command(cat("run ", files.program, " --inputs ", files.a, " ", files.b));
  EXPECT_EQ(good.code, 0) << good.error;
  EXPECT_EQ(good.error, "");
  EXPECT_TRUE(good.output.starts_with("out0 result0 f32[3]: 11 4 -27\n")) << good.output;
  const struct {
    std::string arguments, error;
  } wrong[] = {
      {cat("run ", files.program), "[run.inputs]\n"},
      {cat("run ", files.program, " --inptus x"), "unknown flag --inptus: did you mean --inputs"},
      {cat("rnu ", files.program), "unknown verb rnu: did you mean run"},
      {"data statistics t.csv", "unknown verb data statistics: did you mean data stats?"},
      {"data foo t.csv", "unknown verb data foo\n"},
      {"stats t.csv", "unknown verb stats: did you mean data stats?"},
      {"run", "program is required"},
      {"run", "\nUsage: espalier run [OPTIONS] program\n`espalier run --help` lists verbs and flags\n"},
      {"data split", "Usage: espalier data split [OPTIONS]"},
      {"export model", "\nUsage: espalier export --to FORMAT --out FILE [OPTIONS] model\n"},
      {"quantize", "\nUsage: espalier quantize --calibrate FILE|FOLDER --out FOLDER [OPTIONS] model\n"},
      {"data", "Usage: espalier data [OPTIONS] VERB\n`espalier data --help` lists verbs"},
      {"", "Usage: espalier"}};
  for (const auto& [arguments, error] : wrong) {
    const Outcome outcome = call_command(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.output, "") << arguments;
    EXPECT_NE(outcome.error.find(error), std::string::npos) << arguments << ": " << outcome.error;
  }
  const Outcome json = call_command(cat("run ", files.program, " --json"));
  EXPECT_EQ(json.code, 2);
  const auto body = nlohmann::json::parse(json.output);
  EXPECT_EQ(body["verb"], "run");
  EXPECT_EQ(body["error"]["rule"], "run.inputs");
  EXPECT_EQ(
      cat("espalier: ", body["error"]["message"].get<std::string>(), " [run.inputs]\n",
          body["error"]["fix"] == "" ? "" : cat("  fix: ", body["error"]["fix"].get<std::string>(), "\n")),
      json.error);
  for (const auto& [arguments, verb, rule, message] :
       {std::array{"data split none.csv --json", "data split", "file.read", "none.csv"},
        std::array{"data split --json", "data split", "cli.use", "file is required"},
        std::array{"run --jsno --json", "run", "cli.use", "unknown flag --jsno: did you mean --json?"}}) {
    const Outcome said = call_command(arguments);
    EXPECT_EQ(said.code, 2) << arguments;
    const auto all = nlohmann::json::parse(said.output);
    EXPECT_EQ(all["verb"], verb);
    EXPECT_EQ(all["error"]["rule"], rule) << said.output;
    EXPECT_NE(all["error"]["message"].get<std::string>().find(message), std::string::npos) << said.output;
  }
  EXPECT_EQ(call_command("--help").code, 0);
  EXPECT_NE(call_command("run --help").output.find("--reference"), std::string::npos);
}

}  // namespace
}  // namespace espalier::cli
