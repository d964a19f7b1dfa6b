#include "evaluate/monk.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/format.h"

namespace espalier {
namespace {

using Lab = std::array<double, 3>;

// Of sRGB under D65: IEC 61966-2-1 and CIE 15.
Lab lab_of(std::string_view hex) {
  std::array<double, 3> linear;
  for (size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(std::string(hex.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    linear[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  constexpr double kXyz[3][3] = {{0.4124564, 0.3575761, 0.1804375},
                                 {0.2126729, 0.7151522, 0.0721750},
                                 {0.0193339, 0.1191920, 0.9503041}};
  constexpr double kWhite[] = {0.95047, 1, 1.08883};
  std::array<double, 3> f;
  for (size_t i = 0; i < 3; ++i) {
    const double t = (kXyz[i][0] * linear[0] + kXyz[i][1] * linear[1] + kXyz[i][2] * linear[2]) / kWhite[i];
    f[i] = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  }
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

// The scale is published in L*, a*, b* too.
TEST(Monk, TonesArePublished) {
  constexpr Lab kPublished[] = {{94.211, 1.503, 5.422},  {92.275, 2.061, 7.28},    {93.091, 0.216, 14.205},
                                {87.573, 0.459, 17.748}, {77.902, 3.471, 23.136},  {55.142, 7.783, 26.74},
                                {42.47, 12.325, 20.53},  {30.678, 11.667, 13.335}, {21.069, 2.69, 5.964},
                                {14.61, 1.482, 3.525}};
  for (size_t tone = 0; tone < kMonkTones.size(); ++tone) {
    const Lab its = lab_of(kMonkTones[tone]);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(its[i], kPublished[tone][i], 0.01) << "tone " << tone + 1;
  }
}

TEST(Monk, TonesAreInOrderEachWithItsSwatches) {
  const uint8_t tones[] = {10, 2, 1, 0, 7, 6, 4, 3};
  const CategoryColumn ten = monk_tones("skin", tones, MonkGroups::kTen);
  const Slicing slices = slice_by({&ten});
  std::string names;
  for (const RowSlice& slice : slices.slices)
    names += cat(slice.name, slice.swatches.empty() ? "" : slice.swatches[0], " ");
  EXPECT_EQ(
      names,
      "skin=1#f6ede4 skin=2#f3e7db skin=3#f7ead0 skin=4#eadaba skin=6#a07e56 skin=7#825c43 skin=10#292420 "
      "skin=(missing) ");
  const CategoryColumn three = monk_tones("skin", tones, MonkGroups::kThree);
  EXPECT_EQ(three.values, (std::vector<std::string>{"light 1-3", "medium 4-6", "dark 7-10"}));
  EXPECT_EQ(three.codes, (std::vector<uint32_t>{2, 0, 0, CategoryColumn::kMissing, 2, 1, 1, 0}));
  EXPECT_EQ(three.swatches[1], (std::vector<std::string>{"#eadaba", "#d7bd96", "#a07e56"}));
  EXPECT_EQ(three.swatches[2].size(), 4u);
  CategoryColumn sex{"sex", {"F", "M"}, {0, 1, 0, 1, 0, 1, 0, 1}};
  EXPECT_EQ(slice_by({&sex, &three}).slices[0].swatches, three.swatches[0]);
}

}  // namespace
}  // namespace espalier
