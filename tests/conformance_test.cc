// Programs written by others (ESPALIER_CONFORMANCE names their archive): each returns what it computes and
// what it should have computed.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "interp/interpreter.h"
#include "ir/dispatch.h"
#include "passes/pass.h"
#include "runtime/executable.h"
#include "tests/shared_data.h"
#include "text/text.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

fs::path archive() {
  return environment("ESPALIER_CONFORMANCE", shared_data("../conformance/stablehlo-programs.tar.xz"));
}

// Unpacked once per build folder.
std::vector<fs::path> programs() {
  const fs::path folder = fs::path(environment("ESPALIER_BUILD_DIR", "build/release")) / "conformance";
  if (!fs::exists(folder / "done")) {
    fs::create_directories(folder);
    const std::string command = "tar -xJf '" + archive().string() + "' -C '" + folder.string() + "'";
    if (std::system(command.c_str()) != 0) return {};
    std::ofstream(folder / "done") << "\n";
  }
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".mlir") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string family(const fs::path& program) {
  const std::string stem = program.stem().string();
  return stem.substr(0, stem.find('_'));
}

// The bounds of the programs' README, by the lowest precision in the program's name.
struct Bound {
  double relative, floor;
};
Bound bound_of(const std::string& name) {
  if (name.find("bfloat16") != std::string::npos) return {2e-2, 1e-3};
  if (name.find("float16") != std::string::npos) return {2e-3, 1e-3};
  if (name.find("float64") != std::string::npos && name.find("float32") == std::string::npos)
    return {1e-12, 0};
  return {2e-5, 1e-3};
}

// "" when equal.
std::string compare(const Literal& actual, const Literal& expected, const Bound& bound) {
  if (actual.type() != expected.type()) return cat(actual.type(), " instead of ", expected.type());
  const Literal a = actual.expanded(), e = expected.expanded();
  return visit_dtype(a.type().dtype, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    const T *x = a.view().as<T>(), *y = e.view().as<T>();
    for (int64_t i = 0; i < a.type().elements(); ++i) {
      const auto u = static_cast<double>(x[i]), v = static_cast<double>(y[i]);
      bool same = x[i] == y[i];
      if constexpr (is_floating<T>) {
        same = same || (std::isnan(u) && std::isnan(v)) ||
               (std::isfinite(u) && std::isfinite(v) &&
                std::abs(u - v) <= bound.relative * std::max(std::abs(v), bound.floor));
      }
      if (!same) {
        std::ostringstream out;
        out.precision(17);
        out << "element " << i << " is " << u << " instead of " << v;
        return out.str();
      }
    }
    return "";
  });
}

// The executor runs what `espalier run` replays. Programs without inputs may be folded to constants there, so
// it runs them once more without the passes that compute or merge: every op by the kernel that a plan has.
enum class Machine : uint8_t { kInterpreter, kExecutor, kUnfoldedExecutor };

std::vector<Literal> outputs_of(const std::shared_ptr<const Graph>& graph, Machine machine) {
  if (machine == Machine::kInterpreter) return interpret(*graph, {}, RunContext::current());
  PassOptions options;
  if (machine == Machine::kUnfoldedExecutor) options.off = {"fold", "simplify", "cse"};
  return run(*compile(optimize(graph, options)), std::span<const Literal>(), RunContext::current());
}

std::string run(const fs::path& program, Machine machine) {
  try {
    std::ifstream file(program, std::ios::binary);
    std::stringstream source;
    source << file.rdbuf();
    const auto graph = parse_program(source.str(), program.filename().string());
    const std::vector<Literal> outputs = outputs_of(graph, machine);
    const size_t half = outputs.size() / 2;
    if (half == 0 || outputs.size() % 2) return "does not return pairs";
    for (size_t i = 0; i < half; ++i) {
      const std::string difference =
          compare(outputs[i], outputs[half + i], bound_of(program.stem().string()));
      if (!difference.empty()) return cat("output ", i, ": ", difference);
    }
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

// What failures have in common: the message without its numbers.
std::string reason(const std::string& message) {
  std::string out;
  for (const char c : message.substr(0, message.find(" at "))) {
    if (c < '0' || c > '9') out += c;
  }
  return message.starts_with("output ") ? "wrong value" : out.substr(0, 100);
}

// ESPALIER_FAMILIES="sort scatter" runs these alone and prints every failure (scripts/conformance).
void expect_conformance(Machine machine) {
  if (!fs::exists(archive()))
    GTEST_SKIP() << "needs " << archive() << ", the programs of openxla/stablehlo's testdata";
  const std::vector<fs::path> all = programs();
  ASSERT_FALSE(all.empty()) << "tar could not unpack " << archive();
  std::istringstream words(environment("ESPALIER_FAMILIES", ""));
  const std::vector<std::string> wanted{std::istream_iterator<std::string>(words), {}};
  struct Count {
    int passed = 0, total = 0;
  };
  std::map<std::string, Count> families;
  std::map<std::string, std::vector<std::string>> failures;
  Count sum;
  for (const fs::path& program : all) {
    const std::string stem = program.stem().string();
    const auto matches = [&](const std::string& w) {
      return family(program) == w || stem.starts_with(w + "_") || stem == w;
    };
    if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), matches)) continue;
    const std::string message = run(program, machine);
    Count& count = families[family(program)];
    ++count.total, ++sum.total;
    if (message.empty()) {
      ++count.passed, ++sum.passed;
    } else {
      failures[reason(message)].push_back(stem);
      if (!wanted.empty()) std::cout << stem << ": " << message << "\n";
    }
  }
  std::ostringstream table;
  for (const auto& [name, count] : families) {
    if (count.passed < count.total || !wanted.empty())
      table << "  " << name << " " << count.passed << "/" << count.total << "\n";
  }
  for (const auto& [why, who] : failures)
    table << "  " << who.size() << " x " << why << ", as in " << who[0] << "\n";
  table << "  all " << sum.passed << "/" << sum.total << "\n";
  std::cout << table.str();
  EXPECT_GT(sum.total, 0);
  if (wanted.empty()) {
    EXPECT_GE(sum.passed, 0.99 * sum.total) << table.str();
    for (const auto& [name, count] : families) EXPECT_GE(count.passed, 0.9 * count.total) << name;
  }
}

TEST(ConformanceSlow, ProgramsOfOthersByTheInterpreter) { expect_conformance(Machine::kInterpreter); }
TEST(ConformanceSlow, ProgramsOfOthersByTheExecutor) { expect_conformance(Machine::kExecutor); }
TEST(ConformanceSlow, ProgramsOfOthersByTheExecutorUnfolded) {
  expect_conformance(Machine::kUnfoldedExecutor);
}

}  // namespace
}  // namespace espalier
