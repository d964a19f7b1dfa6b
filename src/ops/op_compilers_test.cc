// Every op through the compilers of an H100 and a TPU v5e, which are not there: the cases of its test,
// several a program. Values are held against oracles on devices that are (op_on_device_test.cc).
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>

#include "ir/builder.h"
#include "ops/op_test.h"
#include "pjrt/compiler_test.h"
#include "pjrt/program_text.h"

namespace espalier {
namespace {

constexpr unsigned only(std::initializer_list<DType> dtypes) {
  unsigned out = 0;
  for (const DType dtype : dtypes) out |= 1u << static_cast<unsigned>(dtype);
  return out;
}
constexpr unsigned k64Bits = only({DType::kI64, DType::kU64, DType::kF64}), kAtMost32Bits = ~k64Bits;
constexpr unsigned kNotI8 =
    only({DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16, DType::kU32, DType::kU64});

// What a compiler refuses. It is to be refused: what is taken meanwhile leaves the list, and docs/devices.md.
struct CompilerRefusal {
  std::string_view op, case_name;  // of the op's test; "": all
  unsigned dtypes;
  std::string_view says;  // among the compiler's words
};

constexpr std::string_view kNoIntegers = "Can't lower one or more integer convolutions";
constexpr CompilerRefusal kRefusedByH100[] = {
    {"conv_gradient_input", "feature groups, flipped", kNotI8, kNoIntegers},
    {"conv_gradient_input", "images", kNotI8, kNoIntegers},
    {"conv_gradient_kernel", "batch groups", kNotI8, kNoIntegers},
    {"convolution", "batch groups", kNotI8, kNoIntegers},
    {"convolution", "images", kNotI8, kNoIntegers},
    {"convolution", "no space", kNotI8, kNoIntegers},
    {"convolution", "odd axis order", kNotI8, kNoIntegers},
    {"convolution", "spread and cropped", kNotI8, kNoIntegers},
};
constexpr unsigned k64BitIntegers = only({DType::kI64, DType::kU64}), kF64 = only({DType::kF64});
constexpr std::string_view kMinorWindow = "in one of the two minor-most dimensions",
                           kNoClamp = "unimplemented case while compiling clamp",
                           kNo64Bits = "this rewriting is not implemented";
constexpr CompilerRefusal kRefusedByTpuV5e[] = {
    {"clamp", "full bounds", only({DType::kBool}), kNoClamp},
    {"clamp", "one scalar", only({DType::kBool}), kNoClamp},
    {"clamp", "scalar bounds", only({DType::kBool}), kNoClamp},
    {"clamp", "scalars", only({DType::kBool}), "clamp"},
    {"collective_broadcast", "", kAtMost32Bits, "collective-broadcast is not implemented"},
    {"collective_broadcast", "", k64Bits, kNo64Bits},
    {"conv_gradient_input", "images", k64BitIntegers, kNo64Bits},
    {"conv_gradient_kernel", "images", k64BitIntegers, kNo64Bits},
    {"convolution", "images", k64BitIntegers, kNo64Bits},
    {"dot_general", "matrices", k64BitIntegers, kNo64Bits},
    {"erf", "[2,3]", kF64, kNo64Bits},
    {"erfc", "[2,3]", kF64, kNo64Bits},
    {"gelu", "[2,3]", kF64, kNo64Bits},
    {"reduce_precision", "[2,3]", kF64, kNo64Bits},
    {"reduce_scatter", "one", kF64, "Supported lowering only of Sum"},
    {"select_and_scatter", "largest", kAtMost32Bits, kMinorWindow},
    {"select_and_scatter", "largest", k64Bits, kNo64Bits},
    {"select_and_scatter", "largest, rows of channels", kAtMost32Bits, kMinorWindow},
    {"select_and_scatter", "smallest", kAtMost32Bits, kMinorWindow},
};

struct CompiledCase {
  std::string_view op;
  const OpCase* op_case;
  DType dtype;
  const CompilerRefusal* listed = nullptr;
  std::string problem = {};

