#include "data/positive_class.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/format.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "data/column_steps.h"
#include "format/toml.h"
#include "format/utf8.h"

namespace espalier {
namespace {

struct Pair {
  std::string_view positive, negative;
};
constexpr Pair kPairs[] = {{"1", "0"},     {"1", "-1"},    {"yes", "no"}, {"y", "n"},   {"t", "f"},
                           {"ja", "nein"}, {"oui", "non"}, {"sí", "no"},  {"si", "no"}, {"да", "нет"}};

// (1) is a name, though amounts of minus one are written so, and 01 a code.
std::optional<double> number_of(std::string_view text) {
  const std::string_view digits = text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
  const bool code = digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
  if (code || text.find('(') != text.npos) return std::nullopt;
  return read_number(text, NumberStyle::kPlain);
}

// In small letters, numbers by their value, and true and false as the 1 and 0 that they are.
std::string word_of(std::string_view label) {
  constexpr std::array<std::array<std::string_view, 2>, 7> kSmall = {
      {{"Í", "í"}, {"i\u0301", "í"}, {"Д", "д"}, {"А", "а"}, {"Н", "н"}, {"Е", "е"}, {"Т", "т"}}};
  std::string out(label);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  }
  for (const auto& [large, small] : kSmall) {
    for (size_t at = 0; (at = out.find(large, at)) != out.npos; at += small.size())
      out.replace(at, large.size(), small);
  }
  if (out == "true") return "1";
  if (out == "false") return "0";
  const std::optional<double> number = number_of(out);
  for (const int small : {1, 0, -1}) {
    if (number && *number == small) return std::to_string(small);
  }
  return out;
}

std::string in_quotes(std::string_view text) { return cat("\"", shortened(text), "\""); }

// Of "a" and "b": "a and b".
std::string both(const std::vector<std::string>& classes, const char* between) {
  std::string out;
  for (const std::string& one : classes) out += cat(out.empty() ? "" : between, shortened(one));
  return out;
}

struct Saying {
  PositiveBecause because;
  const std::string* value;
  const char *who, *rule;
};

// As a key of gates is written.
std::string toml_value(const std::string& text) {
  return is_utf8(text) ? toml_quoted(text) : in_quotes(text);
}

// Of labels of one kind the other may be said: of a known pair that of the pair alone; else a flag that is
// nearly the label is a slip of the finger.
bool may_be_beside(const Saying& said, const std::string& label) {
  if (positive_beside(label)) return positive_of_pair(*said.value, label).has_value();
  return said.because != PositiveBecause::kFlag || nearest(*said.value, {label}).empty();
}

// The class that is meant by `said`. One class alone, of a file whose rows are all of it, has another beside
// it.
std::string class_meant(const Saying& said, std::vector<std::string> classes) {
  for (const std::string& one : classes) {
    if (one == *said.value) return one;
  }
  for (const std::string& one : classes) {
    if (same_label(one, *said.value)) return one;
  }
  if (classes.size() == 1 && may_be_beside(said, classes[0])) return *said.value;
  if (classes.size() == 1) {  // the other word that may be said
    const std::optional<std::string> positive = positive_beside(classes[0]);
    if (positive && *positive != classes[0]) classes.push_back(*positive);
  }
  std::string fix;
  if (said.because == PositiveBecause::kGates) {
    for (const std::string& one : classes) fix += cat(fix.empty() ? "positive = " : " or ", toml_value(one));
    fix += " in the gates";
  }
  if (fix.empty()) throw_unknown(said.rule, "class", *said.value, classes);
  throw ValueError(
      said.rule, cat(said.who, " ", in_quotes(*said.value), ", and the classes are ", both(classes, " and ")),
      fix);
}

// What makes two that differ agree, by the one that counts first.
std::string cure_of(const Saying& first, const Saying& other) {
  if (first.because == PositiveBecause::kFlag) return shell_words({"--positive", *other.value});
  if (other.because == PositiveBecause::kFlag) return shell_words({"--positive", *first.value});
  return cat("positive = ", toml_value(*other.value), " in the gates");
}

}  // namespace

std::string_view name(PositiveBecause because) {
  constexpr std::string_view kNames[] = {"", "gates", "flag", "schema", "model", "pair", "rarer"};
  return kNames[static_cast<size_t>(because)];
}

