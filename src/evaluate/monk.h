// The Monk Skin Tone Scale: ten tones of skin, from the lightest to the darkest.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "evaluate/slices.h"

namespace espalier {

// How the tones 1 to 10 look: E. Monk, The Monk Skin Tone Scale, 2019, as published at skintone.google.
inline constexpr std::array<std::string_view, 10> kMonkTones = {"#f6ede4", "#f3e7db", "#f7ead0", "#eadaba",
                                                                "#d7bd96", "#a07e56", "#825c43", "#604134",
                                                                "#3a312a", "#292420"};

// By each tone, "1" to "10"; or by the three groups of Heldreth and others, Which Skin Tone Measures Are the
// Most Inclusive?, 2024: "light 1-3", "medium 4-6", "dark 7-10".
enum class MonkGroups { kTen, kThree };

// Rows by the tone of each, 0 where it has none: such are missing.
// REQUIRES: no tone above 10.
CategoryColumn monk_tones(std::string name, std::span<const uint8_t> tones, MonkGroups groups);

}  // namespace espalier
