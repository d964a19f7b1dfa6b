#include "cli/save_place.h"

#include <algorithm>
#include <filesystem>

#include "base/format.h"
#include "base/shell_words.h"
#include "cli/common.h"
#include "espalier/error.h"
#include "train/folder_of.h"

namespace espalier::cli {

void probe_save_place(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) throw IoError("save.path", "the path of a model must not be empty", "--model MODEL");
  fs::path whole = fs::absolute(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // "model/"
  std::error_code none;
  if (!fs::is_directory(whole.parent_path(), none)) return;
  require_folder_of(path, "save.path");
}

void check_folders(const TrainPlan& plan) {
  namespace fs = std::filesystem;
  std::vector<std::string> folders = {"mkdir", "-p"};
  std::string named;
  int missing = 0;
  const auto look = [&](const std::string& key, const std::string& path) {
    fs::path whole = path;
    if (!whole.has_filename()) whole = whole.parent_path();  // "model/"
    const std::string folder = whole.parent_path().string();
    std::error_code none;
    // A folder of another name for each epoch is met when its time comes.
    if (folder.empty() || folder.find('{') != folder.npos || fs::is_directory(folder, none)) return;
    const auto place = plan.places.find(key);
    named += cat("\n  ", place == plan.places.end() ? "" : place->second + ": ", key, ": ", folder);
    ++missing;
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  };
  look("model.path", plan.model.path);
  for (size_t i = 0; i < plan.callbacks.size(); ++i) {
    std::visit(
        [&](const auto& callback) {
          if constexpr (requires { callback.path; }) look(cat("callbacks[", i, "].path"), callback.path);
        },
        plan.callbacks[i]);
  }
  if (missing > 1)
    throw IoError("save.path", cat("the run writes into folders that are not there:", named),
                  shell_words(folders));
}

}  // namespace espalier::cli
