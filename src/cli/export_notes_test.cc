// What exports say of their inputs and outputs, followed.
#include <cmath>
#include <sstream>

#include "cli/pictures_test.h"
#include "espalier/espalier.h"
#include "text/compiled_c_test.h"

namespace espalier::cli {
namespace {

struct ExportNotes : PicturesTest {
  std::string exported(const std::string& of, const std::string& format) const {
    const std::string out = cat(folder, "/net.", format);
    call_verb(add_export, {of, "--to", format, "--out", out});
    return posix_env().read_file(out);
  }
};

// Along the first of two axes, as the notes say it.
std::vector<double> resized(const std::vector<double>& from, int64_t to_size, int64_t inner) {
  const int64_t from_size = std::ssize(from) / inner;
  std::vector<double> out(static_cast<size_t>(to_size * inner));
  const double s = static_cast<double>(from_size) / static_cast<double>(to_size), r = std::max(s, 1.0);
  for (int64_t i = 0; i < to_size; ++i) {
    const double c = (static_cast<double>(i) + 0.5) * s - 0.5;
    double sum = 0;
    for (int64_t j = 0; j < from_size; ++j) {
      const double weight = std::max(0.0, 1 - std::fabs(static_cast<double>(j) - c) / r);
      sum += weight;
      for (int64_t k = 0; k < inner; ++k)
        out[static_cast<size_t>(i * inner + k)] += weight * from[static_cast<size_t>(j * inner + k)];
    }
    for (int64_t k = 0; k < inner; ++k) out[static_cast<size_t>(i * inner + k)] /= sum;
  }
  return out;
}

TEST_F(ExportNotes, OfImagesLeadToWhatPredictSays) {
  trained(squares(), model);
  const std::string source = exported(model, "c");
  for (const char* part :
       {" * The input is an image of 12x16: rows from the top, of each its pixels from the left, of each "
        "pixel "
        "its red, green and blue, each from 0 to 1: a byte divided by 255.\n",
        " max(0, 1 - |j - c| / r) divided by their sum, ",
        ", of which softmax makes probabilities:\n *   0 blue\n *   1 red\n"})
    EXPECT_NE(source.find(part), std::string::npos) << part << "\n" << source.substr(0, 2000);
  EXPECT_NE(exported(model, "onnx").find("The input is an image of 12x16: rows from"), std::string::npos);
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  write_file(
      folder + "/main.c",
      "#include <stdio.h>\n#include \"net.h\"\nint main(void) {\n  float in[NET_INPUT_SIZE], "
      "out[NET_OUTPUT_SIZE];\n  for (int i = 0; i < NET_INPUT_SIZE; ++i)\n    if (scanf(\"%f\", in + i) "
      "!= 1) return 1;\n  net_predict(in, out);\n  for (int i = 0; i < NET_OUTPUT_SIZE; ++i) "
      "printf(\"%.9g \", out[i]);\n  return 0;\n}\n");
  const auto [fine, output] = shell(cat("cd ", folder, " && gcc -std=c99 -O1 -o net net.c main.c"));
  ASSERT_TRUE(fine) << output;
  for (const int64_t height : {12, 7, 31}) {
    const Drawn drawn = square(height == 12, 3, height, 16);
    write_png(folder + "/one.png", drawn);
    std::vector<double> pixels(drawn.pixels.begin(), drawn.pixels.end());
    for (double& pixel : pixels) pixel /= 255;
    std::string text;
    for (const double value : resized(pixels, 12, 16 * 3)) text += cat(value, "\n");
    write_file(folder + "/in", text);
    std::istringstream said(shell(cat(folder, "/net < ", folder, "/in")).second);
    double blue = 0, red = 0;
    ASSERT_TRUE(said >> blue >> red);
    const auto wanted = json(add_predict, {model, folder + "/one.png", "--all"})["predictions"][0];
    EXPECT_NEAR(1 / (1 + std::exp(blue - red)), wanted["probabilities"][1].get<double>(), 1e-4) << height;
  }
}

TEST_F(ExportNotes, OfGrayImagesSayHowColoursBecomeGray) {
  for (int i = 0; i < 10; ++i) {
    write_png(cat(folder, "/gray/dark/", i, ".png"), gray(false, i));
    write_png(cat(folder, "/gray/bright/", i, ".png"), gray(true, i));
  }
  trained(folder + "/gray", model);
  const std::string source = exported(model, "c");
  EXPECT_NE(source.find("an image of 5x7: rows from the top, of each its pixels from the left, of each pixel "
                        "its grey, each"),
            std::string::npos)
      << source.substr(0, 2000);
  EXPECT_NE(source.find("the grey is 0.299 red + 0.587 green + 0.114 blue"), std::string::npos);
}

TEST_F(ExportNotes, TextsOfCellsAreStringsOfC) {
  std::string text = "town,kind\n";
  for (int i = 0; i < 60; ++i)
    text +=
        cat(i % 2 ? "\"Bad\nT\xc3\xb6lz\"" : "\"a\"\"b\\*/\"", ",", i % 3 ? "\"big\tone\"" : "small", "\n");
  const std::string data = write_file(folder + "/towns.csv", text);
  call_verb(add_train,
            {"--data", data, "--label", "kind", "--model", model, "--epochs", "1", "--missing", "un\\known"});
  const std::string source = exported(model, "c"), doc = exported(model, "onnx");
  for (const char* part :
       {"1 where x is \"Bad\\nT\xc3\xb6lz\", else 0", "1 where x is \"a\\\"b\\\\*\\057\", else 0",
        "  0 \"big\\tone\"\n", "  1 small", ", \"un\\\\known\""}) {
    EXPECT_NE(source.find(part), std::string::npos) << part << "\n" << source.substr(0, 2000);
    EXPECT_NE(doc.find(std::string(part).substr(0, 12)), std::string::npos) << part;
  }
}

TEST_F(ExportNotes, EveryInputIsNamed) {
  const Placeholder left = Input({2}, {.name = "left"}), right = Input({2}, {.name = "right"});
  Functional net({left, right}, {connect(Dense({.units = 3}), connect(Add(), {left, right}))});
  net({zeros({1, 2}), zeros({1, 2})});
  net.save(model);
  const std::string said = call_verb(add_export, {model, "--to", "onnx", "--out", folder + "/net.onnx"});
  EXPECT_NE(said.find(": for any number of rows, inputs left, right; onnxruntime runs it"), std::string::npos)
      << said;
}

}  // namespace
}  // namespace espalier::cli
