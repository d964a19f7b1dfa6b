// Which images a model is evaluated on: those that it was not trained on, wherever they lie.
#include <algorithm>
#include <filesystem>

#include "base/hash_list.h"
#include "cli/pictures_test.h"
#include "data/hashed_examples.h"
#include "espalier/error.h"
#include "espalier/images.h"
#include "train/unsealed_test.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

struct LearnedImages : PicturesTest {
  const fs::path before = fs::current_path();

  void TearDown() override { fs::current_path(before); }
  // The same, whichever folder the command is called from.
  void step_into_place() {
    folder = fs::absolute(folder).string();
    model = folder + "/model";
  }
  // Evaluated rows, and what is said of them.
  int64_t evaluated_rows(const std::string& data, std::string* said,
                         std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {model, data});
    return json(add_evaluate, more, said)["rows"];
  }
  // 40 digits of 2x2, each another.
  std::string digits(int first = 0) const {
    std::string text;
    for (int row = first; row < first + 40; ++row) {
      for (int pixel = 0; pixel < 4; ++pixel) text += cat(pixel == row % 4 ? 255 : row, ",");
      text += cat(row % 4, "\n");
    }
    return write_file(cat(folder, "/digits-", first, ".csv"), text);
  }
  Outcome verified() const { return call_command(cat("lineage ", model, " --verify")); }
};

constexpr const char* kOthersAreEvaluated =
    "note: the model was trained on 32 of these images: only the other 8 are evaluated; --all-rows takes "
    "all\n";

TEST_F(LearnedImages, TestImagesAreEvaluatedHoweverTheirPlaceIsSpelled) {
  step_into_place();
  const std::string data = squares();
  const auto kept = trained(data, model);
  fs::create_directories(folder + "/elsewhere");
  fs::current_path(folder + "/elsewhere");
  for (const std::string& spelled : {data, std::string("../squares"), data + "/../squares/"}) {
    std::string said;
    const auto scored = json(add_evaluate, {model, spelled}, &said);
    EXPECT_EQ(said, kOthersAreEvaluated) << spelled;
    EXPECT_EQ(scored["rows"], 8) << spelled;
    EXPECT_EQ(scored["confusion"], kept["confusion"]) << spelled;
    EXPECT_EQ(scored["warnings"], nlohmann::json::array()) << spelled;
  }
  const std::string text = call_verb(add_evaluate, {model, data});
  EXPECT_NE(text.find(" on 8 images\n"), std::string::npos) << text;
}

TEST_F(LearnedImages, ACopyOfTheFolderIsNotNew) {
  const std::string data = squares(), copy = folder + "/copy";
  trained(data, model);
  fs::create_directories(copy);
  fs::rename(data + "/red", copy + "/red");
  fs::create_directories(copy + "/blue");
  for (const auto& entry : fs::directory_iterator(data + "/blue"))
    fs::copy(entry.path(), cat(copy, "/blue/other-", entry.path().filename().string()));
  std::string said;
  EXPECT_EQ(evaluated_rows(copy, &said), 8);
  EXPECT_EQ(said, kOthersAreEvaluated);
}

TEST_F(LearnedImages, OtherImagesInAFolderOfTheSameNameAreAllEvaluated) {
  const std::string data = squares();
  trained(data, model);
  fs::remove_all(data);
  for (int i = 0; i < 5; ++i) {
    write_png(cat(data, "/red/0", i, ".png"), square(true, 50 + i, 12, 16));
    write_png(cat(data, "/blue/0", i, ".png"), square(false, 50 + i, 12, 16));
  }
  std::string said;
  EXPECT_EQ(evaluated_rows(data, &said), 10);
  EXPECT_EQ(said, "");
  EXPECT_EQ(evaluated_rows(data, &said, {"--all-rows"}), 10);
  EXPECT_EQ(said, "");
}

TEST_F(LearnedImages, AllAreEvaluatedWhereThatIsWantedAndWhereNoneIsNew) {
  const std::string data = squares();
  trained(data, model);
  std::string said;
  EXPECT_EQ(evaluated_rows(data, &said, {"--all-rows"}), 40);
  EXPECT_EQ(said, cat("warning: the model was trained on 32 of the 40 images of ", data,
                      ": others may fare worse\n"));
  // The first of each class is no test image.
  const std::string one = folder + "/one";
  fs::create_directories(one + "/red");
  fs::copy(data + "/red/00.jpg", one + "/red/00.jpg");
  EXPECT_EQ(evaluated_rows(one, &said), 1);
  EXPECT_EQ(said,
            cat("warning: the model was trained on the one image of ", one, ": others may fare worse\n"));
  fs::copy(data + "/red/01.jpg", one + "/red/01.jpg");
  EXPECT_EQ(evaluated_rows(one, &said), 2);
  EXPECT_EQ(said,
            cat("warning: the model was trained on all 2 images of ", one, ": others may fare worse\n"));
}

