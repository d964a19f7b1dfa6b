// Times of day and durations.
#include <cmath>

#include "base/digits.h"
#include "data/column_steps.h"

namespace espalier {
namespace {

constexpr double kMinute = 60, kHour = 3600, kDay = 24 * kHour;

class ClockReader {
 public:
  explicit ClockReader(std::string_view text) : text_(text) {}

  // 14:30, 2:30:00.5 pm, 26:10:00, 3 days 04:05:06, 1 day, 2:03:04.
  std::optional<double> read_clock() {
    double hours = 0, out = 0;
    if (!whole(hours)) return std::nullopt;
    const bool with_days = days();
    if (with_days) {
      out = hours * kDay;
      accept(',');
      if (!accept(' ') || !whole(hours)) return std::nullopt;
    }
    double minutes = 0, seconds = 0;
    if (!accept(':') || !sixty(minutes)) return std::nullopt;
    const bool with_seconds = accept(':');
    if (with_seconds && !sixty(seconds)) return std::nullopt;
    if (with_seconds && !text_.empty() && (text_[0] == '.' || text_[0] == ',')) {
      text_.remove_prefix(1);
      if (text_.empty() || !is_digit(text_[0])) return std::nullopt;
      for (double unit = 0.1; !text_.empty() && is_digit(text_[0]); unit /= 10, text_.remove_prefix(1))
        seconds += unit * (text_[0] - '0');
    }
    if (!text_.empty()) {
      accept(' ');
      const char half = text_.size() == 2 && (text_[1] | 32) == 'm' ? static_cast<char>(text_[0] | 32) : '\0';
      if (with_days || (half != 'a' && half != 'p') || hours < 1 || hours > 12) return std::nullopt;
      hours = std::fmod(hours, 12) + (half == 'p' ? 12 : 0);
    }
    return out + hours * kHour + minutes * kMinute + seconds;
  }

  // ISO 8601: P3W, P1DT2H30M, PT0.5S; not months and years, which have no one length.
  std::optional<double> read_iso() {
    if (!accept('P')) return std::nullopt;
    double out = 0;
    bool time = false, any = false;
    std::string_view units = "WD";
    while (!text_.empty()) {
      if (!time && accept('T')) {
        time = true;
        units = "HMS";
        any = false;
        continue;
      }
      double value = 0;
      if (!whole(value)) return std::nullopt;
      if (!text_.empty() && text_[0] == '.') {
        text_.remove_prefix(1);
        for (double unit = 0.1; !text_.empty() && is_digit(text_[0]); unit /= 10, text_.remove_prefix(1))
          value += unit * (text_[0] - '0');
      }
      const size_t at = text_.empty() ? units.npos : units.find(text_[0]);
      if (at == units.npos) return std::nullopt;
      const char unit = text_[0];
      out += value * (unit == 'W'   ? 7 * kDay
                      : unit == 'D' ? kDay
                      : unit == 'H' ? kHour
                      : unit == 'M' ? kMinute
                                    : 1);
      text_.remove_prefix(1);
      units.remove_prefix(at + 1);
      any = true;
    }
    return any ? std::optional(out) : std::nullopt;
  }

 private:
  bool accept(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool whole(double& value) {
    constexpr size_t kMostDigits = 9;
    size_t digits = 0;
    value = 0;
    for (; digits < text_.size() && is_digit(text_[digits]); ++digits)
      value = 10 * value + (text_[digits] - '0');
    text_.remove_prefix(digits);
    return digits > 0 && digits <= kMostDigits;
  }
  // Two digits below 60.
  bool sixty(double& value) {
    if (text_.size() < 2 || !is_digit(text_[0]) || !is_digit(text_[1]) || text_[0] > '5') return false;
    value = 10.0 * (text_[0] - '0') + (text_[1] - '0');
    text_.remove_prefix(2);
    return text_.empty() || !is_digit(text_[0]);
  }
  bool days() {
    std::string_view rest = text_;
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    for (const std::string_view word : {"days", "day", "d"}) {
      if (!rest.starts_with(word)) continue;
      text_ = rest.substr(word.size());
      return true;
    }
    return false;
  }

  std::string_view text_;
};

}  // namespace

std::optional<double> read_clock(std::string_view text) {
  std::string ascii;
  if (has_high_bytes(text)) text = ascii = ascii_digits(text);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  const std::optional<double> out = text[0] == 'P' ? ClockReader(text).read_iso()
                                    : is_digit(text[0]) && text.find(':') != text.npos
                                        ? ClockReader(text).read_clock()
                                        : std::nullopt;
  return out && negative ? std::optional(-*out) : out;
}

}  // namespace espalier
