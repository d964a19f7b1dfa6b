// Images in JPEG and PNG files for verbs: folders of them by class, and their pixels as models take them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/messages.h"
#include "base/sha256.h"
#include "espalier/images.h"
#include "plan/plan.h"

namespace espalier {

// A height or width at most.
inline constexpr int64_t kMostPixels = 1 << 16;

// Whether a folder holds IDX files of images.
bool is_idx_folder(const std::string& path);
// Whether `path` is a folder of folders, and none of IDX files.
bool is_image_folder(const std::string& path);

// Raises IoError[file.read] where nothing is at `path`, with what of nearly its name is beside it.
void check_images_at(const std::string& path);
// The folder that holds a folder or a file, as its path says it: ".", where it says none.
std::string folder_above(const std::string& path);

// Images by class. Training images lie below train/ and test images below test/, where both are there; else
// some of each class are the test, spread over the order of their names.
struct ImageFolder {
  ImageFiles train, test;
  bool parted = false;   // by train/ and test/
  int64_t channels = 1;  // 3 where a file has colours
  int64_t height = 0, width = 0;
  // Reads what files say of their sizes. `size`: height and width, or nothing for those that the files have
  // in the middle, at most 64. Raises IoError, FormatError[images.empty], [images.files] for files that
  // cannot be read, ValueError[images.classes] for fewer than two, [images.class] for one of test/ that
  // train/ has not, [images.size], [images.memory].
  static ImageFolder look(const std::string& path, double test_fraction, const std::vector<int64_t>& size,
                          const Messages& messages);

  std::string sizes;  // of the files: "40x30 to 800x600"
  TensorType row() const { return {DType::kF32, {height, width, channels}}; }
};
// What `train` does with such a folder when it is told nothing else: convolutions for images with colours or
// of more than 28 pixels, and more epochs the fewer steps each has.
TrainPlan folder_plan(const ImageFolder& folder);

// How many images with labels lie at `path`: digits, or a folder by class, of which those of both parts where
// it has train/ and test/. 0 where it holds none that can be read. Raises IoError.
int64_t count_images(const std::string& path);

// Of those images: of a file its bytes; of a folder what `sha256sum */* | sha256sum` says, where * are the
// images by class, or the IDX files, in the order of their names; and how many bytes they have. Raises
// IoError.
FileDigest digest_images(const std::string& path);

// The same files, each with its class's place in `classes`. Raises ValueError[images.class].
ImageFiles in_classes(ImageFiles files, const std::vector<std::string>& classes, const std::string& path);

// Files that cannot be read, which are told together: whoever cleans a folder wants to know all of them.
class BadImages {
 public:
  struct File {
    std::string path, why;
  };
  // Calls `read`; whether `path`, which it reads, could be read.
  bool try_read(const std::string& path, const std::function<void()>& read);
  const std::vector<File>& files() const { return files_; }
  // Raises FormatError[images.files], which names the first, where there are any.
  void raise() const;

 private:
  std::vector<File> files_;
};

struct ReadImages {
  std::vector<std::string> paths;  // of those that could be read
  Tensor x;  // f32[paths, height, width, channels]: resized with antialiasing, pixels from 0 to 1
  std::vector<uint64_t> hashes;
};
// As models take them that take `row`, which may be without channels. `on_read` is told how many are read.
// Raises ValueError[images.memory] for more than 4 GiB of pixels.
ReadImages read_images(const std::vector<std::string>& paths, const TensorType& row, BadImages& bad,
                       const std::function<void(int64_t)>& on_read);

}  // namespace espalier
