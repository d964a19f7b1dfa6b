// Kernels of collectives among ranks, held against the interpreter's grid, which says what they mean.
#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/format.h"
#include "comm/local.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ops/collective.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

using Program = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

std::shared_ptr<Graph> graph_of(const Program& f, const std::vector<TensorType>& types) {
  GraphBuilder builder("main");
  const SinkScope scope(builder);
  std::vector<Tensor> inputs;
  for (const TensorType& type : types) inputs.push_back(builder.argument(cat("x", inputs.size()), type));
  for (const Tensor& result : f(inputs)) builder.result("y", result);
  return builder.finish();
}

// The same bytes from the plan, on threads that are ranks, as from the grid; twice, in the memory of the
// first run.
void expect_as_on_grid(const std::string& name, const Program& f, const std::vector<TensorType>& types,
                       int world) {
  SCOPED_TRACE(cat(name, " of ", types[0], " by ", world));
  const auto graph = graph_of(f, types);
  std::mt19937 random(static_cast<unsigned>(world));
  GridValues inputs(static_cast<size_t>(world));
  for (auto& replica : inputs) {
    auto& values = replica.emplace_back();
    for (const TensorType& type : types) {
      Buffer buffer = allocate_buffer(type.bytes());
      for (int64_t i = 0; i < type.elements(); ++i) {
        const double drawn = type.dtype == DType::kBool ? static_cast<double>(random() % 2)
                             : is_float(type.dtype)     ? std::normal_distribution<double>()(random)
                                                        : static_cast<double>(random() % 50);
        store_scalar(type.dtype, drawn, buffer.get() + static_cast<size_t>(i) * size_of(type.dtype));
      }
      values.emplace_back(type, buffer);
    }
  }
  const GridValues expected = interpret_grid(*graph, inputs);
  const auto plan = compile(graph);
  const auto ranks = local_communicators(world);
  std::vector<std::string> errors(static_cast<size_t>(world));
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const RunContext context({.threads = 1, .communicator = ranks[rank].get()});
      try {
        for (int round = 0; round < 2; ++round) {
          const std::vector<Literal> results = run(*plan, inputs[rank][0], context);
          const std::vector<Literal>& wanted = expected[rank][0];
          for (size_t i = 0; i < wanted.size(); ++i) {
            const Literal x = results.at(i).expanded(), y = wanted[i].expanded();
            if (x.type() != y.type() || std::memcmp(x.raw(), y.raw(), x.raw_bytes()) != 0)
              errors[rank] += cat("result ", i, " differs in round ", round, "; ");
          }
        }
      } catch (const std::exception& error) {
        errors[rank] = error.what();
        ranks[rank]->abort(errors[rank]);
      }
    });
  }
  threads.clear();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(CollectiveKernels, AreWhatTheGridSays) {
  for (const int world : {1, 2, 3, 5}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI32, DType::kU8}) {
      for (const Reducer reducer : {Reducer::kSum, Reducer::kProd, Reducer::kMax, Reducer::kMin}) {
        expect_as_on_grid(
            cat("all_reduce ", kReducerWords[static_cast<int>(reducer)]),
            [&](const auto& x) { return all_reduce(x, reducer); },
            {{dtype, {7, 3}}, {dtype, {}}, {dtype, {1000}}}, world);
      }
      expect_as_on_grid(
          "all_gather", [&](const auto& x) { return all_gather(x, 0, world); },
          {{dtype, {5, 2}}, {dtype, {3}}}, world);
      expect_as_on_grid(
          "all_gather along 1", [&](const auto& x) { return all_gather(x, 1, world); },
          {{dtype, {4, 3, 2}}, {dtype, {2, 1}}}, world);
      for (const int64_t axis : {0, 1}) {
        expect_as_on_grid(
            cat("reduce_scatter along ", axis),
            [&](const auto& x) { return std::vector<Tensor>{reduce_scatter(x[0], axis, world)}; },
            {{dtype, {world * 2, world * 3}}}, world);
      }
      expect_as_on_grid(
          "collective_broadcast", [](const auto& x) { return collective_broadcast(x); },
          {{dtype, {6, 2}}, {dtype, {}}}, world);
    }
    for (const Reducer reducer : {Reducer::kAnd, Reducer::kOr, Reducer::kXor}) {
      expect_as_on_grid(
          cat("all_reduce ", kReducerWords[static_cast<int>(reducer)]),
          [&](const auto& x) { return all_reduce(x, reducer); }, {{DType::kU32, {40}}}, world);
    }
    expect_as_on_grid(
        "all_reduce or", [](const auto& x) { return all_reduce(x, Reducer::kOr); }, {{DType::kBool, {9}}},
        world);
  }
}

// What a collective works on in place is still there for others: inputs, an operand that is read later, twice
// the same operand, results that go into another one, and empty ones.
TEST(CollectiveKernels, LeaveWhatOthersRead) {
  const TensorType row{DType::kF32, {33}};
  for (const int world : {2, 3}) {
    expect_as_on_grid(
        "operands read later",
        [](const std::vector<Tensor>& x) {
          const Tensor own = x[0] + x[1], sum = all_reduce({own, x[1], own})[0];
          return std::vector<Tensor>{sum * own, x[1] - sum};
        },
        {row, row}, world);
    expect_as_on_grid(
        "one behind another",
        [](const std::vector<Tensor>& x) {
          const auto first = all_reduce({x[0] * 2, x[1]});
          const auto second = all_reduce({first[1], first[0]}, Reducer::kMax);
          return std::vector<Tensor>{second[0] + first[0], second[1], first[1]};
        },
        {row, row}, world);
    expect_as_on_grid(
        "beside an empty one",
        [](const std::vector<Tensor>& x) {
          return all_reduce({x[0] + 1, x[1]});
        },
        {{DType::kF32, {5}}, {DType::kF32, {0, 4}}}, world);
  }
}

}  // namespace
}  // namespace espalier
