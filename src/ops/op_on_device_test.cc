// Every op on a device: the cases of its test, as one program, by a real PJRT plugin. The oracle is the op's.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "ir/builder.h"
#include "ops/op_checks_test.h"
#include "ops/registry.h"
#include "pjrt/open.h"
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

DeviceCase drawn_case(const OpCase& c, DType dtype) {
  DeviceCase out{&c, dtype, draw_inputs(c, dtype, 1), {}};
  std::vector<Array> arrays;
  for (const Tensor& input : out.inputs) arrays.push_back(to_array(input));
  out.expected = c.oracle(arrays, dtype);
  return out;
}

std::vector<DeviceCase> cases_on_device(const OpTest& test) {
  std::vector<DeviceCase> out;
  for (const OpCase& c : test.cases) {
    for (const DType dtype : dtypes_on_device(c)) {
      out.push_back(drawn_case(c, dtype));
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

void run_on_device(Device& device, const DeviceProgram& program, std::span<const DeviceCase> cases) {
  std::vector<RemoteArrayPtr> arguments;
  for (const DeviceCase& c : cases)
    for (const Tensor& input : c.inputs) arguments.push_back(device.upload(input.node()->literal()));
  const std::vector<RemoteArrayPtr> results = program.run(arguments, {}, RunContext::current());
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
  const auto client = pjrt::Client::create(pjrt::Plugin::load(pjrt::test_plugin()), "plugin", "xla-cpu");
  std::vector<DeviceCase> cases = cases_on_device(test);
  const size_t refused = std::erase_if(cases, is_refused);
  EXPECT_TRUE(refused == 0 || &op == &op_scatter || &op == &op_reduce_window || &op == &op_all_to_all)
      << refused << " cases of " << op.name << " are refused";
  try {
    if (!cases.empty()) {
      const pjrt::DevicePtr device = client->device(0);
      run_on_device(*device, *device->compile(*program_of(cases)), cases);
    }
  } catch (const DeviceError& error) {
    // XLA's CPUs have no such exchange.
    EXPECT_TRUE(&op == &op_collective_broadcast && error.rule() == "device.unsupported") << error.what();
  }
}

namespace {

// A program of some cases, of several ops.
struct CaseBatch {
  std::vector<DeviceCase> cases;
  std::vector<std::string> ops;  // of each case
  std::shared_ptr<const DeviceProgram> program;
  std::string problem;

  std::string text() const {
    std::string out;
    for (const std::string& op : ops)
      if (out.find(op) == out.npos) out += cat(out.empty() ? "" : ", ", op);
    return out;
  }
};

void compile_batch(Device& device, CaseBatch& batch) {
  try {
    batch.program = device.compile(*program_of(batch.cases));
  } catch (const Error& error) {
    batch.problem = error.message();
  }
}

}  // namespace

// Of a device whose compiler is slow: many cases a program, several compilations at a time, and as many as
// fit into ESPALIER_DEVICE_SECONDS (20). What is left out is counted. In f32 and bf16.
TEST(OnDeviceInBatches, SlowCasesOfAllOps) {
  ESPALIER_NEEDS_PLUGIN();
  constexpr size_t kCases = 20, kAtOnce = 8;
  const char* const given = std::getenv("ESPALIER_DEVICE_SECONDS");
  const double seconds = given ? std::atof(given) : 20;
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const pjrt::DevicePtr device = pjrt::open_device(pjrt::test_plugin());
  struct Wanted {
    std::string op;
    const OpCase* op_case;
    DType dtype;
  };
  std::vector<Wanted> wanted;
  std::vector<std::unique_ptr<OpTest>> tests;  // whose cases they are
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const auto& [op, make] : op_tests()) {
      if (op == op_collective_broadcast.name) continue;  // which XLA's CPUs do not have
      tests.push_back(std::make_unique<OpTest>(make()));
      for (const OpCase& c : tests.back()->cases)
        if (in_set(dtype, c.dtypes)) wanted.push_back({std::string(op), &c, dtype});
    }
  }
  size_t checked = 0, refused = 0, next = 0, not_compiled = 0;
  while (next < wanted.size() && passed() < seconds) {
    std::vector<CaseBatch> batches(kAtOnce);
    for (CaseBatch& batch : batches) {
      for (; next < wanted.size() && batch.cases.size() < kCases; ++next) {
        DeviceCase found = drawn_case(*wanted[next].op_case, wanted[next].dtype);
        if (is_refused(found)) {
          ++refused;
          continue;
        }
        batch.cases.push_back(std::move(found));
        batch.ops.push_back(wanted[next].op);
      }
    }
    std::vector<std::thread> compilers;
    for (CaseBatch& batch : batches)
      if (!batch.cases.empty()) compilers.emplace_back([&] { compile_batch(*device, batch); });
    for (std::thread& each : compilers) each.join();
    for (CaseBatch& batch : batches) {
      if (!batch.problem.empty()) {
        not_compiled += batch.cases.size();
        ADD_FAILURE() << "not compiled: " << batch.text() << ": " << batch.problem;
      }
      if (!batch.program) continue;
      run_on_device(*device, *batch.program, batch.cases);
      checked += batch.cases.size();
    }
  }
  std::printf("ops on %s: %zu cases checked, %zu refused by name, %zu not compiled, %zu left out for time\n",
              device->name().c_str(), checked, refused, not_compiled, wanted.size() - next);
  EXPECT_GT(checked, 0u);
}

}  // namespace espalier
