// What verbs are asked of images and cannot do, and what they say is next.
#include <filesystem>

#include "cli/pictures_test.h"
#include "espalier/error.h"
#include "train/unsealed_test.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

struct PicturesAsked : PicturesTest {
  const fs::path before = fs::current_path();

  void TearDown() override { fs::current_path(before); }
  // What is said of a mistake: rule, message and fix.
  static std::string refused(AddVerb add, const std::vector<std::string>& arguments) {
    try {
      call_verb(add, arguments);
    } catch (const Error& error) {
      return cat(error.rule(), ": ", error.message(), "; fix: ", error.fix());
    }
    return "accepted";
  }
  static std::string next_of(const std::string& text) { return text.substr(text.rfind("next: ")); }
  // 40 digits of 2x2.
  std::string digits() const {
    std::string text;
    for (int row = 0; row < 40; ++row) {
      for (int pixel = 0; pixel < 4; ++pixel) text += pixel == row % 4 ? "255," : "0,";
      text += cat(row % 4, "\n");
    }
    return write_file(folder + "/digits.csv", text);
  }
};

TEST_F(PicturesAsked, APlanKeepsWhatIsKnownOfTheDataAndNamesALayerThatDoesNotFit) {
  const std::string data = squares(), plan = folder + "/seen.toml";
  call_verb(add_train, {"--data", data, "--epochs", "1", "--licence", "CC0", "--origin", "a camera",
                        "--model", model, "--write-plan", "--out", plan});
  call_verb(add_train, {plan});
  const std::string lineage = call_verb(add_info, {model, "--json"});
  EXPECT_NE(lineage.find("CC0"), std::string::npos) << lineage;
  EXPECT_NE(lineage.find("a camera"), std::string::npos) << lineage;
  write_file(plan,
             "[data]\nfile = \"squares\"\n[model]\npath = \"other\"\n"
             "[[model.layers]]\ntype = \"Conv2D\"\nfilters = 2\nkernel_size = [99, 3]\n");
  const std::string said = refused(add_train, {plan});
  EXPECT_NE(said.find("seen.toml, line 5, column 1: model.layers[0] (Conv2D), on a batch of 32 rows: "),
            std::string::npos)
      << said;
}

TEST_F(PicturesAsked, ACheckpointOfImagesIsAModelOfImages) {
  const std::string data = squares(), plan = folder + "/seen.toml";
  write_file(plan,
             cat("[data]\nfile = \"squares\"\n[model]\npath = \"m\"\n[fit]\nepochs = 2\n[[callbacks]]\n",
                 "type = \"ModelCheckpoint\"\npath = \"at-{epoch}\"\n"));
  call_verb(add_train, {plan});
  EXPECT_EQ(call_verb(add_predict, {folder + "/at-2", data}), call_verb(add_predict, {folder + "/m", data}));
  const auto evaluated = json(add_evaluate, {folder + "/at-2", data});
  EXPECT_EQ(evaluated["rows"], json(add_evaluate, {folder + "/m", data})["rows"]);
  EXPECT_EQ(evaluated["classes"], nlohmann::json({"blue", "red"}));
  EXPECT_NE(call_verb(add_info, {folder + "/at-2"}).find("blue, red"), std::string::npos);
}

TEST_F(PicturesAsked, FlagsOfTablesAreRefusedByEveryVerb) {
  const std::string data = squares();
  trained(data, model);
  EXPECT_EQ(
      refused(add_evaluate, {model, data, "--slice", "x"}),
      cat("evaluate.images: ", model, " is a model of images: --slice is for tables; fix: leave it out"));
  EXPECT_EQ(refused(add_evaluate, {model, data, "--all-rows", "--flip", "x", "--worst", "--slice", "x"}),
            cat("evaluate.images: ", model,
                " is a model of images: --flip, --worst and --slice are for tables; fix: leave them out"));
  EXPECT_EQ(
      refused(add_quantize, {model, "--calibrate", data, "--out", folder + "/small", "--strip-label-dots"}),
      cat("quantize.images: ", model,
          " is a model of images: --strip-label-dots is for tables; fix: leave it "
          "out"));
  EXPECT_EQ(refused(add_predict, {model, data, "--no-schema", "--all", "--id", "x"}),
            cat("predict.images: ", model,
                " is a model of images: --no-schema and --id are for tables; fix: leave them out"));
  EXPECT_EQ(refused(add_train, {"--data", data, "--slice", "x", "--merge-labels"}),
            cat("train.images: ", data,
                " holds images: --merge-labels, --slice are for tables; fix: leave them out"));
  EXPECT_EQ(
      refused(add_train, {"--data", digits(), "--test", data}),
      cat("train.images: ", folder, "/digits.csv holds images: --test is for tables; fix: leave it out"));
  const auto said = json(add_evaluate, {model, data, "--threads", "1", "--all-rows"});
  EXPECT_EQ(said["rows"], 40);
}

