// C exports as a compiler for microcontrollers sees them.
#include <filesystem>
#include <sstream>

#include "base/env.h"
#include "base/philox.h"
#include "cli/verb_test.h"
#include "espalier/espalier.h"
#include "text/compiled_c_test.h"

namespace espalier::cli {
namespace {

struct MicrocontrollerSlow : FolderTest {
  std::string model = folder + "/model", object = folder + "/net.o";

  void SetUp() override {
    if (!have_command("arm-none-eabi-gcc"))
      GTEST_SKIP() << "there is no arm-none-eabi-gcc (Debian package gcc-arm-none-eabi)";
  }
  void save(Sequential net, const Shape& row) const {
    net.compile();
    Shape rows = row;
    rows.insert(0, 2);
    net.predict(zeros(rows));
    net.save(model);
  }
  // Bytes of machine code, weights left out, of the model on a Cortex-M4.
  int code_bytes() const {
    const std::string source = folder + "/net.c";
    call_verb(add_export, {model, "--to", "c", "--out", source});
    const auto [fine, output] = shell(cat(
        "arm-none-eabi-gcc -std=c99 -Wall -Werror -ffreestanding -Os -mcpu=cortex-m4 -mthumb -c -o ", object,
        " ", source, " && arm-none-eabi-size -A ", object, " | awk '$1 ~ /^.text/ {s += $2} END {print s}'"));
    EXPECT_TRUE(fine) << output;
    return fine ? std::stoi(output) : 0;
  }
  // What the file needs of others, but for what stands in for float hardware and copies memory.
  std::string needed() const {
    std::istringstream names(shell(cat("arm-none-eabi-nm -u ", object)).second);
    std::string out, name;
    while (names >> name) {
      if (name != "U" && !name.starts_with("__aeabi_") && !name.starts_with("mem")) out += name + " ";
    }
    return out;
  }
};

TEST_F(MicrocontrollerSlow, AnMlpIsSmall) {
  save(Sequential{Dense({.units = 128, .activation = "relu"}), Dense({.units = 10})}, {784});
  const int bytes = code_bytes();
  EXPECT_GT(bytes, 100);
  EXPECT_LE(bytes, 20 * 1024);
  EXPECT_EQ(needed(), "");
}

TEST_F(MicrocontrollerSlow, ACnnCompiles) {
  save(Sequential{Conv2D({.filters = 8, .kernel_size = {3, 3}, .padding = "same", .activation = "relu"}),
                  MaxPooling2D(), Flatten(), Dense({.units = 10, .activation = "softmax"})},
       {28, 28, 1});
  EXPECT_GT(code_bytes(), 100);
  EXPECT_EQ(needed(), "");
}

TEST_F(MicrocontrollerSlow, AModelOfATableCompiles) {
  Philox random(7);
  std::string text = "length,colour,day,kind\n";
  for (int i = 0; i < 200; ++i) {
    const float length = random.uniform();
    text += cat(length, random.below(2) ? ",red," : ",blue,", "2024-01-", 10 + i % 19,
                length > 0.5f ? ",rose\n" : ",iris\n");
  }
  call_verb(add_train, {"--data", write_file(folder + "/flowers.csv", text), "--label", "kind", "--model",
                        model, "--epochs", "2", "--hidden", "16"});
  EXPECT_GT(code_bytes(), 100);
  EXPECT_EQ(needed(), "");
}

}  // namespace
}  // namespace espalier::cli
