#include "evaluate/monk.h"

#include "base/format.h"

namespace espalier {
namespace {

struct Group {
  const char* name;
  uint8_t last;  // its darkest tone
};
constexpr Group kThree[] = {{"light 1-3", 3}, {"medium 4-6", 6}, {"dark 7-10", 10}};

}  // namespace

CategoryColumn monk_tones(std::string name, std::span<const uint8_t> tones, MonkGroups groups) {
  CategoryColumn out{.name = std::move(name), .values = {}, .codes = {}};
  std::array<uint32_t, kMonkTones.size() + 1> group_of = {CategoryColumn::kMissing};
  for (size_t tone = 1; tone <= kMonkTones.size(); ++tone) {
    const bool next =
        groups == MonkGroups::kTen || out.values.empty() || tone > kThree[out.values.size() - 1].last;
    if (next) {
      out.values.push_back(groups == MonkGroups::kTen ? cat(tone) : kThree[out.values.size()].name);
      out.swatches.emplace_back();
    }
    out.swatches.back().emplace_back(kMonkTones[tone - 1]);
    group_of[tone] = static_cast<uint32_t>(out.values.size() - 1);
  }
  for (const uint8_t tone : tones) out.codes.push_back(group_of[tone]);
  return out;
}

}  // namespace espalier