  std::string text() const { return cat(op, ", case ", op_case->name, ", ", dtype); }
};

std::shared_ptr<const Graph> graph_of(std::span<const CompiledCase> cases) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    for (const CompiledCase& c : cases) {
      std::vector<Tensor> arguments;
      for (const Tensor& input : draw_inputs(*c.op_case, c.dtype, 1))
        arguments.push_back(builder.argument("x", input.type()));
      for (const Tensor& result : c.op_case->call(arguments, c.dtype)) builder.result("y", result);
    }
  }
  return builder.finish();
}

// How many cases make a program, and whether only the first of an op is taken: a TPU has no arithmetic of 64
// bits, and its compiler spells it out, for minutes where it is done more than once.
struct CasesAtOnce {
  size_t a_program = 20;
  bool first_alone = false;
};
CasesAtOnce cases_at_once(const pjrt::TestCompiler& compiler, DType dtype) {
  return !*compiler.described && (only({dtype}) & k64Bits) ? CasesAtOnce{1, true} : CasesAtOnce{};
}

// Cases in one dtype; without one, in f32 or else the first that they take.
std::vector<CompiledCase> cases_in(std::span<const std::unique_ptr<OpTest>> tests,
                                   std::span<const std::string_view> ops, std::optional<DType> wanted,
                                   bool first_alone, std::span<const CompilerRefusal> refused) {
  std::vector<CompiledCase> out;
  for (size_t op = 0; op < ops.size(); ++op) {
    for (const OpCase& c : tests[op]->cases) {
      DType dtype = wanted.value_or(DType::kF32);
      for (int i = 0; !wanted && !in_set(dtype, c.dtypes) && i < kDTypeCount; ++i)
        if (in_set(static_cast<DType>(i), c.dtypes)) dtype = static_cast<DType>(i);
      if (!in_set(dtype, c.dtypes)) continue;
      out.push_back({ops[op], &c, dtype});
      for (const CompilerRefusal& each : refused)
        if (each.op == ops[op] && (each.dtypes & only({dtype})) &&
            (each.case_name.empty() || each.case_name == c.name))
          out.back().listed = &each;
      if (first_alone) break;
    }
  }
  return out;
}

