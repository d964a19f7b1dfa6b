#include "launch/mpirun_words.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/shell_words.h"
#include "espalier/error.h"

namespace espalier {
namespace {

TEST(MpirunWords, TheAgentIsPassedOn) {
  const MpiFolders folders;
  LaunchOptions options{.ranks = 2, .program = {"true"}, .hosts = {{"a", 1}, {"b", 1}}};
  const auto words = [&] { return shell_words(mpirun_words(options, folders)); };
  try {
    words();
  } catch (const IoError& error) {
    GTEST_SKIP() << error.message();
  }
  // By itself Open MPI takes ssh.
  EXPECT_EQ(words().find("plm_rsh_agent"), std::string::npos) << words();
  options.agent = "/usr/bin/ssh -p 2222 {host}";
  EXPECT_NE(words().find(" --mca plm_rsh_agent '/usr/bin/ssh -p 2222' "), std::string::npos) << words();
  options.agent = "ip netns exec {host}";
  EXPECT_THROW(words(), ValueError);
  ::setenv("OMPI_MCA_plm_rsh_agent", "mine", 1);
  EXPECT_EQ(words().find("plm_rsh_agent"), std::string::npos) << words();
  ::unsetenv("OMPI_MCA_plm_rsh_agent");
}

TEST(MpirunWords, FilesOfOneHostLieInFoldersOfTheLaunch) {
  const MpiFolders folders;
  ASSERT_NE(folders.session.path(), "");
  ASSERT_NE(folders.memory.path(), "");
  LaunchOptions options{.ranks = 2, .program = {"true"}};
  const auto words = [&] { return shell_words(mpirun_words(options, folders)); };
  const std::string session = " --mca orte_tmpdir_base " + folders.session.path(),
                    memory = " --mca btl_vader_backing_directory " + folders.memory.path();
  try {
    words();
  } catch (const IoError& error) {
    GTEST_SKIP() << error.message();
  }
  EXPECT_NE(words().find(session), std::string::npos) << words();
  EXPECT_NE(words().find(memory), std::string::npos) << words();
  ::setenv("OMPI_MCA_orte_tmpdir_base", "/mine", 1);
  EXPECT_EQ(words().find("orte_tmpdir_base"), std::string::npos) << words();
  ::unsetenv("OMPI_MCA_orte_tmpdir_base");
  // Another host has no such folder.
  options.hosts = {{"a", 1}, {"b", 1}};
  EXPECT_EQ(words().find(memory), std::string::npos) << words();
}

}  // namespace
}  // namespace espalier
