// C files as the machine's compilers see them: compiled with every warning an error, loaded and called.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "interp/interpreter.h"
#include "ir/builder.h"
#include "text/c.h"

namespace espalier {

inline bool have_command(const std::string& name) {
  return std::system(("command -v " + name + " > /dev/null 2>&1").c_str()) == 0;
}

// What a shell command prints, and whether it succeeded.
inline std::pair<bool, std::string> shell(const std::string& command) {
  static int count = 0;
  const std::string out = cat(testing::TempDir(), "shell_", getpid(), "_", count++);
  const int status = std::system(cat("( ", command, " ) > ", out, " 2>&1").c_str());
  std::stringstream text;
  text << std::ifstream(out).rdbuf();
  std::filesystem::remove(out);
  return {status == 0, text.str()};
}

inline const char* const kCFlags = " -std=c99 -Wall -Wextra -Werror -pedantic -ffreestanding -Os ";

// A file of this text below the temporary folder, with a name of its own.
inline std::string c_file(const std::string& text) {
  static int count = 0;
  const std::string path = cat(testing::TempDir(), "c_", getpid(), "_", count++, ".c");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// Why `compiler` refuses the text; "" when it does not.
inline std::string refusal(const std::string& compiler, const std::string& text) {
  const std::string path = c_file(text);
  const auto [fine, output] = shell(cat(compiler, kCFlags, "-c -o /dev/null ", path));
  std::filesystem::remove(path);
  return fine ? "" : output;
}

// A loaded file; it may refer to no library.
class CompiledC {
 public:
  CompiledC(const Graph& graph, const CExport& code, const std::string& name = "model") : graph_(graph) {
    std::string arguments;
    size_t inputs = 0;
    for (const GraphInput& input : graph.inputs()) {
      if (input.kind != InputKind::kVariable)
        arguments += cat(inputs ? ", " : "", "in[", inputs, "]"), ++inputs;
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i)
      arguments += cat(arguments.empty() ? "" : ", ", "out[", i, "]");
    const std::string call =
        cat("int call(const void *const *in, void *const *out);\n",
            "int call(const void *const *in, void *const *out) {\n  (void)in;\n  return ", name, "_predict(",
            arguments, ");\n}\n");
    const std::string path = c_file(code.source + call), library = path + ".so";
    const auto [fine, output] =
        shell(cat("gcc", kCFlags, "-nostdlib -fPIC -shared -Wl,--no-undefined -o ", library, " ", path));
    EXPECT_TRUE(fine) << output << code.source.substr(0, 4000);
    if (!fine) return;
    library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    call_ = reinterpret_cast<Call>(dlsym(library_, "call"));
    std::filesystem::remove(path);
    std::filesystem::remove(library);
  }
  ~CompiledC() {
    if (library_) dlclose(library_);
  }
  CompiledC(const CompiledC&) = delete;
  CompiledC& operator=(const CompiledC&) = delete;

  // Results for the arguments in their order.
  std::vector<Literal> operator()(const std::vector<Literal>& arguments) const {
    std::vector<Literal> dense, results;
    std::vector<const void*> in;
    std::vector<void*> out;
    dense.reserve(arguments.size());
    for (const Literal& argument : arguments) {
      dense.push_back(argument.expanded());
      in.push_back(dense.back().raw());
    }
    for (const GraphOutput& output : graph_.outputs()) {
      const Buffer buffer = allocate_buffer(graph_.type(output.value).bytes());
      results.emplace_back(graph_.type(output.value), buffer);
      out.push_back(buffer.get());
    }
    EXPECT_TRUE(call_ && call_(in.data(), out.data()) == 0);
    return results;
  }

 private:
  using Call = int (*)(const void* const*, void* const*);
  const Graph& graph_;
  void* library_ = nullptr;
  Call call_ = nullptr;
};

// Every element of `got` is within `tolerance` of `wanted`, times its size where that is above 1.
inline void expect_near(const Literal& got, const Literal& wanted, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(got.type(), wanted.type()) << what;
  const Literal a = got.expanded(), b = wanted.expanded();
  const size_t size = size_of(got.type().dtype);
  for (size_t i = 0; i < static_cast<size_t>(got.type().elements()); ++i) {
    const double x = load_scalar(got.type().dtype, static_cast<const std::byte*>(a.raw()) + i * size);
    const double y = load_scalar(got.type().dtype, static_cast<const std::byte*>(b.raw()) + i * size);
    if (std::isnan(y) || std::isinf(y)) {
      ASSERT_TRUE(std::isnan(y) ? std::isnan(x) : x == y)
          << what << " element " << i << ": " << x << ", " << y;
    } else {
      ASSERT_NEAR(x, y, tolerance * std::max(1.0, std::fabs(y))) << what << " element " << i;
    }
  }
}

// Numbers in [-1, 1), or whole ones from 0 to 4 for other types than floats.
inline Literal random_literal(const TensorType& type, std::mt19937_64& random) {
  Buffer buffer = allocate_buffer(type.bytes());
  for (size_t i = 0; i < static_cast<size_t>(type.elements()); ++i) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    const double value = type.dtype == DType::kBool ? u < 0.5
                         : is_float(type.dtype)     ? 2 * u - 1
                                                    : std::floor(5 * u);
    store_scalar(type.dtype, value, buffer.get() + i * size_of(type.dtype));
  }
  return {type, buffer};
}

// Draws inputs, compares the C file of the graph with the interpreter.
inline void expect_same_in_c(const Graph& graph, uint64_t seed, double tolerance = 1e-5,
                             const std::string& what = "") {
  std::mt19937_64 random(seed);
  std::vector<Literal> inputs, arguments;
  std::map<std::string, Literal> variables;
  for (const GraphInput& input : graph.inputs()) {
    inputs.push_back(random_literal(graph.type(input.value), random));
    if (input.kind == InputKind::kVariable) {
      variables[input.name] = inputs.back();
    } else {
      arguments.push_back(inputs.back());
    }
  }
  const CExport code = print_c(graph, variables);
  const CompiledC compiled(graph, code);
  const std::vector<Literal> wanted = interpret(graph, inputs, RunContext::current()),
                             got = compiled(arguments);
  for (size_t i = 0; i < wanted.size(); ++i)
    expect_near(got[i], wanted[i], tolerance, cat(what, " result ", i));
  if (testing::Test::HasFailure()) ADD_FAILURE() << code.source.substr(code.source.find("_predict") - 10);
}

}  // namespace espalier
