// Models of folders of JPEG and PNG files.
#include <csignal>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/interrupt_once_test.h"
#include "cli/pictures_test.h"
#include "espalier/csv.h"
#include "espalier/error.h"
#include "tables/image_files.h"
#include "train/unsealed_test.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

struct TrainPictures : PicturesTest {};

TEST_F(TrainPictures, AFolderForEachClassIsLearned) {
  const std::string data = squares();
  std::string progress;
  const auto said =
      json(add_train, {"--data", data, "--model", model, "--epochs", "20", "--batch", "8", "--seed", "3"},
           &progress);
  EXPECT_EQ(progress,
            "40 images of 10x16 to 12x16, 2 classes; of each class some, spread over the names, are the "
            "test, 8 in all\n"
            "the model takes them in 12x16; --image-size sets another height and width\n");
  EXPECT_EQ(said["classes"], nlohmann::json({"blue", "red"}));
  EXPECT_EQ(said["train_rows"], 32);
  EXPECT_EQ(said["accuracy"], 1.0);
  EXPECT_EQ(said["confusion"], nlohmann::json({{4, 0}, {0, 4}}));
  const std::string saved =
      call_verb(add_train, {"--data", data, "--model", model, "--epochs", "1", "--batch", "8"});
  EXPECT_NE(saved.find(cat(" predict ", model, " ", data, "/")), std::string::npos) << "one test image\n"
                                                                                    << saved;
  const std::string text = call_verb(
      add_train, {"--data", data, "--epochs", "20", "--batch", "8", "--seed", "3", "--model", model});
  EXPECT_TRUE(text.starts_with("rows are the true class, columns what the model says\n")) << text;
  EXPECT_NE(text.find("\nblue "), std::string::npos) << text;
  EXPECT_NE(text.find("says red "), std::string::npos) << text;
  const auto info = json(add_info, {model});
  EXPECT_EQ(info["classes"], said["classes"]);
  EXPECT_EQ(info["inputs"], nlohmann::json({"f32[12,16,3]"}));
  EXPECT_EQ(kernel(info), "f32[3,3,3,16]") << "images with colours get convolutions";
  const std::string shown = call_verb(add_info, {model});
  EXPECT_NE(shown.find("2 classes of images: blue, red\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("on 32 images of "), std::string::npos) << shown;
}

// Names in order are often one source after another: a camera, a day, a form of file.
TEST_F(TrainPictures, TestRowsAreSpreadOverTheNamesOfEachClass) {
  for (int i = 0; i < 10; ++i) {
    for (const char* name : {"red", "blue"})
      write_png(cat(folder, "/spread/", name, "/", i, ".png"), square(true, 1, 8, 8));
  }
  const auto tests = [&](double share) {
    std::string out;
    for (const std::string& path : ImageFolder::look(folder + "/spread", share, {}, {}).test.paths)
      out += fs::path(path).stem().string();
    return out;
  };
  EXPECT_EQ(tests(0.2), "4949");
  EXPECT_EQ(tests(0.3), "369369");
  EXPECT_EQ(tests(0.9), "123456789123456789") << "one is for training";
}

TEST_F(TrainPictures, FoldersTrainAndTestPartTheImages) {
  squares("both/train");
  const std::string data = folder + "/both";
  write_png(data + "/test/red/a.png", square(true, 3, 12, 16));
  write_png(data + "/test/red/b.png", square(false, 4, 12, 16));
  const auto said = trained(data, model);
  EXPECT_EQ(said["train_rows"], 40);
  EXPECT_EQ(said["confusion"], nlohmann::json({{0, 0}, {1, 1}}));
  std::string progress;
  const std::string shown = call_verb(add_evaluate, {model, data});
  EXPECT_TRUE(shown.ends_with(cat("\nnext: espalier export ", model, " --to c --out model.c\n"))) << shown;
  const auto scored = json(add_evaluate, {model, data}, &progress);
  EXPECT_EQ(progress, cat("note: the images of ", data, "/test are evaluated\n"));
  EXPECT_EQ(scored["confusion"], said["confusion"]);
  write_png(data + "/test/green/a.png", square(true, 3, 12, 16));
  EXPECT_EQ(rule(add_train, {"--data", data}), "images.class");
}

TEST_F(TrainPictures, SmallGrayImagesNeedNoConvolutions) {
  for (int i = 0; i < 10; ++i) {
    write_png(cat(folder, "/gray/dark/", i, ".png"), gray(false, i));
    write_jpeg(cat(folder, "/gray/bright/", i, ".jpg"), gray(true, i));
  }
  EXPECT_EQ(trained(folder + "/gray", model)["accuracy"], 1.0);
  const auto info = json(add_info, {model});
  EXPECT_EQ(info["inputs"], nlohmann::json({"f32[5,7,1]"}));
  EXPECT_EQ(kernel(info), "f32[35,128]");
  // A file with colours makes it a folder with colours.
  write_png(folder + "/gray/dark/x.png", square(true, 1, 5, 7));
  trained(folder + "/gray", model);
  EXPECT_EQ(json(add_info, {model})["inputs"], nlohmann::json({"f32[5,7,3]"}));
}

TEST_F(TrainPictures, TheSizeIsAsTold) {
  const std::string data = squares();
  const auto size = [&](const std::string& told) {
    call_verb(add_train, {"--data", data, "--model", model, "--epochs", "0", "--image-size", told});
    return json(add_info, {model})["inputs"][0];
  };
  EXPECT_EQ(size("9"), "f32[9,9,3]");
  EXPECT_EQ(size("6x20"), "f32[6,20,3]");
  for (const char* wrong : {"0", "big", "3x", "3x4x5", "-4", "70000"})
    EXPECT_THROW(call_verb(add_train, {"--data", data, "--image-size", wrong}), CLI::ValidationError)
        << wrong;
  EXPECT_EQ(rule(add_train, {"--data", data, "--image-size", "60000"}), "images.memory");
  // Large images are made smaller in their proportions.
  for (const char* name : {"/large/a/1.png", "/large/a/2.png", "/large/b/1.png", "/large/b/2.png"})
    write_png(folder + name, square(true, 1, 100, 150));
  call_verb(add_train, {"--data", folder + "/large", "--model", folder + "/seen", "--epochs", "0",
                        "--test-fraction", "0.5"});
  EXPECT_EQ(json(add_info, {folder + "/seen"})["inputs"][0], "f32[43,64,3]");
  write_file(folder + "/digits.csv", "0,16,0,0,1\n16,0,0,0,0\n");
  EXPECT_EQ(rule(add_train, {"--data", folder + "/digits.csv", "--image-size", "4"}), "train.image_size");
}

TEST_F(TrainPictures, OthersAreEvaluatedByTheNamesOfTheirClasses) {
  trained(squares(), model);
  // The model's second class alone: its place here is another.
  const std::string other = folder + "/other";
  for (int i = 0; i < 3; ++i) write_png(cat(other, "/red/", i, ".png"), square(true, i, 20, 30));
  const auto said = json(add_evaluate, {model, other});
  EXPECT_EQ(said["confusion"], nlohmann::json({{0, 0}, {0, 3}}));
  EXPECT_EQ(said["classes"], nlohmann::json({"blue", "red"}));
  EXPECT_EQ(said["warnings"], nlohmann::json::array());
  // Models of before have no checksums: anybody may have edited the names.
  drop_checksums(model);
  const std::string names = posix_env().read_file(model + "/images.json");
  write_file(model + "/images.json", "{\"classes\": [\"blue\"]}");
  EXPECT_EQ(rule(add_evaluate, {model, other}), "model.images");
  write_file(model + "/images.json", names);
  write_png(other + "/rde/1.png", square(true, 1, 20, 30));
  const Outcome outcome = call_command(cat("evaluate ", model, " ", other));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find("\"rde\""), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("did you mean \"red\""), std::string::npos) << outcome.error;
}

TEST_F(TrainPictures, FilesAndFoldersOfThemArePredicted) {
  trained(squares(), model);
  write_png(folder + "/new/far/a.png", square(true, 2, 12, 16));
  write_jpeg(folder + "/new/b, c.jpg", square(false, 2, 40, 60));
  write_file(folder + "/new/notes.txt", "no image");
  const std::string one = folder + "/squares/red/00.jpg";
  const CsvTable said = parse_csv(call_verb(add_predict, {model, one, folder + "/new"}));
  EXPECT_EQ(said.names(), (std::vector<std::string>{"file", "class", "probability"}));
  ASSERT_EQ(said.rows(), 3);
  EXPECT_EQ(said.cell(0, 0), one);
  EXPECT_EQ(said.cell(0, 1), "red");
  EXPECT_EQ(said.cell(1, 0), folder + "/new/b, c.jpg");
  EXPECT_EQ(said.cell(1, 1), "blue");
  EXPECT_EQ(said.cell(2, 0), folder + "/new/far/a.png");
  EXPECT_EQ(said.cell(2, 1), "red");
  const auto all = json(add_predict, {model, one, "--all"});
  EXPECT_EQ(all["classes"], nlohmann::json({"blue", "red"}));
  ASSERT_EQ(all["predictions"].size(), 1u);
  const auto& first = all["predictions"][0];
  EXPECT_EQ(first["file"], one);
  EXPECT_EQ(first["class"], "red");
  EXPECT_EQ(first["probabilities"][1], first["probability"]);
  EXPECT_NEAR(first["probabilities"][0].get<double>() + first["probability"].get<double>(), 1, 1e-6);
  const CsvTable wide = parse_csv(call_verb(add_predict, {model, one, "--all"}));
  EXPECT_EQ(wide.names()[3], "probability of red");
  const std::string next = call_verb(add_predict, {model, one, "--out", folder + "/said.csv"});
  EXPECT_TRUE(is_next(next)) << next;
  EXPECT_EQ(read_csv(folder + "/said.csv").rows(), 1);
  EXPECT_EQ(rule(add_predict, {model, one, "--mark"}), "predict.images");
  EXPECT_EQ(rule(add_predict, {model, one, "--threshold", "0.3"}), "predict.images");
  EXPECT_EQ(rule(add_predict, {model, folder + "/nowhere.png"}), "file.read");
  fs::create_directories(folder + "/empty");
  EXPECT_EQ(rule(add_predict, {model, folder + "/empty"}), "predict.images");
}

TEST_F(TrainPictures, DigitsArePredictedByRowAndByFile) {
  std::string text;
  for (int row = 0; row < 40; ++row) {
    for (int pixel = 0; pixel < 4; ++pixel) text += pixel == row % 4 ? "255," : "0,";
    text += cat(row % 4, "\n");
  }
  const std::string data = write_file(folder + "/squares.csv", text);
  call_verb(add_train, {"--data", data, "--epochs", "30", "--batch", "8", "--lr", "0.05", "--model", model});
  const CsvTable said = parse_csv(call_verb(add_predict, {model, data}));
  EXPECT_EQ(said.names(), (std::vector<std::string>{"row", "class", "probability"}));
  ASSERT_EQ(said.rows(), 40);
  for (int64_t row = 0; row < 40; ++row) {
    EXPECT_EQ(said.cell(row, 0), cat(row + 1));
    EXPECT_EQ(said.cell(row, 1), cat(row % 4));
  }
  write_png(folder + "/two.png", {2, 2, 1, {0, 0, 255, 0}});
  const auto one = json(add_predict, {model, folder + "/two.png"});
  EXPECT_EQ(one["predictions"][0]["class"], "2");
  EXPECT_EQ(rule(add_predict, {model, folder + "/two.png", data}), "predict.images");
  // Folders may be named as digits are.
  write_png(folder + "/named/3/x.png", {2, 2, 1, {0, 0, 0, 255}});
  EXPECT_EQ(json(add_evaluate, {model, folder + "/named"})["accuracy"], 1.0);
}

TEST_F(TrainPictures, TheyAreQuantized) {
  const std::string data = squares(), small = folder + "/small";
  trained(data, model);
  const auto said = json(add_quantize, {model, "--calibrate", data, "--out", small});
  EXPECT_EQ(said["cost"]["before"], 1.0);
  EXPECT_EQ(said["cost"]["after"], 1.0);
  EXPECT_EQ(json(add_info, {small})["classes"], nlohmann::json({"blue", "red"}));
  EXPECT_EQ(json(add_predict, {small, data + "/red/00.jpg"})["predictions"][0]["class"], "red");
}

TEST_F(TrainPictures, FilesThatCannotBeReadAreNamed) {
  const std::string data = squares();
  write_file(data + "/red/bad.jpg", "no image");
  write_file(data + "/blue/cut.png", posix_env().read_file(data + "/blue/00.png").substr(0, 60));
  const Outcome outcome = call_command(cat("train --data ", data));
  EXPECT_EQ(outcome.code, 2);
  for (const char* part :
       {"2 images cannot be read", "/red/bad.jpg: the 8 bytes", "/blue/cut.png: ", "fix: "})
    EXPECT_NE(outcome.error.find(part), std::string::npos) << outcome.error;
  fs::remove(data + "/red/bad.jpg");
  fs::remove(data + "/blue/cut.png");
  // Its header is whole, its pixels are not.
  const std::string whole = posix_env().read_file(data + "/red/00.jpg");
  write_file(data + "/red/half.jpg", whole.substr(0, whole.size() - 30));
  // One for training and one for the test.
  fs::copy(data + "/red/half.jpg", data + "/red/04.jpg", fs::copy_options::overwrite_existing);
  const std::string both = call_command(cat("train --data ", data)).error;
  for (const char* part : {"2 images cannot be read", "/red/04.jpg: ", "/red/half.jpg: "})
    EXPECT_NE(both.find(part), std::string::npos) << both;
  trained(squares("fine"), model);
  EXPECT_EQ(rule(add_predict, {model, data + "/red/half.jpg"}), "images.files");
  const std::string refused = call_command(cat("evaluate ", model, " ", data)).error;
  for (const char* part : {"2 images cannot be read", "/red/04.jpg: ", "/red/half.jpg: "})
    EXPECT_NE(refused.find(part), std::string::npos) << refused;
}

TEST_F(TrainPictures, WhatCannotBeReadLeavesOthersTheirPredictions) {
  const std::string data = squares();
  trained(data, model);
  const std::string wanted = call_verb(add_predict, {model, data});
  const std::string text = write_file(data + "/red/000.jpg", "no image"), cut = data + "/blue/zz.png";
  write_file(cut, posix_env().read_file(data + "/blue/00.png").substr(0, 60));
  const Outcome outcome = call_command(cat("predict ", model, " ", data));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.output, wanted);
  EXPECT_TRUE(outcome.error.starts_with(cat("warning: ", cut, ": "))) << outcome.error;
  EXPECT_NE(outcome.error.find(cat("\nwarning: ", text, ": the 8 bytes")), std::string::npos)
      << outcome.error;
  EXPECT_TRUE(outcome.error.ends_with("\nwarning: 2 of 42 images cannot be read\n")) << outcome.error;
  const Outcome structured = call_command(cat("predict ", model, " ", data, " --json"));
  EXPECT_EQ(structured.code, 2);
  const auto said = nlohmann::json::parse(structured.output);
  EXPECT_EQ(said["predictions"].size(), 40u);
  EXPECT_EQ(said["unreadable"], nlohmann::json({cut, text}));
  EXPECT_EQ(said["warnings"].size(), 3u);
  EXPECT_EQ(rule(add_predict, {model, text, cut}), "images.files");
}

