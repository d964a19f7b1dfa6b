#include "text/template.h"

#include <algorithm>
#include <charconv>

#include "base/digits.h"
#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr int64_t kMost = int64_t{1} << 31;  // of batch sizes, and of a and b

// Takes the digits at the beginning of `text`.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  const std::string_view out = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(out.size());
  return out;
}

// a*B+b of a batch size B.
struct Affine {
  int64_t a = 0, b = 0;

  std::string text() const {
    std::string out = a == 1 ? "${B" : cat("${", a, "*B");
    if (b) out += cat(b > 0 ? "+" : "", b);
    return out + "}";
  }
};

// The number of a run of digits as it would be printed; nothing for "007" and what is too large.
std::optional<int64_t> number(std::string_view digits) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  return value;
}

std::optional<Affine> affine(std::string_view first, int64_t first_batch, std::string_view second,
                             int64_t second_batch) {
  const auto x = number(first), y = number(second);
  if (!x || !y || (*y - *x) % (second_batch - first_batch) != 0) return std::nullopt;
  const int64_t a = (*y - *x) / (second_batch - first_batch);
  if (a > kMost || a < -kMost) return std::nullopt;
  const int64_t b = *x - a * first_batch;
  if (b > kMost || b < -kMost) return std::nullopt;
  return Affine{a, b};
}

// Takes a signed integer.
bool take_integer(std::string_view& text, int64_t& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc() && value <= kMost && value >= -kMost;
}

// Takes what stands behind a dollar sign: nothing for the sign itself. False for anything else.
bool take_placeholder(std::string_view& text, std::optional<Affine>& out) {
  out.reset();
  if (text.starts_with('$')) {
    text.remove_prefix(1);
    return true;
  }
  if (!text.starts_with('{')) return false;
  text.remove_prefix(1);
  Affine value{1, 0};
  if (!text.starts_with('B')) {
    if (text.starts_with('+') || !take_integer(text, value.a) || !text.starts_with("*B")) return false;
    text.remove_prefix(1);
  }
  text.remove_prefix(1);
  if ((text.starts_with('+') || text.starts_with('-')) && !take_integer(text, value.b)) return false;
  if (!text.starts_with('}')) return false;
  text.remove_prefix(1);
  out = value;
  return true;
}

// Calls `literal` with text that stays and `number` with each placeholder. Returns where a dollar sign is
// wrong, or npos.
template <class OnText, class OnNumber>
size_t walk(std::string_view text, OnText literal, OnNumber number) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t dollar = rest.find('$');
    literal(rest.substr(0, dollar));
    if (dollar == std::string_view::npos) break;
    rest.remove_prefix(dollar + 1);
    const auto position = static_cast<size_t>(rest.data() - text.data()) - 1;
    std::optional<Affine> value;
    if (!take_placeholder(rest, value)) return position;
    if (value)
      number(*value);
    else
      literal("$");
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<ProgramTemplate> ProgramTemplate::between(std::string_view first, int64_t first_batch,
                                                        std::string_view second, int64_t second_batch) {
  std::string out;
  while (!first.empty() && !second.empty()) {
    if (!is_digit(first[0]) || !is_digit(second[0])) {
      if (first[0] != second[0]) return std::nullopt;
      out.append(first[0] == '$' ? 2 : 1, first[0]);
      first.remove_prefix(1);
      second.remove_prefix(1);
      continue;
    }
    const std::string_view x = take_digits(first), y = take_digits(second);
    if (x == y) {
      out += x;
      continue;
    }
    const std::optional<Affine> value = affine(x, first_batch, y, second_batch);
    if (!value) return std::nullopt;
    out += value->text();
  }
  if (!first.empty() || !second.empty()) return std::nullopt;
  return ProgramTemplate(std::move(out));
}

ProgramTemplate::ProgramTemplate(std::string text) : text_(std::move(text)) {
  const size_t wrong = walk(
      text_, [](std::string_view) {}, [](Affine) {});
  if (wrong == std::string::npos) return;
  const std::string_view before = std::string_view(text_).substr(0, wrong);
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t column = wrong - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  throw FormatError("template.placeholder",
                    cat(line, ":", column, ": behind $ stands $, {B}, {2*B} or {2*B+1}"));
}

std::string ProgramTemplate::at(int64_t batch) const {
  if (batch < 0 || batch > kMost)
    throw ValueError("template.batch", cat("a batch has 0 to ", kMost, " rows, got ", batch));
  std::string out;
  out.reserve(text_.size());
  walk(
      text_, [&](std::string_view part) { out += part; },
      [&](Affine value) {
        const int64_t number = value.a * batch + value.b;
        if (number < 0)
          throw ValueError("template.batch", cat(value.text(), " is negative for ", batch, " rows"));
        out += std::to_string(number);
      });
  return out;
}

bool ProgramTemplate::varies() const {
  bool found = false;
  walk(
      text_, [](std::string_view) {}, [&](Affine) { found = true; });
  return found;
}

}  // namespace espalier
