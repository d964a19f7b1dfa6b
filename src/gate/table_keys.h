// What stands under the keys of a table of gates.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "format/expression.h"
#include "format/toml.h"

namespace espalier {

// A word, and what it stands for.
template <class T>
struct NamedChoice {
  const char* word;
  T value;
};

// The keys of one table. All raise FormatError with file, line and column: gates.key, gates.required,
// gates.type, gates.range, gates.choice.
class TableKeys {
 public:
  TableKeys(const TomlDocument& document, const toml::table& table, std::string path,
            const std::vector<std::string>& known)
      : document_(document), table_(table), path_(std::move(path)) {
    document.check_keys(table, path_.empty() ? "key" : cat("key of ", path_), known);
  }

  bool has(const char* key) const { return table_.contains(key); }

  [[noreturn]] void fail(const char* rule, const std::string& message, const std::string& fix = "") const {
    document_.fail(rule, table_, cat(path_, path_.empty() ? "" : " ", message), fix);
  }
  [[noreturn]] void fail(const char* rule, const char* key, const std::string& message,
                         const std::string& fix = "") const {
    document_.fail(rule, at(key), message, fix);
  }
  [[noreturn]] void unknown(const char* rule, const char* key, const std::string& word,
                            const std::vector<std::string>& known) const {
    document_.unknown(rule, at(key).source().begin, path(key), word, known);
  }
  std::string path(const char* key) const { return path_.empty() ? key : cat(path_, ".", key); }
  // "gates.toml, line 3, column 8" of its value.
  std::string place(const char* key) const { return document_.place(at(key).source().begin); }

  std::string text(const char* key) const {
    const auto* out = node(key, "text").as_string();
    if (!out) wrong_type(key, "text");
    if (out->get().empty()) fail("gates.range", key, cat(path(key), " is text, not \"\""));
    return out->get();
  }
  // A label as tables have it: text, or a number or truth without quotes.
  std::string label(const char* key) const {
    const toml::node& value = node(key, "a label");
    if (const auto* whole = value.as_integer()) return std::to_string(whole->get());
    if (const auto* real = value.as_floating_point()) return shortest(real->get());
    if (const auto* truth = value.as_boolean()) return truth->get() ? "true" : "false";
    return text(key);
  }
  double number(const char* key, double low, double high) const {
    const std::string what =
        std::isinf(low) ? "a number" : cat("a number from ", shortest(low), " to ", shortest(high));
    const toml::node& value = node(key, what);
    if (!value.is_number()) wrong_type(key, what);
    const double out =
        value.is_integer() ? static_cast<double>(**value.as_integer()) : **value.as_floating_point();
    if (!std::isfinite(out) || out < low || out > high)
      fail("gates.range", key, cat(path(key), " is ", what, ", not ", shortest(out)));
    return out;
  }
  Expression condition(const char* key) const {
    const std::string text = this->text(key);
    try {
      return Expression(text);
    } catch (const FormatError& error) {
      fail(error.rule().c_str(), key, cat(path(key), ": ", error.message()), error.fix());
    }
  }
  std::vector<double> edges(const char* key) const {
    const char* what = "a list of numbers that ascend, as [25, 45]";
    const auto* list = node(key, what).as_array();
    if (!list) wrong_type(key, what);
    std::vector<double> out;
    for (const toml::node& one : *list) {
      const std::optional<double> edge = one.value<double>();
      if (!edge || !std::isfinite(*edge) || (!out.empty() && *edge <= out.back()))
        document_.fail("gates.range", one, cat(path(key), " is ", what));
      out.push_back(*edge);
    }
    if (out.empty()) fail("gates.range", key, cat(path(key), " is ", what, ", not []"));
    return out;
  }
  int64_t count(const char* key) const {
    const char* what = "a whole number of at least 0";
    const auto* out = node(key, what).as_integer();
    if (!out) wrong_type(key, what);
    if (out->get() < 0) fail("gates.range", key, cat(path(key), " is ", what, ", not ", out->get()));
    return out->get();
  }
  std::chrono::year_month_day date(const char* key) const {
    const char* what = "a date without quotes, as 2031-12-31";
    const auto* found = node(key, what).as_date();
    if (!found) wrong_type(key, what);
    const toml::date& date = found->get();
    return {std::chrono::year(date.year), std::chrono::month(date.month), std::chrono::day(date.day)};
  }
  template <class T, size_t N>
  T choice(const char* key, const NamedChoice<T> (&choices)[N], T otherwise) const {
    if (!has(key)) return otherwise;
    const std::string word = text(key);
    std::vector<std::string> known;
    for (const NamedChoice<T>& one : choices) {
      if (word == one.word) return one.value;
      known.push_back(one.word);
    }
    unknown("gates.choice", key, word, known);
  }

 private:
  const toml::node& at(const char* key) const { return *table_.get(key); }
  const toml::node& node(const char* key, const std::string& what) const {
    if (!has(key)) fail("gates.required", cat("needs ", key, ", ", what));
    return at(key);
  }
  [[noreturn]] void wrong_type(const char* key, const std::string& what) const {
    fail("gates.type", key, cat(path(key), " is ", what, ", not ", toml_type(at(key))));
  }

  const TomlDocument& document_;
  const toml::table& table_;
  std::string path_;
};

}  // namespace espalier
