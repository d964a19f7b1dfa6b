#include "pjrt/nvml.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace espalier::pjrt {
namespace {

std::string fake_library() {
  const char* const folder = std::getenv("ESPALIER_BUILD_DIR");
  return std::string(folder ? folder : "build/release") + "/fake_nvml.so";
}

std::vector<std::string> names_of(const std::vector<Gpu>& gpus) {
  std::vector<std::string> out;
  for (const Gpu& gpu : gpus) out.push_back(gpu.name);
  return out;
}

TEST(Nvml, ListsWhatTheLibrarySays) {
  const Gpus found = nvidia_gpus(fake_library());
  EXPECT_EQ(found.driver, "550.54.15");
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[1].name, "NVIDIA Test 1");
  EXPECT_EQ(found.gpus[1].uuid, "GPU-2abc");
  EXPECT_EQ(found.gpus[1].memory_bytes, int64_t{2} << 30);
  EXPECT_EQ(found.gpus[1].major, 9);
  EXPECT_EQ(found.gpus[1].minor, 0);
  EXPECT_EQ(found.gpus[0].name, "NVIDIA Test 0");
  EXPECT_EQ(found.gpus[0].uuid, "GPU-1abc");
  EXPECT_EQ(found.gpus[0].memory_bytes, int64_t{1} << 30);
}

TEST(Nvml, WithoutTheLibraryThereAreNone) {
  EXPECT_TRUE(nvidia_gpus("/no/such/libnvidia-ml.so").gpus.empty());
  EXPECT_TRUE(nvidia_gpus("libm.so.6").gpus.empty());
}

// CUDA's rules for CUDA_VISIBLE_DEVICES.
TEST(Nvml, TheEnvironmentChoosesAndOrders) {
  const std::vector<Gpu> all = {{.name = "a", .uuid = "GPU-1"}, {.name = "b", .uuid = "GPU-2"}};
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(visible_gpus(all, nullptr)), (Names{"a", "b"}));
  EXPECT_EQ(names_of(visible_gpus(all, "1,0")), (Names{"b", "a"}));
  EXPECT_EQ(names_of(visible_gpus(all, "GPU-2")), Names{"b"});
  EXPECT_EQ(names_of(visible_gpus(all, "0, 1")), (Names{"a", "b"}));
  EXPECT_EQ(names_of(visible_gpus(all, "0,7,1")), Names{"a"});
  EXPECT_EQ(names_of(visible_gpus(all, "1,2,0")), Names{"b"});
  EXPECT_EQ(names_of(visible_gpus(all, "1,0x,1")), Names{"b"});
  EXPECT_EQ(names_of(visible_gpus(all, "GPU-2,GPU-3,0")), Names{"b"});
  EXPECT_EQ(names_of(visible_gpus(all, "GPU-")), Names{"a"});
  EXPECT_EQ(names_of(visible_gpus(all, "-1")), Names{});
  EXPECT_EQ(names_of(visible_gpus(all, "")), Names{});
}

}  // namespace
}  // namespace espalier::pjrt