std::string text_of(const PositiveClass& positive, const std::string& label,
                    const std::vector<std::string>& classes) {
  const auto why = [&]() -> std::string {
    switch (positive.because) {
      case PositiveBecause::kNothing:
        break;
      case PositiveBecause::kGates:
        return "the gates say so";
      case PositiveBecause::kFlag:
        return "--positive says so";
      case PositiveBecause::kSchema:
        return "the schema calls it favourable";
      case PositiveBecause::kModel:
        return cat("the model keeps it", positive.detail.empty() ? "" : cat(", ", positive.detail));
      case PositiveBecause::kPair:
        if (classes.size() != 2) return cat(both(classes, ""), " is of a known pair");
        return cat(shortened(positive.value), " and ",
                   shortened(classes[classes[0] == positive.value ? 1 : 0]), " are a known pair");
      case PositiveBecause::kRarer:
        return cat("the rarer one, ", positive.detail, "; --positive names another");
    }
    return "";
  };
  if (positive.known())
    return cat("positive is ", printable(label), "=", printable(positive.value), ": ", why());
  return cat("nothing says which class of ", printable(label), " is positive, ", both(classes, " or "), ": ",
             positive_flags(classes), "; slices, gates and thresholds count from one of them");
}

bool same_label(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const std::string x = word_of(a), y = word_of(b);
  // Every digit of them: identifiers may have one f64.
  return number_of(x) && number_of(y) &&
         exact_number(x, NumberStyle::kPlain) == exact_number(y, NumberStyle::kPlain);
}

std::optional<std::string> positive_of_pair(const std::string& a, const std::string& b) {
  const std::string x = word_of(a), y = word_of(b);
  for (const auto& [positive, negative] : kPairs) {
    if (x == positive && y == negative) return a;
    if (y == positive && x == negative) return b;
  }
  return std::nullopt;
}

std::optional<std::string> positive_beside(const std::string& label) {
  const std::string word = word_of(label);
  for (const auto& [positive, negative] : kPairs) {
    if (word == positive) return label;
    if (word != negative) continue;
    const bool false_word = word == "0" && (label[0] == 'f' || label[0] == 'F');
    return std::string(false_word ? "true" : positive);
  }
  return std::nullopt;
}

PositiveClass positive_class(const PositiveSaid& said, const std::vector<std::string>& classes) {
  const Saying all[] = {
      {PositiveBecause::kGates, &said.gates, "the gates say", "gates.positive"},
      {PositiveBecause::kFlag, &said.flag, "--positive says", "positive.class"},
      {PositiveBecause::kSchema, &said.schema, "the schema's favourable is", "schema.favourable"},
      {PositiveBecause::kModel, &said.model, "the model says", "positive.class"}};
  PositiveClass out;
  const Saying* first = nullptr;
  for (const Saying& one : all) {
    if (one.value->empty()) continue;
    const std::string meant = class_meant(one, classes);
    if (!first) {
      first = &one;
      out = {meant, one.because, one.because == PositiveBecause::kModel ? said.why_model : ""};
    } else if (meant != out.value && one.because != PositiveBecause::kModel) {
      throw ValueError("positive.differs",
                       cat(first->who, " ", in_quotes(*first->value), ", and ", one.who, " ",
                           in_quotes(*one.value), ": which of them is positive?"),
                       cure_of(*first, one));
    }
  }
  if (first) return out;
  std::optional<std::string> of_pair;
  if (classes.size() == 2) of_pair = positive_of_pair(classes[0], classes[1]);
  if (classes.size() == 1) of_pair = positive_beside(classes[0]);
  if (of_pair) out = {*of_pair, PositiveBecause::kPair, ""};
  return out;
}

PositiveClass positive_class(const PositiveSaid& said, const std::map<std::string, int64_t>& rows) {
  std::vector<std::string> classes;
  int64_t all = 0;
  for (const auto& [label, count] : rows) {
    classes.push_back(label);
    all += count;
  }
  PositiveClass out = positive_class(said, classes);
  if (out.known() || classes.size() != 2) return out;
  const auto& [rarer, count] =
      *std::ranges::min_element(rows, {}, [](const auto& entry) { return entry.second; });
  const double share = static_cast<double>(count) / static_cast<double>(all);
  if (share > kRarerShare) return out;
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.3g %%", 100 * share);
  return {rarer, PositiveBecause::kRarer, cat(percent, " of the rows")};
}

std::string positive_flags(const std::vector<std::string>& classes) {
  std::string out;
  for (const std::string& one : classes)
    out += cat(out.empty() ? "" : ", or ", shell_words({"--positive", one}));
  return out;
}

void throw_no_positive(const std::string& what, const std::vector<std::string>& classes,
                       const std::string& who) {
  throw ValueError("positive.unknown",
                   cat(what, ": nothing says which class is positive, ", both(classes, " or "), ", and ", who,
                       " one of them"),
                   positive_flags(classes));
}

}  // namespace espalier
