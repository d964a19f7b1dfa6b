#include <filesystem>
#include <regex>

#include <nlohmann/json.hpp>

#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "ir/builder.h"
#include "ops/dot_general.h"
#include "runtime/lowering.h"
#include "text/text.h"

namespace espalier::cli {
namespace {

std::shared_ptr<Graph> softmax_graph() {
  GraphBuilder builder("step");
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {2, 3}});
  const Tensor w = builder.input(InputKind::kVariable, "w", {DType::kF32, {3}});
  builder.result("p", softmax(x + w, -1));
  builder.output(OutputKind::kUpdate, "w", w * 2);
  return builder.finish();
}

TEST(GraphVerb, Summary) {
  const auto graph = softmax_graph();
  const std::string text = call_verb(add_graph, {"-"}, print_program(*graph));
  EXPECT_TRUE(text.starts_with(cat("step: ", graph->nodes().size(), " nodes\n"))) << text;
  for (const char* line :
       {"  input  x f32[2,3]\n", "  input  w f32[3]\n", "  output p f32[2,3]\n", "  output w f32[3]\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
}

TEST(GraphVerb, SummaryShowsOpsAndLeavesLongConstantsOut) {
  GraphBuilder builder("net");
  {
    SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {100}});
    std::vector<float> numbers(100);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) / 7;
    builder.result("p", x + Tensor::of<float>(numbers));
  }
  const std::string source = print_program(*builder.finish()), text = call_verb(add_graph, {"-"}, source);
  EXPECT_NE(text.find("stablehlo.add"), std::string::npos) << text;
  EXPECT_NE(text.find("dense<...> : tensor<100xf32>"), std::string::npos) << text;
  EXPECT_GT(source.size(), text.size() + 500);
}

TEST(GraphVerb, AfterAPass) {
  const std::string source = print_program(*softmax_graph());
  GraphBuilder builder("twice");
  std::string repeated;
  {
    SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {2}});
    builder.result("p", exponential(x) + exponential(x));
    exponential(x * 2);
    repeated = print_program(*builder.finish());
  }
  const auto after = [&](const char* name) {
    return nlohmann::json::parse(call_verb(add_graph, {"-", "--json", "--after", name}, repeated))["nodes"]
        .get<int>();
  };
  EXPECT_EQ(after("fold"), 6);  // two exponentials, their sum; a constant, a product and its exponential
  EXPECT_EQ(after("cse"), 5);
  EXPECT_EQ(after("dce"), 2);
  EXPECT_EQ(rule_of([&] { call_verb(add_graph, {"-", "--after", "trace"}, source); }), "graph.after");
}

TEST(GraphVerb, AfterALowering) {
  GraphBuilder builder("lowered");
  {
    SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {2}}),
                 q = builder.argument("q", {DType::kI8, {2, 2}});
    builder.result("d", digamma(x));
    builder.result("p", dot_general(q, q, {.lhs_contracting = {1}, .rhs_contracting = {0}}, DType::kI32));
  }
  const std::string source = print_program(*builder.finish());
  const auto has = [&](const char* name, const char* part) {
    return call_verb(add_graph, {"-", "--text", "--after", name}, source).find(part) != std::string::npos;
  };
  const char *composite = "espalier.digamma", *product = "(tensor<2x2xf32>, tensor<2x2xf32>)";
  EXPECT_TRUE(has("dce", composite));
  EXPECT_FALSE(has("decompose", composite));
  EXPECT_FALSE(has("decompose", product));
  EXPECT_FALSE(has("integer_products", composite));
  EXPECT_TRUE(has("integer_products", product));
}

TEST(GraphVerb, HelpNamesAllThatAProgramIsShownAfter) {
  CLI::App app;
  add_graph(app);
  const std::string help = app.get_subcommand("graph")->get_option("--after")->get_description();
  for (const std::string& name : passes_and_lowerings())
    EXPECT_NE(help.find(name), std::string::npos) << name << ": " << help;
}

