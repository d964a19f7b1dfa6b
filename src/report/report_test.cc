#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "espalier/error.h"
#include "report/image.h"
#include "report/progress.h"
#include "report/table.h"

namespace espalier {
namespace {

const Terminal kPlain{};
const Terminal kColors{.colors = true, .interactive = true};

TEST(Terminal, WidthOfText) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("caf\u00e9"), 4);
  EXPECT_EQ(display_width("cafe\u0301"), 4);
  EXPECT_EQ(display_width("\u65e5\u672c"), 4);
  EXPECT_EQ(display_width("\U0001f600"), 2);
  EXPECT_EQ(display_width("\x1b[1;31mred\x1b[0m"), 3);
  EXPECT_EQ(display_width("\xff\xc3"), 2) << "bytes that are no UTF-8 count one each";
  EXPECT_EQ(display_width("\x1b[31"), 0);
}

TEST(Terminal, FitsText) {
  EXPECT_EQ(fit_width("abcdef", 6), "abcdef");
  EXPECT_EQ(fit_width("abcdef", 5), "ab...");
  EXPECT_EQ(fit_width("\u65e5\u672c\u8a9e", 5), "\u65e5...");
  EXPECT_EQ(fit_width("abcdef", 2), "..");
}

TEST(Terminal, PaintsOnlyWithColors) {
  EXPECT_EQ(kPlain.paint(Ink::kBad, "x"), "x");
  EXPECT_EQ(kColors.paint(Ink::kBad, "x"), "\x1b[1;31mx\x1b[0m");
  EXPECT_EQ(kColors.paint(Ink::kPlain, "x"), "x");
}

TEST(Terminal, SwatchesAreColoursWhereThereAreAny) {
  EXPECT_EQ(Terminal{.colors = true}.swatch("#825c43"), "\x1b[48;2;130;92;67m  \x1b[0m");
  EXPECT_EQ(display_width(Terminal{.colors = true}.swatch("#825c43")), 2);
  EXPECT_EQ(Terminal{}.swatch("#825c43"), "");
}

// Open MPI's ranks have one each, wherever mpirun writes to.
TEST(Terminal, ThatOfMpirunIsNone) {
  int ours = -1, theirs = -1;
  if (::openpty(&ours, &theirs, nullptr, nullptr, nullptr) != 0) GTEST_SKIP() << "no terminals here";
  EXPECT_TRUE(Terminal::of(theirs).bounded);
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  const Terminal of_mpirun = Terminal::of(theirs);
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  EXPECT_FALSE(of_mpirun.colors || of_mpirun.interactive || of_mpirun.bounded);
  ::close(ours);
  ::close(theirs);
}

TEST(Terminal, AFileIsNoTerminal) {
  const Terminal file = Terminal::of(-1);
  EXPECT_FALSE(file.colors || file.interactive);
  const char* columns = std::getenv("COLUMNS");
  const std::string before = columns ? columns : "";
  ::unsetenv("COLUMNS");
  EXPECT_EQ(Terminal::of(-1).columns, 80);
  EXPECT_FALSE(Terminal::of(-1).bounded);
  ::setenv("COLUMNS", "50", 1);
  EXPECT_EQ(Terminal::of(-1).columns, 50);
  EXPECT_TRUE(Terminal::of(-1).bounded);
  columns ? ::setenv("COLUMNS", before.c_str(), 1) : ::unsetenv("COLUMNS");
}

TEST(Terminal, BlocksBesideEachOther) {
  EXPECT_EQ(beside({"a\nbbb\n", "\x1b[1mx\x1b[0m\n", "1\n2\n3"}),
            "a    \x1b[1mx\x1b[0m  1\n"
            "bbb     2\n"
            "        3\n");
  EXPECT_EQ(beside({}), "");
}

TEST(Table, AlignsNumbersRightAndTextLeft) {
  Table table({"layer", "shape", "weights", ""});
  table.row({"dense_1", "[784,128]", 100352, "x"})
      .row({"caf\u00e9", "[128]", 128, ""})
      .row({"", "-", "-", "y"});
  EXPECT_EQ(table.text(kPlain),
            "layer    shape      weights\n"
            "-------  ---------  -------  -\n"
            "dense_1  [784,128]   100352  x\n"
            "caf\u00e9     [128]          128\n"
            "         -                -  y\n");
}

TEST(Table, LineBreaksInCellsAreShown) {
  Table table({"a\tb", "n"});
  table.row({"x\ny", 1});
  EXPECT_EQ(table.text(kPlain), "a\\tb  n\n----  -\nx\\ny  1\n");
}

