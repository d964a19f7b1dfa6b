// Programs among ranks, held against the interpreter's grid, which says what they mean.
#pragma once

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "comm/local.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "runtime/executable.h"

namespace espalier {

using Program = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

inline std::shared_ptr<Graph> graph_of(const Program& f, const std::vector<TensorType>& types) {
  GraphBuilder builder("main");
  const SinkScope scope(builder);
  std::vector<Tensor> inputs;
  for (const TensorType& type : types) inputs.push_back(builder.argument(cat("x", inputs.size()), type));
  for (const Tensor& result : f(inputs)) builder.result("y", result);
  return builder.finish();
}

// The same bytes from the plan, on threads that are ranks, as from the grid; twice, in the memory of the
// first run.
inline void expect_as_on_grid(const std::string& name, const Program& f, const std::vector<TensorType>& types,
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
  const auto plan = compile(graph, {.check = true});
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

}  // namespace espalier
