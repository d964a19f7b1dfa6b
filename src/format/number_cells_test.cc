#include "format/number_cells.h"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/decimal.h"

namespace espalier {
namespace {

// Cells with commas behind them, as read_number_cells() takes them.
struct Cells {
  std::string text = "no cell of these,";
  std::vector<uint32_t> starts = {static_cast<uint32_t>(text.size())};
  void add(const std::string& cell) {
    text += cell + ",";
    starts.push_back(static_cast<uint32_t>(text.size()));
  }
  std::string cell(size_t i) const { return text.substr(starts[i], starts[i + 1] - 1 - starts[i]); }
  std::vector<double> read(ReadNumberCells* how, DigitForm form, size_t stride = 1) const {
    std::vector<double> out((starts.size() - 2) / stride + 1);
    const NumberCells found = how(text.data(), starts.data(), stride, out.size(), form, out.data());
    NumberCells expected;
    for (const double value : out) expected.add(value);
    EXPECT_EQ(found.numbers, expected.numbers);
    EXPECT_EQ(found.zeros, expected.zeros);
    return out;
  }
};

std::vector<ReadNumberCells*> ways_of_numbers() {
  std::vector<ReadNumberCells*> out = {read_number_cells_portable, read_number_cells};
#if defined(__x86_64__)
  if (current_isa() >= Isa::kAvx2) out.push_back(read_number_cells_avx2);
  if (current_isa() >= Isa::kAvx512) out.push_back(read_number_cells_avx512);
#endif
  return out;
}

std::string any_cell(std::mt19937_64& random) {
  static constexpr std::string_view kLetters = "0123456789.-+eE x";
  std::string out;
  const size_t known = random() % 4 ? 11 : kLetters.size();
  for (size_t i = random() % 20; i > 0; --i) out += kLetters[random() % known];
  return (random() % 4 == 0 ? "-" : random() % 16 == 0 ? "+" : "") + out;
}

TEST(NumberCells, AreWhatTheLongWaySays) {
  std::mt19937_64 random(21);
  Cells cells;
  for (int i = 0; i < 100000; ++i) cells.add(any_cell(random));
  for (ReadNumberCells* way : ways_of_numbers()) {
    for (const DigitForm form : {DigitForm::kWhole, DigitForm::kReal, DigitForm::kSingle}) {
      const bool whole = form == DigitForm::kWhole;
      const std::vector<double> found = cells.read(way, form);
      for (size_t i = 0; i < found.size(); ++i) {
        const std::string cell = cells.cell(i);
        const std::optional<double> expected = parse_decimal(cell);
        if (std::isnan(found[i])) {
          const bool plain = cell.find_first_not_of("0123456789.+-") == cell.npos;
          ASSERT_TRUE(!expected || !plain || cell.size() > 15 || (whole && cell.find('.') != cell.npos))
              << cell;
        } else {
          const bool single = form == DigitForm::kSingle;
          ASSERT_TRUE(expected) << cell;
          ASSERT_EQ(found[i], single ? static_cast<double>(static_cast<float>(*expected)) : *expected)
              << cell;
          ASSERT_TRUE(whole || std::signbit(found[i]) == cell.starts_with('-')) << cell;
          ASSERT_TRUE(!whole || cell.find('.') == cell.npos) << cell;
        }
      }
    }
  }
}

TEST(NumberCells, NeitherInexactNorLongOnesAreRead) {
  Cells cells;
  // Eight of each, so that those read at once are tried.
  for (int i = 0; i < 8; ++i) cells.add("9007199254740992");
  for (int i = 0; i < 8; ++i) cells.add("9007199254740993");
  for (int i = 0; i < 8; ++i) cells.add("900719925474.0993");
  for (int i = 0; i < 8; ++i) cells.add(std::string(256, '0') + "12345");
  for (ReadNumberCells* way : ways_of_numbers()) {
    for (const DigitForm form : {DigitForm::kWhole, DigitForm::kReal, DigitForm::kSingle}) {
      const std::vector<double> found = cells.read(way, form);
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_TRUE(i < 8 ? found[i] == 0x1p53 : std::isnan(found[i])) << cells.cell(i);
    }
  }
}

TEST(NumberCells, LieAStrideApartAndMayBeTheFirst) {
  Cells cells;
  for (const char* cell : {"1.5", "x", "-2", "y", "0.0625", "z"}) cells.add(cell);
  for (ReadNumberCells* way : ways_of_numbers()) {
    EXPECT_EQ(cells.read(way, DigitForm::kReal, 2), (std::vector<double>{1.5, -2, 0.0625}));
    const uint32_t starts[] = {0, 4};
    double first = 0;
    way("1.5,", starts, 1, 1, DigitForm::kReal, &first);
    EXPECT_TRUE(first == 1.5 || std::isnan(first));
  }
}

}  // namespace
}  // namespace espalier
