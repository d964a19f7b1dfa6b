#include "comm/shared_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "espalier/error.h"

namespace espalier {
namespace {

constexpr size_t kMiB = 1 << 20;

// The size that a file of this process may have, for a scope.
class FileLimit {
 public:
  explicit FileLimit(size_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

// The system ends a process that goes beyond the limit, by SIGXFSZ: what a file has already counts.
TEST(SharedMemory, AFileGrowsInStepsUpToTheLimitOfFiles) {
  const int descriptor = ::memfd_create("espalier-test", MFD_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  std::string said;
  {
    const FileLimit limit(4 * kMiB);
    reserve_file(descriptor, 0, 3 * kMiB, "rank 0 asks");
    reserve_file(descriptor, 3 * kMiB, kMiB, "rank 0 asks");
    try {
      reserve_file(descriptor, 4 * kMiB, 2 * kMiB, "rank 0 asks");
    } catch (const RunError& error) {
      EXPECT_EQ(error.rule(), "comm.memory");
      said = error.message();
    }
  }
  ::close(descriptor);
  EXPECT_NE(said.find("rank 0 asks"), std::string::npos) << said;
  EXPECT_NE(said.find("its file may have 4194304 bytes (ulimit -f), and has 4194304"), std::string::npos)
      << said;
}

}  // namespace
}  // namespace espalier
