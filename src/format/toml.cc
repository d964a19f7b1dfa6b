#define TOML_IMPLEMENTATION
#include "format/toml.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/format.h"
#include "espalier/error.h"
#include "format/utf8.h"

namespace espalier {
namespace {

constexpr size_t kMostBytes = 1 << 20;

// The place of a line and column, which counts characters, in the text.
size_t offset_of(const std::string& text, const toml::source_position& at) {
  size_t out = 0;
  for (toml::source_index line = 1; line < at.line && out < text.size(); ++line)
    out = std::min(text.find('\n', out), text.size() - 1) + 1;
  for (toml::source_index column = 1; column < at.column && out < text.size(); ++column) {
    do ++out;
    while (out < text.size() && (text[out] & 0xc0) == 0x80);
  }
  return out;
}

// A value at `at` that is text without quotes: `label = income`, `ignore = [id, name]`.
struct BareText {
  size_t begin = 0;
  std::string text;
};
std::optional<BareText> bare_text_at(const std::string& text, size_t at) {
  const std::string_view blanks = " \t\r";
  size_t begin = std::min(at, text.size());
  while (begin > 0 && std::string_view("=,[\n").find(text[begin - 1]) == std::string_view::npos) --begin;
  const size_t sign = begin == 0 ? std::string::npos : text.find_last_not_of(" \t\r\n", begin - 1);
  if (sign == std::string::npos || std::string_view("=,[").find(text[sign]) == std::string_view::npos)
    return std::nullopt;
  // The name of a table.
  const size_t before = text.find_last_not_of(" \t[", sign);
  if (text[sign] == '[' && (before == std::string::npos || text[before] == '\n')) return std::nullopt;
  begin = std::min(text.find_first_not_of(blanks, begin), text.size());
  size_t end = std::min(text.find_first_of(",]}#\n", begin), text.size());
  while (end > begin && blanks.find(text[end - 1]) != std::string_view::npos) --end;
  const std::string word = text.substr(begin, end - begin);
  const auto letter = [](unsigned char c) {
    return std::isalpha(c) || c == '_' || c == '/' || c == '.' || c == '~';
  };
  if (word.empty() || !letter(static_cast<unsigned char>(word[0])) ||
      word.find_first_of("\"'={") != word.npos)
    return std::nullopt;
  return BareText{begin, word};
}

toml::source_position position_of(const std::string& text, size_t at) {
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  return {static_cast<toml::source_index>(line), static_cast<toml::source_index>(at - begin + 1)};
}

// The first line that the parser's assertions do not hold for: it reads in order.
uint32_t line_of_assertion(const std::string& text) {
  std::vector<size_t> ends;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || i + 1 == text.size()) ends.push_back(i + 1);
  }
  const auto holds_before = [&](size_t end) {
    try {
      static_cast<void>(toml::parse(std::string_view(text).substr(0, end)));
    } catch (const TomlAssertion&) {
      return false;
    } catch (const toml::parse_error&) {
    }
    return true;
  };
  return static_cast<uint32_t>(std::ranges::partition_point(ends, holds_before) - ends.begin()) + 1;
}