// A plan's step of training, before it is run: nothing is written.
using GraphOfPlan = FolderTest;
TEST_F(GraphOfPlan, AfterEachRewrite) {
  std::string rows = "a,b,label\n";
  for (int i = 0; i < 40; ++i) rows += cat(i, ",", i % 7, ",", i % 3 ? "yes" : "no", "\n");
  file("t.csv", rows);
  const std::string plan = file("plan.toml",
                                "[data]\nfile = \"t.csv\"\nlabel = \"label\"\n"
                                "[fit]\nbatch_size = 8\n[model]\npath = \"m\"\n");
  const auto names = [&](const char* after, const char* list) {
    std::vector<std::string> out;
    const auto json = nlohmann::json::parse(call_verb(add_graph, {plan, "--json", "--after", after}));
    for (const auto& each : json[list]) out.push_back(each["name"].get<std::string>());
    return out;
  };
  // A second model of this process is sequential_1.
  const auto has = [](const std::vector<std::string>& all, const std::string& part) {
    return std::ranges::any_of(all, [&](const std::string& name) {
      return part == "kernel" ? name.starts_with("sequential") && name.ends_with("/kernel")
                              : name.starts_with(part);
    });
  };
  EXPECT_EQ(names("trace", "inputs")[0], "x");
  EXPECT_FALSE(has(names("trace", "inputs"), "seed"));
  EXPECT_TRUE(has(names("add_gradients", "inputs"), "seed"));
  EXPECT_TRUE(has(names("add_gradients", "outputs"), "gradient/sequential"));
  EXPECT_FALSE(has(names("add_gradients", "outputs"), "kernel"));
  EXPECT_TRUE(has(names("update", "outputs"), "kernel"));
  EXPECT_EQ(rule_of([&] { call_verb(add_graph, {plan, "--after", "graients"}); }), "function.after");
  EXPECT_NE(call_verb(add_graph, {plan}).find("  input  x f32[8,2]\n"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("m")));
}

// Between gradients and update: what all found of the rows comes first, then the sums of gradients.
TEST_F(GraphOfPlan, AfterTheStrategy) {
  std::string rows = "a,b,label\n";
  for (int i = 0; i < 40; ++i) rows += cat(i, ",", i % 7, ",", i % 3 ? "yes" : "no", "\n");
  file("t.csv", rows);
  const std::string text = "[data]\nfile = \"t.csv\"\nlabel = \"label\"\n[fit]\nbatch_size = 8\n";
  const std::string plan = file("plan.toml", text),
                    said = file("said.toml", text + "[distribute]\nstrategy = \"mirrored\"\ndevices = 4\n");
  const auto step = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--text", "--after", "strategy"});
    return call_verb(add_graph, words);
  };
  const auto count = [](const std::string& in, const std::string& part) {
    size_t out = 0;
    for (size_t at = in.find(part); at != in.npos; at = in.find(part, at + 1)) ++out;
    return out;
  };
  for (const auto& [words, first_rows, replicas] :
       {std::tuple{std::vector<std::string>{plan, "--strategy", "mirrored", "--devices", "2"}, 4, 2},
        {{said}, 2, 4},
        {{said, "--devices", "2"}, 4, 2}}) {
    const std::string found = step(words);
    EXPECT_NE(found.find(cat("tensor<", first_rows, "x2xf32>")), std::string::npos) << found;
    EXPECT_EQ(count(found, "\"stablehlo.all_gather\""), 1u) << found;
    EXPECT_EQ(count(found, "\"stablehlo.all_reduce\""), 1u) << found;
    // All words of the header, of all.
    std::smatch words_of;
    const std::regex gathered("all_gather.* : \\(tensor<(\\d+)xi32>\\) -> tensor<(\\d+)xi32>");
    ASSERT_TRUE(std::regex_search(found, words_of, gathered)) << found;
    EXPECT_EQ(std::stoi(words_of[2]), replicas * std::stoi(words_of[1]));
    EXPECT_LT(found.find("all_gather"), found.find("all_reduce"));
  }
  // A message for each of the two gradients.
  const std::string cut =
      file("cut.toml", text + "[distribute]\nstrategy = \"mirrored\"\ndevices = 2\nfirst_bucket = 1\n");
  EXPECT_EQ(count(step({cut}), "\"stablehlo.all_reduce\""), 2u);
  for (const std::vector<std::string>& words : {std::vector<std::string>{plan},
                                                {said, "--strategy", "one", "--devices", "0"},
                                                {said, "--devices", "1"}})
    EXPECT_EQ(rule_of([&] { step(words); }), "graph.strategy");
  EXPECT_EQ(rule_of([&] {
              call_verb(add_graph, {"-", "--devices", "2"}, print_program(*softmax_graph()));
            }),
            "graph.strategy");
}

