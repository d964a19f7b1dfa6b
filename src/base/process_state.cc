#include "base/process_state.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "base/format.h"

namespace espalier {

std::optional<ProcessState> process_state(pid_t id) {
  std::ifstream in(cat("/proc/", id, "/stat"));
  std::string text;
  std::getline(in, text, '\0');
  const size_t end = text.rfind(')');  // of the name, which may hold anything
  if (end == text.npos) return std::nullopt;
  std::istringstream rest(text.substr(end + 1));
  ProcessState out{.id = id};
  if (!(rest >> out.letter >> out.parent)) return std::nullopt;
  return out;
}

std::vector<ProcessState> all_processes() {
  std::vector<ProcessState> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    if (const auto state = process_state(std::stoi(name))) out.push_back(*state);
  }
  return out;
}

}  // namespace espalier
