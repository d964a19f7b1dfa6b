#include "dist/starter_watch.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/format.h"
#include "base/shortest.h"

namespace espalier {

bool has_running_children(pid_t process) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::ifstream in(entry.path() / "stat");
    std::string text;
    std::getline(in, text);
    const size_t end = text.rfind(')');  // of the name, which may hold anything
    if (end == text.npos) continue;
    std::istringstream rest(text.substr(end + 1));
    char state = 0;
    pid_t parent = 0;
    if (rest >> state >> parent && parent == process && state != 'Z' && state != 'X') return true;
  }
  return false;
}

std::string StarterWatch::text(const std::string& name, pid_t process) const {
  return cat(name, " (pid ", process, ") ",
             had_ ? "has not ended, and its ranks have, for " : "has not started a rank in ",
             plain_number(kPatience),
             " s; a stranger who connects to its port and says nothing makes it wait");
}

}  // namespace espalier
