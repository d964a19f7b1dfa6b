// Workers as threads, and shards of uneven sizes.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "comm/local.h"
#include "espalier/espalier.h"

namespace espalier {

inline const std::vector<int64_t> kUneven = {13, 0, 22, 1, 9, 17, 5, 11};

// All workers as threads of this process; what each threw, empty where it did not.
inline std::vector<std::string> on_readers(int world, const std::function<void(const Strategy&)>& program) {
  const auto ranks = local_communicators(world);
  std::vector<std::string> errors(static_cast<size_t>(world));
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < errors.size(); ++i) {
    threads.emplace_back([&, i] {
      const RunContext context({.threads = 1, .communicator = ranks[i].get()});
      const RunScope scope(context);
      try {
        const strategy::MultiWorkerMirrored workers;
        program(workers);
      } catch (const std::exception& error) {
        errors[i] = error.what();
        ranks[i]->abort("the test told them");  // unless fit did
      }
    });
  }
  threads.clear();
  return errors;
}
inline void on_all_readers(int world, const std::function<void(const Strategy&)>& program) {
  for (const std::string& error : on_readers(world, program)) EXPECT_EQ(error, "");
}

}  // namespace espalier