TEST_F(GraphOfPlan, OfImages) {
  std::string rows;
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 16; ++k) rows += cat((i * 7 + k * 3) % 256, ",");
    rows += cat(i % 2, "\n");
  }
  file("digits.csv", rows);
  const std::string plan =
      file("plan.toml", "[data]\nfile = \"digits.csv\"\n[fit]\nbatch_size = 8\n[model]\npath = \"m\"\n");
  const std::string text = call_verb(add_graph, {plan, "--after", "add_gradients"});
  EXPECT_NE(text.find("  input  x f32[8,4,4]\n"), std::string::npos) << text.substr(0, 400);
  EXPECT_NE(text.find("  input  seed f32[]\n"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("m")));
}

TEST(GraphVerb, JsonSaysTheSame) {
  const auto graph = softmax_graph();
  const auto json = nlohmann::json::parse(call_verb(add_graph, {"-", "--json"}, print_program(*graph)));
  EXPECT_EQ(json["verb"], "graph");
  EXPECT_EQ(json["name"], "step");
  EXPECT_EQ(json["nodes"], graph->nodes().size());
  EXPECT_EQ(json["inputs"],
            nlohmann::json::parse(R"([{"name": "x", "type": "f32[2,3]"}, {"name": "w", "type": "f32[3]"}])"));
  EXPECT_EQ(json["outputs"],
            nlohmann::json::parse(R"([{"name": "p", "type": "f32[2,3]"}, {"name": "w", "type": "f32[3]"}])"));
}

TEST(GraphVerb, TextParsesBackWithAndWithoutComposites) {
  const auto graph = softmax_graph();
  const std::string source = print_program(*graph);
  const std::string file = write_file(fresh_folder("graph") + "/step.mlir", source);
  const std::string whole = call_verb(add_graph, {file, "--text"});
  EXPECT_EQ(whole, source);
  EXPECT_TRUE(*parse_program(whole) == *graph);
  EXPECT_NE(whole.find("espalier.softmax"), std::string::npos);
  const std::string inlined = call_verb(add_graph, {file, "--text", "--inline-composites"});
  EXPECT_EQ(inlined.find("stablehlo.composite"), std::string::npos) << inlined;
  EXPECT_NE(inlined.find("stablehlo.exponential"), std::string::npos) << inlined;
  EXPECT_GT(parse_program(inlined)->nodes().size(), graph->nodes().size());
}

TEST(GraphVerb, DotNamesInputsNodesAndOutputs) {
  const std::string text = call_verb(add_graph, {"-", "--dot"}, print_program(*softmax_graph()));
  EXPECT_TRUE(text.starts_with("digraph \"step\" {")) << text;
  for (const char* part :
       {"label=\"x\\nf32[2,3]\"", "label=\"softmax\\n{axis = 1}\\nf32[2,3]\"", "label=\"p\"", "n0 -> "})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(text.find("next: "), std::string::npos);
}

TEST(GraphVerb, ResultsGoToAFile) {
  const std::string folder = fresh_folder("graph_out"), source = print_program(*softmax_graph());
  EXPECT_EQ(call_verb(add_graph, {"-", "--text", "--out", folder + "/step.mlir"}, source), "");
  std::stringstream text;
  text << std::ifstream(folder + "/step.mlir").rdbuf();
  EXPECT_EQ(text.str(), source);
}

TEST(GraphVerb, RefusesWhatItCannotShow) {
  EXPECT_THROW(call_verb(add_graph, {"-", "--dot", "--text"}, ""), CLI::ExcludesError);
  EXPECT_THROW(call_verb(add_graph, {}), CLI::RequiredError);
  EXPECT_THROW(call_verb(add_graph, {"-"}, "module {"), FormatError);
  EXPECT_THROW(call_verb(add_graph, {"/nowhere/x.mlir"}), IoError);
  const std::string folder = fresh_folder("graph_refuses");
  const Outcome table = call_command("graph " + write_file(folder + "/table.csv", "age,income\n"));
  EXPECT_TRUE(
      table.error.starts_with("espalier: table.csv: expected a module or a function, found age at 1:1"))
      << table.error;
  const Outcome onnx = call_command("graph " + write_file(folder + "/k.onnx", "\x08\x07"));
  EXPECT_TRUE(
      onnx.error.starts_with("espalier: k.onnx: expected a module or a function, found ? at 1:1; ONNX is "
                             "imported ["))
      << onnx.error;
  EXPECT_NE(onnx.error.find(cat("import ", folder, "/k.onnx --out k\n")), std::string::npos) << onnx.error;
}

}  // namespace
}  // namespace espalier::cli
