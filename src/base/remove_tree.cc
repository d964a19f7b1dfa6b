#include "base/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

namespace espalier {

void remove_tree(int above, const std::string& name) {
  if (::unlinkat(above, name.c_str(), 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
  const int opened = ::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(opened), ::closedir);
  if (!folder) {
    ::close(opened);
    return;
  }
  std::vector<std::string> inside;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view one = entry->d_name;
    if (one != "." && one != "..") inside.emplace_back(one);
  }
  for (const std::string& one : inside) remove_tree(opened, one);
  ::unlinkat(above, name.c_str(), AT_REMOVEDIR);
}

}  // namespace espalier
