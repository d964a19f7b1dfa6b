#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

// What the parser asserts is at times about the text: "[.a]" holds no key. Without this it would be
// undefined.
struct TomlAssertion {};
[[noreturn]] static void toml_assertion() { throw TomlAssertion{}; }
#undef NDEBUG
#define TOML_ASSERT(holds) ((holds) ? static_cast<void>(0) : toml_assertion())
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
// No plan nests deeper than layers, layer, initializer.
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

#include "base/format.h"
#include "base/shortest.h"
#include "cli/plan_text.h"

namespace espalier::cli {
namespace {

constexpr size_t kMostBytes = 1 << 20;

class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  void plan(const toml::table& from, TrainPlan& to) {
    images_ = to.data.label.empty();
    table(from, fields_of(to), "", {});
  }

  [[noreturn]] void fail(const char* rule, const toml::source_position& at, const std::string& message,
                         const std::string& fix = "") const {
    throw FormatError(rule, cat(place(at), ": ", message), fix);
  }

  void places(const toml::node& node, const std::string& path,
              std::map<std::string, std::string>& out) const {
    out[path] = place(node.source().begin);
    if (const toml::table* table = node.as_table()) {
      for (const auto& [key, value] : *table)
        places(value, path.empty() ? std::string(key.str()) : cat(path, ".", key.str()), out);
    } else if (const toml::array* array = node.as_array()) {
      for (size_t i = 0; i < array->size(); ++i) places((*array)[i], cat(path, "[", i, "]"), out);
    }
  }

 private:
  using Node = toml::node;

  std::string place(const toml::source_position& at) const {
    return cat(source_, ", line ", at.line, ", column ", at.column);
  }

  [[noreturn]] void fail(const char* rule, const Node& at, const std::string& message) const {
    fail(rule, at.source().begin, message);
  }
  [[noreturn]] void unknown(const char* rule, const toml::source_position& at, const std::string& what,
                            const std::string& word, const std::vector<std::string>& known) const {
    std::string all, fix;
    for (const std::string& one : known) all += cat(all.empty() ? "" : ", ", one);
    for (const std::string& one : nearest(word, known))
      fix += cat(fix.empty() ? "did you mean \"" : " or \"", one, "\"");
    fail(rule, at, cat("unknown ", what, " \"", word, "\": known are ", all), fix.empty() ? "" : fix + "?");
  }
  [[noreturn]] void wrong_type(const Node& at, const std::string& path, const Field& field) const {
    std::ostringstream type;
    type << at.type();
    fail("plan.type", at, cat(path, " is ", allowed(field), ", not a TOML ", type.str()));
  }

  // `tag`: the key beside those of `fields`, if there is one.
  void table(const toml::table& from, Fields fields, const std::string& path, const std::string& tag) {
    std::vector<std::string> known;
    if (!tag.empty()) known.push_back(tag);
    for (const Field& field : fields) known.push_back(field.key);
    const toml::key* first = nullptr;
    for (const auto& [key, node] : from) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      if (!first || before(key.source().begin, first->source().begin)) first = &key;
    }
    if (first) {
      unknown("plan.key", first->source().begin,
              path.empty() ? "table" : cat("key of ", path, images_ ? ", without a label," : ""),
              std::string(first->str()), known);
    }
    for (Field& field : fields) {
      const std::string name = path.empty() ? field.key : cat(path, ".", field.key);
      if (const Node* node = from.get(field.key))
        value(*node, field, name);
      else if (field.required)
        fail("plan.required", from, cat(path, " needs ", field.key, ", ", allowed(field)));
    }
  }
  static bool before(const toml::source_position& a, const toml::source_position& b) {
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  }

  void value(const Node& node, Field& field, const std::string& path) {
    std::visit([&](auto& target) { take(node, field, path, target); }, field.target);
  }

  void in_range(const Node& node, const Field& field, const std::string& path, double number) const {
    if (!field.range.holds(number))
      fail("plan.range", node, cat(path, " is ", allowed(field), ", not ", shortest(number)));
  }
  double number(const Node& node, const Field& field, const std::string& path) const {
    if (!node.is_number()) wrong_type(node, path, field);
    const double out =
        node.is_integer() ? static_cast<double>(**node.as_integer()) : **node.as_floating_point();
    // An infinity where that is the default says "no limit".
    const auto* target = std::get_if<double*>(&field.target);
    if (std::isinf(out) && !(target && std::isinf(**target)))
      fail("plan.range", node, cat(path, " is ", allowed(field), ", not ", shortest(out)));
    in_range(node, field, path, out);
    return out;
  }
  int64_t whole(const Node& node, const Field& field, const std::string& path) const {
    if (!node.is_integer()) wrong_type(node, path, field);
    const int64_t out = **node.as_integer();
    in_range(node, field, path, static_cast<double>(out));
    return out;
  }
  std::string word(const Node& node, const Field& field, const std::string& path) const {
    if (!node.is_string()) wrong_type(node, path, field);
    std::string out = **node.as_string();
    if (!field.choices.empty() && std::ranges::find(field.choices, out) == field.choices.end())
      unknown("plan.choice", node.source().begin, path, out, field.choices);
    if (!field.range.holds(static_cast<double>(out.size())))
      fail("plan.range", node, cat(path, " is ", allowed(field), ", not \"", out, "\""));
    return out;
  }
  template <class F>
  void each(const Node& node, const Field& field, const std::string& path, F f) const {
    const toml::array* array = node.as_array();
    if (!array) wrong_type(node, path, field);
    for (size_t i = 0; i < array->size(); ++i) f((*array)[i], cat(path, "[", i, "]"));
  }

