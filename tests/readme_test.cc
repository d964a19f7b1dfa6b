#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/scratch_test.h"

namespace espalier {
namespace {

std::string read(const std::string& path) {
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

TEST(Readme, ItsOutputIsWhatTheExamplePrints) {
  const std::string out = fresh_folder("readme") + "/out";
  ASSERT_EQ(std::system(cat(build_folder(), "/example_first > ", out).c_str()), 0);
  std::string block = "It prints\n\n    ";
  for (const char c : read(out)) block += c == '\n' ? "\n    " : std::string(1, c);
  block.resize(block.size() - 4);
  EXPECT_NE(read("README.md").find(block + "\n"), std::string::npos) << block;
}

}  // namespace
}  // namespace espalier