// Cases that are compiled as one program, and what the compiler says against it.
struct CompiledBatch {
  std::vector<CompiledCase> cases;
  std::string problem = {};
  double seconds = 0;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string problem_of(const pjrt::Compiler& compiler, std::span<const CompiledCase> cases) {
  try {
    compiler.compile(*graph_of(cases));
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

// Of several cases that are refused together it is asked of each alone.
void compile_batch_of_cases(const pjrt::Compiler& compiler, CompiledBatch& batch) {
  const auto begin = std::chrono::steady_clock::now();
  batch.problem = problem_of(compiler, batch.cases);
  batch.seconds = seconds_since(begin);
  if (batch.problem.empty()) return;
  if (batch.cases.size() == 1) {
    batch.cases[0].problem = batch.problem;
  } else {
    for (CompiledCase& c : batch.cases) c.problem = problem_of(compiler, {&c, 1});
  }
}

// By our own printer, for meanings that XLA does not have (docs/devices.md).
bool is_not_printed(const CompiledCase& c) {
  try {
    pjrt::program_text(*graph_of({&c, 1}));
    return false;
  } catch (const UnsupportedError&) {
    return true;
  }
}

// What is refused by list stands alone.
std::vector<CompiledBatch> batches_of(std::vector<CompiledCase> cases, size_t a_program) {
  std::vector<CompiledBatch> out;
  size_t open = 0;  // one more than the place of the batch that is being filled
  for (CompiledCase& c : cases) {
    if (c.listed) {
      out.push_back({{std::move(c)}});
      continue;
    }
    if (open == 0 || out[open - 1].cases.size() == a_program) {
      out.emplace_back();
      open = out.size();
    }
    out[open - 1].cases.push_back(std::move(c));
  }
  return out;
}

void expect_as_listed(const CompiledBatch& batch) {
  bool found = batch.problem.empty();
  for (const CompiledCase& c : batch.cases) {
    found |= !c.problem.empty();
    if (!c.listed) {
      EXPECT_EQ(c.problem, "") << "refused: " << c.text();
    } else if (c.problem.empty()) {
      ADD_FAILURE() << "taken, though it stands among what is refused: " << c.text();
    } else {
      EXPECT_NE(c.problem.find(c.listed->says), std::string::npos) << c.text() << ": " << c.problem;
    }
  }
  EXPECT_TRUE(found) << "each is taken alone, together they are refused, from " << batch.cases.front().text()
                     << " on: " << batch.problem;
}

void compile_cases(const pjrt::TestCompiler& wanted, const pjrt::Compiler& compiler,
                   std::vector<CompiledCase> cases, size_t a_program, const std::string& dtype) {
  const auto begin = std::chrono::steady_clock::now();
  const size_t not_printed = std::erase_if(cases, is_not_printed), count = cases.size();
  std::vector<CompiledBatch> batches = batches_of(std::move(cases), a_program);
  pjrt::on_all_cores(batches.size(), [&](size_t i) { compile_batch_of_cases(compiler, batches[i]); });
  size_t against = 0;
  const CompiledBatch* slowest = &batches.front();
  for (const CompiledBatch& batch : batches) {
    expect_as_listed(batch);
    if (batch.seconds > slowest->seconds) slowest = &batch;
    for (const CompiledCase& c : batch.cases) against += !c.problem.empty();
  }
  std::printf(
      "ops for %s, %s: %zu cases in %zu programs, %zu refused, %zu not printed, %.0f s, the slowest %.1f s: "
      "%s\n",
      wanted.name, dtype.c_str(), count, batches.size(), against, not_printed, seconds_since(begin),
      slowest->seconds, slowest->cases.front().text().c_str());
  std::fflush(stdout);
}

// In f32 or the first dtype of each case; in all where ESPALIER_TEST_DTYPES is "all", or in the one it names.
void compile_all_ops(const pjrt::TestCompiler& wanted, std::span<const CompilerRefusal> refused) {
  const pjrt::Compiler compiler = wanted.open();
  std::vector<std::unique_ptr<OpTest>> tests;  // whose cases they are
  std::vector<std::string_view> ops;
  for (const auto& [op, make] : op_tests()) {
    ops.push_back(op);
    tests.push_back(std::make_unique<OpTest>(make()));
  }
  const char* const given = std::getenv("ESPALIER_TEST_DTYPES");
  if (!given) return compile_cases(wanted, compiler, cases_in(tests, ops, {}, false, refused), 20, "f32");
  size_t tried = 0;
  std::set<const CompilerRefusal*> met;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (given != std::string_view("all") && cat(dtype) != given) continue;
    ++tried;
    const auto [a_program, first_alone] = cases_at_once(wanted, dtype);
    std::vector<CompiledCase> cases = cases_in(tests, ops, dtype, first_alone, refused);
    for (const CompiledCase& c : cases) met.insert(c.listed);
    compile_cases(wanted, compiler, std::move(cases), a_program, cat(dtype));
  }
  if (given == std::string_view("all")) {
    for (const CompilerRefusal& each : refused)
      EXPECT_TRUE(met.contains(&each)) << "there is no case " << each.op << ", " << each.case_name;
  }
  EXPECT_GT(tried, 0u) << "ESPALIER_TEST_DTYPES is \"all\" or a dtype";
}

TEST(OpCompilers, SlowTheH100sTakesEveryOpButThoseListed) {
  ESPALIER_NEEDS_COMPILER(pjrt::kH100);
  compile_all_ops(pjrt::kH100, kRefusedByH100);
}

TEST(OpCompilers, SlowTheTpuV5esTakesEveryOpButThoseListed) {
  ESPALIER_NEEDS_COMPILER(pjrt::kTpuV5e);
  compile_all_ops(pjrt::kTpuV5e, kRefusedByTpuV5e);
}

}  // namespace
}  // namespace espalier
