// Folders of small pictures, and what verbs say of models of them.
#pragma once

#include <png.h>
#include <turbojpeg.h>

#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"

namespace espalier::cli {

struct Drawn {
  int64_t height, width, channels;
  std::vector<unsigned char> pixels;
};

inline void write_png(const std::string& path, const Drawn& drawn) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(drawn.width);
  image.height = static_cast<png_uint_32>(drawn.height);
  image.format = drawn.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  ASSERT_TRUE(png_image_write_to_file(&image, path.c_str(), 0, drawn.pixels.data(), 0, nullptr)) << path;
}

inline void write_jpeg(const std::string& path, const Drawn& drawn) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  const std::unique_ptr<void, int (*)(tjhandle)> coder(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool gray = drawn.channels == 1;
  ASSERT_EQ(tjCompress2(coder.get(), drawn.pixels.data(), static_cast<int>(drawn.width), 0,
                        static_cast<int>(drawn.height), gray ? TJPF_GRAY : TJPF_RGB, &bytes, &size,
                        gray ? TJSAMP_GRAY : TJSAMP_444, 95, 0),
            0);
  write_file(path, std::string(reinterpret_cast<char*>(bytes), size));
  tjFree(bytes);
}

// A square of one colour on another, larger from number to number.
inline Drawn square(bool red, int number, int64_t height, int64_t width) {
  Drawn out{height, width, 3, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const bool inside = std::max(y, x) < 3 + number % 5;
      const auto strong = static_cast<unsigned char>(inside ? 250 - number : 90);
      for (const unsigned char part : {red ? strong : 20, 20, red ? 20 : strong})
        out.pixels.push_back(static_cast<unsigned char>(part));
    }
  }
  return out;
}

// Dark or bright.
inline Drawn gray(bool bright, int number) {
  return {5, 7, 1,
          std::vector<unsigned char>(35, static_cast<unsigned char>(bright ? 200 + number : number))};
}

struct PicturesTest : testing::Test {
  std::string folder =
      fresh_folder(cat("pictures-", testing::UnitTest::GetInstance()->current_test_info()->name()));
  std::string model = folder + "/model";

  // 20 red squares as JPEG and 20 blue ones as PNG, of two sizes.
  std::string squares(const std::string& name = "squares", int count = 20) const {
    for (int i = 0; i < count; ++i) {
      const std::string number = cat(i < 10 ? "0" : "", i);
      write_jpeg(cat(folder, "/", name, "/red/", number, ".jpg"), square(true, i, 12, 16));
      write_png(cat(folder, "/", name, "/blue/", number, ".png"), square(false, i, 10, 16));
    }
    return folder + "/" + name;
  }
  nlohmann::json json(AddVerb add, std::vector<std::string> arguments,
                      std::string* progress = nullptr) const {
    arguments.emplace_back("--json");
    return nlohmann::json::parse(call_verb(add, arguments, "", progress));
  }
  nlohmann::json trained(const std::string& data, const std::string& to) const {
    return json(add_train, {"--data", data, "--model", to, "--epochs", "20", "--batch", "8"});
  }
  std::string rule(AddVerb add, const std::vector<std::string>& arguments) const {
    return rule_of([&] { call_verb(add, arguments); });
  }
  // The type of the first layer's.
  std::string kernel(const nlohmann::json& info) const {
    for (const auto& variable : info["variables"]) {
      if (variable["name"].get<std::string>().ends_with("/kernel")) return variable["type"];
    }
    return "none";
  }
  std::string weights(const std::string& of) const {
    return posix_env().read_file(of + "/weights.safetensors");
  }
};

}  // namespace espalier::cli