TEST(Table, InkDoesNotMoveColumns) {
  Table table({"a", "n"});
  table.row({TableCell("x", Ink::kDim), TableCell(10, Ink::kBad)}).row({"yy", 5});
  EXPECT_EQ(table.text(kColors),
            "\x1b[1ma\x1b[0m    \x1b[1mn\x1b[0m\n"
            "\x1b[2m--\x1b[0m  \x1b[2m--\x1b[0m\n"
            "\x1b[2mx\x1b[0m   \x1b[1;31m10\x1b[0m\n"
            "yy   5\n");
}

TEST(Terminal, WrapsText) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("one two three", 6), (Lines{"one", "two", "three"}));
  EXPECT_EQ(wrapped("incomprehensible", 6), (Lines{"incomp", "rehens", "ible"}));
  EXPECT_EQ(wrapped("\u65e5\u672c\u8a9e", 5), (Lines{"\u65e5\u672c", "\u8a9e"}));
  EXPECT_EQ(wrapped("short", 6), Lines{"short"});
  EXPECT_EQ(wrapped("", 6), Lines{""});
}

TEST(Table, TextGoesOverLinesWhereTheTerminalIsNarrow) {
  Table table({"of", "what", "n"});
  table.row({"a", "many words that do not fit in so few columns", 12}).row({"b", "few", 7});
  EXPECT_EQ(table.text({.bounded = true, .columns = 30}),
            "of  what                     n\n"
            "--  ----------------------  --\n"
            "a   many words that do not  12\n"
            "    fit in so few columns\n"
            "b   few                      7\n");
  EXPECT_EQ(table.text({.bounded = true, .columns = 52}), table.text(kPlain)) << "as wide as it is";
  EXPECT_NE(table.text({.bounded = true, .columns = 51}), table.text(kPlain));
}

TEST(Table, WordsStayWholeWhereTheOthersHaveRoom) {
  Table table({"reason", "what"});
  table.row({"SCHEMA_MISSING_COLUMN", "a column is gone that once was there"});
  EXPECT_EQ(table.text({.bounded = true, .columns = 40}),
            "reason                 what\n"
            "---------------------  -----------------\n"
            "SCHEMA_MISSING_COLUMN  a column is gone\n"
            "                       that once was\n"
            "                       there\n");
}

TEST(Table, ColumnsComeInBlocksWhereTheTerminalIsNarrower) {
  Table table({"slice", "rows", "accuracy", "false_positive_rate"});
  table.row({"sex=Female", 100, "0.9", "0.25"}).row({"sex=Male", 90, "0.8", "0.5"});
  EXPECT_EQ(table.text({.bounded = true, .columns = 34}),
            "slice       rows  accuracy\n"
            "----------  ----  --------\n"
            "sex=Female   100       0.9\n"
            "sex=Male      90       0.8\n"
            "\n"
            "slice       false_positive_rate\n"
            "----------  -------------------\n"
            "sex=Female                 0.25\n"
            "sex=Male                    0.5\n");
  EXPECT_EQ(table.text({.columns = 34}).find("\n\n"), std::string::npos) << "unbounded";
}

// Whatever is in the cells, no line of text and short numbers is too wide, and no word is lost.
TEST(Table, LinesFitTheTerminal) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const size_t columns = 1 + random() % 12;
    std::vector<std::string> header;
    for (size_t c = 0; c < columns; ++c) header.push_back(std::string(1 + random() % 12, 'h'));
    Table table(header);
    for (int r = 0; r < 5; ++r) {
      std::vector<TableCell> cells;
      for (size_t c = 0; c < columns; ++c) {
        std::string cell = c % 2 ? cat(random() % 1000000) : "";
        for (size_t words = random() % 9; c % 2 == 0 && words > 0; --words)
          cell += cat(cell.empty() ? "" : " ", std::string(1 + random() % 20, 'w'));
        cells.emplace_back(cell);
      }
      table.row(cells);
    }
    const int width = 40 + static_cast<int>(random() % 60);
    const std::string text = table.text({.bounded = true, .columns = width});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width) << text;
    const bool whole = text.find("\n\n") == text.npos;
    EXPECT_TRUE(!whole || std::ranges::count(text, 'w') == std::ranges::count(table.text(kPlain), 'w'))
        << text;
  }
}

