#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/images.h"
#include "espalier/npy.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

struct ImageFolder : testing::Test {
  fs::path root = fs::path(testing::TempDir()) / cat("espalier_images_", getpid());

  void SetUp() override {
    fs::remove_all(root);
    put("rgb.png", "dogs/b.PNG");
    put("gray.jpg", "dogs/a.jpeg");
    put("rgb.jpg", "cats/old/far/c.jpg");
    put("rgba.png", "cats/z.png");
  }
  void TearDown() override { fs::remove_all(root); }
  void put(const std::string& image, const std::string& name) const {
    fs::create_directories((root / name).parent_path());
    fs::copy_file("tests/golden/images/" + image, root / name);
  }
  std::vector<std::string> names(const ImageFiles& files) const {
    std::vector<std::string> out;
    for (const std::string& path : files.paths) out.push_back(fs::relative(path, root).string());
    return out;
  }
};

TEST_F(ImageFolder, ClassesAreFoldersInOrder) {
  const ImageFiles files = list_image_folder(root.string());
  EXPECT_EQ(files.class_names, (std::vector<std::string>{"cats", "dogs"}));
  EXPECT_EQ(names(files),
            (std::vector<std::string>{"cats/z.png", "cats/old/far/c.jpg", "dogs/a.jpeg", "dogs/b.PNG"}));
  EXPECT_EQ(files.labels, (std::vector<int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(files.skipped, 0);
  EXPECT_EQ(list_images(root.string()),
            (std::vector<std::string>{files.paths[0], files.paths[1], files.paths[2], files.paths[3]}));
  EXPECT_EQ(list_images((root / "dogs").string()),
            (std::vector<std::string>{files.paths[2], files.paths[3]}));
  EXPECT_THROW(list_images((root / "nowhere").string()), IoError);
}

TEST_F(ImageFolder, WhatIsNoImageIsSkippedAndCounted) {
  std::ofstream(root / "README.md") << "hello";
  std::ofstream(root / "dogs" / "notes.txt") << "hello";
  put("rgb.png", "dogs/.hidden.png");
  put("rgb.png", "dogs/.git/a.png");
  put("rgb.png", ".cache/a.png");
  fs::create_directories(root / "dogs" / "folder.png");
  fs::create_symlink("nowhere.png", root / "dogs" / "gone.png");
  const ImageFiles files = list_image_folder(root.string());
  EXPECT_EQ(files.paths.size(), 4u);
  EXPECT_EQ(files.class_names.size(), 2u);
  EXPECT_EQ(files.skipped, 4);
}

TEST_F(ImageFolder, LinksThatGoInCirclesEnd) {
  fs::create_directory_symlink("..", root / "dogs" / "up");
  fs::create_directory_symlink(".", root / "cats" / "self");
  EXPECT_EQ(list_image_folder(root.string()).paths.size(), 4u);
  fs::create_symlink("b.PNG", root / "dogs" / "link.png");
  EXPECT_EQ(list_image_folder(root.string()).paths.size(), 5u);
}

TEST_F(ImageFolder, ExamplesAreTheResizedImages) {
  const ImageExamples all = load_image_folder(root.string(), {.height = 8, .width = 10});
  EXPECT_EQ(all.x.type(), (TensorType{DType::kF32, {4, 8, 10, 3}}));
  EXPECT_EQ(all.y.to_vector<int32_t>(), (std::vector<int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(all.class_names[1], "dogs");
  const ImageFiles files = list_image_folder(root.string());
  for (int64_t i = 0; i < 4; ++i) {
    const Tensor image =
        resize_images(load_image(files.paths[static_cast<size_t>(i)], {.channels = 3}), 8, 10);
    EXPECT_EQ(max(abs(all.slice(i, i + 1).x - expand_dims(image, 0))).item<float>(), 0) << i;
  }
  EXPECT_EQ(load_image_folder(root.string(), {.height = 8, .width = 10, .channels = 1}).x.size(-1), 1);
}

TEST_F(ImageFolder, ExamplesAreThoseOfKeras) {
  const auto golden = load_npz("tests/golden/keras_folder.npz");
  const ImageExamples all = load_image_folder(root.string(), {.height = 8, .width = 10});
  EXPECT_EQ(all.y.to_vector<int32_t>(), golden.at("y").to_vector<int32_t>());
  EXPECT_EQ(golden.at("dogs").item<int64_t>(), 1);
  ASSERT_EQ(all.x.type(), golden.at("x").type());
  // TensorFlow decodes JPEGs by the faster and less exact of libjpeg's transforms.
  const Tensor worst = max(abs(all.x - golden.at("x")), {1, 2, 3});
  for (size_t i = 0; i < 4; ++i) {
    const bool jpeg = i == 1 || i == 2;
    EXPECT_LT(worst.data<float>()[i], jpeg ? 5 : 1e-3f) << i;
  }
}

TEST_F(ImageFolder, ALimitTakesFromAllClasses) {
  const ImageExamples some = load_image_folder(root.string(), {.height = 4, .width = 4, .limit = 2});
  EXPECT_EQ(some.y.to_vector<int32_t>(), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(load_image_folder(root.string(), {.height = 4, .width = 4, .limit = 9}).rows(), 4);
}

TEST_F(ImageFolder, ABrokenImageIsNamed) {
  std::ofstream(root / "dogs" / "broken.jpg") << "no image";
  try {
    load_image_folder(root.string(), {.height = 8, .width = 8});
    ADD_FAILURE();
  } catch (const FormatError& error) {
    EXPECT_EQ(error.message(), cat((root / "dogs" / "broken.jpg").string(),
                                   ": the 8 bytes begin neither as a JPEG nor as a PNG"));
  }
}

TEST_F(ImageFolder, WrongUseIsNamed) {
  const std::string path = root.string();
  EXPECT_THROW(list_image_folder(path + "/nowhere"), IoError);
  EXPECT_THROW(list_image_folder(path + "/dogs"), FormatError);
  EXPECT_THROW(load_image_folder(path, {.height = 0}), ValueError);
  EXPECT_THROW(load_image_folder(path, {.height = 1 << 30, .width = 1 << 30}), ValueError);
  EXPECT_THROW(load_image_folder(path, {.channels = 0}), ValueError);
  EXPECT_THROW(load_image_folder(path, {.limit = -1}), ValueError);
}

}  // namespace
}  // namespace espalier
