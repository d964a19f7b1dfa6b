#include "cli/program_mark.h"

#include <algorithm>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "launch/launch_process.h"

namespace espalier::cli {
namespace {

// How many words a flag takes: itself, and its value behind it. 0 where the verb has no such flag.
size_t words_of_flag(CLI::App& verb, const std::string& word) {
  constexpr size_t kShort = 2;  // -n, and -n2
  const bool is_long = word.starts_with("--");
  const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, kShort);
  const CLI::Option* const flag = verb.get_option_no_throw(name);
  if (!flag) return 0;
  const bool has_value = is_long ? word.size() > name.size() : word.size() > kShort;
  return flag->get_items_expected_max() > 0 && !has_value ? 2 : 1;
}

}  // namespace

std::vector<std::string> with_program_mark(CLI::App& app, std::vector<std::string> words) {
  if (words.size() < 2 || std::ranges::find(words, "--") != words.end()) return words;
  const auto called = app.get_subcommands([&](CLI::App* verb) { return verb->get_name() == words[1]; });
  if (called.empty() || !called[0]->get_option_no_throw("program")) return words;
  size_t at = 2;
  while (at < words.size() && words[at].size() > 1 && words[at][0] == '-') {
    const size_t count = words_of_flag(*called[0], words[at]);
    if (count == 0) return words;
    at += count;
  }
  if (at >= words.size()) return words;
  try {
    program_file(words[at]);
  } catch (const IoError& error) {
    if (words[1] != "launch") return words;
    throw ValueError("launch.words",
                     cat(error.message(), "; the program and its arguments stand behind \"--\""),
                     "espalier launch -n 2 -- PROGRAM ARGS...");
  }
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), "--");
  return words;
}

}  // namespace espalier::cli