// The place behind a quoted text that begins at `at`; nothing where it has no end: that of its line ends one
// of a single line.
std::optional<size_t> after_quotes(const std::string& text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool lines = text.compare(at, 3, three) == 0;
  for (at += lines ? 3 : 1; at < text.size();) {
    if (text[at] == '\\' && quote == '"' && (lines || text.compare(at + 1, 1, "\n") != 0)) {
      at += 2;
    } else if (lines && text.compare(at, 3, three) == 0) {
      at += 3;
      for (int more = 0; more < 2 && at < text.size() && text[at] == quote; ++more) ++at;
      return at;
    } else if (!lines && (text[at] == quote || text[at] == '\n')) {
      return text[at] == quote ? std::optional(at + 1) : std::nullopt;
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

// The table within `from` that has this key; null where none has.
const toml::table* table_with(const toml::node& from, std::string_view key) {
  if (const toml::array* array = from.as_array()) {
    for (const toml::node& element : *array) {
      if (const toml::table* found = table_with(element, key)) return found;
    }
  }
  const toml::table* table = from.as_table();
  if (!table || table->contains(key)) return table;
  for (const auto& [name, value] : *table) {
    if (const toml::table* found = table_with(value, key)) return found;
  }
  return nullptr;
}

// What a name that line `line` gives again was before. `header`: the line is that of a table. Else the name
// is a key of the table that is open there, and another key, put into its place, tells which that is.
struct GivenBefore {
  toml::source_index line = 0;
  bool array = false, tables = false;
};
std::optional<GivenBefore> given_before(const std::string& text, toml::source_index line,
                                        const std::string& name, bool header) {
  constexpr const char* kProbe = "espalier-probe";
  const size_t begin = offset_of(text, {line, 1});
  const size_t word = std::min(text.find_first_not_of(" \t", begin), text.size());
  if (!header && text.compare(word, name.size(), name) != 0) return std::nullopt;
  try {
    const toml::table root = toml::parse(cat(text.substr(0, begin), kProbe, " = 1\n"));
    const toml::node* at = header ? &root : table_with(root, kProbe);
    for (size_t from = 0; from <= name.size() && at;) {
      const size_t end = std::min(name.find('.', from), name.size());
      const toml::table* table = at->as_table();
      at = table ? table->get(std::string_view(name).substr(from, end - from)) : nullptr;
      from = end + 1;
    }
    if (!at || at->source().begin.line == 0) return std::nullopt;
    return GivenBefore{at->source().begin.line, at->is_array(), at->is_array_of_tables()};
  } catch (const TomlAssertion&) {
  } catch (const toml::parse_error&) {
  }
  return std::nullopt;
}

bool before(const toml::source_position& a, const toml::source_position& b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

}  // namespace

TomlDocument::TomlDocument(const std::string& text, std::string source, std::string kind)
    : source_(std::move(source)), kind_(std::move(kind)) {
  if (text.size() > kMostBytes)
    throw FormatError(kind_ + ".size",
                      cat(source_, ": at most ", kMostBytes, " bytes are read, these are ", text.size()));
  check_bare_text(text);
  try {
    root_ = parsed(text);
  } catch (const TomlAssertion&) {
    fail(kind_ + ".syntax", {line_of_assertion(text), 1}, "here the text does not follow TOML");
  }
}

std::string TomlDocument::place(const toml::source_position& at) const {
  return cat(source_, ", line ", at.line, ", column ", at.column);
}

void TomlDocument::fail(const std::string& rule, const toml::source_position& at, const std::string& message,
                        const std::string& fix) const {
  throw FormatError(rule, cat(place(at), ": ", message), fix);
}

void TomlDocument::unknown(const std::string& rule, const toml::source_position& at, const std::string& what,
                           const std::string& word, const std::vector<std::string>& known,
                           const std::string& more) const {
  std::string all, fix;
  for (const std::string& one : known) all += cat(all.empty() ? "" : ", ", one);
  for (const std::string& one : nearest(word, known))
    fix += cat(fix.empty() ? "did you mean \"" : " or \"", one, "\"");
  fail(rule, at,
       cat("unknown ", what, " \"", word, "\": known are ", all, more.empty() ? "" : cat("; ", more)),
       fix.empty() ? "" : fix + "?");
}

void TomlDocument::check_keys(const toml::table& table, const std::string& what,
                              const std::vector<std::string>& known) const {
  std::vector<const toml::key*> others;
  for (const auto& [key, node] : table) {
    if (std::ranges::find(known, key.str()) == known.end()) others.push_back(&key);
  }
  if (others.empty()) return;
  std::ranges::sort(others, [](const toml::key* a, const toml::key* b) {
    return before(a->source().begin, b->source().begin);
  });
  // Keys of something else, as of the optimizer that stood there before.
  std::string more;
  for (size_t i = 1; i < others.size(); ++i) more += cat(more.empty() ? "" : ", ", others[i]->str());
  unknown(kind_ + ".key", others[0]->source().begin, what, std::string(others[0]->str()), known,
          more.empty() ? "" : cat("unknown there, too: ", more));
}

toml::table TomlDocument::parsed(const std::string& text) const {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position& at = error.source().begin;
    if (const auto bare = bare_text_at(text, offset_of(text, at))) {
      std::string word = bare->text;
      for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (word == "true" || word == "false")
        fail(kind_ + ".syntax", position_of(text, bare->begin),
             cat(bare->text, " is written in small letters"), word);
      fail(kind_ + ".syntax", position_of(text, bare->begin), cat("text stands in quotes: ", bare->text),
           cat("put quotes around it, \"", bare->text, "\""));
    }
    refuse_second(text, at, error.description());
    const auto is_digit = [&](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    const size_t sign = offset_of(text, at);
    const bool comma = sign > 0 && is_digit(sign - 1) && text[sign] == ',' && is_digit(sign + 1);
    fail(kind_ + ".syntax", at, std::string(error.description()), comma ? "the decimal sign is a point" : "");
  }
}

// "cannot redefine existing array 'callbacks' as array-of-tables" in words of ours, and with the first place.
void TomlDocument::refuse_second(const std::string& text, const toml::source_position& at,
                                 std::string_view description) const {
  const size_t begin = description.find('\''), end = description.rfind('\'');
  if (description.find("cannot redefine existing ") == description.npos || begin == end) return;
  const std::string name(description.substr(begin + 1, end - begin - 1));
  const bool header = description.find("table header") != description.npos;
  const std::optional<GivenBefore> before = given_before(text, at.line, name, header);
  if (!before) return;
  std::string fix = "leave one of them out";
  if (before->tables)
    fix = cat("[[", name, "]] adds one more");
  else if (header)
    fix = before->array ? cat("remove line ", before->line, ", in whose place [[", name, "]] goes")
                        : "put the keys of both below one";
  fail(kind_ + ".syntax", at, cat(name, " is given twice, first in line ", before->line), fix);
}

// What the parser takes for granted: outside of quotes and comments there is ASCII alone, and no key of so
// many points, each a table in a table, that the stack ends.
void TomlDocument::check_bare_text(const std::string& text) const {
  constexpr int kMostPoints = 256;
  int points = 0;
  const auto refuse = [&](size_t at, const std::string& message, const std::string& fix = "") {
    fail(kind_ + ".syntax", position_of(text, at), message, fix);
  };
  for (size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      const std::optional<size_t> end = after_quotes(text, at);
      const std::string quote =
          text.compare(at, 3, std::string(3, c)) == 0 ? std::string(3, c) : std::string(1, c);
      if (!end) refuse(at, "the text that begins here has no closing quote", cat("end it with ", quote));
      at = *end;
      continue;
    }
    if (c == '#') at = std::min(text.find('\n', at), text.size());
    if (at == text.size()) return;
    if ((text[at] & 0x80) != 0) refuse(at, "a character beyond ASCII stands in quotes");
    if (text[at] == '.' && ++points > kMostPoints)
      refuse(at, cat("a key has at most ", kMostPoints, " points"));
    if (std::string_view("\n=,[{").find(text[at]) != std::string_view::npos) points = 0;
    ++at;
  }
}

std::string toml_type(const toml::node& node) {
  std::ostringstream type;
  type << node.type();
  return "a TOML " + type.str();
}

std::string toml_quoted(const std::string& text) {
  if (!is_utf8(text))
    throw ValueError("toml.utf8", "TOML holds text in UTF-8 alone; a name or a path is not");
  constexpr const char* kHex = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += cat("\\", std::string(1, c));
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += cat("\\u00", std::string(1, kHex[byte >> 4]), std::string(1, kHex[byte & 15]));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace espalier