TEST_F(LearnedImages, DigitsAreToldByTheirPixelsToo) {
  const std::string data = digits();
  call_verb(add_train, {"--data", data, "--epochs", "1", "--model", model});
  std::string said;
  EXPECT_EQ(evaluated_rows(data, &said), 8);
  EXPECT_EQ(said, kOthersAreEvaluated);
  EXPECT_EQ(evaluated_rows(data, &said, {"--all-rows"}), 40);
  // As IDX files, in another order, with some that are new.
  const auto header = [](char rank, std::initializer_list<char> sizes) {
    std::string out{0, 0, 8, rank};
    for (const char size : sizes) out += std::string(3, '\0') + size;
    return out;
  };
  std::string images = header(3, {42, 2, 2}), labels = header(1, {42});
  for (int row = 41; row >= 0; --row) {
    for (int pixel = 0; pixel < 4; ++pixel) images += pixel == row % 4 ? '\xff' : static_cast<char>(row);
    labels += static_cast<char>(row % 4);
  }
  const std::string idx = folder + "/idx";
  fs::create_directories(idx);
  write_file(idx + "/images-idx3-ubyte", images);
  write_file(idx + "/labels-idx1-ubyte", labels);
  EXPECT_EQ(evaluated_rows(idx, &said), 10);
  EXPECT_EQ(evaluated_rows(digits(40), &said), 40);
  EXPECT_EQ(said, "");
}

TEST_F(LearnedImages, PartOfAFileOfDigitsHasThePixelsOfTheWhole) {
  std::string text;
  for (int row = 0; row < 40; ++row)
    text += cat(row / 4, ",", row % 4, ",0,", row == 39 ? 255 : 1, ",", row % 2, "\n");
  call_verb(add_train, {"--data", write_file(folder + "/all.csv", text), "--epochs", "1", "--model", model});
  std::string said;
  const std::string part =
      write_file(folder + "/part.csv", text.substr(0, text.rfind('\n', text.size() - 2) + 1));
  EXPECT_EQ(evaluated_rows(part, &said), 7) << "none is bright here, which the model's file had";
}

// Resizing rounds as the processor computes.
TEST_F(LearnedImages, AnImageIsToldBeforeItIsResized) {
  const std::string data = squares();
  call_verb(add_train, {"--data", data, "--model", model, "--epochs", "1", "--image-size", "5"});
  const std::vector<uint64_t> learned = hash_list(posix_env().read_file(model + "/learned.txt")).value();
  const Tensor pixels = load_image(data + "/red/00.jpg", {.channels = 3});
  EXPECT_TRUE(std::ranges::binary_search(learned, pixel_hash(pixels.data<uint8_t>(), pixels.size(1))));
}

TEST_F(LearnedImages, AModelOfNoEpochHasLearnedFromNone) {
  const std::string data = squares();
  call_verb(add_train, {"--data", data, "--model", model, "--epochs", "0"});
  std::string said;
  EXPECT_EQ(evaluated_rows(data, &said), 40);
  EXPECT_EQ(said, "");
}

TEST_F(LearnedImages, AModelThatDoesNotSayIsEvaluatedOnAll) {
  const std::string data = squares();
  trained(data, model);
  drop_checksums(model);
  write_file(model + "/learned.txt", "");
  std::string said;
  EXPECT_EQ(evaluated_rows(data, &said), 40);
  const std::string description = posix_env().read_file(model + "/model.json");
  auto edited = nlohmann::json::parse(description);
  auto& files = edited["files"];
  files.erase(std::ranges::find(files, "learned.txt"));
  write_file(model + "/model.json", edited.dump());
  fs::remove(model + "/learned.txt");
  EXPECT_EQ(evaluated_rows(data, &said), 40);
  EXPECT_EQ(said, "");
}

TEST_F(LearnedImages, ADamagedFileIsRefused) {
  const std::string data = squares();
  trained(data, model);
  drop_checksums(model);
  const std::string file = model + "/learned.txt", whole = posix_env().read_file(file);
  EXPECT_EQ(whole.size(), 32u * 16);
  for (const std::string& broken :
       {whole.substr(1), whole + "\n", std::string(16, 'g'), "0x" + std::string(14, '0'),
        std::string(15, '0') + "-", " " + std::string(15, '0')}) {
    write_file(file, broken);
    EXPECT_EQ(rule(add_evaluate, {model, data}), "model.images") << broken;
    EXPECT_EQ(rule(add_quantize, {model, "--calibrate", data, "--out", folder + "/small"}), "model.images");
  }
  const Outcome outcome = call_command(cat("evaluate ", model, " ", data));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find(cat(model, "/learned.txt")), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("train the model again"), std::string::npos) << outcome.error;
}

