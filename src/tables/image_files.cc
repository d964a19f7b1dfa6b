#include "tables/image_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/env.h"
#include "base/format.h"
#include "data/hashed_examples.h"
#include "espalier/error.h"
#include "format/utf8.h"
#include "ir/sink.h"
#include "report/table.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

// As they are for two to train on.
void check_classes(const ImageFiles& files, const std::string& path) {
  for (const std::string& name : files.class_names) {
    if (!is_utf8(name))
      throw ValueError("images.class", cat(path, ": the name of the folder ", name, " is no UTF-8"));
  }
  if (const int32_t only = files.labels.front(); only == files.labels.back())
    throw ValueError("images.classes", cat(path, " has images in one sub-folder alone, ",
                                           files.class_names[static_cast<size_t>(only)],
                                           ": each is a class, and there must be two to tell apart"));
}

// Moves a share of each class, spread over the order of the names, which often says where images come from.
ImageFiles take_spread(ImageFiles& files, double share) {
  ImageFiles kept{{}, {}, files.class_names, files.skipped}, taken{{}, {}, files.class_names};
  for (size_t begin = 0; begin < files.paths.size();) {
    const int32_t label = files.labels[begin];
    const auto end =
        static_cast<size_t>(std::ranges::upper_bound(files.labels, label) - files.labels.begin());
    const size_t count = end - begin;
    const auto wanted =
        std::min(static_cast<size_t>(std::llround(share * static_cast<double>(count))), count - 1);
    for (size_t i = 0; i < count; ++i, ++begin) {
      ImageFiles& to = (i + 1) * wanted / count == i * wanted / count ? kept : taken;
      to.paths.push_back(std::move(files.paths[begin]));
      to.labels.push_back(label);
    }
  }
  files = std::move(kept);
  return taken;
}

int64_t middle(std::vector<int64_t> values) {
  const auto half = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, half);
  return *half;
}

// `fix`: what helps, where it is no smaller size.
void check_memory(int64_t images, const TensorType& row, const std::string& fix = {}) {
  constexpr double kMost = 0x1p32, kGiga = 0x1p30;
  const double bytes = static_cast<double>(images) * static_cast<double>(row.bytes());
  if (bytes <= kMost) return;
  const auto channels = static_cast<double>(row.rank() == 3 ? row.shape[2] : 1);
  const auto side = static_cast<int64_t>(std::sqrt(kMost / (4 * channels * static_cast<double>(images))));
  throw ValueError("images.memory",
                   cat(images, images == 1 ? " image" : " images", " of ", row, " take ",
                       fixed(bytes / kGiga, 1), " GiB, and 4 GiB is the most"),
                   fix.empty() ? cat("--image-size ", std::max<int64_t>(1, side)) : fix);
}

// "pictures/" is "pictures".
std::string without_slashes(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  return end == path.npos ? path : path.substr(0, end + 1);
}

}  // namespace

bool BadImages::try_read(const std::string& path, const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const FormatError& error) {
    files_.push_back({path, error.message()});
  } catch (const IoError& error) {
    files_.push_back({path, error.message()});
  }
  return false;
}

void BadImages::raise() const {
  constexpr size_t kNamed = 5;
  if (files_.empty()) return;
  std::string named;
  for (size_t i = 0; i < std::min(kNamed, files_.size()); ++i) named += cat("\n  ", files_[i].why);
  if (files_.size() > kNamed) named += cat("\n  and ", files_.size() - kNamed, " more");
  throw FormatError("images.files",
                    cat(files_.size(), files_.size() == 1 ? " image" : " images", " cannot be read:", named),
                    "save them again as JPEG or PNG, or remove them");
}

bool is_idx_folder(const std::string& path) {
  std::error_code none;
  return fs::is_directory(path, none) &&
         std::ranges::any_of(posix_env().list_folder(path), [](const std::string& name) {
           return name.ends_with("images-idx3-ubyte") || name.ends_with("images-idx3-ubyte.gz");
         });
}

