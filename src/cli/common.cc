#include "cli/common.h"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"
#include "espalier/threads.h"

namespace espalier::cli {

std::string read_text(const std::string& path) {
  if (path != "-") return posix_env().read_file(path);
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (std::cin.bad()) throw IoError("file.read", "cannot read standard input");
  return text;
}

std::string source_name(const std::string& path) {
  return path == "-" ? "standard input" : std::filesystem::path(path).filename().string();
}

void Results::add_json(CLI::App& verb) { verb.add_flag("--json", json, "Results as JSON"); }
void Results::add_out(CLI::App& verb) {
  verb.add_option("--out", out, "File for the results; - is standard output")->capture_default_str();
}

void Results::write(std::string_view text) const {
  if (out != "-") return posix_env().write_file(out, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw IoError("file.write", "cannot write standard output");
}

void Results::write_json(const std::string& verb, const nlohmann::ordered_json& body) const {
  nlohmann::ordered_json all = {{"version", 1}, {"verb", verb}};
  all.update(body);
  write(all.dump(2) + "\n");
}

void Results::suggest(const std::string& command) const {
  if (!json && out == "-") std::printf("next: %s\n", command.c_str());
}

void add_threads(CLI::App& verb) {
  verb.add_option_function<int>("--threads", set_threads,
                                "Threads that compute (results do not depend on it)")
      ->default_str(cat(threads()));
}

}  // namespace espalier::cli