TEST(Table, RowsHaveAllCells) { EXPECT_THROW(Table({"a", "b"}).row({"x"}), ValueError); }

TEST(Table, NumbersAsText) {
  EXPECT_EQ(fixed(0.12345, 3), "0.123");
  EXPECT_EQ(percent(0.975), "97.5 %");
  EXPECT_EQ(percent(1, 0), "100 %");
}

TEST(ConfusionMatrix, ShowsMistakes) {
  const int64_t counts[] = {9, 1, 0, 0, 20, 0, 0, 0, 0};
  EXPECT_EQ(confusion_matrix(counts, {"0", "1", "2"}, kPlain),
            "true             0       1  2   recall\n"
            "---------  -------  ------  -  -------\n"
            "0                9       1  .   90.0 %\n"
            "1                .      20  .  100.0 %\n"
            "2                .       .  .        -\n"
            "precision  100.0 %  95.2 %  -\n");
  const int64_t two[] = {3, 1, 0, 2};
  EXPECT_EQ(confusion_matrix(two, {"a", "b"}, kColors),
            "\x1b[1mtrue\x1b[0m             \x1b[1ma\x1b[0m       \x1b[1mb\x1b[0m   \x1b[1mrecall\x1b[0m\n"
            "\x1b[2m---------\x1b[0m  \x1b[2m-------\x1b[0m  \x1b[2m------\x1b[0m  \x1b[2m-------\x1b[0m\n"
            "\x1b[1ma\x1b[0m                \x1b[2m3\x1b[0m       \x1b[1;31m1\x1b[0m   75.0 %\n"
            "\x1b[1mb\x1b[0m                \x1b[2m.\x1b[0m       \x1b[2m2\x1b[0m  100.0 %\n"
            "\x1b[1mprecision\x1b[0m  100.0 %  66.7 %\n");
  // Ten classes fit a terminal.
  std::vector<std::string> digits;
  for (int i = 0; i < 10; ++i) digits.push_back(cat(i));
  const std::string wide = confusion_matrix(std::vector<int64_t>(100, 9999), digits, kPlain);
  EXPECT_LE(wide.find('\n'), 80u);
  EXPECT_EQ(std::ranges::count(wide, '%'), 20);
  EXPECT_EQ(wide.find('.'), wide.npos) << "both margins are whole percents\n" << wide;
  EXPECT_THROW(confusion_matrix(two, {"a"}, kPlain), ValueError);
}

TEST(Image, PlainRamp) {
  const float pixels[] = {0, 8, 16, 16, 4, 0};
  EXPECT_EQ(draw_image(pixels, 2, 3, kPlain, 0, 16),
            "  ++@@\n"
            "@@::\n");
}

TEST(Image, HalfBlocks) {
  const float pixels[] = {0, 1, 1, 0, 0.5f, 0.5f};
  EXPECT_EQ(draw_image(pixels, 3, 2, kColors),
            "\x1b[38;5;232;48;5;255m\u2580\x1b[38;5;255;48;5;232m\u2580\x1b[0m\n"
            "\x1b[38;5;244m\u2580\x1b[38;5;244m\u2580\x1b[0m\n");
}

TEST(Image, OddValuesAndSizes) {
  const float pixels[] = {-5, std::numeric_limits<float>::quiet_NaN(), 100};
  EXPECT_EQ(draw_image(pixels, 1, 3, kPlain), "    @@\n");
  EXPECT_EQ(draw_image({}, 0, 3, kPlain), "");
  EXPECT_THROW(draw_image(pixels, 2, 2, kPlain), ValueError);
}

class FakeEnv final : public Env {
 public:
  double seconds = 100;
  std::string read_file(const std::string&) override { return ""; }
  void write_parts(const std::string&, std::span<const std::string_view>, Readers) override {}
  void write_folder(const std::string&, const std::map<std::string, std::string>&,
                    const std::vector<std::string>&) override {}
  void check_writable(const std::string&) override {}
  std::map<std::string, std::string> read_folder(const std::string&) override { return {}; }
  void remove_left_overs(const std::string&) override {}
  bool exists(const std::string&) override { return false; }
  std::vector<std::string> list_folder(const std::string&) override { return {}; }
  void make_folder(const std::string&) override {}
  void remove_file(const std::string&) override {}
  double wall_seconds() override { return seconds; }
  double steady_seconds() override { return seconds; }
  uint64_t entropy() override { return 4; }
};

