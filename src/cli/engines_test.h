// Workers over the engines between hosts, for tests: the hosts are processes of this machine.
#pragma once

#include <unistd.h>

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include "base/format.h"
#include "cli/launched_test.h"
#include "comm/wire_module.h"

namespace espalier::cli {

inline constexpr const char* kMpirun = "mpirun --allow-run-as-root --oversubscribe ";
inline bool has_mpirun() { return call_shell("command -v mpirun").code == 0; }

// Why one of the engines is not there; "" where all are.
inline std::string missing_engine(std::initializer_list<const char*> engines = {"gloo", "mpi"}) {
  for (const char* engine : engines) {
    if (std::string why; !has_wire(engine, &why)) return why;
  }
  return "";
}

// The variables by which torchrun tells a rank its place.
inline std::string torchrun_words(int rank, int world, int port) {
  return cat("RANK=", rank, " WORLD_SIZE=", world, " MASTER_ADDR=127.0.0.1 MASTER_PORT=", port);
}
// TF_CONFIG of one of two workers, which listen at `port` and the one behind it.
inline std::string tf_config_words(int rank, int port) {
  return cat("TF_CONFIG='{\"cluster\": {\"worker\": [\"127.0.0.1:", port, "\", \"127.0.0.1:", port + 1,
             "\"]}, \"task\": {\"type\": \"worker\", \"index\": ", rank, "}}'");
}

// So many processes at once, of words_of(rank) each. The status is 1 where one fails.
template <class F>
std::string together(int processes, F&& words_of) {
  std::string out = "status=0; ";
  for (int rank = 0; rank < processes; ++rank) out += cat("(", words_of(rank), ") & p", rank, "=$!; ");
  for (int rank = 0; rank < processes; ++rank) out += cat("wait $p", rank, " || status=1; ");
  return out + "exit $status";
}

// A plan that workers train, and what one device learns of it. Tests run beside each other.
class EnginesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = missing_engine(); !why.empty()) GTEST_SKIP() << why;
  }
  // Of this test alone, and the one behind it.
  static int free_port() {
    static int next = 12'000 + static_cast<int>(::getpid()) % 18'000;
    return next += 2;
  }
  std::string train() const { return worker_words(folder_, "--deterministic"); }

  const std::string folder_ =
      folder_to_launch(cat(testing::UnitTest::GetInstance()->current_test_info()->test_suite_name(), "-",
                           testing::UnitTest::GetInstance()->current_test_info()->name()));
  const std::string wanted_ = one_device_hash(folder_);
};

}  // namespace espalier::cli
