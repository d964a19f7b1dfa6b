// `espalier cache`: what is kept, and removing it.
#include <unistd.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"
#include "pjrt/program_cache.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

struct CacheVerb : FolderTest {
  const std::string root = fs::absolute(path("cache")).string();

  Outcome call(const std::string& words, const std::string& variables = "") const {
    return call_shell(cat("ESPALIER_CACHE=", root, " ", variables, " ", build_folder(), "/espalier ", words));
  }
  // Kept as by a run, the small one last.
  void keep_two() const {
    fs::create_directory(root);
    fs::permissions(root, fs::perms::owner_all);
    const pjrt::ProgramCache cache(root + "/programs");
    ASSERT_TRUE(cache.put(key_of("large"), std::string(3 << 20, 'x'), 12.34));
    ASSERT_TRUE(cache.put(key_of("small"), "program", 0.5));
  }
  static pjrt::ProgramKey key_of(const char* program) {
    return {.text = cat("module @", program, " {"),
            .options = {},
            .flags = {},
            .plugin = {},
            .platform = "cpu",
            .device_kind = "a kind",
            .host = {}};
  }
};

TEST_F(CacheVerb, ListsWhatIsKept) {
  keep_two();
  const Outcome listed = call("cache");
  EXPECT_EQ(listed.code, 0);
  EXPECT_EQ(listed.error, "");
  std::vector<std::string> lines;
  std::istringstream text(listed.output);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  ASSERT_GE(lines.size(), 4u) << listed.output;
  size_t row = 0;
  while (row < lines.size() && !lines[row].starts_with(key_of("small").name().substr(0, 12))) ++row;
  ASSERT_LT(row + 1, lines.size()) << listed.output;
  EXPECT_NE(lines[row].find("  small    a kind  491 bytes  0.5 s        20"), std::string::npos)
      << listed.output;
  EXPECT_TRUE(lines[row + 1].starts_with(key_of("large").name().substr(0, 12) + "  large    a kind  3.0 MiB"))
      << listed.output;
  EXPECT_NE(listed.output.find("\n2 programs, 3.0 MiB of 1.0 GiB, which took 12.8 s to compile\n"),
            std::string::npos)
      << listed.output;
  EXPECT_NE(listed.output.find(cat("\nfolder    ", root, "/programs\n")), std::string::npos) << listed.output;
  EXPECT_EQ(lines.back(), cat("next: ", build_folder(), "/espalier devices"));
}

TEST_F(CacheVerb, ListsItAsJson) {
  keep_two();
  const Outcome listed = call("cache --json", "ESPALIER_CACHE_BYTES=5000000");
  ASSERT_EQ(listed.code, 0) << listed.error;
  const auto json = nlohmann::json::parse(listed.output);
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("verb"), "cache");
  EXPECT_EQ(json.at("folder"), root + "/programs");
  EXPECT_EQ(json.at("usable"), true);
  EXPECT_EQ(json.at("problem"), "");
  EXPECT_EQ(json.at("cap_bytes"), 5000000);
  EXPECT_EQ(json.at("bytes"), (3 << 20) + 7 + 2 * 484);
  const auto& small = json.at("programs").at(0);
  EXPECT_EQ(json.at("programs").size(), 2u);
  EXPECT_EQ(small.at("name"), key_of("small").name());
  EXPECT_EQ(small.at("program"), "small");
  EXPECT_EQ(small.at("device"), "a kind");
  EXPECT_EQ(small.at("bytes"), 491);
  EXPECT_EQ(small.at("compile_seconds"), 0.5);
  const std::string used = small.at("used");
  ASSERT_EQ(used.size(), 20u) << used;
  // As `date` says it of the file.
  const Outcome date =
      call_shell(cat("date -u -r ", root, "/programs/", key_of("small").name(), " +%Y-%m-%dT%H:%M:%SZ"));
  EXPECT_EQ(used + "\n", date.output);
}

TEST_F(CacheVerb, ClearRemovesAll) {
  keep_two();
  const Outcome cleared = call("cache clear");
  EXPECT_EQ(cleared.code, 0) << cleared.error;
  EXPECT_EQ(cleared.output, cat("removed 2 programs, 3.0 MiB, from ", root,
                                "/programs\nnext: ", build_folder(), "/espalier cache\n"));
  EXPECT_TRUE(posix_env().list_folder(root + "/programs").empty());
  const auto json = nlohmann::json::parse(call("cache clear --json").output);
  EXPECT_EQ(json.at("verb"), "cache clear");
  EXPECT_EQ(json.at("programs"), 0);
  EXPECT_EQ(json.at("bytes"), 0);
  const Outcome empty = call("cache");
  EXPECT_EQ(empty.code, 0);
  EXPECT_TRUE(empty.output.starts_with("0 programs, 0 bytes of 1.0 GiB")) << empty.output;
}