TEST_F(PicturesAsked, ATableIsNoImage) {
  trained(squares(), model);
  const std::string table = write_file(folder + "/a.csv", "x,y\n1,a\n");
  EXPECT_EQ(refused(add_predict, {model, table}),
            cat("evaluate.images: ", model,
                " is a model of images of 12x16 and takes JPEG and PNG files and folders of "
                "them; ",
                table, " is none; fix: "));
  EXPECT_EQ(refused(add_evaluate, {model, table}),
            cat("evaluate.images: ", model,
                " is a model of images of 12x16 and takes a folder with a sub-folder of JPEG "
                "and PNG files for each class; ",
                table, " is none; fix: "));
  const std::string seen = folder + "/digits";
  call_verb(add_train, {"--data", digits(), "--epochs", "0", "--model", seen});
  const std::string said = refused(add_predict, {seen, table});
  EXPECT_TRUE(
      said.starts_with(cat("evaluate.images: ", seen,
                           " is a model of gray images of 2x2 and takes JPEG and PNG "
                           "files and folders of them, a folder of IDX files or a CSV of square images")))
      << said;
}

TEST_F(PicturesAsked, AFolderThatIsNotThereIsNamedWithItsPlanAndItsNeighbours) {
  squares();
  fs::create_directories(folder + "/sub");
  const std::string plan =
      write_file(folder + "/sub/seen.toml", "[data]\nfile = \"squares\"\nimage_size = [4, 4]\n");
  EXPECT_EQ(refused(add_train, {plan}), cat("file.read: seen.toml, line 2, column 8: cannot read ", folder,
                                            "/sub/squares: no such file; fix: paths in seen.toml begin at "
                                            "its folder; --data FOLDER names another"));
  EXPECT_TRUE(refused(add_train, {plan, "--data", folder + "/square"})
                  .ends_with(cat("; fix: did you mean ", folder, "/squares?")));
  trained(folder + "/squares", model);
  for (const AddVerb add : {add_predict, add_evaluate}) {
    const std::string said = refused(add, {model, folder + "/sqares"});
    EXPECT_TRUE(said.ends_with(cat("; fix: did you mean ", folder, "/squares?"))) << said;
  }
}

TEST_F(PicturesAsked, WhatIsNoFolderOfClassesLeadsToTheOneThatIs) {
  const std::string data = squares();
  EXPECT_TRUE(refused(add_train, {data}).ends_with(cat("train --data ", data)));
  EXPECT_EQ(refused(add_train, {"--data", data, "--label", "kind"}),
            cat("train.label: ", data,
                " is a folder of images, whose sub-folders are the labels; fix: leave out "
                "--label"));
  EXPECT_TRUE(refused(add_train, {"--data", data + "/red"}).ends_with(cat("; fix: --data ", data)));
  EXPECT_TRUE(refused(add_train, {"--data", data + "/red/"}).ends_with(cat("; fix: --data ", data)));
  EXPECT_EQ(refused(add_train, {"--data", data + "/red/00.jpg"}),
            cat("train.images: ", data,
                "/red/00.jpg is one image, and a model learns from a folder with a sub-folder of "
                "images for each class; fix: --data ",
                data));
  fs::current_path(data);
  EXPECT_TRUE(refused(add_train, {"--data", "red"}).ends_with("; fix: --data ."));
}

