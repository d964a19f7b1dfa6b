#include "data/missing_code.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shell_words.h"

namespace espalier {
namespace {

constexpr double kTwoDigits = 10;

// Numbers in order, each once.
struct Repeated {
  double number = 0;
  int64_t cells = 0;
};

std::vector<Repeated> different_numbers(const WeightedNumbers& numbers) {
  std::vector<Repeated> out;
  for (const auto& [number, cells] : numbers.values) {
    if (out.empty() || out.back().number != number) out.push_back({number, 0});
    out.back().cells += cells;
  }
  return out;
}

// 99, 888: the same digit twice at least.
bool repeats_a_digit(double whole, double digit) {
  constexpr double kMost = 1e15;
  for (double repeated = 11 * digit; repeated <= whole && repeated < kMost;
       repeated = 10 * repeated + digit) {
    if (repeated == whole) return true;
  }
  return false;
}

// What people and programs write for a missing number.
bool is_usual_code(double number) {
  constexpr double kHuge = 1e20;
  constexpr double kBounds[] = {-32768, 32767, 65535, -2147483648.0, 2147483647, 4294967295, 0x1p63, -0x1p63};
  const double size = std::fabs(number), whole = std::floor(size), rest = size - whole;
  if (size >= kHuge || std::ranges::find(kBounds, number) != std::end(kBounds)) return true;
  if (rest == 0 && number < 0 && (size == 1 || (size >= 7 && size <= 9))) return true;
  if (rest == 0 && (repeats_a_digit(whole, 7) || repeats_a_digit(whole, 8))) return true;
  // 97 and 98 beside 99.
  if (rest == 0 && whole >= kTwoDigits && (repeats_a_digit(whole + 1, 9) || repeats_a_digit(whole + 2, 9)))
    return true;
  // 99.9, 999.99, and -999.25 of well logs.
  const auto is = [&](double fraction) { return std::fabs(rest - fraction) < 1e-9; };
  return repeats_a_digit(whole, 9) && (rest == 0 || is(0.9) || is(0.99) || is(0.999) || is(0.25));
}

// The first `low` and the last `high` of the numbers.
bool are_missing_codes(std::span<const Repeated> numbers, size_t low, size_t high, int64_t all) {
  constexpr int64_t kFewest = 3, kOthers = 20, kPercent = 100;
  const std::span<const Repeated> others = numbers.subspan(low, numbers.size() - low - high);
  const double least = others.front().number, most = others.back().number, apart = most - least;
  int64_t left = 0;
  for (const Repeated& other : others) left += other.cells;
  if (left < kOthers || kPercent * (all - left) < all) return false;
  const auto is_code = [&](const Repeated& each) {
    if (each.cells < kFewest) return false;
    const double from = each.number < least ? least - each.number : each.number - most;
    return is_usual_code(each.number) && (from > apart || (least >= 0 && each.number <= -kTwoDigits));
  };
  return std::ranges::all_of(numbers.first(low), is_code) && std::ranges::all_of(numbers.last(high), is_code);
}

}  // namespace

std::optional<MissingCodes> find_missing_codes(const ColumnProfile& profile, const NumberForm& form) {
  constexpr size_t kMostCodes = 3;
  if (form.style == NumberStyle::kClock) return std::nullopt;
  const WeightedNumbers weighted = numbers_of(profile, form);
  const std::vector<Repeated> numbers = different_numbers(weighted);
  for (size_t taken = kMostCodes; taken > 0; --taken) {
    for (size_t high = 0; high <= taken; ++high) {
      const size_t low = taken - high;
      if (numbers.size() < taken + 2 || !are_missing_codes(numbers, low, high, weighted.count)) continue;
      MissingCodes out{.rows = weighted.count,
                       .least = numbers[low].number,
                       .most = numbers[numbers.size() - high - 1].number};
      for (size_t i = 0; i < numbers.size(); ++i) {
        if (i >= low && i < numbers.size() - high) continue;
        out.fewest = out.cells == 0 ? numbers[i].cells : std::min(out.fewest, numbers[i].cells);
        out.cells += numbers[i].cells;
        const ColumnProfile::Value* best = nullptr;
        for (const ColumnProfile::Value& value : profile.values) {
          if (read_number(value.text, form) == numbers[i].number && (!best || value.count > best->count))
            best = &value;
        }
        out.texts.push_back(best->text);
      }
      return out;
    }
  }
  return std::nullopt;
}

std::string text(const MissingCodes& codes, bool with_others) {
  std::string words;
  for (size_t i = 0; i < codes.texts.size(); ++i)
    words += cat(i == 0 ? "" : i + 1 == codes.texts.size() ? " or " : ", ", codes.texts[i]);
  const std::vector<std::string> list(codes.texts.begin(), codes.texts.end());
  const std::string others =
      with_others ? cat("the others ", short_number(codes.least), " to ", short_number(codes.most))
                  : std::string("far from all others");
  return cat(share_of_rows(codes.cells, codes.rows), " of the values are ", words, ", ", others,
             list.size() > 1 ? ": codes for missing ones? (" : ": a code for missing ones? (",
             shell_words({"--missing", names_in_list(list)}), ")");
}

}  // namespace espalier
