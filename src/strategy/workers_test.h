// Workers of a run as threads of a test.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "comm/local.h"
#include "espalier/run_context.h"
#include "espalier/strategy.h"
#include "ir/device.h"

namespace espalier {

// Calls program(strategy) on each of `world` workers, with a thread of its pool each. Gives what each raised,
// "" where it did not. Others are told of it, unless fit did: by `told`, so that a test sees who told them,
// and without it by the error itself. `device_of` gives each rank's device; without it they are on the CPU.
inline std::vector<std::string> errors_of_workers(
    int world, const std::function<void(const Strategy&)>& program, const std::string& told = "",
    const std::function<std::shared_ptr<Device>(int)>& device_of = {},
    const strategy::MultiWorkerOptions& options = {}) {
  const auto ranks = local_communicators(world);
  std::vector<std::string> out(static_cast<size_t>(world));
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < out.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::shared_ptr<Device> device = device_of ? device_of(static_cast<int>(i)) : nullptr;
      const RunContext context({.threads = 1, .device = device.get(), .communicator = ranks[i].get()});
      const RunScope scope(context);
      try {
        program(strategy::MultiWorkerMirrored(options));
      } catch (const std::exception& error) {
        out[i] = error.what();
        ranks[i]->abort(told.empty() ? out[i] : told);
      }
    });
  }
  threads.clear();
  return out;
}
// None raises.
inline void on_each_worker(int world, const std::function<void(const Strategy&)>& program,
                           const strategy::MultiWorkerOptions& options = {}) {
  for (const std::string& error : errors_of_workers(world, program, "", {}, options)) EXPECT_EQ(error, "");
}

}  // namespace espalier
