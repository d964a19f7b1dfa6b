// What `make install` puts somewhere is all that a program elsewhere needs.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

struct Install : testing::Test {
  std::string build = build_folder();
  std::string folder =
      fs::absolute(fs::path(build) / "tests" / testing::UnitTest::GetInstance()->current_test_info()->name())
          .string();
  std::string prefix = folder + "/prefix";
  // Needs the libraries of others that the static one leaves to its users.
  std::string image = fs::absolute("tests/golden/images/rgb.png").string();

  void SetUp() override {
    if (!std::string(ESPALIER_CONFIG).starts_with("Rel")) GTEST_SKIP() << "only release builds are installed";
    fs::remove_all(folder);
    fs::create_directories(folder + "/project");
    ASSERT_EQ(shell(cat("cmake --install ", fs::absolute(build).string(), " --prefix ", prefix)), 0) << log();
    std::ofstream(folder + "/project/main.cc") << R"(#include <iostream>
#include <espalier/espalier.h>
int main(int, char** arguments) {
  espalier::LoadedModel model = espalier::load_model(arguments[1]);
  std::cout << model.predict(espalier::Tensor::of<float>({1, 2}, {1, 2})) << "\n"
            << espalier::load_image(arguments[2]).size(0) << " pixels\n";
})";
    std::ofstream(folder + "/project/CMakeLists.txt") << R"(cmake_minimum_required(VERSION 3.25)
project(elsewhere LANGUAGES CXX)
find_package(Espalier 0.1 REQUIRED)
add_executable(elsewhere main.cc)
target_link_libraries(elsewhere Espalier::espalier))";
    Sequential model{Dense({.units = 1, .use_bias = false, .kernel_initializer = "ones"})};
    model.predict(full({1, 2}, 1));
    model.save(folder + "/model");
  }
  int shell(const std::string& command) const {
    return std::system(cat("( ", command, " ) > ", folder, "/log 2>&1").c_str());
  }
  std::string log() const { return posix_env().read_file(folder + "/log"); }
};

TEST_F(Install, SlowFindPackage) {
  ASSERT_EQ(shell(cat("cd ", folder, "/project && cmake -S . -B build -DCMAKE_PREFIX_PATH=", prefix,
                      " && cmake --build build")),
            0)
      << log();
  ASSERT_EQ(shell(cat(folder, "/project/build/elsewhere ", folder, "/model ", image)), 0) << log();
  EXPECT_NE(log().find("3.0"), std::string::npos) << log();
  EXPECT_NE(log().find("13 pixels"), std::string::npos) << log();
}

TEST_F(Install, SlowWhatIsMissingIsNamed) {
  ASSERT_NE(shell(cat("cd ", folder, "/project && PKG_CONFIG_LIBDIR=", folder,
                      " cmake -S . -B build -DCMAKE_PREFIX_PATH=", prefix)),
            0)
      << log();
  EXPECT_NE(log().find("libturbojpeg0-dev"), std::string::npos) << log();
}

TEST_F(Install, SlowPkgConfig) {
  ASSERT_EQ(
      shell(cat("cd ", folder, "/project && export PKG_CONFIG_PATH=", prefix, "/lib/pkgconfig:", prefix,
                "/lib/x86_64-linux-gnu/pkgconfig && g++ $(pkg-config --cflags espalier) main.cc -o elsewhere "
                "$(pkg-config --libs espalier) && ./elsewhere ",
                folder, "/model ", image)),
      0)
      << log();
  EXPECT_NE(log().find("3.0"), std::string::npos) << log();
  EXPECT_NE(log().find("13 pixels"), std::string::npos) << log();
  ASSERT_EQ(shell(cat(prefix, "/bin/espalier --version")), 0) << log();
  // Where nothing but what was installed is there, and no network.
  ASSERT_EQ(shell(cat("cd ", folder, "/project && unshare -rn true 2> /dev/null && no=\"unshare -rn\"; $no ",
                      prefix, "/bin/espalier quickstart")),
            0)
      << log();
  EXPECT_NE(log().find(cat("training on the digits of ", prefix, "/share/espalier/digits.csv.gz")),
            std::string::npos)
      << log();
  EXPECT_NE(log().find("accuracy "), std::string::npos) << log();
}

// Inside of another project there is the library alone; its build is the one that is tested everywhere else.
TEST_F(Install, AddSubdirectory) {
  const std::string root = fs::current_path().string();
  std::ofstream(folder + "/project/CMakeLists.txt") << cat(R"(cmake_minimum_required(VERSION 3.25)
project(around LANGUAGES CXX)
add_subdirectory()",
                                                           root, R"( espalier)
add_executable(around main.cc)
target_link_libraries(around Espalier::espalier))");
  ASSERT_EQ(shell(cat("cd ", folder,
                      "/project && cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo && ",
                      "! ninja -C build -t targets all | grep -q test_")),
            0)
      << log();
  EXPECT_EQ(shell(cat("ninja -C ", folder, "/project/build -t query around")), 0) << log();
}

}  // namespace
}  // namespace espalier