  void take(const Node& node, const Field& field, const std::string& path, bool* to) const {
    if (!node.is_boolean()) wrong_type(node, path, field);
    *to = **node.as_boolean();
  }
  void take(const Node& node, const Field& field, const std::string& path, int* to) const {
    const int64_t out = whole(node, field, path);
    if (out != static_cast<int>(out)) fail("plan.range", node, cat(path, ": ", out, " is too large"));
    *to = static_cast<int>(out);
  }
  void take(const Node& node, const Field& field, const std::string& path, int64_t* to) const {
    *to = whole(node, field, path);
  }
  void take(const Node& node, const Field& field, const std::string& path, uint64_t* to) const {
    if (const auto* integer = node.as_integer()) {
      if (**integer < 0) fail("plan.range", node, cat(path, " is ", allowed(field), ", not ", **integer));
      *to = static_cast<uint64_t>(**integer);
      return;
    }
    const std::string digits = word(node, field, path);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *to);
    if (error != std::errc() || end != digits.data() + digits.size())
      fail("plan.range", node, cat(path, " is ", allowed(field), ", not \"", digits, "\""));
  }
  void take(const Node& node, const Field& field, const std::string& path, double* to) const {
    *to = number(node, field, path);
  }
  void take(const Node& node, const Field& field, const std::string& path, std::optional<double>* to) const {
    if (const auto* text = node.as_string(); text && **text == "none")
      to->reset();
    else
      *to = number(node, field, path);
  }
  void take(const Node& node, const Field& field, const std::string& path, char* to) const {
    const std::string text = word(node, field, path);
    if (text.size() != 1) fail("plan.range", node, cat(path, " is ", allowed(field), ", not \"", text, "\""));
    *to = text[0];
  }
  void take(const Node& node, const Field& field, const std::string& path, std::string* to) const {
    *to = word(node, field, path);
  }
  void take(const Node& node, const Field& field, const std::string& path, Dims* to) const {
    std::vector<int64_t> sizes;
    take(node, field, path, &sizes);
    *to = sizes;
  }
  void take(const Node& node, const Field& field, const std::string& path, std::vector<int64_t>* to) const {
    to->clear();
    each(node, field, path,
         [&](const Node& x, const std::string& name) { to->push_back(whole(x, field, name)); });
  }
  void take(const Node& node, const Field& field, const std::string& path, std::vector<double>* to) const {
    to->clear();
    each(node, field, path,
         [&](const Node& x, const std::string& name) { to->push_back(number(x, field, name)); });
  }
  void take(const Node& node, const Field& field, const std::string& path,
            std::vector<std::string>* to) const {
    to->clear();
    each(node, field, path,
         [&](const Node& x, const std::string& name) { to->push_back(word(x, field, name)); });
  }
  void take(const Node& node, const Field& field, const std::string& path, ClassWeights* to) const {
    if (const toml::table* table = node.as_table()) {
      auto& weights = to->emplace<1>();
      for (const auto& [key, weight] : *table)
        weights[std::string(key.str())] = number(weight, field, cat(path, ".", key.str()));
      return;
    }
    if (!node.is_string()) wrong_type(node, path, field);
    const std::string mode = **node.as_string();
    if (std::ranges::find(field.choices, mode) == field.choices.end())
      unknown("plan.choice", node.source().begin, path, mode, field.choices);
    *to = mode;
  }
  void take(const Node& node, const Field& field, const std::string& path, Fields& to) {
    if (!node.is_table()) wrong_type(node, path, field);
    table(*node.as_table(), to, path, {});
  }
  void take(const Node& node, const Field& field, const std::string& path, OneOf& to) {
    one(node, field, path, to, false);
  }
  void take(const Node& node, const Field& field, const std::string& path, Many& to) {
    const toml::array* array = node.as_array();
    if (!array) wrong_type(node, path, field);
    to.resize(0);
    to.resize(array->size());
    for (size_t i = 0; i < array->size(); ++i) {
      OneOf element = to.at(i);
      one((*array)[i], field, cat(path, "[", i, "]"), element, true);
    }
  }

  void one(const Node& node, const Field& field, const std::string& path, OneOf& to, bool element) {
    const toml::table* table = node.as_table();
    std::string about = path;
    if (!table) {
      if (!to.names[0].empty()) wrong_type(node, path, element ? Field{path, to, ""} : field);
      to.choose(0);
      Fields bare = to.fields();
      try {
        value(node, bare[0], path);
      } catch (const FormatError& error) {
        if (error.rule() == "plan.type") wrong_type(node, path, field);
        throw;
      }
    } else {
      const std::string name = kind(*table, path, to, element);
      this->table(*table, to.fields(), cat(path, " (", name, ")"), to.tag);
    }
    try {
      to.check();
    } catch (const Error& error) {
      fail("plan.options", node, cat(path, ": ", error.message()));
    }
  }
  // Chooses as the tag says.
  std::string kind(const toml::table& table, const std::string& path, OneOf& to, bool element) const {
    std::vector<std::string> known = to.names;
    std::erase(known, "");
    const Node* tag = table.get(to.tag);
    if (!tag) {
      const std::string& now = to.names[to.index()];
      if (!element && !now.empty()) return now;
      std::string all;
      for (const std::string& name : known) all += cat(all.empty() ? "" : ", ", name);
      fail("plan.required", table, cat(path, " needs ", to.tag, ", one of ", all));
    }
    if (!tag->is_string()) fail("plan.type", *tag, cat(path, ".", to.tag, " is text"));
    const std::string name = **tag->as_string();
    const auto found = std::ranges::find(to.names, name);
    if (name.empty() || found == to.names.end())
      unknown("plan.choice", tag->source().begin, cat(to.tag, " of ", path), name, known);
    to.choose(static_cast<size_t>(found - to.names.begin()));
    return name;
  }

  std::string source_;
  bool images_ = false;
};

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

