#include "base/listed_names.h"

#include <algorithm>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr std::string_view kSigns = ",=*:";

bool is_quote(char c) { return c == '"' || c == '`'; }

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// The name in the quotes that begin at `at`.
std::string read_name(std::string_view text, size_t& at) {
  const auto ends = [&](size_t quote) {
    const size_t next = text.find_first_not_of(' ', quote + 1);
    return next == text.npos || kSigns.find(text[next]) != kSigns.npos;
  };
  const std::string_view rest = text.substr(at);
  if (const auto name = read_quoted(text, at, ends)) return *name;
  throw ValueError("names.quote", cat("the quotes around a name do not end: ", shortened(rest)),
                   "a quote inside of them is doubled");
}

// The first of this sign from `at` on that stands outside of quotes, or the end.
size_t find_outside(std::string_view text, char sign, size_t at) {
  for (bool may_begin = true; at < text.size() && text[at] != sign;) {
    if (may_begin && is_quote(text[at])) {
      read_name(text, at);
      may_begin = false;
    } else {
      if (text[at] != ' ') may_begin = kSigns.find(text[at]) != kSigns.npos;
      ++at;
    }
  }
  return std::min(at, text.size());
}

}  // namespace

std::string quoted_text(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) out.append(c == quote ? 2 : 1, c);
  return out + quote;
}

std::optional<std::string> read_quoted(std::string_view text, size_t& at,
                                       const std::function<bool(size_t)>& ends) {
  const char quote = text[at];
  std::string out;
  for (size_t i = at + 1; i < text.size(); ++i) {
    const bool doubled = text[i] == quote && i + 1 < text.size() && text[i + 1] == quote;
    if (text[i] == quote && !doubled && (!ends || ends(i))) {
      at = i + 1;
      return out;
    }
    out += text[i];
    i += doubled;
  }
  return std::nullopt;
}

std::string name_in_list(std::string_view name) {
  const bool plain =
      !name.empty() && name == without_blanks(name) && name.find_first_of("\"`,=*:") == name.npos;
  return plain ? std::string(name) : quoted_text(name);
}

std::string names_in_list(const std::vector<std::string>& names, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) out += cat(i == 0 ? "" : between, name_in_list(names[i]));
  return out;
}

std::vector<std::string> listed_parts(std::string_view list, char separator) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = find_outside(list, separator, begin);
    out.emplace_back(without_blanks(list.substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

std::string name_of_part(std::string_view part) {
  part = without_blanks(part);
  if (part.empty() || !is_quote(part[0])) return std::string(part);
  size_t at = 0;
  std::string out = read_name(part, at);
  if (at == part.size()) return out;
  throw ValueError("names.quote", cat("behind the quotes of a name there is more: ", shortened(part)),
                   cat("a name with such signs is written ", quoted_text(part)));
}

std::vector<std::string> names_listed(std::string_view list, char separator) {
  std::vector<std::string> out;
  for (const std::string& part : listed_parts(list, separator)) out.push_back(name_of_part(part));
  return out;
}

std::string name_alone(std::string_view text) {
  size_t at = 0;
  const auto ends = [&](size_t quote) { return quote + 1 == text.size(); };
  if (text.empty() || !is_quote(text[0])) return std::string(text);
  return read_quoted(text, at, ends).value_or(std::string(text));
}

std::optional<NamedPart> named_part(std::string_view part, char sign) {
  const size_t at = find_outside(part, sign, 0);
  if (at == part.size()) return std::nullopt;
  return NamedPart{name_of_part(part.substr(0, at)), std::string(part.substr(at + 1))};
}

}  // namespace espalier