bool is_image_folder(const std::string& path) {
  std::error_code none;
  return fs::is_directory(path, none) && !is_idx_folder(path) &&
         std::ranges::any_of(posix_env().list_folder(path), [&](const std::string& name) {
           return !name.starts_with('.') && fs::is_directory(fs::path(path) / name, none);
         });
}

void check_images_at(const std::string& path) {
  constexpr size_t kNamed = 3;
  std::error_code none;
  if (fs::exists(path, none) || none) return;
  const std::string above = folder_above(path);
  std::string near;
  if (fs::is_directory(above, none)) {
    const std::vector<std::string> names =
        nearest(fs::path(without_slashes(path)).filename().string(), posix_env().list_folder(above));
    for (size_t i = 0; i < std::min(kNamed, names.size()); ++i)
      near += cat(i == 0 ? "did you mean " : " or ", above == "." ? names[i] : cat(above, "/", names[i]));
  }
  throw IoError("file.read", cat("cannot read ", path, ": no such file"), near.empty() ? "" : near + "?");
}

std::string folder_above(const std::string& path) {
  const std::string above = fs::path(without_slashes(path)).parent_path().string();
  return above.empty() ? "." : above;
}

ImageFolder ImageFolder::look(const std::string& path, double test_fraction, const std::vector<int64_t>& size,
                              const Messages& messages) {
  const std::string train = path + "/train", test = path + "/test";
  ImageFolder out;
  out.parted = is_image_folder(train) && is_image_folder(test);
  out.train = list_image_folder(out.parted ? train : path);
  check_classes(out.train, out.parted ? train : path);
  out.test = out.parted ? in_classes(list_image_folder(test), out.train.class_names, test)
                        : take_spread(out.train, test_fraction);

  std::vector<int64_t> heights, widths;
  BadImages bad;
  const auto files = std::ssize(out.train.paths) + std::ssize(out.test.paths);
  const Messages::Progress progress = messages.progress("looking at images", files);
  for (const ImageFiles* part : {&out.train, &out.test}) {
    for (const std::string& file : part->paths) {
      bad.try_read(file, [&] {
        const TensorType type = image_type(file);
        heights.push_back(type.shape[0]);
        widths.push_back(type.shape[1]);
        if (type.shape[2] >= 3) out.channels = 3;
      });
      progress(std::ssize(heights));
    }
  }
  bad.raise();
  out.sizes = cat(std::ranges::min(heights), "x", std::ranges::min(widths));
  if (const std::string most = cat(std::ranges::max(heights), "x", std::ranges::max(widths));
      most != out.sizes)
    out.sizes += cat(" to ", most);
  if (!size.empty()) {
    const auto fits = [](int64_t side) { return side >= 1 && side <= kMostPixels; };
    if (size.size() != 2 || !std::ranges::all_of(size, fits))
      throw ValueError("images.size",
                       cat("image_size is a height and a width from 1 to ", kMostPixels, ", or []"));
    out.height = size[0];
    out.width = size[1];
  } else {
    constexpr int64_t kMost = 64;
    const int64_t height = middle(heights), width = middle(widths), longer = std::max(height, width);
    const auto scaled = [&](int64_t side) {
      return longer <= kMost ? side : std::max<int64_t>(1, (side * kMost + longer / 2) / longer);
    };
    out.height = scaled(height);
    out.width = scaled(width);
  }
  check_memory(files, out.row());
  return out;
}

TrainPlan folder_plan(const ImageFolder& folder) {
  constexpr int64_t kPlain = 28, kSteps = 1000, kLeast = 5, kMost = 60, kUnits = 64;
  TrainPlan out = image_plan();
  const int64_t steps = (std::ssize(folder.train.paths) + out.fit.batch_size - 1) / out.fit.batch_size;
  out.fit.epochs = static_cast<int>(std::clamp((kSteps + steps - 1) / steps, kLeast, kMost));
  if (folder.channels == 1 && std::max(folder.height, folder.width) <= kPlain) return out;
  std::vector<LayerPlan> layers;
  int64_t smaller = std::min(folder.height, folder.width);
  for (const int64_t filters : {16, 32, 64}) {
    layers.emplace_back(Conv2DPlan{.filters = filters, .padding = "same", .activation = "relu"});
    if (smaller < 8) break;
    layers.emplace_back(MaxPooling2DOptions{});
    smaller /= 2;
  }
  for (LayerPlan& layer : hidden_layers({kUnits}, true)) layers.push_back(std::move(layer));
  out.model.layers = std::move(layers);
  return out;
}

