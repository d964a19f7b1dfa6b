// Which plugins and devices names stand for; nothing is loaded.
#include "pjrt/find.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"

namespace espalier::pjrt {
namespace {

class FoundPlugins : public testing::Test {
 protected:
  // An empty file is a plugin as far as names go.
  std::string plugin(const std::string& name) const {
    std::ofstream(folder_ + "/" + name) << "";
    return folder_ + "/" + name;
  }
  // Of files, how often each is found.
  static int64_t times(const std::vector<Found>& all, const std::string& path) {
    return std::ranges::count_if(all, [&](const Found& one) {
      return std::filesystem::weakly_canonical(one.path) == std::filesystem::weakly_canonical(path);
    });
  }

  const std::string folder_ = fresh_folder("found-plugins");
};

TEST_F(FoundPlugins, AFileIsNamedOnceWhoeverNamesIt) {
  const std::string file = plugin("some_plugin.so"), other = plugin("other_plugin.so");
  std::filesystem::create_symlink(file, folder_ + "/link.so");
  EXPECT_EQ(times(find_plugins({file, file}), file), 1);
  EXPECT_EQ(times(find_plugins({file, folder_ + "/link.so"}), file), 1);
  ::setenv("ESPALIER_PJRT_PLUGINS", cat(file, ":", other).c_str(), 1);
  const std::vector<Found> all = find_plugins({file});
  ::unsetenv("ESPALIER_PJRT_PLUGINS");
  EXPECT_EQ(times(all, file), 1);
  EXPECT_EQ(times(all, other), 1);
  std::set<std::string> names;
  for (const Found& one : all) EXPECT_TRUE(names.insert(one.name).second) << one.name;
}

TEST_F(FoundPlugins, ADeviceHasAWholeNumber) {
  const std::string file = plugin("numbered_plugin.so");
  const std::string name = find_plugins({file})[0].name;
  EXPECT_EQ(find_device(name, {file}).number, 0u);
  EXPECT_EQ(find_device(name + ":2", {file}).number, 2u);
  EXPECT_EQ(find_device(name + ":2", {file}).plugin.path, file);
  for (const char* const wrong : {":", ":x", ":0x", ":1 ", ":-1", ":1.5"})
    EXPECT_EQ(rule_of([&] { find_device(name + wrong, {file}); }), "device.unknown") << wrong;
}

}  // namespace
}  // namespace espalier::pjrt