TEST(Progress, OneLineThatIsOverwritten) {
  FakeEnv env;
  std::ostringstream out;
  ProgressBar bar(out, kColors, env);
  bar.start("epoch 1/2", 200);
  env.seconds += 2;
  bar.update(50, "loss 0.5");
  EXPECT_EQ(out.str(), "\r\x1b[2Kepoch 1/2 [=====>              ]  50/200  25/s  eta 0:06  loss 0.5");
  env.seconds += 0.05;
  bar.update(60, "loss 0.4");
  EXPECT_EQ(out.str().find("60/200"), std::string::npos) << "not ten times a second yet";
  env.seconds += 5.95;
  out.str("");
  bar.update(200);
  EXPECT_EQ(out.str(), "\r\x1b[2Kepoch 1/2 [====================]  200/200  25/s  eta 0:00");
  out.str("");
  bar.finish("loss 0.25");
  EXPECT_EQ(out.str(), "\r\x1b[2Kepoch 1/2  200 in  8.0s      25/s  loss 0.25\n");
  out.str("");
  bar.clear();
  bar.start("epoch 2/2", 200);
  bar.update(1);
  bar.clear();
  EXPECT_EQ(out.str(), "") << "short loops are not drawn";
}

TEST(Progress, ALogGetsALineInHalfAMinute) {
  FakeEnv env;
  std::ostringstream out;
  ProgressBar bar(out, kPlain, env);
  const auto said = [&] {
    std::string text = out.str();
    out.str("");
    return text;
  };
  for (const char* epoch : {"epoch 1/4", "epoch 2/4"}) {
    bar.start(epoch, 50);
    env.seconds += 14;
    bar.update(50, "loss 0.5");
    bar.finish("loss 0.5");
  }
  EXPECT_EQ(said(), "") << "28 seconds";
  bar.start("epoch 3/4", 50);
  env.seconds += 25;
  bar.update(5, "loss 0.4");
  EXPECT_EQ(said(), "epoch 3/4  5/50  0.2/s  eta 3:45  loss 0.4\n");
  env.seconds += 25;
  bar.finish("loss 0.3");
  EXPECT_EQ(said(), "") << "25 seconds after the last line";
  bar.start("epoch 4/4", 0);
  env.seconds += 120;
  bar.finish();
  EXPECT_EQ(said(), "epoch 4/4  0 in  2:00     0.0/s\n");
}

TEST(Progress, StepsHaveAUnitAndMayLeaveNothing) {
  FakeEnv env;
  std::ostringstream out;
  ProgressBar bar(out, kColors, env);
  bar.start("reading t.csv", 500, " MB");
  env.seconds += 1;
  bar.update(250);
  EXPECT_EQ(out.str(), "\r\x1b[2Kreading t.csv [==========>         ]  250/500 MB  250 MB/s  eta 0:01");
  out.str("");
  bar.clear();
  EXPECT_EQ(out.str(), "\r\x1b[2K");
}

TEST(Progress, NarrowTerminalsGetCutLines) {
  FakeEnv env;
  std::ostringstream out;
  ProgressBar bar(out, {.interactive = true, .columns = 12}, env);
  bar.start("epoch", 0);
  env.seconds += 1;
  bar.update(7);
  EXPECT_EQ(out.str(), "\r\x1b[2Kepoch  7...");
}

TEST(Progress, MetricsAreShownBeforeWhatMattersLess) {
  FakeEnv env;
  std::ostringstream out;
  ProgressBar bar(out, {.interactive = true, .columns = 64}, env);
  const std::string metrics = "loss 0.2500  accuracy 0.9000", more = metrics + "  val_accuracy 0.8";
  const auto said = [&] {
    std::string text = out.str();
    out.str("");
    return text;
  };
  bar.start("epoch 1/2", 200);
  env.seconds += 2;
  bar.update(50, metrics);
  EXPECT_EQ(said(), cat("\r\x1b[2Kepoch 1/2  50/200  eta 0:06  ", metrics));
  bar.finish(metrics);
  EXPECT_EQ(said(), cat("\r\x1b[2Kepoch 1/2  50 in  2.0s      25/s  ", metrics, "\n"));
  bar.finish(more);
  EXPECT_EQ(said(), cat("epoch 1/2  ", more, "\n"));
}

TEST(Progress, Durations) {
  EXPECT_EQ(duration(9.46), "9.5s");
  EXPECT_EQ(duration(125), "2:05");
  EXPECT_EQ(duration(3725), "1:02:05");
}

}  // namespace
}  // namespace espalier