int64_t count_images(const std::string& path) {
  const std::string train = path + "/train", test = path + "/test";
  const auto files = [](const std::string& folder) { return std::ssize(list_image_folder(folder).paths); };
  try {
    if (is_image_folder(train) && is_image_folder(test)) return files(train) + files(test);
    return is_image_folder(path) ? files(path) : load_digits(path).rows();
  } catch (const FormatError&) {
    return 0;
  } catch (const IoError& error) {
    if (error.rule() != "digits.file") throw;
    return 0;
  }
}

FileDigest digest_images(const std::string& path) {
  std::error_code none;
  if (!fs::is_directory(path, none)) return digest_file(path);
  std::vector<std::string> files;
  if (is_idx_folder(path)) {
    for (const std::string& name : posix_env().list_folder(path))
      if (name.ends_with("-ubyte") || name.ends_with("-ubyte.gz")) files.push_back(cat(path, "/", name));
  } else {
    const std::string train = path + "/train", test = path + "/test";
    const bool parted = is_image_folder(train) && is_image_folder(test);
    for (const std::string& part : parted ? std::vector<std::string>{train, test} : std::vector{path})
      std::ranges::move(list_image_folder(part).paths, std::back_inserter(files));
  }
  std::ranges::sort(files);
  std::string all;
  FileDigest out;
  for (const std::string& file : files) {
    const FileDigest one = digest_file(file);
    all += cat(one.sha256, "  ", fs::path(file).lexically_relative(path).string(), "\n");
    out.bytes += one.bytes;
  }
  out.sha256 = sha256_of(all);
  return out;
}

ImageFiles in_classes(ImageFiles files, const std::vector<std::string>& classes, const std::string& path) {
  for (int32_t& label : files.labels) {
    const std::string& name = files.class_names[static_cast<size_t>(label)];
    const auto found = std::ranges::find(classes, name);
    if (found == classes.end())
      throw_unknown("images.class", cat("class of images in ", path), name, classes);
    label = static_cast<int32_t>(found - classes.begin());
  }
  files.class_names = classes;
  return files;
}

ReadImages read_images(const std::vector<std::string>& paths, const TensorType& row, BadImages& bad,
                       const std::function<void(int64_t)>& on_read) {
  check_memory(std::ssize(paths), row, "take fewer images at a time");
  TensorType type = row;
  type.shape.insert(0, std::ssize(paths));
  Buffer buffer = allocate_buffer(type.bytes());
  auto* pixels = reinterpret_cast<float*>(buffer.get());
  ReadImages out;
  for (size_t i = 0; i < paths.size(); ++i) {
    bad.try_read(paths[i], [&] {
      const Tensor whole = load_image(paths[i], {.channels = row.rank() == 3 ? row.shape[2] : 1});
      const Tensor image = resize_images(whole, row.shape[0], row.shape[1], {.antialias = true});
      pixels =
          std::ranges::transform(image.data<float>(), pixels, [](float pixel) { return pixel / 255; }).out;
      out.hashes.push_back(pixel_hash(whole.data<uint8_t>(), whole.size(1)));
      out.paths.push_back(paths[i]);
    });
    on_read(static_cast<int64_t>(i + 1));
  }
  type.shape[0] = std::ssize(out.paths);
  out.x = out.paths.size() == paths.size() ? make_concrete(Literal(type, std::move(buffer)))
                                           : Tensor::from_bytes(type, buffer.get());
  return out;
}

}  // namespace espalier
