#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "base/env.h"
#include "base/format.h"
#include "espalier/images.h"
#include "ir/sink.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_image(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

// The images anywhere below a class's folder. Links to folders are not followed, so that there is an end.
std::vector<std::string> images_below(const fs::path& folder, int64_t& skipped) {
  std::vector<std::pair<std::string, std::string>> found;  // folder and name: Keras' order
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const bool hidden = is_hidden(it->path());
    if (it->is_directory(error)) {
      if (hidden) it.disable_recursion_pending();
    } else if (!hidden && is_image(it->path()) && it->is_regular_file(error)) {
      found.emplace_back(it->path().parent_path().string(), it->path().filename().string());
    } else {
      ++skipped;
    }
    error.clear();  // of a link to nowhere, which is no file
  }
  if (error) throw IoError("images.folder", cat(folder.string(), ": ", error.message()));
  std::ranges::sort(found);
  std::vector<std::string> out;
  for (const auto& [parent, name] : found) out.push_back(cat(parent, "/", name));
  return out;
}

void check(const ImageFolderOptions& options) {
  constexpr int64_t kMost = 1 << 16;
  if (options.height < 1 || options.width < 1 || options.height > kMost || options.width > kMost)
    throw ValueError("images.size", cat("height and width are 1 to ", kMost, ", not ", options.height,
                                        " and ", options.width));
  if (options.channels != 1 && options.channels != 3 && options.channels != 4)
    throw ValueError("images.channels", cat("channels are 1, 3 or 4, not ", options.channels));
  if (options.limit < 0) throw ValueError("images.limit", cat("limit must not be negative: ", options.limit));
}

}  // namespace

std::vector<std::string> list_images(const std::string& folder, Location at) {
  const CallScope scope(at);
  int64_t skipped = 0;
  return images_below(folder, skipped);
}

ImageFiles list_image_folder(const std::string& path, Location at) {
  const CallScope scope(at);
  ImageFiles out;
  for (const std::string& name : posix_env().list_folder(path)) {
    const fs::path folder = fs::path(path) / name;
    std::error_code error;
    if (is_hidden(folder)) continue;
    if (!fs::is_directory(folder, error)) {
      ++out.skipped;
      continue;
    }
    for (std::string& image : images_below(folder, out.skipped)) {
      out.paths.push_back(std::move(image));
      out.labels.push_back(static_cast<int32_t>(out.class_names.size()));
    }
    out.class_names.push_back(name);
  }
  if (out.paths.empty())
    throw FormatError("images.empty",
                      cat("no .jpg, .jpeg or .png in the ", out.class_names.size(), " folders of ", path,
                          ", of which each is a class; ", out.skipped, " other files"));
  return out;
}

ImageExamples load_image_folder(const std::string& path, const ImageFolderOptions& options, Location at) {
  const CallScope scope(at);
  check(options);
  const ImageFiles files = list_image_folder(path);
  const auto count = static_cast<int64_t>(files.paths.size());
  const int64_t rows = options.limit ? std::min(options.limit, count) : count;
  const TensorType row{DType::kF32, {options.height, options.width, options.channels}};
  const TensorType type{DType::kF32, {rows, options.height, options.width, options.channels}};
  Buffer buffer = allocate_buffer(type.bytes());
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < rows; ++i) {
    const auto place = static_cast<size_t>(i * count / rows);
    const Tensor image = resize_images(load_image(files.paths[place], {.channels = options.channels}),
                                       options.height, options.width, {.antialias = options.antialias});
    std::memcpy(buffer.get() + static_cast<size_t>(i) * row.bytes(), image.bytes(), row.bytes());
    labels.push_back(files.labels[place]);
  }
  ImageExamples out;
  out.x = make_concrete(Literal(type, std::move(buffer)));
  out.y = Tensor::of(labels);
  out.class_names = files.class_names;
  out.skipped = files.skipped;
  return out;
}

}  // namespace espalier
