// Every op on a device: the cases of its test, as one program, by a real PJRT plugin. The oracle is the op's.
#include <algorithm>

#include "ir/builder.h"
#include "ops/op_checks_test.h"
#include "ops/registry.h"
#include "pjrt/client.h"
#include "pjrt/plugin_test.h"
#include "pjrt/program_text.h"

namespace espalier {
namespace {

struct DeviceCase {
  const OpCase* op_case;
  DType dtype;
  std::vector<Tensor> inputs;
  std::vector<Array> expected;
};

// XLA's own functions are within 4 units in the last place.
Tolerance on_device(Tolerance tolerance) {
  return {std::max(tolerance.ulp, 4.0), std::max(tolerance.absolute, 4.0)};
}

// Of the dtypes that it takes, f32 or else the first; all of them where that is asked for.
std::vector<DType> dtypes_on_device(const OpCase& c) {
  static const bool all = std::getenv("ESPALIER_TEST_DTYPES") != nullptr;
  std::vector<DType> taken;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (in_set(static_cast<DType>(i), c.dtypes)) taken.push_back(static_cast<DType>(i));
  }
  if (all) return taken;
  if (std::ranges::count(taken, DType::kF32)) return {DType::kF32};
  return {taken.begin(), taken.begin() + (taken.empty() ? 0 : 1)};
}

std::vector<DeviceCase> cases_on_device(const OpTest& test) {
  std::vector<DeviceCase> out;
  for (const OpCase& c : test.cases) {
    for (const DType dtype : dtypes_on_device(c)) {
      DeviceCase found{&c, dtype, draw_inputs(c, dtype, 1), {}};
      std::vector<Array> arrays;
      for (const Tensor& input : found.inputs) arrays.push_back(to_array(input));
      found.expected = c.oracle(arrays, dtype);
      out.push_back(std::move(found));
    }
  }
  return out;
}

// All cases side by side.
std::shared_ptr<const Graph> program_of(std::span<const DeviceCase> cases) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    for (const DeviceCase& c : cases) {
      std::vector<Tensor> arguments;
      for (const Tensor& input : c.inputs) arguments.push_back(builder.argument("x", input.type()));
      for (const Tensor& result : c.op_case->call(arguments, c.dtype)) builder.result("y", result);
    }
  }
  return builder.finish();
}

void expect_on_device(pjrt::Client& client, std::span<const DeviceCase> cases) {
  const auto program = client.compile(*program_of(cases));
  std::vector<RemoteArrayPtr> arguments;
  for (const DeviceCase& c : cases)
    for (const Tensor& input : c.inputs) arguments.push_back(client.upload(input.node()->literal()));
  const std::vector<RemoteArrayPtr> results = program->run(arguments, {});
  size_t next = 0;
  for (const DeviceCase& c : cases) {
    for (size_t i = 0; i < c.expected.size(); ++i) {
      ASSERT_LT(next, results.size());
      expect_close(make_concrete(results[next++]->download()), c.expected[i], on_device(c.op_case->tolerance),
                   cat("case ", c.op_case->name, ", ", c.dtype, ", result ", i));
    }
  }
  EXPECT_EQ(next, results.size());
}

// Whether it stands among those of docs/devices.md that XLA computes otherwise than StableHLO, and that are
// refused.
bool is_refused(const DeviceCase& c) {
  try {
    pjrt::program_text(*program_of({&c, 1}));
    return false;
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.rule(), "device.program") << error.what();
    return true;
  }
}

}  // namespace

void check_on_device(const OpDef& op, const OpTest& test) {
  ESPALIER_NEEDS_PLUGIN();
  const auto client = pjrt::Client::create(pjrt::Plugin::load(pjrt::test_plugin()), "plugin");
  std::vector<DeviceCase> cases = cases_on_device(test);
  const size_t refused = std::erase_if(cases, is_refused);
  EXPECT_TRUE(refused == 0 || &op == &op_scatter || &op == &op_reduce_window || &op == &op_all_to_all)
      << refused << " cases of " << op.name << " are refused";
  try {
    if (!cases.empty()) expect_on_device(*client, cases);
  } catch (const DeviceError& error) {
    // XLA's CPUs have no such exchange.
    EXPECT_TRUE(&op == &op_collective_broadcast && error.rule() == "device.unsupported") << error.what();
  }
}

}  // namespace espalier
