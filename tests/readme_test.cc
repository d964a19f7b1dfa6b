#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace espalier {
namespace {

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Readme, ItsProgramIsTheCompiledExample) {
  const std::string page = read("README.md"), fence = "```cpp\n";
  const size_t begin = page.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const size_t code = begin + fence.size();
  EXPECT_EQ(page.substr(code, page.find("```", code) - code), read("examples/first.cc"));
}

}  // namespace
}  // namespace espalier