TEST_F(CacheVerb, SaysWhyItIsNotUsed) {
  keep_two();
  const auto expect_unused = [&](const std::string& why, const std::string& variables = "") {
    const Outcome listed = call("cache", variables), cleared = call("cache clear", variables);
    EXPECT_EQ(listed.code, 0);
    EXPECT_TRUE(listed.output.starts_with("compiled programs are not kept: " + why)) << listed.output;
    EXPECT_NE(listed.output.find("\nnext: "), std::string::npos);
    EXPECT_EQ(cleared.code, 2);
    EXPECT_EQ(cleared.output, "");
    EXPECT_NE(cleared.error.find("[cache.folder]"), std::string::npos) << cleared.error;
    EXPECT_NE(cleared.error.find(why), std::string::npos) << cleared.error;
    const auto json = nlohmann::json::parse(call("cache --json", variables).output);
    EXPECT_EQ(json.at("usable"), false);
    EXPECT_TRUE(json.at("problem").get<std::string>().starts_with(why)) << json;
    EXPECT_TRUE(json.at("programs").empty());
  };
  expect_unused("ESPALIER_CACHE turns it off", "ESPALIER_CACHE=off");
  expect_unused("ESPALIER_CACHE_BYTES must be a whole number from 0 on, and is much",
                "ESPALIER_CACHE_BYTES=much");
  fs::permissions(root + "/programs", fs::perms::group_write, fs::perm_options::add);
  expect_unused(root + "/programs is open to writers beside its owner (mode 0720)");
  EXPECT_EQ(posix_env().list_folder(root + "/programs").size(), 2u);
}

TEST_F(CacheVerb, SaysWhereItCannotKeepAny) {
  // Nobody, root neither, makes a folder there.
  const auto listed = [&](const std::string& flags) {
    return call_shell(cat("ESPALIER_CACHE=/proc/nowhere ", build_folder(), "/espalier cache", flags));
  };
  const Outcome text = listed("");
  EXPECT_EQ(text.code, 0) << text.error;
  const std::string why = "/proc/nowhere/programs cannot be made in /proc: ";
  EXPECT_TRUE(text.output.starts_with("compiled programs are not kept: " + why)) << text.output;
  EXPECT_EQ(text.output.find("0 programs"), std::string::npos) << text.output;
  const auto json = nlohmann::json::parse(listed(" --json").output);
  EXPECT_EQ(json.at("usable"), false);
  EXPECT_EQ(json.at("writable"), false);
  EXPECT_TRUE(json.at("problem").get<std::string>().starts_with(why)) << json;
  // One that is not there yet and can be made is none of them, and stays not there.
  EXPECT_TRUE(call("cache").output.starts_with("0 programs, 0 bytes of 1.0 GiB"));
  EXPECT_EQ(nlohmann::json::parse(call("cache --json").output).at("writable"), true);
  EXPECT_FALSE(fs::exists(root));
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(CacheVerb, ListsWhatAFolderHoldsThatTakesNoMore) {
  if (::geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  keep_two();
  const std::string programs = root + "/programs";
  fs::permissions(programs, fs::perms::owner_read | fs::perms::owner_exec);
  const Outcome full = call("cache");
  EXPECT_NE(full.output.find("\n2 programs, 3.0 MiB of 1.0 GiB"), std::string::npos) << full.output;
  EXPECT_NE(full.output.find(
                cat("\nno further programs are kept: ", programs, " cannot be written: Permission denied\n")),
            std::string::npos)
      << full.output;
  fs::permissions(programs, fs::perms::owner_read);
  const Outcome closed = call("cache");
  EXPECT_TRUE(closed.output.starts_with(
      cat("compiled programs are not kept: ", programs, " cannot be used: Permission denied")))
      << closed.output;
  fs::permissions(programs, fs::perms::owner_all);
}

TEST_F(CacheVerb, AnUnknownPartIsSaid) {
  const Outcome outcome = call("cache clea");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find("unknown verb cache clea: did you mean cache clear?"), std::string::npos)
      << outcome.error;
}

}  // namespace
}  // namespace espalier::cli
