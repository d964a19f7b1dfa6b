// Collectives on grids of processes, by the cases of StableHLO's own interpreter: none of them is part of
// this tree.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "interp/interpreter.h"
#include "shared_data.h"
#include "text/text.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

// The generic form of the few pretty ops that the cases use.
std::string generic(std::string text) {
  text = std::regex_replace(text, std::regex(R"(//[^\n]*)"), "");
  text = std::regex_replace(text, std::regex(R"((stablehlo\.\w+) (%\w+), (%\w+) : (tensor<[^>]*>))"),
                            "\"$1\"($2, $3) : ($4, $4) -> $4");
  text = std::regex_replace(text, std::regex(R"(= (stablehlo\.\w+_id) : (tensor<[^>]*>))"),
                            "= \"$1\"() : () -> $2");
  text = std::regex_replace(text, std::regex(R"(\n\s*stablehlo\.return (%\w+) : (tensor<[^>]*>))"),
                            "\n\"stablehlo.return\"($1) : ($2) -> ()");
  return std::regex_replace(text, std::regex(R"(\n\s*(?:func\.)?return ([^:\n]*) : ([^\n]*))"),
                            "\n\"func.return\"($1) : ($2) -> ()");
}

Literal constant_of(const std::string& dense, const std::string& type) {
  return interpret(
      *parse_program(cat("func.func @main() -> ", type, " {\n%0 = \"stablehlo.constant\"() {value = ", dense,
                         " : ", type, "} : () -> ", type, "\n\"func.return\"(%0) : (", type, ") -> ()\n}\n")),
      {}, RunContext::current())[0];
}

std::vector<std::smatch> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return {std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()};
}

// Runs one module of a file of cases; how many results were compared.
size_t run_module(const std::string& module, const std::string& name) {
  const size_t main = module.find("func.func @main");
  const std::string function = generic(module.substr(0, main)) + "}\n", body = module.substr(main);
  const auto graph = parse_program(function);
  const auto again = parse_program(print_program(*graph));
  EXPECT_EQ(print_program(*again), print_program(*graph)) << name;

  std::map<std::string, Literal> values;
  for (const auto& m : matches(body, R"((%\w+) = stablehlo\.constant (dense<[^>]*>) : (tensor<[^>]*>))"))
    values[m[1]] = constant_of(m[2], m[3]);
  std::smatch call;
  if (!std::regex_search(body, call,
                         std::regex(R"(run_parallel"\(([^)]*)\)\s*\{\s*programs\s*=\s*\[([^}]*)\]\s*\})"))) {
    ADD_FAILURE() << name << " has no call";
    return 0;
  }
  const std::string operand_text = call[1], program_text = call[2];
  std::vector<Literal> operands;
  for (const auto& m : matches(operand_text, R"(%\w+)")) operands.push_back(values.at(m.str()));
  GridValues inputs;
  size_t next = 0;
  for (const auto& row : matches(program_text, R"(\[[^\]]*\])")) {
    inputs.emplace_back();
    const std::string row_text = row.str();
    for (size_t i = matches(row_text, R"(@\w+)").size(); i > 0; --i) {
      auto& process = inputs.back().emplace_back();
      for (size_t k = 0; k < graph->inputs().size(); ++k) process.push_back(operands.at(next++));
    }
  }
  EXPECT_EQ(next, operands.size()) << name;
  std::vector<Literal> results;
  for (const auto& replica : interpret_grid(*graph, inputs)) {
    for (const auto& process : replica) results.insert(results.end(), process.begin(), process.end());
  }
  const auto expected = matches(body, R"(expect_eq_const %\w+#(\d+), (dense<[^>]*>) : (tensor<[^>]*>))");
  for (const auto& m : expected) {
    EXPECT_TRUE(results.at(std::stoul(m[1])) == constant_of(m[2], m[3])) << name << ", result " << m[1];
  }
  return expected.size();
}

TEST(GridConformance, CasesOfStablehlo) {
  const fs::path folder = shared_data("../conformance/collectives");
  if (!fs::exists(folder))
    GTEST_SKIP() << "no " << folder << " (ESPALIER_DATA names the folder of data sets)";
  size_t modules = 0, compared = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::stringstream file;
    file << std::ifstream(entry.path()).rdbuf();
    const std::string text = file.str();
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find("// -----", at), text.size());
      const std::string module = text.substr(at, end - at);
      const size_t begin = module.find("\nmodule @");
      const std::string name =
          cat(entry.path().stem().string(), " ",
              begin == std::string::npos ? "?"
                                         : module.substr(begin + 9, module.find(' ', begin + 9) - begin - 9));
      compared += run_module(module, name);
      ++modules;
      at = end + 8;
    }
  }
  EXPECT_EQ(modules, 32u);
  EXPECT_EQ(compared, 97u);
}

}  // namespace
}  // namespace espalier
