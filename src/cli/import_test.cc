#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "espalier/ops.h"
#include "espalier/saved_model.h"
#include "format/onnx/wire.h"

namespace espalier::cli {
namespace {

struct Import : FolderTest {
  // A model of a table in ONNX.
  std::string onnx() const {
    std::string text = "size,more,kind\n";
    for (int i = 0; i < 80; ++i)
      text += cat(i * 7 % 80, ",", i % 5, ",", i * 7 % 80 < 40 ? "small" : "big", "\n");
    call_verb(add_train, {"--data", write_file(folder + "/table.csv", text), "--label", "kind", "--model",
                          folder + "/model", "--epochs", "3"});
    call_verb(add_export, {folder + "/model", "--to", "onnx", "--out", folder + "/net.onnx"});
    return folder + "/net.onnx";
  }
};

TEST_F(Import, GivesBackTheModelThatWasExported) {
  const auto json =
      nlohmann::json::parse(call_verb(add_import, {onnx(), "--out", folder + "/back", "--json"}));
  EXPECT_EQ(json["batch"], 0);
  ASSERT_EQ(json["inputs"].size(), 1u);
  LoadedModel model = load_model(folder + "/model"), back = load_model(folder + "/back");
  EXPECT_EQ(json["inputs"][0]["row"], to_string(model.input_rows()[0]));
  const Tensor x = convert(iota({DType::kI32, {11, model.input_rows()[0].shape[0]}}, 0), DType::kF32) * 0.1;
  const auto wanted = model.predict(x).to_vector<float>(), got = back.predict(x).to_vector<float>();
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5);
  // As any other model: exported again, for other rows.
  call_verb(add_export, {folder + "/back", "--to", "c", "--out", folder + "/back.c"});
  const std::string info = call_verb(add_info, {folder + "/back"});
  EXPECT_NE(info.find(cat(json["parameters"].get<int64_t>(), " parameters")), std::string::npos) << info;
  EXPECT_NE(info.find("\n\nvariable "), std::string::npos) << info;
}

TEST_F(Import, WhatWasExportedReadsRowsOfTheTableAgain) {
  const std::string file = onnx(), data = folder + "/table.csv", back = folder + "/back";
  const std::string said = call_verb(add_import, {file, "--out", back});
  EXPECT_NE(
      said.find("a row of the table is read as before the export; from which it learned is not known\n"),
      std::string::npos)
      << said;
  EXPECT_EQ(call_verb(add_predict, {back, data}), call_verb(add_predict, {folder + "/model", data}));
  std::string note;
  EXPECT_NE(call_verb(add_evaluate, {back, data}, "", &note).find("accuracy"), std::string::npos);
  EXPECT_NE(note.find("does not say what it was trained on"), std::string::npos) << note;
}

TEST_F(Import, WhatWasExportedReadsImagesAgain) {
  std::string text;
  for (int row = 0; row < 40; ++row) {
    for (int pixel = 0; pixel < 4; ++pixel) text += pixel == row % 4 ? "255," : "0,";
    text += cat(row % 4, "\n");
  }
  const std::string data = write_file(folder + "/digits.csv", text), back = folder + "/back";
  call_verb(add_train, {"--data", data, "--model", folder + "/model", "--epochs", "2"});
  call_verb(add_export, {folder + "/model", "--to", "onnx", "--out", folder + "/net.onnx"});
  call_verb(add_import, {folder + "/net.onnx", "--out", back});
  EXPECT_EQ(call_verb(add_predict, {back, data}), call_verb(add_predict, {folder + "/model", data}));
  EXPECT_NE(call_verb(add_info, {back}).find("4 classes of images: 0, 1, 2, 3\n"), std::string::npos);
}

TEST_F(Import, HowRowsAreReadMustFitTheModelAndIsSaidToBeMissing) {
  const std::string whole = posix_env().read_file(onnx());
  const auto with = [&](const std::string& columns) {
    // A key that comes again counts.
    onnx::WireWriter entry, out;
    entry.bytes(1, "espalier.columns.json");
    entry.bytes(2, columns);
    out.bytes(14, entry.take());
    return write_file(folder + "/other.onnx", whole + out.take());
  };
  const auto rule = [&](const std::string& file) {
    return rule_of([&] { call_verb(add_import, {file, "--out", folder + "/back"}); });
  };
  EXPECT_EQ(rule(with("{")), "import.columns");
  std::string other = load_model(folder + "/model").file("columns.json");
  auto json = nlohmann::json::parse(other);
  json["steps"].erase(0);
  EXPECT_EQ(rule(with(json.dump())), "import.columns");
  EXPECT_FALSE(posix_env().exists(folder + "/back"));
  std::string bare = whole;
  for (size_t at = 0; (at = bare.find("espalier.", at)) != bare.npos;) bare.replace(at, 9, "elsewhere");
  const std::string said =
      call_verb(add_import, {write_file(folder + "/bare.onnx", bare), "--out", folder + "/back"});
  EXPECT_NE(said.find("the file does not say how a row of a table or an image becomes these"),
            std::string::npos)
      << said;
}

TEST_F(Import, WrongUseIsNamed) {
  const std::string file = onnx();
  const auto rule = [&](std::vector<std::string> arguments) {
    return rule_of([&] { call_verb(add_import, arguments); });
  };
  EXPECT_EQ(rule({folder + "/absent.onnx", "--out", folder + "/back"}), "file.read");
  for (const char* size : {"length", "length=", "length=0", "length=x", "="})
    EXPECT_EQ(rule({file, "--out", folder + "/back", "--size", size}), "import.size") << size;
  EXPECT_EQ(rule({file, "--out", folder + "/back", "--size", "lenght=3"}), "onnx.sizes");
  const Outcome table = call_command(cat("import ", folder, "/table.csv --out ", folder, "/back"));
  EXPECT_EQ(table.code, 2);
  EXPECT_NE(table.error.find("/table.csv is no ONNX model, or a part of one: "), std::string::npos)
      << table.error;
  EXPECT_EQ(rule({file, "--out", folder + "/absent/back"}), "save.path");
  EXPECT_FALSE(posix_env().exists(folder + "/back"));
}

}  // namespace
}  // namespace espalier::cli
