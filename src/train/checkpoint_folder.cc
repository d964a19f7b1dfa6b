#include "train/checkpoint_folder.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/env.h"
#include "base/format.h"

namespace espalier {
namespace {

constexpr std::string_view kName = "checkpoint-";

}  // namespace

std::string CheckpointFolder::file(int64_t number) const { return cat(path_, "/", kName, number); }

std::vector<int64_t> CheckpointFolder::numbers() const {
  std::vector<int64_t> out;
  if (!posix_env().exists(path_)) return out;
  for (const std::string& name : posix_env().list_folder(path_)) {
    int64_t number = 0;
    const char* const end = name.data() + name.size();
    if (!name.starts_with(kName)) continue;
    const auto [last, error] = std::from_chars(name.data() + kName.size(), end, number);
    if (error == std::errc() && last == end && number > 0 && name == cat(kName, number))
      out.push_back(number);
  }
  std::ranges::sort(out);
  return out;
}

void CheckpointFolder::prepare() const {
  posix_env().make_folder(path_);
  const std::vector<int64_t> known = numbers();
  posix_env().remove_left_overs(file(known.empty() ? 1 : known.back() + 1));
}

void CheckpointFolder::keep(int most) const {
  std::vector<int64_t> known = numbers();
  if (most == 0 || std::cmp_less_equal(known.size(), most)) return;
  known.resize(known.size() - static_cast<size_t>(most));
  for (const int64_t number : known) posix_env().remove_file(file(number));
}

}  // namespace espalier