toml::table parse(const std::string& text, const Reader& reader) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position& at = error.source().begin;
    if (const auto bare = bare_text_at(text, offset_of(text, at))) {
      std::string word = bare->text;
      for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (word == "true" || word == "false")
        reader.fail("plan.syntax", position_of(text, bare->begin),
                    cat(bare->text, " is written in small letters"), word);
      reader.fail("plan.syntax", position_of(text, bare->begin), cat("text stands in quotes: ", bare->text),
                  cat("put quotes around it, \"", bare->text, "\""));
    }
    reader.fail("plan.syntax", at, std::string(error.description()));
  }
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

// The place behind a quoted text that begins at `at`; a line's end ends one of a single line.
size_t after_quotes(const std::string& text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool lines = text.compare(at, 3, three) == 0;
  for (at += lines ? 3 : 1; at < text.size();) {
    if (text[at] == '\\' && quote == '"') {
      at += 2;
    } else if (lines && text.compare(at, 3, three) == 0) {
      at += 3;
      for (int more = 0; more < 2 && at < text.size() && text[at] == quote; ++more) ++at;
      return at;
    } else if (!lines && (text[at] == quote || text[at] == '\n')) {
      return text[at] == quote ? at + 1 : at;
    } else {
      ++at;
    }
  }
  return text.size();
}

// What the parser takes for granted: outside of quotes and comments there is ASCII alone, and no key of so
// many points, each a table in a table, that the stack ends.
void check_bare_text(const std::string& text, const Reader& reader) {
  constexpr int kMostPoints = 256;
  int points = 0;
  const auto fail = [&](size_t at, const std::string& message) {
    reader.fail("plan.syntax", position_of(text, at), message);
  };
  for (size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = after_quotes(text, at);
      continue;
    }
    if (c == '#') at = std::min(text.find('\n', at), text.size());
    if (at == text.size()) return;
    if ((text[at] & 0x80) != 0) fail(at, "a character beyond ASCII stands in quotes");
    if (text[at] == '.' && ++points > kMostPoints)
      fail(at, cat("a key has at most ", kMostPoints, " points"));
    if (std::string_view("\n=,[{").find(text[at]) != std::string_view::npos) points = 0;
    ++at;
  }
}

}  // namespace

TrainPlan read_plan(const std::string& text, const std::string& source, const std::string& folder,
                    const std::string& label) {
  if (text.size() > kMostBytes)
    throw FormatError("plan.size",
                      cat(source, ": a plan has at most ", kMostBytes, " bytes, this has ", text.size()));
  Reader reader(source);
  check_bare_text(text, reader);
  toml::table from;
  try {
    from = parse(text, reader);
  } catch (const TomlAssertion&) {
    reader.fail("plan.syntax", {line_of_assertion(text), 1}, "here the text does not follow TOML");
  }
  const std::string learned = label.empty() ? from["data"]["label"].value_or(std::string()) : label;
  TrainPlan plan = learned.empty() ? image_plan() : table_plan();
  // Says which keys there are.
  plan.data.label = learned;
  if (from["model"]["layers"]) plan.model.compare_linear = false;
  reader.plan(from, plan);
  reader.places(from, "", plan.places);
  if (!label.empty()) {
    plan.data.label = label;
    plan.places.erase("data.label");
  }
  for_paths(plan, [&](std::string& path) {
    if (!folder.empty() && !path.empty() && path != "-" && path[0] != '/') path = cat(folder, "/", path);
  });
  return plan;
}

}  // namespace espalier::cli
