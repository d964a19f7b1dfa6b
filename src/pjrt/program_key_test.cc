#include "pjrt/program_key.h"

#include <algorithm>

#include "pjrt/program_cache_test.h"

namespace espalier::pjrt {
namespace {

TEST(ProgramKeys, EachFieldMakesAnotherKey) {
  const ProgramKey key = key_of("step");
  std::vector<std::string> names = {key.name()};
  for (std::string ProgramKey::*field :
       {&ProgramKey::text, &ProgramKey::options, &ProgramKey::flags, &ProgramKey::plugin,
        &ProgramKey::platform, &ProgramKey::device_kind, &ProgramKey::host}) {
    ProgramKey other = key;
    other.*field += "1";
    names.push_back(other.name());
  }
  // The same text, cut elsewhere.
  ProgramKey moved = key;
  moved.plugin = "plug";
  moved.platform = "incpu 1";
  names.push_back(moved.name());
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(key_of("step").name(), key.name());
  EXPECT_EQ(key_of("\"a step\"").program(), "a step");
  EXPECT_EQ(ProgramKey{}.program(), "");
}

TEST(ProgramKeys, OfTheHostAreItsModelAndFlags) {
  const std::string cpu =
      "processor\t: 0\nmodel name\t: A CPU\ncpu MHz\t\t: 2000.1\nflags\t\t: fma avx2\n\nprocessor\t: 1\n";
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string other = cpu;
    return host_features_in(other.replace(other.find(old), old.size(), now));
  };
  EXPECT_EQ(with("2000.1", "3000.2"), host_features_in(cpu));
  EXPECT_EQ(with("processor\t: 1", "flags\t\t: fma"), host_features_in(cpu));
  EXPECT_NE(with("avx2", "avx512f"), host_features_in(cpu));
  EXPECT_NE(with("A CPU", "B CPU"), host_features_in(cpu));
  EXPECT_EQ(host_features().size(), 64u);
  EXPECT_EQ(host_features(), host_features());
}

TEST(ProgramKeys, OfACpuCountsWhatLasts) {
  // Fields of /proc/cpuinfo, of x86 and of Arm.
  const auto digest = [](const std::string& head, const char* value) {
    return host_features_in(cat("processor\t: 0\n", head, "\t: ", value, "\nlast\t: 1\n"));
  };
  for (const char* head : {"vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features",
                           "CPU part", "CPU implementer", "CPU architecture", "CPU variant", "CPU revision"})
    EXPECT_NE(digest(head, "1"), digest(head, "2")) << head;
  for (const char* head : {"cpu MHz", "bogomips", "cache size", "microcode", "apicid", "BogoMIPS"})
    EXPECT_EQ(digest(head, "1"), digest(head, "2")) << head;
  EXPECT_NE(host_features_in("model\t: 1"), host_features_in("model\t: 2")) << "without an end of line";
}

TEST(ProgramKeys, AProgramIsCalledByItsModule) {
  for (const auto& [text, name] : {std::pair{"module @step {\n}", "step"},
                                   {"module @step attributes {}", "step"},
                                   {"module @step\n{}", "step"},
                                   {"module @step{}", "step"},
                                   {"module @\"a step\" {}", "a step"},
                                   {"module {}", ""},
                                   {" module @step {}", ""}}) {
    ProgramKey key;
    key.text = text;
    EXPECT_EQ(key.program(), name) << text;
  }
}

TEST(ProgramKeys, FlagsAreThoseOfTheEnvironmentAndOfTheFilesItNames) {
  EnvironmentVariable xla("XLA_FLAGS", nullptr), tpu("LIBTPU_INIT_ARGS", nullptr);
  std::vector<std::string> seen = {compiler_flags()};
  EXPECT_EQ(seen[0], "");
  xla.set("--xla_a=1");
  seen.push_back(compiler_flags());
  xla.set("--xla_a=2");
  seen.push_back(compiler_flags());
  tpu.set("--xla_a=2");
  seen.push_back(compiler_flags());
  xla.set(nullptr);
  seen.push_back(compiler_flags());
  tpu.set(nullptr);
  const std::string file = fresh_folder("program-key-flags") + "/flags";
  xla.set(file.c_str());
  seen.push_back(compiler_flags());
  for (const char* text : {"--xla_a=1", "--xla_a=2"}) {
    write_bytes(file, text);
    seen.push_back(compiler_flags());
  }
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
  // Flags are flags behind blanks, too, and no file; one that is none counts by its name.
  tpu.set(nullptr);
  xla.set(" \t--xla_a=1");
  EXPECT_EQ(compiler_flags(), "XLA_FLAGS=11: \t--xla_a=1;");
  xla.set("");
  tpu.set("--b");
  EXPECT_EQ(compiler_flags(), "XLA_FLAGS=0:;LIBTPU_INIT_ARGS=3:--b;");
}

}  // namespace
}  // namespace espalier::pjrt
