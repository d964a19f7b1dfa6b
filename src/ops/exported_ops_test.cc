// Every op in the exports to C and to ONNX: the cases of its test, against its oracle.
#include <algorithm>
#include <set>

#include "format/onnx.h"
#include "ops/op_test.h"
#include "text/compiled_c_test.h"

namespace espalier {
namespace {

struct ExportedCase {
  std::string_view op;
  const OpCase* op_case;
  DType dtype;
  std::vector<Tensor> inputs;

  std::string text() const { return cat(op, ", case ", op_case->name, ", ", dtype); }
};

struct ExportRefusal {
  std::string_view op;
  bool partly = false;  // only some of its cases are refused
};

std::shared_ptr<const Graph> graph_of(std::span<const ExportedCase> cases) {
  GraphBuilder builder;
  SinkScope scope(builder);
  for (const ExportedCase& c : cases) {
    std::vector<Tensor> arguments;
    for (const Tensor& input : c.inputs) arguments.push_back(builder.argument("x", input.type()));
    for (const Tensor& result : c.op_case->call(arguments, c.dtype)) builder.result("y", result);
  }
  return builder.finish();
}

std::vector<Literal> values_of(std::span<const ExportedCase> cases) {
  std::vector<Literal> out;
  for (const ExportedCase& c : cases) {
    for (const Tensor& input : c.inputs) out.push_back(input.node()->dense());
  }
  return out;
}

// In f32, or the first dtype that a case takes.
std::vector<ExportedCase> all_cases(std::span<const std::unique_ptr<OpTest>> tests,
                                    std::span<const std::string_view> ops) {
  std::vector<ExportedCase> out;
  for (size_t op = 0; op < ops.size(); ++op) {
    for (const OpCase& c : tests[op]->cases) {
      DType dtype = DType::kF32;
      for (int i = 0; !in_set(dtype, c.dtypes) && i < kDTypeCount; ++i) dtype = static_cast<DType>(i);
      out.push_back({ops[op], &c, dtype, draw_inputs(c, dtype, 1)});
    }
  }
  return out;
}

// f32 stands for it in C: C.HalvesAreComputedInF32.
bool has_halves(const ExportedCase& c) {
  const auto graph = graph_of({&c, 1});
  for (ValueId value = 0; value < graph->value_count(); ++value) {
    if (is_float(graph->type(value).dtype) && size_of(graph->type(value).dtype) == 2) return true;
  }
  return false;
}

void expect_values(std::span<const ExportedCase> cases, const std::vector<Literal>& results) {
  size_t next = 0;
  for (const ExportedCase& c : cases) {
    std::vector<Array> arrays;
    for (const Tensor& input : c.inputs) arrays.push_back(to_array(input));
    const Tolerance given = c.op_case->tolerance;
    const Tolerance tolerance{std::max(given.ulp, 16.0), std::max(given.absolute, 16.0)};
    for (const Array& expected : c.op_case->oracle(arrays, c.dtype))
      expect_close(make_concrete(results.at(next++)), expected, tolerance, c.text());
  }
  EXPECT_EQ(next, results.size());
}

// Those that `exported` takes; the others are to be of the ops on the list.
template <class Export>
std::vector<ExportedCase> taken_cases(std::vector<ExportedCase> cases, std::span<const ExportRefusal> refused,
                                      Export exported) {
  std::set<std::string_view> taken, met;
  std::erase_if(cases, [&](const ExportedCase& c) {
    try {
      exported(*graph_of({&c, 1}));
      taken.insert(c.op);
      return false;
    } catch (const UnsupportedError& error) {
      if (!std::ranges::count(refused, c.op, &ExportRefusal::op))
        ADD_FAILURE() << "refused: " << c.text() << ": " << error.message();
      met.insert(c.op);
      return true;
    }
  });
  for (const ExportRefusal& each : refused) {
    EXPECT_TRUE(met.contains(each.op)) << "nothing is refused of " << each.op;
    EXPECT_EQ(taken.contains(each.op), each.partly) << each.op;
  }
  return cases;
}

class OpExports : public testing::Test {
 protected:
  OpExports() {
    for (const auto& [op, make] : op_tests()) {
      ops_.push_back(op);
      tests_.push_back(std::make_unique<OpTest>(make()));
    }
  }
  std::vector<ExportedCase> cases() const { return all_cases(tests_, ops_); }

 private:
  std::vector<std::unique_ptr<OpTest>> tests_;
  std::vector<std::string_view> ops_;
};

constexpr ExportRefusal kRefusedInC[] = {
    {"all_gather"},
    {"all_reduce"},
    {"all_to_all"},
    {"case"},
    {"cholesky"},
    {"collective_broadcast"},
    {"collective_permute"},
    {"conv_gradient_input", true},
    {"conv_gradient_kernel", true},
    {"convolution", true},
    {"dynamic_update_slice"},
    {"if"},
    {"partition_id"},
    {"reduce_scatter"},
    {"reduce_window", true},
    {"replica_id"},
    {"scan", true},
    {"scatter"},
    {"select_and_scatter"},
    {"sort"},
    {"top_k", true},
    {"triangular_solve"},
    {"while"},
};

TEST_F(OpExports, SlowCTakesEveryOpButThoseListed) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  std::vector<ExportedCase> all = cases();
  std::erase_if(all, has_halves);
  const auto taken = taken_cases(std::move(all), kRefusedInC, [](const Graph& graph) { print_c(graph); });
  constexpr size_t kAProgram = 40;
  for (size_t first = 0; first < taken.size(); first += kAProgram) {
    const std::span some(taken.data() + first, std::min(kAProgram, taken.size() - first));
    const auto graph = graph_of(some);
    expect_values(some, CompiledC(*graph, print_c(*graph))(values_of(some)));
  }
}

constexpr ExportRefusal kRefusedInOnnx[] = {
    {"all_gather"},
    {"all_reduce"},
    {"all_to_all"},
    {"bitcast_convert"},
    {"case"},
    {"cholesky"},
    {"collective_broadcast"},
    {"collective_permute"},
    {"conv_gradient_input", true},
    {"conv_gradient_kernel", true},
    {"convolution", true},
    {"count_leading_zeros"},
    {"dropout"},
    {"dynamic_slice"},
    {"dynamic_update_slice"},
    {"gather", true},
    {"if"},
    {"mulhi"},
    {"next_after"},
    {"pad", true},
    {"partition_id"},
    {"popcnt"},
    {"random_bits"},
    {"reduce_precision"},
    {"reduce_scatter"},
    {"reduce_window"},
    {"replica_id"},
    {"scan", true},
    {"scatter"},
    {"select_and_scatter"},
    {"shift_left"},
    {"shift_right_arithmetic"},
    {"shift_right_logical"},
    {"sort"},
    {"threefry2x32"},
    {"top_k"},
    {"triangular_solve"},
    {"while"},
};

TEST_F(OpExports, OnnxTakesEveryOpButThoseListed) {
  const auto taken = taken_cases(cases(), kRefusedInOnnx, [](const Graph& graph) { onnx_bytes(graph, {}); });
  for (const ExportedCase& c : taken) {
    const std::span one(&c, 1);
    try {
      const std::string bytes = onnx_bytes(*graph_of(one), {});
      expect_values(one, interpret(*parse_onnx(std::as_bytes(std::span(bytes))).graph, values_of(one),
                                   RunContext::current()));
    } catch (const Error& error) {
      ADD_FAILURE() << c.text() << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace espalier
