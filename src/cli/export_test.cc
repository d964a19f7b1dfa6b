#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "cli/verb_test.h"
#include "espalier/columns.h"
#include "espalier/decision.h"
#include "espalier/error.h"
#include "espalier/saved_model.h"
#include "format/onnx.h"
#include "report/table.h"
#include "text/compiled_c_test.h"
#include "text/text.h"

namespace espalier::cli {
namespace {

std::string flowers_csv(int rows) {
  Philox random(7);
  std::string text = "length,colour */,kind\n";
  for (int i = 0; i < rows; ++i) {
    const float length = random.uniform() * 10;
    const bool red = random.below(2);
    text += cat(length, ",", red ? "red" : "blue", ",", length > (red ? 3 : 7) ? "rose" : "iris", "\n");
  }
  return text;
}

// A folder with a model that was trained on a table, made once.
const std::string& trained() {
  static const std::string folder = [] {
    const std::string path = fresh_folder(cat("exports", getpid()));
    write_file(path + "/flowers.csv", flowers_csv(400));
    call_verb(add_train, {"--data", path + "/flowers.csv", "--label", "kind", "--model", path + "/model",
                          "--epochs", "8", "--hidden", "16"});
    return path;
  }();
  return folder;
}

nlohmann::json evaluated(const std::string& model) {
  return nlohmann::json::parse(call_verb(add_evaluate, {model, trained() + "/flowers.csv", "--json"}));
}

TEST(Export, ATableModelGoesToC) {
  const std::string out = trained() + "/net.c";
  const auto said = nlohmann::json::parse(
      call_verb(add_export, {trained() + "/model", "--to", "c", "--out", out, "--name", "net", "--json"}));
  EXPECT_EQ(said["files"][0], out);
  EXPECT_EQ(said["files"][1], trained() + "/net.h");
  const std::string source = posix_env().read_file(out), header = posix_env().read_file(trained() + "/net.h");
  EXPECT_NE(source.find("0 length: (x - "), std::string::npos) << source.substr(0, 600);
  EXPECT_NE(source.find("colour * /=red"), std::string::npos) << source.substr(0, 600);
  EXPECT_NE(source.find("1 rose\n"), std::string::npos);
  EXPECT_NE(header.find("int net_predict(const float *input, float *output);"), std::string::npos);
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  EXPECT_EQ(refusal("gcc", source), "");
}

// What a caller needs to say what `espalier predict` says stands in the comment.
TEST(Export, TheCommentSaysWhichCellsAreMissingAndHowAClassIsChosen) {
  const std::string model = trained() + "/chosen", out = trained() + "/chosen.c";
  call_verb(add_train, {"--data", trained() + "/flowers.csv", "--label", "kind", "--model", model, "--epochs",
                        "1", "--hidden", "4", "--threshold", "0.2", "--positive", "rose"});
  std::string said;
  call_verb(add_export, {model, "--to", "c", "--out", out}, "", &said);
  const ColumnProgram columns = ColumnProgram::from_json(posix_env().read_file(model + "/columns.json"));
  const Decision decision =
      Decision::from_json(posix_env().read_file(model + "/decision.json"), columns.classes());
  const std::string chosen =
      cat("`espalier predict` does not take the likeliest class: a row is ",
          columns.classes()[static_cast<size_t>(*decision.positive)], " from a probability of 0.2 on");
  EXPECT_EQ(said, cat("note: ", chosen, "\n"));
  const std::string source = posix_env().read_file(out);
  EXPECT_NE(source.find(cat(" * ", chosen, "\n")), std::string::npos) << source.substr(0, 900);
  EXPECT_NE(
      source.find(" * Blanks around a cell are no part of it. Missing are \"\", \"?\", \"-\", \"NA\", "),
      std::string::npos)
      << source.substr(0, 900);
  EXPECT_NE(
      source.find(", \"None\", and what is no number, date or truth value where the column holds them; truth "
                  "values are read in any case.\n"),
      std::string::npos)
      << source.substr(0, 900);
  call_verb(add_export, {trained() + "/model", "--to", "c", "--out", out}, "", &said);
  EXPECT_EQ(said, "");
}

TEST(Export, TheCommentOfARegressionNamesTheBoundsOfItsPredictions) {
  std::string text = "x,price\n";
  for (int i = 0; i < 60; ++i) text += cat(i % 7, ",", i % 13 + 0.5, "\n");
  const std::string model = trained() + "/price", out = trained() + "/price.c";
  call_verb(add_train, {"--data", write_file(trained() + "/price.csv", text), "--label", "price", "--model",
                        model, "--epochs", "1", "--hidden", "4"});
  call_verb(add_export, {model, "--to", "c", "--out", out});
  EXPECT_NE(posix_env().read_file(out).find(
                "which `espalier predict` keeps within the labels of the training rows, 0.5 to 12.5\n"),
            std::string::npos);
}

TEST(Export, NamesInCAreThoseOfTheFile) {
  for (const auto& [file, name] :
       std::map<std::string, std::string>{{"late-orders.c", "late_orders"}, {"2nd.c", "model_2nd"}}) {
    call_verb(add_export, {trained() + "/model", "--to", "c", "--out", trained() + "/" + file});
    EXPECT_NE(posix_env().read_file(trained() + "/" + file).find(cat("int ", name, "_predict(")),
              std::string::npos);
  }
}

TEST(Export, ANameWithoutEndingGetsThatOfCAndTheNextCommandCompilesIt) {
  const std::string out = trained() + "/bare";
  EXPECT_EQ(call_verb(add_export, {trained() + "/model", "--to", "c", "--out", out}),
            cat("wrote ", out, ".c ", out, ".h: for 1 row a call of bare_predict\nnext: cc -std=c99 -O2 -c ",
                out, ".c\n"));
  EXPECT_FALSE(posix_env().exists(out));
  const std::string text = call_verb(add_export, {trained() + "/model", "--to", "c", "--out", out + ".txt"});
  EXPECT_NE(text.find(cat("next: cc -std=c99 -O2 -x c -c ", out, ".txt\n")), std::string::npos) << text;
}

TEST(Export, ATableModelGoesToOnnxAndStablehlo) {
  const std::string onnx = trained() + "/net.onnx", module = trained() + "/net.mlir";
  call_verb(add_export, {trained() + "/model", "--to", "onnx", "--out", onnx});
  const std::string bytes = posix_env().read_file(onnx);
  EXPECT_NE(bytes.find("x0"), std::string::npos);
  const ColumnProgram columns =
      ColumnProgram::from_json(posix_env().read_file(trained() + "/model/columns.json"));
  EXPECT_NE(bytes.find("The input is what the column program"), std::string::npos);
  for (const std::string& name : columns.feature_names())
    EXPECT_NE(bytes.find(cat(" ", name, ": ")), std::string::npos) << name;
  EXPECT_NO_THROW(parse_onnx(std::as_bytes(std::span(bytes))));
  const std::string written = call_verb(add_export, {trained() + "/model", "--to", "onnx", "--out", "-"});
  EXPECT_EQ(written.size(), bytes.size());
  EXPECT_NO_THROW(parse_onnx(std::as_bytes(std::span(written))));
  EXPECT_THROW(call_verb(add_export, {trained() + "/model", "--to", "c", "--out", "-"}), ValueError);
  EXPECT_THROW(call_verb(add_export, {trained() + "/model", "--to", "onnx", "--out", "-", "--json"}),
               ValueError);
  const auto rows_of_module = [&](std::vector<std::string> flags) {
    std::vector<std::string> arguments = {trained() + "/model", "--to", "stablehlo", "--out", module};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    call_verb(add_export, arguments);
    const auto graph = parse_program(posix_env().read_file(module));
    return std::pair(graph->type(graph->inputs()[0].value).shape[0], graph->inputs().size());
  };
  EXPECT_EQ(rows_of_module({}), std::pair(int64_t{1}, size_t{1}));
  EXPECT_EQ(rows_of_module({"--batch", "7"}), std::pair(int64_t{7}, size_t{1}));
  EXPECT_GT(rows_of_module({"--weights-as-arguments"}).second, 1u);
}

TEST(Export, OptionsOfAnotherFormatAreRefused) {
  const std::string out = trained() + "/refused.c";
  const auto message = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {trained() + "/model", "--out", out});
    try {
      call_verb(add_export, words);
    } catch (const ValueError& error) {
      return cat(error.rule(), ": ", error.message());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message({"--to", "c", "--batch", "4"}),
            "export.option: --batch is for --to onnx and stablehlo, not for c");
  EXPECT_EQ(message({"--to", "C", "--weights-as-arguments"}),
            "export.option: --weights-as-arguments is for --to stablehlo, not for c");
  EXPECT_EQ(message({"--to", "onnx", "--weights-as-arguments"}),
            "export.option: --weights-as-arguments is for --to stablehlo, not for onnx");
  EXPECT_EQ(message({"--to", "onnx", "--name", "foo"}), "export.option: --name is for --to c, not for onnx");
  EXPECT_EQ(message({"--to", "StableHLO", "--caller-scratch"}),
            "export.option: --caller-scratch is for --to c, not for stablehlo");
  EXPECT_FALSE(posix_env().exists(out));
}

TEST(Export, AFolderIsNoFileToWrite) {
  for (const std::string& out : {trained(), trained() + "/", trained() + "/new/"}) {
    for (const char* format : {"c", "onnx", "stablehlo"}) {
      try {
        call_verb(add_export, {trained() + "/model", "--to", format, "--out", out});
        ADD_FAILURE() << out;
      } catch (const ValueError& error) {
        EXPECT_EQ(error.message(), cat(out, " is a folder, and what is written a file"));
      }
    }
  }
  EXPECT_FALSE(posix_env().exists(trained() + "/.c"));
}

TEST(Export, UnknownFormatsNameTheNearest) {
  try {
    call_verb(add_export, {trained() + "/model", "--to", "c++", "--out", trained() + "/x.c"});
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("known are c, onnx, stablehlo"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(call_verb(add_export, {trained() + "/model", "--to", "c", "--out", trained() + "/x.h"}),
               ValueError);
  EXPECT_THROW(call_verb(add_export, {trained() + "/none", "--to", "c", "--out", trained() + "/x.c"}),
               IoError);
  EXPECT_THROW(call_verb(add_export,
                         {trained() + "/model", "--to", "c", "--out", trained() + "/x.c", "--name", "a b"}),
               ValueError);
  EXPECT_FALSE(std::filesystem::exists(trained() + "/x.c"));
}

TEST(Quantize, ATableModelKeepsItsAccuracyAndGoesToC) {
  const std::string small = trained() + "/small";
  const std::string said = call_verb(
      add_quantize, {trained() + "/model", "--calibrate", trained() + "/flowers.csv", "--out", small});
  EXPECT_NE(said.find("2 products on 8-bit integers, ranges from 320 rows\n"), std::string::npos) << said;
  EXPECT_NE(said.find("on 80 rows that the ranges are not from\n"), std::string::npos) << said;
  EXPECT_NE(said.find("next: espalier evaluate "), std::string::npos) << said;
  const double before = evaluated(trained() + "/model")["accuracy"], after = evaluated(small)["accuracy"];
  EXPECT_GE(after, before - 0.01);
  EXPECT_NE(said.find(cat("accuracy ", fixed(before, 4), " before, ", fixed(after, 4), " now: ")),
            std::string::npos)
      << said;
  call_verb(add_export, {small, "--to", "c", "--out", trained() + "/small.c"});
  EXPECT_NE(posix_env().read_file(trained() + "/small.c").find("static const int8_t w"), std::string::npos);
  EXPECT_THROW(call_verb(add_quantize, {trained() + "/model", "--calibrate", trained() + "/flowers.csv",
                                        "--out", small, "--percentile", "3"}),
               ValueError);
}

TEST(Quantize, SaysWhatItCostOnRowsThatHaveLabels) {
  const std::string small = trained() + "/cost";
  const auto cost_on = [&](const std::string& rows) {
    std::filesystem::remove_all(small);
    return nlohmann::json::parse(call_verb(
        add_quantize, {trained() + "/model", "--calibrate", rows, "--out", small, "--json"}))["cost"];
  };
  // Of its training data the test rows are evaluated; all of others.
  const auto kept = cost_on(trained() + "/flowers.csv");
  const auto scored = evaluated(trained() + "/model");
  EXPECT_EQ(kept["rows"], scored["rows"]);
  EXPECT_EQ(kept["before"], scored["accuracy"]);
  EXPECT_EQ(kept["after"], evaluated(small)["accuracy"]);
  const std::string wrong =
      write_file(trained() + "/wrong.csv", "length,colour */,kind\n9.5,red,iris\n0.5,red,iris\n");
  EXPECT_EQ(cost_on(wrong),
            nlohmann::json({{"rows", 2}, {"metric", "accuracy"}, {"before", 0.5}, {"after", 0.5}}));
  const std::string bare = write_file(trained() + "/bare.csv", "length,colour */\n9.5,red\n0.5,red\n");
  EXPECT_EQ(cost_on(bare), nullptr);
  std::filesystem::remove_all(small);
  const std::string same =
      call_verb(add_quantize, {trained() + "/model", "--calibrate", wrong, "--out", small});
  EXPECT_NE(same.find("ranges from 2 rows\n"), std::string::npos) << same;
  EXPECT_NE(same.find("on 2 rows, which the ranges are from\n"), std::string::npos) << same;
  std::filesystem::remove_all(small);
  const std::string said =
      call_verb(add_quantize, {trained() + "/model", "--calibrate", bare, "--out", small});
  EXPECT_NE(said.find("what it cost is not known: " + bare + " has no labels\n"), std::string::npos) << said;
}

}  // namespace
}  // namespace espalier::cli
