#include "base/near_paths.h"

#include <algorithm>
#include <filesystem>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

// Whether the names are near without the ending that both have: files of one kind have that in common.
bool near_stems(const fs::path& a, const fs::path& b) {
  return a.extension() != b.extension() || !nearest(a.stem().string(), {b.stem().string()}).empty();
}

}  // namespace

std::string near_paths(std::string path, const std::function<bool(const std::string&)>& fits) {
  constexpr size_t kNamed = 3;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const fs::path place = fs::path(path).parent_path();
  const std::string beside = place.empty() ? "." : place.string();
  std::error_code none;
  if (!fs::is_directory(beside, none)) return "";
  const auto file = [&](const std::string& name) { return (place / name).string(); };
  std::vector<std::string> names = posix_env().list_folder(beside);
  const std::string wanted = fs::path(path).filename().string();
  std::erase_if(names,
                [&](const std::string& name) { return !fits(file(name)) || !near_stems(wanted, name); });
  names = nearest(wanted, names);
  std::string out;
  for (size_t i = 0; i < std::min(kNamed, names.size()); ++i)
    out += cat(i == 0 ? "did you mean " : " or ", file(names[i]));
  return out.empty() ? out : out + "?";
}

}  // namespace espalier
