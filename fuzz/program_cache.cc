// Mutated files of the cache of compiled programs: not there, or the program that was put, whole.
#include "pjrt/program_cache.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/format.h"
#include "base/sha256.h"
#include "espalier/error.h"
#include "fuzz/mutate.h"

using namespace espalier;
using namespace espalier::pjrt;

namespace {

const std::string kSmall = "a compiled program", kLarge(3000, 'x');

ProgramKey key_named(const char* program) {
  return {.text = cat("module @", program, " {"),
          .options = {},
          .flags = {},
          .plugin = {},
          .platform = "cpu",
          .device_kind = {},
          .host = {}};
}

const ProgramCache& cache() {
  static const ProgramCache out(
      (std::filesystem::temp_directory_path() / cat("fuzz-program-cache-", static_cast<int64_t>(::getpid())))
          .string());
  return out;
}

std::string file_of(const ProgramKey& key) { return cat(cache().folder(), "/", key.name()); }

// As a file of either program.
bool accept(const std::string& bytes) {
  bool accepted = false;
  for (const auto& [key, program] :
       {std::pair(key_named("small"), &kSmall), std::pair(key_named("large"), &kLarge)}) {
    const std::string path = file_of(key);
    if (!cache().put(key, *program, 1)) throw InternalError("the cache cannot be written");
    std::ofstream(path, std::ios::binary) << bytes;
    cache().entries();
    const std::optional<std::string> found = cache().find(key);
    if (found && *found != *program) throw InternalError("another program than was put");
    if (found.has_value() != std::filesystem::exists(path)) throw InternalError("a damaged file stays");
    accepted |= found.has_value();
  }
  // Labels are read by `espalier cache` alone.
  if (const auto head = read_head(std::string_view(bytes).substr(0, StoredProgram::kHeadBytes))) {
    if (head_of(*head) != bytes.substr(0, StoredProgram::kHeadBytes)) throw InternalError("a head differs");
  }
  return accepted;
}

std::string stored(const char* program, const std::string& bytes) {
  const ProgramKey key = key_named(program);
  if (!cache().put(key, bytes, 1.5)) return "";
  std::ifstream file(file_of(key), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds = {stored("small", kSmall), stored("large", kLarge)};
  const int code = fuzz::run(
      argc, argv, "fuzz_program_cache", seeds,
      {"espalier program 01\n", "espalier program 02\n", sha256_of(kSmall), sha256_of(kLarge), sha256_of(""),
       key_named("small").name(), std::string(8, '\0'), std::string(8, '\xff'), "\x12", "\n"},
      accept, fuzz::kTenfold);
  std::error_code ignored;
  std::filesystem::remove_all(cache().folder(), ignored);
  return code;
}