TEST_F(LearnedImages, AQuantizedModelKnowsThemAsWell) {
  const std::string data = squares(), small = folder + "/small";
  trained(data, model);
  const std::string copy = folder + "/copy";
  fs::copy(data, copy, fs::copy_options::recursive);
  std::string said;
  call_verb(add_quantize, {model, "--calibrate", copy, "--out", small}, "", &said);
  EXPECT_NE(said.find(cat("warning: the model was trained on 32 of the 40 images of ", copy,
                          ": others may fare worse\n")),
            std::string::npos)
      << said;
  EXPECT_EQ(json(add_evaluate, {small, data}, &said)["rows"], 8);
  EXPECT_EQ(said, kOthersAreEvaluated);
  call_verb(add_quantize, {model, "--calibrate", copy, "--out", small});
}

TEST_F(LearnedImages, LineageKnowsImagesAgain) {
  const std::string data = squares();
  trained(data, model);
  Outcome outcome = verified();
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_NE(outcome.output.find("today: unchanged\n"), std::string::npos) << outcome.output;
  outcome = call_command(cat("lineage ", model, " --verify --json"));
  EXPECT_EQ(outcome.code, 0);
  const auto json = nlohmann::json::parse(outcome.output)["data"];
  EXPECT_EQ(json["today"], "unchanged");
  EXPECT_EQ(json["today_images"], 40);
  // As the system's own tool has it.
  const Outcome summed = call_shell(cat("cd ", data, " && LC_ALL=C sha256sum */* | sha256sum"));
  EXPECT_EQ(json["sha256"].get<std::string>() + "  -\n", summed.output);
  int64_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(data))
    if (file.is_regular_file()) bytes += static_cast<int64_t>(file.file_size());
  EXPECT_EQ(json["bytes"], bytes);
  // What is no image is nothing to it.
  write_file(data + "/red/notes.txt", "seen");
  EXPECT_EQ(verified().code, 0);
  // As many, and one of them another.
  const std::string one = fs::directory_iterator(data + "/blue")->path().string();
  const std::string before = posix_env().read_file(one);
  write_png(one, square(true, 33, 12, 16));
  outcome = verified();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.output.find("today: changed, as many images, of other names or bytes\n"),
            std::string::npos)
      << outcome.output;
  posix_env().write_file(one, before);
  EXPECT_EQ(verified().code, 0);
}

TEST_F(LearnedImages, LineageCountsWhatIsThereNow) {
  const std::string data = squares();
  trained(data, model);
  write_png(data + "/red/new.png", square(true, 30, 12, 16));
  Outcome outcome = verified();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.output.find("today: changed, 41 images\n"), std::string::npos) << outcome.output;
  const auto said = [&] {
    auto out = nlohmann::json::parse(outcome.output)["data"];
    for (const char* kept : {"bytes", "sha256"}) EXPECT_EQ(out.erase(kept), 1u) << out;
    return out;
  };
  outcome = call_command(cat("lineage ", model, " --verify --json"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(said(), nlohmann::json({{"images", data}, {"today", "changed"}, {"today_images", 41}}));
  fs::remove_all(data + "/red");
  fs::remove_all(data + "/blue");
  outcome = verified();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.output.find("today: changed, 0 images\n"), std::string::npos) << outcome.output;
  fs::remove_all(data);
  outcome = call_command(cat("lineage ", model, " --verify --json"));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(said(), nlohmann::json({{"images", data}, {"today", "not there"}}));
}

// Its number alone is known of an earlier version's model.
TEST_F(LearnedImages, LineageOfAnEarlierVersionCounts) {
  const std::string data = squares();
  trained(data, model);
  drop_checksums(model);
  auto history = nlohmann::ordered_json::parse(posix_env().read_file(model + "/training.json"));
  for (const char* key : {"bytes", "sha256"}) EXPECT_EQ(history.erase(key), 1u);
  posix_env().write_file(model + "/training.json", history.dump());
  const Outcome outcome = verified();
  EXPECT_EQ(outcome.code, 3) << outcome.error;
  EXPECT_NE(outcome.output.find("today: as many, 40; whether they are the same is not known\n"),
            std::string::npos)
      << outcome.output;
  write_png(data + "/red/new.png", square(true, 30, 12, 16));
  EXPECT_EQ(verified().code, 1);
}

TEST_F(LearnedImages, LineageCountsBothPartsAndDigits) {
  squares("both/train");
  const std::string data = folder + "/both";
  write_png(data + "/test/red/a.png", square(true, 30, 12, 16));
  trained(data, model);
  EXPECT_EQ(verified().code, 0);
  write_png(data + "/test/red/b.png", square(true, 31, 12, 16));
  EXPECT_EQ(verified().code, 1);
  const std::string numbers = digits();
  fs::remove_all(model);
  call_verb(add_train, {"--data", numbers, "--epochs", "1", "--model", model});
  EXPECT_EQ(verified().code, 0);
  write_file(numbers, posix_env().read_file(numbers) + "0,0,0,0,1\n");
  EXPECT_EQ(verified().code, 1);
  write_file(numbers, "no,digits\n");
  const Outcome outcome = verified();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.output.find("today: changed, 0 images\n"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace espalier::cli