TEST_F(TrainPictures, FoldersThatAreNoClassesAreRefused) {
  const std::string data = squares();
  EXPECT_EQ(rule(add_train, {"--data", data + "/red"}), "digits.file");
  EXPECT_EQ(rule(add_train, {"--data", data, "--test", data}), "train.test");
  fs::remove_all(data + "/red");
  EXPECT_EQ(rule(add_train, {"--data", data}), "images.classes");
  write_png(data + "/red/1.png", square(true, 1, 12, 16));
  fs::remove_all(data + "/blue");
  write_png(data + "/blue/1.png", square(true, 1, 12, 16));
  EXPECT_EQ(rule(add_train, {"--data", data}), "train.rows");
}

TEST_F(TrainPictures, ThePlanOfAFolderGivesTheBitsOfItsFlags) {
  const std::string data = squares();
  const std::vector<std::string> flags = {"--data", data, "--epochs", "3", "--batch", "8", "--model"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), flags.begin(), flags.end());
    return more;
  };
  call_verb(add_train, with({folder + "/flags"}));
  call_verb(add_train, with({folder + "/plan", "--write-plan", "--out", folder + "/plan.toml"}));
  const std::string text = posix_env().read_file(folder + "/plan.toml");
  for (const char* part : {"image_size = [12, 16]", "type = \"Conv2D\"", "epochs = 3"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_FALSE(posix_env().exists(folder + "/plan"));
  call_verb(add_train, {folder + "/plan.toml"});
  EXPECT_TRUE(weights(folder + "/plan") == weights(folder + "/flags"));
  write_file(folder + "/odd.toml", cat("[data]\nfile = \"squares\"\nimage_size = [3]\n"));
  const Outcome outcome = call_command(cat("train ", folder, "/odd.toml"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find("odd.toml, line 3"), std::string::npos) << outcome.error;
  write_file(folder + "/one.toml",
             cat("[data]\nfile = \"squares/", fs::directory_iterator(squares())->path().filename().string(),
                 "\"\nimage_size = [12, 16]\n"));
  const Outcome one = call_command(cat("train ", folder, "/one.toml"));
  EXPECT_NE(one.error.find("one.toml, line 3, column "), std::string::npos) << one.error;
  EXPECT_NE(one.error.find("image_size is for a folder with a sub-folder"), std::string::npos) << one.error;
  write_file(folder + "/early.toml", "[data]\nfile = \"squares\"\n[[callbacks]]\ntype = \"EarlyStopping\"\n");
  const Outcome early = call_command(cat("train ", folder, "/early.toml"));
  EXPECT_NE(early.error.find("monitor \"loss\", or give fit validation data"), std::string::npos)
      << early.error;
  const Outcome both = call_command(cat("info ", folder, "/plan ", folder, "/flags"));
  EXPECT_NE(both.error.find("is a saved model, and of those one is shown at a time"), std::string::npos)
      << both.error;
}

TEST_F(TrainPictures, CtrlCSavesTheRunAndResumeGoesOnToTheSameModel) {
  const std::string data = squares();
  std::vector<std::string> arguments = {"--data", data, "--epochs", "100", "--batch", "8", "--model", model};
  call_verb(add_train, arguments);
  const std::string wanted = weights(model);
  fs::remove_all(model);
  {
    const InterruptOnce interrupt(SIGINT);
    EXPECT_THROW(call_verb(add_train, arguments), Exit);
  }
  EXPECT_FALSE(posix_env().exists(model));
  arguments.emplace_back("--resume");
  write_png(data + "/red/20.png", square(true, 20, 12, 16));
  const Outcome other =
      call_command(cat("train --resume --epochs 100 --batch 8 --data ", data, " --model ", model));
  EXPECT_NE(other.error.find("which trains on 32 rows of 12x16x3 numbers: now there are 33 rows of"),
            std::string::npos)
      << other.error;
  fs::remove(data + "/red/20.png");
  call_verb(add_train, arguments);
  EXPECT_TRUE(weights(model) == wanted);
}

}  // namespace
}  // namespace espalier::cli