TEST_F(PicturesAsked, ResumeNamesCheckpointsOfNearlyTheName) {
  const std::string data = squares();
  write_file(folder + "/modle.checkpoint", "");
  std::string said;
  call_verb(add_train, {"--data", data, "--epochs", "0", "--model", model, "--resume"}, "", &said);
  EXPECT_NE(said.find(cat("note: there is no ", model, ".checkpoint; did you mean ", folder,
                          "/modle.checkpoint?\n")),
            std::string::npos)
      << said;
  EXPECT_NE(said.find(cat("note: there is no ", model, ".checkpoint: the run begins anew\n")),
            std::string::npos)
      << said;
  EXPECT_LT(said.find("begins anew"), said.find(" images of ")) << said;
}

TEST_F(PicturesAsked, AFolderThatHoldsNothingIsRefusedBeforeTheTraining) {
  const std::string data = squares();
  std::string said;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--data", data},
        {"--data", write_file(folder + "/t.csv", "x,kind\n1,a\n2,b\n"), "--label", "kind"}}) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--model", "/proc/x"});
    EXPECT_TRUE(refused(add_train, all).starts_with("save.path: cannot write into the folder /proc: "))
        << refused(add_train, all);
  }
  trained(data, model);
  EXPECT_TRUE(refused(add_quantize, {model, "--calibrate", data, "--out", "/proc/x"})
                  .starts_with("save.path: cannot write into the folder /proc: "));
  const auto left = [&] {
    std::vector<std::string> names = posix_env().list_folder(folder);
    return std::ranges::count_if(names, [](const std::string& name) { return name.ends_with(".part"); });
  };
  EXPECT_EQ(left(), 0);
}

TEST_F(PicturesAsked, LineageSaysWhatIsKeptOfImages) {
  const std::string data = squares();
  call_verb(add_train,
            {"--data", data, "--model", model, "--epochs", "1", "--seed", "5", "--licence", "CC0"});
  const std::string text = call_verb(add_lineage, {model});
  for (const std::string& part :
       {cat(data, ", 40 images\n"), std::string(" bytes, sha256 of names and bytes "),
        std::string("licence CC0"), std::string("32 training, 8 test, seed 5"),
        cat("next: espalier evaluate ", model, " ", data)})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  call_verb(add_lineage, {model, "--verify"});
  auto said = json(add_lineage, {model});
  for (const char* key : {"bytes", "sha256"}) EXPECT_EQ(said["data"].erase(key), 1u) << said;
  EXPECT_EQ(said["data"], nlohmann::json({{"images", data}, {"licence", "CC0"}}));
  EXPECT_EQ(said["split"], nlohmann::json({{"seed", 5}, {"learn", 32}, {"judge", 8}}));
  drop_checksums(model);
  const std::string history = posix_env().read_file(model + "/training.json");
  for (const char* broken :
       {R"({"data": 3})", R"({"data": "x", "train_rows": -1, "test_rows": 1, "seed": 0})"}) {
    write_file(model + "/training.json", broken);
    EXPECT_EQ(rule(add_lineage, {model}), "model.lineage") << broken;
  }
  write_file(model + "/training.json", history);
  fs::remove_all(data);
  EXPECT_NE(call_verb(add_lineage, {model}).find(cat("next: espalier info ", model)), std::string::npos);
}

TEST_F(PicturesAsked, QuantizingOnWhatWasLearnedWarns) {
  const std::string data = squares();
  trained(data, model);
  std::string progress;
  const std::string said =
      call_verb(add_quantize, {model, "--calibrate", data, "--out", folder + "/small"}, "", &progress);
  EXPECT_NE(progress.find("warning: the model was trained on 32 of the 40 images of "), std::string::npos)
      << progress;
  EXPECT_NE(said.find("ranges from 40 images\n"), std::string::npos) << said;
  EXPECT_NE(said.find("on 40 images, which the ranges are from\n"), std::string::npos) << said;
  const std::string info = call_verb(add_info, {folder + "/small"});
  EXPECT_EQ(info.find(": 0 parameters"), std::string::npos) << info;
  EXPECT_NE(info.find("weights in 8-bit integers"), std::string::npos) << info;
  EXPECT_EQ(info.find("variable "), std::string::npos) << "a table without rows: " << info;
}

}  // namespace
}  // namespace espalier::cli
